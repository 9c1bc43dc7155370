"""Functions of TensorFlow 2 that lie below ``tensorflow.python`` in release 1.15 too, without a public name there.

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
    """``tf.constant`` that repeats one element alone, and does not fill up a shape with the last of several.

    Args:
        value: as for ``tf.constant``.
        dtype: the same.
        shape: its shape, of as many elements as the value has; None: the value's.
        name: name of the op.

    Raises:
        TypeError: the value has another number of elements than ``shape``.
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
    """``tf.decode_raw`` of texts that are cut, or filled up with zeros, to one length.

    Args:
        input_bytes: strings of any shape.
        out_type: type of the numbers.
        little_endian: order of the bytes in a number.
        fixed_length: bytes of each text that are read, a multiple of a number's; None: all texts have one length.
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
    """``tf.nn.dropout`` with the rate in the second place.

    Args:
        x: a tensor.
        rate: the share of elements set to zero.
        noise_shape: as for ``tf.nn.dropout``.
        seed: the same.
        name: the same.
    """
    return dropout(x, noise_shape=noise_shape, seed=seed, name=name, rate=rate)


def nce_loss_v2(*args: Any, **kwargs: Any) -> Any:
    """``tf.nn.nce_loss`` of slices that divide the classes in order.

    Args:
        *args: as for ``tf.nn.nce_loss``.
        **kwargs: the same.
    """
    loss: Any = nce_loss
    return loss(*args, partition_strategy="div", **kwargs)


def sampled_softmax_loss_v2(*args: Any, **kwargs: Any) -> Any:
    """``tf.nn.sampled_softmax_loss`` of slices that divide the classes in order.

    Args:
        *args: as for ``tf.nn.sampled_softmax_loss``.
        **kwargs: the same.
    """
    loss: Any = sampled_softmax_loss
    return loss(*args, partition_strategy="div", **kwargs)


def embedding_lookup_v2(
    params: TensorLike, ids: TensorLike, max_norm: float | None = None, name: str | None = None
) -> Any:
    """``tf.nn.embedding_lookup`` of slices that divide the rows in order.

    Args:
        params: the rows, or a list of slices.
        ids: numbers of rows.
        max_norm: the greatest length of a row; None: any.
        name: name scope.
    """
    return embedding_lookup(params, ids, "div", name, max_norm=max_norm)


def embedding_lookup_sparse_v2(
    params: TensorLike, sp_ids: Any, sp_weights: Any, combiner: str | None = None, max_norm: float | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """``tf.nn.embedding_lookup_sparse`` of slices that divide the rows in order.

    Args:
        params: the rows, or a list of slices.
        sp_ids: numbers of rows, a ``SparseTensor``.
        sp_weights: their weights; None: 1.
        combiner: ``"mean"``, ``"sqrtn"`` or ``"sum"``; None: ``"mean"``.
        max_norm: the greatest length of a row; None: any.
        name: name scope.
    """
    return embedding_lookup_sparse(params, sp_ids, sp_weights, "div", name, combiner or "mean", max_norm)


def safe_embedding_lookup_sparse_v2(
    embedding_weights: Any, sparse_ids: Any, sparse_weights: Any = None, combiner: str = "mean",
    default_id: int | None = None, max_norm: float | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """``tf.nn.safe_embedding_lookup_sparse`` of slices that divide the rows in order.

    Args:
        embedding_weights: the rows, or a list of slices.
        sparse_ids: numbers of rows, a ``SparseTensor``.
        sparse_weights: their weights; None: 1.
        combiner: ``"mean"``, ``"sqrtn"`` or ``"sum"``.
        default_id: the row of what has none; None: zeros.
        max_norm: the greatest length of a row; None: any.
        name: name scope.
    """
    return safe_embedding_lookup_sparse(
        embedding_weights, sparse_ids, sparse_weights, combiner, default_id, name, "div", max_norm
    )
