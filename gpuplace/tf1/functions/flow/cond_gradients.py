"""Gradients of functional conditionals: conditionals of the branches' gradients.

    x ─> If (f, g) ─┬─> y             dy ─> If (f_grad, g_grad) ─> dx
                    └─> t  ──────────────────┘

A branch's gradient needs intermediate values of the branch. The ``If`` returns them as optional values, which are empty
if the other branch ran. The node therefore calls new functions from then on, with ``_rewritten`` in their names.

Source: tensorflow/python/ops/cond_v2.py, release 1.15 (nodes added, names).
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
    """Graph of a branch's gradient.

    Args:
        name: the function's name.
        forward: the graph of the branch.
    """

    def __init__(self, name: str, forward: FuncGraph) -> None:
        super().__init__(name, collections_of_default_graph())
        self._forward = forward
        self._unwrapped: dict[Tensor, Tensor] = {}
        """Intermediate value of the branch -> its counterpart here."""
        self.wrapped: dict[Tensor, Tensor] = {}
        """Intermediate value of the branch -> the optional value that the branch has to return."""
        self.needs_rewrite = False
        """Whether the branch does not return one of these yet."""

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Capture a tensor: the branch's own values as optional values, resource handles as the branch's inputs."""
        forward = self._forward
        if tensor.op.graph is not forward or tensor in forward.inputs or tensor in forward.outputs:
            return super().capture(tensor, name)
        known = self._unwrapped.get(tensor)
        if known is None:
            if tensor.dtype.base_dtype.name == "resource":
                known = super().capture(forward.inputs[input_of_resource(tensor, forward)], name)
            else:
                optional = super().capture(self._optional(tensor), name or tensor.op.name)
                known = new_list(
                    "OptionalGetValue",
                    optional=optional,
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
    """Return the branches of a conditional, as they are in the library, connected to its inputs.

    Args:
        op: an ``If`` or ``Case``.
    """
    functions = (
        op.attrs["branches"] if op.type == "Case" else [op.attrs["then_branch"], op.attrs["else_branch"]]
    )
    inputs = op.inputs[1:]
    graphs = []
    for function in functions:
        branch = func_graph_in_library(op, function, [tensor.shape for tensor in inputs])
        branch.captured = dict(zip(inputs, branch.args, strict=True))
        graphs.append(branch)
    return graphs


def _gradient_graph(forward: FuncGraph, grads: Sequence[Any]) -> _GradientGraph:
    name = unique_grad_fn_name(forward.name)
    graph = _GradientGraph(name, forward)
    func_graph_from_py_func(name, lambda: _gradients_in(forward, grads), (), None, func_graph=graph)
    return graph


def _gradients_in(forward: FuncGraph, grads: Sequence[Any]) -> list[Any]:
    """Return the gradients of a branch's arguments, zeros where there is none."""
    pairs = [
        (y, grad)
        for y, grad in zip(forward.outputs, grads, strict=True)
        if grad is not None and is_trainable(y)
    ]
    xs = forward.inputs
    dxs = gradients([y for y, _ in pairs], xs, [grad for _, grad in pairs]) if pairs else [None] * len(xs)
    return [zeros_of(x) if grad is None else grad for x, grad in zip(xs, dxs, strict=True)]


def _rewrite(
    op: Operation, branches: Sequence[FuncGraph], gradient_graphs: Sequence[_GradientGraph], op_name: str
) -> None:
    """Give a conditional new branches that also return what their gradients need."""
    most = max(len(graph.wrapped) for graph in gradient_graphs)
    count = len(branches[0].outputs)
    for branch, gradient_graph in zip(branches, gradient_graphs, strict=True):
        more = list(gradient_graph.wrapped.values())
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
    set_attr(op, "Tout", tuple(out.dtype.base_dtype for out in given_out))
    set_attr(op, "output_shapes", tuple(out.shape for out in given_out))
    add_outputs(op, [out.dtype for out in given_out[count:]], [out.shape for out in given_out[count:]])


def _inputs(op: Operation, forward: FuncGraph, gradient_graph: FuncGraph) -> list[Tensor]:
    """Return the inputs of a branch's gradient, with the branch's tensors replaced by those of the conditional."""
    inputs = []
    for tensor in gradient_graph.external_captures:
        if tensor.graph is forward:
            if tensor in forward.outputs:
                tensor = op.outputs[forward.outputs.index(tensor)]
            else:
                tensor = op.inputs[1 + forward.inputs.index(tensor)]
        inputs.append(tensor)
    return inputs


def _parts(op: Operation, grads: Sequence[Any], op_name: str) -> tuple[list[Any], list[list[Tensor]]]:
    """Return the graphs of the branches' gradients, and the inputs of each."""
    branches = get_func_graphs(op)
    gradient_graphs = [_gradient_graph(branch, grads) for branch in branches]
    if any(graph.needs_rewrite for graph in gradient_graphs):
        _rewrite(op, branches, gradient_graphs, op_name)
    inputs = [_inputs(op, branch, graph) for branch, graph in zip(branches, gradient_graphs, strict=True)]
    make_slices_match(gradient_graphs, op_name)
    return gradient_graphs, inputs


@gradient("If", "StatelessIf")
def _of_if(op: Operation, *grads: Any) -> list[Any]:
    gradient_graphs, inputs = _parts(op, grads, "tf.cond")
    return [None, *build_cond(op.inputs[0], gradient_graphs, inputs)]


@gradient("Case")
def _of_case(op: Operation, *grads: Any) -> list[Any]:
    gradient_graphs, inputs = _parts(op, grads, "tf.switch_case")
    return [None, *build_case(op.inputs[0], gradient_graphs, inputs, "gradient")]
