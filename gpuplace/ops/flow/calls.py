"""Calls of functions in the graph's library, and their gradients.

    x ──> Foo ──> y            x ──┐
                               dy ─┴─> SymbolicGradient (f=Foo) ──> dx

A node whose type is a function's name calls that function; a ``PartitionedCall`` names it in an attribute. A
``SymbolicGradient`` runs the function that the library lists as the gradient of a function, or derives a gradient
from that one's body when it first runs.

Source: tensorflow/core/common_runtime/function.cc and tensorflow/core/kernels/function_ops.cc, release 1.15 (sentence);
_SymGrad in tensorflow/python/ops/gradients_util.py.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.display import above
from gpuplace.dtypes import as_dtype
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.attr_value import FunctionRef
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.graph.traced_graph import FunctionBody
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.ops.array.constant import zeros_like
from gpuplace.ops.gradients.gradients import symbolic_gradients
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.support import new, new_list
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, ArrayModule

_PYTHON_GRADIENTS = ("python_gradients",)
"""Collection in which a graph keeps its calls with Python gradients, and their gradient functions."""


def set_python_gradient(op: Operation, function: Callable[..., Any]) -> None:
    """Set the Python function that adds a call's gradient.

    Args:
        op: the call.
        function: a function from the call and the gradients of its outputs to those of its inputs.
    """
    by_call: list[dict[Operation, Callable[..., Any]]] = op.graph.get_collection_ref(_PYTHON_GRADIENTS)
    if not by_call:
        by_call.append({})
    by_call[0][op] = function


GRADIENT_ATTR = "_gradient_op_type"
"""Attribute of a call that names its gradient."""

differentiated: weakref.WeakValueDictionary[bytes, Any] = weakref.WeakValueDictionary()
"""Value of `GRADIENT_ATTR` -> the called function, whose method ``gradient_of`` adds the gradient."""


def _python_gradient(op: Operation) -> Callable[..., Any] | None:
    by_call: list[dict[Operation, Callable[..., Any]]] = op.graph.get_collection(_PYTHON_GRADIENTS)
    if by_call and op in by_call[0]:
        return by_call[0][op]
    called = differentiated.get(op.attrs.get(GRADIENT_ATTR, b""))  # for a copy of the call in another graph
    gradient_function: Callable[..., Any] | None = None
    if called is not None and called.is_called_by(op):
        gradient_function = called.gradient_of
    return gradient_function


_NOT_REWRITTEN = b"R\x05R\x03\x98\x01\x01"
"""A serialized ``ConfigProto`` that disables graph rewriting."""


def partitioned_call(
    args: Sequence[Any],
    f: Any,
    tout: Sequence[Any] | None = None,
    executing_eagerly: bool | None = None,
    config: bytes | None = None,
    executor_type: str | None = None,
) -> Any:
    """Return a call of a function whose operations run on the devices that they request.

    Args:
        args: its arguments, and the tensors that it captures from the outer graph.
        f: the function.
        tout: the types of its results; None: the function's own.
        executing_eagerly: ignored; there is no eager execution.
        config: a serialized ``ConfigProto`` for its body; None: one without rewriting.
        executor_type: the executor; None: the default.

    Returns:
        A list of tensors; the operation if there are no results.
    """
    types = (
        [as_dtype(arg.type) for arg in f.definition.signature.output_arg]
        if tout is None
        else [as_dtype(item) for item in tout]
    )
    arguments = [convert_to_tensor(item) for item in args]
    f.add_to_graph(get_default_graph())
    op = get_default_graph().create_op(
        "StatefulPartitionedCall" if f.stateful_ops else "PartitionedCall",
        arguments,
        types,
        name=None if types else "PartitionedFunctionCall",
        attrs={
            "Tin": tuple(tensor.dtype.base_dtype for tensor in arguments),
            "Tout": tuple(types),
            "f": FunctionRef(f.name),
            "config_proto": _NOT_REWRITTEN if config is None else config,
            "executor_type": (executor_type or "").encode(),
        },
    )
    return list(op.outputs) if types else op


@shape_function("PartitionedCall", "StatefulPartitionedCall")
def _not_known(op: Operation) -> Any:
    return (TensorShape(None),) * len(op.attrs["Tout"])


@shape_function("SymbolicGradient")
def _of_inputs(op: Operation) -> Any:
    return tuple(tensor.shape for tensor in op.inputs[: len(op.attrs["Tout"])])


def function_call(function: str, ctx: KernelContext) -> Callable[[Sequence[Any]], list[Any]]:
    """Return a library function in the form in which an op calls it in this session.

    Args:
        function: the function's name.
        ctx: the op's context.

    Returns:
        A function from the values of all arguments to those of all results.
    """
    runner: Callable[[Sequence[Any]], list[Any]] = ctx.session.kernel_state(
        f"{function}/call/{ctx.op.name}/{id(ctx.op.graph)}/{ctx.device}",
        lambda: ctx.session.functions.callable_of(ctx.op.graph, function, ctx.device, ctx.session),
    )
    return runner


def _called(function: str, tensors: Sequence[Any], ctx: KernelContext) -> Any:
    """Return a function's results, a single value or a tuple."""
    results = function_call(function, ctx)(tensors)
    return results[0] if len(results) == 1 else tuple(results)


@compute("PartitionedCall", "StatefulPartitionedCall")
def _call(xp: Any, *args: Any, ctx: KernelContext) -> Any:
    """Call a function. Nodes named after the function pass tensors one by one, others as a list."""
    if ctx.op.type in ctx.op.graph.functions:
        return _called(ctx.op.type, args, ctx)
    return _called(ctx.op.attrs["f"].name, args[0], ctx)


@compute("SymbolicGradient")
def _symbolic_gradient(xp: ArrayModule, input: list[Any], *, f: Any, ctx: KernelContext) -> Array:
    graph = ctx.op.graph
    name = graph.gradient_functions.get(f.name)
    if name is None:
        name = f"{f.name}/SymbolicGradient"
        if name not in graph.function_bodies:
            graph.function_bodies[name] = _derived(graph, f.name)
    results = _called(name, input, ctx)
    actual, expected = len(results) if isinstance(results, tuple) else 1, len(ctx.op.outputs)
    if actual != expected:
        raise InvalidArgumentError.of(
            f"SymGrad expects to return {expected} tensor(s), but get {actual} tensor(s) instead.", op=ctx.op
        )
    return results


def _derived(graph: Any, name: str) -> FunctionBody:
    """Return a function from another function's arguments and result gradients to the argument gradients."""
    body: FunctionBody = above("gpuplace.graphdef.function_def", "body_of")(graph, name)
    with body.graph.as_default():
        result_grads = [
            new("Placeholder", "SymbolicGradient/given", dtype=tensor.dtype.base_dtype, shape=tensor.shape)
            for tensor in body.results
        ]
        argument_grads = symbolic_gradients(body.results, body.args, result_grads)
        results = [
            zeros_like(arg) if item is None else new("Identity", input=convert_to_tensor(item))
            for arg, item in zip(body.args, argument_grads, strict=True)
        ]
    return FunctionBody(body.graph, (*body.args, *result_grads), tuple(results), ())


@gradient("PartitionedCall", "StatefulPartitionedCall")
def _of_call(op: Operation, *grads: Any) -> Any:
    python = _python_gradient(op)
    return symbolic_gradient_of_call(op, *grads) if python is None else python(op, *grads)


def symbolic_gradient_of_call(op: Operation, *grads: Any) -> list[Tensor]:
    """Return the gradients of a call's inputs, through a ``SymbolicGradient``.

    Args:
        op: the call.
        *grads: the gradients of its outputs, or None.
    """
    output_grads = [
        zeros_like(tensor) if item is None else convert_to_tensor(item)
        for tensor, item in zip(op.outputs, grads, strict=True)
    ]
    function = (
        op.attrs["f"] if "f" in op.attrs and op.type not in op.graph.functions else FunctionRef(op.type)
    )
    types = [tensor.dtype.base_dtype for tensor in op.inputs]
    return new_list("SymbolicGradient", input=[*op.inputs, *output_grads], Tout=types, f=function)
