"""``tf.compat``: text conversions, types of numbers, sizes of dimensions, and gpuplace itself as ``tf.compat.v1``.

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
    """Returns text encoded, bytes as they are.

    Args:
        bytes_or_text: ``str``, ``bytes`` or ``bytearray``.
        encoding: of the text.

    Returns:
        ``bytes``.

    Raises:
        TypeError: it is anything else.
    """
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: bytes | str, encoding: str = "utf-8") -> str:
    """Returns bytes decoded, text as it is.

    Args:
        bytes_or_text: ``str`` or ``bytes``.
        encoding: of the bytes.

    Returns:
        ``str``.

    Raises:
        TypeError: it is anything else.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: object) -> str:
    """Returns anything as text: bytes decoded as UTF-8, the rest through ``str``.

    Args:
        value: anything.
    """
    return as_text(value) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """Returns a path as text; what is no path as it is.

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
