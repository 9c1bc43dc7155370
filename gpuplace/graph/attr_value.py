"""Attribute values as Python objects, independent of protobuf.

A node's attributes are a plain dict. A type is a ``DType``, a string is ``bytes``, a shape is a ``TensorShape``, and a
list is a tuple. The two classes below stand for tensors and functions.

>>> TensorValue.of_array(np.zeros([2, 3], np.float32))
TensorValue(float32, (2, 3))

Source: tensorflow/core/framework/attr_value.proto, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuplace.dtypes import DType, as_dtype
from gpuplace.shapes import TensorShape

_MAX_FILLED = 1 << 24
"""Number of elements above which a tensor is not expanded for comparisons and texts: its encoded form is compared."""


class TensorValue:
    """A constant tensor in an attribute; a tensor from a file is decoded on first use.

    Attributes:
        dtype: element type.
        shape: shape, fully defined in a valid tensor.
        encoded: the protobuf message that it was read from, or None.
        given: number of elements that were passed; the last one is repeated to fill the tensor. None: all.
    """

    __slots__ = ("dtype", "shape", "encoded", "given", "_array", "_decode")

    def __init__(
        self,
        dtype: DType,
        shape: TensorShape,
        array: np.ndarray[Any, Any] | None = None,
        encoded: Any = None,
        decode: Callable[..., np.ndarray[Any, Any]] | None = None,
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self.encoded = encoded
        self.given: int | None = None
        self._array = array
        self._decode = decode

    @classmethod
    def of_array(
        cls, array: np.ndarray[Any, Any], dtype: DType | None = None, given: int | None = None
    ) -> TensorValue:
        """Return a value that holds ``array``, which must not be changed afterwards.

        Args:
            array: the elements, in memory that the caller does not keep.
            dtype: element type; distinguishes quantized types from plain integers.
            given: number of elements that were passed; the last one is repeated to fill the tensor. None: all.
        """
        array.flags.writeable = False
        made = cls(as_dtype(array.dtype) if dtype is None else dtype, TensorShape.of(array.shape), array)
        made.given = given
        return made

    @property
    def is_decoded(self) -> bool:
        """Whether the elements are decoded already."""
        return self._array is not None

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The elements, as a read-only array of shape ``shape``.

        Raises:
            gpuplace.errors.InvalidArgumentError: the encoded message is corrupt.
            gpuplace.errors.ResourceExhaustedError: the message has few values but a shape that does not fit in memory.
        """
        if self._array is None:
            assert self._decode is not None
            self._array = self._decode(self.encoded)
        return self._array

    def shown(self, count: int, most: int = _MAX_FILLED) -> np.ndarray[Any, Any]:
        """Return all elements for display, or the first `count` as a vector if the tensor is too large to decode.

        Args:
            count: number of elements in the vector.
            most: maximum number of elements that are decoded for display.

        Raises:
            gpuplace.errors.InvalidArgumentError: see `array`.
        """
        if self._array is None and self._decode is not None and (self.shape.num_elements() or 0) > most:
            return self._decode(self.encoded, count)
        return self.array

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorValue):
            return NotImplemented
        if self.dtype is not other.dtype or self.shape != other.shape:
            return False
        if self.encoded is not None and other.encoded is not None:
            if self.encoded == other.encoded:
                return True
            if (self.shape.num_elements() or 0) > _MAX_FILLED:
                return False
        mine, theirs = self.array, other.array
        if mine.size and not any(mine.strides) and not any(theirs.strides):  # one value, repeated
            mine, theirs = mine.reshape(-1)[:1], theirs.reshape(-1)[:1]
        return (
            mine.tobytes() == theirs.tobytes() if mine.dtype != object else bool(np.array_equal(mine, theirs))
        )

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape))

    def __repr__(self) -> str:
        return f"TensorValue({self.dtype.name}, {self.shape})"


@dataclass(frozen=True)
class FunctionRef:
    """A function of the graph's library, with the attributes of its instance."""

    name: str
    attrs: Mapping[str, Any] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.name)
