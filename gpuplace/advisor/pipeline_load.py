"""Largest load of a device in a pipeline, and its search; see ``annealing`` for the rules."""

from __future__ import annotations

from gpuplace.advisor.annealing import (
    acceptance_slack,
    first_device,
    keep_best,
    next_split,
    overflow,
    propose,
)
from gpuplace.advisor.records import Climb, Lattice, LoadState, Network
from gpuplace.numerics.compiled.arrays import Reals, Wholes

SPREAD = 0.05
"""Weight of the root mean square of loads relative to the largest, which alone would give the search no direction."""


def move_group(net: Network, state: LoadState, group: int, to: int) -> None:
    """Move a group, and update all sums in time proportional to its tensors.

    Args:
        net: the ``Network``.
        state: state of the split; changed.
        group: number of the group.
        to: its new device.
    """
    device, count, elsewhere, load, used = state.device, state.count, state.elsewhere, state.load, state.used
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
        if count[tensor * devices + to] > 0:  # read there before, produced there now
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


def recompute_loads(net: Network, state: LoadState) -> None:
    """Recompute all sums of a split.

    Args:
        net: the ``Network``.
        state: ``device`` is the split; the sums are overwritten.
    """
    device, count, elsewhere, load, used = state.device, state.count, state.elsewhere, state.load, state.used
    devices = net.device_count
    for number in range(devices):
        load[number] = 0.0
        used[number] = 0.0
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


def load_energy(load: Reals) -> float:
    """Return the largest load plus a small contribution of all loads."""
    top = 0.0
    squares = 0.0
    for value in load:
        if value > top:
            top = value
        squares += value * value
    return top + SPREAD * (squares / len(load)) ** 0.5


def anneal_loads(net: Network, state: LoadState, heat: float, steps: int) -> None:
    """Anneal the largest load at one temperature.

    Args:
        net: the ``Network``.
        state: state of the split; changed, and its best split kept.
        heat: temperature, in the unit of loads.
        steps: number of changes to try.
    """
    device, load, used = state.device, state.load, state.used
    recompute_loads(net, state)
    energy = load_energy(load)
    excess = overflow(net, used)
    for _ in range(steps):
        busy = 0
        for number in range(net.device_count):
            if load[number] > load[busy]:
                busy = number
        size = propose(net, state, busy)
        if size == 0:
            continue
        for at in range(size):
            group = state.moved[at]
            state.back[at] = device[group]
            move_group(net, state, group, state.to[at])
        changed = load_energy(load)
        after = overflow(net, used)
        limit = acceptance_slack(state, heat)
        if after < excess or (after == excess and changed - energy <= limit):
            energy = changed
            excess = after
            keep_best(net, state, max(load))
        else:
            for at in range(size - 1, -1, -1):
                move_group(net, state, state.moved[at], state.back[at])


def try_all_loads(net: Network, state: LoadState, steps: int) -> int:
    """Evaluate the next splits by their largest load; ``state.best`` and ``best_device`` keep the best.

    Args:
        net: the ``Network``.
        state: ``device`` is the last split that was evaluated; changed.
        steps: number of splits to evaluate.

    Returns:
        The number of splits evaluated; less than `steps` at the end.
    """
    device, load = state.device, state.load
    recompute_loads(net, state)
    for step in range(steps):
        keep_best(net, state, max(load))
        group = next_split(net, device)
        if group < 0:
            return step
        move_group(net, state, group, first_device(net, group, device[group]))
        for earlier in range(group):
            move_group(net, state, earlier, first_device(net, earlier, -1))
    return steps


def spans(
    net: Network, lattice: Lattice, kind: int, other: int, state: LoadState, climb: Climb, load: Reals
) -> None:
    """Compute the load of a device for the difference of every two sets, with all other groups on another device.

    From each set, its supersets are visited depth first; groups stay on the device until the search backtracks below
    them.

    Args:
        net: the ``Network``.
        lattice: the sets.
        kind: the device.
        other: another device for all other groups; its load is ignored.
        state: scratch space.
        climb: scratch space.
        load: a load for each of ``lattice.larger``; overwritten; infinite if the groups cannot run there or do not fit.
    """
    device, devices = state.device, net.device_count
    slot, path, next_growth, placed_pieces = climb.slot, climb.way, climb.turn, climb.put_on
    for begin in range(len(lattice.grown_start) - 1):
        for group in range(len(device)):
            device[group] = other
        recompute_loads(net, state)
        state.load[kind] = 0.0
        state.used[kind] = 0.0
        for at in range(lattice.pair_start[begin], lattice.pair_start[begin + 1]):
            slot[lattice.larger[at]] = at
            load[at] = -1.0  # not yet seen
        depth = 0
        placed_count = 0
        path[0] = begin
        next_growth[0] = lattice.grown_start[begin]
        while depth >= 0:
            at = next_growth[depth]
            if at == lattice.grown_start[path[depth] + 1]:
                depth -= 1
                continue
            next_growth[depth] += 1
            grown = lattice.grown[at]
            piece = lattice.added[at]
            if load[slot[grown]] >= 0.0:
                continue
            load[slot[grown]] = float("inf")
            is_possible = True
            for where in range(lattice.piece_start[piece], lattice.piece_start[piece + 1]):
                if net.seconds[lattice.pieces[where] * devices + kind] == float("inf"):
                    is_possible = False
            if not is_possible:
                continue
            while placed_count > depth:
                placed_count -= 1
                for where in range(
                    lattice.piece_start[placed_pieces[placed_count]],
                    lattice.piece_start[placed_pieces[placed_count] + 1],
                ):
                    move_group(net, state, lattice.pieces[where], other)
            for where in range(lattice.piece_start[piece], lattice.piece_start[piece + 1]):
                move_group(net, state, lattice.pieces[where], kind)
            placed_pieces[placed_count] = piece
            placed_count += 1
            if state.used[kind] <= net.rooms[kind]:
                load[slot[grown]] = state.load[kind]
                depth += 1
                path[depth] = grown
                next_growth[depth] = lattice.grown_start[grown]
        for at in range(lattice.pair_start[begin], lattice.pair_start[begin + 1]):
            if load[at] < 0.0:
                load[at] = float("inf")  # the sets in between do not fit


def divide(
    lattice: Lattice, kinds: int, most: Wholes, load: Reals, is_sum: bool, best: Reals, choice: Wholes
) -> None:
    """Compute the best division of all groups into set differences, one per device, by dynamic programming.

    ``best[(n_0, n_1, ...), set]`` is the best objective of the set on n_0 devices of kind 0, and so on.

    Source: "Efficient Algorithms for Device Placement of DNN Graph Operators" (NeurIPS 2020), section 5.1.

    Args:
        lattice: the sets.
        kinds: number of kinds of devices.
        most: ``[kinds]`` number of devices of each.
        load: ``[kinds, larger]``: see ``spans``.
        is_sum: whether loads add up, as for one sample; otherwise the largest counts.
        best: ``[states, sets]``; overwritten.
        choice: same shape; ``kind * sets + begin`` of the last difference, or -1; overwritten.
    """
    sets = len(lattice.grown_start) - 1
    for state in range(len(best) // sets):
        row = state * sets
        for end in range(sets):
            best[row + end] = 0.0 if end == 0 else float("inf")
            choice[row + end] = -1
        stride = 1
        for kind in range(kinds):
            if state // stride % (most[kind] + 1) > 0:
                add_device(lattice, kind, load, is_sum, row, (state - stride) * sets, best, choice)
            stride *= most[kind] + 1


def add_device(
    lattice: Lattice, kind: int, load: Reals, is_sum: bool, row: int, before: int, best: Reals, choice: Wholes
) -> None:
    """Improve the divisions of one state by those with one device less, plus one set difference.

    Args:
        lattice: the sets.
        kind: kind of the added device.
        load: as in ``divide``.
        is_sum: as in ``divide``.
        row: start of the state in ``best``.
        before: start of the state without the device in ``best``.
        best: as in ``divide``; overwritten.
        choice: as in ``divide``; overwritten.
    """
    sets = len(lattice.grown_start) - 1
    loads = kind * len(lattice.larger)
    for end in range(1, sets):
        if best[before + end] < best[row + end]:  # the device stays empty
            best[row + end] = best[before + end]
            choice[row + end] = kind * sets + end
    for begin in range(sets - 2, -1, -1):
        if best[before + begin] == float("inf"):
            continue
        for at in range(lattice.pair_start[begin], lattice.pair_start[begin + 1]):
            value = best[before + begin]
            own = load[loads + at]
            if is_sum:
                value += own
            elif own > value:
                value = own
            if value < best[row + lattice.larger[at]]:
                best[row + lattice.larger[at]] = value
                choice[row + lattice.larger[at]] = kind * sets + begin
