"""Crops of images: ``tf.image.crop_and_resize`` and ``tf.image.extract_glimpse``.

Source: tensorflow/core/kernels/crop_and_resize_op.cc, attention_ops.cc and tensorflow/python/ops/image_ops_impl.py,
release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError, OutOfRangeError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.numerics.arguments import on_host
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.shape_rules import merge_sizes
from gpuplace.ops.support import new, shape_tensor
from gpuplace.shapes import TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "crop_and_resize",
    "extract_glimpse",
]


def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_ind: TensorLike | None = None,
    crop_size: TensorLike | None = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: TensorLike | None = None,
) -> Tensor:
    """Crop boxes from images and resize all of them to one size.

    Args:
        image: numbers ``[batch, height, width, channels]``.
        boxes: float32 ``[boxes, 4]``, as fractions of height and width.
        box_ind: int32 ``[boxes]``: the image of each box.
        crop_size: height and width of the crops, int32.
        method: ``"bilinear"`` or ``"nearest"``.
        extrapolation_value: value of pixels outside the image.
        name: name of the op.
        box_indices: the newer name of ``box_ind``.

    Returns:
        float32 ``[boxes, crop height, crop width, channels]``.

    Raises:
        ValueError: both names are given.
        InvalidArgumentError: at run time, a box refers to a missing image.
    """
    if box_ind is not None and box_indices is not None:
        raise ValueError("Cannot specify both 'box_ind' and 'box_indices'")
    return new(
        "CropAndResize",
        name,
        image=image,
        boxes=boxes,
        box_ind=box_ind if box_indices is None else box_indices,
        crop_size=crop_size,
        method=method,
        extrapolation_value=float(extrapolation_value),
    )


def extract_glimpse(
    input: TensorLike,
    size: TensorLike,
    offsets: TensorLike,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """Crop one part from each image.

    Args:
        input: float32 ``[batch, height, width, channels]``.
        size: height and width of the parts, int32.
        offsets: float32 ``[batch, 2]``: the centers of the parts, y and x.
        centered: whether (0, 0) is the middle of the image rather than its upper left corner.
        normalized: whether offsets are fractions of the image's size rather than pixels.
        uniform_noise: whether pixels outside the image are uniform rather than normal noise.
        name: name of the op.

    Returns:
        float32 ``[batch, part height, part width, channels]``.
    """
    return new(
        "ExtractGlimpse",
        name,
        input=input,
        size=size,
        offsets=offsets,
        centered=centered,
        normalized=normalized,
        uniform_noise=uniform_noise,
    )


# CropAndResize


def _axis_positions(boxes: Any, first: int, size: int, crop: int) -> tuple[Any, Any]:
    """Return the pixel positions of each crop along one axis, and which of them are inside the image.

    Args:
        boxes: the boxes.
        first: column of a box's start; its end is two columns later.
        size: size of the image in pixels.
        crop: size of a crop in pixels.
    """
    begin, end = boxes[:, first, None], boxes[:, first + 2, None]
    most = np.float32(size - 1)
    if crop > 1:
        scale = (end - begin) * most / np.float32(crop - 1)
        places = begin * most + np.arange(crop, dtype=np.float32) * scale
    else:
        places = np.float32(0.5) * (begin + end) * most
    return places, (places >= 0) & (places <= most)


def _check_crop(image: Any, boxes: Any, box_ind: Any, size: Any) -> None:
    if image.ndim != 4:
        raise InvalidArgumentError.of(f"input image must be 4-D{brackets(image.shape)}")
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise InvalidArgumentError.of(f"boxes must be 2-D{brackets(boxes.shape)}")
    if len(box_ind) != len(boxes):
        raise InvalidArgumentError.of("box_index has incompatible shape")
    if size.shape != (2,):
        raise InvalidArgumentError.of(f"crop_size must be 1-D{brackets(size.shape)}")
    if (size <= 0).any():
        raise InvalidArgumentError.of("crop dimensions must be positive")
    if len(box_ind) and (box_ind.min() < 0 or box_ind.max() >= image.shape[0]):
        raise OutOfRangeError.of("box_index has values outside [0, batch_size)")


def _rounded(places: Any) -> Any:
    """Return the nearest pixel; halves are rounded away from 0."""
    return (np.sign(places) * np.floor(np.abs(places) + np.float32(0.5))).astype(np.int64)


class _Taps:
    """The source pixels of each pixel of a crop, along both axes."""

    def __init__(
        self, xp: ArrayModule, boxes: Array, height: int, width: int, crops: tuple[int, int], nearest: bool
    ) -> None:
        boxes = np.asarray(on_host(boxes))
        (rows, in_rows), (columns, in_columns) = (
            _axis_positions(boxes, 0, height, crops[0]),
            _axis_positions(boxes, 1, width, crops[1]),
        )
        self.inside = in_rows[:, :, None] & in_columns[:, None, :]
        self.rows, self.columns = self._taps(rows, height, nearest), self._taps(columns, width, nearest)

    @staticmethod
    def _taps(places: Any, size: int, nearest: bool) -> list[tuple[Any, Any]]:
        """Return pixels and their weights, ``[boxes, crop]`` each."""

        def within(pixels: Any) -> Any:
            return np.clip(pixels, 0, size - 1).astype(np.int64)

        if nearest:
            return [(within(_rounded(places)), np.ones_like(places))]
        low = np.floor(places)
        part = places - low
        return [(within(low), 1 - part), (within(np.ceil(places)), part)]


@compute("CropAndResize", fresh=True)
def _crop(
    xp: ArrayModule,
    image: Array,
    boxes: Array,
    box_ind: Array,
    crop_size: Array,
    *,
    method: bytes,
    extrapolation_value: float,
) -> Array:
    _check_crop(image, boxes, box_ind, crop_size)
    _, height, width, channels = image.shape
    crops = tuple(crop_size.tolist())
    taps = _Taps(xp, boxes, height, width, crops, method == b"nearest")
    result = xp.zeros((len(boxes), *crops, channels), xp.float32)
    of_box = box_ind[:, None, None]
    for rows, down in taps.rows:
        for columns, across in taps.columns:
            pixels = image[of_box, xp.asarray(rows)[:, :, None], xp.asarray(columns)[:, None, :]]
            weights = down[:, :, None] * across[:, None, :]
            result += pixels.astype(xp.float32) * xp.asarray(weights)[..., None]
    return xp.where(xp.asarray(taps.inside)[..., None], result, xp.float32(extrapolation_value))


@compute("CropAndResizeGradImage", fresh=True)
def _crop_grad_image(
    xp: ArrayModule, grads: Array, boxes: Array, box_ind: Array, image_size: Array, *, T: Any, method: bytes
) -> Array:
    batch, height, width, channels = image_size.tolist()
    taps = _Taps(xp, boxes, height, width, grads.shape[1:3], method == b"nearest")
    result = np.zeros((batch, height, width, channels), np.float32)
    grads, of_box = on_host(grads) * taps.inside[..., None], on_host(box_ind)[:, None, None]
    for rows, down in taps.rows:
        for columns, across in taps.columns:
            weights = (down[:, :, None] * across[:, None, :])[..., None]
            np.add.at(result, (of_box, rows[:, :, None], columns[:, None, :]), grads * weights)
    return xp.asarray(result.astype(T.as_numpy_dtype))


@compute("CropAndResizeGradBoxes", fresh=True)
def _crop_grad_boxes(xp: ArrayModule, grads: Array, image: Array, boxes: Array, box_ind: Array) -> Array:
    _, height, width, _ = image.shape
    crops = grads.shape[1:3]
    taps = _Taps(xp, boxes, height, width, crops, False)
    image, of_box = on_host(image).astype(np.float32), on_host(box_ind)[:, None, None]
    (top, _), (bottom, down) = taps.rows
    (left, _), (right, across) = taps.columns

    def at(rows: Any, columns: Any) -> Any:
        return image[of_box, rows[:, :, None], columns[:, None, :]]

    corners = at(top, left), at(top, right), at(bottom, left), at(bottom, right)
    down, across = down[:, :, None, None], across[:, None, :, None]
    inner = on_host(grads) * taps.inside[..., None]
    by_row = (((1 - across) * (corners[2] - corners[0]) + across * (corners[3] - corners[1])) * inner).sum(3)
    by_column = (((1 - down) * (corners[1] - corners[0]) + down * (corners[3] - corners[2])) * inner).sum(3)
    result = np.zeros((len(of_box), 4), np.float32)
    for first, size, crop, gradients in (
        (0, height, crops[0], by_row.sum(2)),
        (1, width, crops[1], by_column.sum(1)),
    ):
        parts = np.arange(crop, dtype=np.float32) / (crop - 1) if crop > 1 else np.full(1, 0.5, np.float32)
        result[:, first] = (gradients * (1 - parts)).sum(1) * (size - 1)
        result[:, first + 2] = (gradients * parts).sum(1) * (size - 1)
    return xp.asarray(result)


@gradient("CropAndResize")
def _gradient_of_crop(op: Operation, grad: Tensor) -> Sequence[Any]:
    image, boxes, box_ind, _ = op.inputs
    method = op.attrs["method"]
    of_image = None
    if image.dtype.is_floating:
        of_image = new(
            "CropAndResizeGradImage",
            grads=grad,
            boxes=boxes,
            box_ind=box_ind,
            image_size=list(image.shape.known_sizes)
            if image.shape.is_fully_defined()
            else shape_tensor(image),
            T=image.dtype,
            method=method,
        )
    of_boxes = new("CropAndResizeGradBoxes", grads=grad, image=image, boxes=boxes, box_ind=box_ind)
    return [of_image, of_boxes, None, None]


@shape_function("CropAndResize")
def _crop_shape(op: Operation) -> Sequence[TensorShape]:
    image, boxes = op.inputs[0].shape.with_rank(4), op.inputs[1].shape.with_rank(2)
    count = merge_sizes(boxes[0].value, op.inputs[2].shape.with_rank(1)[0].value)
    size = constant_value(op.inputs[3])
    merge_sizes(2, op.inputs[3].shape.with_rank(1)[0].value)
    height, width = (None, None) if size is None else size.tolist()
    return (TensorShape([count, height, width, image[3]]),)


@shape_function("CropAndResizeGradBoxes")
def _grad_boxes_shape(op: Operation) -> Sequence[TensorShape]:
    return (op.inputs[2].shape,)


@shape_function("CropAndResizeGradImage")
def _grad_image_shape(op: Operation) -> Sequence[TensorShape]:
    size = constant_value(op.inputs[3])
    return (TensorShape([None] * 4 if size is None else size.tolist()),)


# ExtractGlimpse


@compute("ExtractGlimpse", fresh=True)
def _glimpse(
    xp: ArrayModule,
    input: Array,
    size: Array,
    offsets: Array,
    *,
    centered: bool,
    normalized: bool,
    uniform_noise: bool,
    noise: bytes,
    ctx: KernelContext,
) -> Array:
    kind = noise.decode() or ("uniform" if uniform_noise else "gaussian")
    if kind not in ("uniform", "gaussian", "zero"):
        raise InvalidArgumentError.of(f"The noise could only be uniform, gaussian, or zero, got{kind}")
    if input.ndim != 4:
        raise InvalidArgumentError.of(f"input must be 4-dimensional{brackets(input.shape)}")
    if size.shape != (2,):
        raise InvalidArgumentError.of("input must be a vector of size 2 (height, width)")
    if offsets.ndim != 2 or offsets.shape != (len(input), 2):
        raise InvalidArgumentError.of(f"offsets must be a matrix{brackets(offsets.shape)}")
    _, height, width, channels = input.shape
    tall, wide = size.tolist()
    result = xp.empty((len(input), tall, wide, channels), input.dtype)
    for number, (down, across) in enumerate(on_host(offsets).tolist()):
        y = _part_start(down, height, tall, centered, normalized)
        x = _part_start(across, width, wide, centered, normalized)
        picture = input[number]
        top, left = max(y, 0), max(x, 0)
        bottom, right = min(y + tall, height), min(x + wide, width)
        if (top, left, bottom, right) != (y, x, y + tall, x + wide):
            result[number] = _noise(xp, input, result.shape[1:], kind, ctx)
        if top < bottom and left < right:
            result[number, top - y : bottom - y, left - x : right - x] = picture[top:bottom, left:right]
    return result


def _part_start(offset: float, size: int, part: int, centered: bool, normalized: bool) -> int:
    """Return the first pixel of a part along one axis."""
    place = offset * size if normalized else offset
    if centered:
        place = place / 2 + size / 2
    return int(place - part / 2)


def _noise(xp: ArrayModule, input: Array, shape: Array, kind: str, ctx: KernelContext) -> Array:
    if kind == "zero":
        return xp.zeros(shape, input.dtype)
    generator = ctx.session.kernel_state(f"{ctx.op.name}/noise", np.random.default_rng)
    if kind == "uniform":
        low, high = float(input.min()), float(input.max())
        return xp.asarray(generator.uniform(low, high, shape).astype(np.float32))
    return xp.asarray(generator.normal(float(input.mean()), float(input.std()), shape).astype(np.float32))


@shape_function("ExtractGlimpse")
def _glimpse_shape(op: Operation) -> Sequence[TensorShape]:
    images = op.inputs[0].shape.with_rank(4)
    if op.attrs["uniform_noise"] and op.attrs["noise"] not in (b"", b"uniform"):
        raise ValueError("The uniform_noise and noise should not be specified at the same time")
    batch = merge_sizes(images[0].value, op.inputs[2].shape.with_rank(2)[0].value)
    size = constant_value(op.inputs[1])
    height, width = (None, None) if size is None else size.tolist()
    return (TensorShape([batch, height, width, images[3]]),)


not_differentiable("ExtractGlimpse")
