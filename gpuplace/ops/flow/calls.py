"""Calls of functions of the graph's library, and their gradients.

    x ──> Foo ──> y            x ──┐
                               dy ─┴─> SymbolicGradient (f=Foo) ──> dx

A node whose type is the name of a function calls it; a ``PartitionedCall`` names it in an attribute. A
``SymbolicGradient`` runs the function that the library has as the gradient of another one, or else one that is derived
from that one's body when it first runs.

Source: tensorflow/core/common_runtime/function.cc and tensorflow/core/kernels/function_ops.cc, release 1.15 (sentence);
_SymGrad in tensorflow/python/ops/gradients_util.py.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.display import above
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.attr_value import FunctionRef
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.graph.traced_graph import FunctionBody
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.ops.array.constant import zeros_like
from gpuplace.ops.gradients.gradients import gradients
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.support import new, new_list
from gpuplace.shapes import TensorShape

python_gradients: weakref.WeakKeyDictionary[Operation, Callable[..., Any]] = weakref.WeakKeyDictionary()
"""Calls whose gradient Python adds to the graph -> the function that does."""


@shape_function("PartitionedCall", "StatefulPartitionedCall")
def _not_known(op: Operation) -> Any:
    return (TensorShape(None),) * len(op.attrs["Tout"])


@shape_function("SymbolicGradient")
def _of_inputs(op: Operation) -> Any:
    return tuple(tensor.shape for tensor in op.inputs[: len(op.attrs["Tout"])])


def function_call(function: str, ctx: KernelContext) -> Callable[[Sequence[Any]], list[Any]]:
    """A function of the library of an op's graph, as that op calls it in this session.

    Args:
        function: its name.
        ctx: that of the op.

    Returns:
        A function that takes the values of all arguments and returns those of all results.
    """
    found: Callable[[Sequence[Any]], list[Any]] = ctx.session.kernel_state(
        f"{function}/call/{ctx.op.name}/{id(ctx.op.graph)}/{ctx.device}",
        lambda: ctx.session.functions.callable_of(ctx.op.graph, function, ctx.device, ctx.session),
    )
    return found


def _called(function: str, tensors: Sequence[Any], ctx: KernelContext) -> Any:
    """What a function returns, one value alone or several."""
    made = function_call(function, ctx)(tensors)
    return made[0] if len(made) == 1 else tuple(made)


@compute("PartitionedCall", "StatefulPartitionedCall")
def _call(xp: Any, *args: Any, ctx: KernelContext) -> Any:
    """Also of nodes whose type is the function's name: these take tensors one by one, the others a list."""
    if ctx.op.type in ctx.op.graph.functions:
        return _called(ctx.op.type, args, ctx)
    return _called(ctx.op.attrs["f"].name, args[0], ctx)


@compute("SymbolicGradient")
def _symbolic_gradient(xp: Any, input: list[Any], *, f: Any, ctx: KernelContext) -> Any:
    graph = ctx.op.graph
    name = graph.gradient_functions.get(f.name)
    if name is None:
        name = f"{f.name}/SymbolicGradient"
        if name not in graph.function_bodies:
            graph.function_bodies[name] = _derived(graph, f.name)
    made = _called(name, input, ctx)
    found, wanted = len(made) if isinstance(made, tuple) else 1, len(ctx.op.outputs)
    if found != wanted:
        raise InvalidArgumentError.of(
            f"SymGrad expects to return {wanted} tensor(s), but get {found} tensor(s) instead.", op=ctx.op
        )
    return made


def _derived(graph: Any, name: str) -> FunctionBody:
    """The function that takes a function's arguments and the gradients of its results, and gives those of the
    arguments."""
    body: FunctionBody = above("gpuplace.graphdef.function_def", "body_of")(graph, name)
    with body.graph.as_default():
        given = [
            new("Placeholder", "SymbolicGradient/given", dtype=tensor.dtype.base_dtype, shape=tensor.shape)
            for tensor in body.results
        ]
        found = gradients(list(body.results), list(body.args), given)
        results = [
            zeros_like(arg) if one is None else new("Identity", input=convert_to_tensor(one))
            for arg, one in zip(body.args, found, strict=True)
        ]
    return FunctionBody(body.graph, (*body.args, *given), tuple(results), ())


@gradient("PartitionedCall", "StatefulPartitionedCall")
def _of_call(op: Operation, *grads: Any) -> Any:
    python = python_gradients.get(op)
    if python is not None:
        return python(op, *grads)
    given = [
        zeros_like(tensor) if one is None else convert_to_tensor(one)
        for tensor, one in zip(op.outputs, grads, strict=True)
    ]
    function = (
        op.attrs["f"] if "f" in op.attrs and op.type not in op.graph.functions else FunctionRef(op.type)
    )
    types = [tensor.dtype.base_dtype for tensor in op.inputs]
    return new_list("SymbolicGradient", input=[*op.inputs, *given], Tout=types, f=function)
