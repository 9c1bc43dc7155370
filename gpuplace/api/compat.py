"""``tf.compat``: text conversions, and gpuplace itself as ``tf.compat.v1``.

Source: tensorflow/python/util/compat.py, release 1.15.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["as_bytes", "as_str", "as_str_any", "as_text", "v1"]


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


if TYPE_CHECKING:
    import gpuplace as v1
else:

    def __getattr__(name: str) -> Any:
        if name == "v1":
            import gpuplace

            return gpuplace
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
