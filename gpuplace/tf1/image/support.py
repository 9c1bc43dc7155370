"""Helpers for image functions: shape checks, and sizes known while the graph is built or only at run time.

Source: tensorflow/python/ops/image_ops_impl.py, release 1.15 (checks, messages).
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.joining import unstack
from gpuplace.ops.array.reshaping import expand_dims, rank, shape, squeeze
from gpuplace.ops.flow.assert_and_print import Assert
from gpuplace.ops.flow.control import with_dependencies
from gpuplace.ops.math.check_ops import assert_greater_equal, assert_positive
from gpuplace.typing import TensorLike


def is_tensor(value: Any) -> bool:
    """Return whether a number is known only at run time."""
    return isinstance(value, Tensor) or hasattr(value, "_as_graph_element")


def checked(condition: TensorLike, sentence: str) -> list[Operation]:
    """Return operations that check a condition at run time; raise ValueError if it is known to be false."""
    if is_tensor(condition):
        return [Assert(condition, [sentence])]
    if not condition:
        raise ValueError(sentence)
    return []


def image_checks(image: Tensor) -> list[Operation]:
    """Return operations that check that a tensor is an image or a batch of images.

    Raises:
        ValueError: the tensor is known not to be an image.
    """
    sizes = image.shape.sizes
    if sizes is not None and len(sizes) < 3:
        raise ValueError("'image' must be at least three-dimensional.")
    if sizes is not None and 0 in sizes:
        raise ValueError(f"all dims of 'image.shape' must be > 0: {image.shape}")
    if sizes is not None and None not in sizes:
        return []
    return [
        assert_positive(shape(image), ["all dims of 'image.shape' must be > 0."]),
        assert_greater_equal(rank(image), 3, message="'image' must be at least three-dimensional."),
    ]


def with_image_checks(image: Tensor) -> Tensor:
    """Return the image after these checks."""
    checks = image_checks(image)
    return with_dependencies(checks, image)


def dimensions(image: Tensor, count: int) -> list[Any]:
    """Return the sizes of an image: numbers if they are known, otherwise tensors."""
    static = image.shape.with_rank(count)
    if static.is_fully_defined():
        return list(static.known_sizes)
    sizes = unstack(shape(image), count)
    return [each if size is None else size for size, each in zip(static.sizes or (), sizes, strict=True)]


def as_batch(image: Tensor) -> tuple[Tensor, bool]:
    """Return an image as a batch, and whether it already was one.

    Raises:
        ValueError: the rank is neither 3 nor 4.
    """
    ndims = image.shape.ndims
    if ndims == 4:
        return image, True
    if ndims not in (3, None):
        raise ValueError("'image' must have either 3 or 4 dimensions.")
    batch = expand_dims(image, 0)
    if ndims is None:
        batch.set_shape([None] * 4)
    return batch, False


def like_input(batch: Tensor, was_batch: bool) -> Tensor:
    """Return a batch, or its only image."""
    return batch if was_batch else squeeze(batch, axis=[0])
