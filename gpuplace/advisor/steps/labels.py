"""Labels of identical devices: of all ways to number them, the one by which the fewest nodes move.

To a search, GPUs of one model are alike, so what it finds is often the program with its towers exchanged::

    program      tower_0 on GPU:0   tower_1 on GPU:1   sums on CPU:0
    found        tower_0 on GPU:1   tower_1 on GPU:0   sums on GPU:1     everything moves
    relabelled   tower_0 on GPU:0   tower_1 on GPU:1   sums on GPU:0     only the sums move

Counting the nodes that stay if device `a` is called `b` makes this an assignment problem. Its dual prices bound what
any completion of a partial labelling moves, so a search by that bound yields labellings in the order of their moves.

A labelling that maps each link of the machine to an equal one leaves the step as it is. Others may change it, because
not all GPUs of one model are connected alike: those of a DGX-1 have one or two lanes of NVLink to each other. Every
candidate is therefore estimated, and one that makes the step longer has to spare moves in proportion.

Source: Kuhn, The Hungarian method for the assignment problem, 1955; here by shortest augmenting paths.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Hashable, Iterator, Sequence
from itertools import count, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.rehearsal import Rehearsal
from gpuplace.cost.step_flow import Machinery

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_ROUNDING = 1e-9
"""Objectives that differ by less than this part are equal: the clock may add up the same times in another order."""
_KEEPING, _OTHERS = 24, 6
"""How many labellings are estimated at the most: of those that keep the links, and of all others."""
_EXPANDED = 20_000
"""How many partial labellings are looked at, at the most."""
_MOST_DEVICES = 128
"""On a machine with more devices, a choice keeps its labels."""


class Allowance(NamedTuple):
    """What a labelling may cost that moves no node at all; one that spares half of the moves may cost half of it."""

    of_gain: float
    """Part of what the choice gains over the program as it is."""
    of_value: float
    """Part of the choice's objective. The smaller of the two counts."""


MIDWAY = Allowance(0.5, 0.1)
"""While the search goes on: finer levels win back most of what the program's own labels cost."""
FINAL = Allowance(0.05, 0.02)
"""For a recommendation."""
LOSSLESS = Allowance(0.0, 0.0)
"""For a choice that has to be as quick as it was found."""


def relabelled(rehearsal: Rehearsal, device_of: Ints, allowance: Allowance, until: float) -> Ints:
    """Return a choice with identical devices exchanged so that as few nodes move as possible.

    Args:
        rehearsal: of the step.
        device_of: [units] positions of devices; -1 for units that are left alone.
        allowance: what that may cost.
        until: when to stop, by ``time.perf_counter``.

    Returns:
        [units] positions of devices; -1 for units that stay where the program has them.
    """
    found = without_idle(rehearsal, device_of)
    if len(rehearsal.freedom.placement.device_set) > _MOST_DEVICES:
        return found
    while (found >= 0).any():
        better = _with_fewer_moves(rehearsal, found, allowance, until)
        if better is found:
            break
        # With other labels, yet another labelling may move fewer nodes; nothing more may be lost for that.
        found, allowance = better, LOSSLESS
    return found


def _with_fewer_moves(rehearsal: Rehearsal, device_of: Ints, allowance: Allowance, until: float) -> Ints:
    """The best choice by other labels; the same array if none is better than that."""
    missing, value, _ = rehearsal.score(device_of)
    gain = rehearsal.score(np.full_like(device_of, -1)).value - value
    affordable = max(0.0, min(allowance.of_gain * gain, allowance.of_value * value))
    most = moved_nodes(rehearsal, device_of)
    best, least = device_of, 1.0
    for choice, moved in _candidates(rehearsal, device_of, most):
        if time.perf_counter() > until:
            break
        new = rehearsal.score(choice)
        loss = new.value - value if new.value > value * (1 + _ROUNDING) else 0.0
        if new.missing > missing or loss > affordable:
            continue
        rank = moved / most + (loss / affordable if loss else 0.0)
        if rank < least:
            best, least = choice, rank
    return best


def without_idle(rehearsal: Rehearsal, device_of: Ints) -> Ints:
    """Return a choice that leaves alone the units that it puts where the program has them.

    Args:
        rehearsal: of the step.
        device_of: [units] positions of devices; -1 for units that are left alone.
    """
    of_group = rehearsal.units.of_group
    moves = (of_group >= 0) & (rehearsal.wanted(device_of) != rehearsal.stay)
    has_moved = np.zeros(len(device_of), dtype=bool)
    has_moved[of_group[moves]] = True
    return np.where(has_moved, device_of, -1)


def moved_nodes(rehearsal: Rehearsal, device_of: Ints) -> int:
    """Count the nodes that a choice moves: those that the step runs, and those that follow them.

    Args:
        rehearsal: of the step.
        device_of: [units] positions of devices; -1 for units that are left alone.
    """
    moves = (rehearsal.units.of_group >= 0) & (rehearsal.homes(device_of) != rehearsal.stay)
    return int(rehearsal.nodes_of_groups[moves].sum())


def _candidates(rehearsal: Rehearsal, device_of: Ints, most: int) -> Iterator[tuple[Ints, int]]:
    """Choices by other labels, and the nodes that they move: fewer than `most`."""
    machinery, of_group = rehearsal.step.machinery, rehearsal.units.of_group
    kinds = device_kinds(rehearsal)
    where, known = rehearsal.wanted(device_of), {device_of.tobytes()}
    is_chosen = (of_group >= 0) & rehearsal.freedom.is_free
    homes = homes_of_units(rehearsal)
    alone = device_of < 0
    # Devices that take each other's place with all that is on them: nothing changes if links are alike.
    everything = np.where(alone, homes, device_of)
    by_links = labellings(_stays(rehearsal, where, is_chosen), kinds, machinery)
    # Any devices of one kind and host; units that are left alone stay.
    is_chosen &= ~alone[of_group]
    within = [(kind, host) for kind, host in zip(kinds, machinery.hosts, strict=True)]
    by_kind = labellings(_stays(rehearsal, where, is_chosen), within)
    for found, labels_of in (
        (everything, islice(by_links, _KEEPING)),
        (device_of, islice(by_kind, _OTHERS)),
    ):
        for labels in labels_of:
            choice = without_idle(rehearsal, np.where(found < 0, -1, labels[found]))
            moved = moved_nodes(rehearsal, choice)
            if moved < most and choice.tobytes() not in known:
                known.add(choice.tobytes())
                yield choice, moved


def homes_of_units(rehearsal: Rehearsal) -> Ints:
    """Return where the program has each unit: [units] positions of devices; -1 if it is on several.

    Args:
        rehearsal: of the step.
    """
    of_group, stay = rehearsal.units.of_group, rehearsal.stay
    units = len(rehearsal.units.names)
    groups = np.flatnonzero((of_group >= 0) & rehearsal.freedom.is_free)
    first, last = np.full(units, len(rehearsal.freedom.placement.device_set)), np.full(units, -1)
    np.minimum.at(first, of_group[groups], stay[groups])
    np.maximum.at(last, of_group[groups], stay[groups])
    return np.where(first == last, first, -1)


def _stays(rehearsal: Rehearsal, where: Ints, is_chosen: NDArray[np.bool_]) -> Floats:
    """[devices, devices] how many nodes of chosen groups are on the first, and in the program on the second."""
    devices = len(rehearsal.freedom.placement.device_set)
    groups = np.flatnonzero(is_chosen)
    pairs = where[groups] * devices + rehearsal.stay[groups]
    found = np.bincount(pairs, rehearsal.nodes_of_groups[groups], devices * devices)
    return found.reshape(devices, devices).astype(np.float64)


def device_kinds(rehearsal: Rehearsal) -> list[Hashable]:
    """Return what devices have in common that may take each other's place: [devices]; the client's own keeps its own.

    Args:
        rehearsal: of the step.
    """
    models, devices = rehearsal.step.machinery.models, rehearsal.freedom.placement.device_set
    return [
        (
            device.device_type,
            None if model is None else model.name,
            device.memory_limit,
            rehearsal.limits.get(number),
            number == 0,
        )
        for number, (device, model) in enumerate(zip(devices, models, strict=True))
    ]


def labellings(
    stays: Floats, kinds: Sequence[Hashable], machinery: Machinery | None = None
) -> Iterator[Ints]:
    """Yield labels of devices, those that let the most nodes stay first.

    >>> [labels.tolist() for labels in labellings(np.array([[0.0, 0, 3], [0, 9, 5], [0, 4, 0]]), ("CPU", "GPU", "GPU"))]
    [[0, 1, 2], [0, 2, 1]]

    Args:
        stays: [devices, devices] how many nodes stay where the first device is called as the second.
        kinds: [devices] what a device has to have in common with the one that it is called as.
        machinery: the machine, each of whose links has to be mapped to an equal one; None: any labels will do.
    """
    devices = len(stays)
    is_alike = np.array([[one == other for other in kinds] for one in kinds], dtype=bool)
    cost = np.where(is_alike, stays.max(initial=0.0) - stays, np.inf)
    price, prize = _prices(cost)
    over = np.maximum(
        cost - price[:, None] - prize[None, :], 0.0
    )  # what a label costs beyond the best labelling
    # The fewer labels a device may have, the sooner it is labelled.
    order = sorted(range(devices), key=lambda device: (int(is_alike[device].sum()), device))
    number = count()
    waiting: list[tuple[float, int, int, tuple[int, ...], dict[int, int]]] = [(0.0, 0, 0, (), {})]
    expanded = 0
    while waiting and expanded < _EXPANDED:
        expanded += 1
        bound, _, _, labels, links = heapq.heappop(waiting)
        if machinery is not None and labels:
            pairs = list(zip(order, labels, strict=False))
            extended = _mapped_links(machinery, pairs, links)
            if extended is None:
                continue
            links = extended
        if len(labels) == devices:
            found = np.zeros(devices, dtype=np.int64)
            found[order] = labels
            yield found
            continue
        device = order[len(labels)]
        for label in np.flatnonzero(np.isfinite(over[device])).tolist():
            if label not in labels:
                entry = (
                    bound + float(over[device, label]),
                    -len(labels),
                    next(number),
                    (*labels, label),
                    links,
                )
                heapq.heappush(waiting, entry)


def _mapped_links(
    machinery: Machinery, pairs: list[tuple[int, int]], links: dict[int, int]
) -> dict[int, int] | None:
    """Which link stands for which if devices have other labels; None if two are not alike.

    Args:
        machinery: the machine.
        pairs: devices and their labels; all but the last fit together.
        links: link -> the one that stands for it, and its complement -> the link that it stands for, by all pairs
            but the last.
    """
    found = dict(links)
    device, label = pairs[-1]
    for other, its_label in pairs:
        for begin, end, new_begin, new_end in (
            (device, other, label, its_label),
            (other, device, its_label, label),
        ):
            old, new = _way(machinery, begin, end), _way(machinery, new_begin, new_end)
            if old[1:] != new[1:]:
                return None
            for link, stand_in in zip(old[0], new[0], strict=True):
                if found.setdefault(link, stand_in) != stand_in or found.setdefault(~stand_in, link) != link:
                    return None
    return found


def _way(machinery: Machinery, one: int, other: int) -> tuple[tuple[int, ...], Hashable]:
    """The links from one device to another, and all else that matters of what they have in common."""
    begin, end, links = machinery.physical[one], machinery.physical[other], machinery.links
    if begin == end:
        return (), (one == other, "the same memory")
    route = links.between(begin, end)
    rates = tuple(links.links[link].bandwidth for link in route.links)
    shares_board = begin >= 0 and end >= 0 and links.board[begin] == links.board[end]
    return route.links, (route.kind, route.bandwidth, route.latency, rates, shares_board)


def _prices(cost: Floats) -> tuple[Floats, Floats]:
    """Prices of rows and columns that add up to the cost of the best assignment, and to no more than any entry's.

    >>> rows, columns = _prices(np.array([[4.0, 1.0], [2.0, 3.0]]))
    >>> float(rows.sum() + columns.sum())
    3.0

    Args:
        cost: [rows, columns] what it costs to assign a column to a row; infinite where it cannot be.
    """
    size = len(cost)
    rows, columns = np.zeros(size + 1), np.zeros(size + 1)  # the last column stands for the row that is added
    row_of = np.full(size + 1, -1)
    for row in range(size):
        row_of[size] = row
        slack, before = np.full(size, np.inf), np.full(size, size)
        is_reached = np.zeros(size + 1, dtype=bool)
        column = size
        while row_of[column] >= 0:  # grows the tree of shortest paths until it reaches a free column
            is_reached[column] = True
            here = int(row_of[column])
            new = cost[here] - rows[here] - columns[:size]
            is_closer = ~is_reached[:size] & (new < slack)
            slack[is_closer], before[is_closer] = new[is_closer], column
            column = int(np.where(is_reached[:size], np.inf, slack).argmin())
            step = slack[column]
            rows[row_of[is_reached]] += step
            columns[is_reached] -= step
            slack[~is_reached[:size]] -= step
        while column != size:
            row_of[column], column = row_of[before[column]], int(before[column])
    return rows[:size], columns[:size]
