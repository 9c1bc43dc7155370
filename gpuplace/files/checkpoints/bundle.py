r"""Checkpoints in the current format: an index, and a data file with the values for each shard.

    model.index                   table: "" -> header (number of shards); name -> type, shape, shard, offset, size, crc
    model.data-00000-of-00001     the values, one after the other, in their memory layout

A tensor that is saved in parts has an entry under its name that lists its slices, and an entry with a location under
the key of each slice. Strings are stored as their lengths (varints), a checksum of the lengths, and the bytes of all
strings.

A bundle is written to temporary files in the same folder, which are renamed at the end, the index last.

Source: tensorflow/core/util/tensor_bundle/tensor_bundle.cc, release 1.15.
"""

from __future__ import annotations

import contextlib
import math
import os
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuplace.dtypes import DType, dtype_of_number, variant
from gpuplace.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    UnimplementedError,
)
from gpuplace.files.checkpoints.messages import BundleEntry, BundleHeader, DecodeError
from gpuplace.files.checkpoints.slices import (
    Slice,
    assembled,
    check_slices,
    full_slice,
    indices,
    is_whole,
    resolved,
    slice_key,
)
from gpuplace.files.checkpoints.table import damaged, read_table, read_varint, varint, write_table
from gpuplace.files.checkpoints.variants import EncodedVariant, decoded_variants, encoded_variants
from gpuplace.files.crc32c import crc32c, mask, unmask
from gpuplace.files.file_system import read_bytes, with_op_errors
from gpuplace.writing import write_files

__all__ = [
    "Bundle",
    "SavedTensor",
    "add_extents",
    "data_file",
    "extents_of",
    "index_file",
    "merge_bundles",
    "write_bundle",
]

_VERSION = 1
_LITTLE_ENDIAN, _BIG_ENDIAN = 0, 1


class SavedTensor(NamedTuple):
    """A tensor, or a slice of one, to write."""

    name: str
    """Name of the whole tensor."""
    array: Any
    """Values; bytes objects for strings."""
    dtype: DType
    """Element type, which the array alone does not determine for quantized types."""
    shape: tuple[int, ...] | None = None
    """Shape of the whole tensor, for a slice."""
    extents: Slice = ()
    """The slice; empty for a whole tensor."""


def index_file(prefix: str) -> str:
    """Return the index of a bundle.

    Args:
        prefix: prefix of the file names.
    """
    return f"{prefix}.index"


def data_file(prefix: str, shard: int, count: int) -> str:
    """Return the data file of a shard.

    Args:
        prefix: prefix of the file names.
        shard: shard number, from 0.
        count: number of shards.
    """
    return f"{prefix}.data-{shard:05d}-of-{count:05d}"


def write_bundle(prefix: str, tensors: Sequence[SavedTensor]) -> None:
    """Write a checkpoint of one shard; if that fails, an existing checkpoint is unchanged.

    Args:
        prefix: prefix of the file names. Its last folder is created if necessary.
        tensors: tensors in the order of writing.

    Raises:
        InvalidArgumentError: a name occurs twice, or a slice does not match its tensor's shape or type.
        UnimplementedError: a type cannot be written.
        OpError: a file cannot be written.
    """
    entries: dict[bytes, Any] = {}
    pieces: list[Any] = []
    offset = 0
    for tensor in tensors:
        key = tensor.name.encode()
        if tensor.shape is not None:
            key = _note_slice(entries, tensor)
        if key in entries:
            raise InvalidArgumentError.of(
                f"Adding duplicate key: {tensor.name}", hint="give each variable a unique name"
            )
        content = _content(tensor)
        size = sum(len(piece) for piece in content)
        checksum = 0
        for piece in content:
            checksum = crc32c(piece, checksum)
        if tensor.dtype.name == "string":
            checksum = _string_checksum(tensor.array, content)
        elif tensor.dtype is variant:
            checksum = encoded_variants(_variants(tensor))[1]
        entry = entries[key] = _entry(tensor.dtype, tensor.array.shape)
        entry.offset, entry.size, entry.crc32c = offset, size, mask(checksum)
        pieces += content
        offset += size
    with with_op_errors(index_file(prefix)):
        folder = os.path.dirname(prefix)
        if folder:
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder)
        write_files({data_file(prefix, 0, 1): pieces, index_file(prefix): [_index(entries, 1)]})


def _note_slice(entries: dict[bytes, Any], tensor: SavedTensor) -> bytes:
    """Add a slice to its tensor's entry; return the key that the slice is stored under."""
    key = tensor.name.encode()
    whole = entries.get(key)
    if whole is None:
        whole = entries[key] = _entry(tensor.dtype, tensor.shape or ())
    elif whole.dtype != tensor.dtype.as_datatype_enum or _sizes(whole) != tensor.shape:
        raise InvalidArgumentError.of(
            f"Saved slices of {tensor.name} disagree about the type or shape of the whole tensor"
        )
    add_extents(whole.slices.add(), tensor.extents)
    return slice_key(tensor.name, tensor.extents)


def _entry(dtype: DType, shape: Sequence[int]) -> Any:
    entry = BundleEntry(dtype=dtype.as_datatype_enum)
    entry.shape.SetInParent()
    for size in shape:
        entry.shape.dim.add(size=size)
    return entry


def _sizes(entry: Any) -> tuple[int, ...]:
    return tuple(dim.size for dim in entry.shape.dim)


def add_extents(message: Any, extents: Slice) -> None:
    """Fill in a ``TensorSlice`` message.

    Args:
        message: message to fill in.
        extents: slice to describe.
    """
    for start, length in extents:
        extent = message.extent.add(start=start)
        if length >= 0:
            extent.length = length


def extents_of(message: Any) -> Slice:
    """Return the extents in a ``TensorSlice`` message.

    Args:
        message: message to read.
    """
    return tuple(
        (extent.start, extent.length if extent.HasField("length") else -1) for extent in message.extent
    )


def _index(entries: dict[bytes, Any], shards: int) -> bytes:
    header = BundleHeader(num_shards=shards)
    header.version.producer = _VERSION
    table = {key: entry.SerializeToString(deterministic=True) for key, entry in entries.items()}
    return write_table({b"": header.SerializeToString(deterministic=True), **table})


def _content(tensor: SavedTensor) -> list[Any]:
    """Return the serialized values of a tensor, in pieces."""
    dtype = tensor.dtype
    if dtype.name == "string":
        texts = np.asarray(tensor.array, object).reshape(-1).tolist()
        lengths = b"".join([varint(len(text)) for text in texts])
        checksum = struct.pack("<I", mask(_checksum_of_lengths(texts)))
        return [lengths + checksum, b"".join(texts)]
    if dtype is variant:
        return [encoded_variants(_variants(tensor))[0]]
    if not dtype.is_numpy_compatible:
        raise UnimplementedError.of(
            f"A tensor of type {dtype.short_name} cannot be saved: {tensor.name}",
            hint="save the variables that it is computed from",
        )
    array = np.ascontiguousarray(tensor.array)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return [array.reshape(-1).view(np.uint8).data]


def _variants(tensor: SavedTensor) -> list[EncodedVariant]:
    values = np.asarray(tensor.array, object).reshape(-1).tolist()
    for value in values:
        if not isinstance(value, EncodedVariant):
            raise UnimplementedError.of(
                f"A tensor of type variant cannot be saved: {tensor.name} is {type(value).__name__}",
                hint="save the variables that it is computed from",
            )
    return values


def _checksum_of_lengths(texts: list[bytes]) -> int:
    return crc32c(b"".join([_length_bytes(len(text)) for text in texts]))


def _length_bytes(length: int) -> bytes:
    return struct.pack("<I" if length <= 0xFFFFFFFF else "<Q", length)


def _string_checksum(array: Any, content: list[Any]) -> int:
    """Return the checksum of strings: over their lengths as numbers (not varints), then over all bytes."""
    texts = np.asarray(array, object).reshape(-1).tolist()
    checksum = crc32c(content[0][-4:], _checksum_of_lengths(texts))
    return crc32c(content[1], checksum)


class Bundle:
    """A checkpoint for reading: the index is read at once, values on request.

    Args:
        prefix: prefix of the file names.

    Raises:
        NotFoundError: the index does not exist.
        DataLossError: the index is damaged.
        OpError: the index cannot be read.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        path = index_file(prefix)
        data = read_bytes(path)
        try:
            table = read_table(data, path)
        except DataLossError as error:
            if "sstable" in error.message:
                raise
            raise _unreadable(path, f"(failed to seek to header entry): {error.message}") from None
        try:
            header = BundleHeader.FromString(table.pop(b"", b""))
            self.entries: dict[bytes, Any] = {
                key: BundleEntry.FromString(value) for key, value in table.items()
            }
        except DecodeError as error:
            raise _unreadable(path, f"(corrupted entry): {error}") from None
        self.num_shards: int = header.num_shards
        if header.endianness not in (_LITTLE_ENDIAN, _BIG_ENDIAN) or self.num_shards < 1:
            raise _unreadable(path, "(bad header)")
        if header.version.min_consumer > _VERSION:
            raise InvalidArgumentError.of(
                f"Checkpoint min consumer version {header.version.min_consumer} above current version {_VERSION} for"
                " TensorFlow's bundles",
                hint="restore it with a newer TensorFlow",
            )
        self._order = ">" if header.endianness == _BIG_ENDIAN else "<"

    def names(self) -> list[str]:
        """Return the sorted names of the tensors."""
        return [key.decode(errors="surrogateescape") for key in self.entries if not key.startswith(b"\0")]

    def entry(self, name: str) -> Any:
        """Return the index entry of a tensor.

        Args:
            name: name of the tensor.

        Raises:
            NotFoundError: the tensor does not exist.
        """
        found = self.entries.get(name.encode(errors="surrogateescape"))
        if found is None:
            raise NotFoundError.of(
                f"Key {name} not found in checkpoint",
                facts={"checkpoint": self.prefix},
                hint=f"tf.train.list_variables({self.prefix!r}) lists its tensors",
            )
        return found

    def dtype(self, name: str) -> DType:
        """Return a tensor's element type.

        Args:
            name: name of the tensor.

        Raises:
            NotFoundError: the tensor does not exist.
        """
        return dtype_of_number(self.entry(name).dtype)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the whole tensor's shape.

        Args:
            name: name of the tensor.

        Raises:
            NotFoundError: the tensor does not exist.
        """
        return _sizes(self.entry(name))

    def read(self, name: str, extents: Slice | None = None) -> Any:
        """Return the values of a tensor or slice.

        Args:
            name: name of the tensor.
            extents: slice to read; None: all of it.

        Returns:
            A new array; bytes objects for strings.

        Raises:
            NotFoundError: the tensor or the file of its shard does not exist.
            InvalidArgumentError: the saved slices do not cover the requested slice.
            DataLossError: a checksum does not match.
            OutOfRangeError: the data file ends too early.
        """
        entry = self.entry(name)
        shape = _sizes(entry)
        wanted = full_slice(len(shape)) if extents is None else extents
        if not entry.slices:
            whole = self._values(name, entry)
            if is_whole(wanted):
                return whole
            return whole[indices(resolved(wanted, shape), resolved(full_slice(len(shape)), shape))].copy()
        return self._from_slices(name, entry, wanted)

    def _from_slices(self, name: str, entry: Any, wanted: Slice) -> Any:
        def values(stored: Slice) -> Any:
            key = slice_key(name, stored)
            part = self.entries.get(key)
            if part is None:
                raise damaged(f"Key {key!r} not found in checkpoint", index_file(self.prefix))
            return self._values(name, part)

        stored = [extents_of(message) for message in entry.slices]
        check_slices(name, _sizes(entry), stored)
        return assembled(
            name, wanted, _sizes(entry), dtype_of_number(entry.dtype).numpy_dtype, stored, values
        )

    def _values(self, name: str, entry: Any) -> Any:
        """Return the values of an entry with a location."""
        dtype, shape = dtype_of_number(entry.dtype), _sizes(entry)
        check_slices(name, shape, ())
        if not (dtype.is_numpy_compatible or dtype is variant):
            raise UnimplementedError.of(f"A tensor of type {dtype.short_name} cannot be restored: {name}")
        data = self._bytes(entry)
        if dtype is variant:
            return self._variants(entry, data)
        if dtype.name == "string":
            return self._texts(name, entry, data)
        count = math.prod(shape)
        if len(data) != count * dtype.numpy_dtype.itemsize:
            raise damaged(
                f"Invalid size in bundle entry: key {name}; stored size {entry.size}; expected size "
                f"{count * dtype.numpy_dtype.itemsize}",
                index_file(self.prefix),
            )
        self._check(entry, crc32c(data))
        if dtype.name.startswith(("bfloat", "float8", "float4", "int4", "uint4", "int2", "uint2")):
            return np.frombuffer(data, dtype.numpy_dtype).reshape(shape).copy()
        stored = np.frombuffer(data, dtype.numpy_dtype.newbyteorder(self._order))
        return stored.reshape(shape).astype(dtype.numpy_dtype)

    def _bytes(self, entry: Any) -> bytes:
        """Return the serialized values of an entry."""
        path = data_file(self.prefix, entry.shard_id, self.num_shards)
        with with_op_errors(path), open(path, "rb") as file:
            left = os.fstat(file.fileno()).st_size - entry.offset
            data = b""
            if entry.offset >= 0 and 0 <= entry.size <= left:
                file.seek(entry.offset)
                data = file.read(entry.size)
        if len(data) != entry.size:
            raise OutOfRangeError.of(
                "Read less bytes than requested",
                facts={"file": path, "requested": f"{entry.size} bytes at {entry.offset}"},
                hint="the file is truncated: copy the checkpoint again, or restore an earlier one",
            )
        return data

    def _check(self, entry: Any, checksum: int) -> None:
        stored = unmask(entry.crc32c)
        if checksum != stored:
            path = data_file(self.prefix, entry.shard_id, self.num_shards)
            raise damaged(
                f"Checksum does not match: stored {stored} vs. calculated on the restored bytes {checksum}",
                path,
            )

    def _variants(self, entry: Any, data: bytes) -> Any:
        shape = _sizes(entry)
        try:
            values, checksum = decoded_variants(data, math.prod(shape))
        except ValueError as error:
            raise damaged(str(error), data_file(self.prefix, entry.shard_id, self.num_shards)) from None
        self._check(entry, checksum)
        flat = np.empty(len(values), object)
        for index, value in enumerate(values):
            flat[index] = value
        return flat.reshape(shape)

    def _texts(self, name: str, entry: Any, data: bytes) -> Any:
        shape = _sizes(entry)
        count = math.prod(shape)
        lengths, at = [], 0
        try:
            for _ in range(count):
                length, at = read_varint(data, at)
                lengths.append(length)
            (stored,) = struct.unpack_from("<I", data, at)
        except (IndexError, struct.error):
            raise damaged(f"Corrupted lengths of the texts in {name}", index_file(self.prefix)) from None
        raw = data[at : at + 4]
        at += 4
        checksum = crc32c(b"".join([_length_bytes(length) for length in lengths]))
        if unmask(stored) != checksum:
            raise damaged(
                f"The length checksum does not match: expected {unmask(stored)} but actual is {checksum}",
                data_file(self.prefix, entry.shard_id, self.num_shards),
            )
        self._check(entry, crc32c(data[at:], crc32c(raw, checksum)))
        if at + sum(lengths) != len(data):
            raise damaged(f"Corrupted lengths of the texts in {name}", index_file(self.prefix))
        flat = np.empty(count, object)
        for index, length in enumerate(lengths):
            flat[index] = data[at : at + length]
            at += length
        return flat.reshape(shape)

    def debug_string(self) -> str:
        """Return a line for each stored entry: key, type and shape."""
        lines = []
        for key, entry in self.entries.items():
            if not entry.slices:
                text = key.decode(errors="surrogateescape")
                sizes = ",".join(map(str, _sizes(entry)))
                lines.append(f"{text} ({dtype_of_number(entry.dtype).enum_name}) [{sizes}]\n")
        return "".join(lines)


def _unreadable(path: str, detail: str) -> DataLossError:
    return damaged(
        f"Unable to read file ({path}). Perhaps the file is corrupt or was produced by a newer version of TensorFlow"
        f" with format changes {detail}",
        path,
    )


def merge_bundles(prefixes: Sequence[str], merged: str) -> None:
    """Merge checkpoints into one: their data files become its shards.

    Args:
        prefixes: prefixes of the checkpoints; their files are moved.
        merged: prefix of the merged checkpoint.

    Raises:
        NotFoundError: a checkpoint does not exist.
        InvalidArgumentError: two checkpoints contain the same tensor.
        DataLossError: an index is damaged.
    """
    bundles = [Bundle(prefix) for prefix in dict.fromkeys(prefixes)]
    if len(bundles) != len(prefixes):
        repeated = next(prefix for at, prefix in enumerate(prefixes) if prefix in prefixes[:at])
        first = next(iter(Bundle(repeated).names()), "")
        raise InvalidArgumentError.of(
            f"Duplicate tensor keyed by {first} encountered, when merging prefix: {repeated}"
        )
    entries: dict[bytes, Any] = {}
    count = sum(bundle.num_shards for bundle in bundles)
    moves: list[tuple[str, str]] = []
    for bundle in bundles:
        first_shard = len(moves)
        for key, entry in bundle.entries.items():
            if not entry.slices:
                entry.shard_id += first_shard
            earlier = entries.get(key)
            if earlier is None:
                entries[key] = entry
            elif earlier.slices and entry.slices and _alike(earlier, entry):
                earlier.slices.extend(entry.slices)
            else:
                raise InvalidArgumentError.of(
                    f"Duplicate tensor keyed by {key.decode(errors='replace')} encountered, when merging prefix: "
                    f"{bundle.prefix}"
                )
        moves += [
            (
                data_file(bundle.prefix, shard, bundle.num_shards),
                data_file(merged, first_shard + shard, count),
            )
            for shard in range(bundle.num_shards)
        ]
    with with_op_errors(index_file(merged)):
        folder = os.path.dirname(merged)
        if folder:
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder)
        for source, target in moves:
            os.replace(source, target)
        write_files({index_file(merged): [_index(entries, count)]})
        for bundle in bundles:
            os.unlink(index_file(bundle.prefix))


def _alike(first: Any, second: Any) -> bool:
    return bool(first.dtype == second.dtype) and _sizes(first) == _sizes(second)
