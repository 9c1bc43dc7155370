"""Coarser problems: chains, twins and nodes joined by heavy edges are merged into one node each.

Merging never creates a cycle, because each round uses only one of these kinds::

    a ─> b ─> c        chains: a node with one predecessor joins it, if that has no other successor or the node is
    └──> d             light; all edges into the cluster lead to its first node. Then the same with successors

    a ─> b, c          heavy edges: between a node and one that is one level further, so that no other path connects
                       them; no edge connects two such clusters of the same round

    a ─> b, c ─> d     twins: light nodes of the same level, with a neighbor in common

If too many nodes remain, they are cut into intervals of a depth-first order, which no edge crosses backwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from gpuplace.advisor.problem import Ints, Problem, adjacency, group_seconds, ready_order

_ROUNDS = 8
_LIGHT = 0.02
"""Fraction of a cluster's maximum weight up to which a node is light."""
_MOST_NEAR = 64
_PARTS = 24
"""Maximum memory of a merged group: all memory divided by this."""


@dataclass(frozen=True)
class Coarse:
    """A problem with fewer nodes."""

    problem: Problem
    """The coarse problem; groups with a merged node in common are one group."""
    member_of: Ints
    """``[nodes]`` of the finer problem: coarse node of each."""

    def finer(self, device: Ints, groups: Ints) -> Ints:
        """Return the split of the finer problem's groups.

        Args:
            device: ``[groups]`` of the coarse problem.
            groups: ``[nodes]`` of the finer problem: its groups.
        """
        result = np.zeros(int(groups.max(initial=-1)) + 1, np.int64)
        result[groups] = device[self.problem.groups[self.member_of]]
        return result

    def coarser(self, device: Ints, fine: Problem) -> Ints:
        """Return the split of the coarse groups most similar to a split of the finer problem's groups.

        Args:
            device: ``[groups]`` of the finer problem.
            fine: the finer problem.
        """
        kinds = [fine_device.kind for fine_device in fine.devices]
        runs = fine.seconds[:, kinds]
        weight = np.where(np.isfinite(runs), runs, 0).max(axis=1) + 1e-12
        votes = np.zeros((self.problem.group_count, len(kinds)))
        np.add.at(votes, (self.problem.groups[self.member_of], device[fine.groups]), weight)
        votes[np.isinf(group_seconds(self.problem)[:, kinds])] = -1
        return votes.argmax(axis=1)


def coarsened(problem: Problem, limit: int, alike: Ints | None = None) -> Coarse:
    """Return a problem with at most `limit` nodes, if they can be merged without cycles and can still run somewhere.

    Args:
        problem: a problem that ``checked`` accepted.
        limit: number of nodes to reach.
        alike: ``[groups]``: only nodes of groups with equal numbers are merged; None for any.
    """
    merger = _Merger(problem, alike)
    share = 1.0
    for _ in range(_ROUNDS):
        if merger.count <= limit:
            break
        merger.allow(share * 2 / limit)
        for kind in ("successor", "predecessor", "even", "odd", "twins"):
            if merger.count > limit:
                merger.join(merger.pairs(kind))
        share *= 2
    if merger.count > limit:
        merger.allow(4 / limit)
        merger.join(merger.intervals())
    return merger.result()


class _Merger:
    """State of the merging."""

    def __init__(self, problem: Problem, alike: Ints | None) -> None:
        self.problem = problem
        self.alike = [0] * problem.group_count if alike is None else alike.tolist()
        self.member = np.arange(problem.node_count)
        """``[nodes]``: cluster of each, numbered from 0."""
        self.count = problem.node_count
        kinds = [device.kind for device in problem.devices]
        runs = problem.seconds[:, kinds]
        lasting = np.maximum(runs, problem.starts[:, kinds]) if problem.starts is not None else runs
        self.weight = np.where(np.isfinite(runs), lasting, np.inf).min(axis=1)
        self.weight[~np.isfinite(self.weight)] = 0
        groups = problem.group_count
        self.root = list(range(groups))
        possible = np.isfinite(group_seconds(problem)[:, kinds])
        self.possible = [
            int("".join("1" if can_run else "0" for can_run in row), 2) for row in possible.tolist()
        ]
        self.group_weight = np.bincount(problem.groups, self.weight, groups).tolist()
        self.group_size = np.bincount(problem.groups, problem.sizes, groups).tolist()
        self.most_size = sum(self.group_size) / _PARTS
        self.most_weight = 0.0

    def allow(self, share: float) -> None:
        """Set the maximum weight of a cluster, as a fraction of all weight."""
        self.most_weight = share * float(self.weight.sum())

    def edges(self) -> tuple[Ints, Ints]:
        """Return sources and consumers of the distinct edges between clusters."""
        sources, readers = self.member[self.problem.sources], self.member[self.problem.readers]
        inner = sources != readers
        both = np.unique(sources[inner] * self.count + readers[inner])
        return both // self.count, both % self.count

    def pairs(self, kind: str) -> Iterable[tuple[int, int]]:
        """Return pairs of clusters that may be merged in one round."""
        sources, readers = self.edges()
        weight = np.bincount(self.member, self.weight, self.count)
        is_light = weight <= _LIGHT * self.most_weight
        if kind in ("even", "odd"):
            return self.heavy_edges(sources, readers, int(kind == "odd"))
        if kind == "twins":
            level = _levels(sources, readers, self.count)
            first = np.full(self.count, -1)
            np.maximum.at(first, readers, sources)
            last = np.full(self.count, self.count)
            np.minimum.at(last, sources, readers)
            is_near = (first >= 0) | (last < self.count)
            chosen = np.flatnonzero(is_near & is_light)
            order = chosen[np.lexsort((chosen, last[chosen], first[chosen], level[chosen]))]
            key = np.stack([level[order], np.where(first[order] >= 0, first[order], -1 - last[order])], 1)
            alike = (key[1:] == key[:-1]).all(axis=1)
            return zip(order[:-1][alike].tolist(), order[1:][alike].tolist())
        if kind == "successor":
            sources, readers = readers, sources
        degree = np.bincount(readers, minlength=self.count)
        only = np.full(self.count, -1)
        only[readers] = sources
        is_alone = np.bincount(sources, minlength=self.count)[only] == 1
        chosen = np.flatnonzero((degree == 1) & (is_alone | is_light))
        level = _levels(sources, readers, self.count)
        chosen = chosen[np.argsort(level[chosen], kind="stable")]
        return zip(only[chosen].tolist(), chosen.tolist())

    def heavy_edges(self, sources: Ints, readers: Ints, first: int) -> list[tuple[int, int]]:
        """Return edges from every second level to the next, heaviest first, no two of which another edge connects."""
        level = _levels(sources, readers, self.count)
        tensors, transfer = self.problem.carried
        crosses = tensors >= 0
        ends = (
            self.member[self.problem.sources[crosses]] * self.count
            + self.member[self.problem.readers[crosses]]
        )
        pairs = sources * self.count + readers
        at = np.searchsorted(pairs, ends).clip(max=max(len(pairs) - 1, 0))
        is_there = pairs[at] == ends if len(pairs) else np.zeros(0, bool)
        carried = np.bincount(at[is_there], transfer[tensors[crosses]][is_there], len(pairs))
        is_step = (level[readers] == level[sources] + 1) & (level[sources] % 2 == first)
        sources, readers, carried = sources[is_step], readers[is_step], carried[is_step]
        out_start, out_ends = (array.tolist() for array in adjacency(sources, readers, self.count))
        in_start, in_ends = (array.tolist() for array in adjacency(readers, sources, self.count))
        is_taken = [False] * self.count
        is_near = [False] * self.count
        pairs_to_merge = []
        for edge in np.argsort(-carried, kind="stable").tolist():
            source, reader = int(sources[edge]), int(readers[edge])
            # Both ends must be new, and not adjacent to another pair of this round, or merging could close a cycle.
            if is_taken[source] or is_taken[reader] or is_near[source] or is_near[reader]:
                continue
            beside = out_ends[out_start[source] : out_start[source + 1]]
            before = in_ends[in_start[reader] : in_start[reader + 1]]
            if len(beside) + len(before) > _MOST_NEAR:
                continue
            is_taken[source] = is_taken[reader] = True
            for neighbor in beside:
                is_near[neighbor] = True
            for neighbor in before:
                is_near[neighbor] = True
            pairs_to_merge.append((source, reader))
        return pairs_to_merge

    def intervals(self) -> Iterable[tuple[int, int]]:
        """Return neighbors in a depth-first order, which form intervals when they are merged."""
        order = ready_order(*self.edges(), range(self.count), is_deep=True)
        return zip(order, order[1:])

    def join(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Merge those pairs that can run together and do not become too heavy."""
        count = self.count
        heads = list(range(count))
        weight = np.bincount(self.member, self.weight, count).tolist()
        group_of = np.zeros(count, np.int64)
        group_of[self.member] = self.problem.groups
        groups = group_of.tolist()
        merged = 0

        for first, second in pairs:
            while heads[first] != first:
                heads[first] = heads[heads[first]]
                first = heads[first]
            while heads[second] != second:
                heads[second] = heads[heads[second]]
                second = heads[second]
            if first == second or weight[first] + weight[second] > self.most_weight:
                continue
            if not self._bind(groups[first], groups[second]):
                continue
            heads[second] = first
            weight[first] += weight[second]
            merged += 1
        for first in range(count):
            at = first
            while heads[at] != at:
                at = heads[at]
            heads[first] = at
        names, numbered = np.unique(np.array(heads), return_inverse=True)
        self.member = numbered.reshape(-1)[self.member]
        self.count = len(names)

    def _bind(self, first: int, second: int) -> bool:
        """Merge two groups if the heavier one can still run on the same devices and the result is not too large."""
        first, second = self._find(first), self._find(second)
        if first == second:
            return True
        if self.alike[first] != self.alike[second]:
            return False
        both = self.possible[first] & self.possible[second]
        heavier = first if self.group_weight[first] >= self.group_weight[second] else second
        if both != self.possible[heavier] or not both:
            return False
        weight = self.group_weight[first] + self.group_weight[second]
        size = self.group_size[first] + self.group_size[second]
        if weight > self.most_weight or (
            size > self.most_size and self.group_size[first] and self.group_size[second]
        ):
            return False
        self.root[second] = first
        self.possible[first], self.group_weight[first], self.group_size[first] = both, weight, size
        return True

    def _find(self, group: int) -> int:
        root = self.root
        while root[group] != group:
            root[group] = root[root[group]]
            group = root[group]
        return group

    def result(self) -> Coarse:
        """Return the coarse problem, and the cluster of each node."""
        problem, member, count = self.problem, self.member, self.count
        kinds = problem.seconds.shape[1]

        def added(values: np.ndarray) -> np.ndarray:
            return np.stack([np.bincount(member, values[:, kind], count) for kind in range(kinds)], 1)

        finite = np.where(np.isfinite(problem.seconds), problem.seconds, 0)
        seconds = np.where(added(~np.isfinite(problem.seconds)) > 0, np.inf, added(finite))
        starts = (
            None
            if problem.starts is None
            else added(np.where(np.isfinite(problem.starts), problem.starts, 0))
        )
        is_inline = None
        if problem.is_inline is not None:
            is_inline = np.bincount(member, ~problem.is_inline, count) == 0
        is_backward = None
        if problem.is_backward is not None:
            is_backward = np.bincount(member, ~problem.is_backward, count) == 0
        held = None if problem.held is None else np.bincount(member, problem.held, count).astype(np.float64)
        roots = np.array([self._find(group) for group in range(problem.group_count)], np.int64)
        first = np.full(count, -1)
        first[member[::-1]] = np.arange(problem.node_count)[::-1]
        groups = np.unique(roots[problem.groups[first]], return_inverse=True)[1].reshape(-1)
        sources, readers, tensors, transfer, reads, host_made = _carried(problem, member)
        return Coarse(
            replace(
                problem,
                ids=tuple(problem.ids[node] for node in first.tolist()),
                seconds=seconds,
                sizes=np.bincount(member, problem.sizes, count).astype(np.float64),
                transfer=np.bincount(*_sums(sources, tensors, transfer), count).astype(np.float64),
                groups=groups.astype(np.int64),
                sources=sources,
                readers=readers,
                starts=starts,
                is_inline=is_inline,
                tensors=tensors,
                tensor_transfer=transfer,
                host_reads=reads,
                host_made=host_made,
                held=held,
                is_backward=is_backward,
                exact=None,
            ),
            member,
        )


def _sums(sources: Ints, tensors: Ints, transfer: np.ndarray) -> tuple[Ints, np.ndarray]:
    """Return the source of each tensor, and its transfer time."""
    of = np.zeros(len(transfer), np.int64)
    of[tensors[tensors >= 0]] = sources[tensors >= 0]
    return of, transfer


def _carried(problem: Problem, member: Ints) -> tuple[Ints, Ints, Ints, np.ndarray, np.ndarray, np.ndarray]:
    """Return (sources, consumers, tensors, transfer times, host reads, host writes) between clusters.

    Tensors from one cluster to the same consumers are merged into one.
    """
    tensors, transfer = problem.carried
    sources, readers = member[problem.sources], member[problem.readers]
    reads = problem.host_reads if problem.host_reads is not None else np.zeros(len(sources), bool)
    host_made = problem.host_made if problem.host_made is not None else np.zeros(len(transfer), bool)
    crosses = sources != readers
    read: dict[int, set[tuple[int, bool]]] = {}
    producer: dict[int, int] = {}
    signals: set[tuple[int, int]] = set()
    for source, reader, tensor, in_host in zip(
        sources[crosses].tolist(),
        readers[crosses].tolist(),
        tensors[crosses].tolist(),
        reads[crosses].tolist(),
    ):
        if tensor < 0:
            signals.add((source, reader))
        else:
            read.setdefault(tensor, set()).add((reader, in_host))
            producer[tensor] = source
    merged: dict[tuple[int, bool, tuple[tuple[int, bool], ...]], float] = {}
    is_host_made = host_made.tolist()
    for tensor, ends in sorted(read.items()):
        key = producer[tensor], is_host_made[tensor], tuple(sorted(ends))
        merged[key] = merged.get(key, 0.0) + float(transfer[tensor])
    rows = []
    for number, (source, _, both) in enumerate(merged):
        for reader, in_host in both:
            rows.append((source, reader, number, in_host))
            signals.discard((source, reader))
    rows += [(source, reader, -1, True) for source, reader in sorted(signals)]
    table = np.array(rows, np.int64).reshape(-1, 4)
    return (
        table[:, 0].copy(),
        table[:, 1].copy(),
        table[:, 2].copy(),
        np.array(list(merged.values()), float),
        table[:, 3] == 1,
        np.array([in_host for _, in_host, _ in merged], bool),
    )


def _levels(sources: Ints, readers: Ints, count: int) -> Ints:
    """Return the number of edges on the longest path to each cluster."""
    starts, ends = (array.tolist() for array in adjacency(sources, readers, count))
    level = [0] * count
    for cluster in ready_order(sources, readers, range(count)):
        for reader in ends[starts[cluster] : starts[cluster + 1]]:
            level[reader] = max(level[reader], level[cluster] + 1)
    return np.array(level, np.int64)
