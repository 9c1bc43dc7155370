"""Dependency order of a graph's nodes: each node comes after all that it needs, except for the back edges of loops.

The placement order (``PlacementGraph.order``) differs if functions and loops have been inlined: added nodes come last
there, even those that feed others.

The exits of a loop come after the whole body. A list or array that the body writes leaves the loop by an ``Exit`` that
depends on the condition alone, and its consumers need to know what was written::

    Merge ──> Switch ──> Exit ──> TensorListStack
                └──────> body: TensorListSetItem ──> NextIteration
"""

from __future__ import annotations

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.op_sets import EXITS, MERGES, NEXT_ITERATIONS, SWITCHES
from gpuplace.placer.placement_graph import PlacementGraph

_SHOWN = 20


def dependency_order(graph: PlacementGraph) -> list[int]:
    """Return the nodes, each after its inputs and control inputs.

    Args:
        graph: the graph.

    Raises:
        InvalidArgumentError: There is a cycle that is not a loop.
    """
    src, dst = graph.src, graph.dst
    is_next = graph.of_types(NEXT_ITERATIONS)
    if is_next.any():
        back = is_next[src] & graph.of_types(MERGES)[dst]
        ends, exits = _exits_after_bodies(graph, back)
        src, dst = np.concatenate([src[~back], ends]), np.concatenate([dst[~back], exits])
    if bool(np.all(src < dst)):
        return list(range(len(graph)))
    sorting = np.argsort(src, kind="stable")
    consumers = dst[sorting].tolist()
    start = np.searchsorted(src[sorting], np.arange(len(graph) + 1)).tolist()
    pending = np.bincount(dst, minlength=len(graph)).tolist()
    order = [node for node, count in enumerate(pending) if not count]
    for node in order:  # the list grows during the loop
        for consumer in consumers[start[node] : start[node + 1]]:
            pending[consumer] -= 1
            if not pending[consumer]:
                order.append(consumer)
    if len(order) < len(graph):
        missing = sorted(set(range(len(graph))).difference(order))
        raise InvalidArgumentError.of(
            f"{len(missing)} nodes in a cycle",
            facts={"nodes": ", ".join(graph.names[node] for node in missing[:_SHOWN])},
            hint="only a while loop may have a cycle: an edge from NextIteration to Merge",
        )
    return order


def _exits_after_bodies(graph: PlacementGraph, back: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return edges that make every exit of a loop wait for the ends of its body; a loop is identified by its condition.

    The ends are chained, and the exits wait for the last end, so that there are few edges.

    Args:
        graph: the graph.
        back: [edges] bool: back edges of loops.
    """
    src, dst, dst_input = graph.src, graph.dst, graph.dst_input
    loop = np.full(len(graph), -1, dtype=np.int64)  # the condition of each switch, merge, end and exit
    is_switch = graph.of_types(SWITCHES)
    to_switch = is_switch[dst]
    condition = to_switch & (dst_input == 1) & graph.of_types({"LoopCond"})[src]
    loop[dst[condition]] = src[condition]
    entering = to_switch & (dst_input == 0) & graph.of_types(MERGES)[src] & (loop[dst] >= 0)
    loop[src[entering]] = loop[dst[entering]]
    loop[src[back]] = loop[dst[back]]
    leaving = is_switch[src] & graph.of_types(EXITS)[dst] & (dst_input == 0)
    loop[dst[leaving]] = loop[src[leaving]]

    ends = np.unique(src[back])
    ends = ends[loop[ends] >= 0]
    ends = ends[np.argsort(loop[ends], kind="stable")]
    in_a_row = loop[ends[:-1]] == loop[ends[1:]]
    last = np.full(len(graph), -1, dtype=np.int64)  # last end of each loop, by its condition
    last[loop[ends]] = ends
    exits = np.unique(dst[leaving])
    exits = exits[loop[exits] >= 0]
    exits = exits[last[loop[exits]] >= 0]
    return (
        np.concatenate([ends[:-1][in_a_row], last[loop[exits]]]),
        np.concatenate([ends[1:][in_a_row], exits]),
    )
