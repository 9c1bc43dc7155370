"""Ops on bytes: fingerprints and decompression.

Source: tensorflow/core/kernels/fingerprint_op.cc, decode_compressed_op.cc and logging_ops.cc (Timestamp), release 1.15.
"""

from __future__ import annotations

import time
import zlib
from typing import Any

import numpy as np

from gpuplace.dtypes import string
from gpuplace.errors import DataLossError, InvalidArgumentError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.shape_rules import require_rank_at_least
from gpuplace.ops.support import new, same_shape, scalar_shape
from gpuplace.shapes import TensorShape
from gpuplace.tf1.text.fingerprints import fingerprint64
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = ["decode_compressed", "fingerprint", "timestamp"]


def fingerprint(data: TensorLike, method: str = "farmhash64", name: str | None = None) -> Tensor:
    """Return an eight-byte fingerprint for each row of a tensor.

    >>> import gpuplace as tf
    >>> tf.Session().run(fingerprint(["hello world"])).tolist()
    [[27, 176, 214, 139, 71, 183, 143, 88]]

    Args:
        data: ``[batch, ...]``, of any type.
        method: ``"farmhash64"``.
        name: name of the op.

    Returns:
        uint8 ``[batch, 8]``.

    Raises:
        ValueError: ``method`` is unknown.
    """
    return new("Fingerprint", name, data=data, method=method)


def decode_compressed(bytes: TensorLike, compression_type: str = "", name: str | None = None) -> Tensor:
    """Decompress strings.

    Args:
        bytes: strings of any shape.
        compression_type: ``""``, ``"ZLIB"`` or ``"GZIP"``.
        name: name of the op.

    Returns:
        Strings, in the shape of ``bytes``.

    Raises:
        InvalidArgumentError: at run time, the compression type is unknown.
        DataLossError: at run time, a string is damaged.
    """
    return new("DecodeCompressed", name, bytes=bytes, compression_type=compression_type)


def timestamp(name: str | None = None) -> Tensor:
    """Return the time at which it runs.

    Args:
        name: name of the op.

    Returns:
        Seconds since the start of 1970, a float64 scalar.
    """
    return new("Timestamp", name)


@compute("Timestamp")
def _timestamp(xp: ArrayModule) -> Array:
    return np.array(time.time())


@compute("Fingerprint")
def _fingerprint(xp: Any, data: Any, method: Any, *, T: Any) -> Any:
    if method.ndim:
        raise InvalidArgumentError.of(f"`method` should be a scalar string: {TensorShape(method.shape)}")
    if method[()] != b"farmhash64":
        raise InvalidArgumentError.of(f"Unsupported fingerprint method: {method[()].decode()}")
    if not data.ndim:
        raise InvalidArgumentError.of(f"`data` should be at least 1-dimensional: {TensorShape(data.shape)}")
    rows = data.reshape(len(data), -1) if data.size else np.empty((len(data), 0), data.dtype)
    if T is string:
        fingerprints = [[fingerprint64(text) for text in row] for row in rows.tolist()]
        if data.ndim == 1:
            numbers = [one for row in fingerprints for one in row]
        else:
            numbers = [fingerprint64(np.array(row, "<u8").tobytes()) for row in fingerprints]
    else:
        numbers = [fingerprint64(np.ascontiguousarray(row).tobytes()) for row in rows]
    return np.array(numbers, "<u8").view(np.uint8).reshape(len(data), 8)


@compute("DecodeCompressed")
def _decode_compressed(xp: ArrayModule, bytes: Array, *, compression_type: bytes) -> Array:
    windows = {b"": None, b"ZLIB": zlib.MAX_WBITS, b"GZIP": zlib.MAX_WBITS | 16}
    if compression_type not in windows:
        raise InvalidArgumentError.of("Only ZLIB, GZIP or NONE are supported compressions")
    window = windows[compression_type]
    if window is None:
        return bytes
    result = np.empty(bytes.size, object)
    for number, text in enumerate(bytes.reshape(-1).tolist()):
        try:
            result[number] = zlib.decompress(text, window)
        except zlib.error as error:
            code, what = str(error).removeprefix("Error ").split(" ", 1)[0], str(error).rpartition(": ")[2]
            raise DataLossError.of(f"inflate() failed with error {code}: {what}") from None
    return result.reshape(bytes.shape)


@shape_function("Fingerprint")
def _fingerprint_shape(op: Operation) -> tuple[TensorShape, ...]:
    sizes = require_rank_at_least(op.inputs[0].shape, 1).sizes
    method = constant_value(op.inputs[1])
    if method is not None and method.tolist() != b"farmhash64":
        raise ValueError(f"Unsupported method: {method.tolist().decode()}")
    return (TensorShape.of((None if sizes is None else sizes[0], 8)),)


shape_function("DecodeCompressed")(same_shape)
shape_function("Timestamp")(scalar_shape)
not_differentiable("Fingerprint", "DecodeCompressed", "Timestamp")
