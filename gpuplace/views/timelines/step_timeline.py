"""A measured step as lanes of boxes, with the copies between them: what ran where, when, and what waited for what.

`gpuplace.views.timelines.reader.step_timeline` makes it of the ``step_stats`` of a ``RunMetadata``. Every
device has a lane, and more where nodes overlap; the streams of a GPU have lanes of their own where they say more than
the device's list does::

    CPU:0            │x│            │────── wait ──────│Add│
                       ╲ 64 B                         ╱ 64 B
    GPU:0                │    MatMul                  │

The critical path is the longest chain of nodes and copies that waited for one another, by measured time: the notion of
`gpuplace.views.picture.marks.critical_path`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
"""Op types of what moves a tensor."""
_NO_EVENTS = np.zeros(0, dtype=np.int64)
_MOST_GAPS = 20


class Lane(NamedTuple):
    """A row of boxes that do not overlap."""

    device: str
    """Full name of the device."""
    label: str
    """``GPU:0``, ``GPU:0 stream 13``, ``CPU:0 (2)`` for a device's second lane."""
    kind: str
    """``"device"``, ``"stream"`` or ``"copies"``."""
    task: str = ""
    """The task of its device: ``/job:ps/replica:0/task:0``; ``""`` where the device is of none."""


class Copy(NamedTuple):
    """A tensor that went from one device to another."""

    tensor: str
    """``MatMul`` or ``Split:1``: what was copied."""
    source: str
    """Full name of the device it came from."""
    target: str
    """Full name of the device it went to."""
    start_us: float
    """When it was ready or began, in microseconds since the step's begin."""
    end_us: float
    """When it was there."""
    nbytes: int | None
    """Size in bytes, None if nothing tells."""
    sent: int
    """Event that sent or made it."""
    received: int
    """Event that received it, or the first that took it."""


class DeviceUse(NamedTuple):
    """How busy a device was."""

    device: str
    """Full name."""
    nodes: int
    """How many nodes ran, without sends and receives."""
    busy_us: float
    """Time in which at least one did."""
    share: float
    """The same as a part of the step, 0 to 1."""
    copies_in: int
    bytes_in: int
    """Of the copies to it whose size is known."""
    longest_gap_us: float
    """Longest time without any."""


class Gap(NamedTuple):
    """A time in which a device had nothing to do."""

    device: str
    """Full name."""
    start_us: float
    end_us: float
    node: str
    """What ran next; ``""`` at the end of the step."""
    waits_for: str
    """What came last of that node's inputs: ``copy of a from CPU:0``, or ``b on CPU:0``; ``""`` where it is unknown."""


@dataclass(frozen=True, eq=False)
class StepTimeline:
    """One step. Events are in the order of their begin; times are microseconds since the first one's."""

    names: Sequence[str]
    """Node of each event."""
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
    """[events] float64: how long it took; of a node with kernels on streams, all of them where that is longer."""
    nbytes: np.ndarray
    """[events] int64: bytes of its outputs; -1 where it is unknown."""
    thread: np.ndarray
    """[events] int64: number of the thread that did it; 0 where it is unknown."""
    src: np.ndarray
    """[edges] event that had to be over first."""
    dst: np.ndarray
    """[edges] event that waited for it."""
    copies: tuple[Copy, ...]
    begin_us: int = 0
    """Microseconds since 1970 of time 0."""
    length_us: float = 0.0
    """Length of the step, where the trace says when it ends; 0: at the end of the last event."""
    sizes: dict[tuple[str, int], int] = field(default_factory=dict, repr=False)
    """Node and output -> bytes."""
    placement: Any = field(default=None, repr=False)
    """A `Placement` of the graph; None where none was given."""
    find_hints: Callable[[StepTimeline], tuple[Any, ...]] = field(default=lambda _: (), repr=False)
    """Finds what to move."""

    def __len__(self) -> int:
        return len(self.names)

    @property
    def total_us(self) -> float:
        """Length of the step."""
        return max(float(self.end_us.max()), self.length_us) if len(self) else 0.0

    @cached_property
    def is_transfer(self) -> np.ndarray:
        """[events] bool: sends, receives and copies of a GPU."""
        moving = np.array([lane.kind == "copies" for lane in self.lanes] or [False])
        if not len(self):
            return np.zeros(0, dtype=bool)
        return moving[self.lane] | np.array([op in MOVING_OPS for op in self.ops])

    @cached_property
    def devices(self) -> tuple[str, ...]:
        """Full names, CPUs first."""
        found = dict.fromkeys(lane.device for lane in self.lanes)
        return tuple(sorted(found, key=lambda device: device_style(device).order))

    @cached_property
    def path_weights(self) -> np.ndarray:
        """[events] float64: microseconds that each adds to a chain; a copy's count once, where it is received."""
        is_sent = np.array([op in SENDS for op in self.ops], dtype=bool)
        return np.where(is_sent, 0.0, self.weight_us)

    @cached_property
    def chain(self) -> tuple[tuple[int, ...], float]:
        """Events of the critical path in order, and its length in microseconds."""
        own = self.path_weights.tolist()
        best, came = list(own), [-1] * len(own)
        order = np.argsort(self.src, kind="stable")
        for before, after in zip(self.src[order].tolist(), self.dst[order].tolist(), strict=True):
            reached = best[before] + own[after]
            # Of equal chains the longer one: what takes no time belongs to it too.
            if reached > best[after] or (came[after] < 0 and reached == best[after]):
                best[after], came[after] = reached, before
        if not best:
            return (), 0.0
        event = max(range(len(best)), key=lambda i: (best[i], i))
        total, found = best[event], []
        while event >= 0:
            found.append(event)
            event = came[event]
        return tuple(found[::-1]), total

    @property
    def path(self) -> tuple[int, ...]:
        """Events of the critical path, in order."""
        return self.chain[0]

    @cached_property
    def is_on_path(self) -> np.ndarray:
        """[events] bool."""
        found = np.zeros(len(self), dtype=bool)
        found[list(self.path)] = True
        return found

    @property
    def path_text(self) -> str:
        """Length of the critical path in words."""
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
        """For each lane the events other than copies, in their order."""
        lanes = np.where(self.is_transfer, len(self.lanes), self.lane) if len(self) else _NO_EVENTS
        order = np.argsort(lanes, kind="stable")
        return np.split(order, np.searchsorted(lanes[order], np.arange(1, len(self.lanes) + 1)))[:-1]

    @cached_property
    def _computing(self) -> dict[str, np.ndarray]:
        """For each device the events that keep it busy: of its streams, where it has any."""
        kinds: dict[str, dict[str, list[int]]] = {}
        for number, lane in enumerate(self.lanes):
            kinds.setdefault(lane.device, {}).setdefault(lane.kind, []).append(number)
        return {
            device: np.sort(np.concatenate([_NO_EVENTS, *(self._by_lane[number] for number in numbers)]))
            for device, lanes in kinds.items()
            for numbers in [lanes.get("stream") or lanes.get("device", [])]
        }

    def busy(self, device: str) -> np.ndarray:
        """[spans, 2] float64: begin and end of the times in which something other than a copy ran on a device."""
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
        """Every device, CPUs first."""
        found = []
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
            found.append(
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
        return tuple(found)

    @cached_property
    def gaps(self) -> tuple[Gap, ...]:
        """The longest times in which a device had nothing to do, the longest first."""
        found = []
        for device in self.devices:
            busy = self.busy(device)
            ends = np.concatenate(([0.0], busy.ravel(), [self.total_us])).reshape(-1, 2)
            found += [(end - start, device, start, end) for start, end in ends.tolist() if end > start]
        found.sort(key=lambda gap: -gap[0])
        return tuple(self._gap(device, start, end) for _, device, start, end in found[:_MOST_GAPS])

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
        """Events that an event waited for."""
        sources, first = self._before
        return sources[first[event] : first[event + 1]].tolist()

    @cached_property
    def _copy_of(self) -> dict[tuple[int, int], Copy]:
        return {(copy.sent, copy.received): copy for copy in self.copies}

    def copy_between(self, before: int, after: int) -> Copy | None:
        """The copy that an event received, or made another one wait for; None if there is none."""
        if self.ops[before] in RECEIVES:
            sends = self.inputs(before)
            return next(
                (self._copy_of[send, before] for send in sends if (send, before) in self._copy_of), None
            )
        return self._copy_of.get((before, after))

    @cached_property
    def last_input(self) -> np.ndarray:
        """[events] of the events that each waited for, the one that was over last; -1 if there is none."""
        found = np.full(len(self), -1, dtype=np.int64)
        order = np.lexsort((np.arange(len(self.src)), -self.end_us[self.src], self.dst))
        after, first = np.unique(self.dst[order], return_index=True)
        found[after] = self.src[order][first]
        return found

    @cached_property
    def last_copy(self) -> np.ndarray:
        """[events] index into `copies` of the copy that `last_input` received, or was made for; -1 for none."""
        found = np.full(len(self), -1, dtype=np.int64)
        received = np.full(len(self) + 1, -1, dtype=np.int64)  # one more, for -1
        for number, copy in enumerate(self.copies):
            if self.ops[copy.received] in RECEIVES:
                received[copy.received] = number
            elif self.last_input[copy.received] == copy.sent:
                found[copy.received] = number
        through = received[self.last_input]
        return np.where(through >= 0, through, found)

    def waits_for(self, event: int) -> str:
        """What came last of what an event takes, in words."""
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
        """What to move, each tried by placing again; see `gpuplace.views.timelines.move_hints`.

        Empty without a placement.
        """
        return self.find_hints(self)

    @property
    def text(self) -> str:
        """The step in a line."""
        moved = [copy.nbytes for copy in self.copies]
        known = sum(size for size in moved if size is not None)
        copies = f"; {counted(len(moved), 'copy', 'copies')}, {bytes_text(known)}" if moved else "; no copies"
        # The streams of a GPU show the kernels of ops that its own row shows.
        ops = sum(use.nodes for use in self.uses) or int((~self.is_transfer).sum())
        return f"{counted(ops, 'op')} on {counted(len(self.devices), 'device')} in {time_text(self.total_us)}{copies}"

    @with_safe_text
    def __repr__(self) -> str:
        return f"<StepTimeline of {self.text}>"

    @with_safe_text
    def __str__(self) -> str:
        timeline_text = above("gpuplace.views.timelines.text", "timeline_text")

        return timeline_text(self)

    def frame(self, table: str = "events") -> DataFrame:
        """A table of the timeline as a ``DataFrame``; see ``gpuplace.jupyter.frames.timeline_frames`` for the columns.

        Args:
            table: ``"events"``, ``"copies"``, ``"devices"``, ``"gaps"``, ``"path"`` or ``"hints"``.

        Raises:
            ValueError: there is no such table.
        """
        timeline_frame = above("gpuplace.jupyter.frames.timeline_frames", "timeline_frame")

        return timeline_frame(self, table)

    def svg(self, theme: str = "light", width: int = 960) -> str:
        """The timeline as a still picture.

        Args:
            theme: ``"light"`` or ``"dark"``.
            width: in pixels.

        Raises:
            ValueError: an unknown theme.
        """
        timeline_svg = above("gpuplace.views.timelines.svg", "timeline_svg")

        return timeline_svg(self, theme, width)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """The view to zoom, a still picture and text."""
        timeline_bundle = above("gpuplace.jupyter.timeline_view", "timeline_bundle")

        return timeline_bundle(self, **kwargs)
