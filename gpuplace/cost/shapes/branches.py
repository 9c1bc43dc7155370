"""Branches of conditionals: which are taken, and which nodes are in branches that are not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpuplace.cost.shapes.engine import Engine
from gpuplace.graph.op_sets import ALL_SWITCHES, MERGES, SWITCHES
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph

_ASSUMED_ALIVE = {True: 1, False: 0}
"""Which output of a switch is alive where that is not known, by whether it has two: that for True, or the first."""


def known_branches(engine: Engine) -> dict[int, int]:
    """Switch nodes outside of loops' decisions whose predicate or index is known: which output is alive."""
    found: dict[int, int] = {}
    for node, kind in enumerate(engine.kinds):
        if kind.op_type in ALL_SWITCHES and len(engine.inputs[node]) == 2:
            known = engine.known_value(*engine.inputs[node][1])
            if known is not None and known[1] is None and known[0].size == 1:
                value, last = int(known[0].item()), len(kind.dtypes) - 1
                found[node] = (
                    int(value != 0) if kind.op_type in SWITCHES else value if 0 <= value <= last else last
                )
    return found


def branches_taken(graph: PlacementGraph, known: Mapping[int, int]) -> dict[int, int]:
    """Return the switches of conditionals, not of loops, with the output that is alive; assumed where it is unknown.

    Args:
        graph: the nodes of the step.
        known: as of `known_branches`.
    """
    found: dict[int, int] = {}
    for node in np.flatnonzero(graph.of_types(ALL_SWITCHES)).tolist():
        edges = graph.in_edges(node)
        if len(edges) > 1 and graph.op_type(int(graph.src[edges[1]])) == "LoopCond":
            continue
        found[node] = known.get(node, _ASSUMED_ALIVE[graph.op_type(node) in SWITCHES])
    return found


def dead_nodes(graph: PlacementGraph, known: Mapping[int, int]) -> tuple[np.ndarray, dict[bool, int]]:
    """Return [nodes] bool which nodes are in branches that are not taken, and how many predicates are unknown.

    Args:
        graph: the nodes of the step.
        known: as of `known_branches`.

    Returns:
        The nodes, and the number of switches of unknown predicate: True for those of two branches, False for others.
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
        gone = {port[edge] for edge in order[first[node] : first[node + 1]]} - {alive, CONTROL}
        stack += [(node, output) for output in sorted(gone)]
    left: dict[int, int] = {}
    while stack:
        node, output = stack.pop()
        for edge in order[first[node] : first[node + 1]]:
            other = after[edge]
            if dead[other] or (output >= 0 and port[edge] != output):
                continue
            if types[signature[other]] in MERGES:
                if port[edge] == CONTROL:  # it waits for dead nodes as for others
                    continue
                if other not in left:  # a Merge is dead where all its inputs are
                    left[other] = sum(port[one] != CONTROL for one in range(start[other], start[other + 1]))
                left[other] -= 1
                if left[other]:
                    continue
            dead[other] = True
            stack.append((other, -1))
    return dead, unknown
