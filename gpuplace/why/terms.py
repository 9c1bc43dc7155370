"""Definitions of the terms in explanations, one sentence each, for tooltips.

>>> print(TERMS["type priority"])
device types in their order of preference, GPU before CPU
"""

from __future__ import annotations

from gpuplace.why.rules import RULES, Rule

VISITED_FIRST = "nodes are visited in graph order, generators after all others"

TERMS: dict[str, str] = {rule.value: rule.meaning for rule in RULES} | {
    Rule.GROUP.value: f"{Rule.GROUP.meaning}; {VISITED_FIRST}",
    Rule.GENERATOR.value: "a generator (a node with no data input and one output) goes where all its consumers are",
    "colocation group": "nodes that must share a device, because of _class attributes, reference or resource edges",
}
"""Term -> its definition: the name of every rule, and "colocation group"."""
