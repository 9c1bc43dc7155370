"""Non-maximum suppression: ``tf.image.non_max_suppression`` and similar functions.

Source: tensorflow/core/kernels/non_max_suppression_op.cc and tensorflow/python/ops/image_ops_impl.py, release 1.15.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuplace.dtypes import float32
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.shape_rules import merge_sizes, require_rank
from gpuplace.ops.support import new, new_list
from gpuplace.release import rules
from gpuplace.shapes import TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "combined_non_max_suppression",
    "non_max_suppression",
    "non_max_suppression_overlaps",
    "non_max_suppression_padded",
    "non_max_suppression_with_scores",
]


def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """Select boxes with high scores that do not overlap much.

    Args:
        boxes: floats ``[boxes, 4]``; any two opposite corners of each box.
        scores: floats ``[boxes]``.
        max_output_size: maximum number of selected boxes, int32.
        iou_threshold: two boxes with a larger intersection over union are not both selected.
        score_threshold: boxes whose score is not higher are left out.
        name: name of the scope.

    Returns:
        int32: the indices of the selected boxes, the highest score first.

    Raises:
        InvalidArgumentError: at run time, a threshold is not within [0, 1], or a shape is wrong.
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
    """Select boxes with high scores; overlaps with better boxes lower a score.

    Args:
        boxes: floats ``[boxes, 4]``; any two opposite corners of each box.
        scores: floats ``[boxes]``.
        max_output_size: maximum number of selected boxes, int32.
        iou_threshold: two boxes with a larger intersection over union are not both selected.
        score_threshold: boxes whose score is not higher are left out.
        soft_nms_sigma: how slowly scores fall, 0 or more; 0: overlapping boxes are left out and no score
            falls.
        name: name of the scope.

    Returns:
        The indices of the selected boxes, int32, the highest score first, and these scores.

    Raises:
        InvalidArgumentError: at run time, a threshold is out of range, or a shape is wrong.
    """
    with name_scope(name, "non_max_suppression_with_scores"):
        outputs = new_list(
            "NonMaxSuppressionV5",
            boxes=boxes,
            scores=scores,
            max_output_size=max_output_size,
            iou_threshold=convert_to_tensor(iou_threshold, float32, name="iou_threshold"),
            score_threshold=convert_to_tensor(score_threshold, float32, name="score_threshold"),
            soft_nms_sigma=convert_to_tensor(soft_nms_sigma, float32, name="soft_nms_sigma"),
            pad_to_max_output_size=False,
        )
        return outputs[0], outputs[1]


def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Select boxes with high scores that do not overlap much, and return their number.

    Args:
        boxes: floats ``[boxes, 4]``; any two opposite corners of each box.
        scores: floats ``[boxes]``.
        max_output_size: maximum number of selected boxes, int32.
        iou_threshold: two boxes with a larger intersection over union are not both selected.
        score_threshold: boxes whose score is not higher are left out.
        pad_to_max_output_size: whether to pad the indices with zeros to ``max_output_size``.
        name: name of the scope.

    Returns:
        int32: the indices of the selected boxes, the highest score first, and their number.

    Raises:
        InvalidArgumentError: at run time, a threshold is not within [0, 1], or a shape is wrong.
    """
    with name_scope(name, "non_max_suppression_padded"):
        outputs = new_list(
            "NonMaxSuppressionV4",
            boxes=boxes,
            scores=scores,
            max_output_size=max_output_size,
            iou_threshold=convert_to_tensor(iou_threshold, float32, name="iou_threshold"),
            score_threshold=convert_to_tensor(score_threshold, float32, name="score_threshold"),
            pad_to_max_output_size=pad_to_max_output_size,
        )
        return outputs[0], outputs[1]


class CombinedNonMaxSuppression(NamedTuple):
    """The result of ``combined_non_max_suppression``."""

    nmsed_boxes: Tensor
    """float32 ``[batch, boxes, 4]``."""
    nmsed_scores: Tensor
    """float32 ``[batch, boxes]``, the highest first."""
    nmsed_classes: Tensor
    """float32 ``[batch, boxes]``: the class index."""
    valid_detections: Tensor
    """int32 ``[batch]``: number of boxes before the padding."""


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
    """Select boxes of several images and classes that do not overlap much with others of their class.

    Args:
        boxes: float32 ``[batch, boxes, classes, 4]``, or ``[batch, boxes, 1, 4]`` if they are the same in all classes.
        scores: float32 ``[batch, boxes, classes]``.
        max_output_size_per_class: maximum number of boxes for each class, an int32 scalar.
        max_total_size: maximum number of boxes for each image, an int32 scalar.
        iou_threshold: two boxes of a class with a larger intersection over union are not both selected.
        score_threshold: boxes whose score is not higher are left out.
        pad_per_class: whether the padded size is at most ``max_output_size_per_class`` times the number of
            classes, rather than ``max_total_size``.
        clip_boxes: whether to clip boxes to the image, from 0 to 1.
        name: name of the op.

    Returns:
        A named tuple of the boxes, their scores and classes, and their number for each image.

    Raises:
        InvalidArgumentError: at run time, the shapes do not match.
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
    """Select items with high scores that do not overlap, from a matrix of overlaps.

    Args:
        overlaps: float32 ``[n, n]``: the overlap of each pair.
        scores: floats ``[n]``.
        max_output_size: maximum number of selected items, int32.
        overlap_threshold: two items with a larger overlap are not both selected.
        score_threshold: items whose score is not higher are left out.
        name: name of the scope.

    Returns:
        int32: the indices of the selected items, the highest score first.

    Raises:
        InvalidArgumentError: at run time, a shape is wrong.
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


# NonMaxSuppression


def _box_overlaps(box: Any, others: Any) -> Any:
    """Return the intersection over union of a box and each of the others."""
    low, high = np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])
    lows, highs = np.minimum(others[:, :2], others[:, 2:]), np.maximum(others[:, :2], others[:, 2:])
    area, areas = np.prod(high - low), np.prod(highs - lows, 1)
    common = np.prod(np.maximum(np.minimum(high, highs) - np.maximum(low, lows), 0), 1)
    is_some = (area > 0) & (areas > 0)
    return np.where(is_some, common / np.where(is_some, area + areas - common, 1), 0)


def _overlap_function(boxes: Any, scores: Any, iou: float) -> Callable[[int, list[int]], Any]:
    """Check the arguments and return the function that computes the overlaps of a box."""
    if not 0 <= iou <= 1:
        raise InvalidArgumentError.of("iou_threshold must be in [0, 1]")
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise InvalidArgumentError.of(f"boxes must be 2-D{brackets(boxes.shape)}")
    if scores.shape != boxes.shape[:1]:
        raise InvalidArgumentError.of("scores has incompatible shape")
    wide = boxes.astype(np.float32)
    return lambda number, others: _box_overlaps(wide[number], wide[others])


def _suppress(
    parts: Callable[[int, list[int]], Any],
    scores: Any,
    most: int,
    limit: float,
    least: float,
    sigma: float = 0.0,
    is_strict: bool = False,
) -> tuple[Any, Any]:
    """Return the indices of the selected boxes and their scores, the highest first.

    A box whose overlap with a selected box exceeds ``limit`` is left out; in release 1.15 so is a box whose
    overlap equals it, unless ``is_strict``. With a ``sigma``, overlaps with boxes selected since the last
    visit lower the score of a box, which is then ranked again; in release 2.21 no box is left out then for
    its overlap.
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
def _suppression(
    xp: ArrayModule, boxes: Array, scores: Array, max_output_size: Array, *, iou_threshold: float
) -> Array:
    parts = _overlap_function(boxes, scores, iou_threshold)
    return _suppress(parts, scores, int(max_output_size), iou_threshold, -math.inf)[0]


@compute("CombinedNonMaxSuppression")
def _combined_suppression(
    xp: ArrayModule,
    boxes: Array,
    scores: Array,
    max_output_size_per_class: Array,
    max_total_size: Array,
    iou_threshold: Array,
    score_threshold: Array,
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
    detections = np.zeros((len(boxes), size, 6), np.float32)
    counts = np.zeros(len(boxes), np.int32)
    for image, (places, image_scores) in enumerate(zip(boxes, scores, strict=True)):
        rows: list[Any] = []
        for kind in range(classes):
            own = places[:, min(kind, places.shape[1] - 1)]
            parts = _overlap_function(own, image_scores[:, kind], limit)
            chosen, kept = _suppress(
                parts, image_scores[:, kind], each, limit, float(score_threshold), is_strict=True
            )
            rows += [(*own[number], score, kind) for number, score in zip(chosen, kept, strict=True)]
        rows.sort(key=lambda row: -row[4])
        counts[image] = min(len(rows), size)
        if rows:
            detections[image, : counts[image]] = rows[:size]
    corners = np.clip(detections[..., :4], 0, 1) if clip_boxes else detections[..., :4]
    return corners, detections[..., 4], detections[..., 5], counts


@compute("NonMaxSuppressionV2")
def _suppression_2(
    xp: ArrayModule, boxes: Array, scores: Array, max_output_size: Array, iou_threshold: Array
) -> Array:
    iou = float(iou_threshold)
    return _suppress(_overlap_function(boxes, scores, iou), scores, int(max_output_size), iou, -math.inf)[0]


@compute("NonMaxSuppressionV3")
def _suppression_3(
    xp: ArrayModule,
    boxes: Array,
    scores: Array,
    max_output_size: Array,
    iou_threshold: Array,
    score_threshold: Array,
) -> Array:
    iou, least = float(iou_threshold), float(score_threshold)
    return _suppress(_overlap_function(boxes, scores, iou), scores, int(max_output_size), iou, least)[0]


@compute("NonMaxSuppressionV4")
def _suppression_4(
    xp: ArrayModule,
    boxes: Array,
    scores: Array,
    max_output_size: Array,
    iou_threshold: Array,
    score_threshold: Array,
    *,
    pad_to_max_output_size: bool,
) -> Any:
    iou, least, most = float(iou_threshold), float(score_threshold), int(max_output_size)
    selected, _ = _suppress(_overlap_function(boxes, scores, iou), scores, most, iou, least)
    return _padded(selected, most, pad_to_max_output_size), np.array(len(selected), np.int32)


@compute("NonMaxSuppressionV5")
def _suppression_5(
    xp: ArrayModule,
    boxes: Array,
    scores: Array,
    max_output_size: Array,
    iou_threshold: Array,
    score_threshold: Array,
    soft_nms_sigma: Array,
    *,
    pad_to_max_output_size: bool,
) -> Any:
    iou, least, sigma = float(iou_threshold), float(score_threshold), float(soft_nms_sigma)
    if sigma < 0:
        raise InvalidArgumentError.of("soft_nms_sigma_val must be >= 0")
    most, pads = int(max_output_size), pad_to_max_output_size
    selected, kept = _suppress(_overlap_function(boxes, scores, iou), scores, most, iou, least, sigma)
    return _padded(selected, most, pads), _padded(kept, most, pads), np.array(len(selected), np.int32)


@compute("NonMaxSuppressionWithOverlaps")
def _suppression_of_overlaps(
    xp: ArrayModule,
    overlaps: Array,
    scores: Array,
    max_output_size: Array,
    overlap_threshold: Array,
    score_threshold: Array,
) -> Array:
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
