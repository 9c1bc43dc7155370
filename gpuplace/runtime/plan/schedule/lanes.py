"""Lanes: a schedule divided among threads, one lane per device, with explicit handoffs.

A lane is a straight sequence of steps. A value that another lane needs is handed over. If only an order must be kept
(control edges, uses of the same variable), an empty handoff keeps it. A copy belongs to the receiving lane, so that the
sender can continue computing::

    lane of GPU:0    p = MatMul   give(0, p)   q = MatMul ...
    lane of CPU:0                 take(0)      copy of p      Add ...

The order within a lane comes from a simulation with estimated times, in which a lane runs the earliest ready step. All
lanes follow one order of the whole schedule, so none can wait forever. The arithmetic is the same in any order, so
results equal those of the single lane, bit for bit: ops on one variable keep the order of the single lane, even where
TensorFlow would let them race.

Steps that wait for each other (an enqueue and a dequeue) get lanes for another reason: they must not block each other.
Each of them has its own lane, and steps that depend on the same waiting steps share a lane. If the single lane sends a
tensor to another task before it waits, so do the lanes: the other task may need the tensor for its own sends.

Real GPUs have their own queues and are fed by one thread (``queue_order``).

Source: tensorflow/core/common_runtime/executor.cc and graph_partition.cc, release 1.15 (what may run
concurrently).
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpuplace.dtypes import resource
from gpuplace.graph.op_sets import ALIASES_OF_VARIABLES, RECEIVES, SENDS, VARIABLE_OPS
from gpuplace.graph.operation import Operation
from gpuplace.kernels.compute import traits_of
from gpuplace.runtime.plan.schedule.costs import copy_cost_us, operation_cost_us
from gpuplace.runtime.plan.schedule.partition import Schedule, Slot, Step

HANDOFF_US = 40.0
"""Microseconds for one thread to wake another."""
MIN_LANE_US = 300.0
"""Devices with less work than this, in microseconds, do not get their own lane."""
MIN_GAIN = 0.85
"""Fraction of the single lane's time within which the lanes must be done."""


@dataclass(slots=True, eq=False)
class Handoff(Step):
    """A step that passes a value between lanes, or only keeps an order."""

    number: int = 0
    """Number of the handoff in the plan."""
    is_give: bool = False
    """Whether this is the giving end."""


@dataclass(slots=True)
class Lane:
    """The work of one thread."""

    devices: list[str] = field(default_factory=list)
    """Full names of its devices."""
    steps: list[Step] = field(default_factory=list)
    """Its steps and handoffs, in order."""
    numbers: list[int] = field(default_factory=list)
    """Positions of its steps in the schedule; -1 for handoffs and for constants of another lane's devices."""


@dataclass(slots=True)
class Arrangement:
    """A schedule in lanes."""

    lanes: list[Lane]
    """The lanes; the first is that of the device of feeds and fetches."""
    handoffs: int
    """Number of handoffs."""


def estimated_costs(schedule: Schedule) -> list[float | None]:
    """Return the microseconds of each step; None if shapes are unknown."""
    return [
        copy_cost_us(step.inputs[0].tensor)
        if step.op is None
        else 0.0
        if step.folded is not None
        else operation_cost_us(step.op)
        for step in schedule.steps
    ]


def _is_free(step: Step) -> bool:
    """Whether the step is a constant, which every lane may have for itself."""
    return step.op_type == "Const" and not step.control_inputs


def dependencies(schedule: Schedule, keeps_order: bool = False) -> list[set[int]]:
    """Return the positions of the steps that must precede each step, without constants.

    Args:
        schedule: the schedule.
        keeps_order: whether every thread keeps the order of the schedule; otherwise sends before a receive stay before
            it.
    """
    producers: dict[Slot, int] = {}
    positions: dict[Operation, int] = {}
    sources: list[set[int]] = []
    touched = _VariableUses()
    stateful = -1
    sent: list[int] = []
    for number, step in enumerate(schedule.steps):
        before: set[int] = set()
        sources.append(before)
        if _is_free(step):
            continue
        before.update([producers[slot] for slot in step.inputs if slot in producers])
        before.update([positions[op] for op in step.control_inputs if op in positions])
        op = step.op
        waits = op is not None and traits_of(op.type).waits
        if step.op_type in RECEIVES and not keeps_order:
            before.update(sent)
            sent = [number]  # later receives come after all of these sends too
        elif step.op_type in SENDS:
            sent.append(number)
        touches = waits or touched.note(number, step, before)
        if op is not None:
            positions.update(dict.fromkeys(step.operations, number))
            is_stateful = op.op_def is not None and op.op_def.is_stateful and step.folded is None
            if (
                is_stateful
                and not touches
                and not traits_of(op.type).own_state
                and op.type not in VARIABLE_OPS
            ):
                if stateful >= 0:
                    before.add(stateful)
                stateful = number
        for slot in step.outputs:
            producers[slot] = number
    return sources


class _VariableUses:
    """Last uses of each variable."""

    def __init__(self) -> None:
        self._roots: dict[Slot, object] = {}
        self._written: dict[object, int] = {}
        self._read: dict[object, list[int]] = {}

    def note(self, number: int, step: Step, before: set[int]) -> bool:
        """Add the steps that must come before because of variables; return whether the step uses variables."""
        op = step.op
        if op is not None and op.type in VARIABLE_OPS:
            name = op.attrs.get("shared_name") or op.name.encode()
            self._roots[step.outputs[0]] = name, op.attrs.get("container"), step.device
            return True
        roots = []
        for slot, reads in zip(step.inputs, step.reads, strict=True):
            if slot.is_ref or slot.tensor.dtype.base_dtype is resource:
                root = self._roots.get(slot, slot.tensor)
                roots.append(root)
                if root in self._written:
                    before.add(self._written[root])
                if reads or (op is not None and _only_reads(op)):
                    self._read.setdefault(root, []).append(number)
                else:
                    before.update(self._read.pop(root, ()))
                    self._written[root] = number
        before.discard(number)
        if roots:
            for slot in step.outputs:
                if slot.is_ref or slot.tensor.dtype.base_dtype is resource:
                    self._roots[slot] = roots[0]
        return bool(roots)


def _only_reads(op: Operation) -> bool:
    return op.type in ALIASES_OF_VARIABLES or traits_of(op.type).reads_only


def arrange(
    schedule: Schedule, costs: Sequence[float], client: str, most: int, cores: int
) -> Arrangement | None:
    """Return the schedule in lanes, or None if one thread is as fast.

    Args:
        schedule: the schedule.
        costs: estimated microseconds of each step.
        client: full name of the device whose lane is the calling thread.
        most: maximum number of lanes besides that one.
        cores: number of threads that can run concurrently.
    """
    costs = [
        0.0 if step.op_type in RECEIVES else cost for step, cost in zip(schedule.steps, costs, strict=True)
    ]  # waiting is not work
    work: dict[str, float] = {}
    for step, cost in zip(schedule.steps, costs, strict=True):
        if step.is_conditional:
            return None
        work[step.device] = work.get(step.device, 0.0) + cost
    heavy = sorted((name for name in work if work[name] >= MIN_LANE_US), key=lambda name: -work[name])
    if len(heavy) < 2 or min(most + 1, cores) < 2:
        return None
    lane_of = _lane_of(schedule, work, [name for name in heavy if name != client], most)
    sources = dependencies(schedule)
    order, lanes_us = _simulated(schedule, costs, lane_of, sources)
    serial_us = sum(costs)
    if max(lanes_us, serial_us / cores) > MIN_GAIN * serial_us:
        return None
    lanes = [lane_of[step.device] for step in schedule.steps]
    devices = [
        [name for name, at in lane_of.items() if at == lane] for lane in range(max(lane_of.values()) + 1)
    ]
    return _Arranger(schedule, lanes, devices, sources).arranged(order)


def arrange_waiting(schedule: Schedule) -> Arrangement | None:
    """Return the schedule in lanes if two of its steps may wait for each other, or for a send; otherwise None.

    Steps that come after the same waiting steps share a lane, which waits only for what they need::

        lane {}      x = ...          give x
        lane {e}     take x           Enqueue
        lane {d}     Dequeue          give d
        lane {d} +   take d           Add ...

    Args:
        schedule: the schedule.
    """
    if schedule.loops or not any(
        traits_of(op_type).waits for op_type in {op.type for op in schedule.operations}
    ):
        return None
    steps = schedule.steps
    waiting = [step.op is not None and traits_of(step.op.type).waits for step in steps]
    ends_waits = [waits or step.op_type in SENDS for waits, step in zip(waiting, steps, strict=True)]
    if sum(ends_waits) < 2:
        return None
    sources = dependencies(schedule, keeps_order=True)
    after: list[frozenset[int]] = []
    lane_of_set: dict[tuple[frozenset[int], int], int] = {(frozenset(), -1): 0}
    lanes = []
    for number, (step, before) in enumerate(zip(steps, sources, strict=True)):
        if step.is_conditional:
            return None
        waits_before = frozenset().union(*(after[source] for source in before))
        key = waits_before, number if waiting[number] else -1
        lanes.append(lane_of_set.setdefault(key, len(lane_of_set)))
        after.append(waits_before | {number} if waiting[number] else waits_before)
    waiting_steps = [number for number, waits in enumerate(waiting) if waits]
    if not any(a not in after[b] for b in range(len(steps)) if ends_waits[b] for a in waiting_steps if a < b):
        return None  # the waiting steps depend on each other in order
    devices: list[list[str]] = [[] for _ in lane_of_set]
    for step, lane in zip(steps, lanes, strict=True):
        if step.device not in devices[lane]:
            devices[lane].append(step.device)
    return _Arranger(schedule, lanes, devices, sources).arranged(range(len(steps)))


def _lane_of(
    schedule: Schedule, work: Mapping[str, float], heavy: Sequence[str], most: int
) -> dict[str, int]:
    """Return the lane of each device.

    Devices with much work get lanes, the heaviest first; the rest share the caller's.
    """
    lane_of = dict.fromkeys(work, 0)
    loads = [0.0] * min(most, len(heavy))
    for name in heavy:
        lane = min(range(len(loads)), key=loads.__getitem__)
        loads[lane] += work[name]
        lane_of[name] = lane + 1
    for slot in schedule.slots:
        lane_of.setdefault(slot.location.device, 0)
    return lane_of


def _simulated(
    schedule: Schedule,
    costs: Sequence[float],
    lane_of: Mapping[str, int],
    sources: Sequence[set[int]],
) -> tuple[list[int], float]:
    """Return all step positions in the order in which lanes would begin them, and the end of the last step."""
    lanes = [lane_of[step.device] for step in schedule.steps]
    consumers: list[list[int]] = [[] for _ in lanes]
    pending_count = [len(before) for before in sources]
    for number, before in enumerate(sources):
        for source in before:
            consumers[source].append(number)
    ready_at = [0.0] * len(lanes)
    free_at = [0.0] * (max(lane_of.values()) + 1)
    future: list[list[tuple[float, int]]] = [[] for _ in free_at]
    ready: list[list[int]] = [[] for _ in free_at]
    for number, count in enumerate(pending_count):
        if not count:
            ready[lanes[number]].append(number)  # in order, so a heap
    order: list[int] = []
    while len(order) < len(lanes):
        best, start = -1, float("inf")
        for lane, free in enumerate(free_at):
            queue = future[lane]
            while queue and queue[0][0] <= free:
                heapq.heappush(ready[lane], heapq.heappop(queue)[1])
            begins = free if ready[lane] else queue[0][0] if queue else float("inf")
            if begins < start:
                best, start = lane, begins
        number = heapq.heappop(ready[best]) if ready[best] else heapq.heappop(future[best])[1]
        order.append(number)
        end = free_at[best] = start + costs[number]
        for consumer in consumers[number]:
            lane = lanes[consumer]
            arrives = end if lane == best else end + HANDOFF_US
            ready_at[consumer] = max(ready_at[consumer], arrives)
            pending_count[consumer] -= 1
            if not pending_count[consumer]:
                heapq.heappush(future[lane], (ready_at[consumer], consumer))
    return order, max(free_at)


@dataclass(eq=False, repr=False)
class _Arranger:
    """Puts steps into lanes, and handoffs between them.

    Args:
        schedule: the schedule.
        lane_of: lane of each step.
        devices: devices of each lane.
        sources: for each step, the steps that must precede it.
    """

    _schedule: Schedule
    _lane_of: Sequence[int]
    _devices: Sequence[list[str]]
    _sources: Sequence[set[int]]

    def __post_init__(self) -> None:
        count = len(self._devices)
        self._lanes: list[list[int | Handoff | Step]] = [[] for _ in range(count)]
        self._gives: dict[int, list[Handoff]] = {}
        self._known = [[-1] * count for _ in range(count)]
        self._after: dict[int, list[int]] = {}
        self._places: dict[int, int] = {}
        self._has: set[tuple[Slot, int]] = set()
        self._producers = {
            slot: number for number, step in enumerate(self._schedule.steps) for slot in step.outputs
        }
        self._handoffs = 0

    def arranged(self, order: Sequence[int]) -> Arrangement:
        """Return the arrangement for an order of the whole schedule."""
        for place, number in enumerate(order):
            step = self._schedule.steps[number]
            lane = self._lane_of[number]
            for slot in step.inputs:
                self._bring(slot, lane)
            for source in sorted(self._sources[number], key=self._places.__getitem__, reverse=True):
                self._wait(source, lane)
            self._lanes[lane].append(number)
            self._has.update((slot, lane) for slot in step.outputs)
            self._known[lane][lane] = self._places[number] = place
            self._after[number] = list(self._known[lane])
        for slot in self._schedule.fetches:
            self._bring(slot, 0)
        lanes = [self._finished(position, items) for position, items in enumerate(self._lanes)]
        return Arrangement(lanes, self._handoffs)

    def _bring(self, slot: Slot, lane: int) -> None:
        """Make a value available in a lane."""
        if (slot, lane) in self._has or slot not in self._producers:
            return
        number = self._producers[slot]
        step = self._schedule.steps[number]
        self._has.add((slot, lane))
        if _is_free(step):
            if self._lane_of[number] != lane:
                self._lanes[lane].append(step)
        elif self._lane_of[number] != lane:
            self._hand_over(number, lane, slot)

    def _wait(self, source: int, lane: int) -> None:
        """Make a lane wait for a step, unless it does already."""
        at = self._lane_of[source]
        if at != lane and self._known[lane][at] < self._places[source]:
            self._hand_over(source, lane, None)

    def _hand_over(self, source: int, lane: int, slot: Slot | None) -> None:
        slots = () if slot is None else (slot,)
        device = self._schedule.steps[source].device
        number = self._handoffs
        self._handoffs += 1
        self._gives.setdefault(source, []).append(
            Handoff(None, device, slots, (False,) * len(slots), (), None, number, True)
        )
        self._lanes[lane].append(Handoff(None, device, (), (), slots, None, number, False))
        self._known[lane] = list(map(max, self._known[lane], self._after[source]))

    def _finished(self, position: int, items: Sequence[int | Step]) -> Lane:
        lane = Lane(self._devices[position])
        for item in items:
            if isinstance(item, Step):
                lane.steps.append(item)
                lane.numbers.append(-1)
                continue
            lane.steps.append(self._schedule.steps[item])
            lane.numbers.append(item)
            for give in self._gives.get(item, ()):
                lane.steps.append(give)
                lane.numbers.append(-1)
        return lane


def lane_schedules(schedule: Schedule, arrangement: Arrangement) -> list[Schedule]:
    """Return the schedule of each lane: its steps, handoffs and feeds; the first one has the fetches."""
    fed = set(schedule.feeds)
    schedules = []
    for position, lane in enumerate(arrangement.lanes):
        used = {slot for step in lane.steps for slot in step.inputs if slot in fed}
        if position == 0:
            used.update(slot for slot in schedule.fetches if slot in fed)
        feeds = tuple(slot for slot in schedule.feeds if slot in used)
        fetches = schedule.fetches if position == 0 else ()
        schedules.append(replace(schedule, feeds=feeds, steps=tuple(lane.steps), fetches=fetches))
    return schedules
