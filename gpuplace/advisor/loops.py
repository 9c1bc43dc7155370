"""What all searches share: chance, changes to try, and the best so far, in the part of Python that numba compiles.

Without numba the loops run as they stand. Both ways give the same splits: every number is a double or an integer below
2**63, each operation is rounded by itself, and chance comes from a generator of whole numbers. Arrays have one axis, so
that lists of Python's can stand for them. The annotations say which numbers each holds: the compiler goes by them.
"""

from __future__ import annotations

from gpuplace.advisor.records import LoadState, Network
from gpuplace.numerics.compiled.arrays import Reals, Wholes


def uniform(chance: Wholes) -> float:
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


def overflow(net: Network, used: Reals) -> float:
    """By how much memory is too small, all devices together."""
    total = 0.0
    for one in range(net.device_count):
        if used[one] > net.rooms[one]:
            total += used[one] - net.rooms[one]
    return total


def propose(net: Network, state: LoadState, busy: int) -> int:
    """A change to try: groups and their new devices.

    One group, two that change places, a connected region of one device, or a stretch of the linear order on one device.

    Args:
        net: the ``Network``.
        state: ``moved`` and ``to`` are written.
        busy: the device with most to do, of whose groups more are tried; -1: none.

    Returns:
        How many are moved; 0 where the draw leads to nothing.
    """
    device, chance, moved, to = state.device, state.chance, state.moved, state.to
    groups, devices, reach = len(device), net.device_count, state.reach
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
        draw = uniform(chance)
        size = grow(net, state, group, 2 + int(draw * draw * draw * reach))
        for at in range(size):
            to[at] = target
    else:
        draw = uniform(chance)
        wanted = 1 + int(draw * draw * draw * reach)
        step = 1 if uniform(chance) < 0.5 else -1
        at = state.place[group]
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


def grow(net: Network, state: LoadState, group: int, wanted: int) -> int:
    """A connected region of one device.

    Args:
        net: the ``Network``.
        state: ``moved`` is written.
        group: where it begins.
        wanted: how many groups it should have.

    Returns:
        How many groups it has.
    """
    device, moved, mark = state.device, state.moved, state.mark
    old = device[group]
    mark[len(device)] += 1
    now = mark[len(device)]
    moved[0] = group
    mark[group] = now
    size = 1
    head = 0
    while head < size and size < wanted:
        one = moved[head]
        begin = net.near_start[one]
        span = net.near_start[one + 1] - begin
        shift = int(uniform(state.chance) * span)
        for step in range(span):
            neighbour = net.near[begin + (step + shift) % span]
            if device[neighbour] == old and mark[neighbour] != now and size < wanted:
                mark[neighbour] = now
                moved[size] = neighbour
                size += 1
        head += 1
    return size


def next_split(net: Network, device: Wholes) -> int:
    """The lowest group that changes from one split to the next, when all splits are counted through; -1 after the last.

    Groups before it go back to the first device that can run them.

    Args:
        net: the ``Network``.
        device: ``[groups]``.
    """
    devices = net.device_count
    group = 0
    while group < len(device):
        for to in range(device[group] + 1, devices):
            if net.seconds[group * devices + to] < float("inf"):
                return group
        group += 1
    return -1


def first_device(net: Network, group: int, after: int) -> int:
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


def keep_best(net: Network, state: LoadState, value: float) -> None:
    """Copies the split of a state if it is its best.

    Args:
        net: the ``Network``.
        state: what the chain has in its hands.
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


def slack(state: LoadState, heat: float) -> float:
    """By how much a change may be worse, which is drawn by chance.

    Args:
        state: what the chain has in its hands.
        heat: the temperature.
    """
    return heat * state.patience[int(uniform(state.chance) * len(state.patience))]


def weigh(net: Network, state: LoadState) -> float:
    """Sums of memory from nothing; by how much it is too small.

    Args:
        net: the ``Network``.
        state: ``used`` is written.
    """
    device, used = state.device, state.used
    for one in range(net.device_count):
        used[one] = 0.0
    for group in range(len(device)):
        used[device[group]] += net.sizes[group]
    return overflow(net, used)


def shift(net: Network, state: LoadState, size: int) -> float:
    """Makes the change that ``propose`` wrote; by how much memory is too small then.

    Args:
        net: the ``Network``.
        state: ``device`` and ``used`` are changed; ``back`` keeps where groups were.
        size: how many groups are moved.
    """
    device, used = state.device, state.used
    for at in range(size):
        group = state.moved[at]
        state.back[at] = device[group]
        used[device[group]] -= net.sizes[group]
        used[state.to[at]] += net.sizes[group]
        device[group] = state.to[at]
    return overflow(net, used)


def shift_back(net: Network, state: LoadState, size: int) -> None:
    """Undoes ``shift``; arguments as there.

    Args:
        net: the ``Network``.
        state: likewise.
        size: likewise.
    """
    device, used = state.device, state.used
    for at in range(size - 1, -1, -1):
        group = state.moved[at]
        used[device[group]] -= net.sizes[group]
        used[state.back[at]] += net.sizes[group]
        device[group] = state.back[at]


def advance(net: Network, device: Wholes) -> bool:
    """Goes on to the next split, when all are counted through; false after the last.

    Args:
        net: the ``Network``.
        device: ``[groups]``; changed.
    """
    group = next_split(net, device)
    if group < 0:
        return False
    device[group] = first_device(net, group, device[group])
    for one in range(group):
        device[one] = first_device(net, one, -1)
    return True
