"""The state behind the explorer, without a widget: a graph, settings and what they lead to; each change places again.

>>> from gpuplace.graph.graph import Graph
>>> what_if = WhatIf(Graph(), machine="4x Tesla K20m")
>>> what_if.change(visible=(2, 0))
>>> what_if.settings.cuda_visible_devices, what_if.error
('0,2', None)
>>> what_if.undo(), what_if.settings.cuda_visible_devices
(True, None)
"""

from __future__ import annotations

import os
import threading
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

from gpuplace import release as releases
from gpuplace.device.device_set import DeviceSet
from gpuplace.device.machine import Machine
from gpuplace.device.mapping import MappingRow
from gpuplace.device.visible import DEVICE_ORDER, VISIBLE_DEVICES
from gpuplace.errors import FailedPreconditionError, OpError
from gpuplace.graph.graph import Graph
from gpuplace.jupyter.explorer.settings import ORDERS, Settings, checked_count, checked_fraction
from gpuplace.logs.logged_placement import LoggedPlacement
from gpuplace.memory.process_state import current_machine, process_state
from gpuplace.placer.placer import Placer
from gpuplace.session.place import place
from gpuplace.tables.placement_view import PlacementView
from gpuplace.tables.text import counted
from gpuplace.why.messages import error_of
from gpuplace.why.place import place_again
from gpuplace.why.placement import Placement

__all__ = ["WhatIf"]


class WhatIf:
    """A graph on a machine, with settings that can be changed, undone and tried.

    Args:
        source: what `gpuplace.place` takes, a `Session`, a `Placement`, or a `LoggedPlacement` or `PlacementView`, for
            which there are no settings.
        machine: a `Machine` or its text; the session's, or the current one, by default.
        config: ``ConfigProto`` to begin with.
        release: which TensorFlow; the process's by default.

    Attributes:
        settings: the current settings.
        placement: what they lead to; complete, or partial where there is an `error`. Where not even devices could be
            made it is the last good one, and `is_stale` says so; None if there is none.
        error: what is wrong with the current settings, None if all is well.
        blamed: the settings that the error comes from; empty where the graph is what cannot be placed.

    Raises:
        InvalidArgumentError: the machine's text is not understood.
    """

    def __init__(
        self, source: Any, machine: Any = None, config: Any = None, release: str | None = None
    ) -> None:
        self.source = source
        self.session: Any = None
        self.lock = threading.RLock()
        self._placers: dict[str, Placer] = {}
        given, soft, environ = source, None, dict(os.environ)
        if isinstance(source, Placement):
            release = release or source.release
            given = source.graph.source if isinstance(source.graph.source, Graph) else source.graph
            soft = source.soft if config is None else None
            if machine is None and (origin := source.device_set.origin) is not None:
                machine, environ = origin.machine, origin.environ
                config = origin.settings if config is None else config
            elif machine is None:
                machine, environ = Machine.from_devices(source.device_set.names), {}
            self._placers[source.release] = source.placer
        elif not isinstance(source, Graph | PlacementView | LoggedPlacement) and isinstance(
            getattr(source, "graph", None), Graph
        ):
            given, self.session = source.graph, source
            config = getattr(source, "_config", None) if config is None else config
            if machine is None:
                environ = _environ_of_process()
        self.graph = given
        self.is_fixed = isinstance(source, PlacementView | LoggedPlacement)
        known = Machine.parse(machine) if isinstance(machine, str) else machine
        if known is None:
            known = Machine() if self.is_fixed else current_machine()
        self.settings = Settings.begin(known, releases.resolve(release), config, environ)
        if soft is not None:
            self.settings = replace(self.settings, soft_placement=soft)
        self.placement: Any = source if self.is_fixed else None
        self.error: Exception | None = None
        self.blamed: tuple[str, ...] = ()
        self._good: Settings | None = None
        self._past: list[Settings] = []
        self._future: list[Settings] = []
        if not self.is_fixed:
            self._place()

    @property
    def is_stale(self) -> bool:
        """Whether the placement is that of earlier settings."""
        return bool(self.error is not None and self._good is not None and self._good != self.settings)

    @property
    def mapping(self) -> tuple[MappingRow, ...] | None:
        """The chain from GPUs to devices; None if the settings are wrong."""
        try:
            return self.settings.mapping()
        except OpError:
            return None

    # ------------------------------------------------------------------------------------------------------ changes

    def changed(self, **wanted: Any) -> Settings:
        """The settings after a change, checked as far as their form goes. Another machine shows all its GPUs.

        ``visible`` stands for CUDA_VISIBLE_DEVICES with these GPUs.

        Raises:
            InvalidArgumentError: the machine's text is not understood.
            FailedPreconditionError: what is explored is not a graph but a log.
            ValueError: an unknown release, GPU or order, or a number that is none.
            TypeError: there is no such setting.
        """
        if self.is_fixed:
            raise FailedPreconditionError(
                None,
                None,
                "A log says where nodes were, and cannot be placed again.",
                facts={"asked for": ", ".join(f"{name}={value}" for name, value in wanted.items())},
                hint="explore its graph on the log's machine, explore(graph, machine=log.machine()), or "
                "log.compare(graph)",
            )
        made = self.settings
        if "machine" in wanted:
            machine = wanted.pop("machine")
            machine = Machine.parse(machine) if isinstance(machine, str) else machine
            if machine != made.machine:
                made = replace(made, machine=machine, cuda_visible_devices=None)
        if "release" in wanted:
            wanted["release"] = releases.resolve(wanted["release"])
        if "cuda_device_order" in wanted and wanted["cuda_device_order"] not in ORDERS:
            raise ValueError(
                f"CUDA_DEVICE_ORDER is {' or '.join(ORDERS)}, not {wanted['cuda_device_order']!r}"
            )
        if "per_process_gpu_memory_fraction" in wanted:
            wanted["per_process_gpu_memory_fraction"] = checked_fraction(
                wanted["per_process_gpu_memory_fraction"]
            )
        if "device_count" in wanted:
            wanted["device_count"] = checked_count(wanted["device_count"])
        if "visible" in wanted:
            wanted["cuda_visible_devices"] = made.text_for_visible(
                self.checked_visible(wanted.pop("visible"))
            )
        return replace(made, **wanted)

    def checked_visible(self, gpus: Any) -> tuple[int, ...]:
        """Numbers of the machine's GPUs, sorted; ValueError for one that it does not have."""
        wanted = tuple(sorted({int(gpu) for gpu in gpus}))
        count = len(self.settings.machine.gpus)
        if any(not 0 <= gpu < count for gpu in wanted):
            raise ValueError(f"The machine has {counted(count, 'GPU')}, counted from 0; got {list(wanted)}")
        return wanted

    def change(self, **wanted: Any) -> None:
        """Changes settings and places again; `error` says where that failed. Raises as `changed` does."""
        self.go_to(self.changed(**wanted))

    def go_to(self, settings: Settings) -> None:
        """Makes other settings the present ones and places again."""
        if settings == self.settings:
            return
        self._past.append(self.settings)
        self._future.clear()
        self.settings = settings
        self._place()

    def undo(self) -> bool:
        """Takes the last change back; says whether there was one."""
        return self._step(self._past, self._future)

    def redo(self) -> bool:
        """Makes the change again that was taken back last; says whether there was one."""
        return self._step(self._future, self._past)

    def _step(self, source: list[Settings], target: list[Settings]) -> bool:
        if not source:
            return False
        target.append(self.settings)
        self.settings = source.pop()
        self._place()
        return True

    @property
    def can_undo(self) -> bool:
        """Whether there is a change to take back."""
        return bool(self._past)

    @property
    def previous(self) -> Settings:
        """The settings before the last change; the present ones where there was none."""
        return self._past[-1] if self._past else self.settings

    @property
    def can_redo(self) -> bool:
        """Whether there is a change to make again."""
        return bool(self._future)

    # ------------------------------------------------------------------------------------------------------ placing

    def attempt(self, settings: Settings) -> Placement:
        """The placement that other settings would lead to, partial where nodes cannot be placed.

        Raises:
            OpError: not even devices can be made, or the graph is not sound.
        """
        return self.place_on(settings.device_set(), settings.soft_placement, settings.release)

    def place_on(self, devices: DeviceSet, soft: bool, release: str) -> Placement:
        """The graph on some devices, partial where nodes cannot be placed; OpError if the graph is not sound."""
        placer = self._placers.get(release)
        if placer is not None:
            return place_again(placer, devices, soft=soft, on_error="keep")
        config = SimpleNamespace(allow_soft_placement=soft)
        made = place(self.graph, machine=devices, config=config, release=release, on_error="keep")
        self._placers[release] = made.placer
        return made

    def _place(self) -> None:
        """Asks the placer; what it finds wrong is kept as `error`."""
        self.blamed = ()
        try:
            placement = self.attempt(self.settings)
        except OpError as error:
            self.error = error
            self.blamed = self._guilty_settings()
            return
        self.placement, self._good = placement, self.settings
        self.error = error_of(placement, placement.faults[0]) if placement.faults else None

    def _guilty_settings(self) -> tuple[str, ...]:
        """The settings without which there would be devices: of those changed since it went well, or of all."""
        default = Settings(self.settings.machine, self.settings.release)
        for reference in (self._good, default):
            if reference is None or reference == self.settings:
                continue
            differing = [
                item.name
                for item in fields(Settings)
                if item.compare and getattr(reference, item.name) != getattr(self.settings, item.name)
            ]
            for name in differing:
                try:
                    replace(self.settings, **{name: getattr(reference, name)}).device_set()
                except OpError:
                    continue
                return (name,)
        return ()

    @property
    def last_good(self) -> Settings | None:
        """The settings of `placement`."""
        return self._good

    def log(self) -> str:
        """What ``log_device_placement`` prints of this placement; empty where there is an error."""
        if isinstance(self.placement, LoggedPlacement):
            rows = self.placement.rows
            return "".join(
                f"{row.name}: {f'({row.type}): ' if row.type else ''}{row.device}\n" for row in rows
            )
        if self.placement is None or self.error is not None or self.is_fixed:
            return ""
        return self.placement.log(self.settings.release)


def _environ_of_process() -> dict[str, str]:
    """What CUDA read when this process first used it."""
    seen = process_state.visibility()
    found = {DEVICE_ORDER: seen.order}
    if seen.setting is not None:
        found[VISIBLE_DEVICES] = seen.setting
    return found
