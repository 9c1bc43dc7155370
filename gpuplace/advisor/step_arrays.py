"""The step of a problem as flat arrays: for the clock, and for list schedules and bounds.

A problem from an estimate contains the estimate's own step for the clock. For other problems, such as coarser ones, a
step is built: each node of the problem is an item, and each device is a cost column and a memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.advisor.problem import Ints, Links, Problem, adjacency
from gpuplace.advisor.records import Step, StepWork
from gpuplace.cost.step_clock import new_clock
from gpuplace.cost.step_graph import NO_STREAM, Costs, StepGraph, Ways
from gpuplace.numerics.compiled.arrays import as_arrays


def step_of(problem: Problem) -> Step:
    """Return the step of a problem, for the time of its splits.

    Args:
        problem: a problem that `checked` accepted.
    """
    nodes, kinds = problem.node_count, [device.kind for device in problem.devices]
    pools = [at for at, device in enumerate(problem.devices) if device.is_pool]
    links = problem.copy_links
    starts = problem.starts if problem.starts is not None else np.zeros_like(problem.seconds)
    first, order = adjacency(problem.sources, np.arange(len(problem.sources)), nodes)
    edges = _edges(problem, order)
    graph, costs, ways = _clocked(problem, links, first, edges)
    return Step(
        graph=graph,
        costs=costs,
        ways=ways,
        threads=problem.devices[pools[0]].workers if pools else max(1, nodes),
        **_assigned(problem),
        node_count=nodes,
        device_count=len(kinds),
        host=pools[0] if pools else -1,
        seconds=problem.seconds[:, kinds].ravel(),
        starts=starts[:, kinds].ravel(),
        is_pool=np.array([device.is_pool for device in problem.devices], np.int64),
        first=first,
        **{name: edges[name] for name in edges if name not in ("tensor", "source")},
        per_unit=np.asarray(links.per_unit, float).ravel(),
        latency=np.asarray(links.latency, float).ravel(),
        channel=np.asarray(links.channel, np.int64).ravel(),
    )


def _edges(problem: Problem, order: Ints) -> dict[str, Any]:
    """Return the edge fields of `Step`, in the order of their sources."""
    tensors, transfer = problem.carried
    tensors = tensors[order]
    is_signal, none = tensors < 0, np.zeros(len(order), np.int64)
    tensor_or_first = np.where(is_signal, 0, tensors)
    host_made, host_reads = problem.host_made, problem.host_reads
    return {
        "tensor": tensors,
        "source": problem.sources[order].astype(np.int64),
        "readers": problem.readers[order].astype(np.int64),
        "units": np.where(is_signal, 0.0, np.append(transfer, 0.0)[tensor_or_first]),
        "is_signal": is_signal.astype(np.int64),
        "host_made": none
        if host_made is None
        else np.where(is_signal, 0, np.append(host_made, False)[tensor_or_first]),
        "host_reads": none if host_reads is None else host_reads[order].astype(np.int64),
    }


def _assigned(problem: Problem) -> dict[str, Ints]:
    """Return the mapping from splits to the devices of the clock's graph nodes."""
    exact, empty = problem.exact, np.empty(0, np.int64)
    if exact is None:
        devices = np.arange(len(problem.devices))
        return {
            "leader": problem.groups.astype(np.int64),
            "fixed": np.zeros(problem.node_count, np.int64),
            "position": devices,
            "number": devices,
            **dict.fromkeys(("barriers", "barrier_homes", "awaited"), empty),
            "barrier_start": np.zeros(1, np.int64),
        }

    def group(node: Ints) -> Ints:
        return np.where(node >= 0, problem.groups[np.maximum(node, 0)], node).astype(np.int64)

    position = np.array(exact.devices, np.int64)
    number = np.full(exact.clock.graph.device_count, -1, np.int64)
    number[position] = np.arange(len(position))
    return {
        "leader": group(exact.node),
        "fixed": exact.fixed,
        "position": position,
        "number": number,
        "barriers": exact.barriers,
        "barrier_homes": exact.barrier_homes,
        "barrier_start": exact.barrier_start,
        "awaited": group(exact.awaited),
    }


def _clocked(
    problem: Problem, links: Links, first: Ints, edges: dict[str, Any]
) -> tuple[StepGraph, Costs, Ways]:
    """Return the graph, costs and routes that the clock runs.

    Args:
        problem: as for `step_of`.
        links: ``copy_links`` of the problem.
        first: [nodes + 1] start of each node's edges.
        edges: edge fields, from `_edges`.
    """
    if problem.exact is not None:
        clock = problem.exact.clock
        return clock.graph, as_arrays(clock.costs), clock.ways
    nodes, devices = problem.node_count, problem.devices
    every, none = np.arange(len(devices)), np.zeros(nodes, np.int64)
    is_pool = np.array([device.is_pool for device in devices])
    has_host = bool(is_pool.any())
    host = int(is_pool.argmax())
    gpu = np.where(is_pool, -1, np.cumsum(~is_pool) - 1)
    # The clock expects the control signal as the first tensor of each node, even if no node waits for it.
    signals = np.arange(nodes + 1) * (len(problem.carried[1]) + 1)
    keys = signals[edges["source"]] + edges["tensor"] + 1
    kept = np.unique(np.concatenate((signals[:-1], keys)))
    tensor = np.searchsorted(kept, keys)
    nbytes, is_made = np.zeros(len(kept)), np.zeros(len(kept), np.int64)
    nbytes[tensor], is_made[tensor] = edges["units"], edges["host_made"]
    changes_memory = (edges["host_reads"] != edges["host_made"]) & (edges["is_signal"] == 0) & has_host
    graph = StepGraph(
        item_count=nodes,
        device_count=len(devices),
        column_count=len(devices),
        memory_count=len(devices),
        host_column=0,
        gpu=gpu,
        memory=np.where(is_pool, host, every),
        host_memory=np.full(len(devices), host) if has_host else every,
        pool=np.zeros(len(devices), np.int64),
        column=every,
        busy_column=every,
        board=np.full(len(devices), -1),
        row=np.arange(1, nodes + 1),
        **dict.fromkeys(("is_in_host", "is_fed"), none),
        **dict.fromkeys(("board_gpus", "computes", "idle", "neighbor"), none[:0]),
        **dict.fromkeys(("fused", "fused_row", "fuses_on_gpu"), none[:0]),
        **dict.fromkeys(("first_neighbor", "first_fused"), np.zeros(1, np.int64)),
        node=np.arange(nodes),
        weight=np.ones(nodes),
        waits=np.bincount(problem.readers, minlength=nodes),
        first=first,
        after=edges["readers"],
        tensor=tensor,
        reads_in_host=edges["host_reads"],
        changes_memory=changes_memory.astype(np.int64),
        first_tensor=np.searchsorted(kept, signals),
        nbytes=nbytes,
        is_made_in_host=is_made,
    )
    return graph, _costs(problem, links), _ways(links, gpu)


def _costs(problem: Problem, links: Links) -> Costs:
    """Return the costs ``[1 + nodes, devices]`` of each node; the first row is for nodes that do not run."""
    kinds = [device.kind for device in problem.devices]
    is_pool = np.array([device.is_pool for device in problem.devices])
    none = np.zeros(problem.node_count)
    starts = problem.starts if problem.starts is not None else np.zeros_like(problem.seconds)
    held = none if problem.held is None else problem.held
    is_inline = none if problem.is_inline is None else problem.is_inline

    def table(of_nodes: np.ndarray) -> np.ndarray:
        return np.concatenate((np.zeros(len(kinds), of_nodes.dtype), of_nodes.ravel()))

    return Costs(
        host=table(starts[:, kinds]),
        kernel=table(problem.seconds[:, kinds]),
        held=table(held[:, None] * is_pool),
        is_expensive=table(((is_inline == 0)[:, None] & is_pool).astype(np.int64)),
        copy=float(links.start),
        begin=0.0,
        wake_up=0.0,
        queue=0.0,
        poll=float(links.notice),
    )


def _ways(links: Links, gpu: Ints) -> Ways:
    """Return the routes between the memories of every two devices."""
    count = len(gpu)
    channel = np.array(links.channel, np.int64)
    np.fill_diagonal(channel, -1)
    shared = links.shared if links.shared is not None else np.empty((count, count, 0), np.int64)
    is_shared = (shared >= 0) & (channel >= 0)[:, :, None]
    link = shared[is_shared].astype(np.int64)
    ends = np.sort(np.broadcast_arrays(gpu[:, None], gpu[None, :]), axis=0).reshape(2, -1)
    with np.errstate(divide="ignore"):
        return Ways(
            number=np.repeat(np.arange(count * count), 2),
            stream=np.where(channel >= 0, int(gpu.max(initial=-1)) + 1 + channel, NO_STREAM).ravel(),
            source=np.where(ends[0] >= 0, ends[0], ends[1]),
            target=np.where(ends[0] >= 0, ends[1], -1),
            bandwidth=1.0 / np.asarray(links.per_unit, float).ravel(),
            latency=np.asarray(links.latency, float).ravel(),
            blocks=np.zeros(count * count, np.int64),
            first_link=np.concatenate(([0], np.cumsum(is_shared.sum(axis=2)))).astype(np.int64),
            link=link,
            rate=1.0 / (np.empty(0) if links.pace is None else links.pace)[link],
        )


def new_step_work(step: Step) -> StepWork:
    """Return scratch space to compute the time of a step.

    Args:
        step: step of the problem.
    """
    graph = step.graph
    copies = len(graph.after)
    both = 2 * (graph.item_count + copies)
    where, on_path, on_host = (np.zeros(size, np.int64) for size in (len(graph.row), both, both))
    clock = new_clock(graph, step.ways, step.threads, copies)
    return StepWork(clock, where, on_path, on_host, np.zeros(both))
