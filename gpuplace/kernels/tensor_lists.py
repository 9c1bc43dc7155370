"""Tensor lists, the values of ``variant`` tensors.

A list never changes: an op that writes returns a new list, which shares the unchanged arrays::

    a = [x, y]      push(a, z) = [x, y, z]      a is still [x, y]

Source: tensorflow/core/kernels/list_kernels.h, release 1.15 (sentences of the errors).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from gpuplace.dtypes import DType
from gpuplace.errors import InvalidArgumentError
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape, brackets
from gpuplace.typing import Array, ArrayModule


def merged(one: TensorShape, other: TensorShape) -> TensorShape:
    """Return the shape that matches two shapes.

    Args:
        one: one of the shapes.
        other: the other shape.

    Raises:
        InvalidArgumentError: the shapes are incompatible.
    """
    if one.sizes is None or other.sizes is None or one.is_compatible_with(other):
        return one.merge_with(other)
    if len(one.sizes) != len(other.sizes):
        raise InvalidArgumentError.of(
            f"PartialTensorShape: Incompatible ranks during merge: {len(one.sizes)} vs. {len(other.sizes)}"
        )
    raise InvalidArgumentError.of(
        f"PartialTensorShape: Incompatible shapes during merge: {described(one)} vs. {described(other)}"
    )


def described(shape: TensorShape) -> str:
    """Return a shape as C++ prints it, which may be partially unknown.

    Args:
        shape: shape to print.
    """
    return brackets(shape, "<unknown>")


class TensorList:
    """A list of tensors of one type.

    Args:
        elements: arrays; None for elements that are not set.
        dtype: type of the elements.
        element_shape: declared shape of the elements.
        max_num_elements: maximum number of elements; -1: unlimited.
    """

    __slots__ = ("element_dtype", "element_shape", "elements", "max_num_elements")
    shape = ()
    """Shape of the tensor that contains the list."""
    dtype = np.dtype(object)
    """NumPy's dtype of that tensor."""
    size = 1
    ndim = 0
    nbytes = 8

    def __init__(
        self, elements: Sequence[Any], dtype: DType, element_shape: TensorShape, max_num_elements: int = -1
    ) -> None:
        self.elements = tuple(elements)
        self.element_dtype = dtype
        self.element_shape = element_shape
        self.max_num_elements = max_num_elements

    def with_elements(self, elements: Sequence[Any]) -> TensorList:
        """Return a list with the same declarations and other elements.

        Args:
            elements: arrays, or None.
        """
        return TensorList(elements, self.element_dtype, self.element_shape, self.max_num_elements)

    def copy(self) -> TensorList:
        """Return itself: a list never changes."""
        return self

    def reshape(self, *sizes: Any) -> Any:
        """Return an array that contains only this list, in another shape.

        Args:
            *sizes: shape of the array.
        """
        return _alone(self).reshape(*sizes)

    def zeros_like(self, xp: ArrayModule) -> TensorList:
        """Return a list of zeros of the same length; elements that are not set stay unset.

        Args:
            xp: numpy or cupy.
        """
        return TensorList(
            [None if one is None else zeros_like(xp, one) for one in self.elements],
            self.element_dtype,
            self.element_shape,
        )

    def __add__(self, other: object) -> TensorList:
        if not isinstance(other, TensorList):
            return NotImplemented
        if self.element_dtype is not other.element_dtype:
            raise InvalidArgumentError.of(
                "Trying to add two lists of tensors of different dtypes. One is"
                f" {self.element_dtype.short_name} and the other is {other.element_dtype.short_name}"
            )
        if not self.element_shape.is_compatible_with(other.element_shape):
            raise InvalidArgumentError.of(
                "Trying to add two lists of tensors with incompatible element shapes. One is"
                f" {described(self.element_shape)} and the other is {described(other.element_shape)}"
            )
        if len(self.elements) != len(other.elements):
            raise InvalidArgumentError.of(
                f"Trying to add two lists of tensors with different lengths. One is {len(self.elements)} and the"
                f" other is {len(other.elements)}"
            )
        pairs = zip(self.elements, other.elements, strict=True)
        sums = [b if a is None else a if b is None else _sum(a, b) for a, b in pairs]
        return TensorList(sums, self.element_dtype, self.element_shape.merge_with(other.element_shape))

    def known_shape(self, declared: TensorShape, elements: Sequence[Any]) -> TensorShape:
        """Return the known shape of all elements, from declarations and elements.

        Args:
            declared: another declared shape.
            elements: elements to consider.

        Raises:
            InvalidArgumentError: the shapes are incompatible.
        """
        found = merged(declared, self.element_shape)
        if not self.element_shape.is_fully_defined():
            for one in elements:
                if one is not None:
                    found = merged(found, TensorShape.of(one.shape))
        return found


def _alone(value: object) -> np.ndarray[Any, Any]:
    made = np.empty((), object)
    made[()] = value
    return made


def _sum(a: Any, b: Any) -> Any:
    total = a + b
    return total if hasattr(total, "shape") else np.asarray(total)


def zeros_like(xp: ArrayModule, value: Array) -> Array:
    """Return zeros like a tensor or a ``variant``.

    Args:
        xp: numpy or cupy.
        value: an array, which may contain strings or lists, or a list.
    """
    if hasattr(value, "zeros_like"):
        return value.zeros_like(xp)
    if value.dtype != object:
        return xp.zeros(value.shape, value.dtype)
    made = xp.full(value.shape, b"", object)
    for place, one in np.ndenumerate(value):
        if hasattr(one, "zeros_like"):
            made[place] = one.zeros_like(xp)
    return made


def list_of(value: object, dtype: DType | None = None, what: str = "op elements") -> TensorList:
    """Return the list in a ``variant``.

    Args:
        value: variant array.
        dtype: required type of the elements; None: any.
        what: name of the op for error messages.

    Raises:
        InvalidArgumentError: the variant is not a list, or the elements have another type.
    """
    found = value[()] if isinstance(value, np.ndarray) and value.shape == () else value
    if not isinstance(found, TensorList):
        _no_list(found)
    if dtype is not None and found.element_dtype is not dtype:
        raise InvalidArgumentError.of(
            f"Invalid data types; {what} {dtype.short_name} but list elements {found.element_dtype.short_name}"
        )
    return found


def _no_list(found: Any) -> NoReturn:
    shape = getattr(found, "shape", ())
    if shape:
        raise InvalidArgumentError.of(f"Input list must be a scalar. Saw: {brackets(shape)}")
    raise InvalidArgumentError.of(f"Input handle is not a list. Saw: '{type(found).__name__}'")


def shape_of_sizes(sizes: Array) -> TensorShape:
    """Return the shape described by a tensor of sizes, with -1 for unknown sizes.

    Args:
        sizes: vector of sizes, or the scalar -1.

    Raises:
        InvalidArgumentError: it is neither.
    """
    if sizes.ndim == 0:
        if int(sizes) != -1:
            raise InvalidArgumentError.of(
                "The only valid scalar shape tensor is the fully unknown shape specified as -1."
            )
        return UNKNOWN_SHAPE
    if sizes.ndim != 1:
        raise InvalidArgumentError.of(f"Shape must be at most rank 1 but is rank {sizes.ndim}")
    return TensorShape.of(tuple(None if one < 0 else int(one) for one in sizes.tolist()))
