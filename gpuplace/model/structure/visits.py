"""Split scopes that the flow enters repeatedly into parts that it passes once.

A module that opens the same name scope at each call, or modules that give their children the same names, put ops of
many layers into one scope. By scopes alone, such a model is a cycle; in flow order, it is a chain::

    attention <──> norm <──> block_0, block_1       attention ─> norm ─> block_0 ─> attention ─> norm ─> block_1

>>> circles(4, {(0, 1), (1, 2), (2, 1), (2, 3)})
[[1, 2]]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

_LEAST_VISITS = 3
"""Smallest number of visits for splitting a scope."""
_LEAST_NODES = 2
"""Smallest average number of nodes in a visit; alternating single ops are not visits."""


def circles(count: int, links: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return the groups of positions on cycles of the flow.

    Args:
        count: number of positions.
        links: flow between them.
    """
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target in links:
        after[source].append(target)
    number, low = [-1] * count, [0] * count
    open_stack: list[int] = []
    is_open = [False] * count
    groups: list[list[int]] = []
    seen = 0
    for start in range(count):
        if number[start] >= 0:
            continue
        stack = [(start, iter(after[start]))]
        number[start] = low[start] = seen
        seen += 1
        open_stack.append(start)
        is_open[start] = True
        while stack:
            position, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[position])
                if low[position] == number[position]:
                    group = open_stack[open_stack.index(position) :]
                    del open_stack[-len(group) :]
                    for member in group:
                        is_open[member] = False
                    if len(group) > 1:
                        groups.append(sorted(group))
            elif number[following] < 0:
                number[following] = low[following] = seen
                seen += 1
                open_stack.append(following)
                is_open[following] = True
                stack.append((following, iter(after[following])))
            elif is_open[following]:
                low[position] = min(low[position], number[following])
    return groups


def visits(
    home_of: Mapping[int, int], order: Sequence[int], edges: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], list[int]]:
    """Return (scope, number of the visit) -> nodes; empty if the flow enters no scope often enough.

    Args:
        home_of: node -> its scope.
        order: nodes in flow order.
        edges: pairs of nodes between which data flows.
    """
    befores: dict[int, list[int]] = {}
    afters: dict[int, list[int]] = {}
    for source, target in edges:
        befores.setdefault(target, []).append(source)
        afters.setdefault(source, []).append(target)
    depth: dict[int, int] = {}
    for node in order:
        depth[node] = max(
            (depth[before] + (home_of[before] != home_of[node]) for before in befores.get(node, ())),
            default=0,
        )
    for node in reversed(order):  # a start inside belongs to the visit of its consumer
        if node not in befores and node in afters:
            depth[node] = max(
                0, min(depth[after] - (home_of[after] != home_of[node]) for after in afters[node])
            )
    nodes_of_visit: dict[tuple[int, int], list[int]] = {}
    for node in order:
        nodes_of_visit.setdefault((home_of[node], depth[node]), []).append(node)
    times: dict[int, int] = {}
    for home, _ in nodes_of_visit:
        times[home] = times.get(home, 0) + 1
    if max(times.values(), default=0) < _LEAST_VISITS or len(order) < _LEAST_NODES * len(nodes_of_visit):
        return {}
    return nodes_of_visit
