"""Conversion of strings between encodings.

Source: tensorflow/core/kernels/unicode_ops.cc, core/ops/string_ops.cc, release 1.15 (the names of encodings
are those of Python's codecs, which include most of ICU's).
"""

from __future__ import annotations

import codecs
import functools
import re

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.operation import Tensor
from gpuplace.kernels.compute import compute
from gpuplace.ops.support import new
from gpuplace.ops.text.strings import each_string
from gpuplace.typing import Array, ArrayModule, TensorLike

_MALFORMED = "\udfff"
"""Marks a malformed part of a string; no decoder returns an unpaired surrogate."""

_OUTPUTS = {b"UTF-8": "utf-8", b"UTF-16-BE": "utf-16-be", b"UTF-32-BE": "utf-32-be"}
_MARKS = {
    "utf-16": ((b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le")),
    "utf-32": ((b"\x00\x00\xfe\xff", "utf-32-be"), (b"\xff\xfe\x00\x00", "utf-32-le")),
}
"""Encoding -> its byte order marks, which are removed, and the encodings they indicate; the default is big-endian."""


def _mark(error: UnicodeError) -> tuple[str, int]:
    """Return the mark in place of a malformed part, and where the string continues."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return _MALFORMED, error.end


codecs.register_error("gpuplace.malformed", _mark)


def unicode_transcode(
    input: TensorLike,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Convert strings to another encoding.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.strings.unicode_transcode(["a\\u00e9"], "UTF-8", "UTF-16-BE")).tolist()
    [b'\\x00a\\x00\\xe9']

    Args:
        input: strings.
        input_encoding: the name of their encoding.
        output_encoding: ``"UTF-8"``, ``"UTF-16-BE"`` or ``"UTF-32-BE"``.
        errors: treatment of malformed parts: ``"replace"``, ``"ignore"`` (remove them) or ``"strict"`` (raise
            an error).
        replacement_char: the code point that replaces them.
        replace_control_characters: whether to treat control characters below the space in the same way.
        name: name of the op.

    Returns:
        Strings, like ``input``.

    Raises:
        ValueError: ``output_encoding`` or ``errors`` is unknown.
        InvalidArgumentError: at run time, there is no such encoding, or with ``"strict"`` a string is
            malformed.
    """
    return new(
        "UnicodeTranscode", name, input=input, input_encoding=input_encoding, output_encoding=output_encoding,
        errors=errors, replacement_char=replacement_char, replace_control_characters=replace_control_characters,
    )  # fmt: skip


@compute("UnicodeTranscode")
def _unicode_transcode(
    xp: ArrayModule, input: Array, *, input_encoding: bytes, output_encoding: bytes, errors: bytes,
    replacement_char: int,
    replace_control_characters: bool,
) -> Array:  # fmt: skip
    if not 0 <= replacement_char <= 0x10FFFF:
        raise InvalidArgumentError.of("replacement_char out of unicode codepoint range")
    encoding = _python_name(input_encoding)
    other = "" if errors == b"ignore" else chr(replacement_char)
    control = re.compile(r"[\x00-\x1f]") if replace_control_characters else None

    def changed(text: bytes) -> bytes:
        decoded = _decoded(text, encoding)
        if errors == b"strict" and _MALFORMED in decoded:
            raise InvalidArgumentError.of("Invalid formatting on input string")
        if control is not None:
            decoded = control.sub(lambda _: other, decoded)
        return decoded.replace(_MALFORMED, other).encode(_OUTPUTS[output_encoding])

    return each_string(xp, input, changed)


@functools.cache
def _python_name(encoding: bytes) -> str:
    try:
        return codecs.lookup(encoding.decode()).name
    except LookupError:
        raise InvalidArgumentError.of(
            f"Could not create converter for input encoding: {encoding.decode()}"
        ) from None


def _decoded(text: bytes, encoding: str) -> str:
    """Decode a string, with a mark in place of each malformed part."""
    if encoding in _MARKS:
        for mark, order in _MARKS[encoding]:
            if text.startswith(mark):
                return text[len(mark) :].decode(order, "gpuplace.malformed")
        encoding += "-be"
    return text.decode(encoding, "gpuplace.malformed")
