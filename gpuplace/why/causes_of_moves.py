"""The causes of many moves at once: nodes that move alike share one.

`Comparer.cause` finds why one node moves. Its answer depends on little more than the constraints of the node's group on
either side, its own request, its op and types, and, where a note names another node, on which group it is in. Nodes
that have all that in common form a class, found with arrays; one node of each class is looked at::

    tower_1/a  tower_1/b  tower_1/c      one class: no group, "/gpu:1" asked for     "asks for '/gpu:1'"
    tower_1/v, and v/init in its group   a class each                               "v, tied to it, asks for '/gpu:1'"

What a machine lacks, the usual cause of many moves, needs less of that: not the op, nor the other side's constraints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpuplace.device.parsed_name import ANY
from gpuplace.placer.decide import NOWHERE
from gpuplace.progress import track
from gpuplace.why.deciding import deciding_rule
from gpuplace.why.moved_by import RULE_OF_DECISION, Comparer, Side
from gpuplace.why.rules import Rule

if TYPE_CHECKING:
    from gpuplace.device.device_set import DeviceSet

__all__ = ["causes_of_moves"]

_LARGEST = 1 << 62


def causes_of_moves(comparer: Comparer, old: np.ndarray, new: np.ndarray) -> list[tuple[Rule, str]]:
    """`[moves]` for each node that moved the difference that moves it, and in words what it is about.

    Args:
        comparer: the two placements.
        old, new: [moves] the nodes' positions in either graph.
    """
    before, after = comparer.before, comparer.after
    gone = _is_missing(before, old, after.placement.device_set)
    come = ~gone & _is_missing(after, new, before.placement.device_set)
    classes = np.full(len(old), -1, dtype=np.int64)
    count = 0
    for which, chosen in enumerate((gone, come, ~(gone | come))):
        at = np.flatnonzero(chosen)
        if not len(at):
            continue
        columns = [_asking(before, old[at]), _asking(after, new[at])][which] if which < 2 else []
        found = _classes(columns or [*_everything(before, old[at]), *_everything(after, new[at])])
        classes[at] = found + count
        count += int(found.max()) + 1
    _, first, kind = np.unique(classes, return_index=True, return_inverse=True)
    pairs = list(zip(old[first].tolist(), new[first].tolist(), strict=True))
    causes = [
        comparer.cause(i, k) or (deciding_rule(after.placement, k), "")
        for i, k in track(pairs, len(pairs), "comparing")
    ]
    return [causes[number] for number in kind.tolist()]


def _is_missing(side: Side, nodes: np.ndarray, other: DeviceSet) -> np.ndarray:
    """[nodes] whether a node has a device that the other machine does not."""
    names = side.placement.device_set.names
    missing = np.array([*(name not in other for name in names), False])
    return missing[side.placement.devices[nodes]]


def _classes(columns: list[np.ndarray]) -> np.ndarray:
    """[nodes] a number that nodes have in common that agree in all columns; from 0, without gaps."""
    code, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        low = int(column.min())
        span = int(column.max()) - low + 1
        if size * span >= _LARGEST:
            values, code = np.unique(code, return_inverse=True)
            size = len(values)
        code, size = code * span + (column - low), size * span
    return np.unique(code, return_inverse=True)[1]


def _asking(side: Side, nodes: np.ndarray) -> list[np.ndarray]:
    """What `Side.reason` depends on."""
    placement = side.placement
    columns = [placement.devices[nodes], side.graph.device[nodes], _alone(side, nodes)]
    if placement.partition is None:
        return [*columns, side.graph.signature[nodes]]
    columns.append(placement.partition.member[nodes])
    if placement.decisions is None:
        return columns
    how = placement.decisions.how[nodes]
    follows = np.isin(how, list(RULE_OF_DECISION))
    asks = np.zeros(len(nodes), dtype=bool)
    if placement.single is not None:
        _, first, kind = np.unique(_classes(columns[1:]), return_index=True, return_inverse=True)
        asks = np.array([side.asks(node) for node in nodes[first].tolist()], dtype=bool)[kind]
    # Who asks for itself, or has to go nowhere in particular, is not told with another node's name.
    asks |= np.array([member.requested == ANY for member in placement.partition.members])[columns[3]]
    return [*columns, how, np.where(asks & ~follows, NOWHERE, placement.partition.root[nodes])]


def _everything(side: Side, nodes: np.ndarray) -> list[np.ndarray]:
    """What a cause depends on."""
    placement = side.placement
    columns = [
        placement.devices[nodes],
        side.graph.device[nodes],
        side.graph.signature[nodes],
        _alone(side, nodes),
    ]
    if placement.partition is None:
        return columns
    columns.append(placement.partition.member[nodes])
    root = placement.partition.root
    is_group = np.bincount(root, minlength=len(root))[root[nodes]] > 1
    if placement.decisions is not None:
        how = placement.decisions.how[nodes]
        is_group |= np.isin(how, list(RULE_OF_DECISION))
        columns.append(how)
    if placement.host_causes:
        is_group |= np.isin(root[nodes], root[list(placement.host_causes)])
    return [*columns, np.where(is_group, root[nodes], NOWHERE)]


def _alone(side: Side, nodes: np.ndarray) -> np.ndarray:
    """[nodes] the node where it came with a device, which is known of no other; else the same for all."""
    given = list(side.placement.assigned)
    return np.where(np.isin(nodes, given), nodes, NOWHERE) if given else np.full(len(nodes), NOWHERE)
