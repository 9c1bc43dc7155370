"""The placement that a log says.

`LoggedPlacement` is a mapping from node name to the full name of its device, as printed, and knows whatever else the
log says: sessions, the devices behind the names, ops that ran eagerly, and the text that says nothing of the kind.

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
"""Of one type in one task; a higher number is not believed."""


class LoggedNode(NamedTuple):
    """A line about a node."""

    name: str
    type: str
    """Op type; "" where the release does not print it (until 0.11)."""
    device: str
    """Full name as printed."""
    session: int
    """Number of the session, counted from 0."""
    line: int
    """Line of the log, counted from 1."""


class LoggedEvent(NamedTuple):
    """An op that ran eagerly."""

    op: str
    """Op type, or name of a function."""
    device: str
    session: int
    line: int


class LoggedDevice(NamedTuple):
    """A row below "Device mapping:"."""

    device: str
    """Full name as printed."""
    description: str
    """As printed: `device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0`."""
    physical_id: int | None
    """Number of the GPU, None for what is not a GPU."""
    name: str
    """Model; "" where it is not given."""
    pci_bus_id: str
    compute_capability: str
    """"" where it is not given (until 1.4)."""
    session: int
    line: int


class LoggedGPU(NamedTuple):
    """What the log says of a GPU besides: found, made a device of, or not used."""

    told: str
    """`"found"`, `"created"` or `"ignored"`."""
    device: str
    """The device that was made of it, as printed."""
    physical_id: int | None
    name: str
    pci_bus_id: str
    compute_capability: str
    memory_mb: int | None
    """The device's memory limit in MiB, since 1.5."""
    detail: str
    """Properties as printed, or why it is not used."""
    line: int


class OverriddenRequest(NamedTuple):
    """A request for a device, or to be where another node is, that TensorFlow says it overrode."""

    node: str
    """Name of the node; of a colocation group the first that asks for a device."""
    requested: str
    """The device it asks for, as printed; "" where none is named."""
    device: str
    """The device it gets instead, as printed; "" where none is named."""
    reason: str
    """``"reference"``: the variable that it takes is there; ``"colocation"``: its group cannot be as asked."""
    nodes: int
    """How many nodes have to follow."""
    line: int
    """Line of the log, counted from 1."""


class Unparsed(NamedTuple):
    """Text that says nothing of placement, or not certainly."""

    line: int
    """Counted from 1."""
    column: int
    """Counted from 0."""
    text: str


@dataclass(frozen=True, eq=False)
class LoggedPlacement(Mapping[str, str]):
    """What a log, or one session of it, tells. A node that is printed with several devices has the last one."""

    rows: tuple[LoggedNode, ...]
    """Every node's line, once for both copies, in the order printed."""
    devices: tuple[LoggedDevice, ...] = ()
    """Rows of the device mapping."""
    events: tuple[LoggedEvent, ...] = ()
    """Ops that ran eagerly, in order."""
    gpus: tuple[LoggedGPU, ...] = ()
    """What is told of GPUs besides."""
    unparsed: tuple[Unparsed, ...] = ()
    """What was not understood; of a session alone nothing."""
    numbers: tuple[int, ...] = (0,)
    """Numbers of the sessions."""
    notes: tuple[LogNote, ...] = ()
    """What was undone before reading, what breaks off, is ambiguous, overridden or was ignored; of a session alone
    nothing."""
    overridden: tuple[OverriddenRequest, ...] = ()
    """Requests that TensorFlow says it overrode; of a session alone nothing."""

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
        told = [f"{counted(len(self), 'node')}: {counts or 'none'}"]
        if len(self.numbers) > 1:
            told.append(counted(len(self.numbers), "session"))
        if self.events:
            told.append(counted(len(self.events), "eager op"))
        if self.overridden:
            told.append(counted(len(self.overridden), "overridden request"))
        if self.unparsed:
            told.append(f"{counted(len(self.unparsed), 'piece')} of text not understood")
        return f"<LoggedPlacement of {'; '.join(told)}>"

    def counts(self) -> dict[str, int]:
        """Short device name (`GPU:0`; `worker/1 GPU:0` of another job) -> number of nodes."""
        return dict(Counter(map(device_label, self._device_of.values())))

    @cached_property
    def sessions(self) -> tuple[LoggedPlacement, ...]:
        """The same for each session alone; a session begins where "Device mapping" is printed again."""
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
        """The nodes that are printed with more than one device, in several sessions or functions, and the devices."""
        found: dict[str, dict[str, None]] = {}
        for row in self.rows:
            found.setdefault(row.name, {})[row.device] = None
        return {name: tuple(devices) for name, devices in found.items() if len(devices) > 1}

    @cached_property
    def types(self) -> dict[str, str]:
        """Node name -> op type, "" where it is not given."""
        return {row.name: row.type for row in self.rows}

    @cached_property
    def device_names(self) -> tuple[str, ...]:
        """Full names, in the form of 1.15, of all devices that the log names, in the machine's order."""
        printed = {row.device for row in self.rows} | {row.device for row in self.devices}
        names = {full_name(device) for device in printed | {event.device for event in self.events}}
        names |= {full_name(gpu.device) for gpu in self.gpus if gpu.device.startswith("/job:")}
        return tuple(sorted(names, key=_order))

    def machine(self) -> Machine:
        """A machine with the devices that the log names, those with lower numbers, and the CPU of their task.

        XLA's own devices, which the placer never chooses by itself, are left out.

        Raises:
            InvalidArgumentError: the log names no device.
        """
        counts: dict[tuple[str, str], int] = {}
        for name in self.device_names:
            task, _, local = name.partition("/device:")
            kind, _, number = local.partition(":")
            if not kind.startswith("XLA_"):
                counts.setdefault((task, "CPU"), 1)
                counts[task, kind] = max(counts.get((task, kind), 1), min(int(number), _MOST_DEVICES - 1) + 1)
        names = [f"{task}/device:{kind}:{i}" for (task, kind), count in counts.items() for i in range(count)]
        return Machine.from_devices(sorted(names, key=_order))

    @cached_property
    def placement_view(self) -> PlacementView:
        """The form that tables and pictures read: nodes without edges or requests."""
        types = self.types
        known_types = list(dict.fromkeys(types.values())) or [""]
        devices = list(dict.fromkeys(self._device_of.values()))
        devices = sorted({*devices, *(row.device for row in self.devices)}, key=_order)
        type_at = {name: i for i, name in enumerate(known_types)}
        device_at = {name: i for i, name in enumerate(devices)}
        empty = np.zeros(0, dtype=np.int64)
        return PlacementView(
            names=list(self._device_of),
            op_types=known_types,
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
        """What the log says of a node: a log gives no reasons.

        Raises:
            KeyError: it does not name the node.
        """
        rows = tuple(row for row in self.rows if row.name == node)
        if not rows:
            raise KeyError(f"the log has no node {node!r}")
        return LoggedNote(rows)

    def diff(self, other: Mapping[str, str]) -> LogDiff:
        """The nodes that have another device in another log, or in a `Placement`."""
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
        """Where gpuplace would place a graph otherwise than the log says, with the reasons.

        Args:
            graph: what `gpuplace.place` takes.
            machine: a `Machine` or its text; a machine with the log's devices if None.
            config: a `ConfigProto`.
            release: which TensorFlow to place as; the process's release if None.
            session: number of the session to compare; all of them, the last one counting, if None.
            soft_placement: whether to place softly; what `config` says if None, over which this goes.
            visible_devices: the GPUs of the machine that TensorFlow sees, as for `gpuplace.place`.

        Raises:
            InvalidArgumentError: the graph cannot be placed on the machine.
            TypeError: an argument is nothing of the kind.
            ValueError: `visible_devices` that the machine does not have.
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
        """A table of the log as a ``DataFrame``; see ``gpuplace.jupyter.frames.log_frames`` for tables and columns.

        Raises:
            ValueError: there is no such table.
        """
        logged_frame = above("gpuplace.jupyter.frames.log_frames", "logged_frame")

        return logged_frame(self, table)

    def picture(self, **options: Unpack[PictureOptions]) -> Picture:
        """The nodes in colours; see ``gpuplace.jupyter.pictures.placement_picture`` for the options."""
        placement_picture = above("gpuplace.jupyter.pictures", "placement_picture")

        return placement_picture(self, **options)

    _repr_mimebundle_ = notebook_view


@dataclass(frozen=True)
class LoggedNote:
    """What a log says of a node."""

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
        told = [
            f"{row.name}{f' ({row.type})' if row.type else ''} -> {row.device}, line {row.line}"
            for row in self.rows
        ]
        return "\n".join(
            [*told, "  a log says where a node is, not why: log.compare(graph) places the graph"]
        )


_Record = TypeVar("_Record", LoggedNode, LoggedDevice, LoggedEvent)


def _by_session(records: Iterable[_Record]) -> defaultdict[int, tuple[_Record, ...]]:
    """Number of a session -> its records, in order."""
    found: defaultdict[int, list[_Record]] = defaultdict(list)
    for record in records:
        found[record.session].append(record)
    return defaultdict(tuple, {number: tuple(of_it) for number, of_it in found.items()})


def _order(device: str) -> tuple[Any, ...]:
    parsed = parse_name(device)
    if parsed is None:
        return ("~", 0, 0, "", 0)
    kind = {"CPU": "", "GPU": " "}.get(parsed.type or "", parsed.type or "")
    return (parsed.job or "", parsed.replica or 0, parsed.task or 0, kind, parsed.id or 0)
