r"""Gradients that nobody takes: they run only because ``tf.tuple`` lets none of its values go before all are there.

An optimizer computes all gradients of an operation before any of them goes on, those of inputs that are not trained
among them::

    grad --> Conv2DBackpropFilter ------> Identity --> ApplyMomentum
     |                  \                  ^ (waits)
     |                   +--> group_deps --+                              ==>   without Conv2DBackpropInput
     |                  /                  v
     +-----> Conv2DBackpropInput ------> Identity (nobody takes it)

TensorFlow's Grappler makes such a node a ``NoOp`` (``rewrite_options.dependency_optimization``), and others that
something waits for. Those are left alone here, as whoever wrote ``tf.control_dependencies`` wants them to run, and so
are nodes of shapes that are not known, which may not fit, and everything in traced steps and where memory is accounted
for: there every node is to be seen.

Source: tensorflow/core/grappler/optimizers/dependency_optimizer.cc, releases 1.15 and 2.21 (SafeToConvertToNoOp);
tensorflow/python/ops/control_flow_ops.py, release 1.15 (tuple).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from gpuplace.graph.attr_value import FunctionRef
from gpuplace.graph.op_sets import CONTROL_FLOW_OPS, PLACEHOLDERS
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.kernels.compute import traits_of

_NEVER = CONTROL_FLOW_OPS | PLACEHOLDERS | {"PlaceholderWithDefault", "CheckNumerics"}
_OFF = 2
"""``RewriterConfig.OFF``."""


def drops_unused(config: Any) -> bool:
    """Whether the options of a ``ConfigProto`` allow it; None has the defaults."""
    rewriter = getattr(getattr(config, "graph_options", None), "rewrite_options", None)
    is_off = getattr(rewriter, "dependency_optimization", 0) == _OFF
    return not (is_off or getattr(rewriter, "disable_meta_optimizer", False))


def used_operations(
    operations: Sequence[Operation],
    fetches: Collection[Tensor],
    targets: Collection[Operation],
    feeds: Collection[Tensor],
) -> list[Operation]:
    """Operations without gradients that nobody takes, and what is computed for them alone.

    Args:
        operations: sources before consumers, without loops.
        fetches: what is fetched.
        targets: what has to run in any case.
        feeds: what is fed.

    Returns:
        Those that are left, in their order.
    """
    waiting = _waiting(operations)
    taken = set(fetches)
    kept: list[Operation] = []
    for op in reversed(operations):
        if taken.isdisjoint(op.outputs) and op not in targets and _may_go(op, waiting):
            continue
        kept.append(op)
        taken.update([tensor for tensor in op.inputs if tensor not in feeds])
    return kept[::-1]


def _waiting(operations: Iterable[Operation]) -> dict[Operation, list[Operation]]:
    """What waits for each operation."""
    waiting: dict[Operation, list[Operation]] = {}
    for op in operations:
        for before in op._control_inputs:
            waiting.setdefault(before, []).append(op)
    return waiting


def _may_go(op: Operation, waiting: Mapping[Operation, Sequence[Operation]]) -> bool:
    """Whether an operation that nobody takes need not run."""
    return _is_without_effect(op) and all(_is_gate(gate, op) for gate in waiting.get(op, ()))


def _is_gate(op: Operation, given: Operation) -> bool:
    """Whether ``op`` is what the results of ``tf.tuple`` wait for, with a value of ``given`` among them."""
    return op.type == "NoOp" and any(
        consumer.type == "Identity" and op in consumer._control_inputs
        for tensor in given.outputs
        for consumer in tensor.consumers()
    )


def _is_without_effect(op: Operation) -> bool:
    if op.type in _NEVER or not op.outputs:
        return False
    if op.op_def is None or op.op_def.is_stateful:
        return False
    traits = traits_of(op.type)
    if traits.waits or traits.reads_outside:
        return False
    if any(isinstance(value, FunctionRef) for value in op.attrs.values()):
        return False
    if any(tensor.dtype.is_ref_dtype or not tensor.shape.is_fully_defined() for tensor in op.inputs):
        return False
    return all(tensor.dtype.is_floating for tensor in op.outputs)
