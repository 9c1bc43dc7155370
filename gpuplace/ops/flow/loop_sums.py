"""Sums of the gradients of values from outside a loop: each iteration adds its part (``b_acc``).

Source: tensorflow/python/ops/control_flow_ops.py (AddBackpropAccumulator, AddBackpropIndexedSlicesAccumulator), release
1.15.
"""

from __future__ import annotations

from gpuplace.graph.operation import Operation, Tensor, update_input
from gpuplace.ops.array import constant, joining
from gpuplace.ops.flow.context import merge, switch
from gpuplace.ops.flow.loop_gradients import add_ring, inside, outside, shape_of
from gpuplace.ops.flow.while_loops import WhileContext, enter, exit_loop, next_iteration
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.math import elementwise
from gpuplace.ops.support import new
from gpuplace.shapes import TensorShape


def add_accumulator(context: WhileContext, op: Operation, grad: Tensor) -> Tensor:
    """Sum the gradient of a loop invariant, which ``op`` brings in, over the iterations."""
    with outside(context):
        zeros = _zero_accumulator(context, op, grad)
    return add_ring(context, zeros, lambda total: elementwise.add(total, grad), "b_acc", "b_acc")[0]


def _zero_accumulator(context: WhileContext, op: Operation, grad: Tensor) -> Tensor:
    around = context.outer_context
    if grad.shape.is_fully_defined():
        with inside(around):
            return constant.constant(0, grad.dtype, shape=grad.shape.as_list(), name="b_acc")
    value = op.inputs[0]
    if isinstance(around, WhileContext) and around.grad_state is not None:
        outer = context.grad_state.outer
        with inside(context.grad_state.forward_context.outer_context):
            shape = shape_of(value)
        history = outer.AddForwardAccumulator(shape)
        with inside(around):
            return constant.zeros(outer.AddBackpropAccumulatedValue(history, shape), grad.dtype)
    with inside(around):
        return constant.zeros(shape_of(value), grad.dtype)


def add_slices_accumulator(context: WhileContext, op: Operation, grad: IndexedSlices) -> IndexedSlices:
    """``add_accumulator`` for slices, which are concatenated."""
    values, indices, dense_shape = grad.values, grad.indices, grad.dense_shape
    with outside(context), inside(context.outer_context):
        sizes = values.shape.sizes
        if sizes is not None and None not in sizes:
            first = constant.constant(0, values.dtype, shape=[1, *values.shape.as_list()[1:]], name="b_acc")
        else:
            first = constant.zeros(joining.concat([[1], shape_of(op.inputs[0])[1:]], 0), values.dtype)
        starts = [constant.constant([0], indices.dtype), first]
        if dense_shape is not None:
            if dense_shape.shape.is_fully_defined():
                starts.append(constant.constant(0, dense_shape.dtype, shape=dense_shape.shape.as_list()))
            else:
                whole = new("Shape", input=op.inputs[0], out_type=dense_shape.dtype)
                starts.append(new("ZerosLike", "zeros_like", x=whole))
    for start in starts:
        context.AddName(start)
    entered = [enter(start, context, use_input_shape=False, name="b_acc") for start in starts]
    entered[0].set_shape(TensorShape([None]))
    if first.shape.ndims is not None:
        entered[1].set_shape(TensorShape([None, *first.shape.as_list()[1:]]))
    context.loop_enters.extend(entered)
    merged = [merge([ours, ours], name="b_acc")[0] for ours in entered]
    switched = [switch(ours, context.pivot) for ours in merged]
    totals = [joining.concat([switched[0][1], indices], 0), joining.concat([switched[1][1], values], 0)]
    if dense_shape is not None:
        totals.append(elementwise.maximum(dense_shape, switched[2][1]))
    for ours, going_on in zip(merged, [next_iteration(total) for total in totals], strict=True):
        update_input(ours.op, 1, going_on)
    left = [exit_loop(theirs, name="b_acc") for theirs, _ in switched]
    context.loop_exits.extend(left)
    context.ExitResult(left)
    return IndexedSlices(left[1], left[0], left[2] if dense_shape is not None else None)
