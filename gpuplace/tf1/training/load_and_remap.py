"""Matrices whose rows and columns follow a new vocabulary, read from a checkpoint with an old one.

    checkpoint [old rows, old columns] ──rows and columns of the new words──> [new rows, new columns]
                                          new words: the initializer's values
                                          unknown words: further rows and columns from the initializer

Source: tensorflow/python/training/checkpoint_ops.py and
tensorflow/contrib/framework/python/ops/checkpoint_ops.py, release 1.15 (names, messages).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuplace.dtypes import as_dtype, float32, int64
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import range as range_op
from gpuplace.ops.array.joining import concat
from gpuplace.ops.variables.init_ops import TruncatedNormal, Zeros
from gpuplace.tf1.input.vocab_remapping import generate_vocab_remapping, load_and_remap_matrix
from gpuplace.typing import DTypeLike

__all__ = [
    "load_and_remap_matrix_initializer",
    "load_embedding_initializer",
    "load_linear_multiclass_bias_initializer",
    "remapped_matrix",
]


def _check_files(what: str, old: str | None, new: str | None) -> None:
    if bool(old) != bool(new):
        raise ValueError(
            f"old_{what}_vocab_file and new_{what}_vocab_file must both be specified or left unspecified."
            f" old_{what}_vocab_file='{old}', new_{what}_vocab_file='{new}'"
        )


def remapped_matrix(
    ckpt_path: str,
    old_tensor_name: str,
    new_row_vocab_offset: int,
    num_rows_to_load: int,
    new_col_vocab_size: int,
    initializer: Callable[..., Any],
    old_row_vocab_size: int = -1,
    old_row_vocab_file: str | None = None,
    new_row_vocab_file: str | None = None,
    old_col_vocab_file: str | None = None,
    new_col_vocab_file: str | None = None,
    num_row_oov_buckets: int = 0,
    num_col_oov_buckets: int = 0,
    max_rows_in_memory: int = -1,
) -> Tensor:
    """Load a matrix from a checkpoint with its rows, columns or both rearranged for new vocabularies.

    Args:
        ckpt_path: the checkpoint.
        old_tensor_name: the matrix's name there.
        new_row_vocab_offset: index of the first row's word in the new vocabulary.
        num_rows_to_load: number of rows for words.
        new_col_vocab_size: number of columns for words.
        initializer: function from a shape to the values that the checkpoint lacks.
        old_row_vocab_size: number of words of the old row vocabulary to use; -1 for all.
        old_row_vocab_file: a file with the words of the checkpoint's rows, one on each line; None: rows stay.
        new_row_vocab_file: the same for the new rows.
        old_col_vocab_file: the same for the checkpoint's columns; None: columns stay.
        new_col_vocab_file: the same for the new columns.
        num_row_oov_buckets: number of further rows, for unknown words.
        num_col_oov_buckets: number of further columns, for unknown words.
        max_rows_in_memory: recorded in the graph only; the whole matrix is read.

    Returns:
        float32 ``[num_rows_to_load + num_row_oov_buckets, new_col_vocab_size + num_col_oov_buckets]``.

    Raises:
        ValueError: a number is negative, or a file is missing.
    """
    for name, count in (
        ("num_row_oov_buckets", num_row_oov_buckets),
        ("num_col_oov_buckets", num_col_oov_buckets),
    ):
        if count < 0:
            raise ValueError(f"{name} must be >= 0, but received {count}")
    _check_files("row", old_row_vocab_file, new_row_vocab_file)
    _check_files("col", old_col_vocab_file, new_col_vocab_file)
    if not new_row_vocab_file and not new_col_vocab_file:
        raise ValueError(
            "Must provide either row or column vocab files. If no remapping is necessary, consider using"
            " `tf.contrib.framework.init_from_checkpoint` instead."
        )
    rows, columns = num_rows_to_load, new_col_vocab_size
    row_map: Any
    column_map: Any = []
    present: Any = rows
    known: Any = columns
    if new_row_vocab_file and old_row_vocab_file:
        files = new_row_vocab_file, old_row_vocab_file
        row_map, present = generate_vocab_remapping(*files, new_row_vocab_offset, rows, old_row_vocab_size)
    else:
        row_map = range_op(new_row_vocab_offset, new_row_vocab_offset + rows, dtype=int64)
    if new_col_vocab_file and old_col_vocab_file:
        column_map, known = generate_vocab_remapping(new_col_vocab_file, old_col_vocab_file, 0, columns)
    filling = initializer([rows * columns - present * known, 1])
    value = load_and_remap_matrix(
        ckpt_path, old_tensor_name, row_map, column_map, filling, rows, columns, max_rows_in_memory
    )
    if num_row_oov_buckets:
        value = concat([value, convert_to_tensor(initializer([num_row_oov_buckets, columns]))], 0)
    if num_col_oov_buckets:
        further = [rows + num_row_oov_buckets, num_col_oov_buckets]
        value = concat([value, convert_to_tensor(initializer(further))], 1)
    return value


def load_and_remap_matrix_initializer(
    ckpt_path: str,
    old_tensor_name: str,
    new_row_vocab_size: int,
    new_col_vocab_size: int,
    old_row_vocab_size: int = -1,
    old_row_vocab_file: str | None = None,
    new_row_vocab_file: str | None = None,
    old_col_vocab_file: str | None = None,
    new_col_vocab_file: str | None = None,
    num_row_oov_buckets: int = 0,
    num_col_oov_buckets: int = 0,
    initializer: Callable[..., Any] | None = None,
    max_rows_in_memory: int = -1,
) -> Callable[..., Tensor]:
    """Return an initializer that reads a matrix from a checkpoint, for a variable that may be partitioned by rows.

    Args:
        ckpt_path: the checkpoint.
        old_tensor_name: the matrix's name there.
        new_row_vocab_size: number of rows for words.
        new_col_vocab_size: number of columns for words.
        old_row_vocab_size: as for ``remapped_matrix``, like the other arguments.
        old_row_vocab_file: the same.
        new_row_vocab_file: the same.
        old_col_vocab_file: the same.
        new_col_vocab_file: the same.
        num_row_oov_buckets: the same.
        num_col_oov_buckets: the same.
        initializer: the same; None for zeros.
        max_rows_in_memory: the same.

    Returns:
        A function from shape, dtype and partition to a tensor. It raises TypeError for a dtype other than
        float32, and ValueError for a shape other than the matrix's.

    Raises:
        TypeError: ``initializer`` is not callable.
    """
    fill: Any = Zeros() if initializer is None else initializer
    if not callable(fill):
        raise TypeError(f"initializer must be callable, instead of being {fill} of type {type(fill)}.")
    all_rows = new_row_vocab_size + num_row_oov_buckets

    def initial(shape: Any, dtype: DTypeLike = float32, partition_info: Any = None) -> Tensor:
        if as_dtype(dtype) is not float32:
            raise TypeError(f"Currently, only float32 is supported. Received dtype: {dtype}")
        if len(shape) != 2:
            raise ValueError(f"Expected 2-dim shape, but received: {shape}")
        if shape[0] <= 0:
            raise ValueError(f"Expected 1st dim of shape to be > 0, but received shape: {shape}")
        if shape[1] != new_col_vocab_size + num_col_oov_buckets:
            raise ValueError(
                f"Expected 2nd dim of shape to be new_col_vocab_size ({new_col_vocab_size}) + num_col_oov_buckets"
                f" ({num_col_oov_buckets}) = {new_col_vocab_size + num_col_oov_buckets}, but received shape: {shape}"
            )
        offset = 0 if partition_info is None else partition_info.single_offset(shape)
        if offset + shape[0] > all_rows:
            raise ValueError(
                f"Trying to initialize {shape[0]} additional rows after {offset} rows have already been initialized,"
                f" which would exceed expected total row count of new_row_vocab_size ({new_row_vocab_size}) +"
                f" num_row_oov_buckets ({num_row_oov_buckets}) = {all_rows}."
            )
        further = min(shape[0], max(0, offset + shape[0] - new_row_vocab_size))
        if further == shape[0]:
            return convert_to_tensor(fill(shape))
        return remapped_matrix(
            ckpt_path,
            old_tensor_name,
            offset,
            shape[0] - further,
            new_col_vocab_size,
            fill,
            old_row_vocab_size,
            old_row_vocab_file,
            new_row_vocab_file,
            old_col_vocab_file,
            new_col_vocab_file,
            further,
            num_col_oov_buckets,
            max_rows_in_memory,
        )

    return initial


def load_embedding_initializer(
    ckpt_path: str,
    embedding_tensor_name: str,
    new_vocab_size: int,
    embedding_dim: int,
    old_vocab_file: str,
    new_vocab_file: str,
    old_vocab_size: int = -1,
    num_oov_buckets: int = 0,
    initializer: Callable[..., Any] | None = None,
    max_rows_in_memory: int = -1,
) -> Callable[..., Tensor]:
    """Return an initializer that reads an embedding from a checkpoint, with a row for each new word.

    Args:
        ckpt_path: the checkpoint.
        embedding_tensor_name: the embedding's name there.
        new_vocab_size: number of words.
        embedding_dim: number of columns.
        old_vocab_file: a file with the words of the checkpoint's rows, one on each line.
        new_vocab_file: the same for the new rows.
        old_vocab_size: number of words of the old vocabulary to use; -1 for all.
        num_oov_buckets: number of further rows, for unknown words.
        initializer: initializer of values that the checkpoint lacks; None for a truncated normal distribution with
            standard deviation ``1 / sqrt(embedding_dim)``.
        max_rows_in_memory: recorded in the graph only.

    Returns:
        The initializer, as ``load_and_remap_matrix_initializer`` returns it.

    Raises:
        TypeError: ``initializer`` is not callable.
    """
    if initializer is None:
        initializer = TruncatedNormal(stddev=embedding_dim**-0.5)
    return load_and_remap_matrix_initializer(
        ckpt_path,
        embedding_tensor_name,
        new_vocab_size,
        embedding_dim,
        old_vocab_size,
        old_vocab_file,
        new_vocab_file,
        num_row_oov_buckets=num_oov_buckets,
        initializer=initializer,
        max_rows_in_memory=max_rows_in_memory,
    )


def load_linear_multiclass_bias_initializer(
    ckpt_path: str,
    bias_tensor_name: str,
    new_class_vocab_size: int,
    old_class_vocab_file: str,
    new_class_vocab_file: str,
    num_class_oov_buckets: int = 0,
    initializer: Callable[..., Any] | None = None,
    max_rows_in_memory: int = -1,
) -> Callable[..., Tensor]:
    """Return an initializer that reads the biases of classes from a checkpoint, one for each word of a new vocabulary.

    Args:
        ckpt_path: the checkpoint.
        bias_tensor_name: the name of the biases there; their shape is ``[classes, 1]``.
        new_class_vocab_size: number of classes.
        old_class_vocab_file: a file with the names of the checkpoint's classes, one on each line.
        new_class_vocab_file: the same for the new classes.
        num_class_oov_buckets: number of further rows, for unknown classes.
        initializer: initializer of values that the checkpoint lacks; None for zeros.
        max_rows_in_memory: recorded in the graph only.

    Returns:
        The initializer, as ``load_and_remap_matrix_initializer`` returns it, for a variable ``[classes, 1]``.

    Raises:
        TypeError: ``initializer`` is not callable.
    """
    return load_and_remap_matrix_initializer(
        ckpt_path,
        bias_tensor_name,
        new_class_vocab_size,
        1,
        old_row_vocab_file=old_class_vocab_file,
        new_row_vocab_file=new_class_vocab_file,
        num_row_oov_buckets=num_class_oov_buckets,
        initializer=initializer,
        max_rows_in_memory=max_rows_in_memory,
    )
