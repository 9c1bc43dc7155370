"""Elementwise kernels written down instead of computed: what they would call becomes the body of one CUDA kernel.

A ``Recorder`` stands where kernels get ``xp``, and a ``Recorded`` where they get an array. Every function that is
called on one adds a line of CUDA C, so that the kernels themselves stay the only place that says what an op computes::

    def _sigmoid(xp, x):                              float v0 = -x0;
        one = x.dtype.type(1)                  ==>    float v1 = exp(v0);
        return xp.true_divide(one,                    float v2 = __fadd_rn(1.0f, v1);
                              one + xp.exp(-x))       float v3 = 1.0f / v2;

Whatever is not elementwise, or not in ``cuda_text``, raises ``NotRecorded``.

>>> import numpy as np
>>> recorder = Recorder()
>>> x = recorder.given("x0", np.dtype("float32"), (2, 3))
>>> found = recorder.where(x > 0, x, recorder.exp(x) * 2.0)
>>> recorder.lines
['bool v0 = x0 > 0.0f;', 'float v1 = exp(x0);', 'float v2 = __fmul_rn(v1, 2.0f);', 'float v3 = v0 ? x0 : v2;']
>>> found.text, found.shape, found.dtype
('v3', (2, 3), dtype('float32'))
>>> recorder.sum(x)
Traceback (most recent call last):
gpuplace.numerics.fused.recording.NotRecorded: sum is not elementwise
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.numerics.fused.cuda_text import (
    FUNCTIONS,
    TYPE_NAMES,
    argument_count,
    cast_text,
    literal,
    text_of,
)

_BOOL = np.dtype(bool)
_SINGLE, _DOUBLE = np.dtype("float32"), np.dtype("float64")


class NotRecorded(Exception):
    """A kernel does what cannot be written down."""


class Recorded:
    """Stands for an array: one element of it, in C.

    Args:
        recorder: where it was made.
        text: name or literal.
        dtype: element type.
        shape: sizes.
        is_loose: whether it is a product that the compiler may still merge with a sum.
        given: the position of the input that it is, if it is one.
    """

    __slots__ = ("dtype", "given", "is_loose", "is_number", "ndim", "recorder", "shape", "text")
    __array_ufunc__ = None  # NumPy's scalars leave operators to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        recorder: Recorder,
        text: str,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        is_loose: bool = False,
        given: int | None = None,
    ) -> None:
        self.recorder, self.text, self.dtype, self.shape = recorder, text, dtype, shape
        self.ndim, self.is_loose, self.given = len(shape), is_loose, given
        self.is_number = False

    def astype(self, dtype: Any) -> Recorded:
        """The values with another type."""
        return self.recorder.cast(self, np.dtype(dtype))

    def reshape(self, *shape: Any) -> Recorded:
        """An input with another shape."""
        return self.recorder.reshape(self, shape[0] if isinstance(shape[0], tuple) else shape)

    def __getattr__(self, name: str) -> Any:
        raise NotRecorded(f"{name} of an array is not elementwise")

    def __bool__(self) -> bool:
        raise NotRecorded("a kernel looks at values")

    def __float__(self) -> float:
        raise NotRecorded("a kernel looks at values")

    def __pow__(self, power: Any) -> Recorded:
        raise NotRecorded("CuPy has kernels of its own for powers")


class Recorder:
    """Stands for NumPy or CuPy."""

    __name__ = "recorder"

    def __init__(self) -> None:
        self.lines: list[str] = []
        """The body of the kernel."""
        self.reshaped: dict[int, list[tuple[int, ...]]] = {}
        """Position of an input to the shapes, besides its own, in which it is read."""

    def given(self, text: str, dtype: np.dtype[Any], shape: tuple[int, ...], position: int = 0) -> Recorded:
        """An input."""
        if dtype not in TYPE_NAMES:
            raise NotRecorded(f"{dtype} is not computed with")
        return Recorded(self, text, dtype, shape, given=position)

    float64 = np.float64

    def __getattr__(self, name: str) -> Callable[..., Recorded]:
        if name not in FUNCTIONS:
            raise NotRecorded(f"{name} is not elementwise")

        def function(*arguments: Any, out: Any = None, dtype: Any = None) -> Recorded:
            count = argument_count(name)
            return self.written(self.call(name, arguments[:count], dtype), *arguments[count:], out)

        return function

    def call(self, name: str, arguments: Sequence[Any], dtype: Any = None) -> Recorded:
        """Writes down a function of arrays and numbers.

        Args:
            name: NumPy's.
            arguments: what it is of.
            dtype: the type in which it is computed, where that is not the arguments'.

        Raises:
            NotRecorded: types are mixed, or the function is not there for this one.
            ValueError: the shapes do not broadcast.
        """
        wanted = _common_type(arguments) if dtype is None else np.dtype(dtype)
        values = [self._typed(argument, wanted, is_forced=dtype is not None) for argument in arguments]
        function = FUNCTIONS[name]
        if function.is_library:
            values = [self._firm(value) for value in values]
        text = text_of(name, [value.text for value in values], wanted)
        if text is None:
            raise NotRecorded(f"{name} of {wanted} has no equal")
        is_loose = function.is_library or (function.is_choice and any(value.is_loose for value in values))
        return self._add(text, _BOOL if function.is_test else wanted, _shape_of(values), is_loose)

    def written(self, made: Recorded, *places: Any) -> Recorded:
        """The result, written over the array that ``out`` was, which has to be a computed one."""
        for place in places:
            if place is None:
                continue
            if place.given is not None or (place.dtype, place.shape) != (made.dtype, made.shape):
                raise NotRecorded("a result is written where it does not belong")
            place.text, place.is_loose, place.is_number = made.text, made.is_loose, False
            made = place
        return made

    # Functions that are no arithmetic

    def where(self, condition: Any, x: Any, y: Any) -> Recorded:
        """``x`` where the condition is True, ``y`` elsewhere."""
        if not isinstance(condition, Recorded) or condition.dtype != _BOOL:
            raise NotRecorded("a condition that is not bool")
        wanted = _common_type((x, y))
        chosen = [self._typed(value, wanted) for value in (x, y)]
        text = f"{condition.text} ? {chosen[0].text} : {chosen[1].text}"
        is_loose = any(value.is_loose for value in chosen)
        return self._add(text, wanted, _shape_of([condition, *chosen]), is_loose)

    def abs(self, x: Any) -> Recorded:
        """NumPy's other name for ``absolute``."""
        return self.call("absolute", (x,))

    def conjugate(self, x: Recorded) -> Recorded:
        """Real numbers as they are, in an array of their own."""
        return Recorded(self, x.text, x.dtype, x.shape, x.is_loose, x.given)

    positive = conjugate

    def asarray(self, x: Recorded) -> Recorded:
        """The array itself."""
        return x

    def zeros_like(self, x: Recorded) -> Recorded:
        """Zeros."""
        return Recorded(self, _literal(x.dtype.type(0)), x.dtype, x.shape)

    def cast(self, value: Recorded, wanted: np.dtype[Any]) -> Recorded:
        """The values with another type."""
        if wanted == value.dtype:
            return self.conjugate(value)
        if wanted not in TYPE_NAMES:
            raise NotRecorded(f"{wanted} is not computed with")
        return self._add(cast_text(value.text, value.dtype, wanted), wanted, value.shape)

    def reshape(self, value: Recorded, shape: Any) -> Recorded:
        """An input seen in another shape, for which the kernel gets it once more."""
        if value.given is None:
            raise NotRecorded("a computed array gets another shape")
        shape = np.empty(value.shape, np.void).reshape(shape).shape
        if shape == value.shape:
            return value
        others = self.reshaped.setdefault(value.given, [])
        if shape not in others:
            others.append(shape)
        return Recorded(self, f"{value.text}_{others.index(shape)}", value.dtype, shape)

    # Lines

    def _add(
        self, text: str, dtype: np.dtype[Any], shape: tuple[int, ...], is_loose: bool = False
    ) -> Recorded:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{TYPE_NAMES[dtype]} {name} = {text};")
        return Recorded(self, name, dtype, shape, is_loose and dtype in (_SINGLE, _DOUBLE))

    def _firm(self, value: Recorded) -> Recorded:
        """The value after a way through memory, as between two kernels or from the caller."""
        if not (value.is_loose or value.is_number):
            return value
        name = f"v{len(self.lines)}"
        self.lines.append(f"volatile {TYPE_NAMES[value.dtype]} {name} = {value.text};")
        return Recorded(self, name, value.dtype, value.shape)

    def _typed(self, value: Any, dtype: np.dtype[Any], is_forced: bool = False) -> Recorded:
        if isinstance(value, Recorded):
            return self.cast(value, dtype) if is_forced else value
        number = Recorded(self, _literal(dtype.type(value)), dtype, ())
        number.is_number = True
        return number


def _literal(value: np.generic[Any]) -> str:
    text = literal(value)
    if text is None:
        raise NotRecorded(f"{value} has no literal")
    return text


def _common_type(values: Sequence[Any]) -> np.dtype[Any]:
    """The type that all arrays and NumPy scalars have; Python's numbers take any."""
    types = {np.dtype(value.dtype) for value in values if hasattr(value, "dtype")}
    if len(types) != 1:
        raise NotRecorded("types are mixed")
    (dtype,) = types
    if dtype not in TYPE_NAMES:
        raise NotRecorded(f"{dtype} is not computed with")
    if dtype.kind != "f" and any(
        isinstance(value, float) and not hasattr(value, "dtype") for value in values
    ):
        raise NotRecorded("a fraction beside integers")
    return dtype


def _shape_of(values: Sequence[Recorded]) -> tuple[int, ...]:
    """The shape that all broadcast to."""
    shapes = {value.shape for value in values}
    return shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)


def _install_operators() -> None:
    def binary(name: str, *, is_swapped: bool = False) -> Callable[[Any, Any], Recorded]:
        if is_swapped:
            return lambda x, y: x.recorder.call(name, (y, x))
        return lambda x, y: x.recorder.call(name, (x, y))

    def in_place(name: str) -> Callable[[Any, Any], Recorded]:
        return lambda x, y: x.recorder.written(x.recorder.call(name, (x, y)), x)

    for operator, name in {
        "add": "add",
        "sub": "subtract",
        "mul": "multiply",
        "truediv": "true_divide",
        "and": "bitwise_and",
        "or": "bitwise_or",
    }.items():
        setattr(Recorded, f"__{operator}__", binary(name))
        setattr(Recorded, f"__r{operator}__", binary(name, is_swapped=True))
        setattr(Recorded, f"__i{operator}__", in_place(name))
    for operator, name in {
        "lt": "less",
        "le": "less_equal",
        "gt": "greater",
        "ge": "greater_equal",
        "eq": "equal",
        "ne": "not_equal",
    }.items():
        setattr(Recorded, f"__{operator}__", binary(name))
    for operator, name in {"neg": "negative", "abs": "absolute", "invert": "invert"}.items():
        setattr(Recorded, f"__{operator}__", lambda x, name=name: x.recorder.call(name, (x,)))


_install_operators()
