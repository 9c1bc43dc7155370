"""A program whose nodes ask for other devices: as a GraphDef, and placed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuplace.advisor.steps.freedom import own_nodes, placed_asking
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.graph import Graph
from gpuplace.graphdef.messages import GraphDef
from gpuplace.graphdef.model import PlacedPart
from gpuplace.session.place import place
from gpuplace.why.placement import Placement


def graph_def_asking(placement: Placement, requests: Mapping[str, str]) -> Any:
    """The graph that was placed, as the program has it, with other requests.

    Args:
        placement: of the graph.
        requests: node -> what it asks for; nodes that are not named ask for what they did.

    Returns:
        A ``GraphDef``.

    Raises:
        InvalidArgumentError: the placement keeps no graph.
    """
    source = placement.graph.source
    made = GraphDef()
    if isinstance(source, Graph):
        made.CopyFrom(source.as_graph_def())
    elif isinstance(source, PlacedPart):
        made.CopyFrom(source.model.graph_def(source.part, placement.placer.catalogue))
    else:
        raise InvalidArgumentError.of(
            "The placement keeps no graph that could be written", hint="a Graph, a GraphDef or a file"
        )
    for node in made.node:
        asked = requests.get(node.name)
        if asked is not None:
            node.device = asked
    return made


def placed_with(placement: Placement, requests: Sequence[str], on_error: str = "raise") -> Placement:
    """A program placed on the same machine with other requests.

    A graph of the program's own nodes is placed as it is; a lowered one is lowered again, as devices count there.

    Args:
        placement: of the program.
        requests: [nodes] what each asks for; ``""`` for nothing.
        on_error: as of `gpuplace.place`.

    Raises:
        InvalidArgumentError: it cannot be placed.
    """
    own = own_nodes(placement.graph)
    if own.all():
        return placed_asking(placement, requests, on_error)
    asking = {
        name: text
        for name, text, is_own in zip(placement.graph.names, requests, own.tolist(), strict=True)
        if is_own
    }
    found = place(
        graph_def_asking(placement, asking),
        placement.device_set,
        release=placement.release,
        on_error=on_error,
        catalogue=placement.placer.catalogue,
        soft_placement=placement.soft,
    )
    has_same_nodes = found.graph.names == placement.graph.names
    return found if has_same_nodes else placed_asking(placement, requests, on_error)
