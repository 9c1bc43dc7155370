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
        grown.append([])
        for piece in pieces:
            larger = own | 1 << piece
            if larger not in number:
                if len(found) ** 1.5 > most:  # each piece in or out, of many: so few differences at least
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
    held = _held(lattice)
    while end > 0:
        kind, begin = divmod(int(choice[at * sets + end]), sets)
        result[held[end] & ~held[begin]] = left[kind].pop()
        at -= int(strides[kind])
        end = begin
    return result


def _alike(devices: tuple[Device, ...]) -> list[list[int]]:
    kinds: dict[tuple[Hashable, ...], list[int]] = {}
    for at, device in enumerate(devices):
        kinds.setdefault(likeness(device), []).append(at)
    return list(kinds.values())


def _held(lattice: Lattice) -> Any:
    """``[sets, groups]``: which groups each set has."""
    sets = len(lattice.grown_start) - 1
    held = np.zeros((sets, len(lattice.pieces)), bool)
    for one in range(sets):
        for at in range(lattice.grown_start[one], lattice.grown_start[one + 1]):
            piece, grown = lattice.added[at], lattice.grown[at]
            held[grown] = held[one]
            held[grown, lattice.pieces[lattice.piece_start[piece] : lattice.piece_start[piece + 1]]] = True
    return held


def _starts(lengths: list[int]) -> Ints:
    return np.cumsum([0, *lengths], dtype=np.int64)


def _bits(number: int, count: int) -> Ints:
    """Which of the lowest bits of a number are set."""
    octets = np.frombuffer(number.to_bytes((count + 7) // 8, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(octets, bitorder="little", count=count))
