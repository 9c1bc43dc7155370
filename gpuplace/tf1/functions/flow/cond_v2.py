"""Functional conditionals: one ``If`` or ``Case``, and a copy of each of its results.

    x ──┬─> If (p; then_branch, else_branch) ──> Identity ──> y
    w ──┘

Tensors of the surrounding graph that one branch uses become inputs of all branches. The copies allow a fetch of one
result to skip what only the others need, once the node is lowered to ``Switch`` and ``Merge``.

Source: tensorflow/python/ops/cond_v2.py, release 1.15 (nodes added, messages).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Tensor, set_attr
from gpuplace.ops.array.reshaping import identity
from gpuplace.tf1.functions.flow.branches import (
    check_captures,
    check_same_outputs,
    make_inputs_match,
    make_positions_match,
    output_shapes,
)
from gpuplace.tf1.functions.flow.graphs import (
    LOWERING,
    CondBranchFuncGraph,
    as_scalar,
    collections_of_default_graph,
    create_new_tf_function,
    has_stateful_ops,
    unique_fn_name,
)
from gpuplace.tf1.functions.func_graph import FuncGraph, func_graph_from_py_func, packed_tensors
from gpuplace.typing import TensorLike


def cond_v2(
    pred: TensorLike, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str | None = "cond"
) -> Any:
    """``tf.cond`` as one ``If``.

    Args:
        pred: a scalar bool tensor.
        true_fn: takes no arguments and returns a structure of tensors.
        false_fn: returns the same structure.
        name: name of the node; None: ``"cond"``.

    Returns:
        The results, in this structure.

    Raises:
        TypeError: ``pred`` is a Python bool, or the functions return different structures or dtypes.
        ValueError: one function uses a tensor of the other.
    """
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool", pred)
    with name_scope(name or "cond") as scope:
        names = [unique_fn_name(scope, "true"), unique_fn_name(scope, "false")]
        decider: Tensor = as_scalar(convert_to_tensor(pred))
        branches = _branch_graphs(names, [true_fn, false_fn], decider)
        check_captures(branches, ["true_fn", "false_fn"])
        return build_cond(decider, branches, [branch.external_captures for branch in branches], scope)


def _branch_graphs(
    names: Sequence[str], functions: Sequence[Callable[[], Any]], decider: Tensor
) -> list[FuncGraph]:
    """Return the graph of each branch."""
    adds = get_default_graph().adds_control_dependencies
    return [
        func_graph_from_py_func(
            name,
            function,
            (),
            None,
            func_graph=CondBranchFuncGraph(name, collections_of_default_graph()),
            add_control_dependencies=adds,
            op_return_value=decider,
        )
        for name, function in zip(names, functions, strict=True)
    ]


def build_cond(
    pred: Tensor, branches: Sequence[FuncGraph], inputs: Sequence[Sequence[Tensor]], name: str | None = None
) -> Any:
    """Add the ``If`` of two branches, which get the same arguments.

    Args:
        pred: a scalar.
        branches: the graph for true and the one for false.
        inputs: the inputs of each branch.
        name: name of the node; None: its type.

    Returns:
        The results of the branches, in their structure.
    """
    make_positions_match(branches, "cond")
    check_same_outputs(branches, ["true_fn", "false_fn"], "tf.cond")
    captured = make_inputs_match(branches, inputs)
    return _called(
        "If" if has_stateful_ops(*branches) else "StatelessIf",
        name,
        branches,
        cond=pred,
        input=captured,
        Tout=[output.dtype for output in branches[0].outputs],
        then_branch=create_new_tf_function(branches[0]),
        else_branch=create_new_tf_function(branches[1]),
        output_shapes=output_shapes(branches),
    )


def _called(op_type: str, name: str | None, graphs: Sequence[FuncGraph], **arguments: Any) -> Any:
    """Add a node that calls one of these branches, and return its results."""
    graph = get_default_graph()
    waiting = [op for branch in graphs for op in branch.control_captures]
    with graph.control_dependencies(waiting):
        op = apply_op(op_type, name, **arguments)
    set_attr(op, LOWERING, True)
    tensors = [identity(output) for output in op.outputs]
    graph.prevent_fetching(op)
    return packed_tensors(graphs[0].structured_outputs, tensors)


def indexed_case(
    branch_index: TensorLike, branch_fns: Sequence[Callable[[], Any]], name: str = "indexed_case"
) -> Any:
    """``tf.switch_case`` as one ``Case``.

    Args:
        branch_index: an int32 scalar.
        branch_fns: functions without arguments; the last one is also used for every other index.
        name: name of the node.

    Returns:
        The results, in the structure of the functions' results.

    Raises:
        TypeError: ``branch_index`` is a Python number, or the functions return different structures or dtypes.
        ValueError: one function uses a tensor of another.
    """
    if isinstance(branch_index, int):
        raise TypeError("branch_index must not be a Python int", branch_index)
    with name_scope(name) as scope:
        names = [unique_fn_name(scope, f"branch{number}") for number in range(len(branch_fns))]
        index = convert_to_tensor(branch_index, name="branch_index")
        branches = _branch_graphs(names, branch_fns, index)
        check_captures(branches, [f"branch {number}" for number in range(len(branches))])
        return build_case(index, branches, [branch.external_captures for branch in branches], scope)


def build_case(
    branch_index: Tensor,
    branches: Sequence[FuncGraph],
    inputs: Sequence[Sequence[Tensor]],
    name: str | None = None,
) -> Any:
    """Add the ``Case`` of some branches, which get the same arguments.

    Args:
        branch_index: a scalar.
        branches: the graphs of the branches.
        inputs: the inputs of each branch.
        name: name of the node; None: its type.

    Returns:
        The results of the branches, in their structure.
    """
    make_positions_match(branches, "switch_case")
    names = [f"branches[{number}]" for number in range(len(branches))]
    check_same_outputs(branches, names, "tf.switch_case")
    captured = make_inputs_match(branches, inputs)
    return _called(
        "Case",
        name,
        branches,
        branch_index=branch_index,
        input=captured,
        Tout=[output.dtype for output in branches[0].outputs],
        branches=[create_new_tf_function(branch) for branch in branches],
        output_shapes=output_shapes(branches),
    )
