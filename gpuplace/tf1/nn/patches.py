"""Patches of images, and pooling that returns the positions of the largest elements.

Source: tensorflow/core/kernels/extract_image_patches_op.cc, maxpooling_op.cc, core/ops/array_ops.cc, nn_ops.cc and
tensorflow/python/ops/array_grad.py, nn_grad.py, release 1.15.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuplace.dtypes import int64
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder
from gpuplace.ops.array.constant import ones
from gpuplace.ops.array.constant import range as range_of
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.reshaping import reshape, transpose
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.nn.pool_arithmetic import largest
from gpuplace.ops.nn.windows import Window, output_size, window_of
from gpuplace.ops.shape_rules import require_rank
from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.ops.support import new
from gpuplace.ops.variables.scatter import apply_at
from gpuplace.shapes import TensorShape
from gpuplace.tf1.sparse.rearranging import sparse_slice
from gpuplace.tf1.sparse.sparse_ops import sparse_tensor_dense_matmul
from gpuplace.typing import Array, ArrayModule, DTypeLike, TensorLike

__all__ = ["extract_image_patches", "extract_patches", "max_pool_with_argmax"]


def extract_image_patches(
    images: TensorLike, ksizes: Any = None, strides: Any = None, rates: Any = None, padding: str | None = None,
    name: str | None = None, sizes: Any = None,
) -> Tensor:  # fmt: skip
    """Return the elements of each window of images, along the channels.

    Args:
        images: ``[batch, height, width, channels]``, real numbers.
        ksizes: sizes of the window, ``[1, rows, columns, 1]``.
        strides: steps of the window, ``[1, down, right, 1]``.
        rates: distances of the pixels in the window, ``[1, down, right, 1]``.
        padding: ``"VALID"`` or ``"SAME"``.
        name: name of the op.
        sizes: another name of ``ksizes``.

    Returns:
        ``[batch, out_height, out_width, rows * columns * channels]`` of the same dtype.

    Raises:
        ValueError: both ``ksizes`` and ``sizes`` are given, or the window is too large.
    """
    if ksizes is not None and sizes is not None:
        raise ValueError("Cannot specify both 'sizes' and 'ksizes'")
    window_sizes = list(sizes if ksizes is None else ksizes)
    return new(
        "ExtractImagePatches", name, images=images, ksizes=window_sizes, strides=list(strides), rates=list(rates),
        padding=padding,
    )  # fmt: skip


def extract_patches(
    images: TensorLike, sizes: Any = None, strides: Any = None, rates: Any = None, padding: str | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the elements of each window of images: the newer name of ``tf.extract_image_patches``.

    Args:
        images: ``[batch, height, width, channels]``, real numbers.
        sizes: sizes of the window, ``[1, rows, columns, 1]``.
        strides: steps of the window, ``[1, down, right, 1]``.
        rates: distances of the pixels in the window, ``[1, down, right, 1]``.
        padding: ``"VALID"`` or ``"SAME"``.
        name: name of the op.

    Returns:
        ``[batch, out_height, out_width, rows * columns * channels]`` of the same dtype.

    Raises:
        ValueError: the window is too large.
    """
    return extract_image_patches(images, sizes, strides, rates, padding, name)


def _patches_window(attrs: Mapping[str, Any]) -> Window:
    for key in ("ksizes", "strides", "rates"):
        if len(attrs[key]) != 4 or attrs[key][0] != 1 or attrs[key][3] != 1:
            raise InvalidArgumentError.of(f"Only support {key} across space.")
    down, right = attrs["strides"][1:3]
    gap_down, gap_right = attrs["rates"][1:3]
    rows, columns = attrs["ksizes"][1:3]
    return Window(rows, columns, (down, right), (gap_down, gap_right), attrs["padding"].decode())


@shape_function("ExtractImagePatches")
def _patches_shape(op: Operation) -> list[TensorShape]:
    sizes, window = require_rank(op.inputs[0].shape, 4).sizes, _patches_window(op.attrs)
    assert sizes is not None
    spatial_axes = ((window.rows, 0), (window.columns, 1))
    counts = [
        output_size(sizes[at + 1], size, window.dilations[at], window.strides[at], window.padding, (0, 0))[0]
        for size, at in spatial_axes
    ]
    depth = None if sizes[3] is None else window.rows * window.columns * sizes[3]
    return [TensorShape.of((sizes[0], *counts, depth))]


@binder("ExtractImagePatches", fresh=True, grows=True)
def _extract(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[[Any], Any]:
    window = _patches_window(attrs)

    def run(images: Array) -> Array:
        view = window.view(xp, images)
        return xp.array(view).reshape(*view.shape[:3], -1)

    return run


@gradient("ExtractImagePatches")
def _extract_grad(op: Operation, grad: Tensor) -> Tensor:
    sizes = shape_of(op.inputs[0], out_type=int64)

    def places() -> list[Any]:
        output_sizes = shape_of(op.outputs[0], out_type=int64)
        return [output_sizes[1], output_sizes[2]]

    attrs = {name: op.attrs[name] for name in ("ksizes", "strides", "rates", "padding")}
    return patches_gradient(
        op,
        grad,
        [sizes[axis] for axis in range(4)],
        places,
        lambda numbers: new("ExtractImagePatches", images=numbers, **attrs),
    )


def patches_gradient(
    op: Operation,
    grad: Tensor,
    sizes: list[Any],
    places: Callable[[], list[Any]],
    extract: Callable[[Tensor], Tensor],
) -> Tensor:
    """Return the gradient of an op that copies patches, using a sparse matrix of the positions elements are copied to.

    Args:
        op: the operation.
        grad: the gradient of its output.
        sizes: sizes of its input: the batch, the space and the channels, each a number or a tensor.
        places: returns the sizes of the output's space.
        extract: extracts patches of integers as the operation does.
    """
    batch, *space, channels = sizes
    window = op.attrs["ksizes"][1:-1]
    total = 1 + functools.reduce(operator.mul, space)  # 0 is the border
    numbers = extract(reshape(range_of(1, total, dtype=int64), [1, *space, 1]))
    outer = places()
    count = functools.reduce(operator.mul, [*outer, *window])
    copies = reshape(range_of(0, count, dtype=int64), [1, *outer, math.prod(window)])
    pairs = [new("ExpandDims", input=one, dim=-1) for one in (numbers, copies)]
    positions = reshape(concat(pairs, -1), [-1, 2])
    matrix = SparseTensor(positions, ones([count], op.inputs[0].dtype), [total, count])
    inside = sparse_slice(matrix, [1, 0], [total - 1, count])
    parts = reshape(grad, [batch, *outer, *window, channels])
    last = 1 + len(outer) + len(window)
    parts = transpose(parts, [*range(1, last), 0, last])
    columns = reshape(parts, [-1, batch * channels])
    summed = reshape(sparse_tensor_dense_matmul(inside, columns), [*space, batch, channels])
    rank = len(space)
    return transpose(summed, [rank, *range(rank), rank + 1])


# Largest elements and their positions


def max_pool_with_argmax(
    input: TensorLike, ksize: Any, strides: Any, padding: str, data_format: str = "NHWC",
    Targmax: DTypeLike | None = None, name: str | None = None, output_dtype: DTypeLike | None = None,  # noqa: N803
    include_batch_in_index: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the largest element of each window of images, and its position.

    Args:
        input: ``[batch, height, width, channels]``, real numbers.
        ksize: sizes of the window, ``[1, rows, columns, 1]``.
        strides: steps of the window, ``[1, down, right, 1]``.
        padding: ``"VALID"`` or ``"SAME"``.
        data_format: ``"NHWC"``.
        Targmax: dtype of the positions, int64.
        name: name of the op.
        output_dtype: another name of ``Targmax``.
        include_batch_in_index: whether positions count through all images rather than within each image.

    Returns:
        The largest elements and their positions ``(y * width + x) * channels + channel``, each
            ``[batch, out_height, out_width, channels]``.

    Raises:
        ValueError: the data format is unsupported, or the window is too large.
    """
    if data_format != "NHWC":
        raise ValueError("Data formats other than 'NHWC' are not yet supported")
    kind = Targmax if Targmax is not None else output_dtype if output_dtype is not None else "int64"
    largest_ones, places = apply_op(
        "MaxPoolWithArgmax", name, input=convert_to_tensor(input, name="input"), ksize=list(ksize),
        strides=list(strides), padding=padding, Targmax=kind, include_batch_in_index=include_batch_in_index,
    ).outputs  # fmt: skip
    return largest_ones, places


@shape_function("MaxPoolWithArgmax")
def _with_argmax_shape(op: Operation) -> list[TensorShape]:
    sizes = require_rank(op.inputs[0].shape, 4).sizes
    assert sizes is not None
    window = window_of(op.attrs, *op.attrs["ksize"][1:3])
    counts = [
        output_size(sizes[at + 1], size, 1, window.strides[at], window.padding, (0, 0))[0]
        for at, size in enumerate((window.rows, window.columns))
    ]
    return [TensorShape.of((sizes[0], *counts, sizes[3]))] * 2


@shape_function("MaxPoolGradWithArgmax")
def _grad_with_argmax_shape(op: Operation) -> list[TensorShape]:
    return [require_rank(op.inputs[0].shape, 4)]


@binder("MaxPoolWithArgmax", fresh=True)
def _with_argmax(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation
) -> Callable[[Any], tuple[Any, Any]]:
    window = window_of(attrs, *attrs["ksize"][1:3])
    kind = attrs["Targmax"].as_numpy_dtype

    def run(images: Array) -> tuple[Any, Any]:
        batch, height, width, channels = images.shape
        pooled = largest(xp, images, window)
        pixels = xp.arange(height * width, dtype=np.int64).reshape(1, height, width, 1)
        places = window.view(xp, pixels, -1)  # -1 at the border
        places = xp.array(places).reshape(1, *places.shape[1:3], -1, 1)
        values = xp.array(window.view(xp, images)).reshape(*pooled.shape[:3], -1, channels)
        candidates = xp.where((values == pooled[:, :, :, None]) & (places >= 0), places, height * width)
        first = candidates.min(axis=3) * channels + xp.arange(channels)
        if attrs["include_batch_in_index"]:
            first = first + xp.arange(batch)[:, None, None, None] * (height * width * channels)
        return pooled, first.astype(kind)

    return run


@binder("MaxPoolGradWithArgmax", fresh=True)
def _grad_with_argmax(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation
) -> Callable[[Any, Any, Any], Any]:
    def run(images: Array, grad: Array, argmax: Array) -> Array:
        places = argmax.astype(np.int64)
        if not attrs["include_batch_in_index"]:
            size = images.size // max(1, len(images))
            places = places + xp.arange(len(images))[:, None, None, None] * size
        if places.size and not 0 <= int(places.min()) <= int(places.max()) < images.size:
            raise InvalidArgumentError.of(
                f"Invalid index in argmax for an input of shape {list(images.shape)}"
            )
        result = xp.zeros(images.size, grad.dtype)
        apply_at(xp, "add", result, places.reshape(-1), grad.reshape(-1))
        return result.reshape(images.shape)

    return run


@gradient("MaxPoolWithArgmax")
def _with_argmax_grad(op: Operation, grad: Tensor, _: Tensor) -> Tensor:
    attrs = {name: op.attrs[name] for name in ("ksize", "strides", "padding", "include_batch_in_index")}
    return new("MaxPoolGradWithArgmax", input=op.inputs[0], grad=grad, argmax=op.outputs[1], **attrs)
