"""What no split of a problem can be below, whatever is searched.

For the time of a step: the longest way, every node and every copy on it where that is best for this way alone; and,
for any a and b, a + b + the work, shared by all devices, of those nodes that cannot begin before a and after whose end
at least b is left::

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
"""How many values of a, and of b, are tried."""


def step_bound(problem: Problem, step: Any, loops: Any, in_lists: bool) -> float:
    """A number that the time of a step is at least, for every split.

    Args:
        problem: one that ``checked`` let pass.
        step: a ``Step`` of the problem, as the loops take it.
        loops: this module, as it stands or compiled.
        in_lists: whether they run as they stand.
    """
    nodes, devices = problem.node_count, len(problem.devices)
    if not nodes:
        return 0.0
    order = topological_order(problem)
    arrays: list[Any] = [order, *(np.zeros(nodes * devices) for _ in range(3))]
    walk, begin, end, rest = [part.tolist() for part in arrays] if in_lists else arrays
    loops.earliest_ends(step, walk, begin, end)
    loops.shortest_rests(step, walk, rest)
    begins, ends, rests = (np.reshape(part, (nodes, devices)) for part in (begin, end, rest))
    way = float((ends + rests).min(axis=1).max())
    loads = _loads(problem)
    kinds = [device.kind for device in problem.devices]
    groups = np.zeros((problem.group_count, loads.shape[1]))
    np.add.at(groups, problem.groups, loads)
    work, share = shared_work(groups, kinds)
    can = np.isfinite(ends)
    first = np.where(can, begins, np.inf).min(axis=1)
    last = np.where(can, rests, np.inf).min(axis=1)
    used, counts = np.unique(kinds, return_counts=True)
    weighted = (loads[:, used] * np.maximum(share / counts, 1e-300)).min(axis=1)
    return max(way, work, _largest(groups, kinds), _between(first, last, weighted))


def _loads(problem: Problem) -> Floats:
    """``[nodes, kinds]``: what of a device's time a node takes; of a pool's, what it does not share with others."""
    loads = problem.seconds.copy()
    for device in problem.devices:
        if device.is_pool:
            own = problem.seconds[:, device.kind]
            can = np.isfinite(own)
            loads[can, device.kind] = own[can] / device.workers if problem.held is None else problem.held[can]
    return loads


def _between(first: Floats, last: Floats, work: Floats) -> float:
    """The largest a + b + work of all that lies between, over cuts at even parts of both."""
    cuts = [
        np.unique(np.quantile(values, np.linspace(0, 1, _CUTS), method="lower")) for values in (first, last)
    ]
    places = [np.searchsorted(cut, values, side="right") - 1 for cut, values in zip(cuts, (first, last))]
    table = np.zeros((len(cuts[0]), len(cuts[1])))
    np.add.at(table, (places[0], places[1]), work)
    inside = table[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
    return float(np.where(inside > 0, cuts[0][:, None] + cuts[1][None, :] + inside, 0.0).max(initial=0.0))


def lower_bound(problem: Problem, objective: str) -> float:
    """A number that the objective of every split is at least.

    Args:
        problem: one that ``checked`` let pass.
        objective: "throughput" or "latency"; ``step_bound`` is for the time of a step.
    """
    if not problem.node_count:
        return 0.0
    if objective == "latency":
        return _longest_way(problem)
    runs, kinds = group_seconds(problem), [device.kind for device in problem.devices]
    return max(_largest(runs, kinds), shared_work(runs, kinds)[0])


def _longest_way(problem: Problem) -> float:
    """The longest way through the graph, each node where it is quickest and nothing carried."""
    kinds = [device.kind for device in problem.devices]
    quickest = problem.seconds[:, kinds].min(axis=1).tolist()
    done = [0.0] * problem.node_count
    before: list[list[int]] = [[] for _ in done]
    for source, reader in zip(problem.sources.tolist(), problem.readers.tolist()):
        before[reader].append(source)
    for node in topological_order(problem).tolist():
        done[node] = quickest[node] + max((done[source] for source in before[node]), default=0.0)
    return max(done)


def _largest(runs: Floats, of_devices: list[int]) -> float:
    """What the group takes that takes longest where it is quickest; arguments as of ``shared_work``."""
    return float(runs[:, np.unique(of_devices)].min(axis=1).max())


def shared_work(runs: Floats, of_devices: list[int]) -> tuple[float, Floats]:
    """The work of all groups, as if each could be cut and shared between all devices without a transfer.

    For any weights w of the devices that add up to 1, the largest load is at least the sum over the groups of the
    least of w[d] times their time on d: the dual of the linear program. The best weights of two kinds of devices are
    found by golden sections, as the sum is concave; those of more kinds by turns.

    Args:
        runs: ``[groups, kinds]``.
        of_devices: ``[devices]``: the kind of each.

    Returns:
        The work, and the weights of the kinds that devices are of.
    """
    kinds, counts = np.unique(of_devices, return_counts=True)
    share = np.full(len(kinds), 1 / len(kinds))

    def dual(weights: np.ndarray) -> float:
        weighted = runs[:, kinds] * np.maximum(weights / counts, 1e-300)
        return float(weighted.min(axis=1).sum())

    best = dual(share)
    for _ in range(1 if len(kinds) <= 2 else 20):
        for one in range(len(kinds) - 1):
            pair = share[one] + share[one + 1]
            low, high = 0.0, pair
            for _ in range(80):
                first, second = (
                    high - (high - low) * 0.618033988749895,
                    low + (high - low) * 0.618033988749895,
                )
                values = []
                for cut in (first, second):
                    trial = share.copy()
                    trial[one], trial[one + 1] = cut, pair - cut
                    values.append(dual(trial))
                if values[0] < values[1]:
                    low = first
                else:
                    high = second
            trial = share.copy()
            trial[one], trial[one + 1] = (low + high) / 2, pair - (low + high) / 2
            if dual(trial) >= best:
                share, best = trial, dual(trial)
    return best, share


def at_least(step: Step, edge: int, one: int, other: int) -> float:
    """What passes at least from the end of a kernel until another device can begin with what it made.

    Args:
        step: a ``Step``.
        edge: what leads from one to the other.
        one: where it is made.
        other: where it is read.
    """
    if step.host_reads[edge] == 1 and step.host >= 0 and one != other:
        other = step.host
    if one == other or step.is_signal[edge] == 1:
        return 0.0
    way = one * step.device_count + other
    if step.channel[way] < 0:
        return 0.0
    return float(step.latency[way] + step.units[edge] * step.per_unit[way])


def is_early(step: Step, edge: int, one: int) -> bool:
    """Whether a reader need not wait for the kernels before: a GPU's node that works in the host's memory, as `Shape`.

    Args:
        step: a ``Step``.
        edge: what leads to the reader.
        one: where what it reads is made.
    """
    return bool(step.host >= 0 and step.is_pool[one] == 0 and step.host_made[edge] == 1)


def takes(step: Step, node: int, one: int) -> float:
    """What a node keeps those waiting who read it; infinite where it cannot run.

    Args:
        step: a ``Step``.
        node: which.
        one: the device.
    """
    at = node * step.device_count + one
    if step.is_pool[one] == 1 and step.seconds[at] < float("inf"):
        return float(step.seconds[at] + step.starts[at])
    return float(step.seconds[at])


def earliest_ends(step: Step, order: Wholes, begin: Reals, end: Reals) -> None:
    """When each node can be done at the earliest on each device, wherever all before it are.

    Args:
        step: a ``Step``.
        order: ``[nodes]``, topological.
        begin: ``[nodes, devices]`` of zeros; written.
        end: ``[nodes, devices]``; written.
    """
    devices = step.device_count
    for node in order:
        row = node * devices
        for one in range(devices):
            end[row + one] = begin[row + one] + takes(step, node, one)
        for edge in range(step.first[node], step.first[node + 1]):
            for other in range(devices):
                arrival = earliest_arrival(step, edge, row, other, end)
                where = step.readers[edge] * devices + other
                if arrival > begin[where]:
                    begin[where] = arrival


def earliest_arrival(step: Step, edge: int, row: int, other: int, end: Reals) -> float:
    """When a reader can begin at the earliest with what an edge brings, wherever that is made.

    Args:
        step: a ``Step``.
        edge: which.
        row: where its source begins in ``end``.
        other: where the reader is.
        end: as of ``earliest_ends``.
    """
    soonest = float("inf")
    for one in range(step.device_count):
        if end[row + one] < float("inf"):
            value = 0.0
            if not is_early(step, edge, one):
                value = end[row + one] + at_least(step, edge, one, other)
            if value < soonest:
                soonest = value
    return soonest


def shortest_rests(step: Step, order: Wholes, rest: Reals) -> None:
    """What passes at least from the end of each node on each device to the end of the step, wherever all after it are.

    Args:
        step: a ``Step``.
        order: ``[nodes]``, topological.
        rest: ``[nodes, devices]`` of zeros; written.
    """
    devices = step.device_count
    for place in range(len(order) - 1, -1, -1):
        node = order[place]
        for edge in range(step.first[node], step.first[node + 1]):
            reader = step.readers[edge]
            for one in range(devices):
                if is_early(step, edge, one):
                    continue
                soonest = float("inf")
                for other in range(devices):
                    value = takes(step, reader, other) + rest[reader * devices + other]
                    value += at_least(step, edge, one, other)
                    if value < soonest:
                        soonest = value
                if soonest > rest[node * devices + one]:
                    rest[node * devices + one] = soonest
