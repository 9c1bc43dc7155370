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
    """A cached conversion of a graph."""

    modification_count: int
    """The graph's modification count at that time."""
    catalogue: Catalogue
    additions: int
    """The catalogue's number of additions at that time."""
    placement_graph: PlacementGraph


def placement_graph_of(graph: Graph, catalogue: Catalogue | None = None) -> PlacementGraph:
    """Convert a graph in its current state; the graph is locked meanwhile.

    The result is cached until the graph or the catalogue changes.

    Args:
        graph: the graph; nodes keep their order.
        catalogue: lists the attributes that matter; the default catalogue if None.
    """
    current_catalogue = catalogue or default_catalogue()
    with graph.lock:
        cached = graph._read_as
        if cached is None or cached[:3] != (
            graph.modification_count,
            current_catalogue,
            current_catalogue.additions,
        ):
            placement_graph = _read_now(graph, current_catalogue)
            cached = graph._read_as = _Read(
                graph.modification_count, current_catalogue, current_catalogue.additions, placement_graph
            )
    return cached.placement_graph


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
