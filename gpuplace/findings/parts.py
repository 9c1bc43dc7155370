"""Parts of a step that do not depend on each other, as towers and models that are trained side by side.

Nodes are joined along the edges as long as only small parts meet. Where large ones do, as where gradients of towers are
averaged, they stay apart, and what takes results of both is of neither::

    tower_0 ──> loss_0 ──> gradients_0 ──┐
                                         ├──> average ──> update      two parts; what is behind them joins them
    tower_1 ──> loss_1 ──> gradients_1 ──┘
"""

from __future__ import annotations

import numpy as np

from gpuplace.findings.facts import Bools, Ints, StepFacts

_HEAVY = 0.15
"""The part of all kernels' seconds that a part has, at least."""


def independent_parts(facts: StepFacts) -> Ints:
    """Return [nodes] the number of the part that each is of; -1 for shared nodes, and for those that join parts.

    The towers of the model are such parts. In a model without towers, variables, constants and input are shared,
    gradients are of the part of their op, and a loop is of one part.

    Args:
        facts: the step.
    """
    parts = _Parts(facts)
    towers = facts.tower_of
    if towers.max(initial=-1) >= 0:
        numbers = np.searchsorted(np.unique(towers[towers >= 0]), towers)
        return np.where(parts.shared | (towers < 0), -1, numbers)
    joins = parts.joins()
    inside: Bools = ~parts.shared & ~joins
    roots = np.array([parts.root(node) for node in range(len(joins))], dtype=np.int64)
    found = np.full(len(joins), -1, dtype=np.int64)
    heavy = [one for one in np.unique(roots[inside]).tolist() if parts.weight[one] >= parts.least]
    for number, one in enumerate(heavy):
        found[inside & (roots == one)] = number
    return found


class _Parts:
    """Nodes joined into parts, by a forest of parents."""

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
        """The node that stands for a part."""
        parent = self.parent
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    def join(self, one: int, other: int) -> None:
        """Makes two parts one."""
        one, other = self.root(one), self.root(other)
        if one != other:
            self.parent[one] = other
            self.weight[other] += self.weight[one]

    def joins(self) -> Bools:
        """[nodes] what takes results of several large parts, or of a node that does."""
        inputs, forward, shared = self.facts.inputs, self.facts.forward.tolist(), self.shared.tolist()
        joins = [False] * len(shared)
        for node in self.facts.order:
            if shared[node]:
                continue
            op = forward[node]  # of a gradient
            if op >= 0 and not shared[op] and not joins[op]:
                self.join(op, node)
                continue
            before = {self.root(other) for other in inputs[node] if not shared[other] and not joins[other]}
            joins[node] = (
                any(joins[other] for other in inputs[node])
                or sum(self.weight[one] >= self.least for one in before) > 1
            )
            if not joins[node]:
                for one in before:
                    self.join(one, node)
        return np.array(joins, dtype=bool)
