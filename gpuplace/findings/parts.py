"""Independent parts of a step, such as towers and models that are trained side by side.

Nodes are joined along the edges as long as at most one of the joined parts is large. Where large parts meet, as where
the gradients of towers are averaged, they stay separate, and the nodes that depend on several belong to none::

    tower_0 ──> loss_0 ──> gradients_0 ──┐
                                         ├──> average ──> update      two parts; "average" depends on both
    tower_1 ──> loss_1 ──> gradients_1 ──┘
"""

from __future__ import annotations

import numpy as np

from gpuplace.findings.facts import Bools, Ints, StepFacts

_HEAVY = 0.15
"""Minimal share of the time of all kernels of a large part."""


def independent_parts(facts: StepFacts) -> Ints:
    """Return the independent part of each node.

    Variables, constants and input are shared. A gradient belongs to the part of its op, and a loop to one part.

    Args:
        facts: the step.

    Returns:
        [nodes] number of the part; -1 for shared nodes and for nodes that depend on several parts.
    """
    parts = _Parts(facts)
    joins = parts.joins()
    inside: Bools = ~parts.shared & ~joins
    roots = np.array([parts.root(node) for node in range(len(joins))], dtype=np.int64)
    part_of = np.full(len(joins), -1, dtype=np.int64)
    heavy = [
        part_root for part_root in np.unique(roots[inside]).tolist() if parts.weight[part_root] >= parts.least
    ]
    for number, part_root in enumerate(heavy):
        part_of[inside & (roots == part_root)] = number
    return part_of


class _Parts:
    """Partition of the nodes into parts, as a union-find forest."""

    def __init__(self, facts: StepFacts) -> None:
        self.facts = facts
        self.shared: Bools = facts.reads | facts.is_constant | ~facts.is_model
        self.least = _HEAVY * float(facts.kernel_seconds.sum())
        self.weight = facts.kernel_seconds.tolist()
        self.parent = list(range(len(self.weight)))
        first: dict[str, int] = {}
        for node, frame in enumerate(facts.step.shapes.frames):
            if frame and not self.shared[node]:
                self.join(node, first.setdefault(frame, node))

    def root(self, node: int) -> int:
        """Return the representative node of a part."""
        parent = self.parent
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    def join(self, first: int, second: int) -> None:
        """Merge two parts."""
        first, second = self.root(first), self.root(second)
        if first != second:
            self.parent[first] = second
            self.weight[second] += self.weight[first]

    def joins(self) -> Bools:
        """[nodes] Whether the node depends on several large parts."""
        inputs, forward, shared = self.facts.inputs, self.facts.forward.tolist(), self.shared.tolist()
        joins = [False] * len(shared)
        for node in self.facts.order:
            if shared[node]:
                continue
            op = forward[node]  # of a gradient
            if op >= 0 and not shared[op] and not joins[op]:
                self.join(op, node)
                continue
            input_parts = {
                self.root(other) for other in inputs[node] if not shared[other] and not joins[other]
            }
            joins[node] = (
                any(joins[other] for other in inputs[node])
                or sum(self.weight[part] >= self.least for part in input_parts) > 1
            )
            if not joins[node]:
                for part in input_parts:
                    self.join(part, node)
        return np.array(joins, dtype=bool)
