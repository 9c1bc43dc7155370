"""The graph that a session would run, of a placement.

Usually it is the graph that was placed. Where calls or control flow were inlined it is the lowered one, and where a
GraphDef was placed that is imported first.
"""

from __future__ import annotations

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.graph import Graph
from gpuplace.plan.lowered_graph import LoweredGraph, runs_lowered
from gpuplace.why.placement import Placement


def running_graph(placement: Placement) -> Graph:
    """The graph that a placement is of, as a session runs it.

    Args:
        placement: the placement.

    Raises:
        InvalidArgumentError: it was made from a GraphDef that cannot be imported.
    """
    program = _program(placement)
    if not runs_lowered(placement.graph):
        return program
    return LoweredGraph(program, placement.graph, placement.placer.catalogue)


def _program(placement: Placement) -> Graph:
    source = placement.graph.source
    if isinstance(source, Graph):
        return source
    from gpuplace.graphdef.importer import import_graph_def
    from gpuplace.graphdef.messages import GraphDef
    from gpuplace.graphdef.model import PlacedPart

    if not isinstance(source, PlacedPart):
        raise InvalidArgumentError.of("the placement keeps no graph that could be run")
    message = GraphDef()
    message.CopyFrom(source.model.graph_def(source.part, placement.placer.catalogue))
    for node in message.node:  # where each is, is settled; groups may name nodes that are not there
        node.attr.pop("_class", None)
    graph = Graph()
    with graph.as_default():
        try:
            import_graph_def(message, name="")
        except ValueError as error:
            raise InvalidArgumentError.of(f"The graph cannot be run: {error}") from None
    return graph
