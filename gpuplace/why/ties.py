"""Connections of a node to other nodes of its colocation group: a path of edges and `_class` entries.

    e is colocated with v, resource edge v -> r        from e to r

A conflict splits a group into parts that the program still requires on one device; `required_group` is the union.
"""

from __future__ import annotations

from collections import deque

from gpuplace.device.parsed_name import ParsedName
from gpuplace.placer.bindings import Conflict
from gpuplace.placer.grouping import Binding
from gpuplace.placer.placed import Placed
from gpuplace.why.rules import Rule

RULE_OF_BINDING = {
    Binding.REFERENCE: Rule.REFERENCE_EDGE,
    Binding.RESOURCE: Rule.RESOURCE_EDGE,
    Binding.DATASET: Rule.DATASET_EDGE,
    Binding.CALL: Rule.RESOURCE_EDGE,
    Binding.COLOCATION: Rule.COLOCATION,
}


def name_text(name: ParsedName) -> str:
    """Return a full device name, with the index even if there is no type (`to_string` then omits it)."""
    lone = f"/device:*:{name.id}" if name.type is None and name.id is not None else ""
    return name.to_string() + lone


def tie_text(placement: Placed, binding: Binding, first: int, second: int) -> str:
    """Describe one binding: `reference edge v -> w`, `b is colocated with a`, `a and b are colocated with v`."""
    names = placement.graph.names
    if binding is not Binding.COLOCATION:
        return f"{binding.value} {names[first]} -> {names[second]}"
    label = _colocated_with(placement, first, second)
    if label not in (None, names[first], names[second]):
        return f"{names[first]} and {names[second]} are colocated with {label}"
    own, other = (second, first) if label == names[first] else (first, second)
    return f"{names[own]} is colocated with {names[other]}"


def _colocated_with(placement: Placed, first: int, second: int) -> str | None:
    """Return the name in the `_class` entries that ties two nodes."""
    graph = placement.graph
    here, there = ((*graph.colocation(node), graph.names[node]) for node in (first, second))
    return next((label for label in here if label in there), None)


def ties_between(placement: Placed, node: int, other: int) -> tuple[str, ...]:
    """Describe the shortest chain of bindings from a node to another node of its group."""
    return tuple(tie_text(placement, *tie) for tie in _path(placement, node, other))


_Tie = tuple[Binding, int, int]


def _path(placement: Placed, node: int, other: int) -> list[_Tie]:
    """Return the shortest chain of bindings from a node to another node of its group: kind of binding, and both ends.

    Nodes of a colocation group are bound to its first node; the path goes directly from one member to the other.
    """
    if node == other or placement.partition is None:
        return []
    root = placement.partition.root
    neighbors: dict[int, list[tuple[int, _Tie]]] = {}
    for tie in placement.placer.bindings.ties_of(node, placement.partition.inside):
        _, first, second = tie
        if root[first] == root[second] == root[node]:
            neighbors.setdefault(first, []).append((second, tie))
            neighbors.setdefault(second, []).append((first, tie))
    reached_from: dict[int, tuple[int, _Tie]] = {}
    queue = deque([other])
    while queue and node not in reached_from:
        current = queue.popleft()
        for next_node, tie in neighbors.get(current, ()):
            if next_node != other and next_node not in reached_from:
                reached_from[next_node] = (current, tie)
                queue.append(next_node)
    path: list[_Tie] = []
    label: str | None = None
    while node in reached_from:
        following, (binding, first, second) = reached_from[node]
        before, label = label, None
        if binding is Binding.COLOCATION:
            label = _colocated_with(placement, node, following)
            if before is not None and before == label:
                path[-1] = (binding, path[-1][1], following)
            else:
                path.append((binding, node, following))
        else:
            path.append((binding, first, second))
        node = following
    return path


def required_group(placement: Placed, node: int) -> list[int]:
    """Return the nodes required on a node's device: its group, and the nodes that conflicts split off."""
    group = set(placement.group_of(node))
    conflicts = [fault for fault in placement.faults if isinstance(fault, Conflict)]
    while True:
        wider = [
            set(fault.group)
            for fault in conflicts
            if group & set(fault.group) and not group >= set(fault.group)
        ]
        if not wider:
            break
        group.update(*wider)
    return sorted(group, key=lambda member: placement.graph.rank[member])
