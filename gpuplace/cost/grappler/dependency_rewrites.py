"""What Grappler takes out of a step: constants, what only an order of events needs, and what only hands on.

A node without effects whose results nobody takes, though others wait for it, becomes a ``NoOp``; then what it took may
be without takers in turn. An optimizer waits for all gradients of a layer before it applies any, so this is the fate of
gradients of what is fed::

    loss --> Conv2DBackpropInput --(waits)--> NoOp --(waits)--> ApplyMomentum      becomes a NoOp: nobody takes it
       \\--> Conv2DBackpropFilter -----------> Identity ------------^              bypassed: it hands on what it takes

Nodes that only hand on what they take, or only wait, are bypassed where that adds no copy between devices; what reads a
variable by reference, or a ``Switch``, stays.

Constants fold by the rules of a session, ``gpuplace.runtime.plan.schedule.constant_folding``; here nothing is computed.

Source: tensorflow/core/grappler/optimizers/constant_folding.cc and dependency_optimizer.cc
(SafeToRemoveIdentity, SafeToConvertToNoOp, BypassingNodeIsBeneficial), releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

import numpy as np

from gpuplace.cost.shapes.kinds import Kind
from gpuplace.cost.shapes.step_shapes import StepShapes
from gpuplace.graph.op_sets import (
    ALL_SWITCHES,
    BRANCH_OPS,
    CALL_OPS,
    CONSTANT_OPS,
    CONTROL_FLOW_OPS,
    HANDING_ON,
    METADATA_OPS,
    PLACEHOLDERS,
    REFERENCE_VARIABLES,
    WHILE_OPS,
)
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph
from gpuplace.runtime.plan.schedule.constant_folding import FoldingOptions

_WITH_EFFECTS = (
    CONTROL_FLOW_OPS
    | PLACEHOLDERS
    | CALL_OPS
    | BRANCH_OPS
    | WHILE_OPS
    | {"PlaceholderWithDefault", "CheckNumerics"}
)
_KEPT_BY = REFERENCE_VARIABLES | ALL_SWITCHES
RELEASES_WITHOUT = ("1.0", "1.4")
"""Releases in which Grappler does not do this."""


def without_takers(
    graph: PlacementGraph,
    catalogue: Catalogue,
    runs: np.ndarray,
    folded: np.ndarray,
    fetched: Collection[int],
) -> np.ndarray:
    """[nodes] bool: what becomes a ``NoOp``, as nobody takes what it gives out.

    Args:
        graph: what the step needs.
        catalogue: the ops.
        runs: [nodes] bool: what is to run; nothing else takes anything.
        folded: [nodes] bool: constants, which take nothing.
        fetched: nodes that are fetched, or run for themselves.
    """
    takes = runs & ~folded
    may = takes & graph.of_types(partial(_is_without_effect, catalogue))
    may[list(fetched)] = False
    carries = graph.src_output != CONTROL
    left = np.bincount(graph.src[carries & takes[graph.dst]], minlength=len(graph))
    emptied = np.zeros(len(graph), dtype=bool)
    idle = np.flatnonzero(may & (left == 0)).tolist()
    while idle:
        node = idle.pop()
        emptied[node] = True
        for edge in range(graph.in_start[node], graph.in_start[node + 1]):
            source = graph.src[edge]
            if carries[edge]:
                left[source] -= 1
                if not left[source] and may[source]:
                    idle.append(int(source))
    return emptied


def bypassed(graph: PlacementGraph, runs: np.ndarray, fetched: Collection[int]) -> np.ndarray:
    """[nodes] bool: what only hands on or waits, and is taken out of the step where all around it has its device.

    Args:
        graph: what the step needs.
        runs: [nodes] bool: what is to run.
        fetched: nodes that are fetched, or run for themselves.
    """
    found = runs & graph.of_types(HANDING_ON)
    found[graph.dst[graph.of_types(_KEPT_BY)[graph.src] & (graph.src_output != CONTROL)]] = False
    found[list(fetched)] = False
    return found


def _is_without_effect(catalogue: Catalogue, op_type: str) -> bool:
    op_def = catalogue.ops.get(op_type)
    if op_def is None or op_def.is_stateful or not op_def.outputs or op_type in _WITH_EFFECTS:
        return False
    return not any(arg.is_ref for arg in op_def.inputs)


_METADATA = METADATA_OPS | {"ShapeN"}
_DIVISIONS = ("Div", "RealDiv")


def constants(
    graph: PlacementGraph, shapes: StepShapes, options: FoldingOptions, is_fed: np.ndarray
) -> np.ndarray:
    """[nodes] bool: what becomes a constant, by shapes that the graph states; constants themselves do not count.

    Args:
        graph: what the step needs.
        shapes: of it.
        options: which foldings are on.
        is_fed: [nodes] bool: what is fed.
    """
    is_const, is_metadata = graph.of_types(CONSTANT_OPS), graph.of_types(_METADATA)
    by_kind = {kind.number: _may_fold(options, kind) for kind in dict.fromkeys(shapes.kinds)}
    may_fold = np.array([by_kind[kind.number] for kind in shapes.kinds], dtype=bool)
    may_fold &= ~is_const & ~is_fed
    # what waits for a node is folded too, and keeps the edge: it still runs after
    may_fold[graph.dst[graph.src_output == CONTROL]] = False
    counts = np.diff(graph.in_start)
    may_fold &= counts > 0
    left, may = counts.tolist(), may_fold.tolist()
    start, after, order = graph.out_start.tolist(), graph.dst.tolist(), graph.out_order.tolist()
    info, first, src, port = graph.tensor_info, graph.in_start, graph.src, graph.src_output

    def is_large(node: int, given: int) -> bool:
        return any(
            options.is_large(shapes.nbytes(node, output), given) for output in range(len(shapes.dtypes(node)))
        )

    folded = np.zeros(len(graph), dtype=bool)
    ready = np.flatnonzero(is_const).tolist()
    for node in np.flatnonzero(may_fold & is_metadata).tolist() if options.grappler else ():
        edges = range(first[node], first[node + 1])
        if info is not None and all(_is_known(info(int(src[edge]), int(port[edge])).shape) for edge in edges):
            left[node] = 0
            if not is_large(node, 0):
                folded[node] = True
                ready.append(node)
    while ready:
        node = ready.pop()
        for edge in order[start[node] : start[node + 1]]:
            other = after[edge]
            if not may[other]:
                continue
            left[other] -= 1
            if not left[other] and not is_large(
                other, sum(shapes.nbytes(*pair) for pair in shapes.inputs[other])
            ):
                folded[other] = True
                ready.append(other)
    return folded


def _may_fold(options: FoldingOptions, kind: Kind) -> bool:
    return kind.op_def is not None and options.may_fold(kind.op_def, kind.input_types, kind.output_types)


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
    constant = (graph.of_types(CONSTANT_OPS) | folded) & ~is_fed
    found = set()
    for node in np.flatnonzero(graph.of_types(_DIVISIONS) & ~folded & ~is_fed).tolist():
        dtype = shapes.dtypes(node)[0]
        if (dtype.is_floating or dtype.is_complex) and constant[graph.src[graph.in_start[node] + 1]]:
            found.add(node)
    return found


def _is_known(shape: tuple[int | None, ...] | None) -> bool:
    return shape is not None and None not in shape
