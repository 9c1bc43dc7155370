"""Context in which the process looks freshly started: its own default graph, machine, release and GPU devices.

All changes made inside are undone, however the block ends:

>>> from gpuplace.graph.stacks import graph_stack
>>> from gpuplace.runtime.memory.process_state import current_machine, use_machine
>>> with fresh_process(machine="2x Tesla K40c", release="1.4"):
...     str(current_machine()), releases.get_release()
...     _ = use_machine("cpu")
('2x Tesla K40c', '1.4')
>>> releases.get_release(), graph_stack.stack
('1.15', [])
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping

from gpuplace import release as releases
from gpuplace.device.machine import ENVIRONMENT_VARIABLE as MACHINE_VARIABLE
from gpuplace.device.machine import Machine
from gpuplace.device.visible import DEVICE_ORDER, VISIBLE_DEVICES
from gpuplace.graph.stacks import fresh_defaults
from gpuplace.runtime.memory.process_state import process_state
from gpuplace.runtime.session.session import InteractiveSession

VARIABLES = (
    VISIBLE_DEVICES,
    DEVICE_ORDER,
    MACHINE_VARIABLE,
    releases.ENVIRONMENT_VARIABLE,
    "TF_FORCE_GPU_ALLOW_GROWTH",
)
"""Environment variables that a program may set for TensorFlow; restored after the block."""


@contextlib.contextmanager
def fresh_process(
    machine: Machine | str | None = None,
    release: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Iterator[None]:
    """Run a ``with`` block without side effects on the process's state.

    Args:
        machine: machine inside the block; None: the current one.
        release: release inside the block; None: the current one.
        environ: environment variables inside the block.

    Raises:
        InvalidArgumentError: the text of the machine is invalid.
        ValueError: the release is unknown.
    """
    inside = process_state.current_machine() if machine is None else machine
    chosen_release = releases.resolve(release)
    variables = {name: os.environ.get(name) for name in {*VARIABLES, *(environ or {})}}
    with contextlib.ExitStack() as undo:
        undo.callback(_restore, variables)
        os.environ.update(environ or {})
        undo.enter_context(process_state.fresh())
        undo.callback(releases.set_release, releases.chosen_release())
        undo.enter_context(fresh_defaults())
        undo.enter_context(InteractiveSession.none_active())
        process_state.use_machine(inside)
        releases.set_release(chosen_release)
        yield


def _restore(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
