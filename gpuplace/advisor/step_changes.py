"""The search of a step's time: what the step waited for, and changes to that; see ``loops`` for what loops are."""

from __future__ import annotations

from gpuplace.advisor.loops import advance, grow, keep_best, propose, shift, shift_back, uniform, weigh
from gpuplace.advisor.records import LoadState, Network, Reals, Step, StepWork, Wholes
from gpuplace.advisor.step_loops import step_time, way_of


def way_back(step: Step, work: StepWork) -> int:
    """What the step waited for, from its end back to its begin, after ``step_time``.

    Args:
        step: the ``Step``.
        work: a ``StepWork``; ``way`` and ``until`` are written: items that took time, and what they took, added up.

    Returns:
        How many items there are.
    """
    nodes = step.node_count
    devices = step.device_count
    item = work.last[0]
    is_start = work.last[1] == 1
    size = 0
    total = 0.0
    while item >= 0:
        if not is_start:
            lasts = 0.0
            if item < nodes:
                lasts = step.seconds[item * devices + work.where[item]]
            else:
                tensor = (item - nodes) // (2 * devices)
                way = way_of(step, work.where, item)
                if way // devices != way % devices:
                    lasts = step.latency[way] + step.units[tensor] * step.per_unit[way] + step.notice
            if lasts > 0.0 and size < len(work.way):
                total += lasts
                work.way[size] = item
                work.until[size] = total
                size += 1
            if work.cause[item] >= 0:
                item = work.cause[item]
                continue
        elif item < nodes and size < len(work.way):
            total += step.starts[item * devices + work.where[item]]
            work.way[size] = item
            work.until[size] = total
            size += 1
        before = work.host_cause[item]
        if before >= 0:
            if before >= nodes:
                is_start = work.by_worker[item] == 1
            else:
                is_start = step.is_pool[work.where[before]] == 0
        item = before
    return size


def propose_on_way(
    net: Network,
    step: Step,
    device: Wholes,
    work: StepWork,
    size: int,
    reach: int,
    chance: Wholes,
    state: LoadState,
) -> int:
    """A change to something that the step waited for.

    A copy is made needless, from either end, or a node goes elsewhere; often with a connected region around it.

    Args:
        net: the ``Network``.
        step: the ``Step``.
        device: ``[groups]``.
        work: a ``StepWork`` after ``way_back``.
        size: what that answered, not 0.
        reach: the most groups of a region.
        chance: see ``uniform``.
        state: a ``LoadState``; ``moved`` and ``to`` are written.

    Returns:
        How many groups are moved; 0 where the draw leads to nothing.
    """
    nodes = step.node_count
    devices = step.device_count
    draw = uniform(chance) * work.until[size - 1]
    low = 0
    high = size - 1
    while low < high:
        middle = (low + high) // 2
        if work.until[middle] < draw:
            low = middle + 1
        else:
            high = middle
    item = work.way[low]
    target = -1
    if item < nodes:
        group = step.group[item]
        begin = net.near_start[group]
        degree = net.near_start[group + 1] - begin
        if degree > 0 and uniform(chance) < 0.5:
            target = device[net.near[begin + int(uniform(chance) * degree)]]
        else:
            target = int(uniform(chance) * devices)
    else:
        tensor = (item - nodes) // (2 * devices)
        receiver = (item - nodes) // 2 % devices
        group = step.group[step.source[tensor]]
        target = receiver
        if uniform(chance) < 0.5:
            first = step.reader_start[tensor]
            span = step.reader_start[tensor + 1] - first
            shift = int(uniform(chance) * span)
            for at in range(span):
                other = step.group[step.readers[first + (at + shift) % span]]
                if device[other] == receiver:
                    target = device[group]
                    group = other
                    break
    old = device[group]
    if target == old:
        return 0
    wanted = 1
    if uniform(chance) < 0.6:
        draw = uniform(chance)
        wanted = 2 + int(draw * draw * draw * reach)
    found = grow(net, device, group, wanted, chance, state.moved, state.mark)
    count = 0
    for at in range(found):
        group = state.moved[at]
        if net.seconds[group * devices + target] < float("inf"):
            state.moved[count] = group
            state.to[count] = target
            count += 1
    return count


def anneal_steps(
    net: Network,
    step: Step,
    state: LoadState,
    work: StepWork,
    place: Wholes,
    reach: int,
    chance: Wholes,
    patience: Reals,
    heat: float,
    steps: int,
) -> None:
    """Simulated annealing of the time of a step, at one temperature; arguments as of ``anneal_loads``, and:

    Args:
        net: see ``anneal_loads``.
        step: the ``Step``.
        state: see ``anneal_loads``.
        work: a ``StepWork``.
        place: see ``anneal_loads``.
        reach: likewise.
        chance: likewise.
        patience: likewise.
        heat: likewise.
        steps: likewise.
    """
    device = state.device
    excess = weigh(net, device, state.used)
    limit = float("inf")
    energy = step_time(step, device, work, limit) + state.weight * work.total[0]
    way = way_back(step, work)
    for _ in range(steps):
        if way > 0 and uniform(chance) < 0.6:
            size = propose_on_way(net, step, device, work, way, reach, chance, state)
        else:
            size = propose(net, device, place, -1, reach, chance, state.moved, state.to, state.mark)
        if size == 0:
            continue
        after = shift(net, state, size)
        is_taken = False
        if after <= excess:
            limit = energy + heat * patience[int(uniform(chance) * len(patience))]
            if after < excess:
                limit = float("inf")
            finish = step_time(step, device, work, limit)
            changed = finish + state.weight * work.total[0]
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
        if weigh(net, state.device, state.used) < state.best[1]:
            limit = float("inf")
        keep_best(net, state, step_time(step, state.device, work, limit))
        if not advance(net, state.device):
            return number
    return steps
