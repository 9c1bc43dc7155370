"""What no placement of a step can be below: its longest way, and its work divided among all devices.

Copies cost nothing here and every node has the device that computes it quickest, so that a bound holds for the
estimate's clock whatever is chosen; how near it is depends on how much of the step is copies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.bounds import shared_work
from gpuplace.advisor.steps.rehearsal import Rehearsal
from gpuplace.cost.estimate import step_threads
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.graph.op_sets import METADATA_OPS, NEXT_ITERATIONS
from gpuplace.numerics.compiled.arrays import as_arrays
from gpuplace.placer.placement_graph import CONTROL

Floats = NDArray[np.float64]
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
