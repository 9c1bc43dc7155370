r"""Nodes that Grappler removes from a step: constants, nodes that only order events, and nodes that only pass through.

A node without effects and without data consumers, although other nodes may wait for it, becomes a ``NoOp``; its inputs
may then be without consumers in turn. An optimizer waits for all gradients of a layer before it applies any, so this
happens to gradients of feeds::

    loss --> Conv2DBackpropInput --(waits)--> NoOp --(waits)--> ApplyMomentum      becomes a NoOp: no data consumer
       \\--> Conv2DBackpropFilter -----------> Identity ------------^              bypassed: passes its input through

Nodes that only pass their input through, or only wait, are bypassed if that adds no copy between devices. Nodes that
read a variable by reference, or a ``Switch``, stay.

Constants are folded by the rules of a session (``gpuplace.runtime.plan.schedule.constant_folding``), but not computed.

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
"""Releases whose Grappler does not do this."""


def without_consumers(
    graph: PlacementGraph,
    catalogue: Catalogue,
    runs: np.ndarray,
    folded: np.ndarray,
    fetched: Collection[int],
) -> np.ndarray:
    """Return [nodes] bool: nodes that become a ``NoOp``, because no node consumes their outputs.

    Args:
        graph: the nodes of the step.
        catalogue: op definitions.
        runs: [nodes] bool: nodes that run; only these consume anything.
        folded: [nodes] bool: constants, which consume nothing.
        fetched: nodes that are fetched, or run as targets.
    """
    consumes = runs & ~folded
    may_empty = consumes & graph.of_types(partial(_is_without_effect, catalogue))
    may_empty[list(fetched)] = False
    carries = graph.src_output != CONTROL
    data_consumers = np.bincount(graph.src[carries & consumes[graph.dst]], minlength=len(graph))
    emptied = np.zeros(len(graph), dtype=bool)
    worklist = np.flatnonzero(may_empty & (data_consumers == 0)).tolist()
    while worklist:
        node = worklist.pop()
        emptied[node] = True
        for edge in range(graph.in_start[node], graph.in_start[node + 1]):
            source = graph.src[edge]
            if carries[edge]:
                data_consumers[source] -= 1
                if not data_consumers[source] and may_empty[source]:
                    worklist.append(int(source))
    return emptied


def bypassed(graph: PlacementGraph, runs: np.ndarray, fetched: Collection[int]) -> np.ndarray:
    """Return [nodes] bool: nodes that only pass through or wait, which are removed if all neighbors are on their
    device.

    Args:
        graph: the nodes of the step.
        runs: [nodes] bool: nodes that run.
        fetched: nodes that are fetched, or run as targets.
    """
    is_bypassed = runs & graph.of_types(HANDING_ON)
    is_bypassed[graph.dst[graph.of_types(_KEPT_BY)[graph.src] & (graph.src_output != CONTROL)]] = False
    is_bypassed[list(fetched)] = False
    return is_bypassed


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
    """Return [nodes] bool: nodes that become constants, by the declared shapes; constants themselves are not included.

    Args:
        graph: the nodes of the step.
        shapes: their shapes.
        options: enabled foldings.
        is_fed: [nodes] bool: nodes that are fed.
    """
    is_const, is_metadata = graph.of_types(CONSTANT_OPS), graph.of_types(_METADATA)
    by_kind = {kind.number: _may_fold(options, kind) for kind in dict.fromkeys(shapes.kinds)}
    may_fold = np.array([by_kind[kind.number] for kind in shapes.kinds], dtype=bool)
    may_fold &= ~is_const & ~is_fed
    # A node with control inputs may be folded too, but keeps them, so it still runs during the step.
    may_fold[graph.dst[graph.src_output == CONTROL]] = False
    counts = np.diff(graph.in_start)
    may_fold &= counts > 0
    pending_inputs, may = counts.tolist(), may_fold.tolist()
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
            pending_inputs[node] = 0
            if not is_large(node, 0):
                folded[node] = True
                ready.append(node)
    while ready:
        node = ready.pop()
        for edge in order[start[node] : start[node + 1]]:
            successor = after[edge]
            if not may[successor]:
                continue
            pending_inputs[successor] -= 1
            if not pending_inputs[successor] and not is_large(
                successor, sum(shapes.nbytes(*pair) for pair in shapes.inputs[successor])
            ):
                folded[successor] = True
                ready.append(successor)
    return folded


def _may_fold(options: FoldingOptions, kind: Kind) -> bool:
    return kind.op_def is not None and options.may_fold(kind.op_def, kind.input_types, kind.output_types)


def divided_by_constants(
    graph: PlacementGraph, shapes: StepShapes, folded: np.ndarray, is_fed: np.ndarray
) -> set[int]:
    """Return nodes that divide floating-point or complex numbers by a constant: Grappler multiplies by the reciprocal.

    Args:
        graph: the nodes of the step.
        shapes: their shapes.
        folded: [nodes] bool: nodes that become constants.
        is_fed: [nodes] bool: nodes that are fed.
    """
    constant = (graph.of_types(CONSTANT_OPS) | folded) & ~is_fed
    divisions = set()
    for node in np.flatnonzero(graph.of_types(_DIVISIONS) & ~folded & ~is_fed).tolist():
        dtype = shapes.dtypes(node)[0]
        if (dtype.is_floating or dtype.is_complex) and constant[graph.src[graph.in_start[node] + 1]]:
            divisions.add(node)
    return divisions


def _is_known(shape: tuple[int | None, ...] | None) -> bool:
    return shape is not None and None not in shape
