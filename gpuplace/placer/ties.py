"""What ties a node to the others of its group: edges and `_class` entries, as a path.

    e is colocated with v, resource edge v -> r        from e to r

Under a conflict the group falls into parts that a program still has to bring together; `required_group` is the whole.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from gpuplace.placer.bindings import Conflict
from gpuplace.placer.grouping import Binding

if TYPE_CHECKING:
    from gpuplace.placer.placement import Placement


def tie_text(placement: Placement, binding: Binding, first: int, second: int) -> str:
    """One binding in words: `reference edge v -> w`, `b is colocated with a`."""
    names = placement.graph.names
    if binding is Binding.COLOCATION:
        return f"{names[first]} is colocated with {names[second]}"
    return f"{binding.value} {names[first]} -> {names[second]}"


def ties_between(placement: Placement, node: int, other: int) -> tuple[str, ...]:
    """The bindings that lead from a node to another one of its group, the fewest."""
    if node == other or placement.partition is None:
        return ()
    bindings, root = placement.placer.bindings, placement.partition.root
    beside: dict[int, list[tuple[int, int]]] = {}
    for pair in bindings.pairs_of(int(bindings.component[node])).tolist():
        first, second = int(bindings.first[pair]), int(bindings.second[pair])
        if root[first] == root[second] == root[node]:
            beside.setdefault(first, []).append((second, pair))
            beside.setdefault(second, []).append((first, pair))
    came: dict[int, tuple[int, int]] = {}
    queue = deque([other])
    while queue and node not in came:
        current = queue.popleft()
        for next_node, pair in beside.get(current, ()):
            if next_node != other and next_node not in came:
                came[next_node] = (current, pair)
                queue.append(next_node)
    path = []
    while node != other and node in came:
        node, pair = came[node]
        path.append(
            tie_text(placement, bindings.binding(pair), int(bindings.first[pair]), int(bindings.second[pair]))
        )
    return tuple(path)


def required_group(placement: Placement, node: int) -> list[int]:
    """The nodes that a program wants on a node's device: its group, and what conflicts keep apart from it."""
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
