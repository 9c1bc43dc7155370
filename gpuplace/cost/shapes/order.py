"""An order of a graph's nodes in which each comes after all that it needs, loops' way back aside.

The order of placing (``PlacementGraph.order``) is another one where functions and loops have been inlined: nodes that
were added come last there, also those that feed others.
"""

from __future__ import annotations

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.op_sets import MERGES, NEXT_ITERATIONS
from gpuplace.placer.placement_graph import PlacementGraph

_SHOWN = 20


def dependency_order(graph: PlacementGraph) -> list[int]:
    """The nodes, each after the producers of its inputs and what it waits for.

    Args:
        graph: the graph.

    Raises:
        InvalidArgumentError: nodes wait for each other in a circle that is no loop.
    """
    is_next = np.array([signature.op_type in NEXT_ITERATIONS for signature in graph.signatures], bool)
    is_merge = np.array([signature.op_type in MERGES for signature in graph.signatures], bool)
    back = np.zeros(len(graph.src), bool)
    if is_next.any():
        back = is_next[graph.signature[graph.src]] & is_merge[graph.signature[graph.dst]]
    src, dst = graph.src[~back], graph.dst[~back]
    if bool(np.all(src < dst)):
        return list(range(len(graph)))
    sorting = np.argsort(src, kind="stable")
    consumers = dst[sorting].tolist()
    start = np.searchsorted(src[sorting], np.arange(len(graph) + 1)).tolist()
    pending = np.bincount(dst, minlength=len(graph)).tolist()
    order = [node for node, count in enumerate(pending) if not count]
    for node in order:  # it grows on the way
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
