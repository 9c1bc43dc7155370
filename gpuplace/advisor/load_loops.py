"""The largest load of a device, of a pipeline's steps; see ``loops`` for what loops are."""

from __future__ import annotations

from gpuplace.advisor.loops import (
    first_device,
    keep_best,
    next_split,
    overflow,
    propose,
    slack,
)
from gpuplace.advisor.records import Climb, Lattice, LoadState, Network
from gpuplace.numerics.compiled.arrays import Reals, Wholes

SPREAD = 0.05
"""How much the root mean square of loads counts beside the largest, which alone would not say which way is down."""


def put(net: Network, state: LoadState, group: int, to: int) -> None:
    """Moves one group and keeps all sums right, in the time of its tensors.

    Args:
        net: the ``Network``.
        state: of the split; changed.
        group: which.
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


def tally(net: Network, state: LoadState) -> None:
    """Sums of a split from nothing.

    Args:
        net: the ``Network``.
        state: of which ``device`` is the split, and the sums are written.
    """
    device, count, elsewhere, load, used = state.device, state.count, state.elsewhere, state.load, state.used
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


def worst(load: Reals) -> float:
    """The largest load and a little of all others."""
    top = 0.0
    squares = 0.0
    for value in load:
        if value > top:
            top = value
        squares += value * value
    return top + SPREAD * (squares / len(load)) ** 0.5


def anneal_loads(net: Network, state: LoadState, heat: float, steps: int) -> None:
    """Simulated annealing of the largest load, at one temperature.

    Args:
        net: the ``Network``.
        state: of the split; changed, and its best kept.
        heat: the temperature, in the unit of loads.
        steps: how many changes to try.
    """
    device, load, used = state.device, state.load, state.used
    tally(net, state)
    energy = worst(load)
    excess = overflow(net, used)
    for _ in range(steps):
        busy = 0
        for one in range(net.device_count):
            if load[one] > load[busy]:
                busy = one
        size = propose(net, state, busy)
        if size == 0:
            continue
        for at in range(size):
            group = state.moved[at]
            state.back[at] = device[group]
            put(net, state, group, state.to[at])
        changed = worst(load)
        after = overflow(net, used)
        limit = slack(state, heat)
        if after < excess or (after == excess and changed - energy <= limit):
            energy = changed
            excess = after
            keep_best(net, state, max(load))
        else:
            for at in range(size - 1, -1, -1):
                put(net, state, state.moved[at], state.back[at])


def try_all_loads(net: Network, state: LoadState, steps: int) -> int:
    """The next of all splits by their largest load; ``state.best`` and ``best_device`` keep the best.

    Args:
        net: the ``Network``.
        state: its ``device`` is the last split that was tried; changed.
        steps: how many to try.

    Returns:
        How many were tried; fewer than `steps` if that was the last.
    """
    device, load = state.device, state.load
    tally(net, state)
    for step in range(steps):
        keep_best(net, state, max(load))
        group = next_split(net, device)
        if group < 0:
            return step
        put(net, state, group, first_device(net, group, device[group]))
        for one in range(group):
            put(net, state, one, first_device(net, one, -1))
    return steps


def spans(
    net: Network, lattice: Lattice, kind: int, other: int, state: LoadState, climb: Climb, load: Reals
) -> None:
    """What the difference of every two sets would be as the whole of one device, the rest on others.

    From each set, those above it are walked to depth first; what is on the device stays there until a way branches off
    below it.

    Args:
        net: the ``Network``.
        lattice: the sets.
        kind: the device.
        other: another device for all the rest; its own load is not looked at.
        state: to work with.
        climb: likewise.
        load: one for each of ``lattice.larger``; written: infinite where it cannot run there or does not fit.
    """
    device, devices = state.device, net.device_count
    slot, way, turn, put_on = climb.slot, climb.way, climb.turn, climb.put_on
    for begin in range(len(lattice.grown_start) - 1):
        for group in range(len(device)):
            device[group] = other
        tally(net, state)
        state.load[kind] = 0.0
        state.used[kind] = 0.0
        for at in range(lattice.pair_start[begin], lattice.pair_start[begin + 1]):
            slot[lattice.larger[at]] = at
            load[at] = -1.0  # not yet seen
        depth = 0
        held = 0
        way[0] = begin
        turn[0] = lattice.grown_start[begin]
        while depth >= 0:
            at = turn[depth]
            if at == lattice.grown_start[way[depth] + 1]:
                depth -= 1
                continue
            turn[depth] += 1
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
            while held > depth:
                held -= 1
                for where in range(lattice.piece_start[put_on[held]], lattice.piece_start[put_on[held] + 1]):
                    put(net, state, lattice.pieces[where], other)
            for where in range(lattice.piece_start[piece], lattice.piece_start[piece + 1]):
                put(net, state, lattice.pieces[where], kind)
            put_on[held] = piece
            held += 1
            if state.used[kind] <= net.rooms[kind]:
                load[slot[grown]] = state.load[kind]
                depth += 1
                way[depth] = grown
                turn[depth] = lattice.grown_start[grown]
        for at in range(lattice.pair_start[begin], lattice.pair_start[begin + 1]):
            if load[at] < 0.0:
                load[at] = float("inf")  # what leads there does not fit


def divide(
    lattice: Lattice, kinds: int, most: Wholes, load: Reals, is_sum: bool, best: Reals, choice: Wholes
) -> None:
    """The best division of all groups into differences of sets, each the whole of one device.

    ``best[(n_0, n_1, ...), set]`` is the best that the set comes to on n_0 devices of kind 0, and so on.

    Source: "Efficient Algorithms for Device Placement of DNN Graph Operators" (NeurIPS 2020), section 5.1.

    Args:
        lattice: the sets.
        kinds: how many kinds of devices there are.
        most: ``[kinds]``: how many devices of each.
        load: ``[kinds, larger]``: see ``spans``.
        is_sum: whether loads add up, as those of one sample do, or the largest counts.
        best: ``[states, sets]``; written.
        choice: the same, ``kind * sets + begin`` of the last difference; -1: none. Written.
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
    """Improve the divisions of one state by those with one device less, and one more difference.

    Args:
        lattice: the sets.
        kind: of the device that is added.
        load: as of ``divide``.
        is_sum: likewise.
        row: where the state begins in ``best``.
        before: where the one without the device does.
        best: as of ``divide``; written.
        choice: likewise.
    """
    sets = len(lattice.grown_start) - 1
    loads = kind * len(lattice.larger)
    for end in range(1, sets):
        if best[before + end] < best[row + end]:  # a device with nothing
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
