"""Strings: tensors of bytes, always in host memory.

Source: tensorflow/python/ops/string_ops.py and tensorflow/core/kernels/as_string_op.cc, string_join_op.cc,
string_to_number_op.cc, substr_op.cc, release 1.15.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype, float32
from gpuplace.errors import InvalidArgumentError, OutOfRangeError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.kernels.number_texts import number_of
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.shape_rules import merge_shapes, require_rank
from gpuplace.ops.support import broadcast, new, same_shape
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, DTypeLike, TensorLike, TensorsLike

__all__ = [
    "string_join", "as_string", "string_to_number", "string_length", "string_strip", "string_lower", "string_upper",
    "substr", "reduce_join",
]  # fmt: skip


def _texts(xp: ArrayModule, values: list[Any], shape: tuple[int, ...], dtype: Any = object) -> Array:
    result = xp.empty(len(values), dtype)
    for index, value in enumerate(values):
        result[index] = value
    return result.reshape(shape)


def each_string(xp: ArrayModule, x: Array, function: Callable[[bytes], Any], dtype: Any = object) -> Array:
    """Return the results of a function of each string, as an array of the same shape."""
    return _texts(xp, [function(value) for value in x.reshape(-1).tolist()], x.shape, dtype)


def string_join(inputs: TensorsLike, separator: str = "", name: str | None = None) -> Tensor:
    """Join the strings of several tensors element by element; like all string ops, on the CPU.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.string_join(["a", ["b", "c"]], "-")).tolist()
    [b'a-b', b'a-c']

    Args:
        inputs: a list of string tensors, of one shape or scalars.
        separator: string between them.
        name: name of the op.

    Returns:
        Strings, in that shape.

    Raises:
        ValueError: static shapes differ.
        InvalidArgumentError: at run time, the shapes differ.
    """
    return new("StringJoin", name, inputs=list(inputs), separator=separator)


@compute("StringJoin")
def _string_join(xp: ArrayModule, inputs: list[Any], *, separator: bytes) -> Array:
    shapes = {value.shape for value in inputs if value.ndim}
    if len(shapes) > 1:
        first, second = (
            [v.shape for v in inputs if v.ndim][0],
            next(v.shape for v in inputs if v.ndim and v.shape != inputs[0].shape),
        )
        raise InvalidArgumentError.of(f"Input shapes do not match: {list(first)} vs. {list(second)}")
    shape = shapes.pop() if shapes else ()
    columns = [xp.broadcast_to(value, shape).reshape(-1).tolist() for value in inputs]
    return _texts(xp, [separator.join(row) for row in zip(*columns, strict=True)], shape)


@shape_function("StringJoin")
def _string_join_shape(op: Operation) -> tuple[TensorShape, ...]:
    shapes = [tensor.shape for tensor in op.inputs if tensor.shape.ndims != 0]
    result = UNKNOWN_SHAPE if shapes else TensorShape.of(())
    for shape in shapes:
        result = merge_shapes(result, shape)
    return (result,)


def as_string(
    input: TensorLike, precision: int = -1, scientific: bool = False, shortest: bool = False, width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Convert numbers and bools to strings, in the format of C's ``printf``.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.as_string([1.5, 20.0], precision=2)).tolist()
    [b'1.50', b'20.00']

    Args:
        input: int8 to int64, float32, float64, complex or bool, of any shape.
        precision: digits after the decimal point of floating values. -1: 6.
        scientific: whether to use an exponent.
        shortest: whether to use the shorter of both forms.
        width: minimum width to pad to, in characters. -1: no padding.
        fill: padding character. Default: a space.
        name: name of the op.

    Returns:
        Strings, in ``input``'s shape.

    Raises:
        TypeError: the type is not supported.
        InvalidArgumentError: at run time, both ``scientific`` and ``shortest`` are set, or ``fill`` has several
            characters.
    """
    return new(
        "AsString",
        name,
        input=input,
        precision=precision,
        scientific=scientific,
        shortest=shortest,
        width=width,
        fill=fill,
    )


@compute("AsString")
def _as_string(
    xp: ArrayModule,
    input: Array,
    *,
    precision: int,
    scientific: bool,
    shortest: bool,
    width: int,
    fill: bytes,
) -> Array:
    if scientific and shortest:
        raise InvalidArgumentError.of("Cannot select both scientific and shortest notation")
    if len(fill) > 1:
        raise InvalidArgumentError.of(f'Fill string must be one or fewer characters: "{fill.decode()}"')
    if input.dtype.kind in "iub" and (scientific or shortest):
        raise InvalidArgumentError.of(
            f"scientific and shortest format not supported for datatype {as_dtype(input.dtype).name}"
        )
    if input.dtype.kind in "iub" and precision > -1:
        raise InvalidArgumentError.of(f"precision not supported for datatype {as_dtype(input.dtype).name}")
    kind = input.dtype.kind
    flag = "" if kind == "u" and fill == b" " else fill.decode()  # a flag that C only uses for signed numbers
    size = flag + (str(width) if width > -1 else "")
    values = input.reshape(-1).tolist()
    if kind == "b":
        texts = [str(value).lower().rjust(max(width, 0)) for value in values]
    elif kind in "iu":
        texts = [f"%{size}d" % value for value in values]
    elif kind == "c":
        spec = f"%{size}{_digits(precision)}{'e' if scientific else 'g' if shortest else 'f'}"
        texts = [f"({spec % value.real},{spec % value.imag})" for value in values]
    else:
        spec = f"%{size}{_digits(precision)}{'e' if scientific else 'g' if shortest else 'f'}"
        texts = [_signed_nan(spec % value, value) for value in values]
    return _texts(xp, [text.encode() for text in texts], input.shape)


def _digits(precision: int) -> str:
    return f".{precision}" if precision > -1 else ""


def _signed_nan(text: str, value: float) -> str:
    return text if value == value else text.replace("-nan", "nan")


def string_to_number(
    string_tensor: TensorLike | None = None,
    out_type: DTypeLike = float32,
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Convert strings to numbers.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.string_to_number(["1.5", "-2"])).tolist()
    [1.5, -2.0]

    Args:
        string_tensor: strings of any shape.
        out_type: float32, float64, int32 or int64.
        name: name of the op.
        input: alias of ``string_tensor``.

    Returns:
        Numbers of type ``out_type``, in that shape.

    Raises:
        TypeError: ``out_type`` is not supported.
        InvalidArgumentError: at run time, a string is not a number or is out of the type's range.
    """
    return new(
        "StringToNumber",
        name,
        string_tensor=input if string_tensor is None else string_tensor,
        out_type=out_type,
    )


@compute("StringToNumber")
def _string_to_number(xp: ArrayModule, string_tensor: Array, *, out_type: Any) -> Array:
    values = []
    for text in string_tensor.reshape(-1).tolist():
        try:
            values.append(number_of(text, out_type))
        except ValueError:
            raise InvalidArgumentError.of(
                f"StringToNumberOp could not correctly convert string: {text.decode(errors='replace')}"
            ) from None
    return xp.array(values, out_type.as_numpy_dtype).reshape(string_tensor.shape)


def string_length(input: TensorLike, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Return the length of each string.

    Args:
        input: strings of any shape.
        name: name of the op.
        unit: ``"BYTE"``, or ``"UTF8_CHAR"`` for characters.

    Returns:
        int32, in ``input``'s shape.

    Raises:
        ValueError: the unit is unknown.
    """
    return new("StringLength", name, input=input, unit=unit)


@compute("StringLength")
def _string_length(xp: ArrayModule, input: Array, *, unit: bytes) -> Array:
    def length(text: bytes) -> int:
        return len(text) if unit == b"BYTE" else sum(byte & 0xC0 != 0x80 for byte in text)

    return xp.array([length(text) for text in input.reshape(-1).tolist()], xp.int32).reshape(input.shape)


def string_strip(input: TensorLike, name: str | None = None) -> Tensor:
    """Strip white space from both ends of strings.

    Args:
        input: strings of any shape.
        name: name of the op.

    Returns:
        Strings, in that shape.
    """
    return new("StringStrip", name, input=input)


@compute("StringStrip")
def _string_strip(xp: ArrayModule, input: Array) -> Array:
    return each_string(xp, input, bytes.strip)


def string_lower(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Convert strings to lower case.

    Args:
        input: strings of any shape.
        encoding: ``""`` for ASCII letters only, ``"utf-8"`` for all letters.
        name: name of the op.

    Returns:
        Strings, in ``input``'s shape.
    """
    return new("StringLower", name, input=input, encoding=encoding)


def string_upper(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Convert strings to upper case.

    Args:
        input: strings of any shape.
        encoding: ``""`` for ASCII letters only, ``"utf-8"`` for all letters.
        name: name of the op.

    Returns:
        Strings, in ``input``'s shape.
    """
    return new("StringUpper", name, input=input, encoding=encoding)


@compute("StringLower", "StringUpper")
def _string_case(xp: ArrayModule, input: Array, *, encoding: bytes, ctx: Any) -> Array:
    lower = ctx.op.type == "StringLower"
    if not encoding:
        return each_string(xp, input, bytes.lower if lower else bytes.upper)
    change = str.lower if lower else str.upper
    return each_string(xp, input, lambda text: change(text.decode("utf-8")).encode("utf-8"))


def substr(
    input: TensorLike, pos: TensorLike, len: TensorLike, name: str | None = None, unit: str = "BYTE"
) -> Tensor:
    """Return a substring of each string.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.substr(["hello", "world"], -3, 2)).tolist()
    [b'll', b'rl']

    Args:
        input: strings of any shape.
        pos: start of the substring, int32 or int64; negative values count from the end. The shapes broadcast.
        len: maximum number of bytes (or characters), of ``pos``'s type.
        name: name of the op.
        unit: ``"BYTE"``, or ``"UTF8_CHAR"`` for characters.

    Returns:
        Strings, in the broadcast shape.

    Raises:
        TypeError: ``pos`` and ``len`` differ in type.
        ValueError: the unit is unknown.
        InvalidArgumentError: at run time, ``pos`` is outside a string.
    """
    return new("Substr", name, input=input, pos=pos, len=len, unit=unit)


_length = len


@compute("Substr")
def _substr(xp: ArrayModule, input: Array, pos: Array, len: Array, *, unit: bytes) -> Array:
    if pos.shape != len.shape:
        raise InvalidArgumentError.of(
            f"pos and len should have the same shape, got: {brackets(pos.shape)} vs. {brackets(len.shape)}"
        )
    try:
        shape = xp.broadcast(input, pos).shape
    except ValueError:
        raise InvalidArgumentError.of(
            f"input and pos/len shapes do not broadcast: {brackets(input.shape)} vs. {brackets(pos.shape)}"
        ) from None
    columns = [xp.broadcast_to(value, shape).reshape(-1).tolist() for value in (input, pos, len)]
    results = []
    for index, (text, start, count) in enumerate(zip(*columns, strict=True)):
        letters: Any = text if unit == b"BYTE" else text.decode("utf-8", "replace")
        first = start + _length(letters) if start < 0 else start
        if not 0 <= first <= _length(letters):
            raise InvalidArgumentError.of(f"pos {start} out of range for string {text!r} at index {index}")
        part = letters[first : first + max(count, 0)]
        results.append(part if isinstance(part, bytes) else part.encode("utf-8"))
    return _texts(xp, results, shape)


@shape_function("Substr")
def _substr_shape(op: Operation) -> tuple[TensorShape, ...]:
    input_shape, pos, count = (tensor.shape for tensor in op.inputs)
    if pos.ndims is not None and count.ndims is not None:
        require_rank(pos, count.ndims)
        if any(
            None not in pair and pair[0] != pair[1]
            for pair in zip(pos.sizes or (), count.sizes or (), strict=True)
        ):
            raise ValueError(f"pos and len shapes must match: {brackets(pos)} vs. {brackets(count)}")
    return (broadcast(input_shape, pos),)


def reduce_join(
    inputs: TensorLike, axis: TensorLike | None = None, keep_dims: bool = False, separator: str = "", name:
    str | None = None,
    reduction_indices: TensorLike | None = None, keepdims: bool | None = None,
) -> Tensor:  # fmt: skip
    """Join strings along some dimensions.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.reduce_join([["a", "b"], ["c", "d"]], axis=1)).tolist()
    [b'ab', b'cd']

    Args:
        inputs: strings of any shape.
        axis: the dimensions to reduce, an integer or a list; the first one varies fastest. None: all, in order.
        keep_dims: whether to keep the reduced dimensions with size 1.
        separator: string between them.
        name: name of the op.
        reduction_indices: deprecated name of ``axis``.
        keepdims: newer name of ``keep_dims``.

    Returns:
        Strings, without the dimensions in ``axis``.

    Raises:
        ValueError: a static axis is out of range.
        InvalidArgumentError: at run time, an axis is out of range.
    """
    at = axis if reduction_indices is None else reduction_indices
    with name_scope(None, "ReduceJoin", [inputs, at]):
        inputs = convert_to_tensor(inputs, "string")
        if at is None and inputs.shape.ndims is not None:
            at = convert_to_tensor(np.arange(inputs.shape.ndims, dtype=np.int32)[::-1])
        elif at is None:
            at = new("Range", start=new("Rank", input=inputs) - 1, limit=-1, delta=-1)
        return new(
            "ReduceJoin",
            name,
            inputs=inputs,
            reduction_indices=at,
            keep_dims=bool(keep_dims or keepdims),
            separator=separator,
        )


@compute("ReduceJoin")
def _reduce_join(
    xp: ArrayModule, inputs: Array, reduction_indices: Array, *, keep_dims: bool, separator: bytes
) -> Array:
    axes = []
    for axis in reduction_indices.reshape(-1).tolist():
        if not -inputs.ndim <= axis < inputs.ndim:
            raise OutOfRangeError.of(
                f"Invalid reduction dimension {axis} for input with {inputs.ndim} dimension(s)"
            )
        axes.append(axis % inputs.ndim)
    remaining = [axis for axis in range(inputs.ndim) if axis not in axes]
    moved = xp.transpose(inputs, (*remaining, *reversed(axes)))
    outer = tuple(inputs.shape[axis] for axis in remaining)
    rows = math.prod(outer)
    width = math.prod(inputs.shape[axis] for axis in axes)
    flat = moved.reshape(rows, width).tolist()
    final = (
        tuple(1 if axis in axes else size for axis, size in enumerate(inputs.shape)) if keep_dims else outer
    )
    return _texts(xp, [separator.join(row) for row in flat], final)


@shape_function("ReduceJoin")
def _reduce_join_shape(op: Operation) -> tuple[TensorShape, ...]:
    sizes, axes, keep = op.inputs[0].shape.sizes, constant_value(op.inputs[1]), op.attrs["keep_dims"]
    if sizes is None or axes is None:
        return (TensorShape.of((None,) * len(sizes)) if keep and sizes is not None else UNKNOWN_SHAPE,)
    reduced = set()
    for axis in axes.reshape(-1).tolist():
        if not -len(sizes) <= axis < len(sizes):
            raise ValueError(f"Invalid reduction dimension {axis} for input with {len(sizes)} dimension(s)")
        reduced.add(axis % len(sizes))
    rest = (1 if axis in reduced else size for axis, size in enumerate(sizes) if keep or axis not in reduced)
    return (TensorShape.of(tuple(rest)),)


shape_function("AsString", "StringToNumber", "StringLength", "StringStrip", "StringLower", "StringUpper")(
    same_shape
)
not_differentiable(
    "StringJoin", "AsString", "StringToNumber", "StringLength", "StringStrip", "StringLower", "StringUpper", "Substr",
    "ReduceJoin",
)  # fmt: skip


def unsorted_segment_join(
    inputs: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """Join the strings of each segment, in order.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.strings.unsorted_segment_join(["a", "b", "c"], [1, 0, 1], 2, ":")).tolist()
    [b'b', b'a:c']

    Args:
        inputs: strings.
        segment_ids: the segment of each string, int32 or int64; its shape is the start of that of ``inputs``.
        num_segments: the number of segments, a scalar.
        separator: string between them.
        name: name of the op.

    Returns:
        Strings, ``[num_segments, ...]``.

    Raises:
        ValueError: static shapes do not match.
        InvalidArgumentError: at run time, shapes do not match, or a segment is out of range.
    """
    return new(
        "UnsortedSegmentJoin", name, inputs=inputs, segment_ids=segment_ids, num_segments=num_segments,
        separator=separator,
    )  # fmt: skip


@compute("UnsortedSegmentJoin")
def _unsorted_segment_join(
    xp: ArrayModule, inputs: Array, segment_ids: Array, num_segments: Array, *, separator: bytes
) -> Array:
    if num_segments.ndim:
        raise InvalidArgumentError.of("Number of segments should be a scalar")
    count = int(num_segments)
    if count < 0:
        raise InvalidArgumentError.of("Number of segments must be non negative")
    if inputs.shape[: segment_ids.ndim] != segment_ids.shape:
        shapes = "[{}], segment_ids.shape = [{}]".format(
            *(",".join(map(str, item.shape)) for item in (inputs, segment_ids))
        )
        raise InvalidArgumentError.of(f"segment_ids must be a prefix of input.shape: input.shape = {shapes}")
    ids = segment_ids.reshape(-1).tolist()
    rest = inputs.shape[segment_ids.ndim :]
    rows = inputs.reshape(len(ids), math.prod(rest)).tolist()
    segments: list[list[list[bytes]]] = [[] for _ in range(count)]
    for segment, row in zip(ids, rows, strict=True):
        if not 0 <= segment < count:
            raise InvalidArgumentError.of(
                "segment_ids are not allowed to exceed num_segments or to have negative values."
            )
        segments[segment].append(row)
    width = math.prod(rest)
    joined = [_joined(separator, [row[at] for row in segment]) for segment in segments for at in range(width)]
    return _texts(xp, joined, (count, *rest))


def _joined(separator: bytes, texts: list[bytes]) -> bytes:
    """Join strings with a separator; leading empty strings add none."""
    first = next((index for index, text in enumerate(texts) if text), len(texts))
    return separator.join(texts[first:])
