"""Partial tensor shapes: ``Dimension`` and ``TensorShape`` as in TensorFlow 1.15.

A size and the number of dimensions may be unknown (None). Shapes are immutable.

>>> TensorShape([None, 3]).merge_with([2, None])
TensorShape([Dimension(2), Dimension(3)])
>>> TensorShape(None).ndims is None
True

Source: tensorflow/python/framework/tensor_shape.py, release 1.15.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from gpuplace.display import above
from gpuplace.typing import ShapeLike


class Dimension:
    """The size of an axis, in elements; ``value`` is None if it is unknown.

    Args:
        value: a nonnegative integer, a number that equals one, its digits as a string, a ``Dimension``, or None.

    Raises:
        TypeError: the value is none of these.
        ValueError: the value is negative or not an integer.
    """

    __slots__ = ("_value",)
    _value: int | None

    def __init__(self, value: Any) -> None:
        if value is None:
            self._value = None
            return
        if isinstance(value, Dimension):
            self._value = value._value
            return
        if hasattr(value, "as_datatype_enum"):
            raise TypeError(f"Cannot convert {value} to Dimension")
        try:
            number = int(value)
        except TypeError:
            raise TypeError(
                f"Dimension value must be integer or None or have an __index__ method, got {value!r}"
            ) from None
        if number != value and not isinstance(value, str | bytes):
            raise ValueError(f"Ambiguous dimension: {value}")
        if number < 0:
            raise ValueError(f"Dimension {number} must be >= 0")
        self._value = number

    @property
    def value(self) -> int | None:
        """Size in elements, or None."""
        return self._value

    def __repr__(self) -> str:
        return f"Dimension({self._value})"

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __int__(self) -> int:
        return self._value  # type: ignore[return-value]  # int(None) is the caller's TypeError

    def __index__(self) -> int:
        return self._value  # type: ignore[return-value]

    def __hash__(self) -> int:
        return hash(self._value)

    def __eq__(self, other: object) -> Any:
        """None if either side is unknown, as in TensorFlow 1.x."""
        try:
            that = as_dimension(other)._value
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or that is None:
            return None
        return self._value == that

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented or equal is None else not equal

    def is_compatible_with(self, other: Dimension | int | None) -> bool:
        """Return whether the two can be equal: they are equal, or one is unknown.

        Args:
            other: a ``Dimension``, an integer, or None.
        """
        that = as_dimension(other)._value
        return self._value is None or that is None or self._value == that

    def assert_is_compatible_with(self, other: Dimension | int | None) -> None:
        """Check that the two can be equal.

        Args:
            other: a ``Dimension``, an integer, or None.

        Raises:
            ValueError: they differ.
        """
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Dimension | int | None) -> Dimension:
        """Return the known dimension of the two.

        Args:
            other: a ``Dimension``, an integer, or None.

        Raises:
            ValueError: both are known and differ.
        """
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return other if self._value is None else self

    def __reduce__(self) -> tuple[Any, ...]:
        return Dimension, (self._value,)

    def _combine(self, other: Any, function: Any) -> Any:
        try:
            that = as_dimension(other)._value
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or that is None:
            return Dimension(None)
        return Dimension(function(self._value, that))

    def __add__(self, other: object) -> Dimension:
        return self._combine(other, operator.add)

    __radd__ = __add__

    def __sub__(self, other: object) -> Dimension:
        return self._combine(other, operator.sub)

    def __rsub__(self, other: object) -> Dimension:
        return self._combine(other, lambda a, b: b - a)

    def __mul__(self, other: object) -> Dimension:
        return self._combine(other, operator.mul)

    __rmul__ = __mul__

    def __floordiv__(self, other: object) -> Dimension:
        return self._combine(other, operator.floordiv)

    def __rfloordiv__(self, other: object) -> Dimension:
        return self._combine(other, lambda a, b: b // a)

    def __truediv__(self, other: object) -> NoReturn:
        raise TypeError(_no_division(self, other))

    def __rtruediv__(self, other: object) -> NoReturn:
        raise TypeError(_no_division(other, self))

    def __mod__(self, other: object) -> Dimension:
        return self._combine(other, operator.mod)

    def __rmod__(self, other: object) -> Dimension:
        return self._combine(other, lambda a, b: b % a)

    def _order(self, other: Any, function: Any) -> Any:
        that = as_dimension(other)._value
        return None if self._value is None or that is None else function(self._value, that)

    def __lt__(self, other: object) -> Any:
        return self._order(other, operator.lt)

    def __le__(self, other: object) -> Any:
        return self._order(other, operator.le)

    def __gt__(self, other: object) -> Any:
        return self._order(other, operator.gt)

    def __ge__(self, other: object) -> Any:
        return self._order(other, operator.ge)


def _no_division(left: object, right: object) -> str:
    kinds = f"{type(left).__name__!r} and {type(right).__name__!r}"
    return f"unsupported operand type(s) for /: {kinds}, please use // instead"


def as_dimension(value: object) -> Dimension:
    """Return ``value`` as a ``Dimension``.

    Args:
        value: a ``Dimension``, an integer, or None.
    """
    return value if isinstance(value, Dimension) else Dimension(value)


def dimension_value(dimension: Dimension | int | None) -> int | None:
    """Return the size of a dimension in elements, or None if it is unknown.

    Args:
        dimension: a ``Dimension``, an integer, or None.
    """
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """Return a dimension of a shape; it is unknown if the rank is unknown.

    >>> dimension_at_index(TensorShape([2, None]), 0)
    Dimension(2)

    Args:
        shape: the shape.
        index: number of the dimension; a negative number counts from the end.

    Raises:
        IndexError: there is no such dimension.
    """
    return Dimension(None) if shape.sizes is None else Dimension(shape.sizes[index])


MAX_DIMENSIONS = 254
"""Maximum number of dimensions of a TensorFlow tensor."""


class TensorShape:
    """A shape of known or unknown rank, each dimension known or unknown.

    Args:
        dims: None (unknown rank), an iterable of sizes (int, None or ``Dimension``), one integer, a ``TensorShape``, or
            a ``TensorShapeProto`` (anything with ``dim`` and ``unknown_rank``), in which a size of -1 is unknown.

    Raises:
        TypeError: ``dims`` is none of these.
        ValueError: a size is negative.
    """

    __slots__ = ("_sizes",)
    _sizes: tuple[int | None, ...] | None

    def __init__(self, dims: Any = None) -> None:
        if dims is None:
            self._sizes = None
        elif isinstance(dims, TensorShape):
            self._sizes = dims._sizes
        elif hasattr(dims, "unknown_rank"):
            self._sizes = (
                None if dims.unknown_rank else tuple(None if d.size < 0 else d.size for d in dims.dim)
            )
        elif isinstance(dims, (str, bytes)):
            raise TypeError(
                f"A string has ambiguous TensorShape, please wrap in a list or convert to an int: {dims!r}"
            )
        elif isinstance(dims, Iterable):
            self._sizes = tuple(d if type(d) is int and d >= 0 else Dimension(d)._value for d in dims)
        else:
            self._sizes = (Dimension(dims)._value,)

    @classmethod
    def of(cls, sizes: tuple[int | None, ...] | None) -> TensorShape:
        """Create a shape from a valid tuple without checks.

        Args:
            sizes: a size or None for each dimension; None for an unknown rank.
        """
        shape = cls.__new__(cls)
        shape._sizes = sizes
        return shape

    @property
    def sizes(self) -> tuple[int | None, ...] | None:
        """The sizes as a plain tuple, or None if the rank is unknown."""
        return self._sizes

    @property
    def known_sizes(self) -> tuple[int, ...]:
        """Return the sizes of a fully defined shape as a tuple; raise ValueError for other shapes."""
        self.assert_is_fully_defined()
        return self._sizes  # type: ignore[return-value]

    @property
    def dims(self) -> list[Dimension] | None:
        """The dimensions, or None if the rank is unknown."""
        return None if self._sizes is None else [Dimension(size) for size in self._sizes]

    @property
    def ndims(self) -> int | None:
        """Number of dimensions, or None."""
        return None if self._sizes is None else len(self._sizes)

    rank = ndims

    def __len__(self) -> int:
        if self._sizes is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._sizes)

    def __bool__(self) -> bool:
        return self._sizes is not None

    def __iter__(self) -> Iterator[Dimension]:
        if self._sizes is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return map(Dimension, self._sizes)

    def __getitem__(self, key: Any) -> Any:
        if self._sizes is not None:
            return TensorShape.of(self._sizes[key]) if isinstance(key, slice) else Dimension(self._sizes[key])
        if not isinstance(key, slice):
            return Dimension(None)
        start, stop = key.start or 0, key.stop
        if key.step is not None:
            raise ValueError("Steps are not yet handled")
        if stop is None or stop < 0 or start < 0:
            return TensorShape(None)
        return TensorShape([None] * max(0, stop - start))

    def __repr__(self) -> str:
        return f"TensorShape({self.dims})"

    def __str__(self) -> str:
        if self._sizes is None:
            return "<unknown>"
        text = ", ".join("?" if size is None else str(size) for size in self._sizes)
        return f"({text},)" if len(self._sizes) == 1 else f"({text})"

    def __eq__(self, other: Any) -> bool:
        try:
            return self._sizes == as_shape(other)._sizes
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._sizes)

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorShape, (self.dims,)

    def as_proto(self) -> Any:
        """Return the shape as a ``TensorShapeProto``, in which an unknown size is -1."""
        return above("gpuplace.graphdef.attr_values", "shape_to_proto")(self)

    def is_fully_defined(self) -> bool:
        """Return whether the rank and all sizes are known."""
        return self._sizes is not None and None not in self._sizes

    def assert_is_fully_defined(self) -> None:
        """Raise ValueError unless the shape is fully defined."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def assert_has_rank(self, rank: int) -> None:
        """Check that the shape can have this rank.

        Args:
            rank: number of dimensions.

        Raises:
            ValueError: the rank differs.
        """
        if self.ndims not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def as_list(self) -> list[int | None]:
        """Return the sizes as a list; ValueError if the rank is unknown."""
        if self._sizes is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._sizes)

    def num_elements(self) -> int | None:
        """Return the number of elements; None if it is unknown, or the rank exceeds the maximum."""
        if self._sizes is None or None in self._sizes or len(self._sizes) > MAX_DIMENSIONS:
            return None
        return math.prod(self._sizes)  # type: ignore[arg-type]

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Return whether some shape matches both.

        Args:
            other: a ``TensorShape``, or a value that converts to one: sizes, None, an integer.
        """
        that = as_shape(other)._sizes
        if self._sizes is None or that is None:
            return True
        return len(self._sizes) == len(that) and all(
            a is None or b is None or a == b for a, b in zip(self._sizes, that, strict=True)
        )

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Check that some shape matches both.

        Args:
            other: a ``TensorShape``, or a value that converts to one: sizes, None, an integer.

        Raises:
            ValueError: no shape matches both.
        """
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def assert_same_rank(self, other: ShapeLike) -> None:
        """Check that the ranks are equal, as far as they are known.

        Args:
            other: a ``TensorShape``, or a value that converts to one: sizes, None, an integer.

        Raises:
            ValueError: both ranks are known and differ.
        """
        that = as_shape(other)
        if self.ndims is not None and that.ndims is not None and self.ndims != that.ndims:
            raise ValueError(f"Shapes {self} and {that} must have the same rank")

    def merge_with(self, other: ShapeLike) -> TensorShape:
        """Return the most general shape that matches both.

        >>> TensorShape([None, 3]).merge_with([2, None]).as_list()
        [2, 3]

        Args:
            other: a ``TensorShape``, or a value that converts to one: sizes, None, an integer.

        Raises:
            ValueError: no shape matches both.
        """
        that = as_shape(other)
        if self._sizes is None:
            return that
        if that._sizes is None:
            return self
        if not self.is_compatible_with(that):
            raise ValueError(f"Shapes {self} and {that} are not compatible")
        return TensorShape.of(
            tuple(b if a is None else a for a, b in zip(self._sizes, that._sizes, strict=True))
        )

    def most_specific_compatible_shape(self, other: ShapeLike) -> TensorShape:
        """Return the most specific shape that is compatible with both.

        >>> TensorShape([2, 3]).most_specific_compatible_shape([2, 4]).as_list()
        [2, None]

        Args:
            other: a ``TensorShape``, or a value that converts to one: sizes, None, an integer.
        """
        that = as_shape(other)
        if self._sizes is None or that._sizes is None or len(self._sizes) != len(that._sizes):
            return TensorShape(None)
        return TensorShape.of(
            tuple(a if a == b else None for a, b in zip(self._sizes, that._sizes, strict=True))
        )

    def concatenate(self, other: ShapeLike) -> TensorShape:
        """Concatenate the dimensions of this shape and another; unknown if either rank is unknown.

        Args:
            other: a ``TensorShape``, or a value that converts to one: sizes, None, an integer.
        """
        that = as_shape(other)
        return (
            TensorShape(None)
            if self._sizes is None or that._sizes is None
            else TensorShape.of(self._sizes + that._sizes)
        )

    def __add__(self, other: ShapeLike) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: ShapeLike) -> TensorShape:
        return as_shape(other).concatenate(self)

    def with_rank(self, rank: int) -> TensorShape:
        """Return this shape with a known rank.

        Args:
            rank: number of dimensions.

        Raises:
            ValueError: the rank differs.
        """
        try:
            return self.merge_with(unknown_shape(rank))
        except ValueError:
            raise ValueError(f"Shape {self} must have rank {rank}") from None

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Return this shape after checking its rank, if known.

        Args:
            rank: minimum number of dimensions.

        Raises:
            ValueError: the rank is smaller.
        """
        if self.ndims is not None and self.ndims < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Return this shape after checking its rank, if known.

        Args:
            rank: maximum number of dimensions.

        Raises:
            ValueError: the rank is larger.
        """
        if self.ndims is not None and self.ndims > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self


UNKNOWN_SHAPE = TensorShape.of(None)
SCALAR_SHAPE = TensorShape.of(())


def as_shape(value: ShapeLike) -> TensorShape:
    """Return ``value`` as a ``TensorShape``.

    Args:
        value: a ``TensorShape``, or a value that converts to one: sizes, None, an integer.
    """
    return value if isinstance(value, TensorShape) else TensorShape(value)


def unknown_shape(rank: int | None = None, *, ndims: int | None = None) -> TensorShape:
    """Return a shape with unknown sizes.

    Args:
        rank: number of dimensions; None: unknown.
        ndims: old name of ``rank``.
    """
    ndims = rank if ndims is None else ndims
    return UNKNOWN_SHAPE if ndims is None else TensorShape.of((None,) * ndims)


def brackets(shape: TensorShape | Iterable[int | None], unknown: str = "?") -> str:
    """Return a shape as C++ prints it.

    Args:
        shape: a shape, or its sizes.
        unknown: text for a shape of unknown rank.

    >>> brackets(TensorShape([2, None])), brackets(TensorShape(None)), brackets((2, 3))
    ('[2,?]', '?', '[2,3]')
    """
    sizes = shape.sizes if isinstance(shape, TensorShape) else shape
    return unknown if sizes is None else f"[{','.join('?' if size is None else str(size) for size in sizes)}]"


def broadcast_shapes(left: TensorShape, right: TensorShape) -> TensorShape:
    """Return the shape of an elementwise result.

    >>> str(broadcast_shapes(TensorShape([None, 1]), TensorShape([3])))
    '(?, 3)'

    Args:
        left: a shape.
        right: a shape.

    Raises:
        ValueError: the shapes cannot be broadcast.
    """
    a, b = left.sizes, right.sizes
    if a is not None and a == b and None not in a:
        return left
    if a is None or b is None:
        return UNKNOWN_SHAPE
    rank = max(len(a), len(b))
    result: list[int | None] = []
    for x, y in zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True):
        if x == 1:
            result.append(y)
        elif y == 1 or x == y:
            result.append(x)
        elif x is None or y is None:
            result.append(y if x is None else x)
        else:
            raise ValueError(f"Incompatible shapes for broadcasting: {left} and {right}")
    return TensorShape.of(tuple(result))
