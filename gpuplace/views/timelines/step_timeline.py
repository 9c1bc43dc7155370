"""A measured step as lanes of events with the copies between them: where and when nodes ran, and what they waited for.

`gpuplace.views.timelines.reader.step_timeline` creates it from the ``step_stats`` of a ``RunMetadata``. Each device has
a lane, or several if nodes overlap; the streams of a GPU have their own lanes if they contain more information
than the device's list::

    CPU:0            │x│            │────── wait ──────│Add│
                       ╲ 64 B                         ╱ 64 B
    GPU:0                │    MatMul                  │

The critical path is the longest chain, by measured time, of nodes and copies that waited for each other, as in
`gpuplace.views.picture.marks.critical_path`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gpuplace.display import above, with_safe_text
from gpuplace.graph.op_sets import RECEIVES, SENDS, TRANSFERS
from gpuplace.typing import DataFrame
from gpuplace.views.tables.palette import device_label, device_style
from gpuplace.views.tables.scale import time_text
from gpuplace.views.tables.size_text import bytes_text
from gpuplace.views.tables.text import counted

MOVING_OPS = TRANSFERS | {"RecvTensor"}
"""Op types that transfer a tensor."""
_NO_EVENTS = np.zeros(0, dtype=np.int64)
_MAX_GAPS = 20


class Lane(NamedTuple):
    """A row of events that do not overlap."""

    device: str
    """Full device name."""
    label: str
    """``GPU:0``, ``GPU:0 stream 13``, ``CPU:0 (2)`` for a device's second lane."""
    kind: str
    """``"device"``, ``"stream"`` or ``"copies"``."""
    task: str = ""
    """Task of the device, ``/job:ps/replica:0/task:0``; ``""`` if it has none."""


class Copy(NamedTuple):
    """A copy of a tensor from one device to another."""

    tensor: str
    """Tensor name, such as ``MatMul`` or ``Split:1``."""
    source: str
    """Full name of the source device."""
    target: str
    """Full name of the target device."""
    start_us: float
    """When the tensor was ready or the copy started, in microseconds since the start of the step."""
    end_us: float
    """When the tensor arrived, in microseconds since the start of the step."""
    nbytes: int | None
    """Size in bytes; None if unknown."""
    sent: int
    """Event that sent or produced the tensor."""
    received: int
    """Event that received the tensor, or its first consumer."""


class DeviceUse(NamedTuple):
    """Utilization of a device."""

    device: str
    """Full device name."""
    nodes: int
    """Number of nodes that ran, without sends and receives."""
    busy_us: float
    """Time during which at least one node ran, in microseconds."""
    share: float
    """Busy time as a fraction of the step, 0 to 1."""
    copies_in: int
    bytes_in: int
    """Total known size of the copies to the device."""
    longest_gap_us: float
    """Longest idle time, in microseconds."""


class Gap(NamedTuple):
    """An idle period of a device."""

    device: str
    """Full device name."""
    start_us: float
    end_us: float
    node: str
    """Node that ran next; ``""`` at the end of the step."""
    waits_for: str
    """Last input of that node, such as ``copy of a from CPU:0`` or ``b on CPU:0``; ``""`` if unknown."""


@dataclass(frozen=True, eq=False)
class StepTimeline:
    """A measured step. Events are ordered by start; times are in microseconds since the first event."""

    names: Sequence[str]
    """Node name of each event."""
    ops: Sequence[str]
    """Op type of each event."""
    lanes: tuple[Lane, ...]
    lane: np.ndarray
    """[events] index into `lanes`."""
    start_us: np.ndarray
    """[events] float64."""
    end_us: np.ndarray
    """[events] float64."""
    weight_us: np.ndarray
    """Duration of each event, float64 [events]; with kernels on streams, their total if it is longer."""
    nbytes: np.ndarray
    """Size of the outputs in bytes, int64 [events]; -1 if unknown."""
    thread: np.ndarray
    """Thread number, int64 [events]; 0 if unknown."""
    src: np.ndarray
    """Event that had to finish first, [edges]."""
    dst: np.ndarray
    """Event that waited for it, [edges]."""
    copies: tuple[Copy, ...]
    begin_us: int = 0
    """Start of the step, in microseconds since 1970."""
    length_us: float = 0.0
    """Length of the step if the trace contains it; 0: the end of the last event."""
    sizes: dict[tuple[str, int], int] = field(default_factory=dict, repr=False)
    """(node, output) -> bytes."""
    placement: Any = field(default=None, repr=False)
    """`Placement` of the graph; None if unknown."""
    find_hints: Callable[[StepTimeline], tuple[Any, ...]] = field(default=lambda _: (), repr=False)
    """Function that finds suggested moves."""

    def __len__(self) -> int:
        return len(self.names)

    @property
    def total_us(self) -> float:
        """Length of the step in microseconds."""
        return max(float(self.end_us.max()), self.length_us) if len(self) else 0.0

    @cached_property
    def is_transfer(self) -> np.ndarray:
        """Whether each event is a send, a receive or a copy of a GPU, bool [events]."""
        moving = np.array([lane.kind == "copies" for lane in self.lanes] or [False])
        if not len(self):
            return np.zeros(0, dtype=bool)
        return moving[self.lane] | np.array([op in MOVING_OPS for op in self.ops])

    @cached_property
    def devices(self) -> tuple[str, ...]:
        """Full device names, CPUs first."""
        devices = dict.fromkeys(lane.device for lane in self.lanes)
        return tuple(sorted(devices, key=lambda device: device_style(device).order))

    @cached_property
    def path_weights(self) -> np.ndarray:
        """Contribution of each event to a chain in microseconds, float64 [events]; copies count at the receiver."""
        is_sent = np.array([op in SENDS for op in self.ops], dtype=bool)
        return np.where(is_sent, 0.0, self.weight_us)

    @cached_property
    def chain(self) -> tuple[tuple[int, ...], float]:
        """Events of the critical path in order, and its length in microseconds."""
        own, starts, ends = self.path_weights.tolist(), self.start_us.tolist(), self.end_us.tolist()
        previous, lengths = [-1] * len(own), [1] * len(own)
        # The time of a copy counts at the receiver, so the receiver does not wait for the end of the send.
        done = [start if op in SENDS else end for op, start, end in zip(self.ops, starts, ends, strict=True)]
        finished = list(done)
        best = np.where(np.bincount(self.dst, minlength=len(own)) > 0, -1.0, self.path_weights).tolist()
        for before in self._topological_order():
            for after in self._consumers[before]:
                # An event that was measured while it waited for its input counts from the input's arrival.
                waited = max(min(finished[before], ends[after]) - starts[after], 0.0)
                reached = best[before] + max(own[after] - waited, 0.0)
                # Among chains of equal length, take the one with more events, even events that take no time.
                if (reached, lengths[before] + 1) > (best[after], lengths[after]):
                    lengths[after] = lengths[before] + 1
                    best[after], previous[after] = reached, before
                    finished[after] = max(finished[before], done[after])
        if not best:
            return (), 0.0
        event = max(range(len(best)), key=lambda i: (best[i], i))
        total, events = best[event], []
        while event >= 0:
            events.append(event)
            event = previous[event]
        return tuple(events[::-1]), total

    @cached_property
    def _consumers(self) -> list[list[int]]:
        """Events that waited for each event."""
        consumers: list[list[int]] = [[] for _ in range(len(self))]
        for before, after in zip(self.src.tolist(), self.dst.tolist(), strict=True):
            consumers[before].append(after)
        return consumers

    def _topological_order(self) -> Iterator[int]:
        """Yield the events, each after those that it waited for. Events that wait for each other are left out."""
        waiting = np.bincount(self.dst, minlength=len(self)).tolist()
        ready = [event for event, count in enumerate(waiting) if not count][::-1]
        while ready:
            yield (event := ready.pop())
            for after in self._consumers[event]:
                waiting[after] -= 1
                if not waiting[after]:
                    ready.append(after)

    @property
    def path(self) -> tuple[int, ...]:
        """Events of the critical path, in order."""
        return self.chain[0]

    @cached_property
    def is_on_path(self) -> np.ndarray:
        """Whether each event is on the critical path, bool [events]."""
        on_path = np.zeros(len(self), dtype=bool)
        on_path[list(self.path)] = True
        return on_path

    @property
    def path_text(self) -> str:
        """Description of the critical path and its length."""
        events, total = self.chain
        copies = int(self.is_transfer[list(events)].sum()) if events else 0
        kinds = [counted(len(events) - copies, "op")]
        if copies:
            received = sum(self.ops[event] in RECEIVES or self.ops[event] == "RecvTensor" for event in events)
            kinds.append(counted(max(received, 1), "copy", "copies"))
        share = f", {total / self.total_us:.0%} of the step" if self.total_us else ""
        return f"critical path: {' and '.join(kinds)}, {time_text(total)}{share}"

    @cached_property
    def _by_lane(self) -> list[np.ndarray]:
        """Events of each lane except copies, in order."""
        lanes = np.where(self.is_transfer, len(self.lanes), self.lane) if len(self) else _NO_EVENTS
        order = np.argsort(lanes, kind="stable")
        return np.split(order, np.searchsorted(lanes[order], np.arange(1, len(self.lanes) + 1)))[:-1]

    @cached_property
    def _computing(self) -> dict[str, np.ndarray]:
        """Events that keep each device busy: those of its streams if it has any."""
        kinds: dict[str, dict[str, list[int]]] = {}
        for number, lane in enumerate(self.lanes):
            kinds.setdefault(lane.device, {}).setdefault(lane.kind, []).append(number)
        return {
            device: np.sort(np.concatenate([_NO_EVENTS, *(self._by_lane[number] for number in numbers)]))
            for device, lanes in kinds.items()
            for numbers in [lanes.get("stream") or lanes.get("device", [])]
        }

    def busy(self, device: str) -> np.ndarray:
        """Return the spans in which anything but a copy ran on a device, float64 [spans, 2] (start, end)."""
        chosen = self._computing.get(device, _NO_EVENTS)
        spans = np.stack((self.start_us[chosen], self.end_us[chosen]), axis=1)
        if not len(spans):
            return spans
        ends = np.maximum.accumulate(spans[:, 1])
        first = np.concatenate(([True], spans[1:, 0] > ends[:-1]))
        return np.stack(
            (spans[first, 0], ends[np.concatenate((np.flatnonzero(first)[1:] - 1, [-1]))]), axis=1
        )

    @cached_property
    def uses(self) -> tuple[DeviceUse, ...]:
        """Utilization of each device, CPUs first."""
        uses = []
        counts: dict[str, int] = {}
        for lane, events in zip(self.lanes, self._by_lane, strict=True):
            if lane.kind == "device":
                counts[lane.device] = counts.get(lane.device, 0) + len(events)
        arriving: dict[str, list[Any]] = {}
        for copy in self.copies:
            arriving.setdefault(copy.target, []).append(copy)
        for device in self.devices:
            busy = self.busy(device)
            nodes = counts.get(device, 0)
            copies = arriving.get(device, [])
            ends = np.concatenate(([0.0], busy.ravel(), [self.total_us])).reshape(-1, 2)
            total = float((busy[:, 1] - busy[:, 0]).sum())
            uses.append(
                DeviceUse(
                    device,
                    nodes,
                    total,
                    total / self.total_us if self.total_us else 0.0,
                    len(copies),
                    sum(copy.nbytes or 0 for copy in copies),
                    float((ends[:, 1] - ends[:, 0]).max()),
                )
            )
        return tuple(uses)

    @cached_property
    def gaps(self) -> tuple[Gap, ...]:
        """The longest idle periods of all devices, the longest first."""
        gaps = []
        for device in self.devices:
            busy = self.busy(device)
            ends = np.concatenate(([0.0], busy.ravel(), [self.total_us])).reshape(-1, 2)
            gaps += [(end - start, device, start, end) for start, end in ends.tolist() if end > start]
        gaps.sort(key=lambda gap: -gap[0])
        return tuple(self._gap(device, start, end) for _, device, start, end in gaps[:_MAX_GAPS])

    def _gap(self, device: str, start: float, end: float) -> Gap:
        there = np.array([lane.device == device and lane.kind != "copies" for lane in self.lanes])
        chosen = np.flatnonzero((self.start_us == end) & there[self.lane] & ~self.is_transfer)
        event = next(iter(chosen.tolist()), -1)
        if event < 0:
            return Gap(device, start, end, "", "")
        return Gap(device, start, end, self.names[event], self.waits_for(event))

    @cached_property
    def _before(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.dst, kind="stable")
        return self.src[order], np.searchsorted(self.dst[order], np.arange(len(self) + 1))

    def inputs(self, event: int) -> list[int]:
        """Return the events that an event waited for."""
        sources, first = self._before
        return sources[first[event] : first[event + 1]].tolist()

    @cached_property
    def _copy_of(self) -> dict[tuple[int, int], Copy]:
        return {(copy.sent, copy.received): copy for copy in self.copies}

    def copy_between(self, before: int, after: int) -> Copy | None:
        """Return the copy between two events, or None."""
        if self.ops[before] in RECEIVES:
            sends = self.inputs(before)
            return next(
                (self._copy_of[send, before] for send in sends if (send, before) in self._copy_of), None
            )
        return self._copy_of.get((before, after))

    @cached_property
    def last_input(self) -> np.ndarray:
        """The event that finished last of those that each event waited for, [events]; -1: none."""
        last = np.full(len(self), -1, dtype=np.int64)
        order = np.lexsort((np.arange(len(self.src)), -self.end_us[self.src], self.dst))
        after, first = np.unique(self.dst[order], return_index=True)
        last[after] = self.src[order][first]
        return last

    @cached_property
    def last_copy(self) -> np.ndarray:
        """Index into `copies` of the copy that belongs to `last_input`, [events]; -1: none."""
        last = np.full(len(self), -1, dtype=np.int64)
        received = np.full(len(self) + 1, -1, dtype=np.int64)  # one more, for -1
        for number, copy in enumerate(self.copies):
            if self.ops[copy.received] in RECEIVES:
                received[copy.received] = number
            elif self.last_input[copy.received] == copy.sent:
                last[copy.received] = number
        through = received[self.last_input]
        return np.where(through >= 0, through, last)

    def waits_for(self, event: int) -> str:
        """Describe the last input of an event."""
        last, number = int(self.last_input[event]), int(self.last_copy[event])
        if last < 0:
            return ""
        if number >= 0:
            copy = self.copies[number]
            size = "" if copy.nbytes is None else f"{bytes_text(copy.nbytes)} "
            return f"{size}copy of {copy.tensor} from {device_label(copy.source)}"
        return f"{self.names[last]} on {device_label(self.lanes[self.lane[last]].device)}"

    @cached_property
    def hints(self) -> tuple[Any, ...]:
        """Suggested moves, each verified by placing again; see `move_hints`. Empty without a placement."""
        return self.find_hints(self)

    @property
    def text(self) -> str:
        """One-line summary of the step."""
        moved = [copy.nbytes for copy in self.copies]
        known_bytes = sum(size for size in moved if size is not None)
        copies = (
            f"; {counted(len(moved), 'copy', 'copies')}, {bytes_text(known_bytes)}"
            if moved
            else "; no copies"
        )
        # The streams of a GPU contain the kernels of ops that are already counted in its own lane.
        ops = sum(use.nodes for use in self.uses) or int((~self.is_transfer).sum())
        return f"{counted(ops, 'op')} on {counted(len(self.devices), 'device')} in {time_text(self.total_us)}{copies}"

    @with_safe_text
    def __repr__(self) -> str:
        return f"<StepTimeline of {self.text}>"

    @with_safe_text
    def __str__(self) -> str:
        return above("gpuplace.views.timelines.text", "timeline_text")(self)

    def frame(self, table: str = "events") -> DataFrame:
        """Return a table as a ``DataFrame``; see ``gpuplace.jupyter.frames.timeline_frames`` for the columns.

        Args:
            table: ``"events"``, ``"copies"``, ``"devices"``, ``"gaps"``, ``"path"`` or ``"hints"``.

        Raises:
            ValueError: there is no such table.
        """
        return above("gpuplace.jupyter.frames.timeline_frames", "timeline_frame")(self, table)

    def svg(self, theme: str = "light", width: int = 960) -> str:
        """Return the timeline as a static picture.

        Args:
            theme: ``"light"`` or ``"dark"``.
            width: width in pixels.

        Raises:
            ValueError: the theme is unknown.
        """
        return above("gpuplace.views.timelines.svg", "timeline_svg")(self, theme, width)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """Return the interactive view, a static picture and text."""
        return above("gpuplace.jupyter.timeline_view", "timeline_bundle")(self, **kwargs)
