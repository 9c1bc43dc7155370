"""What computes conditionals and loops whose branches, conditions and bodies are functions, and their shapes.

    If(cond, x, then_branch, else_branch)        calls one of two functions
    While(x, cond, body)                         calls ``body`` as long as ``cond`` is true of what it gave last
    For(start, limit, delta, x, body)            calls ``body`` with each number of a range, and what it gave last

All of a function runs on the device of the node that calls it. An optional, a ``variant``, holds tensors or nothing:
what a branch that was not taken would have given.

Source: tensorflow/core/kernels/functional_ops.cc and core/ops/functional_ops.cc, release 1.15 (sentences).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.ops.flow.calls import function_call
from gpuplace.ops.support import scalar_shape
from gpuplace.shapes import SCALAR_SHAPE, UNKNOWN_SHAPE, TensorShape, brackets


def is_true(value: Any) -> bool:
    """Whether a value counts as true: a scalar that is not zero or empty, any other tensor that has elements.

    Args:
        value: an array.
    """
    return bool(value[()]) if value.ndim == 0 else value.size > 0


def _in_form(made: Sequence[Any]) -> Any:
    return made[0] if len(made) == 1 else tuple(made)


@compute("If", "StatelessIf")
def _if(
    xp: Any, cond: Any, input: list[Any], *, then_branch: Any, else_branch: Any, ctx: KernelContext
) -> Any:
    taken = then_branch if is_true(cond) else else_branch
    return _in_form(function_call(taken.name, ctx)(input))


@compute("Case", "StatelessCase")
def _case(xp: Any, branch_index: Any, input: list[Any], *, branches: Any, ctx: KernelContext) -> Any:
    index = int(branch_index)
    taken = branches[index if 0 <= index < len(branches) else -1]
    return _in_form(function_call(taken.name, ctx)(input))


@compute("While", "StatelessWhile")
def _while(xp: Any, input: list[Any], *, cond: Any, body: Any, ctx: KernelContext) -> Any:
    holds, step = function_call(cond.name, ctx), function_call(body.name, ctx)
    values: Sequence[Any] = list(input)
    while is_true(_only(holds(values))):
        values = _checked(step(values), values, "While loop body", ctx)
    return _in_form(values)


def _only(made: Sequence[Any]) -> Any:
    if len(made) != 1:
        raise InvalidArgumentError.of(f"Expected a single scalar return value, got {len(made)} tensors.")
    return made[0]


def _checked(made: Sequence[Any], given: Sequence[Any], what: str, ctx: KernelContext) -> Sequence[Any]:
    if len(made) != len(given):
        raise InvalidArgumentError.of(
            f"{what} returned {len(made)} arguments. Expected: {len(given)}", op=ctx.op
        )
    return made


@compute("For")
def _for(
    xp: Any, start: Any, limit: Any, delta: Any, input: list[Any], *, body: Any, ctx: KernelContext
) -> Any:
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
        made = call([np.asarray(number, np.int32), *values])
        if len(made) != len(values):
            raise InvalidArgumentError.of(
                f"For loop body returned {len(made)} arguments. Expected: {len(values)}", op=ctx.op
            )
        values = made
    return _in_form(values)


@compute("FakeParam")
def _fake_param(xp: Any, *, dtype: Any, shape: Any) -> Any:
    """What nobody reads: zeros, none of them along an axis of unknown size."""
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


# Optionals


class Optional:
    """Tensors that are there, or nothing.

    Args:
        components: the tensors; None: nothing.
    """

    __slots__ = ("components",)
    shape = ()
    """That of the tensor that holds it."""
    dtype = np.dtype(object)
    """NumPy's type of that tensor."""
    size = 1
    ndim = 0
    nbytes = 8

    def __init__(self, components: Sequence[Any] | None) -> None:
        self.components = None if components is None else tuple(components)

    def copy(self) -> Optional:
        """Itself: it never changes."""
        return self

    def zeros_like(self, xp: Any) -> Optional:
        """Zeros where there are tensors, nothing where there are none.

        Args:
            xp: numpy or cupy.
        """
        return Optional(self._each(lambda one: _zeros(xp, one)))

    def _each(self, function: Callable[[Any], Any]) -> Sequence[Any] | None:
        return None if self.components is None else [function(one) for one in self.components]

    def __add__(self, other: object) -> Optional:
        if not isinstance(other, Optional):
            return NotImplemented
        if (self.components is None) != (other.components is None):
            raise InvalidArgumentError.of(
                "Cannot add optionals because one has a value and the other doesn't."
            )
        if self.components is None or other.components is None:
            return Optional(None)
        if len(self.components) != len(other.components):
            raise InvalidArgumentError.of(
                "Cannot add optionals because they have different numbers of components."
            )
        pairs = zip(self.components, other.components, strict=True)
        return Optional([np.asarray(a + b) if np.isscalar(a + b) else a + b for a, b in pairs])


def _zeros(xp: Any, value: Any) -> Any:
    return value.zeros_like(xp) if hasattr(value, "zeros_like") else xp.zeros(value.shape, value.dtype)


def optional_of(value: Any) -> Optional:
    """The optional that a ``variant`` holds.

    Args:
        value: the variant.

    Raises:
        InvalidArgumentError: it holds none.
    """
    found = value[()] if isinstance(value, np.ndarray) and value.shape == () else value
    if not isinstance(found, Optional):
        raise InvalidArgumentError.of("OptionalHasValue requires an optional_tensor.")
    return found


@compute("OptionalFromValue")
def _from_value(xp: Any, components: list[Any]) -> Any:
    return Optional(components)


@compute("OptionalNone")
def _none(xp: Any) -> Any:
    return Optional(None)


@compute("OptionalHasValue")
def _has_value(xp: Any, optional: Any) -> Any:
    return np.asarray(optional_of(optional).components is not None)


@compute("OptionalGetValue")
def _get_value(xp: Any, optional: Any, *, output_types: Any, output_shapes: Any) -> Any:
    components = optional_of(optional).components
    if components is None:
        raise InvalidArgumentError.of("The given optional does not have a value.")
    if len(components) != len(output_types):
        raise InvalidArgumentError.of(
            f"The given optional has {len(components)} components, expected {len(output_types)}."
        )
    for number, (one, shape) in enumerate(zip(components, output_shapes, strict=True)):
        if not shape.is_compatible_with(TensorShape.of(one.shape)):
            raise InvalidArgumentError.of(
                f"The given optional component at index {number} has shape {brackets(one.shape)}, expected"
                f" {brackets(shape)}."
            )
    return _in_form(components)


shape_function("OptionalFromValue", "OptionalNone")(scalar_shape)


@shape_function("OptionalHasValue")
def _has_value_shape(op: Operation) -> Any:
    return (SCALAR_SHAPE,)
