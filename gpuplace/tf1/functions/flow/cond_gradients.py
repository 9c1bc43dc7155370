"""Gradients of conditionals whose branches are functions: conditionals of the gradients of the branches.

    x ─> If (f, g) ─┬─> y             dy ─> If (f_grad, g_grad) ─> dx
                    └─> t  ──────────────────┘

What the gradient of a branch needs of what the branch computed is given out by the ``If``, as an optional value, since
there is none where the other branch was taken. So the node calls other functions from then on, with ``_rewritten`` in
their names.

Source: tensorflow/python/ops/cond_v2.py, release 1.15 (what is added to the graphs, names).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.graph.operation import Operation, Tensor, add_outputs, set_attr
from gpuplace.ops.gradients.gradients import gradients, is_trainable
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.support import new, new_list
from gpuplace.tf1.functions.flow.branches import check_same_outputs, make_slices_match
from gpuplace.tf1.functions.flow.cond_v2 import build_case, build_cond
from gpuplace.tf1.functions.flow.graphs import (
    CondBranchFuncGraph,
    collections_of_default_graph,
    create_new_tf_function,
    func_graph_in_library,
    input_of_resource,
    unique_grad_fn_name,
    zeros_of,
)
from gpuplace.tf1.functions.func_graph import FuncGraph, func_graph_from_py_func


class _GradientGraph(CondBranchFuncGraph):
    """That of the gradient of a branch.

    Args:
        name: the function's name.
        forward: the graph of the branch.
    """

    def __init__(self, name: str, forward: FuncGraph) -> None:
        super().__init__(name, collections_of_default_graph())
        self._forward = forward
        self._unwrapped: dict[Tensor, Tensor] = {}
        """What the branch computed -> what stands for it here."""
        self.wrapped: dict[Tensor, Tensor] = {}
        """What the branch computed -> the optional value that it has to give out."""
        self.needs_rewrite = False
        """Whether one of these is not given out yet."""

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """As for any graph; what the branch computed comes by an optional value, a handle as the branch got it."""
        forward = self._forward
        if tensor.op.graph is not forward or tensor in forward.inputs or tensor in forward.outputs:
            return super().capture(tensor, name)
        known = self._unwrapped.get(tensor)
        if known is None:
            if tensor.dtype.base_dtype.name == "resource":
                known = super().capture(forward.inputs[input_of_resource(tensor, forward)], name)
            else:
                given = super().capture(self._optional(tensor), name or tensor.op.name)
                known = new_list(
                    "OptionalGetValue",
                    optional=given,
                    output_types=[tensor.dtype.base_dtype],
                    output_shapes=[tensor.shape],
                )[0]
            self._unwrapped[tensor] = known
        return known

    def _check_accessible(self, tensor: Tensor) -> None:
        if tensor.op.graph is not self._forward:
            super()._check_accessible(tensor)

    def _optional(self, tensor: Tensor) -> Tensor:
        if tensor not in self.wrapped:
            known = [
                op.outputs[0]
                for op in tensor.consumers()
                if op.type == "OptionalFromValue" and op.outputs[0] in self._forward.outputs
            ]
            if not known:
                with self._forward.as_default():
                    known.append(new("OptionalFromValue", components=[tensor]))
                self.needs_rewrite = True
            self.wrapped[tensor] = known[0]
        return self.wrapped[tensor]


def get_func_graphs(op: Operation) -> list[FuncGraph]:
    """The branches of a conditional, as they are in the library, given what it is given.

    Args:
        op: an ``If`` or ``Case``.
    """
    functions = (
        op.attrs["branches"] if op.type == "Case" else [op.attrs["then_branch"], op.attrs["else_branch"]]
    )
    inputs = op.inputs[1:]
    found = []
    for function in functions:
        branch = func_graph_in_library(op, function, [tensor.shape for tensor in inputs])
        branch.captured = dict(zip(inputs, branch.args, strict=True))
        found.append(branch)
    return found


def _gradient_graph(forward: FuncGraph, grads: Sequence[Any]) -> _GradientGraph:
    name = unique_grad_fn_name(forward.name)
    graph = _GradientGraph(name, forward)
    func_graph_from_py_func(name, lambda: _gradients_in(forward, grads), (), None, func_graph=graph)
    return graph


def _gradients_in(forward: FuncGraph, grads: Sequence[Any]) -> list[Any]:
    """The gradients of a branch's arguments, zeros where there are none."""
    pairs = [
        (y, grad)
        for y, grad in zip(forward.outputs, grads, strict=True)
        if grad is not None and is_trainable(y)
    ]
    xs = forward.inputs
    found = gradients([y for y, _ in pairs], xs, [grad for _, grad in pairs]) if pairs else [None] * len(xs)
    return [zeros_of(x) if one is None else one for x, one in zip(xs, found, strict=True)]


def _rewrite(
    op: Operation, branches: Sequence[FuncGraph], made: Sequence[_GradientGraph], op_name: str
) -> None:
    """Makes a conditional one of branches that give out, besides, what their gradients need."""
    most = max(len(one.wrapped) for one in made)
    count = len(branches[0].outputs)
    for branch, one in zip(branches, made, strict=True):
        more = list(one.wrapped.values())
        with branch.as_default():
            more += [new("OptionalNone") for _ in range(most - len(more))]
        branch.outputs.extend(more)
        branch.name += "_rewritten"
    check_same_outputs(branches, [""] * len(branches), op_name)
    functions = [create_new_tf_function(branch) for branch in branches]
    if op.type == "Case":
        set_attr(op, "branches", tuple(functions))
    else:
        set_attr(op, "then_branch", functions[0])
        set_attr(op, "else_branch", functions[1])
    given_out = branches[0].outputs
    set_attr(op, "Tout", tuple(one.dtype.base_dtype for one in given_out))
    set_attr(op, "output_shapes", tuple(one.shape for one in given_out))
    add_outputs(op, [one.dtype for one in given_out[count:]], [one.shape for one in given_out[count:]])


def _inputs(op: Operation, forward: FuncGraph, made: FuncGraph) -> list[Tensor]:
    """What the gradient of a branch is given: what it uses of the branch as the conditional has it."""
    found = []
    for tensor in made.external_captures:
        if tensor.graph is forward:
            if tensor in forward.outputs:
                tensor = op.outputs[forward.outputs.index(tensor)]
            else:
                tensor = op.inputs[1 + forward.inputs.index(tensor)]
        found.append(tensor)
    return found


def _parts(op: Operation, grads: Sequence[Any], op_name: str) -> tuple[list[Any], list[list[Tensor]]]:
    """The graphs of the gradients of the branches, and what each is given."""
    branches = get_func_graphs(op)
    made = [_gradient_graph(branch, grads) for branch in branches]
    if any(one.needs_rewrite for one in made):
        _rewrite(op, branches, made, op_name)
    inputs = [_inputs(op, branch, one) for branch, one in zip(branches, made, strict=True)]
    make_slices_match(made, op_name)
    return made, inputs


@gradient("If", "StatelessIf")
def _of_if(op: Operation, *grads: Any) -> list[Any]:
    made, inputs = _parts(op, grads, "tf.cond")
    return [None, *build_cond(op.inputs[0], made, inputs)]


@gradient("Case")
def _of_case(op: Operation, *grads: Any) -> list[Any]:
    made, inputs = _parts(op, grads, "tf.switch_case")
    return [None, *build_case(op.inputs[0], made, inputs, "gradient")]
