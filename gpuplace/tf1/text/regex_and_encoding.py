"""Ops that search in texts, and that turn bytes into numbers and letters.

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
    """Replaces what ``pattern`` matches by ``rewrite``, in which ``\\1`` to ``\\9`` are the pattern's groups.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.regex_replace("a1b2", "[0-9]", "#")).decode()
    'a#b#'

    Args:
        input: strings of any shape.
        pattern: a regular expression in RE2's syntax, a text or scalar string tensor.
        rewrite: what to put in place of a match, likewise.
        replace_global: whether all matches are replaced, or the first of each text.
        name: name of the op.

    Returns:
        Strings, in ``input``'s shape.

    Raises:
        InvalidArgumentError: when it runs: the pattern is malformed.
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
    """Tells which texts a pattern matches as a whole.

    Args:
        input: strings of any shape.
        pattern: a regular expression in RE2's syntax, a text or scalar string tensor.
        name: name of the op.

    Returns:
        bool, in ``input``'s shape.

    Raises:
        InvalidArgumentError: when it runs: the pattern is malformed.
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
    """Returns the bytes of texts as numbers.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.decode_raw(["AB"], tf.uint8)).tolist()
    [[65, 66]]

    Args:
        input_bytes: strings of any shape, all of one length.
        out_type: type of the numbers: integers up to 64 bits but not uint32 and uint64, floating, complex or bool.
        little_endian: order of the bytes in a number.
        name: name of the op.
        bytes: the old name of ``input_bytes``, deprecated.

    Returns:
        Numbers, ``[*input_bytes.shape, n]``.

    Raises:
        TypeError: another ``out_type``.
        InvalidArgumentError: when it runs: lengths differ, or are no multiple of a number's bytes.
    """
    source = input_bytes if bytes is None else bytes
    return new("DecodeRaw", name, bytes=source, out_type=out_type, little_endian=little_endian)


def encode_base64(input: TensorLike, pad: bool = False, name: str | None = None) -> Tensor:
    """Returns texts in base 64, in the alphabet for web addresses.

    Args:
        input: strings of any shape.
        pad: fill up with ``=`` to a multiple of four characters.
        name: name of the op.

    Returns:
        Strings, in ``input``'s shape.
    """
    return new("EncodeBase64", name, input=input, pad=pad)


def decode_base64(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns what texts in base 64, in the alphabet for web addresses, stand for.

    Args:
        input: strings of any shape, padded or not.
        name: name of the op.

    Returns:
        Strings, in ``input``'s shape.

    Raises:
        InvalidArgumentError: when it runs: a character of another alphabet.
    """
    return new("DecodeBase64", name, input=input)


def _compiled(pattern: bytes) -> Any:
    """A regular expression, by the library that TensorFlow uses: it takes time in proportion to the text."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        shown, reason = pattern.decode(errors="replace"), error.args[0].decode(errors="replace")
        raise InvalidArgumentError.of(f"Invalid pattern: {shown}, error: {reason}") from None


def _replaced(xp: ArrayModule, input: Array, pattern: bytes, rewrite: bytes, replace_global: bool) -> Array:
    compiled = _compiled(pattern)
    put, is_whole = _parts(rewrite, compiled.groups)
    limits = step_limits()

    def replaced(text: bytes) -> bytes:
        if not is_whole and not replace_global:
            return text
        made: list[bytes] = []
        at, end = 0, -1
        while at <= len(text) and (match := compiled.search(text, at)) is not None:
            check_deadline(limits)
            made.append(text[at : match.start()])
            at = match.end()
            if match.start() == at == end:  # no empty match at the end of another
                at += _character_size(text, at)
                made.append(text[end:at])
                continue
            made += [part if isinstance(part, bytes) else match.group(part) or b"" for part in put]
            end = at
            if not replace_global:
                break
        return b"".join([*made, text[at:]])

    return each_string(xp, input, replaced)


def _character_size(text: bytes, at: int) -> int:
    """Bytes of the character there, in UTF-8; 1 where there is none."""
    for size in range(1, 5):
        try:
            text[at : at + size].decode()
        except UnicodeDecodeError:
            continue
        return size
    return 1


def _parts(rewrite: bytes, groups: int) -> tuple[list[bytes | int], bool]:
    """What a match becomes: texts and numbers of groups, 0 the whole; and whether there is no other escape or group.

    From such a one on RE2 writes nothing.
    """
    made: list[bytes | int] = []
    pieces = re.split(rb"\\(.|$)", rewrite, flags=re.DOTALL)
    for index, piece in enumerate(pieces):
        if index % 2 == 0 or piece == b"\\":
            made.append(piece)
        elif not piece.isdigit() or int(piece) > groups:
            return made, False
        else:
            made.append(int(piece))
    return made, True


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


def _full_matches(xp: Any, input: Any, pattern: bytes) -> Any:
    compiled = _compiled(pattern)
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
