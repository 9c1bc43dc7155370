"""Shapes that are inferred here beside those that TensorFlow infers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.cost.shapes.kinds import Sizes
from gpuplace.cost.shapes.step_shapes import StepShapes, step_shapes
from gpuplace.graphdef.load import load_placement_graph
from gpuplace.kernels.registry import default_catalogue


def inferred(graph_def: Any, release: str, feeds: Any = None, assume: int | None = None) -> StepShapes:
    """The shapes of a GraphDef, from which those that its program knew are taken out."""
    for node in graph_def.node:
        if "_output_shapes" in node.attr:
            del node.attr["_output_shapes"]
    catalogue = default_catalogue(release)
    placed = load_placement_graph(graph_def, catalogue, release)
    return step_shapes(placed, feeds, assume=assume, catalogue=catalogue)


def compared(ours: Sizes, theirs: Sequence[int | None] | None) -> str:
    """``"equal"``, ``"better"`` (known here, not there), ``"worse"`` or ``"wrong"``."""
    if ours is not None:
        ours = list(ours)
    if ours == theirs:
        return "equal"
    if theirs is None:
        return "better"
    if ours is None:
        return "worse"
    if len(ours) != len(theirs):
        return "wrong"
    pairs = list(zip(ours, theirs))
    if any(None not in pair and pair[0] != pair[1] for pair in pairs):
        return "wrong"
    return "worse" if any(a is None and b is not None for a, b in pairs) else "better"
