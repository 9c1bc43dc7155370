"""The time of a step and its search: what the step waited for, and changes to that; see ``loops`` for what loops are.

The clock is the estimate's (`gpuplace.cost.clock`), for the devices that a split gives to nodes.
"""

from __future__ import annotations

from gpuplace.advisor.loops import (
    advance,
    grow,
    keep_best,
    propose,
    shift,
    shift_back,
    slack,
    uniform,
    weigh,
)
from gpuplace.advisor.records import LoadState, Network, Step, StepWork
from gpuplace.cost.clock import path_back, run
from gpuplace.cost.step_graph import Clock, settle
from gpuplace.numerics.compiled.arrays import Wholes


def step_time(step: Step, device: Wholes, work: StepWork, limit: float) -> float:
    """The time of one step.

    Args:
        step: a ``Step``.
        device: ``[groups]``.
        work: a ``StepWork``; written.
        limit: where it is seen that the time will be more, infinity is answered at once.
    """
    assign(step, device, work.where)
    settle(step.graph, work.where, work.clock)
    return run(step.graph, step.costs, step.ways, work.clock, step.threads, limit)


def assign(step: Step, device: Wholes, where: Wholes) -> None:
    """The devices of the nodes that the clock runs.

    Args:
        step: a ``Step``.
        device: ``[groups]``.
        where: ``[nodes of the graph]``; written.
    """
    leader, fixed, position = step.leader, step.fixed, step.position
    for node in range(len(leader)):
        group = leader[node]
        where[node] = position[device[group]] if group >= 0 else fixed[node]
    for gate in range(len(step.gates)):
        home = -1
        for at in range(step.gate_start[gate], step.gate_start[gate + 1]):
            group = step.awaited[at]
            own = position[device[group]] if group >= 0 else -1 - group
            if home < 0:
                home = own
            if own != home:
                home = step.gate_homes[gate]
                break
        where[step.gates[gate]] = home


def work_done(step: Step, work: StepWork) -> float:
    """What all kernels and copies take, one after the other, after ``step_time``.

    Args:
        step: a ``Step``.
        work: a ``StepWork``.
    """
    clock, kernel, weight = work.clock, step.costs.kernel, step.graph.weight
    items = step.graph.item_count
    total = 0.0
    for item in range(items):
        total += kernel[clock.cost[item]] * weight[item]
    for item in range(items, items + clock.copies[0]):
        total += clock.end[item] - clock.start[item]
    return total


def way_back(step: Step, work: StepWork) -> int:
    """What the step waited for, from its end back to its begin, after ``step_time``.

    Args:
        step: the ``Step``.
        work: a ``StepWork``; ``on_path``, ``on_host`` and ``until`` are written.

    Returns:
        How many items there are.
    """
    clock, items = work.clock, step.graph.item_count
    size = path_back(clock, items, items + clock.copies[0], work.on_path, work.on_host)
    total = 0.0
    for at in range(size):
        item = work.on_path[at]
        if work.on_host[at] == 0:
            total += clock.end[item] - clock.start[item]
            if item >= items:
                total += step.costs.poll
        elif item < items and (at == 0 or work.on_path[at - 1] != item):  # its start alone was waited for
            total += step.costs.host[clock.cost[item]] * step.graph.weight[item]
        work.until[at] = total
    return size


def propose_on_way(net: Network, step: Step, state: LoadState, work: StepWork, size: int) -> int:
    """A change to something that the step waited for.

    A copy is made needless, from either end, or a node goes elsewhere; often with a connected region around it.

    Args:
        net: the ``Network``.
        step: the ``Step``.
        state: a ``LoadState``; ``moved`` and ``to`` are written.
        work: a ``StepWork`` after ``way_back``.
        size: what that answered, not 0.

    Returns:
        How many groups are moved; 0 where the draw leads to nothing.
    """
    graph, clock, leader, device, chance = step.graph, work.clock, step.leader, state.device, state.chance
    draw = uniform(chance) * work.until[size - 1]
    low = 0
    high = size - 1
    while low < high:
        middle = (low + high) // 2
        if work.until[middle] < draw:
            low = middle + 1
        else:
            high = middle
    item = work.on_path[low]
    copy = item - graph.item_count
    target = -1
    group = leader[graph.node[item if copy < 0 else clock.source[copy]]]
    if copy >= 0:
        target = step.number[clock.receiver[copy]]
        if uniform(chance) < 0.5:
            reader = any_reader(step, clock, copy, chance)
            target = device[group] if group >= 0 else -1
            group = reader
    elif group >= 0:
        begin = net.near_start[group]
        degree = net.near_start[group + 1] - begin
        if degree > 0 and uniform(chance) < 0.5:
            target = device[net.near[begin + int(uniform(chance) * degree)]]
        else:
            target = int(uniform(chance) * step.device_count)
    if group < 0 or target < 0 or target == device[group]:
        return 0
    wanted = 1
    if uniform(chance) < 0.6:
        draw = uniform(chance)
        wanted = 2 + int(draw * draw * draw * state.reach)
    found = grow(net, state, group, wanted)
    count = 0
    for at in range(found):
        group = state.moved[at]
        if net.seconds[group * step.device_count + target] < float("inf"):
            state.moved[count] = group
            state.to[count] = target
            count += 1
    return count


def any_reader(step: Step, clock: Clock, copy: int, chance: Wholes) -> int:
    """A group that takes what is copied; -1 where nothing does that could move.

    Args:
        step: the ``Step``.
        clock: after ``step_time``.
        copy: number of the copy.
        chance: see ``uniform``.
    """
    graph, source = step.graph, clock.source[copy]
    first = graph.first[source]
    span = graph.first[source + 1] - first
    shift = int(uniform(chance) * span)
    for at in range(span):
        edge = first + (at + shift) % span
        reader = graph.after[edge]
        if graph.tensor[edge] == clock.carried[copy] and clock.device[reader] == clock.receiver[copy]:
            group = step.leader[graph.node[reader]]
            if group >= 0:
                return int(group)
    return -1


def anneal_steps(net: Network, step: Step, state: LoadState, work: StepWork, heat: float, steps: int) -> None:
    """Simulated annealing of the time of a step, at one temperature.

    Args:
        net, state, heat, steps: as of ``anneal_loads``.
        step: the ``Step``.
        work: a ``StepWork``.
    """
    device = state.device
    excess = weigh(net, state)
    limit = float("inf")
    energy = step_time(step, device, work, limit) + state.weight * work_done(step, work)
    way = way_back(step, work)
    for _ in range(steps):
        if way > 0 and uniform(state.chance) < 0.6:
            size = propose_on_way(net, step, state, work, way)
        else:
            size = propose(net, state, -1)
        if size == 0:
            continue
        after = shift(net, state, size)
        is_taken = False
        if after <= excess:
            limit = energy + slack(state, heat)
            if after < excess:
                limit = float("inf")
            finish = step_time(step, device, work, limit)
            changed = finish + state.weight * work_done(step, work) if finish < float("inf") else finish
            if finish < float("inf") and changed <= limit:
                is_taken = True
                energy = changed
                excess = after
                way = way_back(step, work)
                keep_best(net, state, finish)
        if not is_taken:
            shift_back(net, state, size)


def try_all_steps(net: Network, step: Step, state: LoadState, work: StepWork, steps: int) -> int:
    """The next of all splits by the time of a step; ``state.best`` and ``best_device`` keep the best.

    Args:
        net: the ``Network``.
        step: the ``Step``.
        state: its ``device`` is the last split that was tried; changed.
        work: a ``StepWork``.
        steps: how many to try.

    Returns:
        How many were tried; fewer than `steps` if that was the last.
    """
    for number in range(steps):
        limit = state.best[0]
        if weigh(net, state) < state.best[1]:
            limit = float("inf")
        keep_best(net, state, step_time(step, state.device, work, limit))
        if not advance(net, state.device):
            return number
    return steps
