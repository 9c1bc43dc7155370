"""Kernels and shapes of functional conditionals and loops, whose branches, conditions and bodies are functions.

    If(cond, x, then_branch, else_branch)        calls one of two functions
    While(x, cond, body)                         calls ``body`` while ``cond`` of its last result is true
    For(start, limit, delta, x, body)            calls ``body`` with each number of a range and its last result

All of a function runs on the device of the node that calls it.

Source: tensorflow/core/kernels/functional_ops.cc and core/ops/functional_ops.cc, release 1.15 (sentences).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.cancellation import check_deadline, step_limits
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.ops.flow.calls import function_call
from gpuplace.shapes import UNKNOWN_SHAPE, brackets
from gpuplace.typing import Array, ArrayModule


def is_true(value: Any) -> bool:
    """Return whether a value counts as true: a non-zero or non-empty scalar, or any other tensor with elements.

    Args:
        value: an array.
    """
    return bool(value[()]) if value.ndim == 0 else value.size > 0


def _in_form(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else tuple(values)


@compute("If", "StatelessIf")
def _if(
    xp: ArrayModule, cond: Array, input: list[Any], *, then_branch: Any, else_branch: Any, ctx: KernelContext
) -> Array:
    branch = then_branch if is_true(cond) else else_branch
    return _in_form(function_call(branch.name, ctx)(input))


@compute("Case", "StatelessCase")
def _case(
    xp: ArrayModule, branch_index: Array, input: list[Any], *, branches: Any, ctx: KernelContext
) -> Array:
    index = int(branch_index)
    branch = branches[index if 0 <= index < len(branches) else -1]
    return _in_form(function_call(branch.name, ctx)(input))


@compute("While", "StatelessWhile")
def _while(xp: ArrayModule, input: list[Any], *, cond: Any, body: Any, ctx: KernelContext) -> Array:
    holds, step = function_call(cond.name, ctx), function_call(body.name, ctx)
    values: Sequence[Any] = list(input)
    limits = step_limits()
    while is_true(_only(holds(values))):
        check_deadline(limits)
        values = _checked(step(values), values, "While loop body", ctx)
    return _in_form(values)


def _only(results: Sequence[Any]) -> Any:
    if len(results) != 1:
        raise InvalidArgumentError.of(f"Expected a single scalar return value, got {len(results)} tensors.")
    return results[0]


def _checked(results: Sequence[Any], inputs: Sequence[Any], label: str, ctx: KernelContext) -> Sequence[Any]:
    if len(results) != len(inputs):
        raise InvalidArgumentError.of(
            f"{label} returned {len(results)} arguments. Expected: {len(inputs)}", op=ctx.op
        )
    return results


@compute("For")
def _for(
    xp: ArrayModule,
    start: Array,
    limit: Array,
    delta: Array,
    input: list[Any],
    *,
    body: Any,
    ctx: KernelContext,
) -> Array:
    for name, value in (("start", start), ("limit", limit), ("delta", delta)):
        if value.shape:
            raise InvalidArgumentError.of(
                f"{name} must be a scalar, but has the shape {brackets(value.shape)}"
            )
    first, last, step = int(start), int(limit), int(delta)
    if (step > 0 and first > last) or (step < 0 and first < last) or (step == 0 and first != last):
        raise InvalidArgumentError.of(f"Invalid start/limit/delta: {first} {last} {step}")
    call = function_call(body.name, ctx)
    values: Sequence[Any] = list(input)
    for number in range(first, last, step) if step else ():
        results = call([np.asarray(number, np.int32), *values])
        if len(results) != len(values):
            raise InvalidArgumentError.of(
                f"For loop body returned {len(results)} arguments. Expected: {len(values)}", op=ctx.op
            )
        values = results
    return _in_form(values)


@compute("FakeParam")
def _fake_param(xp: ArrayModule, *, dtype: Any, shape: Any) -> Array:
    """Return zeros for an input that is never read, with size 0 along axes of unknown size."""
    sizes = [0 if size is None else size for size in shape.sizes or ()]
    return xp.zeros(sizes, dtype.as_numpy_dtype)


# Shapes


@shape_function("If", "StatelessIf", "Case", "StatelessCase")
def _branch_shapes(op: Operation) -> Any:
    declared = op.attrs.get("output_shapes") or ()
    count = len(op.attrs["Tout"])
    return tuple(declared) if len(declared) == count else (UNKNOWN_SHAPE,) * count


@shape_function("While", "StatelessWhile")
def _loop_shapes(op: Operation) -> Any:
    declared = op.attrs.get("output_shapes") or ()
    return tuple(declared) if declared else tuple(tensor.shape for tensor in op.inputs)


@shape_function("For")
def _for_shapes(op: Operation) -> Any:
    return (UNKNOWN_SHAPE,) * len(op.attrs["T"])
