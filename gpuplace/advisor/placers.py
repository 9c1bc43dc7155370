"""Placers of the literature that the search of a step's time begins with: HEFT, m-TOPO, m-ETF and m-SCT.

Nodes that must be together are placed with the first of them that computes; only GPUs are chosen where a GPU can run a
node; links are as long as a copy takes that is alone.

Sources: Topcuoglu, Hariri, Wu, "Performance-effective and low-complexity task scheduling for heterogeneous computing",
IEEE TPDS 2002 (HEFT, with gaps); Hwang, Chow, Anger, Lee, SIAM J. Comput. 1989 (ETF) and Jeon et al., "Baechi: fast
device placement of machine learning graphs", SoCC 2020 (m-TOPO, m-ETF, m-SCT; favourite children after Hanen, Munier,
1995).
"""

from __future__ import annotations

import bisect
import heapq
import math
from collections.abc import Mapping

import numpy as np

from gpuplace.advisor.exact import Rows, quiet_solver
from gpuplace.advisor.problem import Problem, adjacency, topological_order


class Costs:
    """A problem as the placers read it.

    Args:
        problem: nodes, edges and devices.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.count, self.devices = problem.node_count, len(problem.devices)
        kinds = [device.kind for device in problem.devices]
        runs = problem.seconds[:, kinds]
        starts = problem.starts[:, kinds] if problem.starts is not None else np.zeros_like(runs)
        self.seconds = np.where(runs > 0, np.maximum(runs, starts), runs)
        self.is_gpu = np.array([not device.is_pool for device in problem.devices])
        self.room = np.array([device.memory for device in problem.devices])
        self.groups = problem.groups.tolist()
        total = np.zeros((problem.group_count, self.devices))
        np.add.at(total, problem.groups, self.seconds)
        self.possible = np.isfinite(total)
        on_gpu = self.possible[:, self.is_gpu].any(axis=1)
        self.possible[np.ix_(on_gpu, ~self.is_gpu)] = False
        self.group_seconds = np.where(self.possible, total, math.inf)
        self.sizes = np.bincount(problem.groups, problem.sizes, problem.group_count)
        self.order = topological_order(problem).tolist()
        tensors, transfer = problem.carried
        self.units = (
            np.where(tensors >= 0, transfer[tensors], 0.0) if len(transfer) else np.zeros(len(tensors))
        )
        if problem.host_reads is not None and problem.host_made is not None and len(transfer):
            stays = (tensors >= 0) & problem.host_reads & problem.host_made[tensors]  # nothing is copied
            self.units = np.where(stays, 0.0, self.units)
        links = problem.copy_links
        self.per_unit, self.latency = links.per_unit, links.latency
        edges = np.arange(len(problem.sources))
        self.in_start, self.in_edges = (one.tolist() for one in adjacency(problem.readers, edges, self.count))
        self.out_start, self.out_edges = (
            one.tolist() for one in adjacency(problem.sources, edges, self.count)
        )
        self.source, self.reader = problem.sources.tolist(), problem.readers.tolist()
        self.is_idle = [False] * self.count
        for node in self.order:  # such as variables and what reads them
            waits = any(not self.is_idle[self.source[edge]] for edge in self.in_edges_of(node))
            self.is_idle[node] = not waits and not self.seconds[node].min() and bool(self.out_edges_of(node))
        apart = ~np.eye(self.devices, dtype=bool)
        apart &= self.is_gpu[:, None] & self.is_gpu[None, :]
        self.mean_per_unit = float(self.per_unit[apart].mean()) if apart.any() else 0.0
        self.mean_latency = float(self.latency[apart].mean()) if apart.any() else 0.0
        self.mean_seconds = np.array(
            [
                np.mean(row[chosen]) if chosen.any() else 0.0
                for row, chosen in zip(self.seconds, self.possible[problem.groups])
            ]
        )

    def mean_copy(self, edge: int) -> float:
        """What a copy takes between two GPUs, in seconds.

        Args:
            edge: what is copied.
        """
        return self.mean_latency + self.mean_per_unit * self.units[edge] if self.units[edge] else 0.0

    def copy(self, edge: int, begin: int, end: int) -> float:
        """What a copy takes, in seconds.

        Args:
            edge: what is copied.
            begin, end: from which device to which.
        """
        if begin == end or not self.units[edge]:
            return 0.0
        return float(self.latency[begin, end] + self.per_unit[begin, end] * self.units[edge])

    def in_edges_of(self, node: int) -> list[int]:
        return self.in_edges[self.in_start[node] : self.in_start[node + 1]]

    def out_edges_of(self, node: int) -> list[int]:
        return self.out_edges[self.out_start[node] : self.out_start[node + 1]]


class Placing:
    """Groups as they are placed; memory is what is left."""

    def __init__(self, costs: Costs) -> None:
        self.costs = costs
        self.device = [-1] * len(costs.sizes)
        self.left = costs.room.copy()
        self.done = [0.0] * costs.count

    def may(self, node: int, device: int) -> bool:
        costs, group = self.costs, self.costs.groups[node]
        if self.device[group] >= 0:
            return self.device[group] == device
        return bool(costs.possible[group, device]) and costs.sizes[group] <= self.left[device]

    def put(self, group: int, device: int) -> None:
        if self.device[group] < 0:
            self.device[group] = device
            self.left[device] -= self.costs.sizes[group]

    def last_resort(self, group: int) -> int:
        """Where most room is, for what fits nowhere."""
        room = np.where(self.costs.possible[group], self.left, -math.inf)
        return int(room.argmax())

    def ready(self, node: int, device: int) -> float:
        """When all that a node reads can be on a device."""
        begin = 0.0
        for edge in self.costs.in_edges_of(node):
            source = self.costs.source[edge]
            there = self.device[self.costs.groups[source]]
            if there >= 0:
                begin = max(begin, self.done[source] + self.costs.copy(edge, there, device))
        return begin

    def take_sources(self, node: int, device: int) -> None:
        """What only waits to be read, such as variables, goes where it is read first."""
        stack = self.costs.in_edges_of(node)
        while stack:
            source = self.costs.source[stack.pop()]
            group = self.costs.groups[source]
            if self.device[group] < 0:
                stack += self.costs.in_edges_of(source)
                fits = self.costs.possible[group, device] and self.costs.sizes[group] <= self.left[device]
                self.put(group, device if fits else self.last_resort(group))

    def result(self) -> list[int]:
        for group, device in enumerate(self.device):
            if device < 0:
                self.put(group, self.last_resort(group))
        return [self.device[group] for group in self.costs.groups]


def heft(costs: Costs) -> list[int]:
    """The device of each node by HEFT: by falling upward rank, into the earliest gap.

    Args:
        costs: the problem.
    """
    rank = [0.0] * costs.count
    for node in reversed(costs.order):
        after = (costs.mean_copy(edge) + rank[costs.reader[edge]] for edge in costs.out_edges_of(node))
        rank[node] = float(costs.mean_seconds[node]) + max(after, default=0.0)
    place = {node: at for at, node in enumerate(costs.order)}
    placing = Placing(costs)
    busy: list[list[tuple[float, float]]] = [[] for _ in range(costs.devices)]
    for node in sorted(costs.order, key=lambda one: (-rank[one], place[one])):
        if costs.is_idle[node]:
            continue
        best: tuple[float, int, float] | None = None
        for device in range(costs.devices):
            if placing.may(node, device):
                begin = placing.ready(node, device)
                lasts = float(costs.seconds[node, device])
                if costs.is_gpu[device] and lasts:
                    begin = _gap(busy[device], begin, lasts)
                if best is None or begin + lasts < best[0]:
                    best = begin + lasts, device, begin
        if best is None:
            device = placing.last_resort(costs.groups[node])
            begin = placing.ready(node, device)
            best = begin + float(costs.seconds[node, device]), device, begin
        end, device, begin = best
        placing.put(costs.groups[node], device)
        placing.take_sources(node, device)
        placing.done[node] = end
        if costs.is_gpu[device] and end > begin:
            bisect.insort(busy[device], (begin, end))
    return placing.result()


def _gap(busy: list[tuple[float, float]], ready: float, lasts: float) -> float:
    at = max(0, bisect.bisect_left(busy, (ready, 0.0)) - 1)
    begin = ready
    for first, last in busy[at:]:
        if first - begin >= lasts:
            return begin
        begin = max(begin, last)
    return begin


def earliest_first(costs: Costs, favourites: Mapping[int, int] | None = None) -> list[int]:
    """The device of each node by m-ETF: of all that is ready, what can begin first, where it can begin first.

    Args:
        costs: the problem.
        favourites: node -> the reader that a device waits for when it has done the node, for a while; None: it waits
            for none.
    """
    favourite = favourites or {}
    placing = Placing(costs)
    free = [0.0] * costs.devices
    awaited: list[tuple[int, float]] = [(-1, 0.0)] * costs.devices
    """For each device the favourite child of its last node, and until when it waits for it."""
    waits = [len(costs.in_edges_of(node)) for node in range(costs.count)]
    heap: list[tuple[float, int, int, int]] = []
    place = {node: at for at, node in enumerate(costs.order)}
    is_done = [False] * costs.count

    def begin_of(node: int, device: int) -> float:
        begin = placing.ready(node, device)
        if costs.is_gpu[device]:
            begin = max(begin, free[device])
            child, until = awaited[device]
            if child >= 0 and child != node and not is_done[child]:
                begin = max(begin, until)
        return begin

    def offer(node: int) -> None:
        found = False
        for device in range(costs.devices):
            if placing.may(node, device):
                heapq.heappush(heap, (begin_of(node, device), place[node], node, device))
                found = True
        if not found:
            heapq.heappush(heap, (0.0, place[node], node, placing.last_resort(costs.groups[node])))

    def finish(node: int) -> None:
        is_done[node] = True
        for edge in costs.out_edges_of(node):
            reader = costs.reader[edge]
            waits[reader] -= 1
            if not waits[reader]:
                settle(reader)

    def settle(node: int) -> None:
        if costs.is_idle[node]:
            pending.append(node)
        else:
            offer(node)

    pending: list[int] = []
    for node in range(costs.count):
        if not waits[node]:
            settle(node)
    while pending or heap:
        while pending:
            finish(pending.pop())
        if not heap:
            break
        begin, _, node, device = heapq.heappop(heap)
        if is_done[node]:
            continue
        if not placing.may(node, device):
            if any(placing.may(node, other) for other in range(costs.devices)):
                if placing.device[costs.groups[node]] >= 0:
                    device = placing.device[costs.groups[node]]
                else:
                    continue
            else:
                device = placing.last_resort(costs.groups[node])
        now = begin_of(node, device)
        if now > begin:
            heapq.heappush(heap, (now, place[node], node, device))
            continue
        placing.put(costs.groups[node], device)
        placing.take_sources(node, device)
        end = begin + float(costs.seconds[node, device])
        placing.done[node] = end
        if costs.is_gpu[device] and end > begin:
            free[device] = end
            child = favourite.get(node, -1)
            longest = max((costs.mean_copy(edge) for edge in costs.out_edges_of(node)), default=0.0)
            awaited[device] = (child, end + longest)
        finish(node)
    return placing.result()


def in_stretches(costs: Costs) -> list[int]:
    """The device of each node by m-TOPO: stretches of a topological order.

    Each has an equal part of all memory, and as much more as the largest node needs.

    Args:
        costs: the problem.
    """
    placing = Placing(costs)
    gpus = np.flatnonzero(costs.is_gpu).tolist()
    on_gpu = np.asarray(costs.possible[:, costs.is_gpu].any(axis=1))
    share = costs.sizes[on_gpu].sum() / max(1, len(gpus)) + costs.sizes[on_gpu].max(initial=0.0)
    used, at = 0.0, 0
    for node in costs.order:
        group = costs.groups[node]
        if placing.device[group] >= 0:
            continue
        if not on_gpu[group]:
            placing.put(group, placing.last_resort(group))
            continue
        size = costs.sizes[group]
        while at + 1 < len(gpus) and (
            used + size > min(share, costs.room[gpus[at]]) or not costs.possible[group, gpus[at]]
        ):
            used, at = 0.0, at + 1
        placing.put(group, gpus[at] if costs.possible[group, gpus[at]] else placing.last_resort(group))
        used += size
    return placing.result()


_FAVOURITE = 0.5
"""Below this, an edge of the linear program makes its reader the favourite child."""
_ENDLESS = 1e30


def favourite_children(costs: Costs, seconds: float) -> dict[int, int]:
    """Node -> its favourite child, by the linear program of small communication times, rounded; by HiGHS.

    Args:
        costs: the problem.
        seconds: how long the program may take; where that is too short, there are none.
    """
    solver = quiet_solver()
    solver.setOptionValue("time_limit", float(seconds))
    edges = [
        edge
        for edge in range(len(costs.source))
        if costs.units[edge] and not costs.is_idle[costs.source[edge]]
    ]
    pairs: dict[tuple[int, int], float] = {}
    for edge in edges:
        key = costs.source[edge], costs.reader[edge]
        pairs[key] = max(pairs.get(key, 0.0), costs.mean_copy(edge))
    keys = list(pairs)
    count, number = costs.count, len(pairs)
    lasts = costs.mean_seconds.tolist()
    scale = 1e3 / max(sum(lasts), 1e-12)
    rows = Rows()
    after: dict[int, list[int]] = {}
    before: dict[int, list[int]] = {}
    for at, (source, reader) in enumerate(keys):  # s_reader - s_source - c x >= p_source
        weights = [1.0, -1.0, -pairs[source, reader] * scale]
        rows.add([number + reader, number + source, at], weights, lasts[source] * scale, _ENDLESS)
        after.setdefault(source, []).append(at)
        before.setdefault(reader, []).append(at)
    for of in (after, before):
        for ends in of.values():  # all but one child, or parent, pay for the copy
            rows.add(ends, [1.0] * len(ends), len(ends) - 1.0, _ENDLESS)
    for node in {node for pair in keys for node in pair}:
        if node not in after:
            rows.add([number + count, number + node], [1.0, -1.0], lasts[node] * scale, _ENDLESS)
    upper = np.concatenate([np.ones(number), np.full(count + 1, _ENDLESS)])
    solver.passModel(rows.program(number + count, np.zeros(number + count + 1), upper))
    solver.run()
    values = np.array(solver.getSolution().col_value)
    found: dict[int, int] = {}
    if len(values):
        for at, (source, reader) in enumerate(keys):
            if values[at] < _FAVOURITE:
                found.setdefault(source, reader)
    return found
