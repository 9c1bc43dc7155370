"""Building blocks of all searches, in the subset of Python that numba compiles: random numbers, changes, best split.

Without numba the functions run interpreted. Both ways return the same splits: every number is a double or an integer
below 2**63, each operation is rounded separately, and random numbers come from an integer generator. Arrays have one
axis, so that Python lists can replace them. The annotations determine the compiled types.
"""

from __future__ import annotations

from gpuplace.advisor.records import LoadState, Network
from gpuplace.numerics.compiled.arrays import Reals, Wholes


def uniform(chance: Wholes) -> float:
    """Return the next random number in (0, 1).

    Source: L'Ecuyer, "Efficient and Portable Combined Random Number Generators" (1988), figure 3.

    Args:
        chance: the two numbers of the generator, which are updated.
    """
    chance[0] = chance[0] * 40014 % 2147483563
    chance[1] = chance[1] * 40692 % 2147483399
    both = chance[0] - chance[1]
    if both < 1:
        both += 2147483562
    return both * 4.656613e-10


def overflow(net: Network, used: Reals) -> float:
    """Return the missing memory of all devices together."""
    total = 0.0
    for device in range(net.device_count):
        if used[device] > net.rooms[device]:
            total += used[device] - net.rooms[device]
    return total


def propose(net: Network, state: LoadState, busy: int) -> int:
    """Draw a change: groups and their new devices.

    The change moves one group, swaps two, moves a connected region, or moves an interval of the linear order.

    Args:
        net: the ``Network``.
        state: ``moved`` and ``to`` are overwritten.
        busy: device with the largest load, whose groups are drawn more often; -1 for none.

    Returns:
        The number of groups that move; 0 if the draw is not a change.
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
    change_kind = uniform(chance)
    if degree > 0 and uniform(chance) < 0.7:
        for _ in range(4):
            target = device[net.near[first + int(uniform(chance) * degree)]]
            if target != old:
                break
    if target < 0 or target == old:
        target = int(uniform(chance) * devices)
    if target == old:
        if change_kind < 0.7:
            return 0
    size = 0
    if change_kind < 0.4:
        moved[0] = group
        to[0] = target
        size = 1
    elif change_kind < 0.55:
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
    elif change_kind < 0.85 and target != old:
        draw = uniform(chance)
        size = grow_region(net, state, group, 2 + int(draw * draw * draw * reach))
        for at in range(size):
            to[at] = target
    else:
        draw = uniform(chance)
        target_size = 1 + int(draw * draw * draw * reach)
        step = 1 if uniform(chance) < 0.5 else -1
        at = state.place[group]
        while 0 <= at < groups and device[net.order[at]] == old:  # to the end of the interval on this device
            at += step
        if 0 <= at < groups:
            target = device[net.order[at]]
        at -= step
        while 0 <= at < groups and size < target_size and device[net.order[at]] == old:
            moved[size] = net.order[at]
            to[size] = target
            size += 1
            at -= step
    for at in range(size):
        if net.seconds[moved[at] * devices + to[at]] == float("inf"):
            return 0
    return size


def grow_region(net: Network, state: LoadState, group: int, target_size: int) -> int:
    """Collect a connected region on one device.

    Args:
        net: the ``Network``.
        state: ``moved`` is overwritten.
        group: where the region starts.
        target_size: target number of groups.

    Returns:
        The number of groups in the region.
    """
    device, moved, mark = state.device, state.moved, state.mark
    old = device[group]
    mark[len(device)] += 1
    stamp = mark[len(device)]
    moved[0] = group
    mark[group] = stamp
    size = 1
    head = 0
    while head < size and size < target_size:
        member = moved[head]
        begin = net.near_start[member]
        span = net.near_start[member + 1] - begin
        offset = int(uniform(state.chance) * span)
        for step in range(span):
            neighbor = net.near[begin + (step + offset) % span]
            if device[neighbor] == old and mark[neighbor] != stamp and size < target_size:
                mark[neighbor] = stamp
                moved[size] = neighbor
                size += 1
        head += 1
    return size


def next_split(net: Network, device: Wholes) -> int:
    """Return the first group that changes from one split to the next in the enumeration; -1 after the last.

    All groups before it return to their first possible device.

    Args:
        net: the ``Network``.
        device: ``[groups]`` device of each.
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
    """Return the first device that can run a group.

    Args:
        net: the ``Network``.
        group: number of the group.
        after: device after which to start; -1 for all.
    """
    to = after + 1
    while net.seconds[group * net.device_count + to] == float("inf"):
        to += 1
    return to


def keep_best(net: Network, state: LoadState, value: float) -> None:
    """Store a state's split if it is the best so far.

    Args:
        net: the ``Network``.
        state: ``best`` and ``best_device`` are overwritten.
        value: the objective of the split.
    """
    excess = overflow(net, state.used)
    if value < float("inf") and (
        excess < state.best[1] or (excess == state.best[1] and value < state.best[0])
    ):
        state.best[0] = value
        state.best[1] = excess
        for group in range(len(state.device)):
            state.best_device[group] = state.device[group]


def acceptance_slack(state: LoadState, heat: float) -> float:
    """Draw by how much a change may be worse and still be accepted.

    Args:
        state: ``chance`` is updated.
        heat: the temperature.
    """
    return heat * state.patience[int(uniform(state.chance) * len(state.patience))]


def recompute_memory(net: Network, state: LoadState) -> float:
    """Recompute the memory of each device, and return the missing memory.

    Args:
        net: the ``Network``.
        state: ``used`` is overwritten.
    """
    device, used = state.device, state.used
    for number in range(net.device_count):
        used[number] = 0.0
    for group in range(len(device)):
        used[device[group]] += net.sizes[group]
    return overflow(net, used)


def apply_change(net: Network, state: LoadState, size: int) -> float:
    """Apply the change that ``propose`` drew, and return the missing memory.

    Args:
        net: the ``Network``.
        state: ``device`` and ``used`` are changed; ``back`` keeps the previous devices.
        size: number of groups that move.
    """
    device, used = state.device, state.used
    for at in range(size):
        group = state.moved[at]
        state.back[at] = device[group]
        used[device[group]] -= net.sizes[group]
        used[state.to[at]] += net.sizes[group]
        device[group] = state.to[at]
    return overflow(net, used)


def undo_change(net: Network, state: LoadState, size: int) -> None:
    """Undo ``apply_change``.

    Args:
        net: the ``Network``.
        state: state of the split; changed back.
        size: number of groups that moved.
    """
    device, used = state.device, state.used
    for at in range(size - 1, -1, -1):
        group = state.moved[at]
        used[device[group]] -= net.sizes[group]
        used[state.back[at]] += net.sizes[group]
        device[group] = state.back[at]


def advance(net: Network, device: Wholes) -> bool:
    """Advance to the next split in the enumeration; return False after the last.

    Args:
        net: the ``Network``.
        device: ``[groups]`` device of each; changed.
    """
    group = next_split(net, device)
    if group < 0:
        return False
    device[group] = first_device(net, group, device[group])
    for earlier in range(group):
        device[earlier] = first_device(net, earlier, -1)
    return True
