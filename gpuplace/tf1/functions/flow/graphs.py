"""The graphs of branches, conditions and bodies, and their functions in the library of the graph around them.

    cond(p, f, g)  ──>  If (then_branch = cond_true_3, else_branch = cond_false_4)
    library            cond_true_3 (x) -> ...        cond_false_4 (x) -> ...

Source: tensorflow/python/ops/control_flow_util_v2.py and control_flow_v2_func_graphs.py, release 1.15 (names,
sentences).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from gpuplace.display import above
from gpuplace.graph.attr_value import FunctionRef
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.op_sets import CALL_OPS, IDENTITY_OPS, WHILE_OPS
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import zeros, zeros_like
from gpuplace.ops.array.reshaping import squeeze
from gpuplace.ops.support import new
from gpuplace.ops.variables.resource_state import zeros_dtype
from gpuplace.tf1.functions.concrete import GraphFunction
from gpuplace.tf1.functions.func_graph import FuncGraph

_numbers = itertools.count()

LOWERING = "_lower_using_switch_merge"
"""The attribute of what TensorFlow makes ``Switch``, ``Merge`` and the like of, before it places the graph."""


class CondBranchFuncGraph(FuncGraph):
    """That of a branch of a conditional."""


class WhileCondFuncGraph(FuncGraph):
    """That of a loop's condition."""


class WhileBodyFuncGraph(FuncGraph):
    """That of a loop's body."""


def create_new_tf_function(func_graph: FuncGraph) -> FunctionRef:
    """Puts the function of a graph into the library of the one around it, under the graph's name.

    Args:
        func_graph: the graph.
    """
    GraphFunction(func_graph.name, func_graph.function_body()).add_to_graph(func_graph.outer_graph)
    return FunctionRef(func_graph.name)


def unique_fn_name(scope: str, name: str) -> str:
    """A name for a function that no other one has.

    Args:
        scope: the name scope of the node that calls it.
        name: what it is, such as ``"body"``.
    """
    return f"{scope}{name}_{next(_numbers)}".replace("/", "_")


def unique_grad_fn_name(forward_name: str) -> str:
    """A name for the gradient of a function that no other one has.

    Args:
        forward_name: the name of the function.
    """
    return f"{forward_name}_grad_{next(_numbers)}"


def collections_of_default_graph() -> Any:
    """The collections of the graph that is being built: those that a branch or body adds to."""
    return get_default_graph()._collections


def as_scalar(pred: Any) -> Any:
    """A condition without axes, by a ``Squeeze`` where it may have some.

    Args:
        pred: what a condition gave; what is no tensor stays as it is.
    """
    if isinstance(pred, Tensor) and pred.shape.ndims != 0:
        return squeeze(pred)
    return pred


def has_stateful_ops(*graphs: FuncGraph) -> bool:
    """Whether there is a stateful operation in one of these graphs.

    Args:
        *graphs: the graphs.
    """
    return any(
        op.op_def is not None and op.op_def.is_stateful for graph in graphs for op in graph.get_operations()
    )


def func_graph_in_library(op: Operation, function: FunctionRef, input_shapes: Sequence[Any]) -> FuncGraph:
    """A function that an operation calls, as a graph within that of the operation; all inputs are its own arguments.

    Args:
        op: the operation.
        function: one that its attributes name.
        input_shapes: the shapes of the arguments.
    """
    with op.graph.as_default():
        graph = FuncGraph(function.name, collections={})
        above("gpuplace.graphdef.function_def_to_graph", "fill_func_graph")(
            graph, op.graph.functions[function.name], input_shapes
        )
    return graph


def zeros_of(tensor: Tensor) -> Tensor:
    """Zeros like a tensor; for a handle, like the value of its variable.

    Args:
        tensor: the tensor.
    """
    if tensor.dtype.base_dtype.name == "resource":
        return zeros(new("VariableShape", input=tensor), zeros_dtype(tensor))
    return zeros_like(tensor)


def input_of_resource(tensor: Tensor, graph: FuncGraph) -> int:
    """The position of the input of a function that a handle in it comes from.

    Args:
        tensor: the handle.
        graph: the graph of the function.

    Raises:
        ValueError: it comes from no input.
    """
    return _position(tensor, graph.inputs)


def _position(tensor: Tensor, inputs: Sequence[Tensor]) -> int:
    while tensor not in inputs:
        op = tensor.op
        if op.type in WHILE_OPS or op.type in IDENTITY_OPS:
            tensor = op.inputs[tensor.value_index]
        elif op.type in CALL_OPS:
            body = above("gpuplace.graphdef.function_def", "body_of")(op.graph, op.attrs["f"].name)
            tensor = op.inputs[_position(body.results[tensor.value_index], body.args)]
        else:
            raise ValueError(
                "Taking gradient of a while loop which creates a resource in its body is not supported:"
                f" {op.name}"
            )
    return list(inputs).index(tensor)
