"""The graph that a session would run, of a placement: operations for the nodes that were placed.

A graph of this process runs as it is, or with calls and control flow inlined, as it was placed. The operations of a
graph from a file are made from the placed nodes; nothing is imported again.
"""

from __future__ import annotations

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.graph import Graph
from gpuplace.plan.lowered_graph import LoweredGraph, runs_lowered
from gpuplace.why.placement import Placement


def running_graph(placement: Placement) -> Graph:
    """Return the graph that a placement is of, as a session runs it; made once for the graph that was placed.

    Args:
        placement: the placement.

    Raises:
        InvalidArgumentError: a node is not sound, or the placement keeps no graph that could be run.
        NotFoundError: an op is not registered.
    """
    source = placement.graph.source
    if isinstance(source, Graph) and not runs_lowered(placement.graph):
        return source
    found: Graph | None = placement.graph.__dict__.get("_running_graph")
    if found is None:
        program = source if isinstance(source, Graph) else _functions(placement)
        found = LoweredGraph(program, placement.graph, placement.placer.catalogue)
        placement.graph.__dict__["_running_graph"] = found
    return found


def _functions(placement: Placement) -> Graph:
    """Return a graph without operations that has the function library of a file."""
    from gpuplace.graphdef.importer import add_library
    from gpuplace.graphdef.model import PlacedPart

    source = placement.graph.source
    if not isinstance(source, PlacedPart):
        raise InvalidArgumentError.of("the placement keeps no graph that could be run")
    graph = Graph()
    add_library(graph, source.model.library(source.part), placement.placer.catalogue.ops)
    return graph
