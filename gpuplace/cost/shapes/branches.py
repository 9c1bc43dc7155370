"""Branches of conditionals: which is taken, and what may not run at all."""

from __future__ import annotations

from gpuplace.cost.shapes.inference import Inference
from gpuplace.graph.op_sets import MERGES, SWITCHES


def known_branches(engine: Inference) -> dict[int, bool]:
    """Switch nodes outside of loops' decisions whose predicate is known: which output is alive."""
    found: dict[int, bool] = {}
    for node, kind in enumerate(engine.kinds):
        if kind.op_type in SWITCHES and len(engine.inputs[node]) == 2:
            known = engine.known_value(*engine.inputs[node][1])
            if known is not None and known[1] is None and known[0].size == 1:
                found[node] = bool(known[0].item())
    return found


def idle_branches(engine: Inference) -> set[int]:
    """Nodes in branches of conditionals that are not taken; where that is not known, the one for True is."""
    graph, kinds = engine.graph, engine.kinds
    order, first = graph.out_order.tolist(), graph.out_start.tolist()
    port, after = graph.src_output.tolist(), graph.dst.tolist()
    taken = known_branches(engine)
    found: set[int] = set()
    stack: list[int] = []
    for node, kind in enumerate(kinds):
        if kind.op_type not in SWITCHES or len(engine.inputs[node]) != 2:
            continue
        if kinds[engine.inputs[node][1][0]].op_type == "LoopCond":
            continue
        alive = int(taken.get(node, True))
        stack += [after[edge] for edge in order[first[node] : first[node + 1]] if port[edge] == 1 - alive]
    while stack:
        node = stack.pop()
        if node not in found and kinds[node].op_type not in MERGES:
            found.add(node)
            stack += [after[edge] for edge in order[first[node] : first[node + 1]]]
    return found
