"""Time of a step, and its search by changes on the critical path; see ``annealing`` for the rules.

The clock is the estimate's (`gpuplace.cost.clock`), with nodes on the devices of the split.
"""

from __future__ import annotations

from gpuplace.advisor.annealing import (
    acceptance_slack,
    advance,
    apply_change,
    grow_region,
    keep_best,
    propose,
    recompute_memory,
    undo_change,
    uniform,
)
from gpuplace.advisor.records import LoadState, Network, Step, StepWork
from gpuplace.cost.clock import path_back, run
from gpuplace.cost.step_graph import Clock, settle
from gpuplace.numerics.compiled.arrays import Wholes


def step_time(step: Step, device: Wholes, work: StepWork, limit: float) -> float:
    """Return the time of one step.

    Args:
        step: the ``Step``.
        device: ``[groups]`` device of each.
        work: scratch space; overwritten.
        limit: time above which infinity may be returned early.
    """
    assign(step, device, work.where)
    settle(step.graph, work.where, work.clock)
    return run(step.graph, step.costs, step.ways, work.clock, step.threads, limit)


def assign(step: Step, device: Wholes, where: Wholes) -> None:
    """Set the devices of the nodes that the clock runs.

    Args:
        step: the ``Step``.
        device: ``[groups]`` device of each.
        where: ``[nodes of the graph]``; overwritten.
    """
    leader, fixed, position = step.leader, step.fixed, step.position
    for node in range(len(leader)):
        group = leader[node]
        where[node] = position[device[group]] if group >= 0 else fixed[node]
    for barrier in range(len(step.barriers)):
        home = -1
        for at in range(step.barrier_start[barrier], step.barrier_start[barrier + 1]):
            group = step.awaited[at]
            awaited_device = position[device[group]] if group >= 0 else -1 - group
            if home < 0:
                home = awaited_device
            if awaited_device != home:
                home = step.barrier_homes[barrier]
                break
        where[step.barriers[barrier]] = home


def work_done(step: Step, work: StepWork) -> float:
    """Return the total time of all kernels and copies, after ``step_time``.

    Args:
        step: the ``Step``.
        work: scratch space of ``step_time``.
    """
    clock, kernel, weight = work.clock, step.costs.kernel, step.graph.weight
    items = step.graph.item_count
    total = 0.0
    for item in range(items):
        total += kernel[clock.cost[item]] * weight[item]
    for item in range(items, items + clock.copies[0]):
        total += clock.end[item] - clock.start[item]
    return total


def trace_critical_path(step: Step, work: StepWork) -> int:
    """Trace the critical path from the end of the step back to its start, after ``step_time``.

    Args:
        step: the ``Step``.
        work: scratch space of ``step_time``; ``on_path``, ``on_host`` and ``until`` are overwritten.

    Returns:
        The length of the path.
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
        elif item < items and (at == 0 or work.on_path[at - 1] != item):  # only its start is on the path
            total += step.costs.host[clock.cost[item]] * step.graph.weight[item]
        work.until[at] = total
    return size


def propose_on_critical_path(net: Network, step: Step, state: LoadState, work: StepWork, size: int) -> int:
    """Draw a change to an item of the critical path.

    To avoid a copy, one of its ends moves; otherwise a node moves, often with a connected region around it.

    Args:
        net: the ``Network``.
        step: the ``Step``.
        state: state of the chain; ``moved`` and ``to`` are overwritten.
        work: scratch space after ``trace_critical_path``.
        size: length of the critical path, not 0.

    Returns:
        The number of groups that move; 0 if the draw is not a change.
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
            reader = random_consumer(step, clock, copy, chance)
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
    target_size = 1
    if uniform(chance) < 0.6:
        draw = uniform(chance)
        target_size = 2 + int(draw * draw * draw * state.reach)
    region_size = grow_region(net, state, group, target_size)
    count = 0
    for at in range(region_size):
        group = state.moved[at]
        if net.seconds[group * step.device_count + target] < float("inf"):
            state.moved[count] = group
            state.to[count] = target
            count += 1
    return count


def random_consumer(step: Step, clock: Clock, copy: int, chance: Wholes) -> int:
    """Return a random group that consumes a copy; -1 if no movable group does.

    Args:
        step: the ``Step``.
        clock: clock after ``step_time``.
        copy: number of the copy.
        chance: state of the random number generator.
    """
    graph, source = step.graph, clock.source[copy]
    first = graph.first[source]
    span = graph.first[source + 1] - first
    offset = int(uniform(chance) * span)
    for at in range(span):
        edge = first + (at + offset) % span
        reader = graph.after[edge]
        if graph.tensor[edge] == clock.carried[copy] and clock.device[reader] == clock.receiver[copy]:
            group = step.leader[graph.node[reader]]
            if group >= 0:
                return int(group)
    return -1


def anneal_steps(net: Network, step: Step, state: LoadState, work: StepWork, heat: float, steps: int) -> None:
    """Anneal the time of a step at one temperature.

    Args:
        net: see ``anneal_loads``, also for ``state``, ``heat`` and ``steps``.
        step: the ``Step``.
        work: scratch space.
    """
    device = state.device
    excess = recompute_memory(net, state)
    limit = float("inf")
    energy = step_time(step, device, work, limit) + state.weight * work_done(step, work)
    path_length = trace_critical_path(step, work)
    for _ in range(steps):
        if path_length > 0 and uniform(state.chance) < 0.6:
            size = propose_on_critical_path(net, step, state, work, path_length)
        else:
            size = propose(net, state, -1)
        if size == 0:
            continue
        after = apply_change(net, state, size)
        is_accepted = False
        if after <= excess:
            limit = energy + acceptance_slack(state, heat)
            if after < excess:
                limit = float("inf")
            finish = step_time(step, device, work, limit)
            changed = finish + state.weight * work_done(step, work) if finish < float("inf") else finish
            if finish < float("inf") and changed <= limit:
                is_accepted = True
                energy = changed
                excess = after
                path_length = trace_critical_path(step, work)
                keep_best(net, state, finish)
        if not is_accepted:
            undo_change(net, state, size)


def try_all_steps(net: Network, step: Step, state: LoadState, work: StepWork, steps: int) -> int:
    """Evaluate the next splits by the time of a step; ``state.best`` and ``best_device`` keep the best.

    Args:
        net: the ``Network``.
        step: the ``Step``.
        state: ``device`` is the last split that was evaluated; changed.
        work: scratch space.
        steps: number of splits to evaluate.

    Returns:
        The number of splits evaluated; less than `steps` at the end.
    """
    for number in range(steps):
        limit = state.best[0]
        if recompute_memory(net, state) < state.best[1]:
            limit = float("inf")
        keep_best(net, state, step_time(step, state.device, work, limit))
        if not advance(net, state.device):
            return number
    return steps
