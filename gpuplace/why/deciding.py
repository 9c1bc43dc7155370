"""The rule that settled each node's device, for a whole graph at once.

``placement.explain`` replays everything that acted on one node. Pictures and comparisons need one word per node, and
nodes with equal constraints have the same one: it is worked out once per distinct combination and spread by arrays.

Source: tensorflow/core/common_runtime/placer.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpuplace.device.parsed_name import ANY
from gpuplace.placer.candidates import SOFT, SOFT_RESOURCE
from gpuplace.placer.decide import NOWHERE
from gpuplace.why.moved_by import RULE_OF_DECISION
from gpuplace.why.rules import Rule

if TYPE_CHECKING:
    from gpuplace.why.placement import Placement

__all__ = ["RULES", "deciding_rule", "deciding_rules"]

RULES = tuple(Rule)
"""The rules; `deciding_rules` gives positions in it."""


def deciding_rules(placement: Placement) -> np.ndarray:
    """[nodes] position in `RULES` of the rule that settled each node's device."""
    graph = placement.graph
    failed = RULES.index(Rule.FAILED)
    if placement.partition is None or placement.decisions is None or not len(graph):
        return np.full(len(graph), failed, dtype=np.int64)
    columns = (
        placement.partition.member,
        graph.signature,
        graph.device != 0,
        placement.decisions.how,
        placement.devices == NOWHERE,
    )
    code = np.zeros(len(graph), dtype=np.int64)
    for column in columns:
        values, inverse = np.unique(column, return_inverse=True)
        code = code * len(values) + inverse
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    rules = np.array([RULES.index(deciding_rule(placement, node)) for node in first.tolist()], dtype=np.int64)
    return rules[inverse]


def deciding_rule(placement: Placement, node: int) -> Rule:
    """The rule that settled a node's device, without replaying its group.

    A node that follows another although one device alone was left has its device from what left just that one.
    """
    if placement.partition is None or placement.decisions is None or placement.devices[node] == NOWHERE:
        return Rule.FAILED
    how = int(placement.decisions.how[node])
    found = placement.chooser.candidates(placement.constraints(node))
    if how in RULE_OF_DECISION and len(found.devices) > 1:
        return RULE_OF_DECISION[how]
    member = placement.constraints(node)
    if found.level == SOFT:
        return Rule.SOFT_PLACEMENT
    if found.level == SOFT_RESOURCE:
        return Rule.SOFT_RESOURCE
    if member.assigned != ANY:
        return Rule.ASSIGNED
    if member.requested != ANY:
        return Rule.REQUEST if placement.graph.requested_device(node) else Rule.GROUP
    if len(member.supported) < len(placement.facts_of(node).supported):
        return Rule.GROUP
    if len(member.supported) < len(placement.device_set.prioritized_types()):
        return Rule.KERNEL
    if any(priority for _, priority in member.supported):
        return Rule.KERNEL_PRIORITY
    return Rule.TYPE_PRIORITY if len(placement.device_set.type_priority) > 1 else Rule.NAME_ORDER
