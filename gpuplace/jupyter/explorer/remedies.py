"""Changes of settings that fix a failing placement; each is tried before it is offered.

>>> from gpuplace.graph.graph import Graph
>>> from gpuplace.jupyter.explorer.what_if import WhatIf
>>> with Graph().as_default() as graph:
...     with graph.device("/gpu:3"):
...         op = graph.create_op("NoOp", [], [], name="go")
>>> for remedy in remedies(WhatIf(graph, machine="2x Tesla K40c")):
...     print(remedy.label, "|", remedy.effect)
Turn on soft placement | everything can be placed
Use a machine with 4x Tesla K40c | everything can be placed
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpuplace import release as releases
from gpuplace.device.gpu_models import GPU_MODELS
from gpuplace.device.machine import Machine
from gpuplace.device.parsed_name import parse_name
from gpuplace.errors import OpError
from gpuplace.jupyter.explorer.setting_table import SETTINGS
from gpuplace.jupyter.explorer.settings import Settings
from gpuplace.jupyter.explorer.what_if import WhatIf
from gpuplace.typing import TensorLike
from gpuplace.views.tables.text import counted

_MOST_GPUS = 64
_PARTS = frozenset({"tags", "signature", "functions", "clear_devices"})
"""Settings that select the part of the graph."""


@dataclass(frozen=True)
class Remedy:
    """One change of settings."""

    label: str
    """The change."""
    effect: str
    """The result, as tried."""
    settings: Settings
    """The settings after the change."""
    mends: bool
    """Whether no error is left."""


def remedies(what_if: WhatIf) -> list[Remedy]:
    """Return the changes that leave fewer nodes without a device, the smallest first; none without errors."""
    if what_if.error is None or what_if.is_fixed:
        return []
    stuck = what_if.placement is None or what_if.is_stale
    before = None if stuck else len(what_if.placement.faults)
    working: list[Remedy] = []
    for label, settings in _candidates(what_if):
        if settings == what_if.settings or any(remedy.settings == settings for remedy in working):
            continue
        if settings.release != what_if.settings.release and any(remedy.mends for remedy in working):
            continue  # another release reads the whole graph again, so it is tried only if nothing else helps
        try:
            placement = what_if.attempt(settings)
        except OpError:
            continue
        left = len(placement.faults)
        if before is not None and left >= before:
            continue
        effect = "everything can be placed" if not left else f"{counted(left, 'error')} left"
        working.append(Remedy(label, effect, settings, not left))
    return sorted(working, key=lambda remedy: not remedy.mends)


def _candidates(what_if: WhatIf) -> Iterator[tuple[str, Settings]]:
    """Yield ``(label, settings)`` of changes worth trying, the smallest first."""
    now, good = what_if.settings, what_if.last_good
    if good is not None and good.part != now.part and not _PARTS.isdisjoint(what_if.blamed):
        part_settings = {
            name: getattr(good, name) for name in ("tags", "signature", "functions", "calls", "clear_devices")
        }
        yield f"Back to the {what_if.parts.label(good)}", replace(now, **part_settings)
    for name in set(what_if.blamed) - _PARTS:
        default = getattr(Settings(now.machine, now.release), name)
        if good is not None and getattr(good, name) not in (default, getattr(now, name)):
            yield f"Back to {_text(name, getattr(good, name))}", replace(now, **{name: getattr(good, name)})
        yield f"{_without(name)}", replace(now, **{name: default})
    if not now.soft_placement:
        yield "Turn on soft placement", replace(now, soft_placement=True)
    if now.cuda_visible_devices is not None:
        yield "Show all GPUs (unset CUDA_VISIBLE_DEVICES)", replace(now, cuda_visible_devices=None)
    if now.visible_device_list:
        yield "Clear visible_device_list", replace(now, visible_device_list="")
    if now.device_count:
        yield "Clear device_count", replace(now, device_count={})
    open_all = replace(now, cuda_visible_devices=None, visible_device_list="", device_count={})
    if open_all != now:
        yield "Show all GPUs: clear every setting that hides one", open_all
    yield from _machines(what_if, open_all)
    for release in releases.RELEASES:
        if releases.rules(release) != releases.rules(now.release):
            yield f"Use release {release}", replace(now, release=release)


def _machines(what_if: WhatIf, settings: Settings) -> Iterator[tuple[str, Settings]]:
    """Yield a machine with as many GPUs as the graph requests."""
    machine = settings.machine
    if machine.is_local or machine.extra_devices or machine.tasks:
        return
    graph = getattr(what_if.placement, "graph", None)
    parsed = [parse_name(device) for device in getattr(graph, "devices", ()) if device]
    numbers = [name.id or 0 for name in parsed if name is not None and name.type == "GPU"]
    requested = max(numbers, default=-1) + 1
    if not len(machine.gpus) < requested <= _MOST_GPUS:
        return
    model = machine.gpus[-1].model if machine.gpus else GPU_MODELS[0]
    models = {gpu.name for gpu in machine.gpus}
    if len(models) > 1:
        return
    larger = Machine.simulated(gpus=requested, cpus=machine.cpus, gpu=model)
    yield f"Use a machine with {larger}", replace(settings, machine=larger)


def _without(name: str) -> str:
    label = SETTINGS[name].label
    return f"Unset {label}" if label.isupper() else f"Clear {name}"


def _text(name: str, value: TensorLike) -> str:
    label = SETTINGS[name].label
    return f"{label if label.isupper() else name}={value!r}"
