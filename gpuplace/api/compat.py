"""``tf.compat``: text conversions, and gpuplace itself as ``tf.compat.v1``.

Source: tensorflow/python/util/compat.py, release 1.15.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["as_bytes", "as_str", "as_str_any", "as_text", "v1"]


def as_bytes(bytes_or_text: bytes | bytearray | str, encoding: str = "utf-8") -> bytes:
    """Text encoded, bytes as they are; TypeError for anything else."""
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: bytes | str, encoding: str = "utf-8") -> str:
    """Bytes decoded, text as it is; TypeError for anything else."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: object) -> str:
    """Text of anything: bytes decoded, the rest through ``str``."""
    return as_text(value) if isinstance(value, bytes) else str(value)


if TYPE_CHECKING:
    import gpuplace as v1
else:

    def __getattr__(name: str) -> Any:
        if name == "v1":
            import gpuplace

            return gpuplace
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
