"""Ops that write tensors to checkpoints and read them back, always in host memory.

``gpuplace.files.checkpoints`` reads and writes the files; it is loaded when one of these ops first runs.

Source: tensorflow/core/kernels/save_restore_v2_ops.cc, save_restore_tensor.cc and tensorflow/core/ops/io_ops.cc,
release 1.15.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import DType
from gpuplace.errors import InvalidArgumentError, OpError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.shape_rules import merge_sizes, require_rank
from gpuplace.ops.support import new
from gpuplace.shapes import SCALAR_SHAPE, UNKNOWN_SHAPE, TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "merge_v2_checkpoints",
    "restore_v2",
    "save_slices",
    "save_v2",
    "sharded_filename",
    "sharded_filespec",
]


def save_v2(
    prefix: TensorLike,
    tensor_names: Any,
    shape_and_slices: Any,
    tensors: Sequence[Any],
    name: str | None = None,
) -> Operation:
    """Return an operation that writes a checkpoint in the current (V2) format.

    Args:
        prefix: prefix of the file names, a string scalar.
        tensor_names: names to save the tensors under, a string vector.
        shape_and_slices: for each tensor, the full shape and the slice that it is, ``"4 6 0,2:-"``; empty for a whole
            tensor.
        tensors: the tensors, of any dtypes and shapes.
        name: name of the operation.
    """
    return apply_op(
        "SaveV2",
        name,
        prefix=prefix,
        tensor_names=tensor_names,
        shape_and_slices=shape_and_slices,
        tensors=tensors,
    )


def save_slices(
    filename: TensorLike,
    tensor_names: Any,
    tensors: Sequence[Any],
    tensor_slices: Any = None,
    name: str = "save",
) -> Operation:
    """Return an operation that writes a checkpoint in the first (V1) format.

    Args:
        filename: name of the checkpoint's single file, a string scalar.
        tensor_names: names to save the tensors under, a string vector.
        tensors: the tensors, of any dtypes and shapes.
        tensor_slices: as for `save_v2`. None or empty strings add a ``Save`` op, otherwise a ``SaveSlices``.
        name: name of the operation.
    """
    if tensor_slices is None:
        return apply_op("Save", name, filename=filename, tensor_names=tensor_names, data=tensors)
    return apply_op(
        "SaveSlices",
        name,
        filename=filename,
        tensor_names=tensor_names,
        shapes_and_slices=tensor_slices,
        data=tensors,
    )


def restore_v2(
    prefix: TensorLike,
    tensor_names: Any,
    shape_and_slices: Any,
    dtypes: Sequence[Any],
    name: str | None = None,
) -> list[Tensor]:
    """Return tensors read from a checkpoint of either format.

    Args:
        prefix: prefix of the file names, a string scalar.
        tensor_names: names of the tensors, a string vector.
        shape_and_slices: for each tensor, the slice to read, ``"4 6 0,2:-"``; empty for a whole tensor.
        dtypes: the tensors' dtypes.
        name: name of the operation.

    Returns:
        A list of tensors of these dtypes; slices determine their static shapes.

    Raises:
        NotFoundError: at run time, the checkpoint does not exist or lacks a tensor.
        InvalidArgumentError: at run time, a tensor has an unsupported dtype or shape.
        DataLossError: at run time, the checkpoint is damaged.
    """
    op = apply_op(
        "RestoreV2",
        name,
        prefix=prefix,
        tensor_names=tensor_names,
        shape_and_slices=shape_and_slices,
        dtypes=dtypes,
    )
    return list(op.outputs)


def merge_v2_checkpoints(
    checkpoint_prefixes: Any,
    destination_prefix: TensorLike,
    delete_old_dirs: bool = True,
    name: str | None = None,
) -> Operation:
    """Return an operation that merges the checkpoints of several shards into one.

    Args:
        checkpoint_prefixes: prefixes of the shards' checkpoints, a string vector; their files are moved.
        destination_prefix: prefix of the merged checkpoint, a string scalar.
        delete_old_dirs: whether to remove folders that become empty.
        name: name of the operation.
    """
    return apply_op(
        "MergeV2Checkpoints",
        name,
        checkpoint_prefixes=checkpoint_prefixes,
        destination_prefix=destination_prefix,
        delete_old_dirs=delete_old_dirs,
    )


def sharded_filename(
    basename: TensorLike, shard: TensorLike, num_shards: TensorLike, name: str | None = None
) -> Tensor:
    """Return the name of a shard's file, ``"model-00000-of-00002"``.

    Args:
        basename: start of the name, a string scalar.
        shard: index of the shard, an int32 scalar.
        num_shards: the number of shards, an int32 scalar.
        name: name of the operation.
    """
    return new("ShardedFilename", name, basename=basename, shard=shard, num_shards=num_shards)


def sharded_filespec(basename: TensorLike, num_shards: TensorLike, name: str | None = None) -> Tensor:
    """Return a pattern for the names of all shards' files, ``"model-?????-of-00002"``.

    Args:
        basename: start of the names, a string scalar.
        num_shards: the number of shards, an int32 scalar.
        name: name of the operation.
    """
    return new("ShardedFilespec", name, basename=basename, num_shards=num_shards)


# Shapes


@shape_function("SaveV2")
def _save_shape(op: Operation) -> Any:
    _check_vectors(op, len(op.attrs["dtypes"]), op.inputs[1:3])
    return ()


@shape_function("Save")
def _save_v1_shape(op: Operation) -> Any:
    _check_vectors(op, len(op.attrs["T"]), op.inputs[1:2])
    return ()


@shape_function("SaveSlices")
def _save_slices_shape(op: Operation) -> Any:
    _check_vectors(op, len(op.attrs["T"]), op.inputs[1:3])
    return ()


@shape_function("RestoreV2")
def _restore_shape(op: Operation) -> list[TensorShape]:
    count = len(op.attrs["dtypes"])
    _check_vectors(op, count, op.inputs[1:3])
    texts = constant_value(op.inputs[2])
    if texts is None:
        return [UNKNOWN_SHAPE] * count
    return [_slice_shape(text) for text in texts.tolist()]


@shape_function("RestoreSlice")
def _restore_slice_shape(op: Operation) -> list[TensorShape]:
    for tensor in op.inputs:
        require_rank(tensor.shape, 0)
    text = constant_value(op.inputs[2])
    return [UNKNOWN_SHAPE if text is None else _slice_shape(text.item())]


@shape_function("Restore")
def _restore_v1_shape(op: Operation) -> list[TensorShape]:
    for tensor in op.inputs:
        require_rank(tensor.shape, 0)
    return [UNKNOWN_SHAPE]


@shape_function("MergeV2Checkpoints")
def _merge_shape(op: Operation) -> Any:
    require_rank(op.inputs[0].shape, 1)
    require_rank(op.inputs[1].shape, 0)
    return ()


@shape_function("ShardedFilename", "ShardedFilespec")
def _filename_shape(op: Operation) -> list[TensorShape]:
    for tensor in op.inputs:
        require_rank(tensor.shape, 0)
    return [SCALAR_SHAPE]


def _check_vectors(op: Operation, count: int, vectors: Sequence[Tensor]) -> None:
    require_rank(op.inputs[0].shape, 0)
    for vector in vectors:
        size = require_rank(vector.shape, 1).dims
        assert size is not None
        try:
            merge_sizes(size[0].value, count)
        except ValueError:
            raise ValueError(f"Dimension must be {size[0].value} but is {count}") from None


def _slice_shape(text: bytes) -> TensorShape:
    if not text:
        return UNKNOWN_SHAPE
    from gpuplace.files.checkpoints.slices import parse_shape_and_slice

    try:
        return TensorShape.of(parse_shape_and_slice(text.decode())[2])
    except OpError as error:
        raise ValueError(error.message) from None


# Kernels


@compute("SaveV2")
def _save(
    xp: ArrayModule,
    prefix: Array,
    tensor_names: Array,
    shape_and_slices: Array,
    tensors: list[Any],
    *,
    dtypes: Any,
) -> Any:
    from gpuplace.files.checkpoints.bundle import write_bundle

    write_bundle(_text(prefix), _saved(tensor_names, shape_and_slices, tensors, dtypes))
    return ()


@compute("Save")
def _save_v1(xp: ArrayModule, filename: Array, tensor_names: Array, data: list[Any], *, T: Any) -> Any:
    from gpuplace.files.checkpoints.tensor_slices import write_tensor_slices

    write_tensor_slices(_text(filename), _saved(tensor_names, None, data, T))
    return ()


@compute("SaveSlices")
def _save_slices(
    xp: ArrayModule,
    filename: Array,
    tensor_names: Array,
    shapes_and_slices: Array,
    data: list[Any],
    *,
    T: Any,
) -> Any:
    from gpuplace.files.checkpoints.tensor_slices import write_tensor_slices

    write_tensor_slices(_text(filename), _saved(tensor_names, shapes_and_slices, data, T))
    return ()


def _saved(names: Any, slices: Any, tensors: list[Any], dtypes: Sequence[DType]) -> list[Any]:
    """Return the data to write, in the file formats' terms."""
    from gpuplace.files.checkpoints.bundle import SavedTensor
    from gpuplace.files.checkpoints.slices import parse_shape_and_slice

    texts = [b""] * len(tensors) if slices is None else slices.reshape(-1).tolist()
    for label, count in (("tensor_names", names.size), ("shape_and_slices", len(texts))):
        if count != len(tensors):
            raise InvalidArgumentError.of(
                f"Input {label} must have {len(tensors)} elements, one for each tensor; got {count}"
            )
    saved = []
    for name, text, array, dtype in zip(names.reshape(-1).tolist(), texts, tensors, dtypes, strict=True):
        value = np.asarray(array)
        if not text:
            saved.append(SavedTensor(name.decode(), value, dtype))
            continue
        shape, extents, sizes = parse_shape_and_slice(text.decode())
        if sizes != value.shape:
            raise InvalidArgumentError.of(
                "Slice in shape_and_slice specification does not match the shape of the tensor to  save: "
                f"{text.decode()}, tensor: {brackets(TensorShape.of(value.shape))}"
            )
        saved.append(SavedTensor(name.decode(), value, dtype, shape, extents))
    return saved


@compute("RestoreV2", fresh=True)
def _restore(
    xp: ArrayModule, prefix: Array, tensor_names: Array, shape_and_slices: Array, *, dtypes: Any
) -> Any:
    from gpuplace.files.checkpoints.reader import open_checkpoint

    names, texts = tensor_names.reshape(-1).tolist(), shape_and_slices.reshape(-1).tolist()
    if not len(names) == len(texts) == len(dtypes):
        raise InvalidArgumentError.of(
            f"Got {len(names)} tensor names, {len(texts)} slices and {len(dtypes)} dtypes; the numbers must be equal"
        )
    checkpoint = open_checkpoint(_text(prefix))
    for name in names:
        checkpoint.dtype(name.decode())
    tensors = [
        _restored(checkpoint, name.decode(), text.decode(), dtype)
        for name, text, dtype in zip(names, texts, dtypes, strict=True)
    ]
    return tensors[0] if len(tensors) == 1 else tuple(tensors)


@compute("Restore", fresh=True)
def _restore_v1(xp: ArrayModule, file_pattern: Array, tensor_name: Array, *, dt: DType) -> Array:
    from gpuplace.files.checkpoints.reader import open_checkpoint

    return _restored(open_checkpoint(_text(file_pattern)), _text(tensor_name), "", dt)


@compute("RestoreSlice", fresh=True)
def _restore_slice(
    xp: ArrayModule, file_pattern: Array, tensor_name: Array, shape_and_slice: Array, *, dt: DType
) -> Array:
    from gpuplace.files.checkpoints.reader import open_checkpoint

    return _restored(open_checkpoint(_text(file_pattern)), _text(tensor_name), _text(shape_and_slice), dt)


def _restored(checkpoint: Any, name: str, text: str, dtype: DType) -> Any:
    """Read a tensor or a slice from a checkpoint and check it against the graph."""
    from gpuplace.files.checkpoints.slices import parse_shape_and_slice

    stored = checkpoint.dtype(name)
    if stored is not dtype:
        raise InvalidArgumentError.of(
            f"tensor_name = {name}; expected dtype {dtype.short_name} does not equal original dtype "
            f"{stored.short_name}"
        )
    if not text:
        return checkpoint.read(name)
    shape, extents, _ = parse_shape_and_slice(text)
    saved = checkpoint.shape(name)
    if shape != saved:
        raise InvalidArgumentError.of(
            f"tensor_name = {name}; shape in shape_and_slice spec {brackets(TensorShape.of(shape))} does not match the"
            f" shape stored in checkpoint: {brackets(TensorShape.of(saved))}"
        )
    return checkpoint.read(name, extents)


@compute("MergeV2Checkpoints")
def _merge(
    xp: ArrayModule, checkpoint_prefixes: Array, destination_prefix: Array, *, delete_old_dirs: bool
) -> Any:
    from gpuplace.files.checkpoints.bundle import merge_bundles

    prefixes = [text.decode() for text in checkpoint_prefixes.reshape(-1).tolist()]
    merged = _text(destination_prefix)
    merge_bundles(prefixes, merged)
    if delete_old_dirs:
        for folder in {os.path.dirname(prefix) for prefix in prefixes} - {os.path.dirname(merged)}:
            with contextlib.suppress(OSError):  # the folder may hold other files
                os.rmdir(folder)
    return ()


@compute("ShardedFilename", fresh=True)
def _sharded_filename(xp: ArrayModule, basename: Array, shard: Array, num_shards: Array) -> Array:
    return np.asarray(b"%s-%05d-of-%05d" % (basename.item(), int(shard), int(num_shards)), object)


@compute("ShardedFilespec", fresh=True)
def _sharded_filespec(xp: ArrayModule, basename: Array, num_shards: Array) -> Array:
    return np.asarray(b"%s-?????-of-%05d" % (basename.item(), int(num_shards)), object)


def _text(value: Any) -> str:
    text = value.item() if hasattr(value, "item") else value
    return os.fsdecode(text)


not_differentiable(
    "SaveV2", "Save", "SaveSlices", "RestoreV2", "Restore", "RestoreSlice", "MergeV2Checkpoints", "ShardedFilename",
    "ShardedFilespec",
)  # fmt: skip
