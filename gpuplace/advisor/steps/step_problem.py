"""A step as a `Problem`: what each node costs on each kind of device, what crosses between them, and over which links.

A group of the problem is a unit, less what of it has not the same choice of devices. Seconds are of all executions of
a node; a loop's way back is left out. What a node of a GPU makes or takes in host memory is marked, as the way of its
copies is another, or none. What no placement can be below, its longest way and its work divided among all devices, is
counted without copies and with every node where it is quickest.
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
from gpuplace.advisor.steps.rehearsal import Rehearsal
from gpuplace.advisor.steps.starts import units_at
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
    """A problem, and what its numbers are of."""

    problem: Problem
    nodes: Ints
    """[nodes of the problem] position in the step."""
    devices: tuple[int, ...]
    """[devices of the problem] position in the device set."""
    unit: Ints
    """[nodes of the problem] unit."""

    def units_of(self, rehearsal: Rehearsal, device_of: NDArray[np.int64]) -> Ints:
        """[units] devices of a split of the problem's nodes; -1 for units that stay.

        Args:
            rehearsal: of the step.
            device_of: [nodes of the problem] devices of the problem.
        """
        where = np.array(self.devices, dtype=np.int64)[device_of]
        found = np.full(len(rehearsal.units.names), -1, dtype=np.int64)
        group = rehearsal.freedom.group[rehearsal.step.part.nodes[self.nodes]]
        free = rehearsal.freedom.is_free[group]
        choices = rehearsal.freedom.allowed[group].sum(axis=1)
        for count in range(2, len(rehearsal.freedom.placement.device_set) + 1):  # the freest decide
            chosen = free & (choices == count)
            found[self.unit[chosen]] = where[chosen]
        return found

    def nodes_of(self, rehearsal: Rehearsal, device_of: Ints) -> Ints:
        """[nodes of the problem] devices of the problem, for devices of units; -1 where it is none of them.

        Args:
            rehearsal: of the step.
            device_of: [units] devices; -1 for what is left alone.
        """
        number = np.full(len(rehearsal.freedom.placement.device_set), -1, dtype=np.int64)
        number[list(self.devices)] = np.arange(len(self.devices))
        whole = np.where(device_of < 0, units_at(rehearsal, rehearsal.stay), device_of)
        group = rehearsal.freedom.group[rehearsal.step.part.nodes[self.nodes]]
        return number[rehearsal.wanted(whole)[group]]


def step_problem(rehearsal: Rehearsal) -> StepProblem:
    """A step in numbers.

    Args:
        rehearsal: of it.
    """
    step, freedom = rehearsal.step, rehearsal.freedom
    graph, machinery, clock = step.part.graph, step.machinery, rehearsal.clock
    runs = np.flatnonzero(step.node_runs > 0).astype(np.int64)
    place = np.full(len(clock.graph.row), -1, dtype=np.int64)
    place[runs] = np.arange(len(runs))
    devices = _devices(rehearsal)
    table = least_seconds(rehearsal)
    kernels, hosts = table.kernel[runs][:, devices], table.host[runs][:, devices]
    kind_of, firsts = _kinds(rehearsal, devices, kernels)
    group = freedom.group[step.part.nodes]
    unit = rehearsal.units.of_group[group][runs]
    sources, readers, tensors, tensor_bytes, host_reads, host_made = _edges(rehearsal, place)
    sender = _source_of_tensor(sources, tensors, len(tensor_bytes))
    groups = _groups(rehearsal, group[runs], unit)
    on_cpu = np.flatnonzero(~machinery.is_gpu[devices])[0]
    problem = Problem(
        ids=tuple([graph.names[node] for node in runs.tolist()]),
        seconds=kernels[:, firsts],
        sizes=rehearsal.node_bytes()[runs],
        transfer=np.bincount(sender, tensor_bytes, len(runs)).astype(np.float64),
        groups=groups,
        sources=sources,
        readers=readers,
        devices=tuple(
            Device(
                freedom.placement.device_labels[device],
                kind_of[number],
                rehearsal.room.get(device, math.inf),
                link=1.0 if machinery.is_gpu[device] else 0.0,
                is_pool=not machinery.is_gpu[device],
                workers=1 if machinery.is_gpu[device] else clock.threads,
            )
            for number, device in enumerate(devices)
        ),
        links=_links(rehearsal, devices),
        starts=hosts[:, firsts],
        is_inline=table.is_expensive[runs, devices[on_cpu]] == 0,
        tensors=tensors,
        tensor_transfer=tensor_bytes,
        host_reads=host_reads,
        host_made=host_made,
        held=table.held[runs, devices[on_cpu]],
        exact=_exact(rehearsal, place, tuple(devices)),
    )
    return StepProblem(problem, runs, tuple(devices), unit)


def _exact(rehearsal: Rehearsal, place: Ints, devices: tuple[int, ...]) -> ExactStep:
    """The estimate's step, and how its nodes follow those of the problem.

    Args:
        rehearsal: of the step.
        place: [nodes of the step's graph] number of each in the problem; -1: it is not there.
        devices: of the problem.
    """
    clock, gates = rehearsal.clock, rehearsal.gates
    part = rehearsal.step.part
    group = rehearsal.freedom.group[part.nodes]
    leader = np.full(len(rehearsal.stay), -1, dtype=np.int64)
    np.maximum.at(leader, group, place[: len(group)])
    home = rehearsal.stay.copy()
    leader[rehearsal.untold], home[rehearsal.untold] = -1, rehearsal.freedom.default[rehearsal.untold]
    node = np.full(len(clock.graph.row), -1, dtype=np.int64)
    fixed = np.zeros(len(clock.graph.row), dtype=np.int64)
    free = np.flatnonzero(~part.is_fed)
    node[free], fixed[free] = leader[group[free]], home[group[free]]
    at = np.full(len(leader), -1, dtype=np.int64)
    at[group] = np.arange(len(group))
    awaited = np.where(leader >= 0, leader, -1 - home)[gates.awaited]
    return ExactStep(
        clock,
        node,
        fixed,
        devices,
        at[gates.groups],
        gates.homes,
        np.append(gates.first, len(gates.awaited)),
        awaited,
    )


def _devices(rehearsal: Rehearsal) -> list[int]:
    """The devices that matter: GPUs, the first CPU, and what something must be on, or is on where it is left alone."""
    machinery, freedom = rehearsal.step.machinery, rehearsal.freedom
    used = set(np.flatnonzero(machinery.is_gpu).tolist())
    used.update(np.flatnonzero(~machinery.is_gpu).tolist()[:1])
    group = freedom.group[rehearsal.step.part.nodes]
    used.update(np.unique(freedom.default[group][~freedom.is_free[group]]).tolist())
    used.update(np.unique(rehearsal.stay[group]).tolist())
    return sorted(used)


def _kinds(
    rehearsal: Rehearsal, devices: list[int], table: NDArray[np.float64]
) -> tuple[list[int], list[int]]:
    """The kind of each device, and the first device of each kind: alike in hardware and in what may run there."""
    models = rehearsal.step.machinery.models
    number: dict[tuple[object, ...], int] = {}
    kinds, firsts = [], []
    for column, device in enumerate(devices):
        model = models[device]
        key = (
            None if model is None else model.name,
            rehearsal.room.get(device),
            np.isinf(table[:, column]).tobytes(),
        )
        if key not in number:
            number[key] = len(number)
            firsts.append(column)
        kinds.append(number[key])
    return kinds, firsts


def _edges(rehearsal: Rehearsal, place: Ints) -> tuple[Ints, Ints, Ints, Floats, Bools, Bools]:
    """Source, reader and tensor of each edge, bytes of each tensor in all executions, and what is in host memory.

    That is of each edge, whether its reader takes it there, and of each tensor, whether it is made there. They are the
    clock's, of which each iteration of a loop has its own; that a loop goes back is left out.
    """
    step, graph = rehearsal.step, rehearsal.clock.graph
    goes_back = np.zeros(len(graph.row), dtype=bool)
    goes_back[: len(step.part.graph)] = step.part.graph.of_types(NEXT_ITERATIONS)
    src, dst = graph.node[rehearsal.clock.step.edge_sources], graph.node[graph.after]
    chosen = (place[src] >= 0) & (place[dst] >= 0) & ~goes_back[src]
    rows = np.stack((src, dst, graph.tensor, graph.reads_in_host), axis=1)[chosen]
    rows = np.unique(rows, axis=0)
    src, dst, tensor, reads = rows.T
    carries = tensor != graph.first_tensor[src]
    carried, number = np.unique(tensor[carries], return_inverse=True)
    tensors = np.full(len(src), -1, dtype=np.int64)
    tensors[carries] = number
    makers = np.searchsorted(graph.first_tensor, carried, side="right") - 1
    sizes = graph.nbytes[carried] * step.node_runs[makers]
    made = graph.is_made_in_host[carried] == 1
    return place[src], place[dst], tensors, sizes, (reads == 1) & carries, made


def _source_of_tensor(sources: Ints, tensors: Ints, count: int) -> Ints:
    found = np.zeros(count, dtype=np.int64)
    carries = tensors >= 0
    found[tensors[carries]] = sources[carries]
    return found


def _groups(rehearsal: Rehearsal, group: Ints, unit: Ints) -> Ints:
    """[nodes] a number for each unit's groups of one choice of devices; what has no choice is in no unit's."""
    allowed = rehearsal.freedom.allowed
    _, choice = np.unique(allowed, axis=0, return_inverse=True)
    choice = choice.reshape(-1)[group]
    free = rehearsal.freedom.is_free[group]
    own = np.where(free, unit, len(rehearsal.units.names) + group)
    pairs = np.stack((own, choice), axis=1)
    _, found = np.unique(pairs, axis=0, return_inverse=True)
    return found.reshape(-1).astype(np.int64)


def _links(rehearsal: Rehearsal, devices: list[int]) -> Links:
    """How copies get from device to device, by the clock's ways between their memories."""
    clock, count = rehearsal.clock, len(devices)
    graph, ways = clock.graph, clock.ways
    memory = graph.memory[devices]
    way = ways.number[2 * (memory[:, None] * graph.memory_count + memory[None, :])]
    stream = np.where(np.eye(count, dtype=bool), NO_STREAM, ways.stream[way])
    # over a network copies do not queue; here each pair of devices is a queue
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


def levels_of(rehearsal: Rehearsal, made: StepProblem) -> list[Problem]:
    """The step in numbers, the coarsest first; the last is as it was made.

    Args:
        rehearsal: of the step.
        made: the step in numbers, each unit for itself.
    """
    problem, freedom = made.problem, rehearsal.freedom
    first = np.zeros(problem.group_count, dtype=np.int64)
    first[problem.groups[::-1]] = np.arange(problem.node_count)[::-1]
    of = freedom.group[rehearsal.step.part.nodes[made.nodes[first]]]
    _, choice = np.unique(freedom.allowed[of], axis=0, return_inverse=True)
    found: list[Problem] = []
    for level in rehearsal.units.levels()[:-1]:
        own = np.where(freedom.is_free[of], level[made.unit[first]], len(level) + np.arange(len(of)))
        pairs = np.stack((own, choice.reshape(-1)), axis=1)
        _, number = np.unique(pairs, axis=0, return_inverse=True)
        found.append(replace(problem, groups=number.reshape(-1)[problem.groups].astype(np.int64)))
    return [*found, problem]


def with_room_for(problem: Problem, fitting: Sequence[Ints]) -> Problem:
    """A level whose devices have room for splits that are known to fit, by a finer count than the sum of sizes.

    Args:
        problem: the level.
        fitting: [nodes] devices of each.
    """
    used = np.zeros(len(problem.devices))
    for split in fitting:
        used = np.maximum(used, np.bincount(split, problem.sizes, len(used)))
    most: dict[int, float] = {}
    for device, size in zip(problem.devices, used.tolist(), strict=True):
        most[device.kind] = max(most.get(device.kind, 0.0), size)
    devices = tuple(replace(one, memory=max(one.memory, most[one.kind])) for one in problem.devices)
    return replace(problem, devices=devices)


def is_split_of(problem: Problem, split: Ints) -> bool:
    """Whether a split leaves together what a level holds together.

    Args:
        problem: the level.
        split: [nodes] devices; -1 where it has none.
    """
    device = np.zeros(problem.group_count, dtype=np.int64)
    device[problem.groups] = split
    return bool((split >= 0).all() and (device[problem.groups] == split).all())


_METADATA = METADATA_OPS | {"ShapeN", "VariableShape"}


class NodeCosts(NamedTuple):
    """``[nodes of the step, devices]``: the least that a node takes on each, in seconds of all its executions."""

    kernel: Floats
    """Its kernel; infinite where it may not be."""
    host: Floats
    """The thread that starts it."""
    held: Floats
    """For how long it has all cores of a CPU."""
    is_expensive: NDArray[np.int64]
    """1 where it goes to the pool of a CPU."""


def step_bound(rehearsal: Rehearsal) -> float:
    """Seconds, or bytes for ``"memory"``, that no placement is below.

    Args:
        rehearsal: of the step.
    """
    kept, step = rehearsal.kept_bytes, rehearsal.step
    if rehearsal.objective == "memory":
        return float(max(kept.max(initial=0.0), kept.sum() / len(rehearsal.freedom.placement.device_set)))
    table = least_seconds(rehearsal).kernel
    load = _load(step, table)
    return load if rehearsal.objective == "throughput" else max(load, _longest_way(step, table))


def least_seconds(rehearsal: Rehearsal) -> NodeCosts:
    """What nodes take at the least, by the clock's costs: where Grappler may leave a node out, nothing.

    Args:
        rehearsal: of the step.
    """
    step, freedom, clock = rehearsal.step, rehearsal.freedom, rehearsal.clock
    graph, costs, nodes = clock.graph, as_arrays(clock.costs), len(step.part.graph)
    is_gpu = graph.gpu >= 0
    in_host = (graph.is_in_host[:nodes] == 1)[:, None] & is_gpu
    column = np.where(in_host, graph.host_column, graph.column)
    tables = [costs.kernel, costs.host, costs.held, costs.is_expensive]
    found = [table[graph.row[:nodes, None] * graph.column_count + column] for table in tables]
    kernel_of = np.repeat(np.arange(len(graph.fuses_on_gpu)), np.diff(graph.first_fused))
    for node, row, kernel in zip(
        graph.fused.tolist(), graph.fused_row.tolist(), kernel_of.tolist(), strict=True
    ):
        where = np.flatnonzero(is_gpu == graph.fuses_on_gpu[kernel])
        at = row * graph.column_count + column[node, where]
        for part, table in zip(found, tables, strict=True):
            part[node, where] = np.minimum(part[node, where], table[at])
    for of_nodes in found:
        of_nodes[graph.idle] = 0
    runs = step.node_runs[:, None]
    kernels = np.where(freedom.allowed[freedom.group[step.part.nodes]], found[0] * runs, np.inf)
    return NodeCosts(kernels, found[1] * runs, found[2] * runs, found[3])


def _load(step: StepEstimate, table: Floats) -> float:
    """The least time in which all devices together do the work; a node may be divided."""
    is_gpu = step.machinery.is_gpu
    rooms = [0] * (step_threads(step) + 1) + [1] * int(is_gpu.sum())
    runs = np.stack([table[:, chosen].min(axis=1, initial=np.inf) for chosen in (~is_gpu, is_gpu)], axis=1)
    return shared_work(runs[np.isfinite(runs).any(axis=1)], rooms)[0]


def _longest_way(step: StepEstimate, table: Floats) -> float:
    """Kernels one after the other along the data; iterations of a loop may overlap, and count once."""
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
