"""Boxes on images: drawing and sampling them.

A box is ``[y_min, x_min, y_max, x_max]``, usually as fractions of height and width.

Source: tensorflow/core/kernels/sample_distorted_bounding_box_op.cc, draw_bounding_box_op.cc and
tensorflow/python/ops/image_ops_impl.py, release 1.15.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.numerics.arguments import on_host
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.random.philox import Philox, unit_float
from gpuplace.ops.support import new, same_shape
from gpuplace.shapes import TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "draw_bounding_boxes",
    "sample_distorted_bounding_box",
]


def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, name: str | None = None, colors: TensorLike | None = None
) -> Tensor:
    """Draw boxes on images.

    Args:
        images: floats ``[batch, height, width, channels]``.
        boxes: float32 ``[batch, boxes, 4]``, as fractions of height and width.
        name: name of the op.
        colors: float32 ``[colours, channels]``, used in turn; None for ten default colours.

    Returns:
        The images, with lines one pixel wide.

    Raises:
        InvalidArgumentError: at run time, a shape is wrong.
    """
    if colors is None:
        return new("DrawBoundingBoxes", name, images=images, boxes=boxes)
    return new("DrawBoundingBoxesV2", name, images=images, boxes=boxes, colors=colors)


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
    """Return a random part of an image that covers enough of one of its objects.

    Args:
        image_size: height, width and channels, integers.
        bounding_boxes: float32 ``[batch, boxes, 4]`` around the objects, as fractions of height and width.
        seed: the op's seed, an integer; None for 0. If both seeds are 0, each session draws a new one.
        seed2: its second seed; None for 0.
        min_object_covered: fraction of an object that must be covered.
        aspect_ratio_range: smallest and largest ratio of width to height; None for 0.75 and 1.33.
        area_range: smallest and largest fraction of the image's area; None for 0.05 and 1.
        max_attempts: number of attempts, after which the whole image is used; None for 100.
        use_image_if_no_bounding_boxes: whether the whole image is the object if there are no boxes; None for
            False.
        name: name of the op.

    Returns:
        ``begin`` and ``size`` for ``tf.slice``, and the part as a box, float32 ``[1, 1, 4]``.

    Raises:
        InvalidArgumentError: at run time, there are no boxes, or a number is invalid.
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


# SampleDistortedBoundingBox


class _RandomWords:
    """The random numbers of one run, in order."""

    def __init__(self, words: Array) -> None:
        self._words = iter(words.ravel())

    def unit(self) -> float:
        return float(unit_float(np, np.array([next(self._words)], np.uint32))[0])

    def below(self, limit: int) -> int:
        return int(next(self._words)) % limit


def _lrint(value: float) -> int:
    return int(np.rint(np.float32(value)))


def _random_part(
    width: int, height: int, areas: tuple[float, float], aspect: float, words: _RandomWords
) -> tuple[int, int, int, int] | None:
    """Return a part of an image: x, y, width and height in pixels; None if this aspect ratio is impossible."""
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
    """Return whether a part covers enough of a box, both given as x, y, width and height."""
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
    xp: ArrayModule,
    image_size: Array,
    bounding_boxes: Array,
    min_object_covered: Array | None = None,
    *,
    seed: int,
    seed2: int,
    aspect_ratio_range: Any,
    area_range: Any,
    max_attempts: int,
    use_image_if_no_bounding_boxes: bool,
    ctx: KernelContext,
) -> tuple[Array, ...]:
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
    words = _RandomWords(stream.words(np, max_attempts + 1))
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
def _draw(xp: ArrayModule, images: Array, boxes: Array, colors: Array | None = None) -> Array:
    if images.ndim != 4:
        raise InvalidArgumentError.of("The rank of the images should be 4")
    if boxes.ndim != 3 or boxes.shape[2] != 4:
        raise InvalidArgumentError.of("The rank of the boxes tensor should be 3")
    if len(images) != len(boxes):
        raise InvalidArgumentError.of("The batch sizes should be the same")
    _, height, width, depth = images.shape
    if depth not in (1, 3, 4):
        raise InvalidArgumentError.of("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)")
    table = _COLOURS.copy() if colors is None or not len(colors) else on_host(colors).copy()
    if depth == 1 and (colors is None or not len(colors)):
        table[:, 0] = 1
    result = images.copy()
    for number, of_image in enumerate(on_host(boxes)):
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
                    result[number, row, columns] = colour
            for column in (left, right):
                if 0 <= column < width:
                    result[number, rows, column] = colour
    return result


shape_function("DrawBoundingBoxes", "DrawBoundingBoxesV2")(same_shape)


not_differentiable("DrawBoundingBoxes")
