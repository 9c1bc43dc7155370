"""What Grappler takes out of a step beside constants: what only an order of events needs, and what only hands on.

A node without effects whose results nobody takes, though others wait for it, becomes a ``NoOp``; then what it took may
be without takers in turn. An optimizer waits for all gradients of a layer before it applies any, so this is the fate of
gradients of what is fed::

    loss --> Conv2DBackpropInput --(waits)--> NoOp --(waits)--> ApplyMomentum      becomes a NoOp: nobody takes it
       \\--> Conv2DBackpropFilter -----------> Identity ------------^              bypassed: it hands on what it takes

Nodes that only hand on what they take, or only wait, are bypassed where that adds no copy between devices; what reads a
variable by reference, or a ``Switch``, stays.

Source: tensorflow/core/grappler/optimizers/dependency_optimizer.cc (SafeToRemoveIdentity, SafeToConvertToNoOp,
BypassingNodeIsBeneficial), releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

import numpy as np

from gpuplace.graph.op_sets import (
    ALL_SWITCHES,
    BRANCH_OPS,
    CALL_OPS,
    CONTROL_FLOW_OPS,
    HANDING_ON,
    PLACEHOLDERS,
    REFERENCE_VARIABLES,
    WHILE_OPS,
)
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph

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
