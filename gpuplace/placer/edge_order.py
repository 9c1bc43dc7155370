"""The order in which releases 1.0 and 1.4 visit nodes: reverse post-order over the edges.

Reverse post-order: follow the edges depth first, from the nodes without inputs in graph order; emit each node after all
nodes that it leads to; then reverse the list. Two constants and a product give `b, a, MatMul`::

    a ──> MatMul <── b        emitted: MatMul, a, b

Source: the listings of the "Using GPUs" guide of releases 1.0 and 1.4.
"""

from __future__ import annotations

import numpy as np

from gpuplace.placer.placement_graph import PlacementGraph

EDGE_ORDERED_RELEASES = ("1.0", "1.4")
"""Releases that follow the edges, both for the log and to find the node that an error names."""


def edge_order(graph: PlacementGraph) -> list[int]:
    """Return the nodes in reverse post-order over the edges, starting from the nodes without inputs."""
    consumers = graph.dst[graph.out_order].tolist()
    starts = graph.out_start.tolist()
    visited = [False] * len(graph)
    emitted: list[int] = []
    for source in np.flatnonzero(np.diff(graph.in_start) == 0).tolist():
        if visited[source]:
            continue
        visited[source] = True
        stack = [(source, starts[source])]
        while stack:
            node, edge = stack.pop()
            while edge < starts[node + 1] and visited[consumers[edge]]:
                edge += 1
            if edge == starts[node + 1]:
                emitted.append(node)
                continue
            stack.append((node, edge + 1))
            consumer = consumers[edge]
            visited[consumer] = True
            stack.append((consumer, starts[consumer]))
    return emitted[::-1]
