"""Parse numbers in strings as TensorFlow's kernels do.

Source: tensorflow/core/lib/strings/numbers.cc (safe_strto32, safe_strto64, safe_strtof, safe_strtod), release 1.15.
"""

from __future__ import annotations

from gpuplace.dtypes import DType

__all__ = ["number_of"]

_NOT_ENDLESS = frozenset((b"infinity", b"+infinity", b"-infinity"))
"""Word for infinity that Python accepts and TensorFlow, whose word is ``inf``, rejects."""


def number_of(text: bytes, dtype: DType) -> int | float:
    """Parse a number, ignoring white space around it.

    Integers consist of digits and a minus sign. Other numbers may have an exponent, be hexadecimal integers (``0x10``),
    ``inf`` or ``nan``.

    >>> from gpuplace.dtypes import float32, int32
    >>> number_of(b" -12 ", int32), number_of(b"0x10", float32), number_of(b"1e3", float32)
    (-12, 16.0, 1000.0)

    Args:
        text: text to parse.
        dtype: an integer or floating-point type.

    Returns:
        An ``int`` for integer types, otherwise a ``float``.

    Raises:
        ValueError: the text is not a number, or an integer exceeds the range of the type.
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
