"""Optional values at run time: a ``variant`` with tensors, or empty.

Datasets return them for elements that may be missing, and branches that did not run return empty ones for intermediate
values that a gradient needs.

Source: tensorflow/core/kernels/data/optional_ops.cc, iterator_ops.cc, release 1.15 (messages).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError, OutOfRangeError
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.kernels.resources import ResourceHandle
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.support import new, new_list, scalar_shape
from gpuplace.shapes import TensorShape, brackets
from gpuplace.tf1.data.runtime.iterators import checked, iterator_of, kernel_result
from gpuplace.typing import Array, ArrayModule


class OptionalValue:
    """Tensors, or nothing.

    Args:
        components: the tensors; None: the optional is empty.
    """

    __slots__ = ("components",)
    shape = ()
    """Shape of the tensor that holds it."""
    dtype = np.dtype(object)
    """NumPy dtype of that tensor."""
    size = 1
    ndim = 0
    nbytes = 8

    def __init__(self, components: Sequence[Any] | None) -> None:
        self.components = None if components is None else tuple(components)

    def copy(self) -> OptionalValue:
        """Return itself: it never changes."""
        return self

    def zeros_like(self, xp: ArrayModule) -> OptionalValue:
        """Return zeros like its tensors; an empty optional if it has none.

        Args:
            xp: numpy or cupy.
        """
        return OptionalValue(self._each(lambda component: _zeros(xp, component)))

    def _each(self, function: Callable[[Any], Any]) -> Sequence[Any] | None:
        return None if self.components is None else [function(component) for component in self.components]

    def __add__(self, other: object) -> OptionalValue:
        if not isinstance(other, OptionalValue):
            return NotImplemented
        if (self.components is None) != (other.components is None):
            raise InvalidArgumentError.of(
                "Cannot add optionals because one has a value and the other doesn't."
            )
        if self.components is None or other.components is None:
            return OptionalValue(None)
        if len(self.components) != len(other.components):
            raise InvalidArgumentError.of(
                "Cannot add optionals because they have different numbers of components."
            )
        pairs = zip(self.components, other.components, strict=True)
        return OptionalValue([np.asarray(a + b) if np.isscalar(a + b) else a + b for a, b in pairs])


def _zeros(xp: ArrayModule, value: Array) -> Array:
    return value.zeros_like(xp) if hasattr(value, "zeros_like") else xp.zeros(value.shape, value.dtype)


def optional_of(value: Any) -> OptionalValue:
    """Return the optional that a ``variant`` holds.

    Args:
        value: the variant.

    Raises:
        InvalidArgumentError: it does not hold an optional.
    """
    unwrapped = value[()] if isinstance(value, np.ndarray) and value.shape == () else value
    if not isinstance(unwrapped, OptionalValue):
        raise InvalidArgumentError.of("OptionalHasValue requires an optional_tensor.")
    return unwrapped


@compute("OptionalFromValue")
def _from_value(xp: ArrayModule, components: list[Any]) -> Any:
    return OptionalValue(components)


@compute("OptionalNone")
def _none(xp: ArrayModule) -> Any:
    return OptionalValue(None)


@compute("OptionalHasValue")
def _has_value(xp: ArrayModule, optional: Array) -> Array:
    return np.asarray(optional_of(optional).components is not None)


@compute("OptionalGetValue")
def _get_value(xp: ArrayModule, optional: Array, *, output_types: Any, output_shapes: Any) -> Array:
    components = optional_of(optional).components
    if components is None:
        raise InvalidArgumentError.of("The given optional does not have a value.")
    if len(components) != len(output_types):
        raise InvalidArgumentError.of(
            f"The given optional has {len(components)} components, expected {len(output_types)}."
        )
    for number, (component, shape) in enumerate(zip(components, output_shapes, strict=True)):
        if not shape.is_compatible_with(TensorShape.of(component.shape)):
            raise InvalidArgumentError.of(
                f"The given optional component at index {number} has shape {brackets(component.shape)}, expected"
                f" {brackets(shape)}."
            )
    return kernel_result(components)


@compute("IteratorGetNextAsOptional")
def _next_as_optional(xp: ArrayModule, iterator: ResourceHandle, *, output_shapes: Any) -> Any:
    try:
        return OptionalValue(checked(iterator_of(iterator).take(), output_shapes))
    except OutOfRangeError:
        return OptionalValue(None)


shape_function("OptionalFromValue", "OptionalNone", "OptionalHasValue", "IteratorGetNextAsOptional")(
    scalar_shape
)
not_differentiable("OptionalNone", "OptionalHasValue", "IteratorGetNextAsOptional")


@gradient("OptionalFromValue")
def _from_value_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    """Return the gradient of ``OptionalFromValue``.

    Source: tensorflow/python/ops/optional_grad.py, release 1.15.
    """
    return new_list(
        "OptionalGetValue",
        optional=grad,
        output_types=[tensor.dtype.base_dtype for tensor in op.inputs],
        output_shapes=[tensor.shape for tensor in op.inputs],
    )


@gradient("OptionalGetValue")
def _get_value_gradient(op: Operation, *grads: Tensor) -> Tensor:
    """Return the gradient of ``OptionalGetValue``; source as above."""
    return new("OptionalFromValue", components=list(grads))
