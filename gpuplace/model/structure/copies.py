"""Towers without their own scopes: parts of a model that read the same variables side by side.

A program that creates its layers once for each GPU leaves names such as ``conv1``, ``conv1_1``, ``conv1_2``, which do
not show which layers belong together. The data flow does::

    split ─┬─> conv1 ──> fc ───┐
           └─> conv1_1 ──> fc_1 ─┴─> loss        two towers: conv1, fc and conv1_1, fc_1
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_ALIKE = 0.8
"""Smallest fraction of the variables that two towers share, and smallest ratio of their sizes."""
_LEAST_VARIABLES = 3
"""Smallest number of variables of a tower."""
_MOSTLY = 0.6
"""Smallest fraction of the layers that are in towers."""


def towers(
    variables: Sequence[frozenset[int]], sizes: Sequence[int], links: Iterable[tuple[int, int]]
) -> list[list[int]]:
    """Return the positions of each tower, in order; empty if there are no towers.

    Args:
        variables: [positions] variables that each part reads; parts are in the order of the flow.
        sizes: [positions] number of ops of each part.
        links: pairs of positions between which data flows.

    >>> w, v, u = (frozenset({variable}) for variable in range(3))
    >>> towers([w, w, v, v, u, u, frozenset()], [1] * 7, {(0, 2), (1, 3), (2, 4), (3, 5), (4, 6), (5, 6)})
    [[0, 2, 4], [1, 3, 5]]
    """
    befores: list[list[int]] = [[] for _ in variables]
    for source, other in links:
        if source < other:
            befores[other].append(source)
    tower_of = [-1] * len(variables)
    joined = list(range(len(variables)))  # a forest: towers whose results one layer combines are merged

    def root(tower: int) -> int:
        while joined[tower] != tower:
            tower = joined[tower]
        return tower

    is_join = [False] * len(variables)
    for position, reads in enumerate(variables):
        towers_before = {root(tower_of[before]) for before in befores[position] if tower_of[before] >= 0}
        is_after_join = any(is_join[before] for before in befores[position])
        if len(towers_before) > 1 and not reads:
            is_join[position] = True
            continue
        if is_after_join and not reads:
            is_join[position] = True
            continue
        if not towers_before and not reads:
            continue
        tower_of[position] = min(towers_before, default=position)
        for other in towers_before:
            joined[other] = tower_of[position]
    parts: dict[int, list[int]] = {}
    for position, tower in enumerate(tower_of):
        if tower >= 0:
            parts.setdefault(root(tower), []).append(position)
    size_of = {tower: sum(sizes[position] for position in part) for tower, part in parts.items()}
    reading = {tower: frozenset().union(*(variables[p] for p in part)) for tower, part in parts.items()}
    alike: list[list[int]] = []
    for tower, read in reading.items():
        if len(read) < _LEAST_VARIABLES:
            continue
        for group in alike:
            first = reading[group[0]]
            ends = sorted((size_of[group[0]], size_of[tower]))
            if len(read & first) >= _ALIKE * max(len(read), len(first)) and ends[0] >= _ALIKE * ends[1]:
                group.append(tower)
                break
        else:
            alike.append([tower])
    best = max(alike, key=len, default=[])
    inside = sum(bool(variables[p]) for tower in best for p in parts[tower])
    if len(best) < 2 or inside < _MOSTLY * sum(map(bool, variables)):
        return []
    return [parts[tower] for tower in best]
