"""Groups and the tensors between them as flat arrays, in which splits are searched.

Nodes that must stay together are one group, and a tensor that is read only within its group is ignored. Tensors from
one group to the same consumers are one tensor with the sum of their costs.
"""

from __future__ import annotations

import numpy as np

from gpuplace.advisor.problem import (
    Floats,
    Ints,
    Problem,
    adjacency,
    group_seconds,
    ready_order,
    topological_order,
)
from gpuplace.advisor.records import Blocks, Network


def network_of(problem: Problem) -> Network:
    """Return the network of a problem, with the first of its linear orders.

    Args:
        problem: a problem that `checked` accepted.
    """
    count = problem.group_count
    kinds = [device.kind for device in problem.devices]
    cost, source, reader_start, readers = _tensors(problem)
    tensor_count = len(cost)
    out_start, tensors_out = adjacency(source, np.arange(tensor_count), count)
    of_reader = np.repeat(np.arange(tensor_count), np.diff(reader_start))
    in_start, tensors_in = adjacency(readers, of_reader, count)
    pairs = np.stack([source[of_reader], readers], 1) if tensor_count else np.empty((0, 2), np.int64)
    pairs = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
    near_start, near = adjacency(pairs[:, 0], np.ascontiguousarray(pairs[:, 1]), count)
    return Network(
        len(problem.devices),
        group_seconds(problem)[:, kinds].ravel(),
        np.bincount(problem.groups, problem.sizes, count),
        np.array([device.memory for device in problem.devices], float),
        _link_costs(problem),
        cost,
        source,
        reader_start,
        readers,
        out_start,
        tensors_out,
        in_start,
        tensors_in,
        near_start,
        near,
        orders(problem, 1)[0],
    )


def blocks_of(problem: Problem) -> Blocks:
    """Return the nodes of a problem in the form that latency computation needs.

    Args:
        problem: a problem that `checked` accepted.
    """
    order = topological_order(problem)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    pairs = np.unique(np.stack([place[problem.sources], place[problem.readers]], 1), axis=0)
    count = problem.node_count
    kinds = [device.kind for device in problem.devices]
    after_start, after = adjacency(pairs[:, 0], np.ascontiguousarray(pairs[:, 1]), count)
    before_start, before = adjacency(pairs[:, 1], np.ascontiguousarray(pairs[:, 0]), count)
    return Blocks(
        count,
        len(kinds),
        problem.groups[order],
        problem.seconds[order][:, kinds].ravel(),
        problem.transfer[order],
        np.array([device.link for device in problem.devices], float),
        np.array([device.is_pool for device in problem.devices], np.int64),
        before_start,
        before,
        after_start,
        after,
    )


def orders(problem: Problem, most: int = 4) -> list[Ints]:
    """Return linear orders of the groups, whose intervals are likely to be good parts of a split.

    Depth first, then breadth first, both in the order of ``pipeline_edges``.

    Args:
        problem: a problem that `checked` accepted.
        most: maximum number of orders.
    """
    component, sources, readers, first = pipeline_edges(problem)
    walks: list[Ints] = []
    for depth_first, backwards in ((True, False), (True, True), (False, False), (False, True))[:most]:
        ends = (readers, sources) if backwards else (sources, readers)
        walk = _walk(*ends, component, first, depth_first)
        walk = walk[::-1].copy() if backwards else walk
        if not any(np.array_equal(walk, other) for other in walks):
            walks.append(walk)
    return walks


def pipeline_edges(problem: Problem) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the order of groups in a pipeline.

    In training, a device that has a forward node also has its backward nodes, so the forward nodes determine the order.
    If the forward nodes are unknown and many groups depend on each other, each group's first node counts. A group
    without a forward node gets the mirror image of its backward edges::

        forward     a ────────> b ────────> c        edges: a -> b -> c, and, mirrored, a -> x -> b
        backward    a <── x <── b <──────── c

    Args:
        problem: a problem that `checked` accepted.

    Returns:
        The strongly connected component of each group; sources and consumers of the distinct edges between components;
        and the position of each group's first node in a topological order.
    """
    count = problem.group_count
    order = topological_order(problem)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    first = np.full(count, len(order))
    np.minimum.at(first, problem.groups, place)
    sources, readers = problem.groups[problem.sources], problem.groups[problem.readers]
    if problem.is_backward is not None and problem.is_backward.any():
        has_forward = np.bincount(problem.groups, ~problem.is_backward, count) > 0
        ends = problem.is_backward[problem.sources], problem.is_backward[problem.readers]
        is_forward = ~ends[0] & ~ends[1]
        is_mirrored = ends[0] & ends[1] & ~(has_forward[sources] & has_forward[readers])
        sources, readers = (
            np.concatenate([direct[is_forward], mirrored[is_mirrored]])
            for direct, mirrored in ((sources, readers), (readers, sources))
        )
        component = _components(sources, readers, count)
    else:
        component = _components(sources, readers, count)
        if component.max() + 1 < 0.8 * count:
            is_first = first[problem.groups] == place
            forward = (
                is_first[problem.sources] & is_first[problem.readers] & (first[sources] < first[readers])
            )
            sources, readers = sources[forward], readers[forward]
            component = _components(sources, readers, count)
    sources, readers = component[sources], component[readers]
    inner = sources != readers
    pairs = np.unique(np.stack([sources[inner], readers[inner]], 1), axis=0)
    return component, pairs[:, 0], pairs[:, 1], first


def _walk(sources: Ints, readers: Ints, component: Ints, first: Ints, depth_first: bool) -> Ints:
    """Return the groups by component, each component after its predecessors."""
    count = int(component.max()) + 1
    order = np.lexsort((readers, sources))
    early = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(early, component, first)
    by_place = np.argsort(early, kind="stable").tolist()
    rank = ready_order(sources[order], readers[order], by_place, depth_first)
    place = np.empty(count, np.int64)
    place[rank] = np.arange(count)
    return np.lexsort((first, place[component])).astype(np.int64)


def _components(sources: Ints, readers: Ints, count: int) -> Ints:
    """Return the strongly connected component of every group, by Tarjan's algorithm without recursion."""
    starts, ends = (array.tolist() for array in adjacency(sources, readers, count))
    number = [-1] * count
    low = [0] * count
    component = [-1] * count
    seen = component_count = 0
    stack: list[int] = []
    for root in range(count):
        if number[root] >= 0:
            continue
        path = [(root, starts[root])]
        while path:
            node, at = path.pop()
            if number[node] < 0:
                number[node] = low[node] = seen
                seen += 1
                stack.append(node)
            while at < starts[node + 1]:
                end = ends[at]
                at += 1
                if number[end] < 0:
                    path += [(node, at), (end, starts[end])]
                    break
                if component[end] < 0:
                    low[node] = min(low[node], number[end])
            else:
                if low[node] == number[node]:
                    _close(node, stack, component, component_count)
                    component_count += 1
                if path:
                    above = path[-1][0]
                    low[above] = min(low[above], low[node])
    return np.array(component, np.int64)


def _close(root: int, stack: list[int], component: list[int], number: int) -> None:
    """Number the component whose root is `root`, and remove it from the stack."""
    member = -1
    while member != root:
        member = stack.pop()
        component[member] = number


def _link_costs(problem: Problem) -> Floats:
    """Return ``[devices]`` transfer costs, each the mean over all others if each pair has its own link."""
    if problem.links is None or len(problem.devices) < 2:
        return np.array([device.link for device in problem.devices], float)
    both = problem.links.per_unit + problem.links.per_unit.T
    return (both.sum(axis=0) - np.diag(both)) / (4 * (len(both) - 1))  # half of a copy for each of its ends


def _tensors(problem: Problem) -> tuple[Floats, Ints, Ints, Ints]:
    """Return (cost, source, start of consumers, consumers) of the tensors between groups."""
    tensors, transfer = problem.carried
    sources, readers = problem.groups[problem.sources], problem.groups[problem.readers]
    crosses = (sources != readers) & (tensors >= 0)
    read: dict[int, set[int]] = {}
    producer: dict[int, int] = {}
    for tensor, source, reader in zip(
        tensors[crosses].tolist(), sources[crosses].tolist(), readers[crosses].tolist()
    ):
        read.setdefault(tensor, set()).add(reader)
        producer[tensor] = source
    costs: dict[tuple[int, tuple[int, ...]], float] = {}
    for tensor, reader_groups in sorted(read.items()):
        key = producer[tensor], tuple(sorted(reader_groups))
        costs[key] = costs.get(key, 0.0) + float(transfer[tensor])
    start = np.zeros(len(costs) + 1, np.int64)
    np.cumsum([len(ends) for _, ends in costs], out=start[1:])
    return (
        np.array(list(costs.values()), float),
        np.array([source for source, _ in costs], np.int64),
        start,
        np.array([end for _, ends in costs for end in ends], np.int64),
    )
