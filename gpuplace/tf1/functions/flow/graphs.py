"""Graphs of branches, conditions and bodies, and their functions in the surrounding graph's library.

    cond(p, f, g)  ──>  If (then_branch = cond_true_3, else_branch = cond_false_4)
    library            cond_true_3 (x) -> ...        cond_false_4 (x) -> ...

Source: tensorflow/python/ops/control_flow_util_v2.py and control_flow_v2_func_graphs.py, release 1.15 (names,
messages).
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
"""The attribute of nodes that TensorFlow lowers to ``Switch``, ``Merge`` and so on before placement."""


class CondBranchFuncGraph(FuncGraph):
    """Graph of a conditional's branch."""


class WhileCondFuncGraph(FuncGraph):
    """Graph of a loop's condition."""


class WhileBodyFuncGraph(FuncGraph):
    """Graph of a loop's body."""


def create_new_tf_function(func_graph: FuncGraph) -> FunctionRef:
    """Add the function of a graph to the surrounding graph's library, under the graph's name.

    Args:
        func_graph: the graph.
    """
    GraphFunction(func_graph.name, func_graph.function_body()).add_to_graph(func_graph.outer_graph)
    return FunctionRef(func_graph.name)


def unique_fn_name(scope: str, name: str) -> str:
    """Return a unique function name.

    Args:
        scope: the name scope of the calling node.
        name: the role of the function, such as ``"body"``.
    """
    return f"{scope}{name}_{next(_numbers)}".replace("/", "_")


def unique_grad_fn_name(forward_name: str) -> str:
    """Return a unique name for the gradient of a function.

    Args:
        forward_name: the name of the function.
    """
    return f"{forward_name}_grad_{next(_numbers)}"


def collections_of_default_graph() -> Any:
    """Return the collections of the current graph, to which branches and bodies add."""
    return get_default_graph()._collections


def as_scalar(pred: Any) -> Any:
    """Return a condition as a scalar, with a ``Squeeze`` if its rank may not be 0.

    Args:
        pred: the condition; a value that is not a tensor is returned unchanged.
    """
    if isinstance(pred, Tensor) and pred.shape.ndims != 0:
        return squeeze(pred)
    return pred


def has_stateful_ops(*graphs: FuncGraph) -> bool:
    """Return whether one of the graphs has a stateful operation.

    Args:
        *graphs: the graphs.
    """
    return any(
        op.op_def is not None and op.op_def.is_stateful for graph in graphs for op in graph.get_operations()
    )


def func_graph_in_library(op: Operation, function: FunctionRef, input_shapes: Sequence[Any]) -> FuncGraph:
    """Return a function that an operation calls, as a graph within the operation's graph.

    Args:
        op: the operation.
        function: a function that its attributes name; all inputs become arguments.
        input_shapes: the shapes of the arguments.
    """
    with op.graph.as_default():
        graph = FuncGraph(function.name, collections={})
        above("gpuplace.graphdef.function_def_to_graph", "fill_func_graph")(
            graph, op.graph.functions[function.name], input_shapes
        )
    return graph


def zeros_of(tensor: Tensor) -> Tensor:
    """Return zeros like a tensor; for a handle, like the value of its variable.

    Args:
        tensor: the tensor.
    """
    if tensor.dtype.base_dtype.name == "resource":
        return zeros(new("VariableShape", input=tensor), zeros_dtype(tensor))
    return zeros_like(tensor)


def input_of_resource(tensor: Tensor, graph: FuncGraph) -> int:
    """Return the position of the function input that a resource handle comes from.

    Args:
        tensor: the handle.
        graph: the graph of the function.

    Raises:
        ValueError: the handle does not come from an input.
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
