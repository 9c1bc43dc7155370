r"""Checkpoints in TensorFlow's first format: a table for each shard, with the values as messages.

    model       table: "" -> name, type, shape and slices of every tensor; key of a slice -> its values

Source: tensorflow/core/util/tensor_slice_reader.cc and tensor_slice_writer.cc, release 1.15.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuplace.display import above
from gpuplace.dtypes import DType, dtype_of_number
from gpuplace.errors import DataLossError, InvalidArgumentError, NotFoundError
from gpuplace.files.checkpoints.bundle import SavedTensor, add_extents, extents_of
from gpuplace.files.checkpoints.messages import DecodeError, SavedTensorSlices, TensorSlice
from gpuplace.files.checkpoints.slices import (
    Slice,
    assembled,
    check_slices,
    full_slice,
    resolved,
    slice_key,
)
from gpuplace.files.checkpoints.table import damaged, read_table, write_table
from gpuplace.files.file_system import matching_paths, read_bytes, with_op_errors
from gpuplace.writing import write_files

__all__ = ["TensorSlices", "write_tensor_slices"]

_VERSION = 1


class _Tensor(NamedTuple):
    """A tensor, as described by the shards."""

    dtype: DType
    shape: tuple[int, ...]
    slices: dict[Slice, dict[bytes, bytes]]
    """Slice -> the table that contains it."""


class TensorSlices:
    """A checkpoint in the first format.

    Args:
        pattern: path of the file, or a pattern for the files of its shards.

    Raises:
        NotFoundError: the file does not exist.
        DataLossError: a file is not such a table, or is damaged.
    """

    def __init__(self, pattern: str) -> None:
        self.prefix = pattern
        paths = matching_paths(pattern)
        if not paths:
            raise NotFoundError.of(
                f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {pattern}",
                hint="pass the path that saver.save returned, without .index or .data-...",
            )
        self._tensors: dict[str, _Tensor] = {}
        for path in paths:
            self._open(path)

    def _open(self, path: str) -> None:
        try:
            table = read_table(read_bytes(path), path)
            meta = SavedTensorSlices.FromString(table[b""]).meta
        except (DataLossError, DecodeError, KeyError) as error:
            because = error.message if isinstance(error, DataLossError) else str(error)
            raise damaged(
                f"Unable to open table file {path}: Data loss: {because}: perhaps your file is in a different file"
                " format and you need to use a different restore operator?",
                path,
            ) from None
        for saved in meta.tensor:
            shape = tuple(dim.size for dim in saved.shape.dim)
            dtype = dtype_of_number(saved.type)
            known = self._tensors.setdefault(saved.name, _Tensor(dtype, shape, {}))
            if (known.dtype, known.shape) != (dtype, shape):
                raise damaged(f"Shards disagree about the type or shape of {saved.name}", path)
            slices = [extents_of(message) for message in saved.slice]
            check_slices(saved.name, shape, slices)
            known.slices.update(dict.fromkeys(slices, table))

    def names(self) -> list[str]:
        """Return the sorted names of the tensors."""
        return sorted(self._tensors)

    def _tensor(self, name: str) -> _Tensor:
        found = self._tensors.get(name)
        if found is None:
            raise NotFoundError.of(
                f'Tensor name "{name}" not found in checkpoint files {self.prefix}',
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
        return self._tensor(name).dtype

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the whole tensor's shape.

        Args:
            name: name of the tensor.

        Raises:
            NotFoundError: the tensor does not exist.
        """
        return self._tensor(name).shape

    def read(self, name: str, extents: Slice | None = None) -> Any:
        """Return the values of a tensor or slice.

        Args:
            name: name of the tensor.
            extents: slice to read; None: all of it.

        Returns:
            A new array; bytes objects for strings.

        Raises:
            NotFoundError: the tensor does not exist.
            InvalidArgumentError: the saved slices do not cover the requested slice.
            DataLossError: the values are damaged.
        """
        tensor = self._tensor(name)
        wanted = full_slice(len(tensor.shape)) if extents is None else extents
        return assembled(
            name,
            wanted,
            tensor.shape,
            tensor.dtype.numpy_dtype,
            list(tensor.slices),
            lambda stored: self._values(name, tensor, stored),
        )

    def _values(self, name: str, tensor: _Tensor, stored: Slice) -> Any:
        content = tensor.slices[stored].get(slice_key(name, stored))
        try:
            if content is None:
                raise ValueError("it is not in the table")
            data = SavedTensorSlices.FromString(content).data.data
        except (DecodeError, ValueError) as error:
            raise damaged(f"Unable to parse the saved slice of {name}", self.prefix, str(error)) from None
        data.dtype = tensor.dtype.as_datatype_enum
        for _, length in resolved(stored, tensor.shape):
            data.tensor_shape.dim.add(size=length)
        try:
            return np.array(above("gpuplace.graphdef.tensor_proto", "decode_tensor")(data))
        except InvalidArgumentError as error:
            raise damaged(f"Unable to parse the saved slice of {name}", self.prefix, str(error)) from None

    def debug_string(self) -> str:
        """Return a line for each tensor: name, type and shape."""
        lines = []
        for name, tensor in self._tensors.items():
            sizes = ",".join(map(str, tensor.shape))
            lines.append(f"{name} ({tensor.dtype.enum_name}) [{sizes}]\n")
        return "".join(lines)


def write_tensor_slices(path: str, tensors: Sequence[SavedTensor]) -> None:
    """Write a checkpoint to a single file; if that fails, an existing file is unchanged.

    Args:
        path: path of the file.
        tensors: tensors to write.

    Raises:
        InvalidArgumentError: a tensor or slice occurs twice, or slices of a tensor contradict each other.
        OpError: the file cannot be written.
    """
    head = SavedTensorSlices()
    head.meta.versions.producer = _VERSION
    entries: dict[bytes, bytes] = {}
    metas: dict[str, Any] = {}
    for tensor in tensors:
        shape = tensor.array.shape if tensor.shape is None else tensor.shape
        extents = full_slice(len(shape)) if tensor.shape is None else tensor.extents
        key = slice_key(tensor.name, extents)
        if key in entries:
            raise InvalidArgumentError.of(
                f"Adding duplicate key: {tensor.name}", hint="give each variable a unique name"
            )
        meta = metas.get(tensor.name)
        if meta is None:
            meta = metas[tensor.name] = head.meta.tensor.add(
                name=tensor.name, type=tensor.dtype.as_datatype_enum
            )
            meta.shape.SetInParent()
            for size in shape:
                meta.shape.dim.add(size=size)
        elif tuple(dim.size for dim in meta.shape.dim) != tuple(shape):
            raise InvalidArgumentError.of(
                f"Saved slices of {tensor.name} disagree about the shape of the whole tensor"
            )
        message = TensorSlice()
        add_extents(message, extents)
        meta.slice.append(message)
        content = SavedTensorSlices()
        content.data.name = tensor.name
        content.data.slice.CopyFrom(message)
        above("gpuplace.graphdef.tensor_proto", "add_values")(content.data.data, tensor.array, tensor.dtype)
        entries[key] = content.SerializeToString()
    with with_op_errors(path):
        folder = os.path.dirname(path)
        if folder:
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder)
        write_files({path: [write_table({b"": head.SerializeToString(), **entries})]})
