"""The placer's view of a `Graph`.

>>> from gpuplace.graph.graph import Graph
>>> with Graph().as_default() as graph:
...     with graph.device("/gpu:0"):
...         op = graph.create_op("NoOp", [], [], name="go")
>>> placement_graph_of(graph).devices
('', '/device:GPU:0')
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gpuplace.graph.bulk import without_garbage_collection
from gpuplace.graph.graph import Graph
from gpuplace.kernels.registry import Catalogue, default_catalogue
from gpuplace.placer.graph_builder import PlacementGraphBuilder
from gpuplace.placer.placement_graph import PlacementGraph, TensorInfo, known_bytes


class _Read(NamedTuple):
    """A graph that was read."""

    modification_count: int
    """The graph's."""
    catalogue: Catalogue
    additions: int
    """The catalogue's."""
    made: PlacementGraph


def placement_graph_of(graph: Graph, catalogue: Catalogue | None = None) -> PlacementGraph:
    """Nodes, edges and requests of a graph as it is now; other threads add nothing to it meanwhile.

    A graph that has not changed since the last time is not read again.

    Args:
        graph: the graph; nodes keep their order.
        catalogue: tells which attributes matter; the default one if None.
    """
    known = catalogue or default_catalogue()
    with graph._lock:
        last = graph._read_as
        if last is None or last[:3] != (graph.modification_count, known, known.additions):
            made = _read_now(graph, known)
            last = graph._read_as = _Read(graph.modification_count, known, known.additions, made)
    return last.made


def _read_now(graph: Graph, catalogue: Catalogue) -> PlacementGraph:
    builder = PlacementGraphBuilder(catalogue)
    operations = graph.get_operations()
    with without_garbage_collection():
        builder.add_operations(operations)

    def node_attrs(node: int) -> Mapping[str, Any]:
        return operations[node].attrs

    def tensor_info(node: int, output: int) -> TensorInfo:
        tensor = operations[node].outputs[output]
        dtype = tensor.dtype.base_dtype
        sizes = tensor.shape.sizes
        return TensorInfo(dtype, sizes, known_bytes(dtype, sizes) if dtype.size else None)

    def source_line(node: int) -> str | None:
        return operations[node].source

    return builder.build(
        functions=graph.function_op_defs,
        node_attrs=node_attrs,
        tensor_info=tensor_info,
        source_line=source_line,
        source=graph,
    )
