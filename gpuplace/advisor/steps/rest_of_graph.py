"""Devices of nodes that the step does not run: initial values, savers, other parts of the program.

They stay where they are, except for nodes that feed only nodes that moved. An initial value, for example, is computed
on the new device of its variable, so that no GPU has to hold the initial values of all variables. Nodes without
consumers go with their scope, if all of it moved to one device, which makes the rules shorter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.candidates import Candidates
from gpuplace.placer.placement_graph import CONTROL

Ints = NDArray[np.int64]


def with_rest_of_graph(candidates: Candidates, homes: Ints, stay: Ints, in_step: NDArray[np.bool_]) -> Ints:
    """Return [nodes] devices of the whole graph.

    Args:
        candidates: candidate devices of the graph.
        homes: [groups] devices of groups that the step runs.
        stay: [groups] current devices.
        in_step: [groups] whether the step runs the group.
    """
    graph = candidates.placement.graph
    group = candidates.group.tolist()
    device_of = np.where(in_step, homes, stay).tolist()
    as_it_was = stay.tolist()
    allowed = candidates.allowed
    scopes = _scopes_that_moved(candidates, homes, stay, in_step)
    order, start, dst = graph.out_order.tolist(), graph.out_start.tolist(), graph.dst.tolist()
    carries = (graph.src_output != CONTROL).tolist()
    for own, members in _groups_outside(candidates, in_step):
        consumer_devices: set[int] = set()
        has_moved = False
        for node in members:
            for edge in order[start[node] : start[node + 1]]:
                other = group[dst[edge]]
                if carries[edge] and other != own:
                    consumer_devices.add(device_of[other])
                    has_moved |= device_of[other] != as_it_was[other]
        device = -1
        if has_moved and len(consumer_devices) == 1:
            (device,) = consumer_devices
        elif not consumer_devices:
            device = scopes.get(_scope_in(graph.names[members[0]], scopes), -1)
        if device >= 0 and allowed[own, device]:
            device_of[own] = device
    return np.array(device_of, dtype=np.int64)[candidates.group]


def nodes_of_groups(candidates: Candidates, in_step: NDArray[np.bool_]) -> Ints:
    """Return [groups] the number of nodes that follow each group: its own, and those that only lead to it.

    Args:
        candidates: candidate devices of the graph.
        in_step: [groups] whether the step runs the group.
    """
    graph, group = candidates.placement.graph, candidates.group
    leader = np.where(in_step, np.arange(len(in_step)), -1).tolist()
    order, start, dst = graph.out_order.tolist(), graph.out_start.tolist(), graph.dst.tolist()
    carries = (graph.src_output != CONTROL).tolist()
    of = group.tolist()
    for own, members in _groups_outside(candidates, in_step):
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


def _groups_outside(candidates: Candidates, in_step: NDArray[np.bool_]) -> list[tuple[int, list[int]]]:
    """Return the groups that the step does not run, consumers first, with the nodes of each."""
    group, rank = candidates.group.tolist(), candidates.placement.graph.rank.tolist()
    members: dict[int, list[int]] = {}
    for node in np.flatnonzero(~in_step[candidates.group]).tolist():
        members.setdefault(group[node], []).append(node)
    return sorted(members.items(), key=lambda item: -max(rank[node] for node in item[1]))


def _scopes_that_moved(
    candidates: Candidates, homes: Ints, stay: Ints, in_step: NDArray[np.bool_]
) -> dict[str, int]:
    """Return each scope with the new device of all its movable nodes; -1 if some stay or go to another device."""
    graph = candidates.placement.graph
    device_of_scope: dict[str, int] = {}
    chosen = np.flatnonzero((in_step & candidates.is_free)[candidates.group]).tolist()
    has_moved, home = (homes != stay)[candidates.group].tolist(), homes[candidates.group].tolist()
    for node in chosen:
        scope, device = graph.names[node], home[node] if has_moved[node] else -1
        while scope:
            scope = scope.rpartition("/")[0]
            if device_of_scope.setdefault(scope, device) != device:
                device_of_scope[scope] = -1
    return device_of_scope


def _scope_in(name: str, scopes: dict[str, int]) -> str:
    """Return the innermost scope of a node in which the step runs any node."""
    scope = name.rpartition("/")[0]
    while scope and scope not in scopes:
        scope = scope.rpartition("/")[0]
    return scope
