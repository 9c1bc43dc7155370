"""The state behind the explorer, without a widget: a graph, settings and what they lead to; each change places again.

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
from gpuplace.advisor.steps.judge import placed_with
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
from gpuplace.runtime.session.called import pins_of_call, place_called
from gpuplace.runtime.session.place import SOFT_KEYWORD, is_soft, place, release_of
from gpuplace.typing import VisibleDevices
from gpuplace.views.logs.logged_placement import LoggedPlacement
from gpuplace.views.tables.placement_view import PlacementView
from gpuplace.why.messages import error_of
from gpuplace.why.place import place_again
from gpuplace.why.placement import Placement

_PARTS = frozenset({"tags", "signature", "function", "functions", "calls"})
"""Settings that say what of the graph is placed, one following from the other."""


class WhatIf:
    """A graph on a machine, with settings that can be changed, undone and tried.

    Args:
        source: what `gpuplace.place` takes, a `Session`, a `Placement`, or a `LoggedPlacement` or `PlacementView`, for
            which there are no settings.
        machine: a `Machine` or its text; the session's, or the current one, by default.
        config: ``ConfigProto`` to begin with.
        release: which TensorFlow; the process's by default.
        soft_placement: to begin with; what `config` says, or as the `Placement` was made, by default.
        visible_devices: to begin with, as for `gpuplace.place`.
        tags, signature, function, clear_devices: what of the graph to begin with, as for `gpuplace.place`; but a model
            of which nothing is asked for begins with the signature that it is asked by, and a `Placement` with what it
            is of.

    Attributes:
        settings: the current settings.
        parts: what of the graph can be chosen.
        placement: what they lead to; complete, or partial where there is an `error`. Where not even devices could be
            made it is the last good one, and `is_stale` says so; None if there is none.
        error: what is wrong with the current settings, None if all is well.
        blamed: the settings that the error comes from; empty where the graph is what cannot be placed.

    Raises:
        InvalidArgumentError: the machine's text is not understood.
        TypeError: `machine`, `soft_placement` or `visible_devices` is nothing of the kind.
        NotFoundError: no such tags, signature or function.
        FailedPreconditionError: `soft_placement`, `visible_devices` or a part of a log, which is not placed again.
        ValueError: tags or a signature of what has none, or `visible_devices` that the machine does not have.
        Other errors: as of `gpuplace.graphdef.load.open_model`.
    """

    def __init__(
        self,
        source: Any,
        machine: Any = None,
        config: Any = None,
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
        given, soft, environ = source, None, dict(os.environ)
        if isinstance(source, Placement):
            release = release or source.release
            given, known_part = _source_of(source)
            soft = source.soft if config is None else None
            if machine is None and (origin := source.device_set.origin) is not None:
                machine, environ = origin.machine, origin.environ
                config = origin.settings if config is None else config
            elif machine is None:
                machine, environ = Machine.from_devices(source.device_set.names), {}
        elif not isinstance(source, Graph | PlacementView | LoggedPlacement) and isinstance(
            getattr(source, "graph", None), Graph
        ):
            given, self.session = source.graph, source
            config = getattr(source, "_config", None) if config is None else config
            origin = getattr(getattr(source, "_devices", None), "origin", None)
            if machine is None and origin is not None and origin.machine.tasks:  # it has a target
                machine, environ = origin.machine, origin.environ
            elif machine is None:
                environ = _environ_of_process()
        self.is_fixed = isinstance(source, PlacementView | LoggedPlacement)
        self.graph = (
            given if self.is_fixed or isinstance(given, Graph | PlacementGraph) else open_model(given)
        )
        self.parts = Parts(self.graph)
        known = None if machine is None else as_machine(machine)
        if known is None:
            known = Machine() if self.is_fixed else current_machine()
        self.settings = Settings.begin(
            known, releases.resolve(release, release_of(self.graph)), config, environ
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
            asked = self.parts.begin(
                tags, signature, function, clear_devices=clear_devices, otherwise=known_part
            )
            self.settings = replace(self.settings, **asked)
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
        """The settings after a change, checked as far as their form goes.

        Raises:
            InvalidArgumentError: the machine's text is not understood.
            FailedPreconditionError: what is explored is not a graph but a log.
            NotFoundError: no such tags, signature or function.
            ValueError: an unknown release, GPU or order, a number that is none, or a part of what has none.
            TypeError: there is no such setting.
        """
        if self.is_fixed:
            raise FailedPreconditionError.of(
                "A log says where nodes were, and cannot be placed again.",
                facts={"asked for": ", ".join(f"{name}={value}" for name, value in wanted.items())},
                hint="explore its graph on the log's machine, explore(graph, machine=log.machine()), or "
                "log.compare(graph)",
            )
        made = self.settings
        parts = {name: wanted.pop(name) for name in _PARTS & wanted.keys()}
        if unknown := sorted(wanted.keys() - SETTINGS.keys()):
            raise TypeError(f"There is no setting {unknown[0]!r}: choose of {', '.join(SETTINGS)}")
        if parts:
            made = replace(made, **self.parts.changed(made, **parts))
        for name in SETTINGS:
            if name in wanted:
                made = SETTINGS[name].changed(wanted[name], made)
        if wanted.get("requests") and not parts and not made.call and self.placement is not None:
            known = self.placement.graph.index
            if missing := [name for name in made.requests if name not in known]:
                raise ValueError(f"There is no node {missing[0]!r} that could ask for a device")
        return made

    def change(self, **wanted: Any) -> None:
        """Changes settings and places again; `error` says where that failed. Raises as `changed` does."""
        self.go_to(self.changed(**wanted))

    def go_to(self, settings: Settings) -> None:
        """Makes other settings the present ones and places again."""
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
        """Takes the last change back; says whether there was one."""
        return self._step(self._past, self._future)

    def redo(self) -> bool:
        """Makes the change again that was taken back last; says whether there was one."""
        return self._step(self._future, self._past)

    def _step(self, source: list[Settings], target: list[Settings]) -> bool:
        if not source:
            return False
        target.append(self.settings)
        self._become(source.pop())
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
        devices, soft, release = settings.device_set(), settings.soft_placement, settings.release
        placer = self._placers.get((release, *settings.part))
        if placer is not None and settings.call:
            return place_called(placer, self.attempt(settings.outside()), settings.call)
        if placer is not None:
            made = place_again(placer, devices, soft=soft, on_error="keep", soft_switch=SOFT_KEYWORD)
            return self._asking(made, settings.requests)
        options = self.parts.options(settings)
        made = place(
            self.graph, machine=devices, release=release, on_error="keep", soft_placement=soft, **options
        )
        self._placers[(release, *settings.part)] = made.placer
        return self.attempt(settings) if settings.call else self._asking(made, settings.requests)

    def _asking(self, placement: Any, requests: Mapping[str, str]) -> Any:
        """The placement where nodes ask for other devices; names of nodes that there are not are passed over."""
        graph = placement.graph
        known = {graph.index[name]: text for name, text in requests.items() if name in graph.index}
        if not known:
            return placement
        asked = [known.get(node, graph.requested_device(node)) for node in range(len(graph))]
        return placed_with(placement, asked, on_error="keep")

    def pins(self) -> dict[str, Any]:
        """What the node from which the function was opened pins to devices, as arguments of `gpuplace.place`."""
        if self._good is None or not self._good.call:
            return {}
        outer = self.attempt(self._good.outside())
        return pins_of_call(self.placement.graph, outer, self._good.call)

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
        """The settings without which there would be devices: of those changed since it went well, or of all.

        Where there are devices, and another part of the graph went well: what chose this part.
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
        """What ``log_device_placement`` prints of this placement; empty where there is an error."""
        if isinstance(self.placement, LoggedPlacement):
            rows = self.placement.rows
            return "".join(
                f"{row.name}: {f'({row.type}): ' if row.type else ''}{row.device}\n" for row in rows
            )
        if self.placement is None or self.error is not None or self.is_fixed:
            return ""
        return self.placement.log(self.settings.release)


def _source_of(placement: Placement) -> tuple[Any, Part | None]:
    """What a placement is of, as it can be placed again; and which part of it."""
    source = placement.graph.source
    if isinstance(source, PlacedPart):
        return source.model, source.part
    return (source if isinstance(source, Graph) else placement.graph), None


def _environ_of_process() -> dict[str, str]:
    """What CUDA read when this process first used it."""
    seen = process_state.visibility()
    found = {DEVICE_ORDER: seen.order}
    if seen.setting is not None:
        found[VISIBLE_DEVICES] = seen.setting
    return found
