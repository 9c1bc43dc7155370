"""Fused convolutions on the CPU: convolution, bias, relu and max pooling, a few images at a time.

Each op of a chain keeps its own place in a plan. The convolution only checks its inputs and passes them on; the bias,
the relu, the pooling and further convolutions are recorded; and the last op of the chain computes everything. A thread
takes some images through all ops, so intermediate results are never larger than these images need::

    Conv2D -> BiasAdd -> Relu -> MaxPool -> Conv2D ...    some images --> products --max--> + bias --> relu --> ...

Adding a bias and applying a relu preserve the order of rounded numbers, so pooling can come first: the result is the
same with a quarter of the elements or fewer.

Source: tensorflow/core/grappler/optimizers/remapper.cc, release 1.15 (fuses the first three ops).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.graph.operation import Operation
from gpuplace.numerics.compiled.dispatch import compiled
from gpuplace.numerics.pieces import (
    PIECE_BYTES,
    WHOLE_BYTES,
    by_element,
    cuts,
    in_turn,
    product,
    scratch,
)
from gpuplace.ops.nn.conv_arithmetic import Loop, convolve, find_loop, interleaved, run_loop
from gpuplace.ops.nn.pool_arithmetic import largest, largest_of
from gpuplace.ops.nn.windows import Window, format_of, spatial, window_of
from gpuplace.typing import Array


@dataclasses.dataclass(slots=True)
class Pending:
    """A convolution that is not computed yet, with the ops that follow it."""

    images: Any
    """An array, or a pending convolution."""
    filter: Any
    window: Window
    shape: tuple[int, int, int, int]
    """Shape of the result."""
    bias: Any = None
    relu: bool = False
    pool: Window | None = None

    def compute(self) -> Array:
        """Compute and return the result of the chain."""
        stages = [self]
        while isinstance(stages[0].images, Pending):
            stages.insert(0, stages[0].images)
        images = stages[0].images
        image_bytes = max(stage._image_bytes() for stage in stages)
        if image_bytes > PIECE_BYTES or len(images) < 2 or not all(stage._is_plain() for stage in stages):
            for stage in stages:
                images = stage._run_separately(images)
            return images
        result = np.empty(self.shape, images.dtype)
        parts = cuts(len(images), image_bytes // 2)  # few pieces, because each one takes many calls
        prepared = [stage._prepared() for stage in stages]

        def piece(index: int) -> None:
            part = parts[index]
            some = images[part]
            for number, stage in enumerate(stages):
                shape = (len(some), *stage.shape[1:])
                target = result[part] if stage is self else scratch(np, f"stage {number}", shape, some.dtype)
                stage._write(some, target, *prepared[number])
                some = target

        in_turn(np, piece, len(parts))
        return result

    def _depth(self) -> int:
        rows, columns, deep, _ = self.filter.shape
        return rows * columns * deep

    def _image_bytes(self) -> int:
        """Size in bytes of the windows of one image, as a matrix."""
        height, width, _ = self.window.geometry(*self.images.shape[1:3])
        return height * width * self._depth() * self.filter.itemsize

    def _is_plain(self) -> bool:
        """Return whether there are no groups and pooling may come before the bias."""
        if self.images.shape[3] != self.filter.shape[2]:
            return False
        return self.pool is None or self.bias is None or bool(np.isfinite(self.bias).all())

    def _prepared(self) -> tuple[Any, Loop | None, Loop | None]:
        """Return the filter as a matrix, and the compiled loops for convolution and pooling, or None."""
        arrays = (self.filter,) if isinstance(self.images, Pending) else (self.filter, self.images)
        loop = find_loop("convolution", np, self.images.shape, self.filter.shape, self.window, *arrays)
        is_large = self.pool is not None and self.images.shape[0] * self._image_bytes() > WHOLE_BYTES
        matrix = self.filter.reshape(-1, self.filter.shape[3])
        pool_loop = compiled("largest", self.filter) if is_large else None
        return matrix if loop is None else interleaved(matrix), loop, pool_loop

    def _write(
        self, images: Array, target: Array, matrix: Array, loop: Loop | None, pool_loop: Loop | None
    ) -> None:
        """Compute some images."""
        filters = self.filter.shape[3]
        height, width, _ = self.window.geometry(*images.shape[1:3])
        if loop is not None and self.pool is None:
            run_loop(loop, images, matrix, self.window, target, slice(0, height), self.bias, self.relu)
            return
        products = target
        if self.pool is not None:
            products = scratch(np, "convolved", (len(images), height, width, filters), target.dtype)
        if loop is not None:
            run_loop(loop, images, matrix, self.window, products, slice(0, height))
        else:
            product(np, self.window.matrix(np, images), matrix, products.reshape(-1, filters))
        if self.pool is not None:
            largest_of(np, products, self.pool, target, pool_loop)
        if self.bias is not None:
            lines = target.reshape(-1, target.shape[2] * filters)
            np.add(lines, np.tile(self.bias, target.shape[2]), out=lines)
        if self.relu:
            by_element(np, np.maximum, target, target.dtype.type(0), target)

    def _run_separately(self, images: Array) -> Array:
        """Compute all images, one op after the other."""
        result = convolve(np, images, self.filter, self.window)
        if self.bias is not None:
            by_element(np, np.add, result, self.bias, result)
        if self.relu:
            by_element(np, np.maximum, result, result.dtype.type(0), result)
        return result if self.pool is None else largest(np, result, self.pool)


def chain_function(op: Operation, is_last: bool, alone: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that a plan calls for an op of a chain.

    Args:
        op: a convolution, or one of ``FOLLOWERS``.
        is_last: whether the op's value is needed.
        alone: the op's standalone function, which reports invalid inputs.
    """
    function = _PARTS[part_of(op)](op, alone)
    return (lambda *inputs: function(*inputs).compute()) if is_last else function


def _convolution(op: Operation, alone: Callable[..., Any]) -> Callable[..., Pending]:
    def run(images: Array, filter: Array) -> Pending:
        if images.shape[3] % filter.shape[2]:
            alone(images.compute() if isinstance(images, Pending) else images, filter)
        window = window_of(op.attrs, filter.shape[0], filter.shape[1])
        batch, height, width, _ = images.shape
        height, width, _ = window.geometry(height, width)
        return Pending(images, filter, window, (batch, height, width, filter.shape[3]))

    return run


def _bias(op: Operation, alone: Callable[..., Any]) -> Callable[..., Pending]:
    def run(pending: Pending, bias: Array) -> Pending:
        if bias.shape != pending.shape[3:]:
            alone(pending.compute(), bias)
        pending.bias = bias
        return pending

    return run


def _relu(op: Operation, alone: Callable[..., Any]) -> Callable[..., Pending]:
    def run(pending: Pending) -> Pending:
        pending.relu = True
        return pending

    return run


def _pool(op: Operation, alone: Callable[..., Any]) -> Callable[..., Pending]:
    rows, columns = spatial(op.attrs["ksize"], format_of(op.attrs))
    window = window_of(op.attrs, rows, columns)

    def run(pending: Pending) -> Pending:
        batch, height, width, channels = pending.shape
        height, width, _ = window.geometry(height, width)
        pending.pool, pending.shape = window, (batch, height, width, channels)
        return pending

    return run


_PARTS = {"Conv2D": _convolution, "BiasAdd": _bias, "Relu": _relu, "MaxPool": _pool}
FOLLOWERS = tuple(_PARTS)[1:]
"""The ops that may follow a convolution in a chain, in this order."""


def part_of(op: Operation) -> str:
    """Return the op's type in a chain; adding a vector along the channels counts as a bias."""
    if op.type in ("Add", "AddV2"):
        images, bias = (tensor.shape.sizes for tensor in op.inputs)
        if images is not None and bias is not None and len(images) == 4 and bias == images[3:] != (None,):
            return "BiasAdd"
    return op.type
