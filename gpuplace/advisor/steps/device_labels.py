"""Labels of identical devices: of all ways to number them, the one that moves the fewest nodes.

To a search, GPUs of one model are alike, so its result is often the program with towers exchanged::

    program      tower_0 on GPU:0   tower_1 on GPU:1   sums on CPU:0
    result       tower_0 on GPU:1   tower_1 on GPU:0   sums on GPU:1     everything moves
    relabeled    tower_0 on GPU:0   tower_1 on GPU:1   sums on GPU:0     only the sums move

With the number of nodes that stay if device `a` is labeled `b`, this is an assignment problem. Its dual prices bound
the moves of any completion of a partial labeling, so a best-first search yields labelings in the order of their moves.

A labeling that maps each link of the machine to an equal one leaves the step unchanged. Others may change it, because
not all GPUs of one model are connected alike: those of a DGX-1 have one or two lanes of NVLink to each other. Every
candidate is therefore estimated, and one that makes the step longer must save moves in proportion.

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

from gpuplace.advisor.steps.choice_scores import ChoiceScorer
from gpuplace.cost.step_flow import Machinery

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_ROUNDING = 1e-9
"""Relative difference below which objectives are equal: the clock may sum the same times in another order."""
_KEEPING, _OTHERS = 24, 6
"""Maximum numbers of labelings to estimate: those that preserve the links, and all others."""
_EXPANDED = 20_000
"""Maximum number of partial labelings to expand."""
_MOST_DEVICES = 128
"""Number of devices above which a choice keeps its labels."""


class Allowance(NamedTuple):
    """Acceptable loss of a labeling that moves no node at all; one that saves half of the moves may cost half of it."""

    of_gain: float
    """Fraction of the choice's gain over the program as it is."""
    of_value: float
    """Fraction of the choice's objective. The smaller of the two counts."""


MIDWAY = Allowance(0.5, 0.1)
"""During the search: finer levels regain most of the loss."""
FINAL = Allowance(0.05, 0.02)
"""For the recommendation itself."""
LOSSLESS = Allowance(0.0, 0.0)
"""For a choice whose objective must not get worse."""


def relabeled(scorer: ChoiceScorer, device_of: Ints, allowance: Allowance, until: float) -> Ints:
    """Return a choice with identical devices exchanged so that as few nodes as possible move.

    Args:
        scorer: step to evaluate.
        device_of: [units] device positions; -1 for units that stay.
        allowance: acceptable loss.
        until: time limit, by ``time.perf_counter``.

    Returns:
        [units] device positions; -1 for units that stay.
    """
    choice = without_idle(scorer, device_of)
    if len(scorer.candidates.placement.device_set) > _MOST_DEVICES:
        return choice
    while (choice >= 0).any():
        better = _with_fewer_moves(scorer, choice, allowance, until)
        if better is choice:
            break
        # Another labeling of the new choice may move fewer nodes, but must not cost any more.
        choice, allowance = better, LOSSLESS
    return choice


def _with_fewer_moves(scorer: ChoiceScorer, device_of: Ints, allowance: Allowance, until: float) -> Ints:
    """Return the best choice with other labels; the same array if none is better."""
    missing, value, _ = scorer.score(device_of)
    gain = scorer.score(np.full_like(device_of, -1)).value - value
    affordable = max(0.0, min(allowance.of_gain * gain, allowance.of_value * value))
    most = moved_nodes(scorer, device_of)
    best, least = device_of, 1.0
    for choice, moved in _candidates(scorer, device_of, most):
        if time.perf_counter() > until:
            break
        new = scorer.score(choice)
        loss = new.value - value if new.value > value * (1 + _ROUNDING) else 0.0
        if new.missing > missing or loss > affordable:
            continue
        rank = moved / most + (loss / affordable if loss else 0.0)
        if rank < least:
            best, least = choice, rank
    return best


def without_idle(scorer: ChoiceScorer, device_of: Ints) -> Ints:
    """Return a choice without the units that are already where it puts them.

    Args:
        scorer: step to evaluate.
        device_of: [units] device positions; -1 for units that stay.
    """
    of_group = scorer.units.of_group
    moves = (of_group >= 0) & (scorer.requested_homes(device_of) != scorer.stay)
    has_moved = np.zeros(len(device_of), dtype=bool)
    has_moved[of_group[moves]] = True
    return np.where(has_moved, device_of, -1)


def moved_nodes(scorer: ChoiceScorer, device_of: Ints) -> int:
    """Count the nodes that a choice moves: those that the step runs, and those that follow them.

    Args:
        scorer: step to evaluate.
        device_of: [units] device positions; -1 for units that stay.
    """
    moves = (scorer.units.of_group >= 0) & (scorer.homes(device_of) != scorer.stay)
    return int(scorer.nodes_of_groups[moves].sum())


def _candidates(scorer: ChoiceScorer, device_of: Ints, most: int) -> Iterator[tuple[Ints, int]]:
    """Yield choices with other labels, and the number of nodes that they move, which is below `most`."""
    machinery, of_group = scorer.step.machinery, scorer.units.of_group
    kinds = device_kinds(scorer)
    where, seen = scorer.requested_homes(device_of), {device_of.tobytes()}
    is_chosen = (of_group >= 0) & scorer.candidates.is_free
    homes = homes_of_units(scorer)
    alone = device_of < 0
    # First exchange devices with everything on them: nothing changes if their links are alike.
    all_units = np.where(alone, homes, device_of)
    by_links = labellings(_stays(scorer, where, is_chosen), kinds, machinery)
    # Then exchange any devices of one kind and host; units that stay are not exchanged.
    is_chosen &= ~alone[of_group]
    within = [(kind, host) for kind, host in zip(kinds, machinery.hosts, strict=True)]
    by_kind = labellings(_stays(scorer, where, is_chosen), within)
    for template, labels_of in (
        (all_units, islice(by_links, _KEEPING)),
        (device_of, islice(by_kind, _OTHERS)),
    ):
        for labels in labels_of:
            choice = without_idle(scorer, np.where(template < 0, -1, labels[template]))
            moved = moved_nodes(scorer, choice)
            if moved < most and choice.tobytes() not in seen:
                seen.add(choice.tobytes())
                yield choice, moved


def homes_of_units(scorer: ChoiceScorer) -> Ints:
    """Return the device of each unit in the program: [units] device positions; -1 if it is on several.

    Args:
        scorer: step to evaluate.
    """
    of_group, stay = scorer.units.of_group, scorer.stay
    units = len(scorer.units.names)
    groups = np.flatnonzero((of_group >= 0) & scorer.candidates.is_free)
    first, last = np.full(units, len(scorer.candidates.placement.device_set)), np.full(units, -1)
    np.minimum.at(first, of_group[groups], stay[groups])
    np.maximum.at(last, of_group[groups], stay[groups])
    return np.where(first == last, first, -1)


def _stays(scorer: ChoiceScorer, where: Ints, is_chosen: NDArray[np.bool_]) -> Floats:
    """Return [devices, devices] node counts of chosen groups, by device of the choice and of the program."""
    devices = len(scorer.candidates.placement.device_set)
    groups = np.flatnonzero(is_chosen)
    pairs = where[groups] * devices + scorer.stay[groups]
    counts = np.bincount(pairs, scorer.nodes_of_groups[groups], devices * devices)
    return counts.reshape(devices, devices).astype(np.float64)


def device_kinds(scorer: ChoiceScorer) -> list[Hashable]:
    """Return [devices] a key that is equal for interchangeable devices; the client's own device has a unique key.

    Args:
        scorer: step to evaluate.
    """
    models, devices = scorer.step.machinery.models, scorer.candidates.placement.device_set
    return [
        (
            device.device_type,
            None if model is None else model.name,
            device.memory_limit,
            scorer.limits.get(number),
            number == 0,
        )
        for number, (device, model) in enumerate(zip(devices, models, strict=True))
    ]


def labellings(
    stays: Floats, kinds: Sequence[Hashable], machinery: Machinery | None = None
) -> Iterator[Ints]:
    """Yield device labels, starting with those that let the most nodes stay.

    >>> [labels.tolist() for labels in labellings(np.array([[0.0, 0, 3], [0, 9, 5], [0, 4, 0]]), ("CPU", "GPU", "GPU"))]
    [[0, 1, 2], [0, 2, 1]]

    Args:
        stays: [devices, devices] number of nodes that stay if the first device gets the label of the second.
        kinds: [devices] key that a device and its label must share.
        machinery: the machine, whose links must be mapped to equal ones; None to allow any labels.
    """
    devices = len(stays)
    is_alike = np.array([[kind == other for other in kinds] for kind in kinds], dtype=bool)
    cost = np.where(is_alike, stays.max(initial=0.0) - stays, np.inf)
    price, prize = _prices(cost)
    # Reduced costs: a label's cost beyond the best labeling.
    over = np.maximum(cost - price[:, None] - prize[None, :], 0.0)
    # Label the devices with the fewest possible labels first.
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
            assigned = np.zeros(devices, dtype=np.int64)
            assigned[order] = labels
            yield assigned
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
    """Return the link mapping of a partial labeling; None if two links are not alike.

    Args:
        machinery: the machine.
        pairs: devices and their labels; all but the last are consistent.
        links: link to its image, and complement of the image to the link, by all pairs but the last.
    """
    mapping = dict(links)
    device, label = pairs[-1]
    for other, its_label in pairs:
        for begin, end, new_begin, new_end in (
            (device, other, label, its_label),
            (other, device, its_label, label),
        ):
            old, new = _way(machinery, begin, end), _way(machinery, new_begin, new_end)
            if old[1:] != new[1:]:
                return None
            for link, image in zip(old[0], new[0], strict=True):
                if mapping.setdefault(link, image) != image or mapping.setdefault(~image, link) != link:
                    return None
    return mapping


def _way(machinery: Machinery, source: int, target: int) -> tuple[tuple[int, ...], Hashable]:
    """Return the links from one device to another, and everything else that matters about their connection."""
    begin, end, links = machinery.physical[source], machinery.physical[target], machinery.links
    if begin == end:
        return (), (source == target, "the same memory")
    route = links.between(begin, end)
    rates = tuple(links.links[link].bandwidth for link in route.links)
    shares_board = begin >= 0 and end >= 0 and links.board[begin] == links.board[end]
    return route.links, (route.kind, route.bandwidth, route.latency, rates, shares_board)


def _prices(cost: Floats) -> tuple[Floats, Floats]:
    """Return dual prices of rows and columns: all add up to the cost of the best assignment, and each pair to at most
    its entry.

    >>> rows, columns = _prices(np.array([[4.0, 1.0], [2.0, 3.0]]))
    >>> float(rows.sum() + columns.sum())
    3.0

    Args:
        cost: [rows, columns] cost of assigning a column to a row; infinite if impossible.
    """
    size = len(cost)
    # The last column is a root for the row that is added.
    rows, columns = (
        np.zeros(size + 1),
        np.zeros(size + 1),
    )
    row_of = np.full(size + 1, -1)
    for row in range(size):
        row_of[size] = row
        slack, predecessor = np.full(size, np.inf), np.full(size, size)
        is_reached = np.zeros(size + 1, dtype=bool)
        column = size
        while row_of[column] >= 0:  # grow the tree of shortest paths until it reaches a free column
            is_reached[column] = True
            here = int(row_of[column])
            new = cost[here] - rows[here] - columns[:size]
            is_closer = ~is_reached[:size] & (new < slack)
            slack[is_closer], predecessor[is_closer] = new[is_closer], column
            column = int(np.where(is_reached[:size], np.inf, slack).argmin())
            step = slack[column]
            rows[row_of[is_reached]] += step
            columns[is_reached] -= step
            slack[~is_reached[:size]] -= step
        while column != size:
            row_of[column], column = row_of[predecessor[column]], int(predecessor[column])
    return rows[:size], columns[:size]
