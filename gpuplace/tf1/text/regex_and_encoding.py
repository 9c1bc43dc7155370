"""Ops for regular expressions, and for decoding bytes as numbers and as base64.

Source: tensorflow/python/ops/string_ops.py and parsing_ops.py; core/kernels/regex_replace_op.cc, decode_raw_op.cc and
encode_base64 of core/lib/strings/base64.cc, release 1.15.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.cancellation import check_deadline, step_limits
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.support import new, same_shape
from gpuplace.ops.text.strings import each_string
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule, DTypeLike, TensorLike


def regex_replace(
    input: TensorLike,
    pattern: TensorLike,
    rewrite: TensorLike,
    replace_global: bool = True,
    name: str | None = None,
) -> Tensor:
    """Replace matches of ``pattern`` with ``rewrite``, in which ``\\1`` to ``\\9`` are the pattern's groups.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.regex_replace("a1b2", "[0-9]", "#")).decode()
    'a#b#'

    Args:
        input: strings of any shape.
        pattern: a regular expression in RE2's syntax, a string or scalar string tensor.
        rewrite: the replacement, a string or scalar string tensor.
        replace_global: whether to replace all matches rather than the first of each string.
        name: name of the op.

    Returns:
        Strings, in ``input``'s shape.

    Raises:
        InvalidArgumentError: at run time, the pattern is malformed.
    """
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return new(
            "StaticRegexReplace",
            name,
            input=input,
            pattern=pattern,
            rewrite=rewrite,
            replace_global=replace_global,
        )
    return new(
        "RegexReplace", name, input=input, pattern=pattern, rewrite=rewrite, replace_global=replace_global
    )


def regex_full_match(input: TensorLike, pattern: TensorLike, name: str | None = None) -> Tensor:
    """Return which strings match a pattern as a whole.

    Args:
        input: strings of any shape.
        pattern: a regular expression in RE2's syntax, a string or scalar string tensor.
        name: name of the op.

    Returns:
        bool, in ``input``'s shape.

    Raises:
        InvalidArgumentError: at run time, the pattern is malformed.
    """
    if isinstance(pattern, (str, bytes)):
        return new("StaticRegexFullMatch", name, input=input, pattern=pattern)
    return new("RegexFullMatch", name, input=input, pattern=pattern)


def decode_raw(
    input_bytes: TensorLike,
    out_type: DTypeLike,
    little_endian: bool = True,
    name: str | None = None,
    bytes: TensorLike | None = None,
) -> Tensor:
    """Return the bytes of strings as numbers.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.decode_raw(["AB"], tf.uint8)).tolist()
    [[65, 66]]

    Args:
        input_bytes: strings of any shape, all of one length.
        out_type: dtype of the numbers: integers up to 64 bits except uint32 and uint64, floating, complex or
            bool.
        little_endian: byte order of the numbers.
        name: name of the op.
        bytes: the old name of ``input_bytes``, deprecated.

    Returns:
        Numbers, ``[*input_bytes.shape, n]``.

    Raises:
        TypeError: ``out_type`` is unsupported.
        InvalidArgumentError: at run time, lengths differ, or are not a multiple of a number's size.
    """
    source = input_bytes if bytes is None else bytes
    return new("DecodeRaw", name, bytes=source, out_type=out_type, little_endian=little_endian)


def encode_base64(input: TensorLike, pad: bool = False, name: str | None = None) -> Tensor:
    """Encode strings as URL-safe base64.

    Args:
        input: strings of any shape.
        pad: whether to pad with ``=`` to a multiple of four characters.
        name: name of the op.

    Returns:
        Strings, in ``input``'s shape.
    """
    return new("EncodeBase64", name, input=input, pad=pad)


def decode_base64(input: TensorLike, name: str | None = None) -> Tensor:
    """Decode strings from URL-safe base64.

    Args:
        input: strings of any shape, padded or not.
        name: name of the op.

    Returns:
        Strings, in ``input``'s shape.

    Raises:
        InvalidArgumentError: at run time, a character is not in the alphabet.
    """
    return new("DecodeBase64", name, input=input)


def _compile(pattern: bytes) -> Any:
    """Compile a regular expression with RE2, TensorFlow's library, which matches in linear time."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        shown, reason = pattern.decode(errors="replace"), error.args[0].decode(errors="replace")
        raise InvalidArgumentError.of(f"Invalid pattern: {shown}, error: {reason}") from None


def _replaced(xp: ArrayModule, input: Array, pattern: bytes, rewrite: bytes, replace_global: bool) -> Array:
    compiled = _compile(pattern)
    put, is_whole = _parse_rewrite(rewrite, compiled.groups)
    limits = step_limits()

    def replaced(text: bytes) -> bytes:
        if not is_whole and not replace_global:
            return text
        result: list[bytes] = []
        at, end = 0, -1
        while at <= len(text) and (match := compiled.search(text, at)) is not None:
            check_deadline(limits)
            result.append(text[at : match.start()])
            at = match.end()
            if match.start() == at == end:  # no empty match directly after another match
                at += _character_size(text, at)
                result.append(text[end:at])
                continue
            result += [part if isinstance(part, bytes) else match.group(part) or b"" for part in put]
            end = at
            if not replace_global:
                break
        return b"".join([*result, text[at:]])

    return each_string(xp, input, replaced)


def _character_size(text: bytes, at: int) -> int:
    """Return the number of bytes of a UTF-8 character; 1 if it is malformed."""
    for size in range(1, 5):
        try:
            text[at : at + size].decode()
        except UnicodeDecodeError:
            continue
        return size
    return 1


def _parse_rewrite(rewrite: bytes, groups: int) -> tuple[list[bytes | int], bool]:
    """Parse a replacement into strings and group numbers, 0 for the whole match; also return whether it is valid.

    From the first invalid escape or group on, RE2 writes nothing.
    """
    result: list[bytes | int] = []
    pieces = re.split(rb"\\(.|$)", rewrite, flags=re.DOTALL)
    for index, piece in enumerate(pieces):
        if index % 2 == 0 or piece == b"\\":
            result.append(piece)
        elif not piece.isdigit() or int(piece) > groups:
            return result, False
        else:
            result.append(int(piece))
    return result, True


@compute("StaticRegexReplace")
def _static_regex_replace(
    xp: ArrayModule, input: Array, *, pattern: bytes, rewrite: bytes, replace_global: bool
) -> Array:
    return _replaced(xp, input, pattern, rewrite, replace_global)


@compute("RegexReplace")
def _regex_replace(
    xp: ArrayModule, input: Array, pattern: Array, rewrite: Array, *, replace_global: bool
) -> Array:
    return _replaced(xp, input, pattern.item(), rewrite.item(), replace_global)


@compute("StaticRegexFullMatch")
def _static_regex_full_match(xp: ArrayModule, input: Array, *, pattern: bytes) -> Array:
    return _full_matches(xp, input, pattern)


@compute("RegexFullMatch")
def _regex_full_match(xp: ArrayModule, input: Array, pattern: Array) -> Array:
    return _full_matches(xp, input, pattern.item())


def _full_matches(xp: ArrayModule, input: Array, pattern: bytes) -> Array:
    compiled = _compile(pattern)
    limits = step_limits()

    def matches(text: bytes) -> bool:
        check_deadline(limits)
        return compiled.fullmatch(text) is not None

    return each_string(xp, input, matches, bool)


@compute("EncodeBase64")
def _encode_base64(xp: ArrayModule, input: Array, *, pad: bool) -> Array:
    return each_string(
        xp,
        input,
        lambda text: base64.urlsafe_b64encode(text) if pad else base64.urlsafe_b64encode(text).rstrip(b"="),
    )


@compute("DecodeBase64")
def _decode_base64(xp: ArrayModule, input: Array) -> Array:
    def decoded(text: bytes) -> bytes:
        if len(text) % 4 == 1:
            raise InvalidArgumentError.of("Base64 string length cannot be 1 modulo 4.")
        padding = b"" if b"=" in text else b"=" * (-len(text) % 4)
        try:
            if b"+" in text or b"/" in text or text.startswith(b"="):
                raise binascii.Error
            return base64.b64decode(text + padding, b"-_", validate=True)
        except binascii.Error:
            raise InvalidArgumentError.of("Invalid character found in base64.") from None

    return each_string(xp, input, decoded)


@compute("DecodePaddedRaw")
def _decode_padded_raw(
    xp: ArrayModule, input_bytes: Array, fixed_length: Array, *, out_type: Any, little_endian: bool
) -> Array:
    length, size = int(fixed_length), np.dtype(out_type.as_numpy_dtype).itemsize
    if length <= 0:
        raise InvalidArgumentError.of(f"fixed_length ({length}) must be greater than zero.")
    if length % size:
        raise InvalidArgumentError.of(
            f"fixed_length ({length}) must be a multiple of the size of out_type ({size})"
        )
    cut = [text[:length].ljust(length, b"\0") for text in input_bytes.reshape(-1).tolist()]
    texts = np.array(cut, object).reshape(input_bytes.shape)
    numbers = _decode_raw(xp, texts, out_type=out_type, little_endian=little_endian)
    return numbers.reshape(*input_bytes.shape, length // size)


@compute("DecodeRaw")
def _decode_raw(xp: ArrayModule, bytes: Array, *, out_type: Any, little_endian: bool) -> Array:
    texts = bytes.reshape(-1).tolist()
    dtype = np.dtype(out_type.as_numpy_dtype)
    length = len(texts[0]) if texts else 0
    for text in texts:
        if len(text) != length:
            raise InvalidArgumentError.of(
                "DecodeRaw requires input strings to all be the same size, but element"
                f" {texts.index(text)} has size {length} != {len(text)}"
            )
    if length % dtype.itemsize:
        raise InvalidArgumentError.of(
            f"Input to DecodeRaw has length {length} that is not a multiple of {dtype.itemsize}, the size of"
            f" {out_type.name}"
        )
    order = dtype.newbyteorder("<" if little_endian else ">")
    numbers = np.frombuffer(b"".join(texts), order).astype(dtype)
    return xp.asarray(numbers.reshape((*bytes.shape, length // dtype.itemsize)))


shape_function(
    "StaticRegexReplace",
    "StaticRegexFullMatch",
    "EncodeBase64",
    "DecodeBase64",
    "RegexReplace",
    "RegexFullMatch",
)(same_shape)


@shape_function("DecodeRaw")
def _decode_raw_shape(op: Operation) -> list[TensorShape]:
    shape = op.inputs[0].shape
    return [UNKNOWN_SHAPE if shape.ndims is None else shape.concatenate([None])]


@shape_function("DecodePaddedRaw")
def _decode_padded_raw_shape(op: Operation) -> list[TensorShape]:
    shape, length = op.inputs[0].shape, constant_value(op.inputs[1])
    size = np.dtype(op.attrs["out_type"].as_numpy_dtype).itemsize
    count = None if length is None or length <= 0 or length % size else int(length) // size
    return [UNKNOWN_SHAPE if shape.ndims is None else shape.concatenate([count])]


not_differentiable(
    "StaticRegexReplace", "StaticRegexFullMatch", "RegexReplace", "RegexFullMatch", "EncodeBase64", "DecodeBase64",
    "DecodeRaw", "DecodePaddedRaw",
)  # fmt: skip
