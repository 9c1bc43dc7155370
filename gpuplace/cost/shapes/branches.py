"""Branches of conditionals: which are taken, and the nodes in branches that are not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gpuplace.graph.op_sets import ALL_SWITCHES, MERGES, SWITCHES
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph

if TYPE_CHECKING:
    from gpuplace.cost.shapes.engine import Engine

_ASSUMED_ALIVE = {True: 1, False: 0}
"""Switch output assumed to be alive, by whether the switch has two outputs: the True one, or the first."""


def live_output(engine: Engine, node: int) -> int | None:
    """Return the live output of a switch; None if its predicate or index is unknown."""
    kind = engine.kinds[node]
    if len(engine.inputs[node]) != 2:
        return None
    predicate = engine.known_value(*engine.inputs[node][1])
    if predicate is None or predicate[1] is not None or predicate[0].size != 1:
        return None
    value, last = int(predicate[0].item()), len(kind.dtypes) - 1
    if kind.op_type in SWITCHES:
        return int(value != 0)
    return value if 0 <= value <= last else last


def known_branches(engine: Engine) -> dict[int, int]:
    """Return the live output of each switch with a known predicate or index, outside of loop conditions."""
    outputs = {
        node: live_output(engine, node)
        for node, kind in enumerate(engine.kinds)
        if kind.op_type in ALL_SWITCHES
    }
    return {node: output for node, output in outputs.items() if output is not None}


class DeadBranches:
    """Nodes in branches that are not taken.

    Attributes:
        nodes: [nodes] whether each is dead.
        dead_inputs: merge -> dead inputs, as (node, output).

    Args:
        graph: nodes of the step.
    """

    def __init__(self, graph: PlacementGraph) -> None:
        self.nodes = [False] * len(graph)
        self.dead_inputs: dict[int, set[tuple[int, int]]] = {}
        self._order, self._first = graph.out_order.tolist(), graph.out_start.tolist()
        self._before, self._port, self._after = (
            graph.src.tolist(),
            graph.src_output.tolist(),
            graph.dst.tolist(),
        )
        self._start = graph.in_start.tolist()
        self._is_merge = graph.of_types(MERGES).tolist()

    def take(self, node: int, alive: int) -> None:
        """Mark what follows the other outputs of a switch.

        Args:
            node: the switch.
            alive: its live output.
        """
        edges = self._order[self._first[node] : self._first[node + 1]]
        dead_outputs = {self._port[edge] for edge in edges} - {alive, CONTROL}
        stack = [(node, output) for output in sorted(dead_outputs)]
        while stack:
            source, output = stack.pop()
            for edge in self._order[self._first[source] : self._first[source + 1]]:
                successor, port = self._after[edge], self._port[edge]
                if self.nodes[successor] or (output >= 0 and port != output):
                    continue
                if self._is_merge[successor]:
                    if port == CONTROL:  # a dead node satisfies control dependencies of a Merge
                        continue
                    self.dead_inputs.setdefault(successor, set()).add((source, port))
                    if not self._is_dead_merge(successor):
                        continue
                self.nodes[successor] = True
                stack.append((successor, -1))

    def _is_dead_merge(self, node: int) -> bool:
        return all(
            self._port[edge] == CONTROL or (self._before[edge], self._port[edge]) in self.dead_inputs[node]
            for edge in range(self._start[node], self._start[node + 1])
        )


def branches_taken(graph: PlacementGraph, known: Mapping[int, int]) -> dict[int, int]:
    """Return the live output of each switch of a conditional, not of a loop; assumed where it is unknown.

    Args:
        graph: nodes of the step.
        known: known outputs, from `known_branches`.
    """
    alive_output: dict[int, int] = {}
    for node in np.flatnonzero(graph.of_types(ALL_SWITCHES)).tolist():
        edges = graph.in_edges(node)
        if len(edges) > 1 and graph.op_type(int(graph.src[edges[1]])) == "LoopCond":
            continue
        alive_output[node] = known.get(node, _ASSUMED_ALIVE[graph.op_type(node) in SWITCHES])
    return alive_output


def dead_nodes(graph: PlacementGraph, known: Mapping[int, int]) -> tuple[np.ndarray, dict[bool, int]]:
    """Return [nodes] bool: nodes in branches that are not taken, and the number of unknown predicates.

    Args:
        graph: nodes of the step.
        known: known outputs, from `known_branches`.

    Returns:
        The mask, and the number of switches with unknown predicates: True for those with two branches, False for
            others.
    """
    unknown = {True: 0, False: 0}
    taken = branches_taken(graph, known)
    if not taken:
        return np.zeros(len(graph), dtype=bool), unknown
    branches = DeadBranches(graph)
    for node, alive in taken.items():
        unknown[graph.op_type(node) in SWITCHES] += node not in known
        branches.take(node, alive)
    return np.array(branches.nodes, dtype=bool), unknown
