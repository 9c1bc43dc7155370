"""What a step comes to when units have other devices: the estimate's own flow and clock, without what it tells.

Memory is counted roughly: variables, and every tensor from its node to the last that takes it, in the order in which a
session's plan has them, which is the graph's own wherever they are. The allocator itself has the last word, on what
the search proposes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.freedom import Freedom
from gpuplace.advisor.steps.rebuilt import gate_groups
from gpuplace.advisor.steps.rest_of_graph import nodes_of_groups
from gpuplace.advisor.steps.units import Units
from gpuplace.cost.estimate import step_clock
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.cost.step_flow import COPY, ON_CPU, ON_GPU, StepFlow
from gpuplace.cost.step_graph import NO_STREAM, Times
from gpuplace.graph.op_sets import CONSTANT_OPS, PASSING_ON, UPDATES_OF_VARIABLES, VARIABLE_OPS
from gpuplace.placer.placement_graph import CONTROL

Ints = NDArray[np.int64]
OBJECTIVES = ("step_time", "throughput", "memory")
"""What can be asked for."""
MARGIN = 0.01
"""Part of each GPU's memory that the rough count leaves free."""
_KEPT = 4096
_BEFORE, _AFTER = 0.5, 0.25
"""When, in places of the plan, a copy is made before what takes it, and what nothing takes any more is freed."""
_ALIASES = 3
"""How many ops in a row that hand a tensor on are looked through."""


class Score(NamedTuple):
    """What a choice comes to; of two, the smaller is the better."""

    missing: float
    """Bytes that GPUs are too small."""
    value: float
    """The objective: seconds, or bytes for ``"memory"``."""
    step_time: float
    """Seconds of the step."""


class _Made(NamedTuple):
    """What is in memory for a time, and where."""

    where: Ints
    """Device."""
    node: Ints
    """Node of the step that makes it."""
    size: NDArray[np.float64]
    """Bytes."""
    first: NDArray[np.float64]
    """From when on, by the places of nodes in the plan."""
    last: NDArray[np.float64]
    """Until when."""


class Rehearsal:
    """A step, ready to be tried with units on any devices.

    Args:
        step: an estimate of it, on the machine.
        freedom: what may be chosen.
        units: what moves together.
        objective: one of `OBJECTIVES`.
        limits: position of a GPU -> bytes that its allocator may hand out.
        stay: [groups] device of what is left alone.
        kept: nodes of the graph whose device is not to be chosen.
    """

    def __init__(
        self,
        step: StepEstimate,
        freedom: Freedom,
        units: Units,
        objective: str,
        limits: Mapping[int, int],
        stay: Ints,
        kept: Collection[int] = (),
    ) -> None:
        self.stay = stay
        self.gates, self.untold = gate_groups(freedom, units.of_group >= 0, kept)
        self.step, self.freedom, self.units, self.objective = step, freedom, units, objective
        self.limits = dict(limits)
        self.room = {device: limit * (1 - MARGIN) for device, limit in self.limits.items()}
        self.tried = 0
        self._is_measured = False
        self.clock = step_clock(step)
        """Of the step, on any devices."""
        self._group = freedom.group[step.part.nodes]
        self.unit = units.of_group[self._group]
        """[nodes of the step] unit of each."""
        self._known: dict[bytes, Score] = {}
        self._node_bytes: NDArray[np.float64] | None = None
        self._prepare_memory()
        self.scale = 1.0
        """By how much the rough count of memory is below the allocator's."""

    def forget(self) -> None:
        """Forgets what choices came to, as limits or the objective have changed."""
        self._known = {}

    def homes(self, device_of: Ints) -> Ints:
        """[groups] device of each group when units have some devices; -1 in `device_of` leaves a unit alone.

        Gates are where `gradients` then has them, and what cannot be told a device is where the placer has it.
        """
        found = self.wanted(device_of)
        if (device_of < 0).all():
            return found
        found[self.untold] = self.freedom.default[self.untold]
        return self.gates.shut(found)

    def wanted(self, device_of: Ints) -> Ints:
        """[groups] the same, but for gates and what cannot be told: where their units are."""
        of_group, allowed = self.units.of_group, self.freedom.allowed
        wanted = np.where(of_group >= 0, device_of[of_group], -1)
        groups = np.arange(len(wanted))
        is_possible = (wanted >= 0) & allowed[groups, np.maximum(wanted, 0)]
        return np.where(is_possible, wanted, self.stay)

    def node_devices(self, device_of: Ints) -> Ints:
        """[nodes of the step] device of each."""
        return self.homes(device_of)[self._group]

    def score(self, device_of: Ints) -> Score:
        """What a choice comes to; remembered.

        Args:
            device_of: [units] positions of devices.
        """
        key = device_of.tobytes()
        known = self._known.get(key)
        if known is None:
            if len(self._known) > _KEPT:
                self._known.clear()
            known = self._known[key] = self.tried_out(device_of)[0]
        return known

    def rough_score(self, device_of: Ints) -> tuple[float, float]:
        """Memory that is missing, by what nodes keep and make in all, and seconds of the step; quick.

        Args:
            device_of: [units] positions of devices.
        """
        devices = self.node_devices(device_of)
        if self._node_bytes is None:
            self._node_bytes = self.node_bytes()
        used = np.bincount(devices, self._node_bytes, len(self.freedom.placement.device_set))
        missing = sum(max(float(used[device]) - room, 0.0) for device, room in self.room.items())
        return missing, self.clock.seconds(devices)

    def tried_out(self, device_of: Ints) -> tuple[Score, StepFlow, Times]:
        """The same, with the flow and when its items ran."""
        self.tried += 1
        devices = self.node_devices(device_of)
        flow, times = self.clock.run(devices)
        peaks = self.peaks(devices, flow)
        missing = sum(max(peaks[device] - room, 0.0) for device, room in self.room.items())
        total = times.total
        if self.objective == "throughput":
            value = largest_load(flow, self.clock.threads)
        elif self.objective == "memory":
            value = max(peaks.tolist(), default=0.0)
        else:
            value = total
        return Score(missing, value, total), flow, times

    @cached_property
    def nodes_of_groups(self) -> Ints:
        """[groups] how many nodes of the graph move with each that the step runs."""
        return nodes_of_groups(self.freedom, self.units.of_group >= 0)

    # Memory

    def measure_memory(self) -> bool:
        """Sets the rough count of memory right by the allocator's, where GPUs are at all near to being full.

        Returns:
            Whether that changed anything; then scores from before are of no use.
        """
        if not self.limits or self._is_measured:
            return False
        self._is_measured = True
        step = self.step
        rough = self.peaks(step.part.device, step.flow)
        smallest = min(self.limits.values())
        if rough[list(self.limits)].sum() < smallest / 2:
            return False
        names = step.device_names
        real = np.array([use.peak for use in step.memory.devices], dtype=np.float64)
        counted = np.array([rough[names.index(use.device)] for use in step.memory.devices])
        if counted.sum() > 0 and real.sum() > 0:
            self.scale = float(np.clip(real.sum() / counted.sum(), 0.2, 3.0))
        self._known.clear()
        self._node_bytes = None
        return True

    def _prepare_memory(self) -> None:
        step, graph = self.step, self.step.part.graph
        nbytes = step.shapes.nbytes
        sizes = np.array(
            [
                sum(nbytes(node, output) for output in range(len(outputs)))
                for node, outputs in enumerate(step.shapes.sizes)
            ],
            dtype=np.float64,
        )
        is_variable = graph.of_types(VARIABLE_OPS)
        is_kept = is_variable | graph.of_types(CONSTANT_OPS)
        is_alias = graph.of_types(PASSING_ON) | step.flow.step.folded
        is_update = graph.of_types(lambda name: name.startswith(UPDATES_OF_VARIABLES))
        own = np.where(is_alias | is_update | is_kept | step.flow.step.dead, 0.0, sizes)
        groups = len(self.freedom.default)
        kept = np.where(is_kept, sizes, 0.0)
        read = np.zeros(groups)  # a handle says nothing of its variable's size; what reads it does
        holders = np.zeros(groups, dtype=np.int64)
        np.add.at(holders, self._group[is_variable & (sizes == 0)], 1)
        is_reader = graph.of_types({"ReadVariableOp"})
        np.maximum.at(read, self._group[is_reader], sizes[is_reader])
        self._kept_of_group = np.bincount(self._group, kept, groups) + read * holders
        self._own = own
        data = graph.src_output != CONTROL
        self._src, self._dst = graph.src[data].astype(np.int64), graph.dst[data].astype(np.int64)
        self._output = graph.src_output[data].astype(np.int64)
        self._is_alias = is_alias
        self._rank = graph.rank.astype(np.float64)

    def peaks(self, devices: Ints, flow: StepFlow) -> NDArray[np.float64]:
        """[devices] most bytes in use."""
        kept, made = self._in_memory(devices, flow)
        found = kept.copy()
        for number in range(len(found)):
            found[number] += _peak(made, number)[0]
        return found * self.scale

    def at_the_peak(self, device_of: Ints) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
        """The fullest device, the bytes of each unit that are there at its peak, and the peaks of all devices.

        Args:
            device_of: [units] positions of devices.
        """
        devices = self.node_devices(device_of)
        flow, _ = self.clock.run(devices)
        kept, made = self._in_memory(devices, flow)
        peaks = np.array([keeps + _peak(made, number)[0] for number, keeps in enumerate(kept.tolist())])
        fullest = int(peaks.argmax())
        _, moment = _peak(made, fullest)
        is_there = (made.where == fullest) & (made.first <= moment) & (made.last > moment)
        of_group = np.where(self.homes_of_groups(devices) == fullest, self._kept_of_group, 0.0)
        of_group += np.bincount(self._group[made.node[is_there]], made.size[is_there], len(of_group))
        runs = self.units.of_group >= 0
        of_unit = np.bincount(self.units.of_group[runs], of_group[runs], len(self.units.names))
        return fullest, of_unit.astype(np.float64), peaks * self.scale

    def _in_memory(self, devices: Ints, flow: StepFlow) -> tuple[NDArray[np.float64], _Made]:
        """[devices] bytes that are kept, and what is there for a time."""
        count, tasks = len(devices), len(self.freedom.placement.device_set)
        src, dst, rank = self._src, self._dst, self._rank
        crosses = devices[src] != devices[dst]
        pairs, copy_of = np.unique(src[crosses] * tasks + devices[dst[crosses]], return_inverse=True)
        taken = np.full(len(pairs), np.inf)  # a copy is made when it is first taken
        np.minimum.at(taken, copy_of, rank[dst[crosses]])
        until, over = rank.copy(), taken.copy()
        np.maximum.at(until, src[~crosses], rank[dst[~crosses]])
        np.maximum.at(until, pairs // tasks, taken)
        for _ in range(_ALIASES + 1):
            reached = np.where(self._is_alias[dst], until[dst], rank[dst])
            np.maximum.at(until, src[~crosses], reached[~crosses])
            np.maximum.at(over, copy_of, reached[crosses])
        kept = np.bincount(self.homes_of_groups(devices), self._kept_of_group, tasks)
        runs = np.zeros(count, dtype=bool)
        runs[flow.item_node[flow.item_node < count]] = True
        on = np.flatnonzero((self._own > 0) & runs)
        where, size, first, last, node = devices[on], self._own[on], rank[on], until[on], on
        table = flow.copies
        if len(table) and len(pairs):
            sent, receiver = np.array(table.source, dtype=np.int64), np.array(table.receiver, dtype=np.int64)
            is_copy = np.array(table.output) != CONTROL
            is_copy &= ~np.array(table.to_host) & (sent < count)
            sent, receiver = sent[is_copy], receiver[is_copy]
            key = sent * tasks + receiver
            place = np.minimum(np.searchsorted(pairs, key), len(pairs) - 1)
            is_taken = pairs[place] == key
            at, end = (
                np.where(is_taken, taken[place], rank[sent]),
                np.where(is_taken, over[place], rank[sent]),
            )
            where = np.concatenate((where, receiver))
            size = np.concatenate((size, np.array(table.nbytes, dtype=np.float64)[is_copy]))
            first, last = np.concatenate((first, at - _BEFORE)), np.concatenate((last, end))
            node = np.concatenate((node, sent))
        return kept.astype(np.float64), _Made(where, node, size, first, last + _AFTER)

    @property
    def kept_bytes(self) -> NDArray[np.float64]:
        """[groups] bytes of variables and constants."""
        return self._kept_of_group * self.scale

    def node_bytes(self) -> NDArray[np.float64]:
        """[nodes of the step] bytes of a device: variables, and what is there when most is, on all devices together."""
        devices = self.node_devices(np.full(len(self.units.names), -1, dtype=np.int64))
        _, made = self._in_memory(devices, self.clock.run(devices)[0])
        _, moment = _peak(made)
        is_there = (made.first <= moment) & (made.last > moment)
        nbytes = np.bincount(made.node[is_there], made.size[is_there], len(devices)).astype(np.float64)
        found: NDArray[np.float64] = nbytes * self.scale
        kept = self.kept_bytes
        first = np.full(len(kept), -1, dtype=np.int64)
        first[self._group[::-1]] = np.arange(len(self._group))[::-1]
        keeps = np.flatnonzero(kept)
        found[first[keeps]] += kept[keeps]
        return found

    def unit_bytes(self) -> NDArray[np.float64]:
        """[units] bytes of variables, and of all that their nodes make."""
        of_group = self.units.of_group
        made = np.bincount(self._group, self._own, len(of_group)) + self._kept_of_group
        runs = of_group >= 0
        return np.bincount(of_group[runs], made[runs], len(self.units.names)).astype(np.float64)

    def homes_of_groups(self, devices: Ints) -> Ints:
        """[groups] device of each group of the step, by those of its nodes."""
        found = self.stay.copy()
        found[self._group] = devices
        return found


def _peak(made: _Made, device: int | None = None) -> tuple[float, float]:
    """The most bytes that are made at a time on a device, or on all, and when that is."""
    mine = np.arange(len(made.where)) if device is None else np.flatnonzero(made.where == device)
    if not len(mine):
        return 0.0, 0.0
    time = np.concatenate((made.first[mine], made.last[mine]))
    change = np.concatenate((made.size[mine], -made.size[mine]))
    order = np.lexsort((change, time))
    reached = np.cumsum(change[order])
    at = int(reached.argmax())
    return max(0.0, float(reached[at])), float(time[order[at]])


def largest_load(flow: StepFlow, threads: int) -> float:
    """Seconds that the busiest of GPUs, copy engines, links and threads works in a step.

    Steps in a pipeline can follow each other no faster, and about so fast.

    Args:
        flow: of the step.
        threads: of the inter-op pool.
    """
    ways, kernel = flow.ways, flow.kernel
    on_gpu, on_cpu = flow.kind == ON_GPU, flow.kind == ON_CPU
    loads = [
        float(flow.host.sum() + (kernel - flow.held)[on_cpu].sum()) / max(threads, 1),
        float(flow.held[on_cpu].sum()),
        float(np.bincount(flow.stream[on_gpu], kernel[on_gpu]).max(initial=0.0)),
    ]
    way, nbytes = flow.way[flow.kind == COPY], flow.nbytes[flow.kind == COPY]
    chosen = ways.stream[way] != NO_STREAM
    way, nbytes = way[chosen], nbytes[chosen]
    seconds = ways.latency[way] + nbytes / ways.bandwidth[way]
    queued = ways.stream[way] >= 0
    loads.append(float(np.bincount(ways.stream[way[queued]], seconds[queued]).max(initial=0.0)))
    loads.append(float(seconds[~queued].max(initial=0.0)))
    counts = np.diff(ways.first_link)[way]
    at = np.repeat(ways.first_link[way] - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
    loads.append(
        float(np.bincount(ways.link[at], np.repeat(nbytes, counts) / ways.rate[at]).max(initial=0.0))
    )
    return max(loads)
