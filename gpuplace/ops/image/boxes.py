"""Parts of images, and boxes on them: cutting, looking at, sampling, drawing and choosing.

A box is ``[y_min, x_min, y_max, x_max]``, mostly as parts of height and width.

Source: tensorflow/core/kernels/crop_and_resize_op.cc, attention_ops.cc, sample_distorted_bounding_box_op.cc,
draw_bounding_box_op.cc, non_max_suppression_op.cc and tensorflow/python/ops/image_ops_impl.py, release 1.15.
"""

from __future__ import annotations

import heapq
import math
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuplace.dtypes import float32
from gpuplace.errors import InvalidArgumentError, OutOfRangeError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.random.philox import Philox, unit_float
from gpuplace.ops.shape_rules import merge_sizes, require_rank
from gpuplace.ops.support import new, new_list, same_shape, shape_tensor
from gpuplace.release import rules
from gpuplace.shapes import TensorShape, brackets
from gpuplace.typing import TensorLike

__all__ = [
    "combined_non_max_suppression",
    "crop_and_resize",
    "draw_bounding_boxes",
    "extract_glimpse",
    "non_max_suppression",
    "non_max_suppression_overlaps",
    "non_max_suppression_padded",
    "non_max_suppression_with_scores",
    "sample_distorted_bounding_box",
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
    """Cuts boxes out of images and gives all of them one size.

    Args:
        image: numbers ``[batch, height, width, channels]``.
        boxes: float32 ``[boxes, 4]``, as parts of height and width.
        box_ind: int32 ``[boxes]``: which image each is of.
        crop_size: their height and width, int32.
        method: ``"bilinear"`` or ``"nearest"``.
        extrapolation_value: stands for what is outside of an image.
        name: name of the op.
        box_indices: the newer name of ``box_ind``.

    Returns:
        float32 ``[boxes, crop height, crop width, channels]``.

    Raises:
        ValueError: both names are given.
        InvalidArgumentError: at run time, there is no such image.
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
    """Cuts one part out of each image.

    Args:
        input: float32 ``[batch, height, width, channels]``.
        size: height and width of the parts, int32.
        offsets: float32 ``[batch, 2]``: where their centres are, down and across.
        centered: whether (0, 0) is the middle of the image, else its upper left corner.
        normalized: whether offsets are parts of the image's size, else pixels.
        uniform_noise: whether what is outside of the image is uniform noise, else normal.
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


def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, name: str | None = None, colors: TensorLike | None = None
) -> Tensor:
    """Draws boxes on images.

    Args:
        images: floats ``[batch, height, width, channels]``.
        boxes: float32 ``[batch, boxes, 4]``, as parts of height and width.
        name: name of the op.
        colors: float32 ``[colours, channels]``, taken in turn; None: ten colours.

    Returns:
        The images, with lines of one pixel.

    Raises:
        InvalidArgumentError: at run time, the shapes are others.
    """
    if colors is None:
        return new("DrawBoundingBoxes", name, images=images, boxes=boxes)
    return new("DrawBoundingBoxesV2", name, images=images, boxes=boxes, colors=colors)


def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """Chooses boxes with high scores that do not cover each other.

    Args:
        boxes: floats ``[boxes, 4]``; any two opposite corners each.
        scores: floats ``[boxes]``.
        max_output_size: most boxes that are chosen, int32.
        iou_threshold: boxes of which a larger part is common cover each other.
        score_threshold: boxes without a higher score are left out.
        name: name of the scope.

    Returns:
        int32: the numbers of the chosen boxes, the highest score first.

    Raises:
        InvalidArgumentError: at run time, a threshold is not within [0, 1], or the shapes are others.
    """
    with name_scope(name, "non_max_suppression"):
        iou = convert_to_tensor(iou_threshold, float32, name="iou_threshold")
        least = convert_to_tensor(score_threshold, float32, name="score_threshold")
        return new(
            "NonMaxSuppressionV3",
            boxes=boxes,
            scores=scores,
            max_output_size=max_output_size,
            iou_threshold=iou,
            score_threshold=least,
        )


def non_max_suppression_with_scores(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    soft_nms_sigma: TensorLike = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Chooses boxes with high scores, which fall by what boxes have in common with better ones.

    Args:
        boxes: floats ``[boxes, 4]``; any two opposite corners each.
        scores: floats ``[boxes]``.
        max_output_size: most boxes that are chosen, int32.
        iou_threshold: boxes of which a larger part is common cover each other.
        score_threshold: boxes without a higher score are left out.
        soft_nms_sigma: how slowly scores fall, 0 or more; 0: boxes that cover each other are left out, no score falls.
        name: name of the scope.

    Returns:
        int32: the numbers of the chosen boxes, the highest score first, and these scores.

    Raises:
        InvalidArgumentError: at run time, a threshold is out of range, or the shapes are others.
    """
    with name_scope(name, "non_max_suppression_with_scores"):
        found = new_list(
            "NonMaxSuppressionV5",
            boxes=boxes,
            scores=scores,
            max_output_size=max_output_size,
            iou_threshold=convert_to_tensor(iou_threshold, float32, name="iou_threshold"),
            score_threshold=convert_to_tensor(score_threshold, float32, name="score_threshold"),
            soft_nms_sigma=convert_to_tensor(soft_nms_sigma, float32, name="soft_nms_sigma"),
            pad_to_max_output_size=False,
        )
        return found[0], found[1]


def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Chooses boxes with high scores that do not cover each other, and says how many.

    Args:
        boxes: floats ``[boxes, 4]``; any two opposite corners each.
        scores: floats ``[boxes]``.
        max_output_size: most boxes that are chosen, int32.
        iou_threshold: boxes of which a larger part is common cover each other.
        score_threshold: boxes without a higher score are left out.
        pad_to_max_output_size: whether zeros follow, up to ``max_output_size`` numbers.
        name: name of the scope.

    Returns:
        int32: the numbers of the chosen boxes, the highest score first, and how many these are.

    Raises:
        InvalidArgumentError: at run time, a threshold is not within [0, 1], or the shapes are others.
    """
    with name_scope(name, "non_max_suppression_padded"):
        found = new_list(
            "NonMaxSuppressionV4",
            boxes=boxes,
            scores=scores,
            max_output_size=max_output_size,
            iou_threshold=convert_to_tensor(iou_threshold, float32, name="iou_threshold"),
            score_threshold=convert_to_tensor(score_threshold, float32, name="score_threshold"),
            pad_to_max_output_size=pad_to_max_output_size,
        )
        return found[0], found[1]


class CombinedNonMaxSuppression(NamedTuple):
    """What ``combined_non_max_suppression`` returns."""

    nmsed_boxes: Tensor
    """float32 ``[batch, boxes, 4]``."""
    nmsed_scores: Tensor
    """float32 ``[batch, boxes]``, the highest first."""
    nmsed_classes: Tensor
    """float32 ``[batch, boxes]``: the number of the class."""
    valid_detections: Tensor
    """int32 ``[batch]``: how many of the boxes are no zeros that were added."""


def combined_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size_per_class: TensorLike,
    max_total_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> CombinedNonMaxSuppression:
    """Chooses boxes of several images and classes that have little in common with others of their class.

    Args:
        boxes: float32 ``[batch, boxes, classes, 4]``, or ``[batch, boxes, 1, 4]`` if they are the same in all classes.
        scores: float32 ``[batch, boxes, classes]``.
        max_output_size_per_class: how many are chosen of a class, an int32 scalar.
        max_total_size: how many are chosen of an image, an int32 scalar.
        iou_threshold: how much of two boxes may be common to both.
        score_threshold: boxes are chosen that have a higher score.
        pad_per_class: whether at most ``max_output_size_per_class`` times the number of classes are returned; else
            ``max_total_size``.
        clip_boxes: whether boxes are cut to the image, from 0 to 1.
        name: name of the op.

    Returns:
        A named tuple of the boxes, their scores and classes, and how many there are in each image.

    Raises:
        InvalidArgumentError: at run time, the shapes do not fit.
    """
    with name_scope(name, "combined_non_max_suppression"):
        outputs = new_list(
            "CombinedNonMaxSuppression",
            boxes=boxes,
            scores=scores,
            max_output_size_per_class=max_output_size_per_class,
            max_total_size=max_total_size,
            iou_threshold=convert_to_tensor(iou_threshold, "float32", name="iou_threshold"),
            score_threshold=convert_to_tensor(score_threshold, "float32", name="score_threshold"),
            pad_per_class=pad_per_class,
            clip_boxes=clip_boxes,
        )
    return CombinedNonMaxSuppression(*outputs)


def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    overlap_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """Chooses what has high scores and does not overlap, by a table of overlaps.

    Args:
        overlaps: float32 ``[n, n]``: how much each overlaps with each.
        scores: floats ``[n]``.
        max_output_size: how many are chosen at most, int32.
        overlap_threshold: two that overlap more are not both chosen.
        score_threshold: those without a higher score are left out.
        name: name of the scope.

    Returns:
        int32: the numbers of those chosen, the highest score first.

    Raises:
        InvalidArgumentError: at run time, the shapes are others.
    """
    with name_scope(name, "non_max_suppression_overlaps"):
        return new(
            "NonMaxSuppressionWithOverlaps",
            overlaps=overlaps,
            scores=scores,
            max_output_size=max_output_size,
            overlap_threshold=convert_to_tensor(overlap_threshold, float32, name="overlap_threshold"),
            score_threshold=convert_to_tensor(score_threshold, float32, name="score_threshold"),
        )


def sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """A random part of an image that covers enough of one of its objects.

    Args:
        image_size: height, width and channels, integers.
        bounding_boxes: float32 ``[batch, boxes, 4]`` around the objects, as parts of height and width.
        seed: the op's seed, an integer; None: 0. Where both are 0, each session has others.
        seed2: its second seed; None: 0.
        min_object_covered: part of an object that is enough.
        aspect_ratio_range: least and greatest width by height; None: 0.75 and 1.33.
        area_range: least and greatest part of the image; None: 0.05 and 1.
        max_attempts: tries, after which it is the whole image; None: 100.
        use_image_if_no_bounding_boxes: whether without boxes all of the image is the object; None: it is not.
        name: name of the op.

    Returns:
        ``begin`` and ``size`` for ``tf.slice``, and the part as a box, float32 ``[1, 1, 4]``.

    Raises:
        InvalidArgumentError: at run time, there are no boxes, or a number is not sound.
    """
    with name_scope(name, "sample_distorted_bounding_box"):
        op = apply_op(
            "SampleDistortedBoundingBoxV2",
            image_size=image_size,
            bounding_boxes=bounding_boxes,
            min_object_covered=min_object_covered,
            seed=seed,
            seed2=seed2,
            aspect_ratio_range=None if aspect_ratio_range is None else list(aspect_ratio_range),
            area_range=None if area_range is None else list(area_range),
            max_attempts=max_attempts,
            use_image_if_no_bounding_boxes=use_image_if_no_bounding_boxes,
        )
    begin, size, boxes = op.outputs
    return begin, size, boxes


# CropAndResize


def _cut(boxes: Any, first: int, size: int, crop: int) -> tuple[Any, Any]:
    """Along one axis, where the pixels of each crop lie, and which of them are inside of the image.

    Args:
        boxes: the boxes.
        first: column of the begin of a box; the end is two further.
        size: pixels of the image.
        crop: pixels of a crop.
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
    """The nearest pixel; half way, the one further from 0."""
    return (np.sign(places) * np.floor(np.abs(places) + np.float32(0.5))).astype(np.int64)


class _Taps:
    """The pixels that each pixel of a crop is made of, along both axes."""

    def __init__(
        self, xp: Any, boxes: Any, height: int, width: int, crops: tuple[int, int], nearest: bool
    ) -> None:
        boxes = np.asarray(boxes if xp is np else boxes.get())
        (rows, in_rows), (columns, in_columns) = (
            _cut(boxes, 0, height, crops[0]),
            _cut(boxes, 1, width, crops[1]),
        )
        self.inside = in_rows[:, :, None] & in_columns[:, None, :]
        self.rows, self.columns = self._pairs(rows, height, nearest), self._pairs(columns, width, nearest)

    @staticmethod
    def _pairs(places: Any, size: int, nearest: bool) -> list[tuple[Any, Any]]:
        """Pixels and their weights, ``[boxes, crop]`` each."""

        def within(pixels: Any) -> Any:
            return np.clip(pixels, 0, size - 1).astype(np.int64)

        if nearest:
            return [(within(_rounded(places)), np.ones_like(places))]
        low = np.floor(places)
        part = places - low
        return [(within(low), 1 - part), (within(np.ceil(places)), part)]


@compute("CropAndResize", fresh=True)
def _crop(
    xp: Any,
    image: Any,
    boxes: Any,
    box_ind: Any,
    crop_size: Any,
    *,
    method: bytes,
    extrapolation_value: float,
) -> Any:
    _check_crop(image, boxes, box_ind, crop_size)
    _, height, width, channels = image.shape
    crops = tuple(crop_size.tolist())
    taps = _Taps(xp, boxes, height, width, crops, method == b"nearest")
    made = xp.zeros((len(boxes), *crops, channels), xp.float32)
    of_box = box_ind[:, None, None]
    for rows, down in taps.rows:
        for columns, across in taps.columns:
            pixels = image[of_box, xp.asarray(rows)[:, :, None], xp.asarray(columns)[:, None, :]]
            weights = down[:, :, None] * across[:, None, :]
            made += pixels.astype(xp.float32) * xp.asarray(weights)[..., None]
    return xp.where(xp.asarray(taps.inside)[..., None], made, xp.float32(extrapolation_value))


@compute("CropAndResizeGradImage", fresh=True)
def _crop_grad_image(
    xp: Any, grads: Any, boxes: Any, box_ind: Any, image_size: Any, *, T: Any, method: bytes
) -> Any:
    batch, height, width, channels = image_size.tolist()
    taps = _Taps(xp, boxes, height, width, grads.shape[1:3], method == b"nearest")
    made = np.zeros((batch, height, width, channels), np.float32)
    grads, of_box = _on_host(xp, grads) * taps.inside[..., None], _on_host(xp, box_ind)[:, None, None]
    for rows, down in taps.rows:
        for columns, across in taps.columns:
            weights = (down[:, :, None] * across[:, None, :])[..., None]
            np.add.at(made, (of_box, rows[:, :, None], columns[:, None, :]), grads * weights)
    return xp.asarray(made.astype(T.as_numpy_dtype))


def _on_host(xp: Any, array: Any) -> Any:
    return array if xp is np else array.get()


@compute("CropAndResizeGradBoxes", fresh=True)
def _crop_grad_boxes(xp: Any, grads: Any, image: Any, boxes: Any, box_ind: Any) -> Any:
    _, height, width, _ = image.shape
    crops = grads.shape[1:3]
    taps = _Taps(xp, boxes, height, width, crops, False)
    image, of_box = _on_host(xp, image).astype(np.float32), _on_host(xp, box_ind)[:, None, None]
    (top, _), (bottom, down) = taps.rows
    (left, _), (right, across) = taps.columns

    def at(rows: Any, columns: Any) -> Any:
        return image[of_box, rows[:, :, None], columns[:, None, :]]

    corners = at(top, left), at(top, right), at(bottom, left), at(bottom, right)
    down, across = down[:, :, None, None], across[:, None, :, None]
    given = _on_host(xp, grads) * taps.inside[..., None]
    by_row = (((1 - across) * (corners[2] - corners[0]) + across * (corners[3] - corners[1])) * given).sum(3)
    by_column = (((1 - down) * (corners[1] - corners[0]) + down * (corners[3] - corners[2])) * given).sum(3)
    made = np.zeros((len(of_box), 4), np.float32)
    for first, size, crop, gradients in (
        (0, height, crops[0], by_row.sum(2)),
        (1, width, crops[1], by_column.sum(1)),
    ):
        parts = np.arange(crop, dtype=np.float32) / (crop - 1) if crop > 1 else np.full(1, 0.5, np.float32)
        made[:, first] = (gradients * (1 - parts)).sum(1) * (size - 1)
        made[:, first + 2] = (gradients * parts).sum(1) * (size - 1)
    return xp.asarray(made)


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
    xp: Any,
    input: Any,
    size: Any,
    offsets: Any,
    *,
    centered: bool,
    normalized: bool,
    uniform_noise: bool,
    noise: bytes,
    ctx: KernelContext,
) -> Any:
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
    made = xp.empty((len(input), tall, wide, channels), input.dtype)
    for number, (down, across) in enumerate(_on_host(xp, offsets).tolist()):
        y = _begin(down, height, tall, centered, normalized)
        x = _begin(across, width, wide, centered, normalized)
        picture = input[number]
        top, left = max(y, 0), max(x, 0)
        bottom, right = min(y + tall, height), min(x + wide, width)
        if (top, left, bottom, right) != (y, x, y + tall, x + wide):
            made[number] = _noise(xp, input, made.shape[1:], kind, ctx)
        if top < bottom and left < right:
            made[number, top - y : bottom - y, left - x : right - x] = picture[top:bottom, left:right]
    return made


def _begin(offset: float, size: int, part: int, centered: bool, normalized: bool) -> int:
    """The first pixel of a part along one axis."""
    place = offset * size if normalized else offset
    if centered:
        place = place / 2 + size / 2
    return int(place - part / 2)


def _noise(xp: Any, input: Any, shape: Any, kind: str, ctx: KernelContext) -> Any:
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


# SampleDistortedBoundingBox


class _Words:
    """The random numbers of one run, one after the other."""

    def __init__(self, words: Any) -> None:
        self._words = iter(words.ravel())

    def unit(self) -> float:
        return float(unit_float(np, np.array([next(self._words)], np.uint32))[0])

    def below(self, limit: int) -> int:
        return int(next(self._words)) % limit


def _lrint(value: float) -> int:
    return int(np.rint(np.float32(value)))


def _random_part(
    width: int, height: int, areas: tuple[float, float], aspect: float, words: _Words
) -> tuple[int, int, int, int] | None:
    """A part of an image: x, y, width and height in pixels; None where this aspect does not go."""
    if areas[1] <= 0 or aspect <= 0 or width <= 0 or height <= 0:
        return None
    least, most = (np.float32(area) * width * height for area in areas)
    tall = _lrint(math.sqrt(least / aspect))
    tallest = _lrint(math.sqrt(most / aspect))
    if _lrint(tallest * aspect) > width:
        tallest = int((width + 0.5 - 1e-7) / aspect)
        if _lrint(tallest * aspect) > width:
            tallest -= 1
    tallest = min(tallest, height)
    tall = min(tall, tallest)
    if tall < tallest:
        tall += words.below(tallest - tall + 1)
    wide = _lrint(tall * aspect)
    if tall * wide < least:
        tall += 1
        wide = _lrint(tall * aspect)
    if tall * wide > most:
        tall -= 1
        wide = _lrint(tall * aspect)
    area = float(tall * wide)
    if area < least or area > most or wide > width or tall > height or wide <= 0 or tall <= 0:
        return None
    y = words.below(height - tall) if tall < height else 0
    x = words.below(width - wide) if wide < width else 0
    return x, y, wide, tall


def _covers(
    part: tuple[int, int, int, int], least: float, boxes: Sequence[tuple[int, int, int, int]]
) -> bool:
    """Whether a part covers enough of a box, both given by x, y, width and height."""
    x, y, wide, tall = part
    if wide * tall < 1:
        return False
    for left, top, width, height in boxes:
        area = width * height
        if area < 1:
            continue
        across = max(0, min(x + wide, left + width) - max(x, left))
        down = max(0, min(y + tall, top + height) - max(y, top))
        if np.float32(across * down) / np.float32(area) >= least:
            return True
    return False


@compute("SampleDistortedBoundingBoxV2", "SampleDistortedBoundingBox")
def _sample(
    xp: Any,
    image_size: Any,
    bounding_boxes: Any,
    min_object_covered: Any = None,
    *,
    seed: int,
    seed2: int,
    aspect_ratio_range: Any,
    area_range: Any,
    max_attempts: int,
    use_image_if_no_bounding_boxes: bool,
    ctx: KernelContext,
) -> Any:
    least = ctx.op.attrs["min_object_covered"] if min_object_covered is None else float(min_object_covered)
    if image_size.shape != (3,):
        raise InvalidArgumentError.of(
            f"image_size must be 1-dimensional, with 3 elements: got {brackets(image_size.shape)}"
        )
    height, width = image_size[:2].tolist()
    if height <= 0 or width <= 0:
        raise InvalidArgumentError.of(f"Image height and width must be positive: {height}, {width}")
    if least < 0:
        raise InvalidArgumentError.of(f"Min object covered must be non-negative: {least}")
    boxes = []
    for y_min, x_min, y_max, x_max in bounding_boxes.reshape(-1, 4):
        if min(y_min, x_min) < 0 or max(y_max, x_max) > 1:
            raise InvalidArgumentError.of("All bounding box coordinates must be in [0.0, 1.0]")
        left, top = int(x_min * width), int(y_min * height)
        boxes.append((left, top, int(x_max * width) - left, int(y_max * height) - top))
    if not boxes:
        if not use_image_if_no_bounding_boxes:
            raise InvalidArgumentError.of(
                "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you wish to"
                " not provide any bounding boxes."
            )
        boxes = [(0, 0, width, height)]

    def generator() -> Philox:
        if seed == 0 and seed2 == 0:
            return Philox(*(int.from_bytes(os.urandom(8), "little") for _ in range(2)))
        return Philox(seed, seed2)

    stream = ctx.session.kernel_state(ctx.op.name, generator).reserve(max_attempts, 1)
    words = _Words(stream.words(np, max_attempts + 1))
    lowest, highest = aspect_ratio_range
    chosen = 0, 0, width, height
    for _ in range(max_attempts):
        aspect = words.unit() * (highest - lowest) + lowest
        part = _random_part(width, height, area_range, aspect, words)
        if part is not None and _covers(part, least, boxes):
            chosen = part
            break
    x, y, wide, tall = chosen
    kind = image_size.dtype
    box = np.array([[[y / height, x / width, (y + tall) / height, (x + wide) / width]]], np.float32)
    return np.array([y, x, 0], kind), np.array([tall, wide, -1]).astype(kind), box


@shape_function("SampleDistortedBoundingBoxV2", "SampleDistortedBoundingBox")
def _sample_shape(op: Operation) -> Sequence[TensorShape]:
    return TensorShape([3]), TensorShape([3]), TensorShape([1, 1, 4])


not_differentiable("SampleDistortedBoundingBoxV2", "SampleDistortedBoundingBox")


# DrawBoundingBoxes

_COLOURS: Any = np.array(
    [
        *([1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1]),
        *([0.5, 0.5, 0, 1], [0.5, 0, 0, 1], [0, 0, 0.5, 1], [0, 1, 1, 1], [1, 0, 1, 1]),
    ],
    np.float32,
)
"""Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia."""


@compute("DrawBoundingBoxes", "DrawBoundingBoxesV2", fresh=True)
def _draw(xp: Any, images: Any, boxes: Any, colors: Any = None) -> Any:
    if images.ndim != 4:
        raise InvalidArgumentError.of("The rank of the images should be 4")
    if boxes.ndim != 3 or boxes.shape[2] != 4:
        raise InvalidArgumentError.of("The rank of the boxes tensor should be 3")
    if len(images) != len(boxes):
        raise InvalidArgumentError.of("The batch sizes should be the same")
    _, height, width, depth = images.shape
    if depth not in (1, 3, 4):
        raise InvalidArgumentError.of("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)")
    table = _COLOURS.copy() if colors is None or not len(colors) else _on_host(xp, colors).copy()
    if depth == 1 and (colors is None or not len(colors)):
        table[:, 0] = 1
    made = images.copy()
    for number, of_image in enumerate(_on_host(xp, boxes)):
        for at, (y_min, x_min, y_max, x_max) in enumerate(of_image):
            colour = xp.asarray(table[at % len(table), :depth]).astype(images.dtype)
            top, bottom = int(np.float32(y_min) * (height - 1)), int(np.float32(y_max) * (height - 1))
            left, right = int(np.float32(x_min) * (width - 1)), int(np.float32(x_max) * (width - 1))
            if top > bottom or left > right or top >= height or bottom < 0 or left >= width or right < 0:
                continue
            rows = slice(max(top, 0), min(bottom, height - 1) + 1)
            columns = slice(max(left, 0), min(right, width - 1) + 1)
            for row in (top, bottom):
                if 0 <= row < height:
                    made[number, row, columns] = colour
            for column in (left, right):
                if 0 <= column < width:
                    made[number, rows, column] = colour
    return made


shape_function("DrawBoundingBoxes", "DrawBoundingBoxesV2")(same_shape)
not_differentiable("DrawBoundingBoxes")


# NonMaxSuppression


def _common_parts(box: Any, others: Any) -> Any:
    """Of a box and each of others, the common area by the area of both."""
    low, high = np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])
    lows, highs = np.minimum(others[:, :2], others[:, 2:]), np.maximum(others[:, :2], others[:, 2:])
    area, areas = np.prod(high - low), np.prod(highs - lows, 1)
    common = np.prod(np.maximum(np.minimum(high, highs) - np.maximum(low, lows), 0), 1)
    is_some = (area > 0) & (areas > 0)
    return np.where(is_some, common / np.where(is_some, area + areas - common, 1), 0)


def _checked_parts(boxes: Any, scores: Any, iou: float) -> Callable[[int, list[int]], Any]:
    """Which part a box has in common with each of others."""
    if not 0 <= iou <= 1:
        raise InvalidArgumentError.of("iou_threshold must be in [0, 1]")
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise InvalidArgumentError.of(f"boxes must be 2-D{brackets(boxes.shape)}")
    if scores.shape != boxes.shape[:1]:
        raise InvalidArgumentError.of("scores has incompatible shape")
    wide = boxes.astype(np.float32)
    return lambda number, others: _common_parts(wide[number], wide[others])


def _suppress(
    parts: Callable[[int, list[int]], Any],
    scores: Any,
    most: int,
    limit: float,
    least: float,
    sigma: float = 0.0,
    is_strict: bool = False,
) -> tuple[Any, Any]:
    """The numbers of chosen boxes and their scores, the highest first.

    A box that has more than ``limit`` in common with one chosen is left out, in release 1.15 also one that has as much
    unless ``is_strict``.
    With a ``sigma``, the score of each falls by what it has in common with those chosen since it was looked at last,
    and it takes its new place among the others; in release 2.21 none is left out then for what it has in common.
    """
    is_old = rules() == "1.15" and not is_strict
    queue = [
        (-float(score), number, 0) for number, score in enumerate(scores.astype(np.float32)) if score > least
    ]
    heapq.heapify(queue)
    chosen: list[int] = []
    kept: list[float] = []
    while queue and len(chosen) < most:
        before, number, begin = heapq.heappop(queue)
        score = before
        if begin < len(chosen):
            common = parts(number, chosen[begin:])
            if (common >= limit).any() if is_old else not sigma and (common > limit).any():
                continue
            if sigma:
                fall = np.exp(np.float32(-0.5 / sigma) * common * common)
                score = float(np.prod(fall, dtype=np.float32) * np.float32(before))
        if score == before:
            chosen.append(number)
            kept.append(-score)
        elif -score > least:
            heapq.heappush(queue, (score, number, len(chosen)))
    return np.array(chosen, np.int32), np.array(kept, scores.dtype)


def _padded(array: Any, most: int, pads: bool) -> Any:
    return np.pad(array, (0, most - len(array))) if pads else array


@compute("NonMaxSuppression")
def _suppression(xp: Any, boxes: Any, scores: Any, max_output_size: Any, *, iou_threshold: float) -> Any:
    parts = _checked_parts(boxes, scores, iou_threshold)
    return _suppress(parts, scores, int(max_output_size), iou_threshold, -math.inf)[0]


@compute("CombinedNonMaxSuppression")
def _combined_suppression(
    xp: Any,
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any,
    score_threshold: Any,
    *,
    pad_per_class: bool,
    clip_boxes: bool,
) -> Any:
    each, most, limit = int(max_output_size_per_class), int(max_total_size), float(iou_threshold)
    if boxes.ndim != 4:
        raise InvalidArgumentError.of(f"boxes must be 4-D{brackets(boxes.shape)}")
    if scores.ndim != 3:
        raise InvalidArgumentError.of(f"scores must be 3-D{brackets(scores.shape)}")
    classes = scores.shape[2]
    if boxes.shape[2] not in (1, classes):
        raise InvalidArgumentError.of(
            "third dimension of boxes must be either 1 or equal to the third dimension of scores"
        )
    size = min(most, each * classes) if pad_per_class else most
    found = np.zeros((len(boxes), size, 6), np.float32)
    counts = np.zeros(len(boxes), np.int32)
    for image, (places, given) in enumerate(zip(boxes, scores, strict=True)):
        rows: list[Any] = []
        for kind in range(classes):
            own = places[:, min(kind, places.shape[1] - 1)]
            parts = _checked_parts(own, given[:, kind], limit)
            chosen, kept = _suppress(
                parts, given[:, kind], each, limit, float(score_threshold), is_strict=True
            )
            rows += [(*own[number], score, kind) for number, score in zip(chosen, kept, strict=True)]
        rows.sort(key=lambda row: -row[4])
        counts[image] = min(len(rows), size)
        if rows:
            found[image, : counts[image]] = rows[:size]
    corners = np.clip(found[..., :4], 0, 1) if clip_boxes else found[..., :4]
    return corners, found[..., 4], found[..., 5], counts


@compute("NonMaxSuppressionV2")
def _suppression_2(xp: Any, boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any) -> Any:
    iou = float(iou_threshold)
    return _suppress(_checked_parts(boxes, scores, iou), scores, int(max_output_size), iou, -math.inf)[0]


@compute("NonMaxSuppressionV3")
def _suppression_3(
    xp: Any, boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any, score_threshold: Any
) -> Any:
    iou, least = float(iou_threshold), float(score_threshold)
    return _suppress(_checked_parts(boxes, scores, iou), scores, int(max_output_size), iou, least)[0]


@compute("NonMaxSuppressionV4")
def _suppression_4(
    xp: Any,
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any,
    score_threshold: Any,
    *,
    pad_to_max_output_size: bool,
) -> Any:
    iou, least, most = float(iou_threshold), float(score_threshold), int(max_output_size)
    found, _ = _suppress(_checked_parts(boxes, scores, iou), scores, most, iou, least)
    return _padded(found, most, pad_to_max_output_size), np.array(len(found), np.int32)


@compute("NonMaxSuppressionV5")
def _suppression_5(
    xp: Any,
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any,
    score_threshold: Any,
    soft_nms_sigma: Any,
    *,
    pad_to_max_output_size: bool,
) -> Any:
    iou, least, sigma = float(iou_threshold), float(score_threshold), float(soft_nms_sigma)
    if sigma < 0:
        raise InvalidArgumentError.of("soft_nms_sigma_val must be >= 0")
    most, pads = int(max_output_size), pad_to_max_output_size
    found, kept = _suppress(_checked_parts(boxes, scores, iou), scores, most, iou, least, sigma)
    return _padded(found, most, pads), _padded(kept, most, pads), np.array(len(found), np.int32)


@compute("NonMaxSuppressionWithOverlaps")
def _suppression_of_overlaps(
    xp: Any, overlaps: Any, scores: Any, max_output_size: Any, overlap_threshold: Any, score_threshold: Any
) -> Any:
    if overlaps.ndim != 2 or overlaps.shape[0] != overlaps.shape[1]:
        raise InvalidArgumentError.of(f"overlaps must be square{brackets(overlaps.shape)}")
    if scores.shape != overlaps.shape[:1]:
        raise InvalidArgumentError.of("scores has incompatible shape")

    def parts(number: int, others: list[int]) -> Any:
        return overlaps[number, others]

    limits = float(overlap_threshold), float(score_threshold)
    return _suppress(parts, scores, int(max_output_size), *limits)[0]


@shape_function(
    "NonMaxSuppression",
    "NonMaxSuppressionV2",
    "NonMaxSuppressionV3",
    "NonMaxSuppressionV4",
    "NonMaxSuppressionV5",
    "NonMaxSuppressionWithOverlaps",
)
def _some(op: Operation) -> Sequence[TensorShape]:
    boxes, scores = require_rank(op.inputs[0].shape, 2), require_rank(op.inputs[1].shape, 1)
    for tensor in op.inputs[2:]:
        require_rank(tensor.shape, 0)
    merge_sizes(boxes[0].value, scores[0].value)
    if op.type.endswith("WithOverlaps"):
        merge_sizes(boxes[0].value, boxes[1].value)
    elif boxes[1].value not in (None, 4):
        raise ValueError(f"Dimension must be 4 but is {boxes[1]}")
    most = constant_value(op.inputs[2]) if op.attrs.get("pad_to_max_output_size") else None
    chosen = TensorShape([None if most is None else int(most)])
    return (*[chosen] * max(1, len(_outputs(op)) - 1), *[TensorShape([])] * (len(_outputs(op)) > 1))


def _outputs(op: Operation) -> Sequence[Any]:
    assert op.op_def is not None
    return op.op_def.outputs


not_differentiable("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionWithOverlaps")
