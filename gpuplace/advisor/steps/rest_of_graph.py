"""Devices of what a step does not run: initial values, savers, other parts of the program.

They stay where they are, but for what only leads to nodes that moved: an initial value is computed where its variable
now is, so that no GPU has to hold those of all others. And what leads nowhere goes with its scope, where all of that
moved to one device: so there is less to be said.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.freedom import Freedom
from gpuplace.placer.placement_graph import CONTROL

Ints = NDArray[np.int64]


def with_the_rest(freedom: Freedom, homes: Ints, stay: Ints, in_step: NDArray[np.bool_]) -> Ints:
    """[nodes] devices of the whole graph.

    Args:
        freedom: what may be chosen.
        homes: [groups] devices of what the step runs.
        stay: [groups] devices as they are.
        in_step: [groups] what the step runs.
    """
    graph = freedom.placement.graph
    group = freedom.group.tolist()
    found = np.where(in_step, homes, stay).tolist()
    as_it_was = stay.tolist()
    allowed = freedom.allowed
    scopes = _scopes_that_moved(freedom, homes, stay, in_step)
    order, start, dst = graph.out_order.tolist(), graph.out_start.tolist(), graph.dst.tolist()
    carries = (graph.src_output != CONTROL).tolist()
    for own, members in _groups_outside(freedom, in_step):
        wanted: set[int] = set()
        has_moved = False
        for node in members:
            for edge in order[start[node] : start[node + 1]]:
                other = group[dst[edge]]
                if carries[edge] and other != own:
                    wanted.add(found[other])
                    has_moved |= found[other] != as_it_was[other]
        device = -1
        if has_moved and len(wanted) == 1:
            (device,) = wanted
        elif not wanted:
            device = scopes.get(_scope_in(graph.names[members[0]], scopes), -1)
        if device >= 0 and allowed[own, device]:
            found[own] = device
    return np.array(found, dtype=np.int64)[freedom.group]


def nodes_of_groups(freedom: Freedom, in_step: NDArray[np.bool_]) -> Ints:
    """[groups] how many nodes of the graph have the device of each: its own, and those that only lead to it.

    Args:
        freedom: what may be chosen.
        in_step: [groups] what the step runs.
    """
    graph, group = freedom.placement.graph, freedom.group
    leader = np.where(in_step, np.arange(len(in_step)), -1).tolist()
    order, start, dst = graph.out_order.tolist(), graph.out_start.tolist(), graph.dst.tolist()
    carries = (graph.src_output != CONTROL).tolist()
    of = group.tolist()
    for own, members in _groups_outside(freedom, in_step):
        leaders = {
            leader[of[dst[edge]]]
            for node in members
            for edge in order[start[node] : start[node + 1]]
            if carries[edge] and of[dst[edge]] != own
        }
        if len(leaders) == 1:
            (leader[own],) = leaders
    of_leader = np.array(leader, dtype=np.int64)[group]
    return np.bincount(of_leader[of_leader >= 0], minlength=len(in_step))


def _groups_outside(freedom: Freedom, in_step: NDArray[np.bool_]) -> list[tuple[int, list[int]]]:
    """Groups that the step does not run, those that take others' results first, and the nodes of each."""
    group, rank = freedom.group.tolist(), freedom.placement.graph.rank.tolist()
    members: dict[int, list[int]] = {}
    for node in np.flatnonzero(~in_step[freedom.group]).tolist():
        members.setdefault(group[node], []).append(node)
    return sorted(members.items(), key=lambda item: -max(rank[node] for node in item[1]))


def _scopes_that_moved(
    freedom: Freedom, homes: Ints, stay: Ints, in_step: NDArray[np.bool_]
) -> dict[str, int]:
    """Scope -> the device of all that had a choice in it and moved; -1 where some did not, or to another device."""
    graph = freedom.placement.graph
    found: dict[str, int] = {}
    chosen = np.flatnonzero((in_step & freedom.is_free)[freedom.group]).tolist()
    has_moved, home = (homes != stay)[freedom.group].tolist(), homes[freedom.group].tolist()
    for node in chosen:
        scope, device = graph.names[node], home[node] if has_moved[node] else -1
        while scope:
            scope = scope.rpartition("/")[0]
            if found.setdefault(scope, device) != device:
                found[scope] = -1
    return found


def _scope_in(name: str, scopes: dict[str, int]) -> str:
    """The innermost scope of a node that the step runs anything of."""
    scope = name.rpartition("/")[0]
    while scope and scope not in scopes:
        scope = scope.rpartition("/")[0]
    return scope
