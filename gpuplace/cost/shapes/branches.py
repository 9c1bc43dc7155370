"""Branches of conditionals: which is taken, and what may not run at all."""

from __future__ import annotations

from gpuplace.cost.shapes.inference import Inference
from gpuplace.graph.op_sets import ALL_SWITCHES, MERGES, SWITCHES
from gpuplace.placer.placement_graph import CONTROL

ASSUMED_ALIVE = {True: 1, False: 0}
"""Which output of a switch is alive where that is not known, by whether it has two: that for True, or the first."""


def known_branches(engine: Inference) -> dict[int, int]:
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


def idle_branches(engine: Inference) -> set[int]:
    """Nodes in branches of conditionals that are not taken; where that is not known, one is assumed to be."""
    graph, kinds = engine.graph, engine.kinds
    order, first = graph.out_order.tolist(), graph.out_start.tolist()
    port, after = graph.src_output.tolist(), graph.dst.tolist()
    taken = known_branches(engine)
    found: set[int] = set()
    stack: list[int] = []
    for node, kind in enumerate(kinds):
        if kind.op_type not in ALL_SWITCHES or len(engine.inputs[node]) != 2:
            continue
        if kinds[engine.inputs[node][1][0]].op_type == "LoopCond":
            continue
        alive = taken.get(node, ASSUMED_ALIVE[kind.op_type in SWITCHES])
        edges = order[first[node] : first[node + 1]]
        stack += [after[edge] for edge in edges if port[edge] not in (alive, CONTROL)]
    while stack:
        node = stack.pop()
        if node not in found and kinds[node].op_type not in MERGES:
            found.add(node)
            stack += [after[edge] for edge in order[first[node] : first[node + 1]]]
    return found
