"""The loops of the search, in the part of Python that numba compiles; without numba they run as they stand.

Both ways give the same splits: every number is a double or an integer below 2**63, each operation is rounded by itself,
and chance comes from a generator of whole numbers. Arrays have one axis, so that lists of Python's can stand for them.
"""

from __future__ import annotations

from typing import Any

SPREAD = 0.05
"""How much the root mean square of loads counts beside the largest, which alone would not say which way is down."""


def uniform(chance: Any) -> float:
    """The next number in (0, 1).

    Source: L'Ecuyer, "Efficient and Portable Combined Random Number Generators" (1988), figure 3.

    Args:
        chance: the generator's two numbers, which are moved on.
    """
    chance[0] = chance[0] * 40014 % 2147483563
    chance[1] = chance[1] * 40692 % 2147483399
    both = chance[0] - chance[1]
    if both < 1:
        both += 2147483562
    return both * 4.656613e-10


def put(net: Any, device: Any, count: Any, elsewhere: Any, load: Any, used: Any, group: int, to: int) -> None:
    """Moves one group and keeps all sums right, in the time of its tensors.

    Args:
        net: the ``Network``.
        device: ``[groups]``, changed.
        count: ``[tensors, devices]``: readers of each tensor there; changed.
        elsewhere: ``[tensors]``: how many other devices read it; changed.
        load: ``[devices]``; changed.
        used: ``[devices]``: memory; changed.
        group: which.
        to: its new device.
    """
    devices = net.device_count
    old = device[group]
    if old == to:
        return
    load[old] -= net.seconds[group * devices + old]
    load[to] += net.seconds[group * devices + to]
    used[old] -= net.sizes[group]
    used[to] += net.sizes[group]
    for at in range(net.out_start[group], net.out_start[group + 1]):
        tensor = net.tensors_out[at]
        cost = net.cost[tensor]
        others = elsewhere[tensor]
        if others > 0:
            load[old] -= cost * net.links[old]
        if count[tensor * devices + to] > 0:  # read there before, made there now
            load[to] -= cost * net.links[to]
            others -= 1
        if count[tensor * devices + old] > 0:
            load[old] += cost * net.links[old]
            others += 1
        if others > 0:
            load[to] += cost * net.links[to]
        elsewhere[tensor] = others
    for at in range(net.in_start[group], net.in_start[group + 1]):
        tensor = net.tensors_in[at]
        cost = net.cost[tensor]
        home = device[net.source[tensor]]
        row = tensor * devices
        count[row + old] -= 1
        if count[row + old] == 0 and old != home:
            load[old] -= cost * net.links[old]
            elsewhere[tensor] -= 1
            if elsewhere[tensor] == 0:
                load[home] -= cost * net.links[home]
        count[row + to] += 1
        if count[row + to] == 1 and to != home:
            load[to] += cost * net.links[to]
            elsewhere[tensor] += 1
            if elsewhere[tensor] == 1:
                load[home] += cost * net.links[home]
    device[group] = to


def tally(net: Any, device: Any, count: Any, elsewhere: Any, load: Any, used: Any) -> None:
    """Sums of a split from nothing; arguments as of ``put``, of which all but the first two are written."""
    devices = net.device_count
    for one in range(devices):
        load[one] = 0.0
        used[one] = 0.0
    for at in range(len(count)):
        count[at] = 0
    for group in range(len(device)):
        load[device[group]] += net.seconds[group * devices + device[group]]
        used[device[group]] += net.sizes[group]
    for tensor in range(len(elsewhere)):
        home = device[net.source[tensor]]
        others = 0
        for at in range(net.reader_start[tensor], net.reader_start[tensor + 1]):
            there = device[net.readers[at]]
            count[tensor * devices + there] += 1
            if there != home and count[tensor * devices + there] == 1:
                load[there] += net.cost[tensor] * net.links[there]
                others += 1
        if others > 0:
            load[home] += net.cost[tensor] * net.links[home]
        elsewhere[tensor] = others


def worst(load: Any) -> float:
    """The largest load and a little of all others."""
    top = 0.0
    squares = 0.0
    for value in load:
        if value > top:
            top = value
        squares += value * value
    return top + SPREAD * (squares / len(load)) ** 0.5


def overflow(net: Any, used: Any) -> float:
    """By how much memory is too small, all devices together."""
    total = 0.0
    for one in range(net.device_count):
        if used[one] > net.rooms[one]:
            total += used[one] - net.rooms[one]
    return total


def propose(
    net: Any, device: Any, place: Any, busy: int, reach: int, chance: Any, moved: Any, to: Any, mark: Any
) -> int:
    """A change to try: groups and their new devices.

    One group, two that change places, a connected region of one device, or a stretch of the linear order on one device.

    Args:
        net: the ``Network``.
        device: ``[groups]``.
        place: ``[groups]``: where each is in ``net.order``.
        busy: the device with most to do, of whose groups more are tried; -1: none.
        reach: the most groups of a region.
        chance: see ``uniform``.
        moved: ``[groups]``: written, the groups.
        to: ``[groups]``: written, their devices.
        mark: ``[groups + 1]`` of whole numbers that the last one, which counts calls, is not yet among.

    Returns:
        How many are moved; 0 where the draw leads to nothing.
    """
    groups = len(device)
    devices = net.device_count
    group = int(uniform(chance) * groups)
    if busy >= 0 and uniform(chance) < 0.5:
        for _ in range(8):
            if device[group] == busy:
                break
            group = int(uniform(chance) * groups)
    old = device[group]
    first = net.near_start[group]
    degree = net.near_start[group + 1] - first
    target = -1
    kind = uniform(chance)
    if degree > 0 and uniform(chance) < 0.7:
        for _ in range(4):
            target = device[net.near[first + int(uniform(chance) * degree)]]
            if target != old:
                break
    if target < 0 or target == old:
        target = int(uniform(chance) * devices)
    if target == old:
        if kind < 0.7:
            return 0
    size = 0
    if kind < 0.4:
        moved[0] = group
        to[0] = target
        size = 1
    elif kind < 0.55:
        other = int(uniform(chance) * groups)
        for _ in range(16):
            if device[other] == target:
                break
            other = int(uniform(chance) * groups)
        if device[other] != target:
            return 0
        moved[0] = group
        to[0] = target
        moved[1] = other
        to[1] = old
        size = 2
    elif kind < 0.85 and target != old:
        mark[groups] += 1
        now = mark[groups]
        draw = uniform(chance)
        wanted = 2 + int(draw * draw * draw * reach)
        moved[0] = group
        mark[group] = now
        size = 1
        head = 0
        while head < size and size < wanted:
            one = moved[head]
            begin = net.near_start[one]
            span = net.near_start[one + 1] - begin
            shift = int(uniform(chance) * span)
            for step in range(span):
                neighbour = net.near[begin + (step + shift) % span]
                if device[neighbour] == old and mark[neighbour] != now and size < wanted:
                    mark[neighbour] = now
                    moved[size] = neighbour
                    size += 1
            head += 1
        for at in range(size):
            to[at] = target
    else:
        draw = uniform(chance)
        wanted = 1 + int(draw * draw * draw * reach)
        step = 1 if uniform(chance) < 0.5 else -1
        at = place[group]
        while 0 <= at < groups and device[net.order[at]] == old:  # to where another device begins
            at += step
        if 0 <= at < groups:
            target = device[net.order[at]]
        at -= step
        while 0 <= at < groups and size < wanted and device[net.order[at]] == old:
            moved[size] = net.order[at]
            to[size] = target
            size += 1
            at -= step
    for at in range(size):
        if net.seconds[moved[at] * devices + to[at]] == float("inf"):
            return 0
    return size


def anneal_loads(
    net: Any, state: Any, place: Any, reach: int, chance: Any, patience: Any, heat: float, steps: int
) -> None:
    """Simulated annealing of the largest load, at one temperature.

    Args:
        net: the ``Network``.
        state: ``LoadState``; changed, and its best kept.
        place: see ``propose``.
        reach: likewise.
        chance: see ``uniform``.
        patience: exponential numbers in the order of their quantiles, by which what is worse is let pass.
        heat: the temperature, in the unit of loads.
        steps: how many changes to try.
    """
    device, count, elsewhere, load, used = state.device, state.count, state.elsewhere, state.load, state.used
    tally(net, device, count, elsewhere, load, used)
    energy = worst(load)
    excess = overflow(net, used)
    for _ in range(steps):
        busy = 0
        for one in range(net.device_count):
            if load[one] > load[busy]:
                busy = one
        size = propose(net, device, place, busy, reach, chance, state.moved, state.to, state.mark)
        if size == 0:
            continue
        for at in range(size):
            group = state.moved[at]
            state.back[at] = device[group]
            put(net, device, count, elsewhere, load, used, group, state.to[at])
        changed = worst(load)
        after = overflow(net, used)
        limit = heat * patience[int(uniform(chance) * len(patience))]
        if after < excess or (after == excess and changed - energy <= limit):
            energy = changed
            excess = after
            keep_best(net, state, max(load))
        else:
            for at in range(size - 1, -1, -1):
                put(net, device, count, elsewhere, load, used, state.moved[at], state.back[at])


def latency(blocks: Any, device: Any, work: Any, cost: Any) -> float:
    """The time of one sample; infinite where blocks wait for each other.

    On a device that is no pool, what a node waits for outside the device and what that waits for on it cannot be one
    block: the n-th block has the nodes on whose way lie at most n - 1 such returns.

    Args:
        blocks: the ``Blocks``.
        device: ``[groups]``.
        work: a ``BlockWork``; written.
        cost: ``[1]``: written, what all blocks do and carry, one after the other.
    """
    devices = blocks.device_count
    nodes = blocks.node_count
    turns, block, ready, busy, waits = work.turns, work.block, work.ready, work.busy, work.waits
    head, following, last, table, queue = work.head, work.following, work.last, work.table, work.queue
    found = 0
    for node in range(nodes):
        here = device[blocks.group[node]]
        row = node * devices
        for one in range(devices):
            turns[row + one] = 0
        turn = 1
        for at in range(blocks.before_start[node], blocks.before_start[node + 1]):
            source = blocks.before[at]
            other = source * devices
            for one in range(devices):
                if turns[other + one] > turns[row + one]:
                    turns[row + one] = turns[other + one]
            if device[blocks.group[source]] == here:
                if turns[other + here] > turn:
                    turn = turns[other + here]
            elif turns[other + here] + 1 > turn:
                turn = turns[other + here] + 1
        one = -1
        if blocks.is_pool[here] == 0:
            turns[row + here] = turn
            one = table[here * (nodes + 1) + turn]
        if one < 0:
            one = found
            found += 1
            ready[one] = 0.0
            busy[one] = 0.0
            waits[one] = 0
            head[one] = -1
            last[one] = -1
            if blocks.is_pool[here] == 0:
                table[here * (nodes + 1) + turn] = one
        block[node] = one
        busy[one] += blocks.seconds[row + here]
        following[node] = head[one]
        head[one] = node
    for node in range(nodes):
        mine = block[node]
        here = device[blocks.group[node]]
        table[here * (nodes + 1) + turns[node * devices + here]] = -1  # as it was before this call
        is_sent = False
        for at in range(blocks.after_start[node], blocks.after_start[node + 1]):
            reader = blocks.after[at]
            other = block[reader]
            if other != mine:
                waits[other] += 1
                is_sent = True
                if last[other] != node:
                    last[other] = node
                    busy[other] += blocks.transfer[node] * blocks.links[device[blocks.group[reader]]]
        if is_sent:
            busy[mine] += blocks.transfer[node] * blocks.links[here]
    tail = 0
    for one in range(found):
        if waits[one] == 0:
            queue[tail] = one
            tail += 1
    at = 0
    finish = 0.0
    total = 0.0
    while at < tail:
        one = queue[at]
        at += 1
        done = ready[one] + busy[one]
        total += busy[one]
        if done > finish:
            finish = done
        node = head[one]
        while node >= 0:
            for where in range(blocks.after_start[node], blocks.after_start[node + 1]):
                other = block[blocks.after[where]]
                if other != one:
                    if done > ready[other]:
                        ready[other] = done
                    waits[other] -= 1
                    if waits[other] == 0:
                        queue[tail] = other
                        tail += 1
            node = following[node]
    cost[0] = total
    return finish if tail == found else float("inf")


def anneal_latency(
    net: Any,
    blocks: Any,
    state: Any,
    work: Any,
    place: Any,
    reach: int,
    chance: Any,
    patience: Any,
    heat: float,
    steps: int,
) -> None:
    """Simulated annealing of the time of one sample, at one temperature; arguments as of ``anneal_loads``, and:

    Args:
        net: see ``anneal_loads``.
        blocks: the ``Blocks``.
        state: see ``anneal_loads``.
        work: a ``BlockWork``.
        place: see ``anneal_loads``.
        reach: likewise.
        chance: likewise.
        patience: likewise.
        heat: likewise.
        steps: likewise.
    """
    device, used = state.device, state.used
    total = state.total
    for one in range(net.device_count):
        used[one] = 0.0
    for group in range(len(device)):
        used[device[group]] += net.sizes[group]
    finish = latency(blocks, device, work, total)
    energy = finish + state.weight * total[0]
    excess = overflow(net, used)
    for _ in range(steps):
        size = propose(net, device, place, -1, reach, chance, state.moved, state.to, state.mark)
        if size == 0:
            continue
        for at in range(size):
            group = state.moved[at]
            used[device[group]] -= net.sizes[group]
            used[state.to[at]] += net.sizes[group]
        after = overflow(net, used)
        is_taken = False
        if after <= excess:
            for at in range(size):
                group = state.moved[at]
                state.back[at] = device[group]
                device[group] = state.to[at]
            finish = latency(blocks, device, work, total)
            changed = finish + state.weight * total[0]
            limit = heat * patience[int(uniform(chance) * len(patience))]
            is_taken = finish < float("inf") and (after < excess or changed - energy <= limit)
            if not is_taken:
                for at in range(size - 1, -1, -1):
                    device[state.moved[at]] = state.back[at]
        if is_taken:
            energy = changed
            excess = after
            keep_best(net, state, finish)
        else:
            for at in range(size):
                group = state.moved[at]
                used[state.to[at]] -= net.sizes[group]
                used[device[group]] += net.sizes[group]


def spans(net: Any, order: Any, cuts: Any, kind: int, other: int, state: Any, load: Any, size: Any) -> None:
    """What every stretch of an order would be as the whole of one device, the rest on others.

    Args:
        net: the ``Network``.
        order: ``[groups]``.
        cuts: ``[pieces + 1]``: where the stretches may begin and end.
        kind: the device.
        other: another device for all the rest; its own load is not looked at.
        state: a ``LoadState`` to work with.
        load: ``[pieces * pieces]``: written, at ``first * pieces + last``; infinite where it cannot run there.
        size: the same of memory.
    """
    pieces = len(cuts) - 1
    groups = len(order)
    device, count, elsewhere = state.device, state.count, state.elsewhere
    for first in range(pieces):
        for group in range(groups):
            device[group] = other
        tally(net, device, count, elsewhere, state.load, state.used)
        state.load[kind] = 0.0
        state.used[kind] = 0.0
        is_possible = True
        for last in range(first, pieces):
            at = cuts[last]
            while at < cuts[last + 1] and is_possible:
                group = order[at]
                if net.seconds[group * net.device_count + kind] == float("inf"):
                    is_possible = False
                else:
                    put(net, device, count, elsewhere, state.load, state.used, group, kind)
                at += 1
            load[first * pieces + last] = state.load[kind] if is_possible else float("inf")
            size[first * pieces + last] = state.used[kind]
            if not is_possible or state.used[kind] > net.rooms[kind]:
                for rest in range(last, pieces):
                    load[first * pieces + rest] = float("inf")
                break


def divide(pieces: int, kinds: int, most: Any, load: Any, is_sum: bool, best: Any, choice: Any) -> None:
    """The best division of an order into stretches, each the whole of one device.

    ``best[(n_0, n_1, ...), end]`` is the best that the first `end` pieces come to on n_0 devices of kind 0, and so on.

    Args:
        pieces: how many pieces the order has.
        kinds: how many kinds of devices there are.
        most: ``[kinds]``: how many devices of each.
        load: ``[kinds * pieces * pieces]``: see ``spans``.
        is_sum: whether loads add up, as those of one sample do, or the largest counts.
        best: ``[states * (pieces + 1)]``; written.
        choice: the same, ``kind * (pieces + 1) + begin`` of the last stretch; -1: none. Written.
    """
    states = len(best) // (pieces + 1)
    for state in range(states):
        for end in range(pieces + 1):
            best[state * (pieces + 1) + end] = 0.0 if end == 0 else float("inf")
            choice[state * (pieces + 1) + end] = -1
        stride = 1
        for kind in range(kinds):
            if state // stride % (most[kind] + 1) > 0:
                before = (state - stride) * (pieces + 1)
                for end in range(1, pieces + 1):
                    at = state * (pieces + 1) + end
                    if best[before + end] < best[at]:  # a device with nothing
                        best[at] = best[before + end]
                        choice[at] = kind * (pieces + 1) + end
                    for begin in range(end - 1, -1, -1):
                        own = load[(kind * pieces + begin) * pieces + end - 1]
                        if own == float("inf"):
                            continue
                        value = best[before + begin]
                        if is_sum:
                            value += own
                        elif own > value:
                            value = own
                        if value < best[at]:
                            best[at] = value
                            choice[at] = kind * (pieces + 1) + begin
            stride *= most[kind] + 1


def next_split(net: Any, device: Any, group: int) -> int:
    """The lowest group that changes from one split to the next, when all splits are counted through; -1 after the last.

    Groups before it go back to the first device that can run them.

    Args:
        net: the ``Network``.
        device: ``[groups]``.
        group: where to begin, 0.
    """
    devices = net.device_count
    while group < len(device):
        for to in range(device[group] + 1, devices):
            if net.seconds[group * devices + to] < float("inf"):
                return group
        group += 1
    return -1


def first_device(net: Any, group: int, after: int) -> int:
    """The first device that can run a group.

    Args:
        net: the ``Network``.
        group: which.
        after: only devices after this one; -1: any.
    """
    to = after + 1
    while net.seconds[group * net.device_count + to] == float("inf"):
        to += 1
    return to


def try_all_loads(net: Any, state: Any, steps: int) -> int:
    """The next of all splits by their largest load; ``state.best`` and ``best_device`` keep the best.

    Args:
        net: the ``Network``.
        state: a ``LoadState`` whose ``device`` is the last split that was tried; changed.
        steps: how many to try.

    Returns:
        How many were tried; fewer than `steps` if that was the last.
    """
    device, count, elsewhere, load, used = state.device, state.count, state.elsewhere, state.load, state.used
    tally(net, device, count, elsewhere, load, used)
    for step in range(steps):
        keep_best(net, state, max(load))
        group = next_split(net, device, 0)
        if group < 0:
            return step
        put(net, device, count, elsewhere, load, used, group, first_device(net, group, device[group]))
        for one in range(group):
            put(net, device, count, elsewhere, load, used, one, first_device(net, one, -1))
    return steps


def try_all_latencies(net: Any, blocks: Any, state: Any, work: Any, steps: int) -> int:
    """The same by the time of one sample.

    Args:
        net: the ``Network``.
        blocks: the ``Blocks``.
        state: as of ``try_all_loads``.
        work: a ``BlockWork``.
        steps: how many to try.
    """
    device = state.device
    for step in range(steps):
        for one in range(net.device_count):
            state.used[one] = 0.0
        for group in range(len(device)):
            state.used[device[group]] += net.sizes[group]
        keep_best(net, state, latency(blocks, device, work, state.total))
        group = next_split(net, device, 0)
        if group < 0:
            return step
        device[group] = first_device(net, group, device[group])
        for one in range(group):
            device[one] = first_device(net, one, -1)
    return steps


def keep_best(net: Any, state: Any, value: float) -> None:
    """Copies the split of a state if it is its best.

    Args:
        net: the ``Network``.
        state: a ``LoadState``.
        value: the split's objective.
    """
    excess = overflow(net, state.used)
    if value < float("inf") and (
        excess < state.best[1] or (excess == state.best[1] and value < state.best[0])
    ):
        state.best[0] = value
        state.best[1] = excess
        for one in range(len(state.device)):
            state.best_device[one] = state.device[one]
