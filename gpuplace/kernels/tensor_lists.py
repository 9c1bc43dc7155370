"""What a ``variant`` that is a list of tensors holds.

Lists never change: an op that writes gives out another list, and the elements that both have are the same arrays::

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
    """The shape that satisfies both.

    Args:
        one: a shape.
        other: another one.

    Raises:
        InvalidArgumentError: there is none.
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
    """A shape as C++ prints it where it may be unknown.

    Args:
        shape: the shape.
    """
    return brackets(shape, "<unknown>")


class TensorList:
    """A list of tensors of one type.

    Args:
        elements: arrays; None for one that was not set.
        dtype: their type.
        element_shape: what is declared of their shape.
        max_num_elements: the most elements; -1: any number.
    """

    __slots__ = ("element_dtype", "element_shape", "elements", "max_num_elements")
    shape = ()
    """That of the tensor that holds the list."""
    dtype = np.dtype(object)
    """NumPy's type of that tensor."""
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
        """A list like this one, of other elements.

        Args:
            elements: arrays, or None.
        """
        return TensorList(elements, self.element_dtype, self.element_shape, self.max_num_elements)

    def copy(self) -> TensorList:
        """Itself: it never changes."""
        return self

    def reshape(self, *sizes: Any) -> Any:
        """An array of this list alone, in another shape.

        Args:
            *sizes: as NumPy has them.
        """
        return _alone(self).reshape(*sizes)

    def zeros_like(self, xp: ArrayModule) -> TensorList:
        """A list of as many zeros; what is not set is not set there either.

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
        """What declarations and elements say of the shape of all elements.

        Args:
            declared: what else is declared of it.
            elements: those that count.

        Raises:
            InvalidArgumentError: they do not fit.
        """
        found = merged(declared, self.element_shape)
        if not self.element_shape.is_fully_defined():
            for one in elements:
                if one is not None:
                    found = merged(found, TensorShape.of(one.shape))
        return found


def _alone(value: Any) -> np.ndarray[Any, Any]:
    made = np.empty((), object)
    made[()] = value
    return made


def _sum(a: Any, b: Any) -> Any:
    total = a + b
    return total if hasattr(total, "shape") else np.asarray(total)


def zeros_like(xp: ArrayModule, value: Array) -> Array:
    """Zeros for a tensor, or for a ``variant``.

    Args:
        xp: numpy or cupy.
        value: an array, also one of strings or lists, or a list.
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


def list_of(value: Any, dtype: DType | None = None, what: str = "op elements") -> TensorList:
    """The list that a ``variant`` holds.

    Args:
        value: the variant.
        dtype: the type that its elements have to have; None: any.
        what: who asks, for the error.

    Raises:
        InvalidArgumentError: it holds none, or one of another type.
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


def shape_of_sizes(sizes: Any) -> TensorShape:
    """The shape that a tensor of sizes says, -1 for an unknown one.

    Args:
        sizes: a vector, or the scalar -1.

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
