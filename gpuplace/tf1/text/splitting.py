"""Splitting strings into words, and hashing strings into buckets.

Source: tensorflow/python/ops/ragged/ragged_string_ops.py, string_ops.py, core/kernels/string_split_op.cc,
string_to_hash_bucket_op.cc and core/platform/fingerprint.h (FarmHash's Fingerprint64), release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.shape_rules import require_rank
from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.ops.support import new, same_shape
from gpuplace.shapes import TensorShape
from gpuplace.tf1.text.fingerprints import fingerprint64, hash64, sip_hash
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "string_split", "string_to_hash_bucket", "string_to_hash_bucket_fast", "string_to_hash_bucket_strong",
]  # fmt: skip


def string_split(
    source: TensorLike, sep: TensorLike | None = None, skip_empty: bool = True, delimiter: TensorLike | None = None,
    result_type: str = "SparseTensor", name: str | None = None,
) -> SparseTensor:  # fmt: skip
    """Split strings into words.

    Args:
        source: strings, a vector.
        sep: the separator characters, a string scalar; empty: split into bytes. None for a space.
        skip_empty: whether to leave out empty words.
        delimiter: another name of ``sep``.
        result_type: ``"SparseTensor"``; there are no ragged tensors here.
        name: name of the scope.

    Returns:
        A ``SparseTensor`` of strings, a row for each string.

    Raises:
        ValueError: ``source`` is not a vector, or ``result_type`` is unsupported.
    """
    if result_type != "SparseTensor":
        raise ValueError("result_type must be 'SparseTensor': gpuplace has no ragged tensors")
    between = delimiter if sep is None else sep
    with name_scope(name, "StringSplit", [source]):
        signs = convert_to_tensor(" " if between is None else between, "string")
        texts = convert_to_tensor(source, "string")
        op = apply_op("StringSplit", None, input=texts, delimiter=signs, skip_empty=skip_empty)
        return SparseTensor(*op.outputs)


def split(
    input: TensorLike | None = None, sep: TensorLike | None = None, maxsplit: int = -1,
    result_type: str = "SparseTensor", source: TensorLike | None = None, name: str | None = None,
) -> SparseTensor:  # fmt: skip
    """Split strings into words, as Python's ``str.split`` does.

    Args:
        input: strings, a vector.
        sep: the separator, a string scalar; None or empty for white space.
        maxsplit: maximum number of splits of a string; -1 for no limit.
        result_type: ``"SparseTensor"``; there are no ragged tensors here.
        source: another name of ``input``.
        name: name of the scope.

    Returns:
        A ``SparseTensor`` of strings, a row for each string.

    Raises:
        ValueError: ``input`` is not a vector, or ``result_type`` is unsupported.
    """
    if result_type != "SparseTensor":
        raise ValueError("result_type must be 'SparseTensor': gpuplace has no ragged tensors")
    strings: Any = source if input is None else input
    with name_scope(name, "StringSplit", [strings]):
        texts = convert_to_tensor(strings, "string", name="input")
        between = convert_to_tensor("" if sep is None else sep, "string")
        op = apply_op("StringSplitV2", None, input=texts, sep=between, maxsplit=maxsplit)
        return SparseTensor(*op.outputs)


def _sparse(rows: Sequence[Sequence[bytes]]) -> tuple[Any, Any, Any]:
    """Return rows of words as the parts of a sparse tensor."""
    indices = [(row, place) for row, words in enumerate(rows) for place in range(len(words))]
    words = [word for row in rows for word in row]
    values = np.empty(len(words), object)
    values[:] = words
    shape = np.array([len(rows), max(map(len, rows), default=0)], np.int64)
    return np.array(indices, np.int64).reshape(-1, 2), values, shape


def _split_at_any(text: bytes, signs: bytes, skip_empty: bool) -> list[bytes]:
    if not signs:
        return [text[at : at + 1] for at in range(len(text))]
    if not text:
        return []
    words, start = [], 0
    for at, sign in enumerate(text):
        if sign in signs:
            words.append(text[start:at])
            start = at + 1
    words.append(text[start:])
    return [word for word in words if word] if skip_empty else words


@compute("StringSplit")
def _string_split(xp: ArrayModule, input: Array, delimiter: Array, *, skip_empty: bool) -> tuple[Array, ...]:
    if delimiter.ndim:
        raise InvalidArgumentError.of(
            f"delimiter must be a scalar, got shape: [{','.join(map(str, delimiter.shape))}]"
        )
    signs = delimiter.item()
    return _sparse([_split_at_any(text, signs, skip_empty) for text in input.tolist()])


@compute("StringSplitV2")
def _string_split_v2(xp: ArrayModule, input: Array, sep: Array, *, maxsplit: int) -> Any:
    between = sep.item() or None
    return _sparse([text.split(between, maxsplit) for text in input.tolist()])


@shape_function("StringSplit", "StringSplitV2")
def _sparse_shape(op: Operation) -> tuple[TensorShape, ...]:
    require_rank(op.inputs[0].shape, 1)
    require_rank(op.inputs[1].shape, 0)
    return TensorShape.of((None, 2)), TensorShape.of((None,)), TensorShape.of((2,))


def string_to_hash_bucket_fast(input: TensorLike, num_buckets: int, name: str | None = None) -> Tensor:
    """Return a bucket number below ``num_buckets`` for each string, the same in every run.

    Args:
        input: strings of any shape.
        num_buckets: number of buckets.
        name: name of the op.

    Returns:
        int64, in the shape of the strings.

    Raises:
        ValueError: there are no buckets.
    """
    return new("StringToHashBucketFast", name, input=input, num_buckets=num_buckets)


def string_to_hash_bucket_strong(
    input: TensorLike, num_buckets: int, key: Sequence[int], name: str | None = None
) -> Tensor:
    """Return a bucket number for each string that is unpredictable without the key.

    Args:
        input: strings of any shape.
        num_buckets: number of buckets.
        key: two integers.
        name: name of the op.

    Returns:
        int64, in the shape of the strings.

    Raises:
        ValueError: there are no buckets.
        InvalidArgumentError: at run time, the key has another length.
    """
    return new("StringToHashBucketStrong", name, input=input, num_buckets=num_buckets, key=list(key))


def string_to_hash_bucket(
    string_tensor: TensorLike | None = None, num_buckets: int | None = None, name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """Return a bucket number for each string, by an older hash function.

    Args:
        string_tensor: strings of any shape.
        num_buckets: number of buckets.
        name: name of the op.
        input: another name of ``string_tensor``.

    Returns:
        int64, in the shape of the strings.

    Raises:
        ValueError: there are no buckets.
    """
    strings = input if string_tensor is None else string_tensor
    return new("StringToHashBucket", name, string_tensor=strings, num_buckets=num_buckets)


def _buckets(texts: Any, numbers: list[int], num_buckets: int) -> Any:
    return np.array([number % num_buckets for number in numbers], np.int64).reshape(texts.shape)


@compute("StringToHashBucketFast")
def _fast(xp: ArrayModule, input: Array, *, num_buckets: int) -> Array:
    return _buckets(input, [fingerprint64(text) for text in input.reshape(-1).tolist()], num_buckets)


@compute("StringToHashBucket")
def _old(xp: ArrayModule, string_tensor: Array, *, num_buckets: int) -> Array:
    texts = string_tensor.reshape(-1).tolist()
    return _buckets(string_tensor, [hash64(text) for text in texts], num_buckets)


@compute("StringToHashBucketStrong")
def _strong(xp: ArrayModule, input: Array, *, num_buckets: int, key: Any) -> Array:
    if len(key) != 2:
        raise InvalidArgumentError.of("Key must have 2 elements")
    texts = input.reshape(-1).tolist()
    return _buckets(input, [sip_hash(text, key[0], key[1]) for text in texts], num_buckets)


shape_function("StringToHashBucketFast", "StringToHashBucket", "StringToHashBucketStrong")(same_shape)
not_differentiable(
    "StringSplit", "StringSplitV2", "StringToHashBucketFast", "StringToHashBucket", "StringToHashBucketStrong"
)
