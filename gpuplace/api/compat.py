"""``tf.compat``: string conversions, number types, dimension sizes, and gpuplace itself as ``tf.compat.v1``.

Source: tensorflow/python/util/compat.py, release 1.15.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gpuplace.dtypes import complex_types, integral_types, real_types
from gpuplace.shapes import dimension_at_index, dimension_value

__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "bytes_or_text_types",
    "complex_types",
    "dimension_at_index",
    "dimension_value",
    "integral_types",
    "path_to_str",
    "real_types",
    "v1",
]

bytes_or_text_types = (bytes, str)


def as_bytes(bytes_or_text: bytes | bytearray | str, encoding: str = "utf-8") -> bytes:
    """Return a string encoded; bytes are unchanged.

    Args:
        bytes_or_text: ``str``, ``bytes`` or ``bytearray``.
        encoding: encoding of the string.

    Returns:
        ``bytes``.

    Raises:
        TypeError: the argument is neither string nor bytes.
    """
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: bytes | str, encoding: str = "utf-8") -> str:
    """Return bytes decoded; a string is unchanged.

    Args:
        bytes_or_text: ``str`` or ``bytes``.
        encoding: encoding of the bytes.

    Returns:
        ``str``.

    Raises:
        TypeError: the argument is neither string nor bytes.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: object) -> str:
    """Return any value as a string: bytes decoded as UTF-8, other values through ``str``.

    Args:
        value: any object.
    """
    return as_text(value) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """Return a path as a string; other objects are unchanged.

    Args:
        path: anything, perhaps with ``__fspath__``.
    """
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


if TYPE_CHECKING:
    import gpuplace as v1
else:

    def __getattr__(name: str) -> Any:
        if name == "v1":
            import gpuplace

            return gpuplace
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
