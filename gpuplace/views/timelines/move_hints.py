"""What to move, from facts: copies that a step measured, kernels that the placer knows, and placing again.

For a copy that a node had to wait for there are two ways out, and both are tried: what is copied is made where it is
needed, or what needs it goes to where it is made. A change is told only if the graph, placed again with the one other
request, has the node there, and fewer bytes (or as many, in fewer copies) cross between devices::

    a (CPU:0) ──64 MiB──> MatMul (GPU:0) ──4 B──> fetch     a asks for GPU:0:      64 MiB less
                                                            MatMul asks for CPU:0: 64 MiB and 4 B less

Copies count between nodes that ran in the step: what is fed comes from the client's device and what is fetched goes
there, wherever the nodes are. Sizes are those that were measured, and static ones where nothing was.

How long a node would take on another type of device was not measured, and is not told. So nothing goes to a type that
the placer prefers less, as from a GPU to a CPU, unless the node took less time than the copy that it would spare. Where
the step ran elsewhere than the placement says, there are no hints.
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
"""Copies whose ways out are tried, those that are waited for longest first."""
_TIME_LIMIT_S = 2.0
"""Time after which no further copy is looked at."""
_END = re.compile(r"_(arg|retval)_(.*)_(\d+)_\d+$")


class Traffic(NamedTuple):
    """What crosses between devices in a step."""

    copies: int
    nbytes: int
    unknown: int
    """Copies of unknown size."""


@dataclass(frozen=True)
class MoveHint:
    """A change of one request that was tried."""

    node: str
    """What to move."""
    op: str
    """Its op type."""
    before: str
    """Full name of its device."""
    after: str
    """Full name of the device to ask for."""
    copy: Copy
    """What is waited for."""
    waits: str
    """The node that waits."""
    wait_us: float
    """For how long it had everything that was not copied, and did not have this."""
    took_us: float
    """How long the node itself took."""
    was: Traffic
    now: Traffic
    also: tuple[str, ...]
    """Nodes that move with it."""

    @property
    def request(self) -> str:
        """The device to ask for, as a program writes it."""
        return f"/device:{device_label(self.after)}" if "/" not in device_label(self.after) else self.after

    @property
    def text(self) -> str:
        """What was measured, what to change, and what that does."""
        copy = self.copy
        size = "" if copy.nbytes is None else f"{bytes_text(copy.nbytes)} "
        where = device_label(copy.target)
        fact = (
            f"{self.waits} on {where} waits {time_text(self.wait_us)} for a {size}copy of {copy.tensor} from "
            f"{device_label(copy.source)}."
        )
        change = f"{self.node} could ask for {self.request}: {self.op} has a kernel there"
        change += f", and took {time_text(self.took_us)} on {device_label(self.before)}."
        moved = ""
        if self.also:
            others = ", ".join(self.also[:4]) + (
                f" and {len(self.also) - 4:,} more" if len(self.also) > 4 else ""
            )
            moved = f" ({others} {'moves' if len(self.also) == 1 else 'move'} with it)"
        was, now = self.was, self.now
        effect = (
            f"Placed again{moved}: {counted(was.copies, 'copy', 'copies')} become {now.copies:,}, "
            f"{bytes_text(was.nbytes)} become {bytes_text(now.nbytes)}."
        )
        return f"{fact} {change} {effect}"


def move_hints(timeline: StepTimeline) -> tuple[MoveHint, ...]:
    """What to move, that which spares most bytes first; empty where no fact speaks for anything."""
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
    found: dict[str, MoveHint] = {}
    for hint in hints:
        found.setdefault(hint.node, hint)
    return tuple(found.values())


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
        """Whether all that ran did so where the placement has it."""
        timeline, view = self.timeline, self.view
        labels = [device_label(lane.device) for lane in timeline.lanes]
        ran = {
            (name, labels[lane])
            for name, lane in zip(timeline.names, timeline.lane.tolist(), strict=True)
            if name in view.index
        }
        return bool(ran) and all(device_label(self.placement[name]) == label for name, label in ran)

    def waits(self) -> list[tuple[float, str, Copy]]:
        """How long which node had all that was not copied while a copy went on, the longest first."""
        timeline, found = self.timeline, []
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
                    found.append((wait, timeline.names[event], copy))
        return sorted(found, key=lambda row: -row[0])

    def ways_out(self, wait: float, waiting: str, copy: Copy) -> Iterator[MoveHint]:
        index = self.view.index
        made = copy.tensor.partition(":")[0]
        port = int(copy.tensor.partition(":")[2] or 0)
        if made in index and (index[made], port) not in self.fed:
            yield from self._tried(made, copy.target, wait, waiting, copy)
        if waiting in index:
            yield from self._tried(waiting, copy.source, wait, waiting, copy)

    def _tried(self, name: str, device: str, wait: float, waiting: str, copy: Copy) -> Iterator[MoveHint]:
        """The hint that moves a node to a device, if that works and spares something."""
        node = self.view.index[name]
        kinds = {found.name: found.device_type for found in self.placement.device_set}
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
        """Time of a node in the step."""
        chosen = [event for event, known in enumerate(self.timeline.names) if known == name]
        return float(self.timeline.weight_us[chosen].sum())

    def _placed(self, node: int, device: str) -> Placement | None:
        """The graph with another request at one node; None if that cannot be placed."""
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
        """That of the placement as it is."""
        return self._traffic(self.placement)

    @cached_property
    def _edges(self) -> list[tuple[int, int, int]]:
        """``(node, output, reader)`` of tensors between nodes that ran."""
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
        known = [size for size in sizes if size is not None]
        return Traffic(len(crossing), sum(known), len(sizes) - len(known))

    def _size(self, node: int, output: int) -> int | None:
        measured = self.timeline.sizes.get((self.view.names[node], output))
        return self.view.tensor_of(node, output).nbytes if measured is None else measured
