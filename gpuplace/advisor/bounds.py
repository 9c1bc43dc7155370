"""Lower bounds of every split of a problem.

The bound for a step's time is the largest of three: the critical path, with every node and copy on it where this path
is fastest; the total work, shared by all devices; and, for any a and b, a + b + the shared work of the nodes that can
begin no earlier than a and after whose end at least b remains::

    0 ........ a ............................ T - b ........ T
               | all of these nodes, shared   |
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.advisor.problem import Floats, Problem, group_seconds, topological_order
from gpuplace.advisor.records import Step
from gpuplace.numerics.compiled.arrays import Reals, Wholes

_CUTS = 48
"""Number of values of a, and of b, to try."""


def step_bound(problem: Problem, step: Any, functions: Any, in_lists: bool) -> float:
    """Return a lower bound of the step time of every split.

    Args:
        problem: a problem that ``checked`` accepted.
        step: the ``Step`` of the problem, in the form that the functions take.
        functions: this module, interpreted or compiled.
        in_lists: whether the functions are interpreted.
    """
    nodes, devices = problem.node_count, len(problem.devices)
    if not nodes:
        return 0.0
    order = topological_order(problem)
    arrays: list[Any] = [order, *(np.zeros(nodes * devices) for _ in range(3))]
    walk, begin, end, rest = [part.tolist() for part in arrays] if in_lists else arrays
    functions.earliest_ends(step, walk, begin, end)
    functions.shortest_rests(step, walk, rest)
    begins, ends, rests = (np.reshape(part, (nodes, devices)) for part in (begin, end, rest))
    longest_path = float((ends + rests).min(axis=1).max())
    loads = _loads(problem)
    kinds = [device.kind for device in problem.devices]
    groups = np.zeros((problem.group_count, loads.shape[1]))
    np.add.at(groups, problem.groups, loads)
    work, share = shared_work(groups, kinds)
    can_run = np.isfinite(ends)
    first = np.where(can_run, begins, np.inf).min(axis=1)
    last = np.where(can_run, rests, np.inf).min(axis=1)
    used, counts = np.unique(kinds, return_counts=True)
    weighted = (loads[:, used] * np.maximum(share / counts, 1e-300)).min(axis=1)
    return max(longest_path, work, _largest(groups, kinds), _between(first, last, weighted))


def _loads(problem: Problem) -> Floats:
    """Return ``[nodes, kinds]``: device time of each node; for a pool, the time in which it occupies all workers."""
    loads = problem.seconds.copy()
    for device in problem.devices:
        if device.is_pool:
            on_pool = problem.seconds[:, device.kind]
            can_run = np.isfinite(on_pool)
            loads[can_run, device.kind] = (
                on_pool[can_run] / device.workers if problem.held is None else problem.held[can_run]
            )
    return loads


def _between(first: Floats, last: Floats, work: Floats) -> float:
    """Return the largest a + b + work of the nodes in between, over quantiles of both."""
    cuts = [
        np.unique(np.quantile(values, np.linspace(0, 1, _CUTS), method="lower")) for values in (first, last)
    ]
    cells = [np.searchsorted(cut, values, side="right") - 1 for cut, values in zip(cuts, (first, last))]
    table = np.zeros((len(cuts[0]), len(cuts[1])))
    np.add.at(table, (cells[0], cells[1]), work)
    inside = table[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
    return float(np.where(inside > 0, cuts[0][:, None] + cuts[1][None, :] + inside, 0.0).max(initial=0.0))


def lower_bound(problem: Problem, objective: str) -> float:
    """Return a lower bound of the objective of every split.

    Args:
        problem: a problem that ``checked`` accepted.
        objective: "throughput" or "latency"; ``step_bound`` is for the time of a step.
    """
    if not problem.node_count:
        return 0.0
    if objective == "latency":
        return _critical_path(problem)
    runs, kinds = group_seconds(problem), [device.kind for device in problem.devices]
    return max(_largest(runs, kinds), shared_work(runs, kinds)[0])


def _critical_path(problem: Problem) -> float:
    """Return the critical path with each node on its fastest device and no copies."""
    kinds = [device.kind for device in problem.devices]
    quickest = problem.seconds[:, kinds].min(axis=1).tolist()
    end = [0.0] * problem.node_count
    predecessors: list[list[int]] = [[] for _ in end]
    for source, reader in zip(problem.sources.tolist(), problem.readers.tolist()):
        predecessors[reader].append(source)
    for node in topological_order(problem).tolist():
        end[node] = quickest[node] + max((end[source] for source in predecessors[node]), default=0.0)
    return max(end)


def _largest(runs: Floats, of_devices: list[int]) -> float:
    """Return the largest time of a group on its fastest device; arguments as in ``shared_work``."""
    return float(runs[:, np.unique(of_devices)].min(axis=1).max())


def shared_work(runs: Floats, of_devices: list[int]) -> tuple[float, Floats]:
    """Return the work of all groups, as if each could be cut and shared by all devices without transfers.

    For any device weights w that add up to 1, the largest load is at least the sum, over the groups, of the smallest
    w[d] times their time on d: the dual of the linear program. The dual is concave, so the best weights of two kinds of
    devices are found by golden-section search; those of more kinds, pair by pair.

    Args:
        runs: ``[groups, kinds]`` seconds.
        of_devices: ``[devices]`` kind of each.

    Returns:
        The work, and the weights of the kinds that occur.
    """
    kinds, counts = np.unique(of_devices, return_counts=True)
    share = np.full(len(kinds), 1 / len(kinds))

    def dual(weights: np.ndarray) -> float:
        weighted = runs[:, kinds] * np.maximum(weights / counts, 1e-300)
        return float(weighted.min(axis=1).sum())

    best = dual(share)
    for _ in range(1 if len(kinds) <= 2 else 20):
        for kind in range(len(kinds) - 1):
            pair = share[kind] + share[kind + 1]
            low, high = 0.0, pair
            for _ in range(80):
                first, second = (
                    high - (high - low) * 0.618033988749895,
                    low + (high - low) * 0.618033988749895,
                )
                values = []
                for cut in (first, second):
                    trial = share.copy()
                    trial[kind], trial[kind + 1] = cut, pair - cut
                    values.append(dual(trial))
                if values[0] < values[1]:
                    low = first
                else:
                    high = second
            trial = share.copy()
            trial[kind], trial[kind + 1] = (low + high) / 2, pair - (low + high) / 2
            if dual(trial) >= best:
                share, best = trial, dual(trial)
    return best, share


def least_copy_seconds(step: Step, edge: int, source: int, target: int) -> float:
    """Return the minimum time from the end of a kernel until another device can use its output.

    Args:
        step: the ``Step``.
        edge: edge between the nodes.
        source: device of the producer.
        target: device of the consumer.
    """
    if step.host_reads[edge] == 1 and step.host >= 0 and source != target:
        target = step.host
    if source == target or step.is_signal[edge] == 1:
        return 0.0
    route = source * step.device_count + target
    if step.channel[route] < 0:
        return 0.0
    return float(step.latency[route] + step.units[edge] * step.per_unit[route])


def is_early(step: Step, edge: int, source: int) -> bool:
    """Whether a consumer need not wait for earlier kernels: its producer is a GPU node that uses host memory, like
    `Shape`.

    Args:
        step: the ``Step``.
        edge: edge to the consumer.
        source: device of the producer.
    """
    return bool(step.host >= 0 and step.is_pool[source] == 0 and step.host_made[edge] == 1)


def least_node_seconds(step: Step, node: int, device: int) -> float:
    """Return the minimum time of a node on a device as its consumers see it; infinite if it cannot run there.

    Args:
        step: the ``Step``.
        node: number of the node.
        device: number of the device.
    """
    at = node * step.device_count + device
    if step.is_pool[device] == 1 and step.seconds[at] < float("inf"):
        return float(step.seconds[at] + step.starts[at])
    return float(step.seconds[at])


def earliest_ends(step: Step, order: Wholes, begin: Reals, end: Reals) -> None:
    """Compute the earliest end of each node on each device, over all placements of its predecessors.

    Args:
        step: the ``Step``.
        order: ``[nodes]`` in topological order.
        begin: ``[nodes, devices]`` zeros; overwritten.
        end: ``[nodes, devices]``; overwritten.
    """
    devices = step.device_count
    for node in order:
        row = node * devices
        for device in range(devices):
            end[row + device] = begin[row + device] + least_node_seconds(step, node, device)
        for edge in range(step.first[node], step.first[node + 1]):
            for target in range(devices):
                arrival = earliest_arrival(step, edge, row, target, end)
                position = step.readers[edge] * devices + target
                if arrival > begin[position]:
                    begin[position] = arrival


def earliest_arrival(step: Step, edge: int, row: int, target: int, end: Reals) -> float:
    """Return the earliest start of a consumer with respect to one edge, over all devices of the producer.

    Args:
        step: the ``Step``.
        edge: number of the edge.
        row: start of the producer's row in ``end``.
        target: device of the consumer.
        end: as in ``earliest_ends``.
    """
    soonest = float("inf")
    for source in range(step.device_count):
        if end[row + source] < float("inf"):
            value = 0.0
            if not is_early(step, edge, source):
                value = end[row + source] + least_copy_seconds(step, edge, source, target)
            if value < soonest:
                soonest = value
    return soonest


def shortest_rests(step: Step, order: Wholes, rest: Reals) -> None:
    """Compute the minimum time from each node's end to the end of the step, over all placements of its successors.

    Args:
        step: the ``Step``.
        order: ``[nodes]`` in topological order.
        rest: ``[nodes, devices]`` zeros; overwritten.
    """
    devices = step.device_count
    for place in range(len(order) - 1, -1, -1):
        node = order[place]
        for edge in range(step.first[node], step.first[node + 1]):
            reader = step.readers[edge]
            for device in range(devices):
                if is_early(step, edge, device):
                    continue
                soonest = float("inf")
                for target in range(devices):
                    value = least_node_seconds(step, reader, target) + rest[reader * devices + target]
                    value += least_copy_seconds(step, edge, device, target)
                    if value < soonest:
                        soonest = value
                if soonest > rest[node * devices + device]:
                    rest[node * devices + device] = soonest
