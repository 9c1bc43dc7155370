"""Scores of choices: the step with units on other devices, timed by the estimate's own clock, without tables or texts.

Memory is estimated roughly: variables, and every tensor from its node to its last consumer, in the order of a session's
plan, which does not depend on devices. The final evaluation of the search's results uses the allocator itself.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.candidates import Candidates
from gpuplace.advisor.steps.rebuilt_gradients import barrier_groups
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
"""Objectives of a search."""
MARGIN = 0.01
"""Fraction of each GPU's memory that the rough estimate leaves free."""
_KEPT = 4096
_BEFORE, _AFTER = 0.5, 0.25
"""Plan positions by which a copy precedes its first consumer, and by which a tensor outlives its last one."""
_ALIASES = 3
"""Number of consecutive pass-through ops that are followed."""


class Score(NamedTuple):
    """Score of a choice; smaller is better."""

    missing: float
    """Missing bytes on GPUs."""
    value: float
    """The objective: seconds, or bytes for ``"memory"``."""
    step_time: float
    """Seconds of the step."""


class _Lifetimes(NamedTuple):
    """Tensors in memory, with their devices and lifetimes."""

    where: Ints
    """Device."""
    node: Ints
    """Node of the step that produces the tensor."""
    size: NDArray[np.float64]
    """Bytes."""
    first: NDArray[np.float64]
    """Start, as a position in the plan."""
    last: NDArray[np.float64]
    """End, as a position in the plan."""


class ChoiceScorer:
    """A step that can be evaluated with its units on any devices.

    Args:
        step: an estimate of it, on the machine.
        candidates: candidate devices of its nodes.
        units: units that move together.
        objective: one of `OBJECTIVES`.
        limits: position of a GPU to the bytes that its allocator may use.
        stay: [groups] device of groups that stay.
        kept: nodes of the graph whose device must not be chosen.
    """

    def __init__(
        self,
        step: StepEstimate,
        candidates: Candidates,
        units: Units,
        objective: str,
        limits: Mapping[int, int],
        stay: Ints,
        kept: Collection[int] = (),
    ) -> None:
        self.stay = stay
        self.barriers, self.uncontrolled = barrier_groups(candidates, units.of_group >= 0, kept)
        self.step, self.candidates, self.units, self.objective = step, candidates, units, objective
        self.limits = dict(limits)
        self.room = {device: limit * (1 - MARGIN) for device, limit in self.limits.items()}
        self.clock = step_clock(step)
        """Clock of the step, on any devices."""
        self._group = candidates.group[step.part.nodes]
        self.unit = units.of_group[self._group]
        """[nodes of the step] unit of each."""
        self._prepare_memory()
        self._reset()

    def unused(self, objective: str) -> ChoiceScorer:
        """Return a scorer of the same step that has evaluated nothing yet.

        Args:
            objective: one of `OBJECTIVES`.
        """
        scorer = copy.copy(self)
        scorer.objective, scorer.room = objective, dict(self.room)
        scorer._reset()
        return scorer

    def _reset(self) -> None:
        """Drop all results: cached scores, and the calibration of the memory estimate."""
        self.tried = 0
        self.scale = 1.0
        """Ratio of the allocator's memory to the rough estimate."""
        self._is_measured = False
        self._score_of: dict[bytes, Score] = {}
        self._node_bytes: NDArray[np.float64] | None = None
        if (
            self.objective == "memory"
        ):  # other searches calibrate after their first results, because it takes long
            self.measure_memory()

    def homes(self, device_of: Ints) -> Ints:
        """Return [groups] the device of each group for given unit devices; -1 in `device_of` leaves a unit alone.

        Barriers are where `gradients` then puts them, and uncontrolled nodes are where the placer puts them.
        """
        homes = self.requested_homes(device_of)
        if (device_of < 0).all():
            return homes
        homes[self.uncontrolled] = self.candidates.default[self.uncontrolled]
        return self.barriers.place_barriers(homes)

    def requested_homes(self, device_of: Ints) -> Ints:
        """Return `homes` without the exceptions for barriers and uncontrolled nodes."""
        of_group, allowed = self.units.of_group, self.candidates.allowed
        requested = np.where(of_group >= 0, device_of[of_group], -1)
        groups = np.arange(len(requested))
        is_possible = (requested >= 0) & allowed[groups, np.maximum(requested, 0)]
        return np.where(is_possible, requested, self.stay)

    def node_devices(self, device_of: Ints) -> Ints:
        """Return [nodes of the step] the device of each."""
        return self.homes(device_of)[self._group]

    def score(self, device_of: Ints) -> Score:
        """Return the score of a choice, cached.

        Args:
            device_of: [units] device positions.
        """
        key = device_of.tobytes()
        score = self._score_of.get(key)
        if score is None:
            if len(self._score_of) > _KEPT:
                self._score_of.clear()
            score = self._score_of[key] = self.evaluate(device_of)[0]
        return score

    def rough_score(self, device_of: Ints) -> tuple[float, float]:
        """Return quickly the missing memory, from sums over all tensors, and the step time in seconds.

        Args:
            device_of: [units] device positions.
        """
        devices = self.node_devices(device_of)
        if self._node_bytes is None:
            self._node_bytes = self.node_bytes()
        used = np.bincount(devices, self._node_bytes, len(self.candidates.placement.device_set))
        missing = sum(max(float(used[device]) - room, 0.0) for device, room in self.room.items())
        return missing, self.clock.seconds(devices)

    def evaluate(self, device_of: Ints) -> tuple[Score, StepFlow, Times]:
        """Return the score, with the items of the step and their times."""
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
        """[groups] number of nodes of the graph that move with each group that the step runs."""
        return nodes_of_groups(self.candidates, self.units.of_group >= 0)

    # Memory

    def measure_memory(self) -> bool:
        """Calibrate the rough memory estimate by the allocator, if a GPU is nearly full.

        Returns:
            Whether the calibration changed, which invalidates earlier scores.
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
        self._score_of.clear()
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
        output_bytes = np.where(is_alias | is_update | is_kept | step.flow.step.dead, 0.0, sizes)
        groups = len(self.candidates.default)
        kept = np.where(is_kept, sizes, 0.0)
        read = np.zeros(groups)  # the size of a resource variable is known only from its reads
        holders = np.zeros(groups, dtype=np.int64)
        np.add.at(holders, self._group[is_variable & (sizes == 0)], 1)
        is_reader = graph.of_types({"ReadVariableOp"})
        np.maximum.at(read, self._group[is_reader], sizes[is_reader])
        self._kept_of_group = np.bincount(self._group, kept, groups) + read * holders
        self._output_bytes = output_bytes
        data = graph.src_output != CONTROL
        self._src, self._dst = graph.src[data].astype(np.int64), graph.dst[data].astype(np.int64)
        self._output = graph.src_output[data].astype(np.int64)
        self._is_alias = is_alias
        self._rank = graph.rank.astype(np.float64)

    def peaks(self, devices: Ints, flow: StepFlow) -> NDArray[np.float64]:
        """Return [devices] the peak bytes in use."""
        kept, lifetimes = self._lifetimes(devices, flow)
        peaks = kept.copy()
        for number in range(len(peaks)):
            peaks[number] += _peak(lifetimes, number)[0]
        return peaks * self.scale

    def at_the_peak(self, device_of: Ints) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
        """Return the fullest device, the bytes of each unit on it at its peak, and the peaks of all devices.

        Args:
            device_of: [units] device positions.
        """
        devices = self.node_devices(device_of)
        flow, _ = self.clock.run(devices)
        kept, lifetimes = self._lifetimes(devices, flow)
        peaks = np.array([keeps + _peak(lifetimes, number)[0] for number, keeps in enumerate(kept.tolist())])
        fullest = int(peaks.argmax())
        _, moment = _peak(lifetimes, fullest)
        is_alive = (lifetimes.where == fullest) & (lifetimes.first <= moment) & (lifetimes.last > moment)
        of_group = np.where(self.homes_of_groups(devices) == fullest, self._kept_of_group, 0.0)
        of_group += np.bincount(
            self._group[lifetimes.node[is_alive]], lifetimes.size[is_alive], len(of_group)
        )
        runs = self.units.of_group >= 0
        of_unit = np.bincount(self.units.of_group[runs], of_group[runs], len(self.units.names))
        return fullest, of_unit.astype(np.float64), peaks * self.scale

    def _lifetimes(self, devices: Ints, flow: StepFlow) -> tuple[NDArray[np.float64], _Lifetimes]:
        """Return [devices] the bytes of variables and constants, and the lifetimes of all other tensors."""
        count, tasks = len(devices), len(self.candidates.placement.device_set)
        src, dst, rank = self._src, self._dst, self._rank
        crosses = devices[src] != devices[dst]
        pairs, copy_of = np.unique(src[crosses] * tasks + devices[dst[crosses]], return_inverse=True)
        first_use = np.full(len(pairs), np.inf)  # a copy is created right before its first consumer
        np.minimum.at(first_use, copy_of, rank[dst[crosses]])
        last_use, copy_end = rank.copy(), first_use.copy()
        np.maximum.at(last_use, src[~crosses], rank[dst[~crosses]])
        np.maximum.at(last_use, pairs // tasks, first_use)
        for _ in range(_ALIASES + 1):
            reached = np.where(self._is_alias[dst], last_use[dst], rank[dst])
            np.maximum.at(last_use, src[~crosses], reached[~crosses])
            np.maximum.at(copy_end, copy_of, reached[crosses])
        kept = np.bincount(self.homes_of_groups(devices), self._kept_of_group, tasks)
        runs = np.zeros(count, dtype=bool)
        runs[flow.item_node[flow.item_node < count]] = True
        on = np.flatnonzero((self._output_bytes > 0) & runs)
        where, size, first, last, node = devices[on], self._output_bytes[on], rank[on], last_use[on], on
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
                np.where(is_taken, first_use[place], rank[sent]),
                np.where(is_taken, copy_end[place], rank[sent]),
            )
            where = np.concatenate((where, receiver))
            size = np.concatenate((size, np.array(table.nbytes, dtype=np.float64)[is_copy]))
            first, last = np.concatenate((first, at - _BEFORE)), np.concatenate((last, end))
            node = np.concatenate((node, sent))
        return kept.astype(np.float64), _Lifetimes(where, node, size, first, last + _AFTER)

    @property
    def kept_bytes(self) -> NDArray[np.float64]:
        """[groups] bytes of variables and constants."""
        return self._kept_of_group * self.scale

    def node_bytes(self) -> NDArray[np.float64]:
        """Return [nodes of the step] bytes: variables, and tensors alive at the common peak of all devices."""
        devices = self.node_devices(np.full(len(self.units.names), -1, dtype=np.int64))
        _, lifetimes = self._lifetimes(devices, self.clock.run(devices)[0])
        _, moment = _peak(lifetimes)
        is_alive = (lifetimes.first <= moment) & (lifetimes.last > moment)
        nbytes = np.bincount(lifetimes.node[is_alive], lifetimes.size[is_alive], len(devices)).astype(
            np.float64
        )
        result: NDArray[np.float64] = nbytes * self.scale
        kept = self.kept_bytes
        first = np.full(len(kept), -1, dtype=np.int64)
        first[self._group[::-1]] = np.arange(len(self._group))[::-1]
        keeps = np.flatnonzero(kept)
        result[first[keeps]] += kept[keeps]
        return result

    def unit_bytes(self) -> NDArray[np.float64]:
        """Return [units] the bytes of variables, and of all outputs of their nodes."""
        of_group = self.units.of_group
        nbytes = np.bincount(self._group, self._output_bytes, len(of_group)) + self._kept_of_group
        runs = of_group >= 0
        return np.bincount(of_group[runs], nbytes[runs], len(self.units.names)).astype(np.float64)

    def homes_of_groups(self, devices: Ints) -> Ints:
        """Return [groups] the device of each group of the step, from those of its nodes."""
        homes = self.stay.copy()
        homes[self._group] = devices
        return homes


def _peak(lifetimes: _Lifetimes, device: int | None = None) -> tuple[float, float]:
    """Return the peak bytes on a device, or on all, and the time of the peak."""
    mine = np.arange(len(lifetimes.where)) if device is None else np.flatnonzero(lifetimes.where == device)
    if not len(mine):
        return 0.0, 0.0
    time = np.concatenate((lifetimes.first[mine], lifetimes.last[mine]))
    change = np.concatenate((lifetimes.size[mine], -lifetimes.size[mine]))
    order = np.lexsort((change, time))
    reached = np.cumsum(change[order])
    at = int(reached.argmax())
    return max(0.0, float(reached[at])), float(time[order[at]])


def largest_load(flow: StepFlow, threads: int) -> float:
    """Return the seconds per step of the busiest GPU, copy engine, link or thread.

    Steps in a pipeline cannot follow each other faster, and approximately reach that rate.

    Args:
        flow: items of the step.
        threads: number of threads in the inter-op pool.
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
