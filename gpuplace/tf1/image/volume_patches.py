"""Sliding windows of volumes.

Source: tensorflow/core/kernels/extract_volume_patches_op.cc, core/ops/array_ops.cc and
tensorflow/python/ops/array_grad.py, release 1.15.
"""

from __future__ import annotations

import itertools
from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.nn.windows import output_size
from gpuplace.ops.shape_rules import require_rank
from gpuplace.ops.support import new, shape_tensor
from gpuplace.shapes import TensorShape
from gpuplace.tf1.nn.patches import patches_gradient
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = ["extract_volume_patches"]


def extract_volume_patches(
    input: TensorLike, ksizes: Any, strides: Any, padding: str, name: str | None = None
) -> Tensor:
    """Return the elements of each window of volumes, along the channels.

    >>> import gpuplace as tf
    >>> window = [1, 2, 2, 2, 1]
    >>> tf.Session().run(tf.extract_volume_patches(tf.ones([1, 4, 4, 2, 1]), window, window, "VALID")).shape
    (1, 2, 2, 1, 8)

    Args:
        input: ``[batch, planes, rows, columns, channels]``, real numbers.
        ksizes: sizes of the window, ``[1, planes, rows, columns, 1]``.
        strides: steps of the window, ``[1, planes, rows, columns, 1]``.
        padding: ``"VALID"`` or ``"SAME"``.
        name: name of the op.

    Returns:
        ``[batch, out_planes, out_rows, out_columns, elements of the window * channels]`` of the same dtype.

    Raises:
        ValueError: the window does not fit.
    """
    return new(
        "ExtractVolumePatches", name, input=input, ksizes=list(ksizes), strides=list(strides), padding=padding
    )


def _checked(sizes: list[int], name: str) -> list[int]:
    if len(sizes) != 5 or sizes[0] != 1 or sizes[4] != 1:
        raise InvalidArgumentError.of(f"Only support {name} across space.")
    return sizes[1:4]


@shape_function("ExtractVolumePatches")
def _patches_shape(op: Operation) -> list[TensorShape]:
    sizes = require_rank(op.inputs[0].shape, 5).sizes
    assert sizes is not None
    window, strides = (_checked(op.attrs[name], name) for name in ("ksizes", "strides"))
    padding = op.attrs["padding"].decode()
    counts = [
        output_size(size, length, 1, stride, padding, (0, 0))[0]
        for size, length, stride in zip(sizes[1:4], window, strides, strict=True)
    ]
    depth = None if sizes[4] is None else window[0] * window[1] * window[2] * sizes[4]
    return [TensorShape.of((sizes[0], *counts, depth))]


@compute("ExtractVolumePatches", fresh=True, grows=True)
def _extract(xp: ArrayModule, input: Array, *, ksizes: Any, strides: Any, padding: bytes) -> Array:
    window, steps = _checked(ksizes, "ksizes"), _checked(strides, "strides")
    counts, around = [], [(0, 0)]
    for size, length, step in zip(input.shape[1:4], window, steps, strict=True):
        count, before, after = output_size(size, length, 1, step, padding.decode(), (0, 0))
        counts.append(count or 0)
        around.append((before, after))
    padded = xp.pad(input, [*around, (0, 0)])
    parts = []
    for offsets in itertools.product(*map(range, window)):
        places = [
            slice(offset, offset + (count - 1) * step + 1, step) if count else slice(0, 0)
            for offset, count, step in zip(offsets, counts, steps, strict=True)
        ]
        parts.append(padded[(slice(None), *places)])
    return xp.concatenate(parts, axis=-1)


@gradient("ExtractVolumePatches")
def _extract_grad(op: Operation, grad: Tensor) -> Tensor:
    volumes, patches = op.inputs[0], op.outputs[0]
    if volumes.shape.ndims is None:
        raise TypeError(
            "The gradient of extract_volume_patches needs the sizes of the volumes, which are unknown."
            " Set the known sizes: volumes.set_shape([None, 4, 8, 8, 1])"
        )
    sizes = shape_tensor(volumes)
    attrs = {name: op.attrs[name] for name in ("ksizes", "strides", "padding")}
    return patches_gradient(
        op,
        grad,
        [sizes[0], *volumes.shape.as_list()[1:4], sizes[4]],
        lambda: patches.shape.as_list()[1:4],
        lambda numbers: new("ExtractVolumePatches", input=numbers, **attrs),
    )
