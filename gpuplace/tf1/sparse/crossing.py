"""Feature crosses: every combination of the values that columns have in a row, as a string or a hash.

    row 1:  a, b   and   c     ->   a_X_c, b_X_c

Source: tensorflow/core/kernels/sparse_cross_op.cc, core/platform/fingerprint.h (``FingerprintCat64``) and
tensorflow/python/ops/sparse_ops.py, release 1.15.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.math.cast import cast
from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.tf1.text.fingerprints import fingerprint64

_DEFAULT_HASH_KEY = 0xDECAFCAFFE
_FACTOR = 0xC6A4A7935BD1E995
_MASK = 0xFFFFFFFFFFFFFFFF


def sparse_cross(inputs: Sequence[Any], name: str | None = None) -> SparseTensor:
    """Return feature crosses of columns as strings.

    >>> import gpuplace as tf
    >>> crossed = tf.sparse.cross([tf.constant([["a", "b"]]), tf.constant([["c"]])])
    >>> tf.Session().run(crossed.values).tolist()
    [b'a_X_c', b'b_X_c']

    Args:
        inputs: columns, ``SparseTensor`` or tensors of rank 2, strings or integers; sparse columns come
            first.
        name: name of the op.

    Returns:
        A ``SparseTensor`` of strings.

    Raises:
        TypeError: ``inputs`` is not a list, or a column has the wrong type.
    """
    return _crossed(inputs, False, 0, None, name)


def sparse_cross_hashed(
    inputs: Sequence[Any], num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """Return feature crosses of columns as hashes.

    Args:
        inputs: columns, ``SparseTensor`` or tensors of rank 2, strings or integers; sparse columns come
            first.
        num_buckets: hashes are smaller than this number; 0 for any.
        hash_key: the initial hash; None for TensorFlow's number.
        name: name of the op.

    Returns:
        A ``SparseTensor`` of int64.

    Raises:
        TypeError: ``inputs`` is not a list, or a column has the wrong type.
    """
    return _crossed(inputs, True, num_buckets, hash_key, name)


def _crossed(
    inputs: Sequence[Any], hashed: bool, num_buckets: int, hash_key: int | None, name: str | None
) -> SparseTensor:
    if not isinstance(inputs, (tuple, list)):
        raise TypeError("Inputs must be a list")
    columns = [one if isinstance(one, SparseTensor) else convert_to_tensor(one) for one in inputs]
    sparse = [column for column in columns if isinstance(column, SparseTensor)]
    dense = [one for one in columns if not isinstance(one, SparseTensor)]
    out_type = "int64" if hashed else "string"
    any_whole = any(one.dtype.name != "string" for one in columns)
    op = apply_op(
        "SparseCross",
        name,
        indices=[one.indices for one in sparse],
        values=[_text_or_int64(one.values) for one in sparse],
        shapes=[one.dense_shape for one in sparse],
        dense_inputs=[_text_or_int64(one) for one in dense],
        hashed_output=hashed,
        num_buckets=num_buckets,
        hash_key=_DEFAULT_HASH_KEY if hash_key is None else hash_key,
        out_type=out_type,
        internal_type="int64" if any_whole else "string",
    )
    return SparseTensor(*op.outputs)


def _text_or_int64(tensor: Any) -> Any:
    return tensor if tensor.dtype.name == "string" else cast(tensor, "int64")


@compute("SparseCross", slow=True)
def _sparse_cross(
    xp: Any, indices: Sequence[Any], values: Sequence[Any], shapes: Sequence[Any], dense_inputs: Sequence[Any], *,
    hashed_output: bool, num_buckets: int, hash_key: int, out_type: Any, internal_type: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    for at, held, shape in zip(indices, values, shapes, strict=True):
        if at.ndim != 2 or at.shape[1] != 2 or held.ndim != 1 or shape.shape != (2,):
            raise InvalidArgumentError.of("Input indices must be a matrix of pairs, one for each value")
    if not shapes and not dense_inputs:
        raise InvalidArgumentError.of("There are no columns to cross")
    count = int(shapes[0][0]) if shapes else dense_inputs[0].shape[0]
    if any(int(shape[0]) != count for shape in shapes) or any(one.shape[0] != count for one in dense_inputs):
        raise InvalidArgumentError.of("Expected batch size of all inputs to be the same")
    rows: list[list[list[Any]]] = [[[] for _ in range(len(values) + len(dense_inputs))] for _ in range(count)]
    for number, (at, held) in enumerate(zip(indices, values, strict=True)):
        for row, value in zip(at[:, 0].tolist(), held.tolist(), strict=True):
            rows[row][number].append(value)
    for number, held in enumerate(dense_inputs, len(values)):
        for row, line in enumerate(held.tolist()):
            rows[row][number] = line
    crosses = [list(itertools.product(*row)) for row in rows]
    crosses_of = [
        _hash(combination, hash_key, num_buckets) if hashed_output else b"_X_".join(map(_text, combination))
        for row in crosses
        for combination in row
    ]
    places = [(row, number) for row, row_crosses in enumerate(crosses) for number in range(len(row_crosses))]
    out = xp.empty(len(crosses_of), object if not hashed_output else "int64")
    for index, value in enumerate(crosses_of):
        out[index] = value
    widest = max((len(row) for row in crosses), default=0)
    return xp.asarray(places, "int64").reshape(-1, 2), out, xp.asarray([count, widest], "int64")


def _text(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _mixed(value: int) -> int:
    return value ^ value >> 47


def _combine(first: int, second: int) -> int:
    """Return one fingerprint of two."""
    result = first ^ _FACTOR ^ _mixed(second * _FACTOR & _MASK) * _FACTOR & _MASK
    result = _mixed(result * _FACTOR & _MASK) * _FACTOR & _MASK
    return _mixed(result)


def _hash(combination: Sequence[Any], key: int, buckets: int) -> int:
    result = key & _MASK
    for value in combination:
        result = _combine(result, fingerprint64(value) if isinstance(value, bytes) else value & _MASK)
    return result % (buckets or 0x7FFFFFFFFFFFFFFF)


not_differentiable("SparseCross")
