r"""Parts of tensors: their representations in graphs, messages and table keys.

A slice has an extent ``(start, length)`` for each dimension; ``FULL`` stands for the whole dimension.

>>> parse_shape_and_slice("4 6 0,2:-")
((4, 6), ((0, 2), (0, -1)), (2, 6))
>>> slice_text(((0, 2), FULL))
'0,2:-'
>>> slice_key("w", ((0, 2),))
b'\x00w\x00\x01\x01\x01\x80\x82'

Source: tensorflow/core/framework/tensor_slice.cc, tensorflow/core/util/saved_tensor_slice_util.cc and
tensorflow/core/lib/strings/ordered_code.cc, release 1.15.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from gpuplace.errors import DataLossError, InternalError, InvalidArgumentError

__all__ = [
    "FULL",
    "Slice",
    "assembled",
    "check_slices",
    "full_slice",
    "indices",
    "intersection",
    "is_whole",
    "parse_shape_and_slice",
    "resolved",
    "slice_key",
    "slice_text",
]

Extent: TypeAlias = tuple[int, int]
Slice: TypeAlias = tuple[Extent, ...]

WHAT_TO_DO = "check that the file is complete; restore an earlier checkpoint, or copy this one again"
"""Hint of errors about damaged checkpoints."""

FULL: Extent = (0, -1)
"""All of a dimension."""


def full_slice(rank: int) -> Slice:
    """Return the slice that covers a whole tensor.

    Args:
        rank: number of dimensions.
    """
    return (FULL,) * rank


def parse_shape_and_slice(text: str) -> tuple[tuple[int, ...], Slice, tuple[int, ...]]:
    """Parse an element of ``shape_and_slices``: shape of the whole tensor, slice, and shape of the slice.

    Args:
        text: sizes, then the extents separated by colons.

    Raises:
        InvalidArgumentError: the text is malformed.
        InternalError: the slice exceeds the shape.
    """
    *sizes, spec = text.strip().split(" ")
    if not sizes:
        raise InvalidArgumentError.of(
            f"Need least two elements in shape_and_slice specification: {text}",
            hint="write the sizes of the whole tensor and the extents, such as '4 6 0,2:-'",
        )
    try:
        shape = tuple(int(size) for size in sizes)
    except ValueError:
        raise InvalidArgumentError.of(f"Non numerical dimension in shape_and_slice: {text}") from None
    extents = tuple(_extent(part, spec) for part in spec.split(":")) if spec else ()
    if len(extents) != len(shape):
        raise InternalError.of(f"Mismatching ranks: shape = {_shape_text(shape)}, slice = {spec}")
    for dimension, (size, (start, length)) in enumerate(zip(shape, extents)):
        if start + max(length, 0) > size:
            raise InternalError.of(
                f"Extent in dimension {dimension} out of bounds: shape = {_shape_text(shape)}, slice = {spec}"
            )
    return shape, extents, tuple(length for _, length in resolved(extents, shape))


def _extent(part: str, spec: str) -> Extent:
    if part == "-":
        return FULL
    start, comma, length = part.partition(",")
    if not comma or not start.strip().isdecimal() or not length.strip().isdecimal():
        raise InvalidArgumentError.of(
            f"Expected a pair of numbers or '-' but got '{part}': string = {spec}",
            hint="an extent is start,length",
        )
    if not int(length):
        raise InvalidArgumentError.of(
            f"Expected non-negative start and positive length but got start = {start}, length = {length}: "
            f"string = {spec}"
        )
    return int(start), int(length)


def _shape_text(shape: Iterable[int]) -> str:
    return f"[{','.join(map(str, shape))}]"


def resolved(extents: Slice, shape: Sequence[int]) -> Slice:
    """Return the extents with ``FULL`` replaced by lengths.

    Args:
        extents: slice to convert.
        shape: shape of the whole tensor.
    """
    return tuple((start, size if length < 0 else length) for (start, length), size in zip(extents, shape))


def check_slices(name: str, shape: Sequence[int], stored: Iterable[Slice]) -> None:
    """Validate a tensor's description in a file.

    Args:
        name: name of the tensor.
        shape: shape of the tensor.
        stored: saved slices.

    Raises:
        DataLossError: the shape is impossible, or a slice exceeds it.
    """
    if min(shape, default=0) < 0 or math.prod(filter(None, shape)) >= 1 << 63:
        raise DataLossError.of(f"Invalid tensor shape: {name} {_shape_text(shape)}", hint=WHAT_TO_DO)
    for extents in stored:
        if len(extents) != len(shape) or any(
            start < 0 or start + length > size
            for (start, length), size in zip(resolved(extents, shape), shape)
        ):
            raise DataLossError.of(
                f"Invalid slice of the tensor {name} of shape {_shape_text(shape)}: {slice_text(extents)}",
                hint=WHAT_TO_DO,
            )


def is_whole(extents: Slice) -> bool:
    """Return whether a slice explicitly covers the whole tensor.

    Args:
        extents: slice to check.
    """
    return all(extent == FULL for extent in extents)


def intersection(first: Slice, second: Slice) -> Slice | None:
    """Return the intersection of two slices with known lengths, or None.

    Args:
        first: a slice.
        second: a slice of the same rank.
    """
    common = []
    for (start, length), (other, other_length) in zip(first, second):
        begin, end = max(start, other), min(start + length, other + other_length)
        if begin >= end:
            return None
        common.append((begin, end - begin))
    return tuple(common)


def indices(extents: Slice, within: Slice) -> tuple[Any, ...]:
    """Return the index of a slice within an array that contains another slice.

    Args:
        extents: slice with known lengths.
        within: slice in the array, with known lengths.
    """
    return tuple(
        slice(start - outer, start - outer + length)
        for (start, length), (outer, _) in zip(extents, within, strict=True)
    )


def assembled(
    name: str,
    wanted: Slice,
    shape: Sequence[int],
    numpy_dtype: Any,
    stored: Sequence[Slice],
    values: Callable[[Slice], Any],
) -> Any:
    """Assemble a slice of a tensor from the saved slices.

    Args:
        name: name of the tensor.
        wanted: requested slice.
        shape: shape of the whole tensor.
        numpy_dtype: NumPy element type.
        stored: saved slices.
        values: returns the array of a saved slice.

    Returns:
        A new array.

    Raises:
        InvalidArgumentError: the saved slices do not cover the requested slice.
        DataLossError: the values of a slice have another shape.
    """
    area = resolved(wanted, shape)
    overlaps = [
        (extents, common)
        for extents in stored
        if (common := intersection(resolved(extents, shape), area)) is not None
    ]
    sizes = tuple(length for _, length in area)
    parts: list[tuple[Any, tuple[Any, ...]]] = []
    if math.prod(sizes) <= sum(math.prod(length for _, length in common) for _, common in overlaps):
        # The values are read first: if they fit in memory, the sizes are plausible.
        for extents, common in overlaps:
            place = resolved(extents, shape)
            array = values(extents)
            if array.shape != tuple(length for _, length in place):
                raise DataLossError.of(
                    f"A slice of {name} has shape {_shape_text(array.shape)}, but its extents are"
                    f" {slice_text(extents)}",
                    hint=WHAT_TO_DO,
                )
            parts.append((array[indices(common, place)], indices(common, area)))
    covered = np.zeros(sizes if parts else 0, bool)
    for _, target in parts:
        covered[target] = True
    if not covered.all() or bool(parts) != bool(math.prod(sizes)):
        raise InvalidArgumentError.of(
            f"Does not have sufficient slices for partitioned tensor {name} to restore in slice_spec: "
            f"{slice_text(wanted)}",
            facts={"slices saved": "; ".join(slice_text(extents) for extents in stored)},
        )
    result = np.empty(sizes, numpy_dtype)
    for part, target in parts:
        result[target] = part
    return result


def slice_text(extents: Slice) -> str:
    """Return a slice in the notation of graphs and messages.

    Args:
        extents: slice to print.
    """
    return ":".join("-" if (start, length) == FULL else f"{start},{length}" for start, length in extents)


def slice_key(name: str, extents: Slice) -> bytes:
    """Return the table key of a slice; keys are ordered by name, then by extents.

    Args:
        name: name of the whole tensor.
        extents: slice to encode.
    """
    escapes = {0x00: b"\x00\xff", 0xFF: b"\xff\x00"}
    escaped = b"".join(escapes.get(octet, bytes([octet])) for octet in name.encode(errors="surrogateescape"))
    parts = [_unsigned(0), escaped + b"\x00\x01", _unsigned(len(extents))]
    for start, length in extents:
        parts += [_signed(start), _signed(length)]
    return b"".join(parts)


def _unsigned(value: int) -> bytes:
    digits = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([len(digits)]) + digits


def _signed(value: int) -> bytes:
    """Encode a number with its byte count in the first bits, so that the bytes sort like the numbers."""
    bits = (~value if value < 0 else value).bit_length()
    length = bits // 7 + 1
    header = ((1 << length) - 1) << (7 * length)
    return ((value & ((1 << 8 * length) - 1)) ^ header).to_bytes(length, "big")
