"""Pipelines to begin with: the best division of all groups into one stretch a device.

A stretch is the difference of two down-sets, sets that have with each group all that lead to it: what goes between
stretches goes forward. Where there are too many down-sets to look at, those that an order of the groups begins with do.

Source: "Efficient Algorithms for Device Placement of DNN Graph Operators" (NeurIPS 2020), section 5.1.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from gpuplace.advisor.chains import Ground, new_state
from gpuplace.advisor.network import lines
from gpuplace.advisor.problem import Device, Ints, Problem
from gpuplace.advisor.records import Climb, Lattice

_MOST_WORK = 70_000_000
"""Differences, times numbers of devices of each kind, of the largest lattice that is divided."""
_MOST_SETS = 8192
"""Sets of the largest lattice that is made."""


def likeness(device: Device) -> tuple[Hashable, ...]:
    """What makes devices of one kind alike.

    Args:
        device: one of them.
    """
    return device.kind, device.memory, device.link, device.is_pool


def down_sets(problem: Problem, most: int) -> Lattice | None:
    """All down-sets of the groups.

    Args:
        problem: one that ``checked`` let pass.
        most: how many differences of two there may be, times numbers of devices of each kind.

    Returns:
        The lattice; None where there are more.
    """
    most = min(most, _MOST_WORK) // math.prod(len(members) + 1 for members in _alike(problem.devices))
    component, sources, readers, _ = lines(problem)
    count = int(component.max()) + 1
    most_sets = min(_MOST_SETS, int(most ** (2 / 3)))  # the fewest differences: each of many pieces in or out
    if count >= most_sets:
        return None
    before = [0] * count
    after: list[list[int]] = [[] for _ in range(count)]
    for source, reader in zip(sources.tolist(), readers.tolist()):
        before[reader] |= 1 << source
        after[source].append(reader)
    found = [0]
    number = {0: 0}
    ready = [[piece for piece in range(count) if not before[piece]]]
    grown: list[list[tuple[int, int]]] = []
    while len(grown) < len(found):
        own, pieces = found[len(grown)], ready[len(grown)]
        if 1 << len(pieces) > most_sets:  # any of them may be in a set that others are not in
            return None
        grown.append([])
        for piece in pieces:
            larger = own | 1 << piece
            if larger not in number:
                if len(found) > most_sets:
                    return None
                number[larger] = len(found)
                found.append(larger)
                others = [one for one in pieces if one != piece]
                ready.append(others + [one for one in after[piece] if not before[one] & ~larger])
            grown[-1].append((number[larger], piece))
    above = [0] * len(found)
    for at in range(len(found) - 1, -1, -1):
        for larger, _ in grown[at]:
            above[at] |= above[larger] | 1 << larger
    if sum(one.bit_count() for one in above) > most:
        return None
    ends = [_bits(one, len(found)) for one in above]
    growths = np.array([growth for growing in grown for growth in growing], np.int64).reshape(-1, 2)
    return Lattice(
        _starts([*np.bincount(component, minlength=count).tolist()]),
        np.argsort(component, kind="stable"),
        _starts([len(growing) for growing in grown]),
        growths[:, 0].copy(),
        growths[:, 1].copy(),
        _starts([len(end) for end in ends]),
        np.concatenate(ends),
    )


def prefixes(order: Ints, cuts: Ints) -> Lattice:
    """What an order of the groups begins with.

    Args:
        order: ``[groups]``.
        cuts: ``[pieces + 1]``: where each piece begins, and the end.
    """
    pieces = len(cuts) - 1
    numbers = np.arange(pieces + 1)
    return Lattice(
        cuts,
        order,
        np.minimum(np.arange(pieces + 2), pieces),
        numbers[1:].copy(),
        numbers[:-1].copy(),
        _starts([pieces - one for one in range(pieces + 1)]),
        np.concatenate([numbers[one + 1 :] for one in range(pieces + 1)]),
    )


def best_division(ground: Ground, lattice: Lattice) -> Ints | None:
    """The split of the best division into one difference of sets a device.

    Args:
        ground: of the search.
        lattice: the sets.

    Returns:
        ``[groups]``: devices; None where there is no division that fits, or too many to look at.
    """
    devices = ground.problem.devices
    alike = _alike(devices)
    sets, pairs = len(lattice.grown_start) - 1, len(lattice.larger)
    states = math.prod(len(members) + 1 for members in alike)
    if states * pairs > _MOST_WORK or len(devices) < 2:
        return None
    net, loops, walked = ground.net, ground.load_loops, ground.walked(lattice)
    state = ground.walked(new_state(ground.arrays, 0.0))
    most = np.array([len(members) for members in alike], np.int64)

    def of(array: Any) -> Any:
        return array.tolist() if ground.in_lists else array

    def whole(size: int) -> Ints:
        return np.zeros(size, np.int64)

    deepest = len(lattice.piece_start)
    climb = ground.walked(Climb(whole(sets), whole(deepest), whole(deepest), whole(deepest)))
    loads = np.zeros(len(alike) * pairs)
    for kind, members in enumerate(alike):
        own = loads[kind * pairs : (kind + 1) * pairs]
        written = of(own)
        other = next(at for at in range(len(devices)) if at != members[0])
        loops.spans(net, walked, members[0], other, state, climb, written)
        own[:] = written
    best = of(np.zeros(states * sets))
    choice = of(whole(states * sets))
    is_sum = ground.objective != "throughput"
    loops.divide(walked, len(alike), of(most), of(loads), is_sum, best, choice)
    at, end = states - 1, sets - 1
    if best[at * sets + end] == math.inf:
        return None
    result = whole(len(ground.arrays.sizes))
    left = [list(members) for members in alike]
    strides = np.cumprod([1, *(most + 1)])
    while end > 0:
        kind, begin = divmod(int(choice[at * sets + end]), sets)
        result[_between(lattice, begin, end)] = left[kind].pop()
        at -= int(strides[kind])
        end = begin
    return result


def _alike(devices: tuple[Device, ...]) -> list[list[int]]:
    kinds: dict[tuple[Hashable, ...], list[int]] = {}
    for at, device in enumerate(devices):
        kinds.setdefault(likeness(device), []).append(at)
    return list(kinds.values())


def _between(lattice: Lattice, inner: int, outer: int) -> Ints:
    """Groups of one set that another within it does not have."""
    within = np.zeros(len(lattice.grown_start) - 1, np.int64)  # one that each set is a piece more than
    last = np.zeros_like(within)
    within[lattice.grown] = np.repeat(np.arange(len(within)), np.diff(lattice.grown_start))
    last[lattice.grown] = lattice.added
    is_there = np.zeros(len(lattice.piece_start) - 1, bool)
    for one, has in ((outer, True), (inner, False)):
        while one:
            is_there[last[one]] = has
            one = int(within[one])
    return lattice.pieces[np.repeat(is_there, np.diff(lattice.piece_start))]


def _starts(lengths: list[int]) -> Ints:
    return np.cumsum([0, *lengths], dtype=np.int64)


def _bits(number: int, count: int) -> Ints:
    """Which of the lowest bits of a number are set."""
    octets = np.frombuffer(number.to_bytes((count + 7) // 8, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(octets, bitorder="little", count=count))
