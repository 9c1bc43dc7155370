"""Read a profile of TensorFlow 2's profiler as a measured session step.

``tf.profiler.experimental`` and Keras's ``TensorBoard(profile_batch=...)`` write ``*.xplane.pb``. Up to release 2.4,
they also write a Chrome trace (``*.trace.json.gz``), which TensorBoard still offers for download. From both, this
module reads::

    thread of /host:CPU, event "node:Op"         an op that the CPU ran
    stream of /device:GPU:0, event with an op    a kernel of that op: a row of the stream; kernels of one op in a row
                                                 are one op on the GPU
    stream of /device:GPU:0, event "MemcpyH2D"   a tensor's copy, with its bytes: a send and a receive

Allocations, thread pools and the input pipeline's C++ functions are left out. A profile does not record the inputs of
an op: on a GPU, each op is assumed to wait for the previous op, as on a stream, and for its copies. It does not record
the CPU device either, so all CPU ops are on ``/device:CPU:0``. A profile of several steps becomes one long step, in
which ops run several times.

>>> from gpuplace.graphdef.measured.profile import XSpace
>>> space = XSpace()
>>> plane = space.planes.add(name="/host:CPU")
>>> plane.event_metadata[7].name = "dense/MatMul:MatMul"
>>> _ = plane.lines.add(name="tf_Compute").events.add(metadata_id=7, offset_ps=5_000_000, duration_ps=2_000_000)
>>> node = step_of_profile(space.SerializeToString()).dev_stats[0].node_stats[0]
>>> node.timeline_label, node.all_start_micros, node.all_end_rel_micros
('dense/MatMul = MatMul()', 5, 2)

Source: tensorflow/tsl/profiler/protobuf/xplane.proto (names, numbers and types of the fields), profiles saved by
releases 2.3 to 2.21.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gpuplace.graph.op_sets import TRANSFERS
from gpuplace.graphdef.messages import StepStats
from gpuplace.proto import FIELD, MANY, ONE, message_classes

_NUMBER, _TEXT, _VALUE = FIELD.TYPE_INT64, FIELD.TYPE_STRING, "value"
_MESSAGES: dict[str, Any] = {
    "XSpace": (("planes", 1, "gpuplace.XPlane", MANY),),
    "XPlane": (
        ("name", 2, _TEXT, ONE),
        ("lines", 3, "gpuplace.XLine", MANY),
        ("event_metadata", 4, "gpuplace.XPlane.EventMetadataEntry", MANY),
        ("stat_metadata", 5, "gpuplace.XPlane.StatMetadataEntry", MANY),
    ),
    "XPlane.EventMetadataEntry": (("key", 1, _NUMBER, ONE), (_VALUE, 2, "gpuplace.XEventMetadata", ONE)),
    "XPlane.StatMetadataEntry": (("key", 1, _NUMBER, ONE), (_VALUE, 2, "gpuplace.XStatMetadata", ONE)),
    "XLine": (
        ("name", 2, _TEXT, ONE),
        ("timestamp_ns", 3, _NUMBER, ONE),
        ("events", 4, "gpuplace.XEvent", MANY),
    ),
    "XEvent": (
        ("metadata_id", 1, _NUMBER, ONE),
        ("offset_ps", 2, _NUMBER, ONE),
        ("duration_ps", 3, _NUMBER, ONE),
        ("stats", 4, "gpuplace.XStat", MANY),
    ),
    "XStat": (
        ("metadata_id", 1, _NUMBER, ONE),
        ("str_value", 5, _TEXT, _VALUE),
        ("ref_value", 7, FIELD.TYPE_UINT64, _VALUE),
    ),
    "XEventMetadata": (("name", 2, _TEXT, ONE), ("stats", 5, "gpuplace.XStat", MANY)),
    "XStatMetadata": (("name", 2, _TEXT, ONE),),
}
XSpace = message_classes("profile", _MESSAGES)["XSpace"]

_DEVICE = "/job:localhost/replica:0/task:0/device:"
CPU = f"{_DEVICE}CPU:0"
_PROCESS = re.compile(r"/(?:(host):CPU|device:(GPU:\d+))(?: \(.*)?")
_STREAM = re.compile(r"Stream #(\d+)")
_OP = re.compile(r"([A-Za-z0-9.][\w.\\/>-]*):(_?[A-Z]\w*)$", re.ASCII)
_DETAILS = re.compile(r"\b(size|num_bytes|dest):(\d{1,18})\b")
_COPIES = ("MemcpyH2D", "MemcpyD2H", "MemcpyP2P")
_WITHOUT_KERNEL = ("Memcpy", "Memset")
"""Work on a stream for an op besides kernels; the profiler's own row of ops omits it."""
_DERIVED = ("TensorFlow ", "Framework ", "Steps", "XLA ", "Source", "Launch Stats")
"""Rows that the profiler derived from other rows."""
_LONGEST_NS = 1 << 60


class _Event(NamedTuple):
    name: str
    start_ns: int
    lasted_ns: int
    stats: dict[str, str]


class _Row(NamedTuple):
    """Events of a thread or of a GPU stream."""

    device: str
    """``"host"`` or ``"GPU:0"``."""
    name: str
    events: list[_Event]


def step_of_profile(data: bytes) -> Any:
    """Return the ``StepStats`` of a ``*.xplane.pb``; without device lists if it contains no TensorFlow op.

    Raises:
        DecodeError: the data are not an ``XSpace``.
    """
    return _step(_rows_of_planes(XSpace.FromString(data)))


def step_of_profile_trace(events: list[Any]) -> Any:
    """Return the ``StepStats`` of the profiler's Chrome trace; None if another program wrote the trace.

    Raises:
        ValueError: an event is incomplete.
    """
    places: dict[Any, Any] = {}
    threads: dict[tuple[Any, Any], str] = {}
    for event in events:
        if isinstance(event, dict) and event.get("ph") == "M" and isinstance(event.get("args"), dict):
            name = str(event["args"].get("name"))
            key = str(event.get("pid")), str(event.get("tid"))  # a damaged trace may contain any value here
            if event.get("name") == "process_name" and (place := _PROCESS.fullmatch(name)):
                places[key[0]] = place[1] or place[2]
            elif event.get("name") == "thread_name":
                threads[key] = name
    if not places:
        return None
    by_lane: dict[tuple[Any, Any], list[_Event]] = {}
    for number, event in enumerate(events):
        try:
            if event.get("ph") == "X" and str(event["pid"]) in places:
                stats = {name: str(value) for name, value in event.get("args", {}).items()}
                start, lasted = (round(float(event[key]) * 1000) for key in ("ts", "dur"))
                name = stats.get("long_name", event["name"])
                key = str(event["pid"]), str(event["tid"])
                by_lane.setdefault(key, []).append(_Event(str(name), start, lasted, stats))
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"event {number} of the trace is incomplete: {error!r}") from None
    return _step(_Row(places[key[0]], threads.get(key, ""), here) for key, here in by_lane.items())


def _rows_of_planes(space: Any) -> Iterator[_Row]:
    for plane in space.planes:
        place = _PROCESS.fullmatch(plane.name)
        if place is None:
            continue
        names = {number: metadata.name for number, metadata in plane.stat_metadata.items()}
        kinds = {
            number: (metadata.name, dict(_stats(metadata.stats, names)))
            for number, metadata in plane.event_metadata.items()
        }
        for line in plane.lines:
            events = []
            for event in line.events:
                name, stats = kinds.get(event.metadata_id, ("", {}))
                stats = stats | dict(_stats(event.stats, names)) if place[2] else stats
                start = line.timestamp_ns + event.offset_ps // 1000
                events.append(_Event(name, start, event.duration_ps // 1000, stats))
            yield _Row(place[1] or place[2], line.name, events)


def _stats(stats: Iterable[Any], names: dict[int, str]) -> Iterator[tuple[str, str]]:
    """Return the name and value of each of an event's statistics, except numbers, as text."""
    for stat in stats:
        kind = stat.WhichOneof(_VALUE)
        if kind is not None:
            text = stat.str_value if kind == "str_value" else names.get(stat.ref_value, "")
            yield names.get(stat.metadata_id, ""), text


def _step(rows: Iterable[_Row]) -> Any:
    """Return the ``StepStats`` of rows of events."""
    builder = _Builder()
    rows = [row for row in rows if not row.name.startswith(_DERIVED)]
    for row in rows:
        stream = _STREAM.match(row.name)
        if row.device != "host" and stream is not None:
            builder.stream(row, f"{_DEVICE}{row.device}", stream[1])
    builder.ops()
    for thread, row in enumerate(rows, 1):
        if row.device == "host":
            builder.host(row, thread)
    return builder.step


class _Builder:
    def __init__(self) -> None:
        self.step = StepStats()
        self.devices: dict[str, Any] = {}
        self.on_gpu: set[str] = set()
        """Nodes with a kernel on a GPU; their events on the host are launches."""
        self.arrivals: dict[tuple[str, str], list[str]] = {}
        """Device and node -> the copies to that device for the node."""
        self.kernels: dict[str, list[tuple[_Event, tuple[str, str]]]] = {}
        """GPU -> its kernels, each with the name and type of its op."""

    def stream(self, row: _Row, device: str, stream: str) -> None:
        """Add the kernels and copies of a GPU's stream."""
        for event in row.events:
            op = _op_of(event.stats)
            if event.name.startswith(_COPIES):
                self._copy(event, device, op)
            elif op is not None:
                self.on_gpu.add(op[0])
                self._add(f"{device}/stream:{stream}", ":".join(op), event.name, event)
                if not event.name.startswith(_WITHOUT_KERNEL):
                    self.kernels.setdefault(device, []).append((event, op))

    def ops(self) -> None:
        """Add the GPU ops: successive kernels of one op, on any stream, are one op."""
        for device, kernels in self.kernels.items():
            before = ""
            kernels.sort(key=lambda kernel: kernel[0].start_ns)
            for op, group in itertools.groupby(kernels, key=lambda kernel: kernel[1]):
                events = [event for event, _ in group]
                end = max(event.start_ns + event.lasted_ns for event in events)
                whole = events[0]._replace(lasted_ns=end - events[0].start_ns)
                waits = [*([f"^{before}"] if before else []), *self.arrivals.get((device, op[0]), ())]
                self._add(device, op[0], f"{op[0]} = {op[1]}({', '.join(waits)})", whole)
                before = op[0]

    def host(self, row: _Row, thread: int) -> None:
        """Add the ops of a thread."""
        for event in row.events:
            found = _OP.match(event.name)
            if found is not None and found[1] not in self.on_gpu and found[2] not in TRANSFERS:
                self._add(CPU, found[1], f"{found[1]} = {found[2]}()", event).thread_id = thread

    def _copy(self, event: _Event, gpu: str, op: tuple[str, str] | None) -> None:
        """Add both ends of a copy."""
        details = dict(_DETAILS.findall(event.stats.get("memcpy_details", "")))
        source, target = {
            "MemcpyH2D": (CPU, gpu),
            "MemcpyD2H": (gpu, CPU),
            "MemcpyP2P": (gpu, f"{_DEVICE}GPU:{details.get('dest', '')}"),
        }[event.name[:9]]
        edge = event.stats.get("edge_name") or event.name
        tensor = event.stats.get("from") or (op[0] if op is not None else edge)
        node, _, port = tensor.partition(":")
        name = f"{node}/_{port or 0}"
        self._add(source, name, f"{name} = _Send({edge} @{target})", event._replace(lasted_ns=0))
        received = self._add(target, name, f"{name} = _Recv({edge} @{source})", event)
        waiting = self.arrivals.setdefault((target, event.stats.get("to", "")), [])
        if name not in waiting:
            waiting.append(name)
        nbytes = int(details.get("size") or details.get("num_bytes") or 0)
        output = received.output.add(slot=int(port) if port.isdecimal() and len(port) < 9 else 0)
        output.tensor_description.allocation_description.requested_bytes = nbytes

    def _add(self, device: str, name: str, label: str, event: _Event) -> Any:
        if device not in self.devices:
            self.devices[device] = self.step.dev_stats.add(device=device)
        node = self.devices[device].node_stats.add(node_name=name, timeline_label=label)
        _set_times(node, event.start_ns, event.lasted_ns)
        return node


def _set_times(node: Any, start_ns: int, lasted_ns: int) -> None:
    start, lasted = min(max(start_ns, 0), _LONGEST_NS), min(max(lasted_ns, 0), _LONGEST_NS)
    node.scheduled_nanos = node.all_start_nanos = start
    node.scheduled_micros = node.all_start_micros = start // 1000
    node.op_end_rel_nanos = node.all_end_rel_nanos = lasted
    node.op_end_rel_micros = node.all_end_rel_micros = lasted // 1000


def _op_of(stats: dict[str, str]) -> tuple[str, str] | None:
    """Return the name and type of the op that a kernel belongs to; None if none is recorded."""
    for part in reversed((stats.get("annotation") or stats.get("tf_op", "")).split("::")):
        text = part.partition("#")[0]
        found = _OP.match(text)
        if found is not None:
            return found[1], found[2]
        if text and "tf_op" in stats:  # compiled by XLA, so without a type
            return text, "unknown"
    return None
