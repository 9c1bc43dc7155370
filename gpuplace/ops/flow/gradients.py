"""Gradient functions of conditional and loop ops: each becomes its opposite.

    Merge <-> Switch     Exit <-> Enter     NextIteration: its own gradient, added with the Switch

Source: tensorflow/python/ops/control_flow_grad.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import get_default_graph, name_scope
from gpuplace.graph.operation import Operation, Tensor, context_of, update_input
from gpuplace.graph.scopes import building_context
from gpuplace.ops import nest
from gpuplace.ops.array.constant import range as range_of
from gpuplace.ops.flow.context import colocated_switch, merge, output_context, switch
from gpuplace.ops.flow.loop_sums import add_accumulator, add_slices_accumulator
from gpuplace.ops.flow.while_loops import WhileContext, enter, exit_loop, next_iteration
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math import comparison
from gpuplace.ops.support import new
from gpuplace.typing import TensorLike


@gradient("Switch", "RefSwitch")
def _switch_grad(op: Operation, *grad: Any) -> Any:
    """Gradient of a switch. A loop's switch is visited twice: first to make the merge, then to close the loop to it."""
    context = context_of(op)
    if isinstance(context, WhileContext):
        state = building_context(get_default_graph()).grad_state
        merged = state.merges.get(op)
        if merged is not None:
            if grad[1] is not None:
                update_input(merged.op, 1, next_iteration(grad[1]))
            return None, None
        if grad[0] is None:
            return None, None
        state.merges[op] = merge([grad[0], grad[0]], name="b_switch")[0]
        return state.merges[op], None
    if context is not None:
        if grad[1 - context.branch] is None:
            if op.inputs[0].dtype.base_dtype.name == "resource":
                return merge([grad[context.branch]] * 2, name="cond_resource_grad")[0], None
            return None, None
        return _merged(grad, "cond_grad"), None
    if_false = switch(grad[0], op.inputs[1])[0]
    if_true = switch(grad[1], op.inputs[1])[1]
    return merge([if_false, if_true])[0], None


def _merged(grads: Any, name: str) -> Any:
    """Return the gradient of the branch that was taken, as slices if one of them is."""
    if all(isinstance(grad, Tensor) for grad in grads):
        return merge(list(grads), name=name)[0]
    slices = [grad if isinstance(grad, IndexedSlices) else _as_slices(grad) for grad in grads]
    with name_scope(name, "Merge", []):
        parts = [
            apply_op("Merge", inputs=list(pair)).outputs[0]
            for pair in zip(*[nest.flatten(item, opens_slices=True) for item in slices], strict=True)
        ]
    return nest.pack_sequence_as(slices[0], parts, opens_slices=True)


def _as_slices(grad: Tensor) -> IndexedSlices:
    """Return all rows of a tensor as slices."""
    shape = new("Shape", input=grad)
    return IndexedSlices(grad, range_of(0, shape[0]), shape)


@gradient("Merge", "RefMerge")
def _merge_grad(op: Operation, grad: TensorLike, _: Any) -> Any:
    context = output_context(op.inputs[0].op)
    building = building_context(get_default_graph())
    if isinstance(context, WhileContext):
        return colocated_switch(grad, building.pivot)
    if context is not None:
        pred = context.pred
        if building is not None and building.grad_state is not None:
            pred = building.grad_state.pred_of(pred)
        return _switched(grad, pred)
    return [
        colocated_switch(grad, comparison.equal(op.outputs[1], number))[1] for number in range(len(op.inputs))
    ]


def _switched(grad: TensorLike, pred: Tensor) -> Any:
    if not isinstance(grad, IndexedSlices):
        return colocated_switch(grad, pred, "cond_grad")
    values, indices = colocated_switch(grad.values, pred), colocated_switch(grad.indices, pred)
    shape = grad.dense_shape
    shapes = (None, None) if shape is None else colocated_switch(shape, pred)
    return [IndexedSlices(values[side], indices[side], shapes[side]) for side in (0, 1)]


@gradient("Exit", "RefExit")
def _exit_grad(op: Operation, grad: Any) -> Any:
    context = building_context(get_default_graph())
    if not context.back_prop:
        return None
    if context_of(op).grad_state is not None:
        raise TypeError("Second-order gradient for while loops not supported.")
    if isinstance(grad, IndexedSlices):
        raise TypeError(f"Type {type(grad)} not supported")
    context.AddName(grad)
    context.Enter()
    entered = enter(grad, context, name="b_exit")
    context.loop_enters.append(entered)
    context.Exit()
    return entered


@gradient("NextIteration", "RefNextIteration")
def _next_iteration_grad(op: Operation, grad: TensorLike) -> Any:
    return grad


@gradient("Enter", "RefEnter")
def _enter_grad(op: Operation, grad: Any) -> Any:
    context = building_context(get_default_graph())
    if not context.back_prop or context.grad_state is None:
        return grad
    if op.attrs["is_constant"]:
        if isinstance(grad, IndexedSlices):
            return add_slices_accumulator(context, op, grad)
        return add_accumulator(context, op, grad)
    left = exit_loop(grad)
    context.loop_exits.append(left)
    context.ExitResult([left])
    return left


@gradient("LoopCond")
def _loop_cond_grad(op: Operation, *grad: Any) -> Any:
    return None
