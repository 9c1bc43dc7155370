"""The state behind the explorer, without a widget: a graph, a machine and settings; each change places anew.

>>> from gpuplace.graph.graph import Graph
>>> what_if = WhatIf(Graph(), machine="4x Tesla K20m")
>>> what_if.change(visible=(2, 0))
>>> what_if.environ["CUDA_VISIBLE_DEVICES"], what_if.error
('0,2', None)
"""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from gpuplace import release as releases
from gpuplace.device.machine import Machine
from gpuplace.device.mapping import MappingRow
from gpuplace.device.visible import DEVICE_ORDER, VISIBLE_DEVICES
from gpuplace.errors import OpError
from gpuplace.graph.graph import Graph
from gpuplace.placer.messages import error_of
from gpuplace.placer.placement import Placement
from gpuplace.placer.placer import Placer
from gpuplace.runtime.place import place
from gpuplace.runtime.process_state import current_machine

__all__ = ["WhatIf"]

_UNCHANGED: Any = object()


class WhatIf:
    """A graph on a machine, with settings that can be changed.

    Args:
        source: what `gpuplace.place` takes, a `Session` or a `Placement`.
        machine: a `Machine` or its text; the session's, or the current one, by default.
        config: ``ConfigProto`` to begin with.
        release: which TensorFlow; the process's by default.

    Attributes:
        placement: the last answer; complete, or partial where there is an `error`; None where nothing could be placed.
        error: what is wrong with the present settings, None where all is well.

    Raises:
        InvalidArgumentError: the machine's text is not understood.
    """

    def __init__(
        self, source: Any, machine: Any = None, config: Any = None, release: str | None = None
    ) -> None:
        self.source = source
        given = source
        self._placers: dict[str, Placer] = {}
        soft = bool(getattr(config, "allow_soft_placement", False))
        if isinstance(source, Placement):
            release = release or source.release
            given = source.graph.source if isinstance(source.graph.source, Graph) else source.graph
            machine = _machine_of(source) if machine is None else machine
            soft = source.soft if config is None else soft
            self._placers[source.release] = source.placer
        elif not isinstance(source, Graph) and isinstance(getattr(source, "graph", None), Graph):  # a session
            given = source.graph
            config = getattr(source, "_config", None) if config is None else config
            soft = bool(getattr(config, "allow_soft_placement", False))
        self.graph = given
        self.soft = soft
        self.machine = Machine.parse(machine) if isinstance(machine, str) else machine or current_machine()
        self.config = config
        self.release = releases.resolve(release)
        self.visible = self._seen_first()
        self.placement: Placement | None = None
        self.error: Exception | None = None
        self._place()

    def _seen_first(self) -> tuple[int, ...]:
        """The GPUs that the environment leaves."""
        return tuple(sorted(gpu.index for gpu in self.machine.visibility().visible))

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables that make exactly the chosen GPUs visible."""
        if len(self.visible) == len(self.machine.gpus):
            return {}
        return {DEVICE_ORDER: "PCI_BUS_ID", VISIBLE_DEVICES: ",".join(map(str, self.visible))}

    @property
    def mapping(self) -> tuple[MappingRow, ...]:
        """The chain from GPUs to devices; empty where the settings are wrong."""
        try:
            return self.machine.mapping(self.config, environ=self.environ)
        except OpError:
            return ()

    def change(
        self,
        *,
        machine: Machine | str = _UNCHANGED,
        visible: Iterable[int] = _UNCHANGED,
        soft: bool = _UNCHANGED,
        release: str = _UNCHANGED,
    ) -> None:
        """Changes settings and places again; `error` says where that failed. Another machine shows all its GPUs.

        Raises:
            InvalidArgumentError: the machine's text is not understood; then nothing has changed.
            ValueError: an unknown release or GPU; then nothing has changed.
        """
        new_machine = self.machine if machine is _UNCHANGED else machine
        if isinstance(new_machine, str):
            new_machine = Machine.parse(new_machine)
        new_release = self.release if release is _UNCHANGED else releases.resolve(release)
        count = len(new_machine.gpus)
        if visible is not _UNCHANGED:
            new_visible = tuple(sorted({int(gpu) for gpu in visible}))
            if any(not 0 <= gpu < count for gpu in new_visible):
                raise ValueError(f"The machine has {count} GPUs, counted from 0; got {list(new_visible)}")
        else:
            new_visible = self.visible if machine is _UNCHANGED else tuple(range(count))
        self.machine, self.visible, self.release = new_machine, new_visible, new_release
        if soft is not _UNCHANGED:
            self.soft = bool(soft)
        self._place()

    def _place(self) -> None:
        """Asks the placer; what it finds wrong is kept as `error`."""
        try:
            devices = self.machine.device_set(self.config, environ=self.environ)
            placer = self._placers.get(self.release)
            if placer is None:
                settings = SimpleNamespace(allow_soft_placement=self.soft)
                self.placement = place(
                    self.graph, machine=devices, config=settings, release=self.release, on_error="keep"
                )
                self._placers[self.release] = self.placement.placer
            else:
                self.placement = placer.place(devices, soft=self.soft, on_error="keep")
        except OpError as error:
            self.placement, self.error = None, error
            return
        faults = self.placement.faults
        self.error = error_of(self.placement, faults[0]) if faults else None  # not all: a text each

    def log(self) -> str:
        """What ``log_device_placement`` prints of this placement."""
        return "" if self.placement is None or self.error is not None else self.placement.log(self.release)


def _machine_of(placement: Placement) -> Machine:
    """The machine that a placement was made for, as far as it can be told."""
    devices = placement.device_set
    machine = getattr(devices, "machine", None) or current_machine()
    return machine if machine.device_set().names == devices.names else Machine.from_devices(devices.names)
