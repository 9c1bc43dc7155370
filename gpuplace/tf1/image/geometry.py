"""Rotated, mirrored, cropped, padded and resized images.

Source: tensorflow/python/ops/image_ops_impl.py, release 1.15 (operations, names, messages).
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import float32, float64, int32
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.joining import stack
from gpuplace.ops.array.padding import pad
from gpuplace.ops.array.reshaping import reshape, shape
from gpuplace.ops.array.reshaping import transpose as transposed
from gpuplace.ops.array.sequence import reverse
from gpuplace.ops.array.slicing import slice as part_of
from gpuplace.ops.flow.case import case
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.flow.control import with_dependencies
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.comparison import equal, less
from gpuplace.ops.math.division import mod
from gpuplace.ops.math.elementwise import maximum, minimum
from gpuplace.ops.math.unary import floor
from gpuplace.ops.math.unary import round as rounded
from gpuplace.ops.random.random_ops import random_uniform
from gpuplace.shapes import TensorShape
from gpuplace.tf1.image.resizing import resize_area, resize_bicubic, resize_bilinear, resize_nearest_neighbor
from gpuplace.tf1.image.support import (
    as_batch,
    checked,
    dimensions,
    image_checks,
    is_tensor,
    like_input,
    with_image_checks,
)
from gpuplace.typing import TensorLike

__all__ = [
    "ResizeMethod",
    "central_crop",
    "crop_to_bounding_box",
    "flip_left_right",
    "flip_up_down",
    "pad_to_bounding_box",
    "random_flip_left_right",
    "random_flip_up_down",
    "resize_image_with_crop_or_pad",
    "resize_image_with_pad",
    "resize_images",
    "rot90",
    "transpose_image",
]


class ResizeMethod:
    """Interpolation methods of ``resize_images``."""

    BILINEAR = 0
    """Interpolation between the four neighbors."""
    NEAREST_NEIGHBOR = 1
    """The nearest pixel."""
    BICUBIC = 2
    """Interpolation between sixteen neighbors."""
    AREA = 3
    """The mean of the area."""


class ResizeMethodV2:
    """Method names of ``tensorflow.python.ops.image_ops.ResizeMethod``; ``resize_images`` supports the first four."""

    BILINEAR = "bilinear"
    """Interpolation between the four neighbors."""
    NEAREST_NEIGHBOR = "nearest"
    """The nearest pixel."""
    BICUBIC = "bicubic"
    """Interpolation between sixteen neighbors."""
    AREA = "area"
    """The mean of the area."""
    LANCZOS3 = "lanczos3"
    """In TensorFlow 2 only, like those below."""
    LANCZOS5 = "lanczos5"
    """With five lobes."""
    GAUSSIAN = "gaussian"
    """A Gaussian filter."""
    MITCHELLCUBIC = "mitchellcubic"
    """A cubic filter without antialiasing."""


_RESIZERS: dict[Any, Any] = {
    ResizeMethod.BILINEAR: resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resize_bicubic,
    ResizeMethod.AREA: resize_area,
    "bilinear": resize_bilinear,
    "nearest": resize_nearest_neighbor,
    "bicubic": resize_bicubic,
    "area": resize_area,
}


# Mirroring and rotation


def _is_batch(image: Tensor) -> bool:
    if image.shape.ndims not in (3, 4, None):
        raise ValueError("'image' must have either 3 or 4 dimensions.")
    return image.shape.ndims == 4


def _shaped_like(image: Tensor, result: Tensor) -> Tensor:
    result.set_shape([None] * 3 if image.shape.ndims is None else image.shape)
    return result


def _flipped(image: TensorLike, axis: int, scope: str) -> Tensor:
    with name_scope(None, scope, [image]):
        tensor = with_image_checks(convert_to_tensor(image, name="image"))
        if _is_batch(tensor):
            return reverse(tensor, [axis + 1])
        return _shaped_like(tensor, reverse(tensor, [axis]))


def flip_left_right(image: TensorLike) -> Tensor:
    """Mirror images horizontally.

    Args:
        image: ``[height, width, channels]``, or a batch of them.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: ``image`` is not an image.
    """
    return _flipped(image, 1, "flip_left_right")


def flip_up_down(image: TensorLike) -> Tensor:
    """Flip images upside down.

    Args:
        image: ``[height, width, channels]``, or a batch of them.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: ``image`` is not an image.
    """
    return _flipped(image, 0, "flip_up_down")


def _randomly_flipped(image: TensorLike, axis: int, seed: int | None, name: str) -> Tensor:
    with name_scope(None, name, [image]) as scope:
        tensor = with_image_checks(convert_to_tensor(image, name="image"))
        if not _is_batch(tensor):
            is_mirrored = less(random_uniform([], 0, 1.0, seed=seed), 0.5)
            result = cond(is_mirrored, lambda: reverse(tensor, [axis]), lambda: tensor, name=scope)
            return _shaped_like(tensor, result)
        count = shape(tensor)[0]
        draws = random_uniform([count], 0, 1.0, seed=seed)
        flips = cast(rounded(reshape(draws, [count, 1, 1, 1])), tensor.dtype)
        mirrored = reverse(tensor, [axis + 1])
        return flips * mirrored + (1 - flips) * tensor


def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Tensor:
    """Mirror images horizontally, with probability 1/2.

    Args:
        image: ``[height, width, channels]``, or a batch of them.
        seed: the op's seed, an integer, or None; see ``set_random_seed``.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: ``image`` is not an image.
    """
    return _randomly_flipped(image, 1, seed, "random_flip_left_right")


def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Tensor:
    """Flip images upside down, with probability 1/2.

    Args:
        image: ``[height, width, channels]``, or a batch of them.
        seed: the op's seed, an integer, or None; see ``set_random_seed``.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: ``image`` is not an image.
    """
    return _randomly_flipped(image, 0, seed, "random_flip_up_down")


def rot90(image: TensorLike, k: TensorLike = 1, name: str | None = None) -> Tensor:
    """Rotate images counterclockwise in steps of 90 degrees.

    Args:
        image: ``[height, width, channels]``, or a batch of them.
        k: number of steps.
        name: name of the op.

    Returns:
        A tensor of the same dtype.

    Raises:
        ValueError: ``image`` is not an image.
    """
    with name_scope(name, "rot90", [image, k]) as scope:
        tensor = with_image_checks(convert_to_tensor(image, name="image"))
        turns = convert_to_tensor(k, int32, name="k")
        turns.shape.with_rank(0)
        turns = mod(turns, 4)
        first = 1 if _is_batch(tensor) else 0
        rows, columns = [first], [first + 1]
        order = [0, 2, 1, 3] if first else [1, 0, 2]
        result = case(
            [
                (equal(turns, 1), lambda: transposed(reverse(tensor, columns), order)),
                (equal(turns, 2), lambda: reverse(tensor, rows + columns)),
                (equal(turns, 3), lambda: reverse(transposed(tensor, order), columns)),
            ],
            default=lambda: tensor,
            exclusive=True,
            name=scope,
        )
        if first:
            result.set_shape([result.shape[0], None, None, result.shape[3]])
        else:
            channels = None if tensor.shape.ndims is None else tensor.shape[2]
            result.set_shape([None, None, channels])
        return result


def transpose_image(image: TensorLike, name: str | None = None) -> Tensor:
    """Exchange rows and columns of images.

    Args:
        image: ``[height, width, channels]``, or a batch of them.
        name: name of the op.

    Returns:
        A tensor of the same dtype.

    Raises:
        ValueError: ``image`` is not an image.
    """
    with name_scope(name, "transpose", [image]):
        tensor = with_image_checks(convert_to_tensor(image, name="image"))
        return transposed(tensor, [0, 2, 1, 3] if _is_batch(tensor) else [1, 0, 2], name=name)


# Cropping and padding


def central_crop(image: TensorLike, central_fraction: float) -> Tensor:
    """Return the central part of images.

    Args:
        image: ``[height, width, channels]``, or a batch of them.
        central_fraction: fraction of height and width to keep.

    Returns:
        A tensor of the same dtype.

    Raises:
        ValueError: ``image`` is not an image, or the fraction is not within (0, 1].
    """
    with name_scope(None, "central_crop", [image]):
        tensor = convert_to_tensor(image, name="image")
        if not 0.0 < central_fraction <= 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if central_fraction == 1.0:
            return tensor
        with_image_checks(tensor)
        count = tensor.shape.ndims
        if count not in (3, 4):
            raise ValueError(
                f"`image` should either be a Tensor with rank = 3 or rank = 4. Had rank = {count}."
            )
        begin, size, static_sizes = [], [], []
        for axis in (count - 3, count - 2):
            pixels: Any = tensor.shape[axis].value
            if pixels is None:
                pixels = shape(tensor)[axis]
                wide = cast(pixels, float64)
                start: Any = cast((wide - wide * central_fraction) / 2, int32)
            else:
                start = int((float(pixels) - float(pixels) * central_fraction) / 2)
            begin.append(start)
            size.append(pixels - start * 2)
            static_sizes.append(None if is_tensor(pixels) else size[-1])
        front = [0] if count == 4 else []
        back = [-1] if count == 4 else []
        result = part_of(tensor, stack([*front, *begin, 0]), stack([*back, *size, -1]))
        result.set_shape([*([tensor.shape[0]] if count == 4 else []), *static_sizes, tensor.shape[count - 1]])
        return result


def pad_to_bounding_box(
    image: TensorLike, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Pad images with zeros to a given size.

    Args:
        image: ``[height, width, channels]``, or a batch of them.
        offset_height: rows above.
        offset_width: columns to the left.
        target_height: rows of the result.
        target_width: columns of the result.

    Returns:
        A tensor of the same dtype.

    Raises:
        ValueError: ``image`` is not an image, or does not fit (InvalidArgumentError if that is known only at
            run time).
    """
    with name_scope(None, "pad_to_bounding_box", [image]):
        batch, was_batch = as_batch(convert_to_tensor(image, name="image"))
        checks = image_checks(batch)
        count, height, width, channels = dimensions(batch, 4)
        right = target_width - offset_width - width
        below = target_height - offset_height - height
        checks += checked(offset_height >= 0, "offset_height must be >= 0")
        checks += checked(offset_width >= 0, "offset_width must be >= 0")
        checks += checked(right >= 0, "width must be <= target - offset")
        checks += checked(below >= 0, "height must be <= target - offset")
        batch = with_dependencies(checks, batch)
        sides = reshape(stack([0, 0, offset_height, below, offset_width, right, 0, 0]), [4, 2])
        padded = pad(batch, sides)
        padded.set_shape(_known([count, target_height, target_width, channels]))
        return like_input(padded, was_batch)


def _known(sizes: list[Any]) -> TensorShape:
    return TensorShape([None if is_tensor(size) else size for size in sizes])


def crop_to_bounding_box(
    image: TensorLike, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Return a rectangular part of images.

    Args:
        image: ``[height, width, channels]``, or a batch of them.
        offset_height: rows above.
        offset_width: columns to the left.
        target_height: rows of the part.
        target_width: columns of the part.

    Returns:
        A tensor of the same dtype.

    Raises:
        ValueError: ``image`` is not an image, or the part is outside it (InvalidArgumentError if that is
            known only at run time).
    """
    with name_scope(None, "crop_to_bounding_box", [image]):
        batch, was_batch = as_batch(convert_to_tensor(image, name="image"))
        checks = image_checks(batch)
        count, height, width, channels = dimensions(batch, 4)
        checks += checked(offset_width >= 0, "offset_width must be >= 0.")
        checks += checked(offset_height >= 0, "offset_height must be >= 0.")
        checks += checked(target_width > 0, "target_width must be > 0.")
        checks += checked(target_height > 0, "target_height must be > 0.")
        checks += checked(width >= target_width + offset_width, "width must be >= target + offset.")
        checks += checked(height >= target_height + offset_height, "height must be >= target + offset.")
        batch = with_dependencies(checks, batch)
        begin = stack([0, offset_height, offset_width, 0])
        part = part_of(batch, begin, stack([-1, target_height, target_width, -1]))
        part.set_shape(_known([count, target_height, target_width, channels]))
        return like_input(part, was_batch)


def _larger(one: Any, other: Any) -> Any:
    return maximum(one, other) if is_tensor(one) or is_tensor(other) else max(one, other)


def _smaller(one: Any, other: Any) -> Any:
    return minimum(one, other) if is_tensor(one) or is_tensor(other) else min(one, other)


def _equal(one: Any, other: Any) -> Any:
    return equal(one, other) if is_tensor(one) or is_tensor(other) else one == other


def resize_image_with_crop_or_pad(image: TensorLike, target_height: Any, target_width: Any) -> Tensor:
    """Crop or pad images around their center to a given size.

    Args:
        image: ``[height, width, channels]``, or a batch of them.
        target_height: rows of the result.
        target_width: columns of the result.

    Returns:
        A tensor of the same dtype.

    Raises:
        ValueError: ``image`` is not an image, or a size is not positive.
    """
    with name_scope(None, "resize_image_with_crop_or_pad", [image]):
        batch, was_batch = as_batch(convert_to_tensor(image, name="image"))
        checks = image_checks(batch)
        checks += checked(target_width > 0, "target_width must be > 0.")
        checks += checked(target_height > 0, "target_height must be > 0.")
        batch = with_dependencies(checks, batch)
        if is_tensor(target_height):
            target_height = with_dependencies(checks, target_height)
        if is_tensor(target_width):
            target_width = with_dependencies(checks, target_width)
        _, height, width, _ = dimensions(batch, 4)
        across, down = target_width - width, target_height - height
        crop_left, pad_left = _larger(-across // 2, 0), _larger(across // 2, 0)
        crop_top, pad_top = _larger(-down // 2, 0), _larger(down // 2, 0)
        part = crop_to_bounding_box(
            batch, crop_top, crop_left, _smaller(target_height, height), _smaller(target_width, width)
        )
        resized = pad_to_bounding_box(part, pad_top, pad_left, target_height, target_width)
        _, tall, wide, _ = dimensions(resized, 4)
        checks = checked(_equal(tall, target_height), "resized height is not correct.")
        checks += checked(_equal(wide, target_width), "resized width is not correct.")
        return like_input(with_dependencies(checks, resized), was_batch)


# Resizing


def resize_images(
    images: TensorLike,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resize images.

    Args:
        images: ``[height, width, channels]``, or a batch of them.
        size: the new height and width, int32.
        method: a ``ResizeMethod``, or ``"bilinear"``, ``"nearest"``, ``"bicubic"``, ``"area"``.
        align_corners: whether the corner pixels keep their values.
        preserve_aspect_ratio: whether to keep the aspect ratio and use the largest size that fits.
        name: name of the scope.

    Returns:
        float32, or the images' dtype for the nearest pixels; the unchanged images if they already have that
        size.

    Raises:
        ValueError: ``images`` are not images, or the method or size is invalid.
    """
    with name_scope(name, "resize", [images, size]):
        tensor = convert_to_tensor(images, name="images")
        if tensor.shape.ndims is None:
            raise ValueError("'images' contains no shape.")
        if tensor.shape.ndims not in (3, 4):
            raise ValueError("'images' must have either 3 or 4 dimensions.")
        batch, was_batch = as_batch(tensor)
        _, height, width, _ = batch.shape.as_list()
        try:
            new_size = convert_to_tensor(size, int32, name="size")
        except (TypeError, ValueError):
            raise ValueError("'size' must be a 1-D int32 Tensor") from None
        if not new_size.shape.is_compatible_with([2]):
            raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
        if preserve_aspect_ratio:
            new_size = _fitting(batch, new_size)
        static_size = constant_value(new_size)
        sizes = [None, None] if static_size is None else [int(one) for one in static_size]
        if None not in (*sizes, height, width) and [height, width] == sizes:
            return like_input(batch, was_batch)
        resize = _RESIZERS.get(method)
        if resize is None:
            raise ValueError("Resize method is not implemented.")
        result = resize(batch, new_size, align_corners=align_corners)
        result.set_shape([None, *sizes, None])
        return like_input(result, was_batch)


def _fitting(batch: Tensor, limit: Tensor) -> Tensor:
    """Return the largest size that fits into another and has the images' aspect ratio."""
    _, height, width, _ = dimensions(batch, 4)
    static_limit = constant_value(limit)
    sizes = [limit[0], limit[1]] if static_limit is None else [int(one) for one in static_limit]
    pixels = [cast(height, float32), cast(width, float32)]
    scale = minimum(cast(sizes[0], float32) / pixels[0], cast(sizes[1], float32) / pixels[1])
    return convert_to_tensor([cast(rounded(scale * pixel), int32) for pixel in pixels], int32, name="size")


def resize_image_with_pad(
    image: TensorLike,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """Resize images to fit into a size, keep their aspect ratio, and pad with zeros.

    Args:
        image: ``[height, width, channels]``, or a batch of them.
        target_height: rows of the result.
        target_width: columns of the result.
        method: as for ``resize_images``.
        align_corners: as for ``resize_images``.

    Returns:
        A tensor like that of ``resize_images``.

    Raises:
        ValueError: ``image`` is not an image, or a size is not positive.
    """
    with name_scope(None, "resize_image_with_pad", [image]):
        batch, was_batch = as_batch(convert_to_tensor(image, name="image"))
        checks = image_checks(batch)
        checks += checked(target_width > 0, "target_width must be > 0.")
        checks += checked(target_height > 0, "target_height must be > 0.")
        batch = with_dependencies(checks, batch)
        _, height, width, _ = dimensions(batch, 4)
        tall, wide = cast(height, float64), cast(width, float64)
        most_tall, most_wide = cast(target_height, float64), cast(target_width, float64)
        ratio = maximum(wide / most_wide, tall / most_tall)
        new_tall, new_wide = tall / ratio, wide / ratio
        size = [cast(floor(new_tall), int32), cast(floor(new_wide), int32)]
        above = maximum(0, cast(floor((most_tall - new_tall) / 2), int32))
        left = maximum(0, cast(floor((most_wide - new_wide) / 2), int32))
        resized = resize_images(batch, size, method, align_corners=align_corners)
        padded = pad_to_bounding_box(resized, above, left, target_height, target_width)
        return like_input(padded, was_batch)
