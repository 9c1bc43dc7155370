"""Branches of conditionals: which are taken, and the nodes in branches that are not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpuplace.cost.shapes.engine import Engine
from gpuplace.graph.op_sets import ALL_SWITCHES, MERGES, SWITCHES
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph

_ASSUMED_ALIVE = {True: 1, False: 0}
"""Switch output assumed to be alive, by whether the switch has two outputs: the True one, or the first."""


def known_branches(engine: Engine) -> dict[int, int]:
    """Return the live output of each switch with a known predicate or index, outside of loop conditions."""
    alive_output: dict[int, int] = {}
    for node, kind in enumerate(engine.kinds):
        if kind.op_type in ALL_SWITCHES and len(engine.inputs[node]) == 2:
            predicate = engine.known_value(*engine.inputs[node][1])
            if predicate is not None and predicate[1] is None and predicate[0].size == 1:
                value, last = int(predicate[0].item()), len(kind.dtypes) - 1
                alive_output[node] = (
                    int(value != 0) if kind.op_type in SWITCHES else value if 0 <= value <= last else last
                )
    return alive_output


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
    dead = np.zeros(len(graph), dtype=bool)
    unknown = {True: 0, False: 0}
    taken = branches_taken(graph, known)
    if not taken:
        return dead, unknown
    types = graph.op_types
    order, first, after = graph.out_order.tolist(), graph.out_start.tolist(), graph.dst.tolist()
    signature, start, port = graph.signature.tolist(), graph.in_start.tolist(), graph.src_output.tolist()
    stack: list[tuple[int, int]] = []
    for node, alive in taken.items():
        unknown[types[signature[node]] in SWITCHES] += node not in known
        dead_outputs = {port[edge] for edge in order[first[node] : first[node + 1]]} - {alive, CONTROL}
        stack += [(node, output) for output in sorted(dead_outputs)]
    live_inputs: dict[int, int] = {}
    while stack:
        node, output = stack.pop()
        for edge in order[first[node] : first[node + 1]]:
            successor = after[edge]
            if dead[successor] or (output >= 0 and port[edge] != output):
                continue
            if types[signature[successor]] in MERGES:
                if port[edge] == CONTROL:  # a dead node satisfies control dependencies of a Merge
                    continue
                if successor not in live_inputs:  # a Merge is dead once all its inputs are
                    live_inputs[successor] = sum(
                        port[in_edge] != CONTROL for in_edge in range(start[successor], start[successor + 1])
                    )
                live_inputs[successor] -= 1
                if live_inputs[successor]:
                    continue
            dead[successor] = True
            stack.append((successor, -1))
    return dead, unknown
