"""What Grappler makes a constant of before a step runs, and what it changes that divides by one.

Source: tensorflow/core/grappler/optimizers/constant_folding.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

import numpy as np

from gpuplace.cost.shapes.step_shapes import StepShapes
from gpuplace.graph.op_sets import CONSTANT_OPS, CONTROL_FLOW_OPS, METADATA_OPS, PLACEHOLDERS
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph

__all__ = ["constants", "divided_by_constants"]

_MAX_BYTES = 10 << 20
"""Grappler's limit for what it folds."""
_METADATA = METADATA_OPS | {"ShapeN"}
_NEVER_FOLDED = CONTROL_FLOW_OPS | PLACEHOLDERS | {"PlaceholderWithDefault"}
_DIVISIONS = ("Div", "RealDiv")


def constants(
    graph: PlacementGraph, shapes: StepShapes, catalogue: Catalogue, is_fed: np.ndarray
) -> np.ndarray:
    """[nodes] bool: what becomes a constant, by shapes that the graph states; constants themselves do not count.

    Args:
        graph: what the step needs.
        shapes: of it.
        catalogue: the ops.
        is_fed: [nodes] bool: what is fed.
    """
    types = [signature.op_type for signature in graph.signatures]
    may: list[bool] = []
    for name in types:
        op_def = catalogue.ops.get(name)
        may.append(op_def is not None and not op_def.is_stateful and name not in _NEVER_FOLDED)
    is_metadata = [name in _METADATA for name in types]
    is_const = [name in CONSTANT_OPS for name in types]
    signature, fed = graph.signature.tolist(), is_fed.tolist()
    constant = [is_const[number] for number in signature]
    start, src, port = graph.in_start.tolist(), graph.src.tolist(), graph.src_output.tolist()
    info = graph.tensor_info
    found: list[int] = []
    for node in graph.order.tolist():
        number = signature[node]
        if constant[node] or not may[number] or fed[node]:
            continue
        begin, end = start[node], start[node + 1]
        if begin == end:
            continue
        is_constant = True
        for edge in range(begin, end):
            if port[edge] == CONTROL:
                is_constant = False  # Grappler folds it too, and keeps the edge: it still runs after
                break
            if not constant[src[edge]]:
                is_constant = False
                break
        if not is_constant and is_metadata[number] and info is not None:
            is_constant = all(
                port[edge] != CONTROL and _is_known(info(src[edge], port[edge]).shape)
                for edge in range(begin, end)
            )
        if is_constant and shapes.nbytes(node, 0) <= _MAX_BYTES:
            constant[node] = True
            found.append(node)
    folded = np.zeros(len(graph), dtype=bool)
    folded[found] = True
    return folded


def divided_by_constants(
    graph: PlacementGraph, shapes: StepShapes, folded: np.ndarray, is_fed: np.ndarray
) -> set[int]:
    """Nodes that divide fractions by a constant: Grappler has them multiply by one over it.

    Args:
        graph: what the step needs.
        shapes: of it.
        folded: [nodes] bool: what becomes a constant.
        is_fed: [nodes] bool: what is fed.
    """
    types = [signature.op_type for signature in graph.signatures]
    divides = np.array([name in _DIVISIONS for name in types], dtype=bool)[graph.signature]
    is_const = np.array([name in CONSTANT_OPS for name in types], dtype=bool)[graph.signature]
    constant = (is_const | folded) & ~is_fed
    found = set()
    for node in np.flatnonzero(divides & ~folded & ~is_fed).tolist():
        dtype = shapes.dtypes(node)[0]
        if (dtype.is_floating or dtype.is_complex) and constant[graph.src[graph.in_start[node] + 1]]:
            found.add(node)
    return found


def _is_known(shape: tuple[int | None, ...] | None) -> bool:
    return shape is not None and None not in shape
