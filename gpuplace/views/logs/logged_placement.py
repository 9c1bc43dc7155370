"""The placement recorded in a log.

`LoggedPlacement` is a mapping from node name to the full device name as printed. It also holds the log's sessions, the
physical devices, the ops that ran eagerly, and the text that is not about placement.

>>> from gpuplace.views.logs.parser import parse_log
>>> log = parse_log("a: (Const): /job:localhost/replica:0/task:0/device:CPU:0\\n4.0")
>>> dict(log), log.unparsed
({'a': '/job:localhost/replica:0/task:0/device:CPU:0'}, (Unparsed(line=2, column=0, text='4.0'),))
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, Unpack

import numpy as np

from gpuplace.device.machine import Machine
from gpuplace.device.parsed_name import parse_name
from gpuplace.display import above, notebook_view, with_safe_text
from gpuplace.typing import (
    ConfigLike,
    DataFrame,
    GraphLike,
    MachineLike,
    Picture,
    PictureOptions,
    VisibleDevices,
)
from gpuplace.views.logs.log_diff import LogDiff, full_name, log_diff
from gpuplace.views.logs.statements import LogNote
from gpuplace.views.tables.palette import device_label
from gpuplace.views.tables.placement_view import NOWHERE, PlacementView
from gpuplace.views.tables.text import counted

_MOST_DEVICES = 4096
"""Maximum number of devices of one type in one task; a higher index is treated as an error in the log."""


class LoggedNode(NamedTuple):
    """A log line about a node."""

    name: str
    type: str
    """Op type; "" if the release does not print it (until 0.11)."""
    device: str
    """Full device name as printed."""
    session: int
    """Session number, from 0."""
    line: int
    """Line number in the log, from 1."""


class LoggedEvent(NamedTuple):
    """An op that ran eagerly."""

    op: str
    """Op type, or function name."""
    device: str
    session: int
    line: int


class LoggedDevice(NamedTuple):
    """A row below "Device mapping:"."""

    device: str
    """Full device name as printed."""
    description: str
    """The text as printed: `device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0`."""
    physical_id: int | None
    """GPU number; None for a device that is not a GPU."""
    name: str
    """Model name; "" if it is not printed."""
    pci_bus_id: str
    compute_capability: str
    """Compute capability; "" if it is not printed (until 1.4)."""
    session: int
    line: int


class LoggedGPU(NamedTuple):
    """Other log lines about a GPU: it was found, a device was created on it, or it was ignored."""

    told: str
    """`"found"`, `"created"` or `"ignored"`."""
    device: str
    """The device created on it, as printed."""
    physical_id: int | None
    name: str
    pci_bus_id: str
    compute_capability: str
    memory_mb: int | None
    """The device's memory limit in MiB, since 1.5."""
    detail: str
    """Properties as printed, or the reason why it is ignored."""
    line: int


class OverriddenRequest(NamedTuple):
    """A device or colocation request that TensorFlow reports as overridden."""

    node: str
    """Node name; for a colocation group, the first node that requests a device."""
    requested: str
    """The requested device, as printed; "" if none is printed."""
    device: str
    """The device that the node gets instead, as printed; "" if none is printed."""
    reason: str
    """``"reference"``: the node follows its variable; ``"colocation"``: its group cannot be placed as requested."""
    nodes: int
    """Number of affected nodes."""
    line: int
    """Line number in the log, from 1."""


class Unparsed(NamedTuple):
    """Text that is not about placement, or not unambiguously."""

    line: int
    """Line number, from 1."""
    column: int
    """Column, from 0."""
    text: str


@dataclass(frozen=True, eq=False)
class LoggedPlacement(Mapping[str, str]):
    """The content of a log, or of one session of it. For a node printed with several devices, the last one counts."""

    rows: tuple[LoggedNode, ...]
    """Every node's line in printed order; the two copies on stdout and stderr count once."""
    devices: tuple[LoggedDevice, ...] = ()
    """Rows of the device mapping."""
    events: tuple[LoggedEvent, ...] = ()
    """Ops that ran eagerly, in order."""
    gpus: tuple[LoggedGPU, ...] = ()
    """Other lines about GPUs."""
    unparsed: tuple[Unparsed, ...] = ()
    """Text that was not understood; empty for a single session."""
    numbers: tuple[int, ...] = (0,)
    """Session numbers."""
    notes: tuple[LogNote, ...] = ()
    """Notes about text that was restored before reading, cut off, ambiguous, overridden or ignored; empty for a single
    session.
    """
    overridden: tuple[OverriddenRequest, ...] = ()
    """Requests that TensorFlow reports as overridden; empty for a single session."""

    @cached_property
    def _device_of(self) -> dict[str, str]:
        return {row.name: row.device for row in self.rows}

    def __getitem__(self, name: str) -> str:
        return self._device_of[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._device_of)

    def __len__(self) -> int:
        return len(self._device_of)

    @with_safe_text
    def __repr__(self) -> str:
        counts = ", ".join(f"{count} on {device}" for device, count in self.counts().items())
        parts = [f"{counted(len(self), 'node')}: {counts or 'none'}"]
        if len(self.numbers) > 1:
            parts.append(counted(len(self.numbers), "session"))
        if self.events:
            parts.append(counted(len(self.events), "eager op"))
        if self.overridden:
            parts.append(counted(len(self.overridden), "overridden request"))
        if self.unparsed:
            parts.append(f"{counted(len(self.unparsed), 'piece')} of text not understood")
        return f"<LoggedPlacement of {'; '.join(parts)}>"

    def counts(self) -> dict[str, int]:
        """Return short device name (`GPU:0`; `worker/1 GPU:0` for another job) -> number of nodes."""
        return dict(Counter(map(device_label, self._device_of.values())))

    @cached_property
    def sessions(self) -> tuple[LoggedPlacement, ...]:
        """The content of each session; a new session begins where "Device mapping" is printed again."""
        if len(self.numbers) == 1:
            return (self,)
        rows, devices = _by_session(self.rows), _by_session(self.devices)
        events = _by_session(self.events)
        return tuple(
            LoggedPlacement(rows[number], devices[number], events[number], self.gpus, (), (number,))
            for number in self.numbers
        )

    @cached_property
    def repeated(self) -> dict[str, tuple[str, ...]]:
        """Nodes printed with more than one device, in several sessions or functions, -> these devices."""
        devices_of: dict[str, dict[str, None]] = {}
        for row in self.rows:
            devices_of.setdefault(row.name, {})[row.device] = None
        return {name: tuple(devices) for name, devices in devices_of.items() if len(devices) > 1}

    @cached_property
    def types(self) -> dict[str, str]:
        """Node name -> op type; "" if it is not printed."""
        return {row.name: row.type for row in self.rows}

    @cached_property
    def device_names(self) -> tuple[str, ...]:
        """Full names, in the format of 1.15, of all devices named in the log, in the machine's order."""
        printed = {row.device for row in self.rows} | {row.device for row in self.devices}
        names = {full_name(device) for device in printed | {event.device for event in self.events}}
        names |= {full_name(gpu.device) for gpu in self.gpus if gpu.device.startswith("/job:")}
        return tuple(sorted(names, key=_order))

    def machine(self) -> Machine:
        """Return a machine with the devices named in the log, all devices with lower indices, and each task's CPU.

        XLA's own devices are left out, because the placer never chooses them by itself.

        Raises:
            InvalidArgumentError: the log names no device.
        """
        counts: dict[tuple[str, str], int] = {}
        for name in self.device_names:
            task, _, local = name.partition("/device:")
            device_type, _, number = local.partition(":")
            if not device_type.startswith("XLA_"):
                counts.setdefault((task, "CPU"), 1)
                counts[task, device_type] = max(
                    counts.get((task, device_type), 1), min(int(number), _MOST_DEVICES - 1) + 1
                )
        names = [
            f"{task}/device:{device_type}:{i}"
            for (task, device_type), count in counts.items()
            for i in range(count)
        ]
        return Machine.from_devices(sorted(names, key=_order))

    @cached_property
    def placement_view(self) -> PlacementView:
        """The input of tables and pictures: nodes without edges or requests."""
        types = self.types
        op_types = list(dict.fromkeys(types.values())) or [""]
        devices = list(dict.fromkeys(self._device_of.values()))
        devices = sorted({*devices, *(row.device for row in self.devices)}, key=_order)
        type_at = {name: i for i, name in enumerate(op_types)}
        device_at = {name: i for i, name in enumerate(devices)}
        empty = np.zeros(0, dtype=np.int64)
        return PlacementView(
            names=list(self._device_of),
            op_types=op_types,
            op_type=np.array([type_at[name] for name in types.values()], dtype=np.int64),
            requests=[""],
            request=np.zeros(len(self), dtype=np.int64),
            devices=devices,
            device=np.array(
                [device_at.get(name, NOWHERE) for name in self._device_of.values()], dtype=np.int64
            ),
            src=empty,
            src_output=empty,
            dst=empty,
            dst_input=empty,
            knows_edges=False,
        )

    def explain(self, node: str) -> LoggedNote:
        """Return the log's lines about a node. A log contains no reasons.

        Raises:
            KeyError: the log has no such node.
        """
        rows = tuple(row for row in self.rows if row.name == node)
        if not rows:
            raise KeyError(f"the log has no node {node!r}")
        return LoggedNote(rows)

    def diff(self, other: Mapping[str, str]) -> LogDiff:
        """Return the nodes whose device differs in another log, or in a `Placement`."""
        types = dict(other.types) if isinstance(other, LoggedPlacement) else {}
        types.update((name, op_type) for name, op_type in self.types.items() if op_type)
        return log_diff(self, other, types)

    def compare(
        self,
        graph: GraphLike,
        machine: MachineLike | None = None,
        config: ConfigLike | None = None,
        release: str | None = None,
        session: int | None = None,
        *,
        soft_placement: bool | None = None,
        visible_devices: VisibleDevices | None = None,
    ) -> LogDiff:
        """Place a graph and return the nodes whose device differs from the log, with the reasons.

        Args:
            graph: a graph as for `gpuplace.place`.
            machine: a `Machine` or its text; a machine with the log's devices if None.
            config: a `ConfigProto`.
            release: the TensorFlow release to place as; the process's release if None.
            session: number of the session to compare; None for all sessions, where the last one counts.
            soft_placement: whether to allow soft placement; takes precedence over `config`, which is used if None.
            visible_devices: the GPUs of the machine that TensorFlow sees, as for `gpuplace.place`.

        Raises:
            InvalidArgumentError: the graph cannot be placed on the machine.
            TypeError: an argument has the wrong type.
            ValueError: the machine does not have the `visible_devices`.
            IndexError: there is no such session.
        """
        from gpuplace.runtime.session.place import place

        part = self if session is None else self.sessions[session]
        placement = place(
            graph,
            machine=machine or part.machine(),
            config=config,
            release=release,
            soft_placement=soft_placement,
            visible_devices=visible_devices,
        )
        return part.diff(placement)

    def frame(self, table: str = "nodes") -> DataFrame:
        """Return a table of the log as a ``DataFrame``; see ``jupyter.frames.log_frames`` for tables and columns.

        Raises:
            ValueError: there is no such table.
        """
        return above("gpuplace.jupyter.frames.log_frames", "logged_frame")(self, table)

    def picture(self, **options: Unpack[PictureOptions]) -> Picture:
        """Draw the nodes in colours; see ``gpuplace.jupyter.pictures.placement_picture`` for the options."""
        return above("gpuplace.jupyter.pictures", "placement_picture")(self, **options)

    _repr_mimebundle_ = notebook_view


@dataclass(frozen=True)
class LoggedNote:
    """The log's lines about a node."""

    rows: tuple[LoggedNode, ...]
    steps = remedies = remedy = group = ()
    rule = None
    decided_by = because = held_by = ""

    @with_safe_text
    def __repr__(self) -> str:
        return f"<LoggedNote of {', '.join(f'{row.name} on {row.device}' for row in self.rows)}>"

    _repr_mimebundle_ = notebook_view

    @with_safe_text
    def __str__(self) -> str:
        lines = [
            f"{row.name}{f' ({row.type})' if row.type else ''} -> {row.device}, line {row.line}"
            for row in self.rows
        ]
        return "\n".join(
            [*lines, "  a log records devices, not reasons: use log.compare(graph) to place the graph"]
        )


_Record = TypeVar("_Record", LoggedNode, LoggedDevice, LoggedEvent)


def _by_session(records: Iterable[_Record]) -> defaultdict[int, tuple[_Record, ...]]:
    """Return session number -> its records, in order."""
    records_of: defaultdict[int, list[_Record]] = defaultdict(list)
    for record in records:
        records_of[record.session].append(record)
    return defaultdict(
        tuple, {number: tuple(session_records) for number, session_records in records_of.items()}
    )


def _order(device: str) -> tuple[Any, ...]:
    parsed = parse_name(device)
    if parsed is None:
        return ("~", 0, 0, "", 0)
    type_order = {"CPU": "", "GPU": " "}.get(parsed.type or "", parsed.type or "")
    return (parsed.job or "", parsed.replica or 0, parsed.task or 0, type_order, parsed.id or 0)
