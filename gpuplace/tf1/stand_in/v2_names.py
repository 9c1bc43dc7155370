"""Functions of TensorFlow 2 that are also in ``tensorflow.python`` of release 1.15, without a public name.

Source: tensorflow/python/ops/nn_ops.py, nn_impl.py, embedding_ops.py, parsing_ops.py and
framework/constant_op.py, release 1.15.
"""

from __future__ import annotations

import math
from typing import Any

from gpuplace.dtypes import as_array
from gpuplace.ops.array.constant import constant
from gpuplace.ops.nn.misc import dropout, embedding_lookup
from gpuplace.ops.support import new
from gpuplace.shapes import as_shape
from gpuplace.tf1.nn.sampling import nce_loss, sampled_softmax_loss
from gpuplace.tf1.sparse.embedding import embedding_lookup_sparse, safe_embedding_lookup_sparse
from gpuplace.tf1.text.regex_and_encoding import decode_raw
from gpuplace.typing import TensorLike

__all__ = [
    "constant_v2", "decode_raw_v2", "dropout_v2", "embedding_lookup_sparse_v2", "embedding_lookup_v2", "nce_loss_v2",
    "safe_embedding_lookup_sparse_v2",
    "sampled_softmax_loss_v2",
]  # fmt: skip


def constant_v2(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Any:
    """Return ``tf.constant``, but repeat only a single element; several elements must fill the shape.

    Args:
        value: as for ``tf.constant``.
        dtype: the same.
        shape: its shape, with as many elements as the value; None for the value's.
        name: name of the op.

    Raises:
        TypeError: the number of elements in the value does not match ``shape``.
    """
    if shape is not None:
        array, sizes = as_array(value, dtype), tuple(as_shape(shape).known_sizes)
        if array.shape not in ((), (1,)) and array.size != math.prod(sizes):
            raise TypeError(f"Expected Tensor's shape: {sizes}, got {array.shape}.")
    return constant(value, dtype, shape, name)


def decode_raw_v2(
    input_bytes: Any,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: int | None = None,
    name: str | None = None,
) -> Any:
    """Return ``tf.decode_raw`` of strings that are cut, or padded with zeros, to one length.

    Args:
        input_bytes: strings of any shape.
        out_type: type of the numbers.
        little_endian: byte order of the numbers.
        fixed_length: number of bytes to read from each string, a multiple of a number's size; None: all
            strings have one length.
        name: name of the op.
    """
    if fixed_length is None:
        return decode_raw(input_bytes, out_type, little_endian, name)
    return new(
        "DecodePaddedRaw",
        name,
        input_bytes=input_bytes,
        fixed_length=fixed_length,
        out_type=out_type,
        little_endian=little_endian,
    )


def dropout_v2(
    x: TensorLike, rate: TensorLike, noise_shape: Any = None, seed: int | None = None, name: str | None = None
) -> Any:
    """Return ``tf.nn.dropout`` with the rate as the second argument.

    Args:
        x: a tensor.
        rate: the fraction of elements to set to zero.
        noise_shape: as for ``tf.nn.dropout``.
        seed: as for ``tf.nn.dropout``.
        name: the same.
    """
    return dropout(x, noise_shape=noise_shape, seed=seed, name=name, rate=rate)


def nce_loss_v2(*args: Any, **kwargs: Any) -> Any:
    """Return ``tf.nn.nce_loss`` with classes partitioned in order.

    Args:
        *args: as for ``tf.nn.nce_loss``.
        **kwargs: as above.
    """
    loss: Any = nce_loss
    return loss(*args, partition_strategy="div", **kwargs)


def sampled_softmax_loss_v2(*args: Any, **kwargs: Any) -> Any:
    """Return ``tf.nn.sampled_softmax_loss`` with classes partitioned in order.

    Args:
        *args: as for ``tf.nn.sampled_softmax_loss``.
        **kwargs: as above.
    """
    loss: Any = sampled_softmax_loss
    return loss(*args, partition_strategy="div", **kwargs)


def embedding_lookup_v2(
    params: TensorLike, ids: TensorLike, max_norm: float | None = None, name: str | None = None
) -> Any:
    """Return ``tf.nn.embedding_lookup`` with rows partitioned in order.

    Args:
        params: the embedding, or a list of its slices.
        ids: row numbers.
        max_norm: the largest norm of a row; None for any.
        name: name scope.
    """
    return embedding_lookup(params, ids, "div", name, max_norm=max_norm)


def embedding_lookup_sparse_v2(
    params: TensorLike, sp_ids: Any, sp_weights: Any, combiner: str | None = None, max_norm: float | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Return ``tf.nn.embedding_lookup_sparse`` with rows partitioned in order.

    Args:
        params: the embedding, or a list of its slices.
        sp_ids: row numbers, a ``SparseTensor``.
        sp_weights: their weights; None for 1.
        combiner: ``"mean"``, ``"sqrtn"`` or ``"sum"``; None for ``"mean"``.
        max_norm: the largest norm of a row; None for any.
        name: name scope.
    """
    return embedding_lookup_sparse(params, sp_ids, sp_weights, "div", name, combiner or "mean", max_norm)


def safe_embedding_lookup_sparse_v2(
    embedding_weights: Any, sparse_ids: Any, sparse_weights: Any = None, combiner: str = "mean",
    default_id: int | None = None, max_norm: float | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Return ``tf.nn.safe_embedding_lookup_sparse`` with rows partitioned in order.

    Args:
        embedding_weights: the embedding, or a list of its slices.
        sparse_ids: row numbers, a ``SparseTensor``.
        sparse_weights: their weights; None for 1.
        combiner: ``"mean"``, ``"sqrtn"`` or ``"sum"``.
        default_id: the row for examples without ids; None for zeros.
        max_norm: the largest norm of a row; None for any.
        name: name scope.
    """
    return safe_embedding_lookup_sparse(
        embedding_weights, sparse_ids, sparse_weights, combiner, default_id, name, "div", max_norm
    )
