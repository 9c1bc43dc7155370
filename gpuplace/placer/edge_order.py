"""The order in which releases 1.0 and 1.4 visit nodes: reverse post-order over the edges.

Reverse post-order: follow the edges depth first, from the nodes without inputs in graph order; note each node when all
that it leads to has been noted; read the notes backwards. Two constants and a product give `b, a, MatMul`::

    a ──> MatMul <── b        noted: MatMul, a, b

Source: the listings of the "Using GPUs" guide of releases 1.0 and 1.4.
"""

from __future__ import annotations

import numpy as np

from gpuplace.placer.placement_graph import PlacementGraph

EDGE_ORDERED_RELEASES = ("1.0", "1.4")
"""Releases whose log, and whose search for a node that cannot be placed, follow the edges."""


def edge_order(graph: PlacementGraph) -> list[int]:
    """Nodes in reverse post-order over the edges, from the nodes without inputs."""
    consumers = graph.dst[graph.out_order].tolist()
    starts = graph.out_start.tolist()
    visited = [False] * len(graph)
    noted: list[int] = []
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
                noted.append(node)
                continue
            stack.append((node, edge + 1))
            consumer = consumers[edge]
            visited[consumer] = True
            stack.append((consumer, starts[consumer]))
    return noted[::-1]
