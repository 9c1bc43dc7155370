"""Gradients of functional loops: a second ``While`` that goes backwards through the iterations.

::

    forward    v, w, list   ──> While (body pushes t onto the list)  ──> v, w, list
    backward   dv, dw, list ──> While (body pops t, dv = f'(t) dv)   ──> dv, dw, list

The gradient of an iteration needs intermediate values of the body. The body pushes each of them onto a list, which
becomes another loop variable. The node therefore gets more arguments and calls new functions, with ``_rewritten`` in
their names. Loop invariants are used directly, and constants are copied.

Source: tensorflow/python/ops/while_v2.py, release 1.15 (nodes added, names, messages).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.op_sets import IDENTITY_OPS
from gpuplace.graph.operation import Operation, Tensor, add_inputs, add_outputs, set_attr
from gpuplace.graph.scopes import building_context, set_building_context
from gpuplace.ops.array.constant import constant
from gpuplace.ops.array.reshaping import identity
from gpuplace.ops.gradients.gradients import gradients, is_trainable
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.gradients.registry import gradient
from gpuplace.tf1.flow.tensor_lists import empty_tensor_list, tensor_list_pop_back, tensor_list_push_back
from gpuplace.tf1.functions.flow.graphs import (
    WhileBodyFuncGraph,
    WhileCondFuncGraph,
    create_new_tf_function,
    func_graph_in_library,
    input_of_resource,
    unique_grad_fn_name,
    zeros_of,
)
from gpuplace.tf1.functions.flow.loop_slices import keep_slices
from gpuplace.tf1.functions.flow.while_v2 import ORIGINAL_OUTPUTS, add_while
from gpuplace.tf1.functions.func_graph import FuncGraph, func_graph_from_py_func
from gpuplace.typing import TensorLike

COUNTERS = 3
"""Number of variables before the gradients: completed iterations, their maximum, and their total."""


class _BodyGradientGraph(WhileBodyFuncGraph):
    """Graph of the gradient of a loop's body.

    Args:
        name: the function's name.
        op: the loop.
        cond: the graph of its condition.
        body: the graph of its body.
    """

    def __init__(self, name: str, op: Operation, cond: FuncGraph, body: FuncGraph) -> None:
        super().__init__(name)
        self._op, self._cond, self._body = op, cond, body
        self._invariants = set(body.inputs) & set(body.outputs)
        self._standing_in: dict[Tensor, Tensor] = {}
        """Intermediate value of the body -> its counterpart here."""
        self.lists: list[Tensor] = []
        """Further initial values of the loop: empty lists."""
        self.next_ones: dict[Tensor, Tensor] = {}
        """Further argument of this body, after the gradients -> its value for the next iteration."""

    def capture(self, tensor: Tensor, name: str | None = None, whitelisted: bool = False) -> Tensor:
        """Return the counterpart of a tensor of the loop's body; ValueError for a tensor of another graph.

        Args:
            tensor: the tensor.
            name: the name of the placeholder; None: the name of the tensor's operation.
            whitelisted: whether it may come from another graph.
        """
        graph = tensor.op.graph
        if graph is self._body:
            return self._of_body(tensor, name or tensor.op.name)
        if not whitelisted and graph is not self:
            where = graph.name if isinstance(graph, FuncGraph) else "Base"
            raise ValueError(
                f"Attempting to capture tensor {tensor} which is not in the forward graph but in {where}."
            )
        return super().capture(tensor, name)

    def _check_accessible(self, tensor: Tensor) -> None:
        if tensor.op.graph is not self._body:
            super()._check_accessible(tensor)

    def _of_body(self, tensor: Tensor, name: str) -> Tensor:
        while tensor.op.type in IDENTITY_OPS:
            tensor = tensor.op.inputs[0]
        known = self._standing_in.get(tensor)
        if known is None:
            known = self._standing_in[tensor] = self._made_for(tensor, name)
        return known

    def _made_for(self, tensor: Tensor, name: str) -> Tensor:
        body = self._body
        if tensor in self._invariants or (tensor in body.inputs and tensor in body.outputs):
            found = super().capture(tensor, name)
            self.next_ones[found] = found
            return found
        if tensor.op.type == "Const":
            value: Any = constant_value(tensor)
            return constant(value, dtype=tensor.dtype)
        if tensor.dtype.base_dtype.name == "resource":
            return self._handle(tensor)
        accumulated = super().capture(self._collected(tensor), name)
        self.next_ones[accumulated], found = tensor_list_pop_back(accumulated, element_dtype=tensor.dtype)
        return found

    def _handle(self, tensor: Tensor) -> Tensor:
        body = self._body
        index = input_of_resource(tensor, body)
        outer = self._op.inputs[index]
        if body.inputs[index] is not body.outputs[index]:
            raise ValueError(f"Resource tensors must be loop invariants {outer}.")
        counterpart = self.capture(outer, whitelisted=True)
        self.next_ones[counterpart] = counterpart
        return counterpart

    def _collected(self, tensor: Tensor) -> Tensor:
        """Return the list that the loop's body returns with all values of a tensor."""
        known = _list_of(tensor, self._body)
        if known is not None:
            return known
        outer = self._body.outer_graph
        with outer.as_default():
            context = building_context(outer)
            with outer.control_dependencies(None):
                set_building_context(outer, context)
                accumulator = empty_tensor_list(
                    tensor.shape,
                    tensor.dtype,
                    self._op.inputs[1],
                    f"{tensor.name}/accumulator".replace(":", "_"),
                )
        self.lists.append(accumulator)
        with self._body.as_default():
            longer = tensor_list_push_back(accumulator, tensor)
        self._body.outputs.append(longer)
        with self._cond.as_default():
            self._cond.capture(accumulator)
        return longer


def _list_of(tensor: Tensor, graph: FuncGraph) -> Tensor | None:
    """Return the list onto which a body pushes a tensor: the body's own argument at the same position."""
    for op in tensor.consumers():
        if op.type != "TensorListPushBack" or op.inputs[0] not in graph.inputs:
            continue
        found = op.outputs[0]
        if found not in graph.outputs:
            users = found.consumers()
            if not users or users[0].type != "Identity" or users[0].outputs[0] not in graph.outputs:
                continue
            found = users[0].outputs[0]
        if graph.inputs.index(op.inputs[0]) == graph.outputs.index(found):
            return found
    return None


def _get_graph(while_op: Operation, func_attr_name: str) -> FuncGraph:
    """Return a function of a loop, as it is in the library.

    Args:
        while_op: the loop.
        func_attr_name: ``"cond"`` or ``"body"``.
    """
    shapes = while_op.attrs.get("output_shapes") or [tensor.shape for tensor in while_op.inputs]
    return func_graph_in_library(while_op, while_op.attrs[func_attr_name], shapes)


@gradient("While", "StatelessWhile")
def _of_while(op: Operation, *grads: Any) -> list[Any]:
    cond, body = _get_graph(op, "cond"), _get_graph(op, "body")
    count = len(body.outputs)
    original = op.attrs.get(ORIGINAL_OUTPUTS, count)
    dys: list[Any] = [
        _preprocessed(*triple)
        for triple in zip(grads[:original], body.outputs[:original], op.outputs[:original], strict=True)
    ] + [None] * (count - original)
    ways = [way for way in zip(body.outputs, body.inputs, dys, strict=True) if way[2] is not None]
    gradient_graph, args = _body_gradient(op, cond, body, ways)
    if gradient_graph.lists:
        _rewrite(op, cond, body, gradient_graph.lists, count)
    set_attr(op, ORIGINAL_OUTPUTS, len(op.outputs))
    captured = [_resolved(tensor, op, body) for tensor in gradient_graph.external_captures]
    wrt = [tensor for tensor, grad in zip(op.inputs, dys, strict=False) if grad is not None]
    initial = keep_slices(gradient_graph, wrt, [*args, *captured], COUNTERS)
    outputs = _backward_loop(op, gradient_graph, initial)
    return [*_results(outputs, dys, gradient_graph), *[None] * len(gradient_graph.lists)]


def _preprocessed(grad: TensorLike, of_body: Tensor, of_loop: Tensor) -> Any:
    """Return the initial gradient for a result of the loop; None if the result passes no gradient."""
    if not _passes_gradient(of_body):
        return None
    if grad is None and of_loop.dtype.is_handle:
        return zeros_of(of_loop)
    return grad


def _passes_gradient(tensor: Tensor) -> bool:
    """Return whether a result of a body passes gradients; lists of non-differentiable values do not."""
    if tensor.op.type == "TensorListPopBack" and tensor.value_index == 0:
        return is_trainable(tensor.op.outputs[1])
    return is_trainable(tensor)


def _body_gradient(
    op: Operation, cond: FuncGraph, body: FuncGraph, ways: Sequence[tuple[Tensor, Tensor, Any]]
) -> tuple[_BodyGradientGraph, list[Any]]:
    """Return the gradient of a body, and the initial values of its loop, without those captured from the body."""
    total = op.outputs[0]
    counter = constant(0, dtype=total.dtype, name="grad_counter")
    args = [counter, op.inputs[1], total, *(grad for _, _, grad in ways)]
    name = unique_grad_fn_name(body.name)
    graph = _BodyGradientGraph(name, op, cond, body)
    ys, xs = [y for y, _, _ in ways], [x for _, x, _ in ways]

    def step(done: Tensor, most: Tensor, total: Tensor, *grads: Tensor) -> Any:
        dxs = gradients(ys, xs, list(grads), unconnected_gradients="zero")
        return [done + 1, most, total, *dxs]

    func_graph_from_py_func(name, step, args, None, func_graph=graph)
    for placeholder in graph.internal_captures:
        graph.outputs.append(graph.next_ones[placeholder])
        graph.structured_outputs.append(graph.next_ones[placeholder])
    return graph, args


def _rewrite(op: Operation, cond: FuncGraph, body: FuncGraph, lists: Sequence[Tensor], count: int) -> None:
    """Extend a loop with lists of its body's intermediate values."""
    cond.name += "_rewritten"
    body.name += "_rewritten"
    set_attr(op, "cond", create_new_tf_function(cond))
    set_attr(op, "body", create_new_tf_function(body))
    set_attr(op, "T", tuple(output.dtype.base_dtype for output in body.outputs))
    set_attr(op, "output_shapes", tuple(output.shape for output in body.outputs))
    add_inputs(op, lists)
    more = body.outputs[count:]
    add_outputs(op, [output.dtype for output in more], [output.shape for output in more])


def _resolved(tensor: Tensor, op: Operation, body: FuncGraph) -> Tensor:
    """Return the loop's result for a tensor of its body; other tensors are returned unchanged."""
    return op.outputs[body.outputs.index(tensor)] if tensor.graph is body else tensor


def _backward_loop(op: Operation, body: FuncGraph, initial: Sequence[Tensor]) -> list[Tensor]:
    name = unique_grad_fn_name(op.attrs["cond"].name)

    def goes_on(done: Tensor, most: Tensor, total: Tensor, *others: Tensor) -> Tensor:
        return done < total

    cond = func_graph_from_py_func(name, goes_on, initial, None, func_graph=WhileCondFuncGraph(name))
    shapes = [output.shape for output in body.outputs]
    outputs = add_while(initial, cond, body, shapes, op.attrs["parallel_iterations"], f"{op.name}_grad")
    return [identity(output) for output in outputs]


def _results(outputs: Sequence[Tensor], given: Sequence[Any], body: FuncGraph) -> list[Any]:
    """Return the gradients of a loop's arguments, from the results of the backward loop."""
    dxs: list[Any] = []
    left, structured = iter(outputs[COUNTERS:]), iter(body.structured_outputs[COUNTERS:])
    for grad in given:
        if grad is None:
            dxs.append(None)
        elif isinstance(next(structured), IndexedSlices):
            dxs.append(IndexedSlices(next(left), next(left), next(left)))
        else:
            dxs.append(next(left))
    return dxs
