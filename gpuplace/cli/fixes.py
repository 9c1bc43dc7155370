"""The changes of settings that the explorer offers for a graph that TensorFlow refuses, for the report page.

>>> from gpuplace.graph.graph import Graph
>>> from gpuplace.runtime.session.place import place
>>> with Graph().as_default() as graph:
...     with graph.device("/gpu:3"):
...         op = graph.create_op("NoOp", [], [], name="go")
>>> for fix in fixes_of(place(graph, "2x Tesla K40c", on_error="keep")):
...     print(fix.label, "|", fix.option, "|", fix.code)
Turn on soft placement | --soft | config = tf.ConfigProto(allow_soft_placement=True)
Use a machine with 4x Tesla K40c | --machine '4x Tesla K40c' | tf.use_machine('4x Tesla K40c')
"""

from __future__ import annotations

from shlex import quote

from gpuplace.jupyter.explorer.remedies import remedies
from gpuplace.jupyter.explorer.settings import CONFIG_PATHS, Settings
from gpuplace.jupyter.explorer.what_if import WhatIf
from gpuplace.views.page.fixes import Fix
from gpuplace.why.placement import Placement


def fixes_of(placement: Placement) -> list[Fix]:
    """Return the changes that leave fewer errors, each tried; the first that leaves none has its placement.

    Args:
        placement: what TensorFlow refuses.
    """
    what_if = WhatIf(placement)
    fixes: list[Fix] = []
    for remedy in remedies(what_if):
        is_shown = remedy.mends and not any(fix.placement for fix in fixes)
        shown = what_if.attempt(remedy.settings) if is_shown else None
        fixes.append(Fix(remedy.label, remedy.effect, *_told(what_if.settings, remedy.settings), shown))
    return fixes


def _told(before: Settings, after: Settings) -> tuple[str, str]:
    """A change of settings as options of the command line, and as lines of a program."""
    options, lines = [], []
    if after.soft_placement != before.soft_placement:
        options.append("--soft")
        lines.append("config = tf.ConfigProto(allow_soft_placement=True)")
    if after.machine != before.machine:
        options.append(f"--machine {quote(str(after.machine))}")
        lines.append(f"tf.use_machine({str(after.machine)!r})")
    if after.cuda_visible_devices != before.cuda_visible_devices:
        lines.append("del os.environ['CUDA_VISIBLE_DEVICES']")
    for name in ("visible_device_list", "device_count"):
        if getattr(after, name) != getattr(before, name):
            holder, _, field = f"config.{CONFIG_PATHS[name]}".rpartition(".")
            lines.append(f"{holder}.ClearField({field!r})")
    if after.release != before.release:
        options.append(f"--release {after.release}")
        lines.append(f"tf.set_release({after.release!r})")
    return " ".join(options), "\n".join(lines)
