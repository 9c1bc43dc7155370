"""Numbers that texts stand for, as TensorFlow's kernels read them.

Source: tensorflow/core/lib/strings/numbers.cc (safe_strto32, safe_strto64, safe_strtof, safe_strtod), release 1.15.
"""

from __future__ import annotations

from gpuplace.dtypes import DType

__all__ = ["number_of"]

_NOT_ENDLESS = frozenset((b"infinity", b"+infinity", b"-infinity"))
"""What Python takes for an infinite number and TensorFlow, whose word is ``inf``, does not."""


def number_of(text: bytes, dtype: DType) -> int | float:
    """The number that a text stands for, white space around it left out.

    Integers have digits and a minus; other numbers may have an exponent, be whole numbers to the base of 16
    (``0x10``), ``inf`` or ``nan``.

    >>> from gpuplace.dtypes import float32, int32
    >>> number_of(b" -12 ", int32), number_of(b"0x10", float32), number_of(b"1e3", float32)
    (-12, 16.0, 1000.0)

    Args:
        text: the text.
        dtype: a type of integers or of floating point numbers.

    Returns:
        An ``int`` of a type of integers, else a ``float``.

    Raises:
        ValueError: it is no number, or an integer out of the type's range.
    """
    digits = text.strip().lower()
    if b"_" in digits:
        raise ValueError(f"digits with an underscore: {text!r}")
    if not dtype.is_integer:
        return _float_of(digits)
    if b"+" in digits:
        raise ValueError(f"an integer with a plus: {text!r}")
    value = int(digits)
    if not dtype.min <= value <= dtype.max:
        raise ValueError(f"out of the range of {dtype.name}: {text!r}")
    return value


def _float_of(digits: bytes) -> float:
    if digits in _NOT_ENDLESS:
        raise ValueError(f"no number: {digits!r}")
    sign, rest = (digits[:1], digits[1:]) if digits[:1] in (b"-", b"+") else (b"", digits)
    if not rest.startswith(b"0x"):
        return float(digits)
    value = float(int(rest, 16))
    return -value if sign == b"-" else value
