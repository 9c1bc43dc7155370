"""Ops that remap the rows and columns of a checkpoint's matrix to a new vocabulary.

    vocabularies -> remapping [-1 where a word is new] -> LoadAndRemapMatrix: rows of the checkpoint, or new values

Source: tensorflow/core/kernels/generate_vocab_remapping_op.cc and load_and_remap_matrix_op.cc, release 1.15.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from gpuplace.dtypes import float32
from gpuplace.errors import InvalidArgumentError, OutOfRangeError
from gpuplace.files.file_system import read_bytes
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.shape_rules import require_rank
from gpuplace.ops.support import new
from gpuplace.shapes import SCALAR_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = ["generate_vocab_remapping", "load_and_remap_matrix"]


def generate_vocab_remapping(
    new_vocab_file: TensorLike,
    old_vocab_file: TensorLike,
    new_vocab_offset: int,
    num_new_vocab: int,
    old_vocab_size: int = -1,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Find the words of a new vocabulary in an old one.

    Args:
        new_vocab_file: a file with one word per line; a string scalar.
        old_vocab_file: the old file, likewise.
        new_vocab_offset: index of the first word to look up.
        num_new_vocab: number of words to look up.
        old_vocab_size: number of words of the old vocabulary to use; -1: all.
        name: name of the operation.

    Returns:
        Their line numbers in the old file, int64 ``[num_new_vocab]``, -1 for missing words; and the number of words
        found, an int32 scalar.
    """
    op = apply_op(
        "GenerateVocabRemapping",
        name,
        new_vocab_file=new_vocab_file,
        old_vocab_file=old_vocab_file,
        new_vocab_offset=new_vocab_offset,
        num_new_vocab=num_new_vocab,
        old_vocab_size=old_vocab_size,
    )
    remapping, present = op.outputs
    return remapping, present


def load_and_remap_matrix(
    ckpt_path: TensorLike,
    old_tensor_name: TensorLike,
    row_remapping: TensorLike,
    col_remapping: TensorLike,
    initializing_values: TensorLike,
    num_rows: int,
    num_cols: int,
    max_rows_in_memory: int = -1,
    name: str | None = None,
) -> Tensor:
    """Load rows and columns of a matrix in a checkpoint.

    Args:
        ckpt_path: the checkpoint, a string scalar.
        old_tensor_name: name of the matrix.
        row_remapping: for each row its index in the checkpoint, int64; -1: a new row.
        col_remapping: for each column its index in the checkpoint, int64; empty: the same columns.
        initializing_values: values of the new rows and columns, in order.
        num_rows: number of rows in the result.
        num_cols: number of columns in the result.
        max_rows_in_memory: number of rows that TensorFlow reads at once; -1: all.
        name: name of the operation.

    Returns:
        float32 ``[num_rows, num_cols]``.
    """
    return new(
        "LoadAndRemapMatrix",
        name,
        ckpt_path=ckpt_path,
        old_tensor_name=old_tensor_name,
        row_remapping=row_remapping,
        col_remapping=col_remapping,
        initializing_values=initializing_values,
        num_rows=num_rows,
        num_cols=num_cols,
        max_rows_in_memory=max_rows_in_memory,
    )


@shape_function("GenerateVocabRemapping")
def _vocab_shape(op: Operation) -> list[TensorShape]:
    for file in op.inputs:
        require_rank(file.shape, 0)
    return [TensorShape([op.attrs["num_new_vocab"]]), SCALAR_SHAPE]


@shape_function("LoadAndRemapMatrix")
def _matrix_shape(op: Operation) -> list[TensorShape]:
    require_rank(op.inputs[2].shape, 1)
    require_rank(op.inputs[3].shape, 1)
    return [TensorShape([op.attrs["num_rows"], op.attrs["num_cols"]])]


_OLD = "old_vocab_size"


def _words(file: Any, what: str, count: int) -> list[bytes]:
    """Return the first words of a file; all of them if ``count`` is -1."""
    path = os.fsdecode(file.item() if hasattr(file, "item") else file)
    if count == 0 and what == _OLD:
        raise OutOfRangeError.of(f"{what} is 0, so no words of {path} would be used; use -1 for all words")
    lines = read_bytes(path).split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    if count > len(lines):
        raise InvalidArgumentError.of(
            f"Invalid vocab_size in {path}: {what} is {count}, but the file has {len(lines)} words"
        )
    return lines if count < 0 else lines[:count]


@compute("GenerateVocabRemapping")
def _remapping(
    xp: ArrayModule,
    new_vocab_file: Array,
    old_vocab_file: Array,
    *,
    new_vocab_offset: int,
    num_new_vocab: int,
    old_vocab_size: int,
) -> Any:
    old = {word: line for line, word in enumerate(_words(old_vocab_file, _OLD, old_vocab_size))}
    words = _words(new_vocab_file, "new_vocab_offset + num_new_vocab", new_vocab_offset + num_new_vocab)
    remapping = np.array([old.get(word, -1) for word in words[new_vocab_offset:]], np.int64)
    return remapping, np.asarray(np.count_nonzero(remapping >= 0), np.int32)


@compute("LoadAndRemapMatrix")
def _matrix(
    xp: Any, ckpt_path: Any, old_tensor_name: Any, row_remapping: Any, col_remapping: Any, initializing_values: Any, *,
    num_rows: int, num_cols: int, max_rows_in_memory: int,
) -> Any:  # fmt: skip
    from gpuplace.files.checkpoints.reader import open_checkpoint

    if row_remapping.size != num_rows:
        raise InvalidArgumentError.of(
            f"Size of row_remapping is {row_remapping.size} instead of being equal to num_rows={num_rows}"
        )
    if col_remapping.size not in (0, num_cols):
        raise InvalidArgumentError.of(
            f"Provided col_remapping, but its size is {col_remapping.size} instead of being equal to"
            f" num_cols={num_cols}"
        )
    checkpoint = open_checkpoint(os.fsdecode(ckpt_path.item()))
    name = os.fsdecode(old_tensor_name.item())
    if checkpoint.dtype(name) is not float32 or len(checkpoint.shape(name)) != 2:
        raise InvalidArgumentError.of(
            f"Input tensor {name} must be a float32 matrix, but it has dtype {checkpoint.dtype(name).name} and rank"
            f" {len(checkpoint.shape(name))}"
        )
    old = checkpoint.read(name)
    columns = col_remapping if col_remapping.size else np.arange(num_cols)
    for what, remapping, size in (("row", row_remapping, old.shape[0]), ("col", columns, old.shape[1])):
        old_indices = remapping[remapping >= 0]
        if old_indices.size and old_indices.max() >= size:
            raise InvalidArgumentError.of(
                f"{what}_remapping contains {old_indices.max()}, but the checkpoint has only {size} {what}s"
            )
        if remapping is not columns and np.unique(old_indices).size != old_indices.size:
            raise InvalidArgumentError.of(f"{what}_remapping maps two new {what}s to the same old {what}")
    is_there = (row_remapping >= 0)[:, None] & (columns >= 0)[None, :]
    missing = is_there.size - np.count_nonzero(is_there)
    values = initializing_values.reshape(-1)
    if missing > values.size:
        raise InvalidArgumentError.of(
            f"initializing_values contained {values.size} elements, but more missing values remain."
        )
    if missing < values.size:
        raise InvalidArgumentError.of(
            f"initializing_values contained {values.size} elements, but only {missing} elements were used to fill in"
            " missing values."
        )
    result = old[np.maximum(row_remapping, 0)[:, None], np.maximum(columns, 0)[None, :]]
    result[~is_there] = values
    return result


not_differentiable("GenerateVocabRemapping", "LoadAndRemapMatrix")
