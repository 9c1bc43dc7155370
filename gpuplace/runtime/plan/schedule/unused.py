r"""Unused gradients: they run only because ``tf.tuple`` returns none of its values before all are computed.

An optimizer computes all gradients of an operation before any of them is used, including those of inputs that are not
trained::

    grad --> Conv2DBackpropFilter ------> Identity --> ApplyMomentum
     |                  \                  ^ (waits)
     |                   +--> group_deps --+                              ==>   without Conv2DBackpropInput
     |                  /                  v
     +-----> Conv2DBackpropInput ------> Identity (no consumer)

TensorFlow's Grappler turns such a node into a ``NoOp`` (``rewrite_options.dependency_optimization``), and nodes with
control outputs too. Those stay here, because the author of ``tf.control_dependencies`` wants them to run. So do nodes
with unknown shapes, which may be invalid, and all nodes of traced steps and of steps with memory accounting, which
show every node.

Source: tensorflow/core/grappler/optimizers/dependency_optimizer.cc, releases 1.15 and 2.21 (SafeToConvertToNoOp);
tensorflow/python/ops/control_flow_ops.py, release 1.15 (tuple).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from gpuplace.graph.attr_value import FunctionRef
from gpuplace.graph.op_sets import CONTROL_FLOW_OPS, PLACEHOLDERS
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.kernels.compute import traits_of
from gpuplace.typing import ConfigProto

_NEVER = CONTROL_FLOW_OPS | PLACEHOLDERS | {"PlaceholderWithDefault", "CheckNumerics"}
_OFF = 2
"""``RewriterConfig.OFF``."""


def drops_unused(config: ConfigProto) -> bool:
    """Whether a ``ConfigProto`` drops unused gradients; None means the defaults."""
    rewriter = getattr(getattr(config, "graph_options", None), "rewrite_options", None)
    is_off = getattr(rewriter, "dependency_optimization", 0) == _OFF
    return not (is_off or getattr(rewriter, "disable_meta_optimizer", False))


def used_operations(
    operations: Sequence[Operation],
    fetches: Collection[Tensor],
    targets: Collection[Operation],
    feeds: Collection[Tensor],
) -> list[Operation]:
    """Return the operations without unused gradients, and without what only those need.

    Args:
        operations: operations in topological order, without loops.
        fetches: fetched tensors.
        targets: operations that must run.
        feeds: fed tensors.

    Returns:
        The remaining operations, in order.
    """
    waiting = _waiting(operations)
    used = set(fetches)
    kept: list[Operation] = []
    for op in reversed(operations):
        if used.isdisjoint(op.outputs) and op not in targets and _may_go(op, waiting):
            continue
        kept.append(op)
        used.update([tensor for tensor in op.inputs if tensor not in feeds])
    return kept[::-1]


def _waiting(operations: Iterable[Operation]) -> dict[Operation, list[Operation]]:
    """Return the operations that wait for each operation."""
    waiting: dict[Operation, list[Operation]] = {}
    for op in operations:
        for before in op.controls:
            waiting.setdefault(before, []).append(op)
    return waiting


def _may_go(op: Operation, waiting: Mapping[Operation, Sequence[Operation]]) -> bool:
    """Whether an operation without consumers need not run."""
    return _is_without_effect(op) and all(_is_barrier(barrier, op) for barrier in waiting.get(op, ()))


def _is_barrier(op: Operation, member: Operation) -> bool:
    """Whether ``op`` is the NoOp that the results of ``tf.tuple`` wait for, with an output of ``member`` among them."""
    return op.type == "NoOp" and any(
        consumer.type == "Identity" and op in consumer.controls
        for tensor in member.outputs
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
