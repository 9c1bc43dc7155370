"""Suggestions of moves, based on measured copies, registered kernels and a new placement.

For a copy that delayed a node, two changes are tried: moving the producer to the consumer's device, and the reverse. A
change is suggested only if, placed with this one changed request, the graph has the node on that device and copies
fewer bytes between devices (or the same bytes in fewer copies)::

    a (CPU:0) ──64 MiB──> MatMul (GPU:0) ──4 B──> fetch     a requests GPU:0:      64 MiB less
                                                            MatMul requests CPU:0: 64 MiB and 4 B less

Copies are counted between nodes that ran in the step; feeds come from the client's device and fetches go there,
wherever the nodes are. Sizes are measured, or static where nothing was measured.

The time of a node on another type of device is not measured and not estimated. Therefore no node moves to a less
preferred type, such as from a GPU to a CPU, unless the node took less time than the copy that the move saves. If the
step ran on devices other than the placement's, there are no suggestions.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gpuplace.errors import OpError
from gpuplace.graph.op_sets import ENDS_OF_FUNCTIONS, RECEIVES
from gpuplace.views.tables.palette import device_label
from gpuplace.views.tables.placement_view import view_of
from gpuplace.views.tables.scale import time_text
from gpuplace.views.tables.size_text import bytes_text
from gpuplace.views.tables.text import counted
from gpuplace.views.timelines.step_timeline import Copy, StepTimeline
from gpuplace.why.place import place_graph
from gpuplace.why.placement import Placement

_TRIED = 8
"""Number of copies for which changes are tried, in decreasing order of the delay."""
_TIME_LIMIT_S = 2.0
"""Time limit of the search, in seconds."""
_END = re.compile(r"_(arg|retval)_(.*)_(\d+)_\d+$")


class Traffic(NamedTuple):
    """Copies between devices in a step."""

    copies: int
    nbytes: int
    unknown: int
    """Number of copies of unknown size."""


@dataclass(frozen=True)
class MoveHint:
    """A change of one request, verified by placing the graph again."""

    node: str
    """Node to move."""
    op: str
    """Op type of the node."""
    before: str
    """Full name of its present device."""
    after: str
    """Full name of the device to request."""
    copy: Copy
    """Copy that causes the delay."""
    waits: str
    """Delayed node."""
    wait_us: float
    """Time between the arrival of all other inputs and of this copy, in microseconds."""
    took_us: float
    """Execution time of the node to move, in microseconds."""
    was: Traffic
    now: Traffic
    also: tuple[str, ...]
    """Nodes that move with it."""

    @property
    def request(self) -> str:
        """The device to request, as a program writes it."""
        return f"/device:{device_label(self.after)}" if "/" not in device_label(self.after) else self.after

    @property
    def text(self) -> str:
        """Description of the measurement, the change and its effect."""
        copy = self.copy
        size = "" if copy.nbytes is None else f"{bytes_text(copy.nbytes)} "
        where = device_label(copy.target)
        fact = (
            f"{self.waits} on {where} waits {time_text(self.wait_us)} for a {size}copy of {copy.tensor} from "
            f"{device_label(copy.source)}."
        )
        change = f"{self.node} could request {self.request}: {self.op} has a kernel there"
        change += f" and took {time_text(self.took_us)} on {device_label(self.before)}."
        moved = ""
        if self.also:
            others = ", ".join(self.also[:4]) + (
                f" and {len(self.also) - 4:,} more" if len(self.also) > 4 else ""
            )
            moved = f" ({others} {'moves' if len(self.also) == 1 else 'move'} with it)"
        was, now = self.was, self.now
        effect = (
            f"With this request{moved}: {now.copies:,} instead of {counted(was.copies, 'copy', 'copies')}, "
            f"{bytes_text(now.nbytes)} instead of {bytes_text(was.nbytes)}."
        )
        return f"{fact} {change} {effect}"


def move_hints(timeline: StepTimeline) -> tuple[MoveHint, ...]:
    """Return suggested moves, those that save the most bytes first; may be empty."""
    if not isinstance(timeline.placement, Placement) or timeline.placement.faults:
        return ()
    search = _Search(timeline, timeline.placement)
    if not search.is_of_this_step():
        return ()
    hints: list[MoveHint] = []
    begin = time.monotonic()
    for wait, waiting, copy in search.waits()[:_TRIED]:
        hints += search.ways_out(wait, waiting, copy)
        if time.monotonic() - begin > _TIME_LIMIT_S:
            break
    hints.sort(key=lambda hint: (hint.now.nbytes - hint.was.nbytes, -hint.wait_us))
    hints_by_node: dict[str, MoveHint] = {}
    for hint in hints:
        hints_by_node.setdefault(hint.node, hint)
    return tuple(hints_by_node.values())


class _Search:
    """Copies of a step, and placements of its graph with other requests."""

    def __init__(self, timeline: StepTimeline, placement: Placement) -> None:
        self.timeline, self.placement = timeline, placement
        self.view = view_of(placement)
        self.fed: set[tuple[int, int]] = set()
        self.fetched: set[tuple[int, int]] = set()
        self.client = ""
        for event, name in enumerate(timeline.names):
            end = _END.match(name) if timeline.ops[event] in ENDS_OF_FUNCTIONS else None
            if end is not None and end[2] in self.view.index:
                self.client = timeline.lanes[timeline.lane[event]].device
                (self.fed if end[1] == "arg" else self.fetched).add((self.view.index[end[2]], int(end[3])))

    def is_of_this_step(self) -> bool:
        """Return whether everything ran on the devices of the placement."""
        timeline, view = self.timeline, self.view
        labels = [device_label(lane.device) for lane in timeline.lanes]
        ran = {
            (name, labels[lane])
            for name, lane in zip(timeline.names, timeline.lane.tolist(), strict=True)
            if name in view.index
        }
        return bool(ran) and all(device_label(self.placement[name]) == label for name, label in ran)

    def waits(self) -> list[tuple[float, str, Copy]]:
        """Return the delays (microseconds, node, copy), the longest first."""
        timeline, delays = self.timeline, []
        takers: dict[int, list[int]] = {}
        for before, after in zip(timeline.src.tolist(), timeline.dst.tolist(), strict=True):
            takers.setdefault(before, []).append(after)
        for copy in timeline.copies:
            is_receive = timeline.ops[copy.received] in RECEIVES
            waiting = takers.get(copy.received, []) if is_receive else [copy.received]
            for event in waiting[:1]:
                others = [i for i in timeline.inputs(event) if timeline.copy_between(i, event) is None]
                ready = max((float(timeline.end_us[i]) for i in others), default=0.0)
                wait = copy.end_us - max(ready, copy.start_us)
                if wait > 0:
                    delays.append((wait, timeline.names[event], copy))
        return sorted(delays, key=lambda row: -row[0])

    def ways_out(self, wait: float, waiting: str, copy: Copy) -> Iterator[MoveHint]:
        index = self.view.index
        producer = copy.tensor.partition(":")[0]
        port = int(copy.tensor.partition(":")[2] or 0)
        if producer in index and (index[producer], port) not in self.fed:
            yield from self._tried(producer, copy.target, wait, waiting, copy)
        if waiting in index:
            yield from self._tried(waiting, copy.source, wait, waiting, copy)

    def _tried(self, name: str, device: str, wait: float, waiting: str, copy: Copy) -> Iterator[MoveHint]:
        """Yield the hint that moves a node to a device, if this is possible and saves copies."""
        node = self.view.index[name]
        kinds = {attributes.name: attributes.device_type for attributes in self.placement.device_set}
        if device not in kinds or kinds[device] not in dict(self.placement.facts_of(node).supported):
            return
        order = [kind for kind, _ in self.placement.device_set.prioritized_types()]
        took, here = self.took_us(name), self.view.device_of(node)
        if order.index(kinds[device]) > order.index(kinds[here]) and took > copy.end_us - copy.start_us:
            return
        again = self._placed(node, device)
        if again is None or again[name] != device:
            return
        was, now = self.traffic, self._traffic(again)
        if (now.nbytes, now.copies) >= (was.nbytes, was.copies) or now.unknown > was.unknown:
            return
        moved = np.flatnonzero(again.devices != self.placement.devices).tolist()
        also = tuple(self.view.names[other] for other in moved if other != node)
        op = self.view.op_type_of(node)
        yield MoveHint(name, op, here, device, copy, waiting, wait, took, was, now, also)

    def took_us(self, name: str) -> float:
        """Return the time of a node in the step, in microseconds."""
        chosen = [event for event, event_name in enumerate(self.timeline.names) if event_name == name]
        return float(self.timeline.weight_us[chosen].sum())

    def _placed(self, node: int, device: str) -> Placement | None:
        """Place the graph with another request of one node; None if it cannot be placed."""
        placement, graph = self.placement, self.placement.graph
        requests = graph.device.copy()
        requests[node] = len(graph.devices)
        try:
            return place_graph(
                graph.changed(device=requests, devices=(*graph.devices, device)),
                placement.device_set,
                placement.placer.catalogue,
                soft=placement.soft,
                rules=placement.placer.rules,
                assigned={graph.names[other]: where for other, where in placement.assigned.items()},
                release=placement.release,
            )
        except OpError:
            return None

    @cached_property
    def traffic(self) -> Traffic:
        """Return the traffic of the present placement."""
        return self._traffic(self.placement)

    @cached_property
    def _edges(self) -> list[tuple[int, int, int]]:
        """Return ``(node, output, reader)`` of all tensors between nodes that ran."""
        view, ran = self.view, np.zeros(len(self.view), dtype=bool)
        ran[[view.index[name] for name in set(self.timeline.names) if name in view.index]] = True
        for node, _ in self.fed:
            ran[node] = True
        chosen = np.flatnonzero(ran[view.src] & ran[view.dst] & ~view.is_control)
        rows = zip(
            view.src[chosen].tolist(),
            view.src_output[chosen].tolist(),
            view.dst[chosen].tolist(),
            strict=True,
        )
        fed = {node for node, _ in self.fed}
        return [row for row in rows if row[2] not in fed]

    def _traffic(self, placement: Placement) -> Traffic:
        names = placement.device_set.names
        where = [names[device] for device in placement.devices.tolist()]
        crossing = {
            (node, output, where[reader])
            for node, output, reader in self._edges
            if (self.client if (node, output) in self.fed else where[node]) != where[reader]
        }
        crossing |= {
            (node, output, self.client)
            for node, output in self.fetched - self.fed
            if where[node] != self.client
        }
        sizes = [self._size(node, output) for node, output, _ in crossing]
        known_sizes = [size for size in sizes if size is not None]
        return Traffic(len(crossing), sum(known_sizes), len(sizes) - len(known_sizes))

    def _size(self, node: int, output: int) -> int | None:
        measured = self.timeline.sizes.get((self.view.names[node], output))
        return self.view.tensor_of(node, output).nbytes if measured is None else measured
