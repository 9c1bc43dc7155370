"""Initial pipelines: the best division of all groups into one contiguous piece per device.

A piece is the difference of two down-sets, which contain all predecessors of their groups, so all edges between pieces
lead forward. If there are too many down-sets, only the prefixes of a linear order of the groups are used.

Source: "Efficient Algorithms for Device Placement of DNN Graph Operators" (NeurIPS 2020), section 5.1.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from gpuplace.advisor.chains import SearchContext, new_state
from gpuplace.advisor.network import pipeline_edges
from gpuplace.advisor.problem import Device, Ints, Problem
from gpuplace.advisor.records import Climb, Lattice

_MOST_WORK = 70_000_000
"""Maximum number of set differences, times the numbers of devices of each kind, of a lattice."""
_MOST_SETS = 8192
"""Maximum number of sets in a lattice."""


def likeness(device: Device) -> tuple[Hashable, ...]:
    """Return a key that is equal for interchangeable devices.

    Args:
        device: device to compare.
    """
    return device.kind, device.memory, device.link, device.is_pool


def down_sets(problem: Problem, most: int) -> Lattice | None:
    """Return all down-sets of the groups.

    Args:
        problem: a problem that ``checked`` accepted.
        most: maximum number of set differences, times the numbers of devices of each kind.

    Returns:
        The lattice; None if there are more.
    """
    most = min(most, _MOST_WORK) // math.prod(len(members) + 1 for members in _alike(problem.devices))
    component, sources, readers, _ = pipeline_edges(problem)
    count = int(component.max()) + 1
    most_sets = min(_MOST_SETS, int(most ** (2 / 3)))  # 2**n sets have at least 3**n differences
    if count >= most_sets:
        return None
    predecessors = [0] * count
    successors: list[list[int]] = [[] for _ in range(count)]
    for source, reader in zip(sources.tolist(), readers.tolist()):
        predecessors[reader] |= 1 << source
        successors[source].append(reader)
    sets = [0]
    number = {0: 0}
    ready = [[piece for piece in range(count) if not predecessors[piece]]]
    grown: list[list[tuple[int, int]]] = []
    while len(grown) < len(sets):
        own, pieces = sets[len(grown)], ready[len(grown)]
        if 1 << len(pieces) > most_sets:  # any subset of them may be added
            return None
        grown.append([])
        for piece in pieces:
            larger = own | 1 << piece
            if larger not in number:
                if len(sets) > most_sets:
                    return None
                number[larger] = len(sets)
                sets.append(larger)
                others = [candidate for candidate in pieces if candidate != piece]
                now_ready = [after for after in successors[piece] if not predecessors[after] & ~larger]
                ready.append(others + now_ready)
            grown[-1].append((number[larger], piece))
    supersets = [0] * len(sets)
    for at in range(len(sets) - 1, -1, -1):
        for larger, _ in grown[at]:
            supersets[at] |= supersets[larger] | 1 << larger
    if sum(bits.bit_count() for bits in supersets) > most:
        return None
    ends = [_bits(bits, len(sets)) for bits in supersets]
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
    """Return the prefixes of an order of the groups as a lattice.

    Args:
        order: ``[groups]``.
        cuts: ``[pieces + 1]``: start of each piece, and the end.
    """
    pieces = len(cuts) - 1
    numbers = np.arange(pieces + 1)
    return Lattice(
        cuts,
        order,
        np.minimum(np.arange(pieces + 2), pieces),
        numbers[1:].copy(),
        numbers[:-1].copy(),
        _starts([pieces - piece for piece in range(pieces + 1)]),
        np.concatenate([numbers[piece + 1 :] for piece in range(pieces + 1)]),
    )


def best_division(context: SearchContext, lattice: Lattice) -> Ints | None:
    """Return the split of the best division into one set difference per device.

    Args:
        context: the problem, with its functions.
        lattice: the sets.

    Returns:
        ``[groups]`` device of each; None if no division fits, or there are too many.
    """
    devices = context.problem.devices
    alike = _alike(devices)
    sets, pairs = len(lattice.grown_start) - 1, len(lattice.larger)
    states = math.prod(len(members) + 1 for members in alike)
    if states * pairs > _MOST_WORK or len(devices) < 2:
        return None
    net, functions, packed = context.net, context.pipeline_load, context.packed(lattice)
    state = context.packed(new_state(context.arrays, 0.0))
    most = np.array([len(members) for members in alike], np.int64)

    def of(array: Any) -> Any:
        return array.tolist() if context.in_lists else array

    def whole(size: int) -> Ints:
        return np.zeros(size, np.int64)

    deepest = len(lattice.piece_start)
    climb = context.packed(Climb(whole(sets), whole(deepest), whole(deepest), whole(deepest)))
    loads = np.zeros(len(alike) * pairs)
    for kind, members in enumerate(alike):
        own = loads[kind * pairs : (kind + 1) * pairs]
        written = of(own)
        other = next(at for at in range(len(devices)) if at != members[0])
        functions.spans(net, packed, members[0], other, state, climb, written)
        own[:] = written
    best = of(np.zeros(states * sets))
    choice = of(whole(states * sets))
    is_sum = context.objective != "throughput"
    functions.divide(packed, len(alike), of(most), of(loads), is_sum, best, choice)
    at, end = states - 1, sets - 1
    if best[at * sets + end] == math.inf:
        return None
    result = whole(len(context.arrays.sizes))
    left = [list(members) for members in alike]
    strides = np.cumprod([1, *(most + 1)])
    while end > 0:
        kind, begin = divmod(int(choice[at * sets + end]), sets)
        result[_difference(lattice, begin, end)] = left[kind].pop()
        at -= int(strides[kind])
        end = begin
    return result


def _alike(devices: tuple[Device, ...]) -> list[list[int]]:
    kinds: dict[tuple[Hashable, ...], list[int]] = {}
    for at, device in enumerate(devices):
        kinds.setdefault(likeness(device), []).append(at)
    return list(kinds.values())


def _difference(lattice: Lattice, inner: int, outer: int) -> Ints:
    """Return the groups of a set that are not in its subset."""
    within = np.zeros(len(lattice.grown_start) - 1, np.int64)  # a subset of each set with one piece less
    last = np.zeros_like(within)
    within[lattice.grown] = np.repeat(np.arange(len(within)), np.diff(lattice.grown_start))
    last[lattice.grown] = lattice.added
    is_there = np.zeros(len(lattice.piece_start) - 1, bool)
    for chain_set, is_member in ((outer, True), (inner, False)):
        while chain_set:
            is_there[last[chain_set]] = is_member
            chain_set = int(within[chain_set])
    return lattice.pieces[np.repeat(is_there, np.diff(lattice.piece_start))]


def _starts(lengths: list[int]) -> Ints:
    return np.cumsum([0, *lengths], dtype=np.int64)


def _bits(number: int, count: int) -> Ints:
    """Return the positions of the set bits of a number."""
    octets = np.frombuffer(number.to_bytes((count + 7) // 8, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(octets, bitorder="little", count=count))
