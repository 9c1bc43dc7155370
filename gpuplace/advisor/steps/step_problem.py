"""A step as a `Problem`: node costs on each kind of device, tensors between nodes, and links.

A group of the problem is a unit, split where candidate devices differ. Times are the seconds of all executions of a
node; back edges of loops are left out. Tensors that a GPU node writes or reads in host memory are marked, because they
take another route, or none. Lower bounds (critical path, and work divided among all devices) ignore copies and put
every node on its fastest device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.bounds import shared_work
from gpuplace.advisor.problem import Device, ExactStep, Floats, Links, Problem
from gpuplace.advisor.steps.choice_scores import ChoiceScorer
from gpuplace.advisor.steps.initial_choices import units_at
from gpuplace.cost.estimate import step_threads
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.cost.step_graph import NO_QUEUE, NO_STREAM
from gpuplace.graph.op_sets import METADATA_OPS, NEXT_ITERATIONS
from gpuplace.numerics.compiled.arrays import as_arrays
from gpuplace.placer.placement_graph import CONTROL

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class StepProblem:
    """A problem, and the mapping of its numbers to the step."""

    problem: Problem
    nodes: Ints
    """[nodes of the problem] position in the step."""
    devices: tuple[int, ...]
    """[devices of the problem] position in the device set."""
    unit: Ints
    """[nodes of the problem] unit."""

    def units_of(self, scorer: ChoiceScorer, device_of: NDArray[np.int64]) -> Ints:
        """Return [units] devices of a split of the problem's nodes; -1 for units that stay.

        Args:
            scorer: step to evaluate.
            device_of: [nodes of the problem] devices of the problem.
        """
        where = np.array(self.devices, dtype=np.int64)[device_of]
        unit_devices = np.full(len(scorer.units.names), -1, dtype=np.int64)
        group = scorer.candidates.group[scorer.step.part.nodes[self.nodes]]
        free = scorer.candidates.is_free[group]
        choices = scorer.candidates.allowed[group].sum(axis=1)
        # The groups with most candidates decide.
        for count in range(2, len(scorer.candidates.placement.device_set) + 1):
            chosen = free & (choices == count)
            unit_devices[self.unit[chosen]] = where[chosen]
        return unit_devices

    def nodes_of(self, scorer: ChoiceScorer, device_of: Ints) -> Ints:
        """Return [nodes of the problem] devices of the problem for devices of units; -1 if the device is not in the
        problem.

        Args:
            scorer: step to evaluate.
            device_of: [units] devices; -1 for units that stay.
        """
        number = np.full(len(scorer.candidates.placement.device_set), -1, dtype=np.int64)
        number[list(self.devices)] = np.arange(len(self.devices))
        whole = np.where(device_of < 0, units_at(scorer, scorer.stay), device_of)
        group = scorer.candidates.group[scorer.step.part.nodes[self.nodes]]
        return number[scorer.requested_homes(whole)[group]]


def step_problem(scorer: ChoiceScorer) -> StepProblem:
    """Return a step in numbers.

    Args:
        scorer: step to evaluate.
    """
    step, candidates = scorer.step, scorer.candidates
    graph, machinery, clock = step.part.graph, step.machinery, scorer.clock
    runs = np.flatnonzero(step.node_runs > 0).astype(np.int64)
    place = np.full(len(clock.graph.row), -1, dtype=np.int64)
    place[runs] = np.arange(len(runs))
    devices = _devices(scorer)
    table = least_seconds(scorer)
    kernels, hosts = table.kernel[runs][:, devices], table.host[runs][:, devices]
    kind_of, firsts = _kinds(scorer, devices, kernels)
    group = candidates.group[step.part.nodes]
    unit = scorer.units.of_group[group][runs]
    sources, readers, tensors, tensor_bytes, host_reads, host_made = _edges(scorer, place)
    sender = _source_of_tensor(sources, tensors, len(tensor_bytes))
    groups = _groups(scorer, group[runs], unit)
    on_cpu = np.flatnonzero(~machinery.is_gpu[devices])[0]
    problem = Problem(
        ids=tuple([graph.names[node] for node in runs.tolist()]),
        seconds=kernels[:, firsts],
        sizes=scorer.node_bytes()[runs],
        transfer=np.bincount(sender, tensor_bytes, len(runs)).astype(np.float64),
        groups=groups,
        sources=sources,
        readers=readers,
        devices=tuple(
            Device(
                candidates.placement.device_labels[device],
                kind_of[number],
                scorer.room.get(device, math.inf),
                link=1.0 if machinery.is_gpu[device] else 0.0,
                is_pool=not machinery.is_gpu[device],
                workers=1 if machinery.is_gpu[device] else clock.threads,
            )
            for number, device in enumerate(devices)
        ),
        links=_links(scorer, devices),
        starts=hosts[:, firsts],
        is_inline=table.is_expensive[runs, devices[on_cpu]] == 0,
        tensors=tensors,
        tensor_transfer=tensor_bytes,
        host_reads=host_reads,
        host_made=host_made,
        held=table.held[runs, devices[on_cpu]],
        exact=_exact(scorer, place, tuple(devices)),
    )
    return StepProblem(problem, runs, tuple(devices), unit)


def _exact(scorer: ChoiceScorer, place: Ints, devices: tuple[int, ...]) -> ExactStep:
    """Return the estimate's step, and the mapping of its nodes to those of the problem.

    Args:
        scorer: step to evaluate.
        place: [nodes of the step's graph] node in the problem; -1 if there is none.
        devices: devices of the problem.
    """
    clock, barriers = scorer.clock, scorer.barriers
    part = scorer.step.part
    group = scorer.candidates.group[part.nodes]
    leader = np.full(len(scorer.stay), -1, dtype=np.int64)
    np.maximum.at(leader, group, place[: len(group)])
    home = scorer.stay.copy()
    leader[scorer.uncontrolled], home[scorer.uncontrolled] = (
        -1,
        scorer.candidates.default[scorer.uncontrolled],
    )
    node = np.full(len(clock.graph.row), -1, dtype=np.int64)
    fixed = np.zeros(len(clock.graph.row), dtype=np.int64)
    free = np.flatnonzero(~part.is_fed)
    node[free], fixed[free] = leader[group[free]], home[group[free]]
    at = np.full(len(leader), -1, dtype=np.int64)
    at[group] = np.arange(len(group))
    awaited = np.where(leader >= 0, leader, -1 - home)[barriers.awaited]
    return ExactStep(
        clock,
        node,
        fixed,
        devices,
        at[barriers.groups],
        barriers.homes,
        np.append(barriers.first, len(barriers.awaited)),
        awaited,
    )


def _devices(scorer: ChoiceScorer) -> list[int]:
    """Return the relevant devices: GPUs, the first CPU, and devices of nodes that must be there or stay there."""
    machinery, candidates = scorer.step.machinery, scorer.candidates
    used = set(np.flatnonzero(machinery.is_gpu).tolist())
    used.update(np.flatnonzero(~machinery.is_gpu).tolist()[:1])
    group = candidates.group[scorer.step.part.nodes]
    used.update(np.unique(candidates.default[group][~candidates.is_free[group]]).tolist())
    used.update(np.unique(scorer.stay[group]).tolist())
    return sorted(used)


def _kinds(
    scorer: ChoiceScorer, devices: list[int], table: NDArray[np.float64]
) -> tuple[list[int], list[int]]:
    """Return the kind of each device, and the first device of each kind: equal hardware, and equal candidates."""
    models = scorer.step.machinery.models
    number: dict[tuple[object, ...], int] = {}
    kinds, firsts = [], []
    for column, device in enumerate(devices):
        model = models[device]
        key = (
            None if model is None else model.name,
            scorer.room.get(device),
            np.isinf(table[:, column]).tobytes(),
        )
        if key not in number:
            number[key] = len(number)
            firsts.append(column)
        kinds.append(number[key])
    return kinds, firsts


def _edges(scorer: ChoiceScorer, place: Ints) -> tuple[Ints, Ints, Ints, Floats, Bools, Bools]:
    """Return each edge's source, consumer and tensor, each tensor's bytes in all executions, and host memory flags.

    The flags are, for each edge, whether its consumer reads host memory, and for each tensor, whether it is in host
    memory. The edges are the clock's, in which each iteration of a loop has its own; back edges of loops are left out.
    """
    step, graph = scorer.step, scorer.clock.graph
    goes_back = np.zeros(len(graph.row), dtype=bool)
    goes_back[: len(step.part.graph)] = step.part.graph.of_types(NEXT_ITERATIONS)
    src, dst = graph.node[scorer.clock.step.edge_sources], graph.node[graph.after]
    chosen = (place[src] >= 0) & (place[dst] >= 0) & ~goes_back[src]
    rows = np.stack((src, dst, graph.tensor, graph.reads_in_host), axis=1)[chosen]
    rows = np.unique(rows, axis=0)
    src, dst, tensor, reads = rows.T
    carries = tensor != graph.first_tensor[src]
    carried, number = np.unique(tensor[carries], return_inverse=True)
    tensors = np.full(len(src), -1, dtype=np.int64)
    tensors[carries] = number
    producers = np.searchsorted(graph.first_tensor, carried, side="right") - 1
    sizes = graph.nbytes[carried] * step.node_runs[producers]
    is_in_host = graph.is_made_in_host[carried] == 1
    return place[src], place[dst], tensors, sizes, (reads == 1) & carries, is_in_host


def _source_of_tensor(sources: Ints, tensors: Ints, count: int) -> Ints:
    source = np.zeros(count, dtype=np.int64)
    carries = tensors >= 0
    source[tensors[carries]] = sources[carries]
    return source


def _groups(scorer: ChoiceScorer, group: Ints, unit: Ints) -> Ints:
    """Return [nodes] a number for each unit's groups with the same candidates; other groups get their own numbers."""
    allowed = scorer.candidates.allowed
    _, choice = np.unique(allowed, axis=0, return_inverse=True)
    choice = choice.reshape(-1)[group]
    free = scorer.candidates.is_free[group]
    own = np.where(free, unit, len(scorer.units.names) + group)
    pairs = np.stack((own, choice), axis=1)
    _, numbers = np.unique(pairs, axis=0, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64)


def _links(scorer: ChoiceScorer, devices: list[int]) -> Links:
    """Return the links between devices, by the clock's routes between their memories."""
    clock, count = scorer.clock, len(devices)
    graph, ways = clock.graph, clock.ways
    memory = graph.memory[devices]
    way = ways.number[2 * (memory[:, None] * graph.memory_count + memory[None, :])]
    stream = np.where(np.eye(count, dtype=bool), NO_STREAM, ways.stream[way])
    # Copies over a network do not queue; a problem needs a queue, so each pair of devices gets its own.
    own = stream.max(initial=0) + 1 + np.arange(count * count).reshape(count, count)
    stream = np.where(stream == NO_QUEUE, own, stream)
    used = np.unique(stream[stream >= 0])
    most = int(np.diff(ways.first_link)[way].max(initial=0))
    at = ways.first_link[way][:, :, None] + np.arange(most)
    is_link = at < ways.first_link[way + 1][:, :, None]
    links = clock.step.machinery.links.links
    return Links(
        per_unit=np.where(stream >= 0, 1 / ways.bandwidth[way], 0.0),
        latency=np.where(stream >= 0, ways.latency[way], 0.0),
        channel=np.where(stream >= 0, np.searchsorted(used, stream), -1).astype(np.int64),
        shared=np.where(is_link, ways.link[np.where(is_link, at, 0)], -1) if most else None,
        pace=np.array([1 / link.bandwidth for link in links]) if most else None,
        start=clock.costs.copy,
        notice=clock.costs.poll,
    )


def levels_of(scorer: ChoiceScorer, step_numbers: StepProblem) -> list[Problem]:
    """Return the step in numbers with coarser to finer groups; the last one is unchanged.

    Args:
        scorer: step to evaluate.
        step_numbers: the step in numbers, with single units as groups.
    """
    problem, candidates = step_numbers.problem, scorer.candidates
    first = np.zeros(problem.group_count, dtype=np.int64)
    first[problem.groups[::-1]] = np.arange(problem.node_count)[::-1]
    of = candidates.group[scorer.step.part.nodes[step_numbers.nodes[first]]]
    _, choice = np.unique(candidates.allowed[of], axis=0, return_inverse=True)
    levels: list[Problem] = []
    for level in scorer.units.levels()[:-1]:
        own = np.where(
            candidates.is_free[of], level[step_numbers.unit[first]], len(level) + np.arange(len(of))
        )
        pairs = np.stack((own, choice.reshape(-1)), axis=1)
        _, number = np.unique(pairs, axis=0, return_inverse=True)
        levels.append(replace(problem, groups=number.reshape(-1)[problem.groups].astype(np.int64)))
    return [*levels, problem]


def with_room_for(problem: Problem, fitting: Sequence[Ints]) -> Problem:
    """Return a level with enough device memory for some splits, which a more exact estimate has shown to fit.

    Args:
        problem: the level.
        fitting: [nodes] devices of each split.
    """
    used = np.zeros(len(problem.devices))
    for split in fitting:
        used = np.maximum(used, np.bincount(split, problem.sizes, len(used)))
    most: dict[int, float] = {}
    for device, size in zip(problem.devices, used.tolist(), strict=True):
        most[device.kind] = max(most.get(device.kind, 0.0), size)
    devices = tuple(
        replace(device, memory=max(device.memory, most[device.kind])) for device in problem.devices
    )
    return replace(problem, devices=devices)


def is_split_of(problem: Problem, split: Ints) -> bool:
    """Whether a split keeps the groups of a level together.

    Args:
        problem: the level.
        split: [nodes] devices; -1 if a node has none.
    """
    device = np.zeros(problem.group_count, dtype=np.int64)
    device[problem.groups] = split
    return bool((split >= 0).all() and (device[problem.groups] == split).all())


_METADATA = METADATA_OPS | {"ShapeN", "VariableShape"}


class NodeCosts(NamedTuple):
    """``[nodes of the step, devices]``: minimum times in seconds of all executions of a node."""

    kernel: Floats
    """Kernel; infinite if the node cannot run there."""
    host: Floats
    """Thread that starts it."""
    held: Floats
    """Time during which it occupies all cores of a CPU."""
    is_expensive: NDArray[np.int64]
    """1 if it goes to the pool of a CPU."""


def step_bound(scorer: ChoiceScorer) -> float:
    """Return a lower bound of the objective for every placement, in seconds, or bytes for ``"memory"``.

    Args:
        scorer: step to evaluate.
    """
    kept, step = scorer.kept_bytes, scorer.step
    if scorer.objective == "memory":
        return float(max(kept.max(initial=0.0), kept.sum() / len(scorer.candidates.placement.device_set)))
    table = least_seconds(scorer).kernel
    load = _load(step, table)
    return load if scorer.objective == "throughput" else max(load, _critical_path(step, table))


def least_seconds(scorer: ChoiceScorer) -> NodeCosts:
    """Return the minimum times of nodes by the clock's costs: zero where Grappler may remove a node.

    Args:
        scorer: step to evaluate.
    """
    step, candidates, clock = scorer.step, scorer.candidates, scorer.clock
    graph, costs, nodes = clock.graph, as_arrays(clock.costs), len(step.part.graph)
    is_gpu = graph.gpu >= 0
    in_host = (graph.is_in_host[:nodes] == 1)[:, None] & is_gpu
    column = np.where(in_host, graph.host_column, graph.column)
    tables = [costs.kernel, costs.host, costs.held, costs.is_expensive]
    results = [table[graph.row[:nodes, None] * graph.column_count + column] for table in tables]
    kernel_of = np.repeat(np.arange(len(graph.fuses_on_gpu)), np.diff(graph.first_fused))
    for node, row, kernel in zip(
        graph.fused.tolist(), graph.fused_row.tolist(), kernel_of.tolist(), strict=True
    ):
        where = np.flatnonzero(is_gpu == graph.fuses_on_gpu[kernel])
        at = row * graph.column_count + column[node, where]
        for part, table in zip(results, tables, strict=True):
            part[node, where] = np.minimum(part[node, where], table[at])
    for of_nodes in results:
        of_nodes[graph.idle] = 0
    runs = step.node_runs[:, None]
    kernels = np.where(candidates.allowed[candidates.group[step.part.nodes]], results[0] * runs, np.inf)
    return NodeCosts(kernels, results[1] * runs, results[2] * runs, results[3])


def _load(step: StepEstimate, table: Floats) -> float:
    """Return the minimum time for the work on all devices together; nodes may be divided."""
    is_gpu = step.machinery.is_gpu
    rooms = [0] * (step_threads(step) + 1) + [1] * int(is_gpu.sum())
    runs = np.stack([table[:, chosen].min(axis=1, initial=np.inf) for chosen in (~is_gpu, is_gpu)], axis=1)
    return shared_work(runs[np.isfinite(runs).any(axis=1)], rooms)[0]


def _critical_path(step: StepEstimate, table: Floats) -> float:
    """Return the length of the critical path of kernels; iterations of a loop may overlap, so they count once."""
    graph = step.part.graph
    least = np.where(np.isinf(table), np.inf, table).min(axis=1)
    least = np.where(np.isfinite(least), least, 0.0) / np.maximum(step.node_runs, 1.0)
    stops = graph.of_types(_METADATA) | step.flow.on_host | step.flow.step.folded
    skip = (graph.src_output == CONTROL) | stops[graph.dst] | graph.of_types(NEXT_ITERATIONS)[graph.src]
    reached = least.tolist()
    own = least.tolist()
    start, src, left_out = graph.in_start.tolist(), graph.src.tolist(), skip.tolist()
    for node in graph.order.tolist():
        before = 0.0
        for edge in range(start[node], start[node + 1]):
            if not left_out[edge] and reached[src[edge]] > before:
                before = reached[src[edge]]
        reached[node] = before + own[node]
    return max(reached, default=0.0)
