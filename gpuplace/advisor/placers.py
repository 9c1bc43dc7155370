"""Published placers, with which the search of a step's time begins: HEFT, m-TOPO, m-ETF and m-SCT.

Nodes that must stay together are placed with the first of them that computes. Nodes that can run on a GPU are placed on
GPUs only. Links have the speed of an unshared copy.

Sources: Topcuoglu, Hariri, Wu, "Performance-effective and low-complexity task scheduling for heterogeneous computing",
IEEE TPDS 2002 (HEFT, with gaps); Hwang, Chow, Anger, Lee, SIAM J. Comput. 1989 (ETF) and Jeon et al., "Baechi: fast
device placement of machine learning graphs", SoCC 2020 (m-TOPO, m-ETF, m-SCT; favorite children after Hanen, Munier,
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
    """A problem in the form that the placers read.

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
            # the tensor stays in host memory
            stays = (tensors >= 0) & problem.host_reads & problem.host_made[tensors]
            self.units = np.where(stays, 0.0, self.units)
        links = problem.copy_links
        self.per_unit, self.latency = links.per_unit, links.latency
        edges = np.arange(len(problem.sources))
        incoming = adjacency(problem.readers, edges, self.count)
        self.in_start, self.in_edges = (array.tolist() for array in incoming)
        outgoing = adjacency(problem.sources, edges, self.count)
        self.out_start, self.out_edges = (array.tolist() for array in outgoing)
        self.source, self.reader = problem.sources.tolist(), problem.readers.tolist()
        self.is_idle = [False] * self.count
        for node in self.order:  # such as variables and their reads
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
        """Return the mean time of a copy between two GPUs, in seconds.

        Args:
            edge: edge of the copied tensor.
        """
        return self.mean_latency + self.mean_per_unit * self.units[edge] if self.units[edge] else 0.0

    def copy(self, edge: int, begin: int, end: int) -> float:
        """Return the time of a copy, in seconds.

        Args:
            edge: edge of the copied tensor.
            begin, end: sending and receiving device.
        """
        if begin == end or not self.units[edge]:
            return 0.0
        return float(self.latency[begin, end] + self.per_unit[begin, end] * self.units[edge])

    def in_edges_of(self, node: int) -> list[int]:
        return self.in_edges[self.in_start[node] : self.in_start[node + 1]]

    def out_edges_of(self, node: int) -> list[int]:
        return self.out_edges[self.out_start[node] : self.out_start[node + 1]]


class Placing:
    """Placement of groups under construction, with the free memory of each device."""

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
        """Return the device with most free memory, for a group that fits nowhere."""
        room = np.where(self.costs.possible[group], self.left, -math.inf)
        return int(room.argmax())

    def ready(self, node: int, device: int) -> float:
        """Return the time at which all inputs of a node are available on a device."""
        begin = 0.0
        for edge in self.costs.in_edges_of(node):
            source = self.costs.source[edge]
            there = self.device[self.costs.groups[source]]
            if there >= 0:
                begin = max(begin, self.done[source] + self.costs.copy(edge, there, device))
        return begin

    def take_sources(self, node: int, device: int) -> None:
        """Place the idle predecessors of a node, such as variables, on the device where they are read first."""
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
    """Return the device of each node by HEFT: in order of decreasing upward rank, in the earliest gap.

    Args:
        costs: the problem.
    """
    rank = [0.0] * costs.count
    for node in reversed(costs.order):
        ranks = (costs.mean_copy(edge) + rank[costs.reader[edge]] for edge in costs.out_edges_of(node))
        rank[node] = float(costs.mean_seconds[node]) + max(ranks, default=0.0)
    place = {node: at for at, node in enumerate(costs.order)}
    placing = Placing(costs)
    busy: list[list[tuple[float, float]]] = [[] for _ in range(costs.devices)]
    for node in sorted(costs.order, key=lambda candidate: (-rank[candidate], place[candidate])):
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


def m_etf(costs: Costs, favorite_children: Mapping[int, int] | None = None) -> list[int]:
    """Return the device of each node by m-ETF: of all ready nodes, the one that can begin first, where it can begin
    first.

    Args:
        costs: the problem.
        favorite_children: node to the consumer that its device waits for after the node, for a while; None for no
            waiting.
    """
    favorite_child = favorite_children or {}
    placing = Placing(costs)
    free = [0.0] * costs.devices
    awaited: list[tuple[int, float]] = [(-1, 0.0)] * costs.devices
    """For each device, the favorite child of its last node, and until when it waits for that child."""
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
        is_offered = False
        for device in range(costs.devices):
            if placing.may(node, device):
                heapq.heappush(heap, (begin_of(node, device), place[node], node, device))
                is_offered = True
        if not is_offered:
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
        # The start was computed when the node was offered; its device may have become busy since.
        if now > begin:
            heapq.heappush(heap, (now, place[node], node, device))
            continue
        placing.put(costs.groups[node], device)
        placing.take_sources(node, device)
        end = begin + float(costs.seconds[node, device])
        placing.done[node] = end
        if costs.is_gpu[device] and end > begin:
            free[device] = end
            child = favorite_child.get(node, -1)
            longest = max((costs.mean_copy(edge) for edge in costs.out_edges_of(node)), default=0.0)
            awaited[device] = (child, end + longest)
        finish(node)
    return placing.result()


def m_topo(costs: Costs) -> list[int]:
    """Return the device of each node by m-TOPO: intervals of a topological order.

    Each device gets an equal share of all memory, plus the size of the largest group.

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


_FAVORITE = 0.5
"""Value of an edge in the linear program below which its consumer is the favorite child."""
_ENDLESS = 1e30


def favorite_children(costs: Costs, seconds: float) -> dict[int, int]:
    """Return the favorite child of nodes, by the linear program of small communication times, rounded; uses HiGHS.

    Args:
        costs: the problem.
        seconds: time limit of the program; if it is too short, the result is empty.
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
    out_pairs: dict[int, list[int]] = {}
    in_pairs: dict[int, list[int]] = {}
    for at, (source, reader) in enumerate(keys):  # s_reader - s_source - c x >= p_source
        weights = [1.0, -1.0, -pairs[source, reader] * scale]
        rows.add([number + reader, number + source, at], weights, lasts[source] * scale, _ENDLESS)
        out_pairs.setdefault(source, []).append(at)
        in_pairs.setdefault(reader, []).append(at)
    for of in (out_pairs, in_pairs):
        for ends in of.values():  # all but one child, or parent, pay for the copy
            rows.add(ends, [1.0] * len(ends), len(ends) - 1.0, _ENDLESS)
    for node in {node for pair in keys for node in pair}:
        if node not in out_pairs:
            rows.add([number + count, number + node], [1.0, -1.0], lasts[node] * scale, _ENDLESS)
    upper = np.concatenate([np.ones(number), np.full(count + 1, _ENDLESS)])
    solver.passModel(rows.program(number + count, np.zeros(number + count + 1), upper))
    solver.run()
    values = np.array(solver.getSolution().col_value)
    child_of: dict[int, int] = {}
    if len(values):
        for at, (source, reader) in enumerate(keys):
            if values[at] < _FAVORITE:
                child_of.setdefault(source, reader)
    return child_of
