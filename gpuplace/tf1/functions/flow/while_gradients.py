"""Gradients of loops whose condition and body are functions: a second ``While``, through the iterations backwards.

::

    forward    v, w, list   ──> While (body pushes t onto the list)  ──> v, w, list
    backward   dv, dw, list ──> While (body pops t, dv = f'(t) dv)   ──> dv, dw, list

What the gradient of an iteration needs of what the body computed is pushed onto a list, one for each tensor, that the
loop goes on with besides; so the node gets more arguments and calls other functions, with ``_rewritten`` in their
names. What stays the same in all iterations is used as it is, and constants are written again.

Source: tensorflow/python/ops/while_v2.py, release 1.15 (what is added to the graphs, names, sentences).
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
"""The number of variables before the gradients: iterations done, the most of them, and how many there are."""


class _BodyGradientGraph(WhileBodyFuncGraph):
    """That of the gradient of a loop's body.

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
        """What the body computed -> what stands for it here."""
        self.lists: list[Tensor] = []
        """What the loop has to begin with besides: lists without elements."""
        self.next_ones: dict[Tensor, Tensor] = {}
        """What the body here takes besides the gradients -> what it gives for the next iteration."""

    def capture(self, tensor: Tensor, name: str | None = None, whitelisted: bool = False) -> Tensor:
        """What stands here for a tensor of the loop's body; a ValueError for one of elsewhere.

        Args:
            tensor: the tensor.
            name: the name of the placeholder; None: that of the tensor's operation.
            whitelisted: whether it may be of elsewhere.
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
        given = super().capture(self._collected(tensor), name)
        self.next_ones[given], found = tensor_list_pop_back(given, element_dtype=tensor.dtype)
        return found

    def _handle(self, tensor: Tensor) -> Tensor:
        body = self._body
        index = input_of_resource(tensor, body)
        outer = self._op.inputs[index]
        if body.inputs[index] is not body.outputs[index]:
            raise ValueError(f"Resource tensors must be loop invariants {outer}.")
        found = self.capture(outer, whitelisted=True)
        self.next_ones[found] = found
        return found

    def _collected(self, tensor: Tensor) -> Tensor:
        """The list that the loop's body gives, with all values that a tensor had."""
        known = _list_of(tensor, self._body)
        if known is not None:
            return known
        outer = self._body.outer_graph
        with outer.as_default():
            context = building_context(outer)
            with outer.control_dependencies(None):
                set_building_context(outer, context)
                made = empty_tensor_list(
                    tensor.shape,
                    tensor.dtype,
                    self._op.inputs[1],
                    f"{tensor.name}/accumulator".replace(":", "_"),
                )
        self.lists.append(made)
        with self._body.as_default():
            longer = tensor_list_push_back(made, tensor)
        self._body.outputs.append(longer)
        with self._cond.as_default():
            self._cond.capture(made)
        return longer


def _list_of(tensor: Tensor, graph: FuncGraph) -> Tensor | None:
    """The list that a body gives, onto which it pushes a tensor: its own argument at the same place."""
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
    """A function of a loop, as it is in the library.

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
    given: list[Any] = [
        _preprocessed(*triple)
        for triple in zip(grads[:original], body.outputs[:original], op.outputs[:original], strict=True)
    ] + [None] * (count - original)
    ways = [way for way in zip(body.outputs, body.inputs, given, strict=True) if way[2] is not None]
    made, args = _body_gradient(op, cond, body, ways)
    if made.lists:
        _rewrite(op, cond, body, made.lists, count)
    set_attr(op, ORIGINAL_OUTPUTS, len(op.outputs))
    taken = [_resolved(tensor, op, body) for tensor in made.external_captures]
    wanted = [tensor for tensor, one in zip(op.inputs, given, strict=False) if one is not None]
    begins = keep_slices(made, wanted, [*args, *taken], COUNTERS)
    outputs = _backward_loop(op, made, begins)
    return [*_results(outputs, given, made), *[None] * len(made.lists)]


def _preprocessed(grad: TensorLike, of_body: Tensor, of_loop: Tensor) -> Any:
    """The gradient to begin with, for a result of the loop; None where none goes through it."""
    if not _goes_through(of_body):
        return None
    if grad is None and of_loop.dtype.is_handle:
        return zeros_of(of_loop)
    return grad


def _goes_through(tensor: Tensor) -> bool:
    """Whether gradients go through a result of a body; not through lists of what has no gradients."""
    if tensor.op.type == "TensorListPopBack" and tensor.value_index == 0:
        return is_trainable(tensor.op.outputs[1])
    return is_trainable(tensor)


def _body_gradient(
    op: Operation, cond: FuncGraph, body: FuncGraph, ways: Sequence[tuple[Tensor, Tensor, Any]]
) -> tuple[_BodyGradientGraph, list[Any]]:
    """The gradient of a body, and what its loop begins with, but for what it takes of the body."""
    total = op.outputs[0]
    counter = constant(0, dtype=total.dtype, name="grad_counter")
    args = [counter, op.inputs[1], total, *(grad for _, _, grad in ways)]
    name = unique_grad_fn_name(body.name)
    graph = _BodyGradientGraph(name, op, cond, body)
    ys, xs = [y for y, _, _ in ways], [x for _, x, _ in ways]

    def step(done: Tensor, most: Tensor, total: Tensor, *grads: Tensor) -> Any:
        found = gradients(ys, xs, list(grads), unconnected_gradients="zero")
        return [done + 1, most, total, *found]

    func_graph_from_py_func(name, step, args, None, func_graph=graph)
    for mine in graph.internal_captures:
        graph.outputs.append(graph.next_ones[mine])
        graph.structured_outputs.append(graph.next_ones[mine])
    return graph, args


def _rewrite(op: Operation, cond: FuncGraph, body: FuncGraph, lists: Sequence[Tensor], count: int) -> None:
    """Makes a loop one that goes on, besides, with lists of what its body computes."""
    cond.name += "_rewritten"
    body.name += "_rewritten"
    set_attr(op, "cond", create_new_tf_function(cond))
    set_attr(op, "body", create_new_tf_function(body))
    set_attr(op, "T", tuple(one.dtype.base_dtype for one in body.outputs))
    set_attr(op, "output_shapes", tuple(one.shape for one in body.outputs))
    add_inputs(op, lists)
    more = body.outputs[count:]
    add_outputs(op, [one.dtype for one in more], [one.shape for one in more])


def _resolved(tensor: Tensor, op: Operation, body: FuncGraph) -> Tensor:
    """What a loop gives for a tensor of its body; others as they are."""
    return op.outputs[body.outputs.index(tensor)] if tensor.graph is body else tensor


def _backward_loop(op: Operation, body: FuncGraph, begins: Sequence[Tensor]) -> list[Tensor]:
    name = unique_grad_fn_name(op.attrs["cond"].name)

    def goes_on(done: Tensor, most: Tensor, total: Tensor, *others: Tensor) -> Tensor:
        return done < total

    cond = func_graph_from_py_func(name, goes_on, begins, None, func_graph=WhileCondFuncGraph(name))
    shapes = [one.shape for one in body.outputs]
    outputs = add_while(begins, cond, body, shapes, op.attrs["parallel_iterations"], f"{op.name}_grad")
    return [identity(one) for one in outputs]


def _results(outputs: Sequence[Tensor], given: Sequence[Any], body: FuncGraph) -> list[Any]:
    """The gradients of a loop's arguments, of what the loop backwards gives."""
    found: list[Any] = []
    left, structured = iter(outputs[COUNTERS:]), iter(body.structured_outputs[COUNTERS:])
    for grad in given:
        if grad is None:
            found.append(None)
        elif isinstance(next(structured), IndexedSlices):
            found.append(IndexedSlices(next(left), next(left), next(left)))
        else:
            found.append(next(left))
    return found
