"""The graph that a session would run, of a placement.

Usually it is the graph that was placed. Where calls or control flow were inlined it is the lowered one, and where a
GraphDef was placed that is imported first.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.graph import Graph
from gpuplace.graph.op_def import OpDef
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


def _leave_out_unknown(node: Any, op_def: OpDef | None) -> None:
    """Takes attributes from a node that came with a later release: the node was placed without them too."""
    if op_def is None:
        return
    known = {attr.name for attr in op_def.attrs}
    for name in [name for name in node.attr if name not in known and name[0] != "_"]:
        del node.attr[name]


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
    ops = placement.placer.catalogue.ops
    for node in chain(message.node, *[function.node_def for function in message.library.function]):
        _leave_out_unknown(node, ops.get(node.op))
    graph = Graph()
    with graph.as_default():
        try:
            import_graph_def(message, name="")
        except ValueError as error:
            raise InvalidArgumentError.of(f"The graph cannot be run: {error}") from None
    return graph
