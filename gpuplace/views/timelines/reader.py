"""Reads a measured step, TensorFlow's or this package's, into a `StepTimeline`.

No graph is needed: the inputs of a node are read from its label (``c = Add(a, b:1, ^d)``). Copies are read from the
labels of ``_Send`` and ``_Recv`` if both exist, otherwise from an input that another device produced (``a/_3``).
Repeated information is read once:

- ``/host:CPU`` of 1.15 repeats the nodes with their threads; the threads are read from it;
- the streams of a GPU repeat its nodes with the times of their kernels: they get their own lanes if the times
  differ, which they do not on a simulated GPU;
- both ``/memcpy`` and the streams contain the copies of a GPU: they are taken from one of them, or from sends and
  receives if there are any;
- a ``RecvTensor``, TensorFlow's record of a copy between tasks, provides the times of the copy if there are a send and
  a receive, and replaces them otherwise.

>>> from types import SimpleNamespace as Record
>>> def node(name, label, start, lasted):
...     return Record(node_name=name, timeline_label=label, all_start_micros=start, all_end_rel_micros=lasted,
...                   all_start_nanos=0, all_end_rel_nanos=0, output=[], thread_id=0)
>>> step = Record(dev_stats=[
...     Record(device="/device:CPU:0", node_stats=[node("a", "a = Const()", 100, 5)]),
...     Record(device="/device:GPU:0", node_stats=[node("b", "b = Neg(a/_1)", 108, 20)]),
... ])
>>> timeline = step_timeline(step)
>>> [(timeline.names[event], timeline.lanes[timeline.lane[event]].label) for event in timeline.path]
[('a', 'CPU:0'), ('b', 'GPU:0')]
>>> [(copy.tensor, copy.start_us, copy.end_us) for copy in timeline.copies]
[('a', 5.0, 8.0)]
"""

from __future__ import annotations

import bisect
import heapq
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuplace.device.parsed_name import parse_name
from gpuplace.graph.op_sets import MERGES, RECEIVES, SENDS, TRANSFERS
from gpuplace.runtime.plan.schedule.transfers import source_name
from gpuplace.typing import PlacementLike, RunMetadata
from gpuplace.views.tables.palette import device_label
from gpuplace.views.tables.step_times import devices_of
from gpuplace.views.timelines.move_hints import move_hints
from gpuplace.views.timelines.step_timeline import Copy, Lane, StepTimeline

_LABEL = re.compile(r"(.*?) = ([^(]*)\((.*)\)$", re.DOTALL)
_TENSOR = re.compile(r"(\S+) @(\S+)$")
_STREAM = re.compile(r"(.*/(?:device:)?[gG][pP][uU]:\d+)/(stream:.*|memcpy|sync)$")
_BETWEEN_TASKS = re.compile(r"(?:.* )?(edge_\d+_(\S+)) from (\S+) to (\S+)$")
_ENDS = frozenset({"_SOURCE", "_SINK"})
_UNKNOWN = -1
_NEVER = -(1 << 80)
_MAX_LANES = 64
"""Maximum number of lanes of a device or stream."""
_MAX_BYTES = (1 << 62) - 1


@dataclass(slots=True)
class _Event:
    """One entry of a device's list."""

    device: str
    kind: str
    """Kind of its lane: ``"device"``, ``"copies"`` or the name of the stream."""
    name: str
    op: str
    inputs: list[str]
    start: int
    """Start in nanoseconds since 1970."""
    end: int
    nbytes: int
    slots: dict[int, int]
    """Output -> size in bytes."""
    thread: int = 0
    weight: int = 0
    """Duration in nanoseconds."""
    peer: str = ""
    """Tensor and device of a send or receive: ``edge_3_a @/device:GPU:0``."""
    number: int = 0
    run: int = 0
    """Which of the node's runs this is, from 0."""


@dataclass
class _Reader:
    """State of reading a step."""

    events: list[_Event] = field(default_factory=list)
    streams: list[_Event] = field(default_factory=list)
    threads: dict[tuple[str, str], list[tuple[int, int]]] = field(default_factory=dict)
    """(device, node) -> start and thread of each run."""
    ports: dict[str, str] = field(default_factory=dict)
    """``_Send`` or ``_Recv`` -> transferred tensor, from the partition graphs."""
    ends: dict[str, int] = field(default_factory=dict)
    """Times of ``_SOURCE`` and ``_SINK`` in nanoseconds since 1970."""
    arrivals: dict[tuple[str, str], int] = field(default_factory=dict)
    """(edge, receiving device) -> arrival of another task's tensor, in nanoseconds since 1970."""

    def read(self, run_metadata: RunMetadata) -> None:
        for device in devices_of(run_metadata):
            stream = _STREAM.match(device.device)
            if device.device == "/host:CPU":
                self._read_threads(device)
            elif stream is not None:
                self._read_stream(device, stream[1], stream[2])
            else:
                for stats in device.node_stats:
                    event = _event(device.device, stats)
                    if stats.node_name in _ENDS:
                        self.ends[stats.node_name] = event.start
                    else:
                        self.events.append(event)
        self._read_partitions(getattr(run_metadata, "partition_graphs", ()))
        for event in self.events:
            for start, thread in self.threads.get((event.device, event.name), ()):
                if event.start - 1000 <= start <= event.end + 1000:
                    event.thread = thread
        self._place_streams()
        self._read_arrivals()

    def _read_arrivals(self) -> None:
        """Drop records of copies between tasks if there are sends and receives."""
        received = {
            (event.peer.partition(" @")[0], event.device) for event in self.events if event.op in RECEIVES
        }
        kept = []
        for event in self.events:
            match = _BETWEEN_TASKS.match(event.peer) if event.op == "RecvTensor" else None
            if match is not None and (match[1], match[4]) in received:
                self.arrivals[match[1], match[4]] = event.end
                continue
            if match is not None:
                event.name, event.device, event.kind = match[2], match[4], "copies"
            kept.append(event)
        self.events = kept

    def _read_threads(self, device: Any) -> None:
        for stats in device.node_stats:
            where = re.search(r"device=([^,]*)", stats.timeline_label)
            if where is not None and stats.thread_id:
                key = where[1], stats.node_name.rpartition(":")[0]
                self.threads.setdefault(key, []).append((stats.all_start_micros * 1000, stats.thread_id))

    def _read_stream(self, device: Any, gpu: str, name: str) -> None:
        is_copies = name == "memcpy" or "<" in name
        if name == "sync" or (is_copies and name != "memcpy"):
            return
        for stats in device.node_stats:
            if name != "memcpy" and "MEMCPY" in stats.node_name:
                continue
            event = _event(gpu, stats)
            node, _, op = stats.node_name.partition(":")
            text = stats.timeline_label
            if "@@" in text and "#" in text:  # of 2.x: kernel@@node:type#...
                node, _, op = text.partition("@@")[2].partition("#")[0].partition(":")
            event.name, event.op, event.inputs = node, op or "unknown", []
            event.kind = "copies" if is_copies else name
            if size := re.search(r"(\d+) bytes|size:(\d+)", text):
                event.nbytes = min(int((size[1] or size[2])[:20]), _MAX_BYTES)
            self.streams.append(event)

    def _read_partitions(self, graphs: Any) -> None:
        sent = {}
        for graph in graphs:
            for node in graph.node:
                if node.op in SENDS and node.input:
                    sent[node.attr["tensor_name"].s, node.attr["recv_device"].s] = node.input[0]
                    self.ports[node.name] = node.input[0]
        for graph in graphs:
            for node in graph.node:
                if node.op in RECEIVES:
                    key = node.attr["tensor_name"].s, node.attr["recv_device"].s
                    if key in sent:
                        self.ports[node.name] = sent[key]

    def _place_streams(self) -> None:
        """Add lanes for streams with additional information, and the times of their kernels."""
        labels = {device_label(event.device): event.device for event in self.events}
        by_name: dict[tuple[str, str], list[_Event]] = {}
        for event in self.events:
            by_name.setdefault((event.device, event.name), []).append(event)
        for events in by_name.values():
            events.sort(key=lambda event: event.start)
        names = {event.kind for event in self.streams}
        if any(name not in ("stream:all", "copies") for name in names):
            names.discard("stream:all")  # repeats the others
        has_sends = any(event.op in SENDS for event in self.events)
        kept: list[_Event] = []
        taken: dict[int, int] = {}
        for event in self.streams:
            if event.kind not in names or (event.kind == "copies" and has_sends):
                continue
            event.device = labels.get(device_label(event.device), event.device)
            kept.append(event)
            runs = by_name.get((event.device, event.name), ())
            if event.kind != "copies" and runs:
                # If the node ran several times, the kernel belongs to the last run that had started.
                before = bisect.bisect_right(runs, event.start, key=lambda run: run.start)
                owner = runs[max(before - 1, 0)]
                taken[id(owner)] = taken.get(id(owner), 0) + event.end - event.start
        for events in by_name.values():
            for event in events:
                event.weight = max(event.weight, taken.get(id(event), 0))
        for kind in {(event.device, event.kind) for event in kept}:
            here = [event for event in kept if (event.device, event.kind) == kind]
            if kind[1] == "copies" or not all(_is_same(event, by_name) for event in here):
                self.events += here


def _is_same(event: _Event, by_name: dict[tuple[str, str], list[_Event]]) -> bool:
    """Return whether a device's list contains the same kernel times, to the microsecond."""
    return any(
        abs(event.start - run.start) < 2000 and abs(event.end - run.end) < 2000
        for run in by_name.get((event.device, event.name), ())
    )


def _event(device: str, stats: Any) -> _Event:
    label = _LABEL.match(stats.timeline_label)
    op, text = (label[2], label[3]) if label is not None else ("unknown", "")
    peer = ""
    if stats.node_name == "RecvTensor":
        op, text, peer = "RecvTensor", "", stats.timeline_label
    elif op in TRANSFERS:
        peer, text = text, ""
    start = stats.all_start_nanos or stats.all_start_micros * 1000
    lasted = max(stats.all_end_rel_nanos or stats.all_end_rel_micros * 1000, 0)
    slots = {
        output.slot: output.tensor_description.allocation_description.requested_bytes
        for output in stats.output
    }
    nbytes = min(max(sum(slots.values()), 0), _MAX_BYTES) if slots else _UNKNOWN
    inputs = text.split(", ") if text else []
    return _Event(
        device, "device", stats.node_name, op, inputs, start, start + lasted, nbytes, slots, 0, lasted, peer
    )


def step_timeline(run_metadata: RunMetadata, placement: PlacementLike | None = None) -> StepTimeline:
    """Return the timeline of a step.

    Args:
        run_metadata: ``RunMetadata`` or ``StepStats``.
        placement: `Placement` of the graph for suggested moves, or None.

    Raises:
        TypeError: `run_metadata` has no ``dev_stats``.
        ValueError: nothing was measured.
    """
    reader = _Reader()
    reader.read(run_metadata)
    # Of simultaneous events a receive comes last, unless it has no duration: its consumers may start at the same time.
    events = sorted(
        reader.events,
        key=lambda event: (event.start, event.op in RECEIVES and event.end > event.start, event.end),
    )
    if not events:
        raise ValueError(
            "The step_stats are empty: run with options=RunOptions(trace_level=RunOptions.FULL_TRACE), "
            "run_metadata=metadata, and pass that metadata"
        )
    for number, event in enumerate(events):
        event.number = number
    begin, end = events[0].start, 0
    if len(reader.ends) == len(_ENDS):  # a predicted step, which records its start and end
        begin, end = min(begin, reader.ends["_SOURCE"]), reader.ends["_SINK"]
    lanes, lane = _lanes(events)
    edges, copies = _Links(events, reader, begin).all()
    links = np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)

    def column(values: list[int]) -> np.ndarray:
        return np.array(values, dtype=np.int64)

    def microseconds(values: list[int]) -> np.ndarray:
        return np.array([value / 1000 for value in values], dtype=float)

    return StepTimeline(
        names=[event.name for event in events],
        ops=[event.op for event in events],
        lanes=lanes,
        lane=column(lane),
        start_us=microseconds([event.start - begin for event in events]),
        end_us=microseconds([event.end - begin for event in events]),
        weight_us=microseconds([event.weight for event in events]),
        nbytes=column([event.nbytes for event in events]),
        thread=column([event.thread for event in events]),
        src=links[:, 0],
        dst=links[:, 1],
        copies=tuple(sorted(copies, key=lambda copy: (copy.start_us, copy.end_us))),
        begin_us=begin // 1000,
        length_us=max(end - begin, 0) / 1000,
        sizes={(event.name, slot): size for event in events for slot, size in event.slots.items()},
        placement=placement,
        find_hints=move_hints,
    )


@dataclass
class _Rows:
    """The lanes of a device or of one of its streams."""

    threads: dict[int, int] = field(default_factory=dict)
    """Thread -> lane."""
    ends: list[int] = field(default_factory=list)
    """When each lane becomes free, [lanes]."""
    free: list[int] = field(default_factory=list)
    """Heap of free lanes without a thread."""
    busy: list[tuple[int, int]] = field(default_factory=list)
    """Heap of busy lanes without a thread: (when free, lane)."""

    def take(self, event: _Event) -> int:
        """Return the lane of an event; beyond `_MAX_LANES` concurrent events, the last lane is shared."""
        thread = 0 if event.op in SENDS else event.thread  # the receiver's thread performs the copy
        lane = self.threads.get(thread) if thread else None
        if lane is None and thread:
            self._release(event.start)
            lane = heapq.heappop(self.free) if self.free else self._new()
            self.threads[thread] = lane
        elif lane is None:
            lane = next((lane for lane in self.threads.values() if self.ends[lane] <= event.start), None)
        if lane is None or self.ends[lane] > event.start:
            lane = self._unowned(event)
        self.ends[lane] = max(self.ends[lane], event.end)
        return lane

    def _new(self) -> int:
        if len(self.ends) < _MAX_LANES:
            self.ends.append(_NEVER)
        return len(self.ends) - 1

    def _release(self, start: int) -> None:
        while self.busy and self.busy[0][0] <= start:
            heapq.heappush(self.free, heapq.heappop(self.busy)[1])

    def _unowned(self, event: _Event) -> int:
        self._release(event.start)
        lane = heapq.heappop(self.free) if self.free else self._new()
        heapq.heappush(self.busy, (event.end, lane))
        return lane


def _lanes(events: list[_Event]) -> tuple[tuple[Lane, ...], list[int]]:
    """Return lanes without overlapping events, and the lane of each event; a thread keeps its lane."""
    rows: dict[tuple[str, str], _Rows] = {}
    places = []
    for event in events:
        key = (event.device, event.kind)
        places.append((key, rows.setdefault(key, _Rows()).take(event)))
    keys = [(device, kind, lane) for (device, kind), here in rows.items() for lane in range(len(here.ends))]
    keys.sort(key=_lane_order)
    number = {(device, kind, lane): position for position, (device, kind, lane) in enumerate(keys)}
    return tuple(_lane(*key) for key in keys), [number[(*key, lane)] for key, lane in places]


def _lane_order(key: tuple[str, str, int]) -> tuple[Any, ...]:
    device, kind, number = key
    parsed = parse_name(device)
    kinds = {"CPU": 0, "GPU": 1}
    return (
        device.rpartition("/")[0],
        kinds.get(parsed.type or "", 2) if parsed is not None else 3,
        (parsed.id or 0) if parsed is not None else 0,
        device,
        {"device": 0, "copies": 2}.get(kind, 1),
        kind,
        number,
    )


def _lane(device: str, kind: str, number: int) -> Lane:
    label = device_label(device)
    if kind == "copies":
        label += " copies"
    elif kind != "device":
        label += f" {kind.replace(':', ' ')}"
    return Lane(
        device,
        f"{label} ({number + 1})" if number else label,
        kind if kind in ("device", "copies") else "stream",
        device.rpartition("/device:")[0],
    )


class _Links:
    """Dependencies between events."""

    def __init__(self, events: list[_Event], reader: _Reader, begin: int) -> None:
        self.events, self.begin = events, begin
        self.ports, self.arrivals = reader.ports, reader.arrivals
        self.between: dict[tuple[str, str], list[_Event]] = {}
        self.signals = {(event.device, source_name(event.name)) for event in events if event.op == "Identity"}
        """(device, node of another device) -> events there that only wait for the node."""
        self.by_node: dict[tuple[str, str], list[_Event]] = {}
        self.anywhere: dict[str, list[_Event]] = {}
        self.sends: dict[str, list[_Event]] = {}
        for event in events:
            if event.op == "RecvTensor":
                self.between.setdefault((event.device, event.name), []).append(event)
            if event.kind != "device":
                continue
            runs = self.by_node.setdefault((event.device, event.name), [])
            event.run = len(runs)
            runs.append(event)
            self.anywhere.setdefault(event.name, []).append(event)
            if event.op in SENDS:
                self.sends.setdefault(event.peer.partition(" @")[0], []).append(event)
        self.edges: set[tuple[int, int]] = set()
        self.copies: dict[tuple[str, str, str, int], Copy] = {}

    def all(self) -> tuple[set[tuple[int, int]], list[Copy]]:
        """Return the edges between events, and the copies."""
        for event in self.events:
            if event.op == "RecvTensor" and event.kind == "copies":
                self._arrive(event)
            if event.kind != "device":
                continue
            if event.op in RECEIVES:
                self._receive(event)
            elif event.op in SENDS:
                self._send(event)
            else:
                for text in event.inputs:
                    self._input(event, text)
        return self.edges, list(self.copies.values())

    def _edge(self, before: _Event, after: _Event) -> None:
        if before is not after:
            self.edges.add((before.number, after.number))

    def _source(self, events: list[_Event] | None, after: _Event) -> _Event | None:
        """Return which of a node's events another node's event waited for.

        A node on a GPU may start before its inputs: it starts when it is queued, and its inputs start when their
        kernels run. So if both nodes ran equally often, their runs correspond; a `Merge` waits for the previous
        iteration. Otherwise it is the last event that started earlier.
        """
        if not events:
            return None
        if after.op not in MERGES and after.kind == "device":
            if len(self.by_node[after.device, after.name]) == len(events):
                return events[after.run]
        return next((event for event in reversed(events) if event.number < after.number), None)

    def _input(self, event: _Event, text: str) -> None:
        name, _, port = text.removeprefix("^").partition(":")
        source = self._source(self.by_node.get((event.device, name)), event)
        if source is not None:
            self._edge(source, event)
            return
        base = source_name(name)
        if base is None:
            return
        arrived = self._source(self.between.get((event.device, base)), event)
        if arrived is not None:
            self._edge(arrived, event)
            return
        source = self._source(
            [other for other in self.anywhere.get(base, ()) if other.device != event.device], event
        )
        if source is None:
            return
        self._edge(source, event)
        is_empty = event.op == "Identity" and event.nbytes == 0 and event.name.startswith(f"{base}/_")
        if is_empty or text.startswith("^"):
            return  # a control edge
        port = self.ports.get(name, "").partition(":")[2]
        self._copy(f"{base}:{port}" if port else base, source, event, source, source.end, event.start)

    def _arrive(self, event: _Event) -> None:
        """Add a copy between tasks that has neither a send nor a receive."""
        match = _BETWEEN_TASKS.match(event.peer)
        assert match is not None
        source = self._source(self.by_node.get((match[3], event.name)), event)
        if source is not None:
            self._edge(source, event)
            self._copy(event.name, source, event, source, event.start, event.end)

    def _send(self, event: _Event) -> None:
        source = self._source(self.by_node.get((event.device, source_name(event.name) or "")), event)
        if source is not None:
            self._edge(source, event)

    def _receive(self, event: _Event) -> None:
        peer = _TENSOR.match(event.peer)
        if peer is None:
            return
        sent = [
            send
            for send in self.sends.get(peer[1], ())
            if send.device == peer[2] and send.peer.endswith(f"@{event.device}") and send.start <= event.end
        ]
        if not sent:
            return
        send = sent[-1]
        self._edge(send, event)
        if send.device == event.device:
            return  # between the two memories of one GPU
        name = source_name(event.name) or event.name
        output = f":{next(iter(event.slots), 0) or ''}"
        port = self.ports.get(event.name, output).partition(":")[2]
        tensor = f"{name}:{port}" if port else name
        source = self._source(self.by_node.get((send.device, name)), send) or send
        end = min(event.end, self.arrivals.get((peer[1], event.device), event.end))
        self._copy(tensor, send, event, source, send.start, end)

    def _copy(
        self, tensor: str, sent: _Event, received: _Event, source: _Event, start: int, end: int
    ) -> None:
        port = tensor.partition(":")[2]
        size: int | None
        if received.op == "RecvTensor":
            size = None if received.nbytes == _UNKNOWN else received.nbytes
        elif received.slots and received.op in RECEIVES:
            size = sum(received.slots.values())
        else:
            size = source.slots.get(int(port or 0)) if port or len(source.slots) == 1 else None
        if size == 0 and (received.device, tensor) in self.signals:
            tensor = f"^{tensor}"
        key = (tensor, sent.device, received.device, sent.number)
        if key not in self.copies:
            self.copies[key] = Copy(
                tensor,
                sent.device,
                received.device,
                (start - self.begin) / 1000,
                (max(end, start) - self.begin) / 1000,
                size,
                sent.number,
                received.number,
            )
