"""Functional loops: one ``While``, and a copy of each of its results.

    0, limit ──┐
    i, x     ──┼─> While (cond, body) ──> Identity, one for each ──> i, x
    w        ──┘

The loop counts its iterations, for gradients, in a variable before those of the program. Tensors of the surrounding
graph that condition and body use come after the program's variables, and do not change.

Source: tensorflow/python/ops/while_v2.py, release 1.15 (nodes added, messages).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.dtypes import int32
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Tensor, set_attr
from gpuplace.ops import nest
from gpuplace.ops.array.constant import constant
from gpuplace.ops.array.reshaping import identity
from gpuplace.ops.flow.conditionals import flow_of, with_flows
from gpuplace.ops.flow.while_loops import shape_is_kept, shapes_of_parts
from gpuplace.ops.support import new
from gpuplace.ops.type_spec import TensorSpec
from gpuplace.shapes import TensorShape
from gpuplace.tf1.functions.flow.graphs import (
    LOWERING,
    WhileBodyFuncGraph,
    WhileCondFuncGraph,
    as_scalar,
    collections_of_default_graph,
    create_new_tf_function,
    unique_fn_name,
)
from gpuplace.tf1.functions.func_graph import FuncGraph, func_graph_from_py_func
from gpuplace.typing import TensorLike

ORIGINAL_OUTPUTS = "_num_original_outputs"
"""The attribute with the number of results that a loop had before gradients added more."""
COUNTERS = 2
"""Number of variables before those of the program: the iteration count, and its maximum."""


class _Variables:
    """Loop variables of the program, as a flat list of tensors.

    Args:
        loop_vars: the initial values.
        shape_invariants: their invariant shapes; None: the shapes of the initial values.
    """

    def __init__(self, loop_vars: Any, shape_invariants: Any) -> None:
        self.structure = loop_vars
        self._leaves = nest.flatten(loop_vars, opens_slices=True)
        self.tensors = [convert_to_tensor(flow_of(leaf)) for leaf in self._leaves]
        parts = nest.flatten(loop_vars)
        if shape_invariants is not None:
            nest.assert_same_structure(loop_vars, shape_invariants)
        invariants = [None] * len(parts) if shape_invariants is None else nest.flatten(shape_invariants)
        self.shapes = shapes_of_parts(parts, invariants, self.tensors)

    def packed(self, tensors: Sequence[Tensor]) -> Any:
        """Return tensors in the structure of the variables."""
        return nest.pack_sequence_as(
            self.structure, with_flows(self._leaves, list(tensors)), opens_slices=True
        )

    def flat(self, outputs: Any) -> list[Any]:
        """Return the results of a body as a list, after a check that they match the variables."""
        if nest.items(outputs, opens_slices=True) is None:
            outputs = [outputs]
        nest.assert_same_structure(list(outputs), list(self.structure), opens_slices=True)
        return [flow_of(item) for item in nest.flatten(outputs, opens_slices=True)]


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    maximum_iterations: TensorLike | None = None,
    name: str | None = None,
    return_same_structure: bool = True,
    back_prop: bool = True,
) -> Any:
    """``tf.while_loop`` as one ``While``.

    Args:
        cond: takes the loop variables, returns a scalar bool.
        body: takes the loop variables, returns the next ones.
        loop_vars: the initial values.
        shape_invariants: their invariant shapes; None: the shapes of the initial values.
        parallel_iterations: stored in the node.
        maximum_iterations: the maximum number of iterations, an int32 scalar; None: no limit.
        name: name of the node; None: ``"while"``.
        return_same_structure: whether a list or tuple of one variable stays one; otherwise its item is returned.
        back_prop: ignored: what gradients need is added when they are built.

    Returns:
        The loop variables after the last iteration.

    Raises:
        TypeError: ``body`` returns another structure or other dtypes.
        ValueError: ``body`` returns another number of tensors, or shapes change.
    """
    variables = _Variables(loop_vars, shape_invariants)
    count = len(variables.tensors)
    adds = get_default_graph().adds_control_dependencies
    with name_scope(name or "while") as scope:
        with name_scope(None):
            cond_name, body_name = unique_fn_name(scope, "cond"), unique_fn_name(scope, "body")
        limit = convert_to_tensor(
            -1 if maximum_iterations is None else maximum_iterations, int32, "maximum_iterations"
        )
        counter = constant(0, limit.dtype, name="loop_counter")
        signature = [
            *(TensorSpec(tensor.shape, tensor.dtype, tensor.op.name) for tensor in (counter, limit)),
            *(
                TensorSpec(shape, tensor.dtype)
                for tensor, shape in zip(variables.tensors, variables.shapes, strict=True)
            ),
        ]

        def goes_on(done: Tensor, most: Tensor, *args: Tensor) -> Any:
            pred = as_scalar(cond(*variables.packed(args)))
            return pred if maximum_iterations is None else new("LogicalAnd", x=done < most, y=pred)

        cond_graph = func_graph_from_py_func(
            cond_name,
            goes_on,
            (),
            None,
            signature=signature,
            func_graph=WhileCondFuncGraph(cond_name, collections_of_default_graph()),
            add_control_dependencies=adds,
        )

        def step(done: Tensor, most: Tensor, *args: Tensor) -> Any:
            for tensor in cond_graph.external_captures:  # the body has to have them in the same order
                body_graph.capture(tensor)
            outputs = variables.flat(body(*variables.packed(args)))
            return [done + 1, most, *outputs]

        body_graph = WhileBodyFuncGraph(body_name, collections_of_default_graph())
        func_graph_from_py_func(
            body_name,
            step,
            (),
            None,
            signature=signature,
            func_graph=body_graph,
            add_control_dependencies=adds,
        )
        initial_values = [counter, limit, *variables.tensors, *body_graph.external_captures]
        body_graph.outputs.extend(body_graph.internal_captures)
        with cond_graph.as_default():
            for tensor in body_graph.external_captures:
                cond_graph.capture(tensor)
        own = slice(COUNTERS, COUNTERS + count)
        for tensor, shape, output in zip(
            variables.tensors, variables.shapes, body_graph.outputs[own], strict=True
        ):
            shape_is_kept(tensor, shape, output.shape)
        _check_types(body_graph, initial_values)
        shapes = [output.shape for output in body_graph.outputs]
        shapes[own] = variables.shapes
        outputs = _called(initial_values, cond_graph, body_graph, shapes, parallel_iterations, scope)
    results = variables.packed(outputs[own])
    return results if return_same_structure or count != 1 else outputs[COUNTERS]


def _check_types(body_graph: FuncGraph, initial_values: Sequence[Tensor]) -> None:
    for argument, output, tensor in zip(body_graph.inputs, body_graph.outputs, initial_values, strict=True):
        if argument.dtype is not output.dtype:
            raise TypeError(
                f"Loop var {tensor.name} enters the loop with type {argument.dtype} but has type {output.dtype}"
                " after 1 iteration."
            )


def _called(
    initial_values: Sequence[Tensor],
    cond_graph: FuncGraph,
    body_graph: FuncGraph,
    shapes: Sequence[TensorShape],
    parallel_iterations: int,
    name: str,
) -> list[Tensor]:
    """Return the results of a new ``While``."""
    waiting = [*cond_graph.control_captures, *body_graph.control_captures]
    with get_default_graph().control_dependencies(waiting):
        outputs = add_while(initial_values, cond_graph, body_graph, shapes, parallel_iterations, name)
        set_attr(outputs[0].op, ORIGINAL_OUTPUTS, len(outputs))
    return [identity(output) for output in outputs]


def add_while(
    initial_values: Sequence[Tensor],
    cond_graph: FuncGraph,
    body_graph: FuncGraph,
    shapes: Sequence[TensorShape],
    parallel_iterations: int,
    name: str,
) -> Sequence[Tensor]:
    """Add a ``While``.

    Args:
        initial_values: the initial values.
        cond_graph: the graph of its condition.
        body_graph: the graph of its body.
        shapes: the shapes of its results.
        parallel_iterations: stored in the node.
        name: name of the node.

    Returns:
        The outputs of the node.
    """
    op = apply_op(
        "While",
        name,
        input=list(initial_values),
        cond=create_new_tf_function(cond_graph),
        body=create_new_tf_function(body_graph),
        output_shapes=list(shapes),
        parallel_iterations=parallel_iterations,
    )
    set_attr(op, LOWERING, True)
    return op.outputs
