"""A step as a `Problem`: what each node costs on each kind of device, what crosses between them, and over which links.

A group of the problem is a unit, less what of it has not the same choice of devices. Seconds are of all executions of
a node; a loop's way back is left out. What a node of a GPU makes or takes in host memory is marked, as the way of its
copies is another, or none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.problem import Device, Floats, Links, Problem
from gpuplace.advisor.steps.rehearsal import Rehearsal
from gpuplace.advisor.steps.starts import units_at
from gpuplace.advisor.steps.step_bounds import device_seconds
from gpuplace.cost.events import POLL_SECONDS
from gpuplace.cost.work import Work
from gpuplace.graph.op_sets import INLINE_OPS, NEXT_ITERATIONS
from gpuplace.placer.placement_graph import CONTROL

Ints = NDArray[np.int64]
_TRANSFER = Work("float32", launches=0, model="none")


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
        found: Ints = number[rehearsal.wanted(whole)[group]]
        return found


def step_problem(rehearsal: Rehearsal) -> StepProblem:
    """A step in numbers.

    Args:
        rehearsal: of it.
    """
    step, freedom = rehearsal.step, rehearsal.freedom
    graph, machinery = step.part.graph, step.machinery
    runs = np.flatnonzero(step.node_runs > 0).astype(np.int64)
    place = np.full(len(graph), -1, dtype=np.int64)
    place[runs] = np.arange(len(runs))
    devices = _devices(rehearsal)
    table = device_seconds(step, freedom)[runs][:, devices]
    kind_of, firsts = _kinds(rehearsal, devices, table)
    group = freedom.group[step.part.nodes]
    unit = rehearsal.units.of_group[group][runs]
    sources, readers, tensors, tensor_bytes, host_reads, host_made = _edges(rehearsal, place)
    sender = _source_of_tensor(sources, tensors, len(tensor_bytes))
    transfer = np.bincount(sender, tensor_bytes, len(runs)).astype(np.float64)
    types = [graph.op_type(node) for node in runs.tolist()]
    gates, gate_homes = _gates(rehearsal, group[runs], devices, np.unique(readers))
    problem = Problem(
        ids=tuple([graph.names[node] for node in runs.tolist()]),
        seconds=table[:, firsts],
        sizes=rehearsal.node_bytes()[runs],
        transfer=transfer,
        groups=_groups(rehearsal, group[runs], unit),
        sources=sources,
        readers=readers,
        devices=tuple(
            Device(
                freedom.placement.device_labels[device],
                kind_of[number],
                rehearsal.room.get(device, math.inf),
                link=1.0 if machinery.is_gpu[device] else 0.0,
                is_pool=not machinery.is_gpu[device],
                workers=1 if machinery.is_gpu[device] else rehearsal.threads,
            )
            for number, device in enumerate(devices)
        ),
        links=_links(rehearsal, devices),
        starts=_starts(rehearsal, runs, [devices[first] for first in firsts]),
        is_inline=np.array([name in INLINE_OPS for name in types], dtype=bool),
        tensors=tensors,
        tensor_transfer=tensor_bytes,
        host_reads=host_reads,
        host_made=host_made,
        gates=gates,
        gate_homes=gate_homes,
        held=_held(rehearsal, runs, table[:, np.flatnonzero(~machinery.is_gpu[devices])[0]]),
    )
    return StepProblem(problem, runs, tuple(devices), unit)


def _held(rehearsal: Rehearsal, runs: Ints, on_cpu: Floats) -> Floats:
    """[nodes] seconds for which each would have all cores of a CPU, over all its executions.

    Args:
        rehearsal: of the step.
        runs: the nodes.
        on_cpu: [nodes] seconds that each would take there.
    """
    step = rehearsal.step
    times = step.node_runs[runs]
    types = [step.part.graph.op_type(node) for node in runs.tolist()]
    works = [step.works[node] for node in runs.tolist()]
    seconds = np.where(np.isfinite(on_cpu), on_cpu, 0.0) / times
    held = map(step.cost_model.held_seconds, types, works, seconds.tolist())
    return np.fromiter(held, float, len(works)) * times


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


def _edges(
    rehearsal: Rehearsal, place: Ints
) -> tuple[Ints, Ints, Ints, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Source, reader and tensor of each edge, bytes of each tensor in all executions, and what is in host memory.

    That is of each edge, whether its reader takes it there, and of each tensor, whether it is made there.
    """
    step = rehearsal.step
    graph, flow = step.part.graph, step.flow
    types = [signature.op_type for signature in graph.signatures]
    goes_back = np.array([name in NEXT_ITERATIONS for name in types] or [False])[graph.signature]
    is_cut = flow.folded | step.part.is_fed
    chosen = (place[graph.src] >= 0) & (place[graph.dst] >= 0) & ~is_cut[graph.dst] & ~goes_back[graph.src]
    src, dst = graph.src[chosen].astype(np.int64), graph.dst[chosen].astype(np.int64)
    output, position = graph.src_output[chosen].astype(np.int64), graph.dst_input[chosen].astype(np.int64)
    carries = output != CONTROL
    keys = src * (int(output.max(initial=0)) + 2) + output
    _, first, number = np.unique(keys[carries], return_index=True, return_inverse=True)
    tensors = np.full(len(src), -1, dtype=np.int64)
    tensors[carries] = number.reshape(-1)
    nbytes = step.shapes.nbytes
    carried = np.flatnonzero(carries)[first]
    runs = step.node_runs
    sizes = np.array(
        [
            float(nbytes(int(node), int(port))) * max(float(runs[node]), 1.0)
            for node, port in zip(src[carried].tolist(), output[carried].tolist(), strict=True)
        ],
        dtype=np.float64,
    )
    reads = _in_host(rehearsal, dst, position, 0) & carries
    made = _in_host(rehearsal, src[carried], output[carried], 1)
    return place[src], place[dst], tensors, sizes, reads, made


def _in_host(rehearsal: Rehearsal, nodes: Ints, arguments: Ints, which: int) -> NDArray[np.bool_]:
    """[nodes] whether one on a GPU has an argument in host memory; `which`: 0: an input, 1: an output."""
    signature = rehearsal.step.part.graph.signature[nodes]
    found = np.zeros(len(nodes), dtype=bool)
    for number, of in enumerate(rehearsal.host_arguments):
        if of[which]:
            found |= (signature == number) & np.isin(arguments, list(of[which]))
    return found


def _gates(rehearsal: Rehearsal, group: Ints, devices: list[int], waiting: Ints) -> tuple[Ints, Ints]:
    """Gates of the problem, and the device of each where what it waits for is on several.

    Args:
        rehearsal: of the step.
        group: [nodes] their groups.
        devices: those of the problem.
        waiting: nodes that wait for any.
    """
    gates = rehearsal.gates
    number = np.full(len(rehearsal.freedom.placement.device_set), -1, dtype=np.int64)
    number[devices] = np.arange(len(devices))
    home = np.full(len(rehearsal.freedom.default), -1, dtype=np.int64)
    home[gates.groups] = number[gates.homes]
    found = waiting[home[group[waiting]] >= 0]
    return found, home[group[found]]


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


def _starts(rehearsal: Rehearsal, nodes: Ints, devices: list[int]) -> NDArray[np.float64]:
    step = rehearsal.step
    model, works, graph = step.cost_model, step.works, step.part.graph
    on_host = step.flow.on_host.tolist()
    runs = step.node_runs.tolist()
    found = np.zeros((len(nodes), len(devices)))
    known: dict[tuple[str, int, int], float] = {}
    for kind, device in enumerate(devices):
        gpu = step.machinery.models[device]
        for place, node in enumerate(nodes.tolist()):
            key = graph.op_type(node), id(works[node]), kind
            of = None if on_host[node] else gpu
            if on_host[node]:
                key = key[0], key[1], -1
            seconds = known.get(key)
            if seconds is None:
                seconds = known[key] = model.host_seconds(key[0], works[node], of)
            found[place, kind] = seconds * runs[node]
    return found


def _links(rehearsal: Rehearsal, devices: list[int]) -> Links:
    machinery, model = rehearsal.step.machinery, rehearsal.step.cost_model
    links = machinery.links
    count = len(devices)
    per_unit, latency = np.zeros((count, count)), np.zeros((count, count))
    channel = np.full((count, count), -1, dtype=np.int64)
    routes: dict[tuple[int, int], tuple[int, ...]] = {}
    for one, sender in enumerate(devices):
        for other, receiver in enumerate(devices):
            begin, end = machinery.physical[sender], machinery.physical[receiver]
            if one == other or (begin < 0 and begin == end):
                continue
            route = links.between(begin, end)
            per_unit[one, other] = 1 / route.bandwidth
            latency[one, other] = route.latency
            channel[one, other] = machinery.stream(begin, end)
            routes[one, other] = route.links
    most = max(map(len, routes.values()), default=0)
    shared = np.full((count, count, most), -1, dtype=np.int64)
    for (one, other), numbers in routes.items():
        shared[one, other, : len(numbers)] = numbers
    used = sorted(set(channel[channel >= 0].tolist()))
    dense = {number: place for place, number in enumerate(used)}
    channel = np.array([dense.get(number, -1) for number in channel.ravel().tolist()], dtype=np.int64)
    start = model.host_seconds("_Send", _TRANSFER, None) + model.host_seconds("_Recv", _TRANSFER, None)
    return Links(
        per_unit,
        latency,
        channel.reshape(count, count),
        shared if most else None,
        np.array([1 / link.bandwidth for link in links.links]) if most else None,
        start,
        POLL_SECONDS,
    )
