"""The state of the explorer without widgets: a graph, its settings and the resulting placement.

Each change of settings places the graph again.

>>> from gpuplace.graph.graph import Graph
>>> what_if = WhatIf(Graph(), machine="4x Tesla K20m")
>>> what_if.change(visible_devices=(2, 0))
>>> what_if.settings.cuda_visible_devices, what_if.error
('0,2', None)
>>> what_if.undo(), what_if.settings.cuda_visible_devices
(True, None)
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from gpuplace import release as releases
from gpuplace.advisor.steps.placed_choice import placed_with
from gpuplace.device.machine import Machine, as_machine
from gpuplace.device.mapping import MappingRow
from gpuplace.device.visible import DEVICE_ORDER, VISIBLE_DEVICES
from gpuplace.errors import FailedPreconditionError, OpError
from gpuplace.graph.graph import Graph
from gpuplace.graphdef.load import open_model
from gpuplace.graphdef.model import Part, PlacedPart
from gpuplace.jupyter.explorer.parts import Parts
from gpuplace.jupyter.explorer.setting_table import SETTINGS, is_same_placement
from gpuplace.jupyter.explorer.settings import Settings
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.placer.placer import Placer
from gpuplace.runtime.memory.process_state import current_machine, process_state
from gpuplace.runtime.session.function_placement import pins_of_call, place_called
from gpuplace.runtime.session.place import SOFT_KEYWORD, is_soft, place, release_of
from gpuplace.typing import ConfigProto, VisibleDevices
from gpuplace.views.logs.logged_placement import LoggedPlacement
from gpuplace.views.tables.placement_view import PlacementView
from gpuplace.why.messages import error_of
from gpuplace.why.place import place_again
from gpuplace.why.placement import Placement

_PARTS = frozenset({"tags", "signature", "function", "functions", "calls"})
"""Settings that select the part of the graph and depend on each other."""


class WhatIf:
    """A graph on a machine, with settings that can be changed, undone and tried.

    Args:
        source: a graph as for `gpuplace.place`, a `Session`, a `Placement`, or a `LoggedPlacement` or `PlacementView`,
            which has no settings.
        machine: a `Machine` or its text; by default the session's, or the current one.
        config: a ``ConfigProto`` with the initial settings.
        release: the TensorFlow release; by default the process's.
        soft_placement: the initial setting; by default that of `config`, or of the `Placement`.
        visible_devices: the initial setting, as for `gpuplace.place`.
        tags, signature, function, clear_devices: the initial part of the graph, as for `gpuplace.place`. By default a
            model starts with its default signature, and a `Placement` with its own part.

    Attributes:
        settings: the current settings.
        parts: the parts of the graph that can be selected.
        placement: the resulting placement, partial if there is an `error`. If the settings allow no devices, it is the
            last good placement and `is_stale` is True; None if there is none.
        error: the error of the current settings; None if there is none.
        blamed: the settings that cause the error; empty if the graph itself cannot be placed.

    Raises:
        InvalidArgumentError: the machine's description is invalid.
        TypeError: `machine`, `soft_placement` or `visible_devices` has the wrong type.
        NotFoundError: there are no such tags, signature or function.
        FailedPreconditionError: `soft_placement`, `visible_devices` or a part was given for a log, which is not placed
            again.
        ValueError: tags or a signature was given for a source without them, or the machine does not have the
            `visible_devices`.
        Other errors: as for `gpuplace.graphdef.load.open_model`.
    """

    def __init__(
        self,
        source: Any,
        machine: Any = None,
        config: ConfigProto | None = None,
        release: str | None = None,
        *,
        soft_placement: bool | None = None,
        visible_devices: VisibleDevices | None = None,
        tags: str | Iterable[str] | None = None,
        signature: str | None = None,
        function: str | None = None,
        clear_devices: bool = False,
    ) -> None:
        self.source = source
        self.session: Any = None
        self.lock = threading.RLock()
        self._placers: dict[tuple[Any, ...], Placer] = {}
        known_part: Part | None = None
        model_source, soft, environ = source, None, dict(os.environ)
        if isinstance(source, Placement):
            release = release or source.release
            model_source, known_part = _source_of(source)
            soft = source.soft if config is None else None
            if machine is None and (origin := source.device_set.origin) is not None:
                machine, environ = origin.machine, origin.environ
                config = origin.settings if config is None else config
            elif machine is None:
                machine, environ = Machine.from_devices(source.device_set.names), {}
        elif not isinstance(source, Graph | PlacementView | LoggedPlacement) and isinstance(
            getattr(source, "graph", None), Graph
        ):
            model_source, self.session = source.graph, source
            config = getattr(source, "_config", None) if config is None else config
            origin = getattr(getattr(source, "_devices", None), "origin", None)
            if machine is None and origin is not None and origin.machine.tasks:  # it has a target
                machine, environ = origin.machine, origin.environ
            elif machine is None:
                environ = _environ_of_process()
        self.is_fixed = isinstance(source, PlacementView | LoggedPlacement)
        self.graph = (
            model_source
            if self.is_fixed or isinstance(model_source, Graph | PlacementGraph)
            else open_model(model_source)
        )
        self.parts = Parts(self.graph)
        chosen_machine = None if machine is None else as_machine(machine)
        if chosen_machine is None:
            chosen_machine = Machine() if self.is_fixed else current_machine()
        self.settings = Settings.begin(
            chosen_machine, releases.resolve(release, release_of(self.graph)), config, environ
        )
        given_switches = {"soft_placement": soft_placement, "visible_devices": visible_devices}
        if self.is_fixed and any(value is not None for value in given_switches.values()):
            self.changed(**{name: value for name, value in given_switches.items() if value is not None})
        soft = soft if soft_placement is None else is_soft(None, soft_placement)
        if soft is not None:
            self.settings = replace(self.settings, soft_placement=soft)
        if visible_devices is not None:
            text = self.settings.text_for_visible_devices(visible_devices)
            self.settings = replace(self.settings, cuda_visible_devices=text)
        if not self.is_fixed:
            part_settings = self.parts.begin(
                tags, signature, function, clear_devices=clear_devices, otherwise=known_part
            )
            self.settings = replace(self.settings, **part_settings)
        if isinstance(source, Placement) and (known_part is None or known_part == Part(*self.settings.part)):
            self._placers[(source.release, *self.settings.part)] = source.placer
        self.placement: Any = source if self.is_fixed else None
        self.error: Exception | None = None
        self.blamed: tuple[str, ...] = ()
        self._good: Settings | None = None
        self._past: list[Settings] = []
        self._future: list[Settings] = []
        if not self.is_fixed:
            self._place()
        elif tags is not None or signature or function or clear_devices:
            self.changed(tags=tags, signature=signature, function=function, clear_devices=clear_devices)

    @property
    def is_stale(self) -> bool:
        """Whether the placement belongs to earlier settings."""
        return bool(self.error is not None and self._good is not None and self._good != self.settings)

    @property
    def mapping(self) -> tuple[MappingRow, ...] | None:
        """The chain from GPUs to devices; None if the settings are wrong."""
        try:
            return self.settings.mapping()
        except OpError:
            return None

    # ------------------------------------------------------------------------------------------------------ changes

    def changed(self, **changes: Any) -> Settings:
        """Return the settings after a change; only their form is checked.

        Raises:
            InvalidArgumentError: the machine's description is invalid.
            FailedPreconditionError: the source is a log, not a graph.
            NotFoundError: there are no such tags, signature or function.
            ValueError: an unknown release, GPU or order, an invalid number, or a part of a source without parts.
            TypeError: there is no such setting.
        """
        if self.is_fixed:
            raise FailedPreconditionError.of(
                "A log cannot be placed again, because it contains no graph.",
                facts={"asked for": ", ".join(f"{name}={value}" for name, value in changes.items())},
                hint="explore the graph on the log's machine, explore(graph, machine=log.machine()), or use "
                "log.compare(graph)",
            )
        settings = self.settings
        parts = {name: changes.pop(name) for name in _PARTS & changes.keys()}
        if unknown := sorted(changes.keys() - SETTINGS.keys()):
            raise TypeError(f"There is no setting {unknown[0]!r}: choose from {', '.join(SETTINGS)}")
        if parts:
            settings = replace(settings, **self.parts.changed(settings, **parts))
        for name in SETTINGS:
            if name in changes:
                settings = SETTINGS[name].changed(changes[name], settings)
        if changes.get("requests") and not parts and not settings.call and self.placement is not None:
            index = self.placement.graph.index
            if missing := [name for name in settings.requests if name not in index]:
                raise ValueError(f"There is no node {missing[0]!r} for which a device could be requested")
        return settings

    def change(self, **changes: Any) -> None:
        """Change settings and place again; a failure is stored in `error`. Raises as `changed` does."""
        self.go_to(self.changed(**changes))

    def go_to(self, settings: Settings) -> None:
        """Make other settings the current ones and place again."""
        if settings == self.settings:
            return
        self._past.append(self.settings)
        self._future.clear()
        self._become(settings)

    def _become(self, settings: Settings) -> None:
        is_same = is_same_placement(settings, self.settings)
        if is_same and self._good == self.settings:
            self._good = settings
        self.settings = settings
        if not is_same:
            self._place()

    def undo(self) -> bool:
        """Undo the last change; return whether there was one."""
        return self._step(self._past, self._future)

    def redo(self) -> bool:
        """Redo the last undone change; return whether there was one."""
        return self._step(self._future, self._past)

    def _step(self, source: list[Settings], target: list[Settings]) -> bool:
        if not source:
            return False
        target.append(self.settings)
        self._become(source.pop())
        return True

    @property
    def can_undo(self) -> bool:
        """Whether there is a change to undo."""
        return bool(self._past)

    @property
    def previous(self) -> Settings:
        """The settings before the last change; the current ones if there was none."""
        return self._past[-1] if self._past else self.settings

    @property
    def can_redo(self) -> bool:
        """Whether there is a change to redo."""
        return bool(self._future)

    # ------------------------------------------------------------------------------------------------------ placing

    def attempt(self, settings: Settings) -> Placement:
        """Return the placement of other settings, partial if nodes cannot be placed.

        Raises:
            OpError: the settings allow no devices, or the graph is invalid.
        """
        devices, soft, release = settings.device_set(), settings.soft_placement, settings.release
        placer = self._placers.get((release, *settings.part))
        if placer is not None and settings.call:
            return place_called(placer, self.attempt(settings.outside()), settings.call)
        if placer is not None:
            placement = place_again(placer, devices, soft=soft, on_error="keep", soft_switch=SOFT_KEYWORD)
            return self._with_requests(placement, settings.requests)
        options = self.parts.options(settings)
        placement = place(
            self.graph, machine=devices, release=release, on_error="keep", soft_placement=soft, **options
        )
        self._placers[(release, *settings.part)] = placement.placer
        return self.attempt(settings) if settings.call else self._with_requests(placement, settings.requests)

    def _with_requests(self, placement: Placement, requests: Mapping[str, str]) -> Placement:
        """Return the placement with other device requests; unknown node names are ignored."""
        graph = placement.graph
        by_node = {graph.index[name]: text for name, text in requests.items() if name in graph.index}
        if not by_node:
            return placement
        all_requests = [by_node.get(node, graph.requested_device(node)) for node in range(len(graph))]
        return placed_with(placement, all_requests, on_error="keep")

    def pins(self) -> dict[str, Any]:
        """The constraints from the node that calls the open function, as arguments of `gpuplace.place`."""
        if self._good is None or not self._good.call:
            return {}
        outer = self.attempt(self._good.outside())
        return pins_of_call(self.placement.graph, outer, self._good.call)

    def _place(self) -> None:
        """Place the graph; a failure is stored in `error`."""
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
        """Return the settings without which there would be devices.

        Settings changed since the last success are tried first, then all settings. If there are devices and another
        part of the graph could be placed, these are the settings that select the part.
        """
        if self._good is not None and self._good.part != self.settings.part and self.mapping is not None:
            names = ("functions", "signature", "tags", "clear_devices")
            return tuple(name for name in names if getattr(self._good, name) != getattr(self.settings, name))[
                :1
            ]
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
        """The output of ``log_device_placement`` for this placement; empty if there is an error."""
        if isinstance(self.placement, LoggedPlacement):
            rows = self.placement.rows
            return "".join(
                f"{row.name}: {f'({row.type}): ' if row.type else ''}{row.device}\n" for row in rows
            )
        if self.placement is None or self.error is not None or self.is_fixed:
            return ""
        return self.placement.log(self.settings.release)


def _source_of(placement: Placement) -> tuple[Any, Part | None]:
    """Return the placed graph in a form that can be placed again, and its part."""
    source = placement.graph.source
    if isinstance(source, PlacedPart):
        return source.model, source.part
    return (source if isinstance(source, Graph) else placement.graph), None


def _environ_of_process() -> dict[str, str]:
    """Return the environment variables that CUDA read when this process first used it."""
    seen = process_state.visibility()
    variables = {DEVICE_ORDER: seen.order}
    if seen.setting is not None:
        variables[VISIBLE_DEVICES] = seen.setting
    return variables
