"""Groups and what goes between them, as flat arrays: the form in which splits are searched.

Nodes that must be together are one group, and a tensor that nobody reads outside its group is nothing. Tensors from one
group to the same others are one tensor that costs as much as all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuplace.advise.problem import Floats, Ints, Problem, adjacency, group_seconds, topological_order


class Network(NamedTuple):
    """Groups, tensors and devices, as the loops walk over them: arrays of one axis, or lists of the same numbers."""

    device_count: int
    """Devices; ``[a, devices]`` below is an array of one axis with the numbers of each a in a row."""
    seconds: Any
    """``[groups, devices]``; infinite where it cannot run."""
    sizes: Any
    """``[groups]``."""
    rooms: Any
    """``[devices]``: memory."""
    links: Any
    """``[devices]``: see ``Device.link``."""
    cost: Any
    """``[tensors]``: transfer over a link of 1."""
    source: Any
    """``[tensors]``: the group that makes it."""
    reader_start: Any
    """``[tensors + 1]``: where its readers begin."""
    readers: Any
    """Groups, other than the source, each once a tensor."""
    out_start: Any
    """``[groups + 1]``: where its tensors begin, as ``tensors_out``."""
    tensors_out: Any
    """Tensors by their source."""
    in_start: Any
    """``[groups + 1]``."""
    tensors_in: Any
    """Tensors by their readers."""
    near_start: Any
    """``[groups + 1]``."""
    near: Any
    """Groups by a group they share a tensor with."""
    order: Any
    """``[groups]``: a linear order in which neighbours are close."""


class Blocks(NamedTuple):
    """Nodes in a topological order, as the latency of a split is computed; arrays or lists as in ``Network``."""

    node_count: int
    device_count: int
    group: Any
    """``[nodes]``."""
    seconds: Any
    """``[nodes, devices]``."""
    transfer: Any
    """``[nodes]``."""
    links: Any
    """``[devices]``."""
    is_pool: Any
    """``[devices]``: 1 or 0."""
    before_start: Any
    """``[nodes + 1]``."""
    before: Any
    """Nodes that a node reads."""
    after_start: Any
    """``[nodes + 1]``."""
    after: Any
    """Nodes that read a node."""
    rooms: Any
    """``[devices]``."""
    sizes: Any
    """``[groups]``."""


def as_lists(arrays: Any) -> Any:
    """The same record with lists, through which Python walks faster than through arrays.

    Args:
        arrays: a ``Network`` or ``Blocks``.
    """
    return type(arrays)(*(value.tolist() if isinstance(value, np.ndarray) else value for value in arrays))


def network_of(problem: Problem) -> Network:
    """The network of a problem, with the first of its orders.

    Args:
        problem: one that `checked` let pass.
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
        np.array([device.link for device in problem.devices], float),
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
        orders(problem)[0],
    )


def blocks_of(problem: Problem) -> Blocks:
    """The nodes of a problem as its latency needs them.

    Args:
        problem: one that `checked` let pass.
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
        np.array([device.memory for device in problem.devices], float),
        np.bincount(problem.groups, problem.sizes, problem.group_count),
    )


def orders(problem: Problem) -> list[Ints]:
    """Linear orders of the groups, in which an interval is likely to be a good part of a split.

    First depth first, then breadth first, both in topological order where the groups have one; where groups wait for
    each other, as those of a backward and a forward node do, they go by their first node.

    Args:
        problem: one that `checked` let pass.
    """
    order = topological_order(problem)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    first = np.full(problem.group_count, len(order))
    np.minimum.at(first, problem.groups, place)
    sources, readers = problem.groups[problem.sources], problem.groups[problem.readers]
    component = _components(sources, readers, problem.group_count)
    if component.max() + 1 < 0.8 * problem.group_count:  # of training: the forward nodes alone say the order
        is_first = first[problem.groups] == place
        forward = is_first[problem.sources] & is_first[problem.readers] & (first[sources] < first[readers])
        sources, readers = sources[forward], readers[forward]
        component = _components(sources, readers, problem.group_count)
    found: list[Ints] = []
    for depth_first in (True, False):
        for backwards in (False, True):
            ends = (readers, sources) if backwards else (sources, readers)
            walk = _walk(component[ends[0]], component[ends[1]], component, first, depth_first)
            walk = walk[::-1].copy() if backwards else walk
            if not any(np.array_equal(walk, other) for other in found):
                found.append(walk)
    return found


def _walk(sources: Ints, readers: Ints, component: Ints, first: Ints, depth_first: bool) -> Ints:
    """The groups by the components they are in, each component after those that lead to it."""
    count = int(component.max()) + 1
    inner = sources != readers
    pairs = np.unique(np.stack([sources[inner], readers[inner]], 1), axis=0)
    starts, ends = adjacency(pairs[:, 0], pairs[:, 1], count)
    waits = np.bincount(pairs[:, 1], minlength=count).tolist()
    early = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(early, component, first)
    by_place = np.argsort(early, kind="stable").tolist()
    ready = [one for one in by_place if not waits[one]]
    if depth_first:
        ready.reverse()
    rank = []
    at = 0
    while at < len(ready):
        if depth_first:
            one = ready.pop()
        else:
            one = ready[at]
            at += 1
        rank.append(one)
        for reader in ends[starts[one] : starts[one + 1]].tolist():
            waits[reader] -= 1
            if not waits[reader]:
                ready.append(reader)
    place = np.empty(count, np.int64)
    place[rank] = np.arange(count)
    return np.lexsort((first, place[component])).astype(np.int64)


def _components(sources: Ints, readers: Ints, count: int) -> Ints:
    """The strongly connected component of every group, by Tarjan's algorithm without recursion."""
    starts, ends = (array.tolist() for array in adjacency(sources, readers, count))
    number = [-1] * count
    low = [0] * count
    component = [-1] * count
    seen = found = 0
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
                    while True:
                        member = stack.pop()
                        component[member] = found
                        if member == node:
                            break
                    found += 1
                if path:
                    above = path[-1][0]
                    low[above] = min(low[above], low[node])
    return np.array(component, np.int64)


def _tensors(problem: Problem) -> tuple[Floats, Ints, Ints, Ints]:
    """(cost, source, start of readers, readers) of the tensors between groups."""
    read: dict[int, set[int]] = {}
    groups = problem.groups.tolist()
    for source, reader in zip(problem.sources.tolist(), problem.readers.tolist()):
        if groups[source] != groups[reader]:
            read.setdefault(source, set()).add(groups[reader])
    costs: dict[tuple[int, tuple[int, ...]], float] = {}
    for node, reader_groups in sorted(read.items()):
        key = groups[node], tuple(sorted(reader_groups))
        costs[key] = costs.get(key, 0.0) + float(problem.transfer[node])
    start = np.zeros(len(costs) + 1, np.int64)
    np.cumsum([len(ends) for _, ends in costs], out=start[1:])
    return (
        np.array(list(costs.values()), float),
        np.array([source for source, _ in costs], np.int64),
        start,
        np.array([end for _, ends in costs for end in ends], np.int64),
    )
