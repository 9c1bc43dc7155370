"""Find independent parts of a step, such as towers and models that are trained side by side.

Towers come from the structure of the model. In other models, nodes are joined along edges as long as small parts meet.
Large parts stay separate, and a node that uses results of two large parts belongs to neither::

    tower_0 ──> loss_0 ──> gradients_0 ──┐
                                         ├──> average ──> update      two parts, and the nodes after them
    tower_1 ──> loss_1 ──> gradients_1 ──┘
"""

from __future__ import annotations

import numpy as np

from gpuplace.findings.facts import Bools, Ints, StepFacts

_HEAVY = 0.15
"""Smallest fraction of the GPU kernel time in a part."""


def independent_parts(facts: StepFacts) -> Ints:
    """Return [nodes] the number of each node's part; -1 for shared nodes and nodes that join parts.

    The towers of the model are such parts. In a model without towers, variables, constants and input are shared, a
    gradient belongs to the part of its op, and a loop belongs to one part.

    Args:
        facts: the step.
    """
    parts = _Parts(facts)
    towers = facts.tower_of
    of_tower = (towers >= 0) & ~parts.shared
    if of_tower.any():
        return np.where(of_tower, np.searchsorted(np.unique(towers[of_tower]), towers), -1)
    joins = parts.joins()
    inside: Bools = ~parts.shared & ~joins
    roots = np.array([parts.root(node) for node in range(len(joins))], dtype=np.int64)
    part_of = np.full(len(joins), -1, dtype=np.int64)
    heavy = [root for root in np.unique(roots[inside]).tolist() if parts.weight[root] >= parts.least]
    for number, root in enumerate(heavy):
        part_of[inside & (roots == root)] = number
    return part_of


class _Parts:
    """Union-find over the nodes of a step."""

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
        """[nodes] whether a node depends on several large parts."""
        inputs, forward, shared = self.facts.inputs, self.facts.forward.tolist(), self.shared.tolist()
        joins = [False] * len(shared)
        for node in self.facts.order:
            if shared[node]:
                continue
            op = forward[node]  # for a gradient
            if op >= 0 and not shared[op] and not joins[op]:
                self.join(op, node)
                continue
            before = {self.root(other) for other in inputs[node] if not shared[other] and not joins[other]}
            joins[node] = (
                any(joins[other] for other in inputs[node])
                or sum(self.weight[part] >= self.least for part in before) > 1
            )
            if not joins[node]:
                for part in before:
                    self.join(part, node)
        return np.array(joins, dtype=bool)
