"""A convolution and what follows it piece by piece: bias, relu and max pooling, on the CPU.

Each op of the chain keeps its own place in a plan. The convolution only checks its inputs and hands them on, the bias
and the relu are noted, and the last op of the chain computes everything, while a piece's products are in the cache::

    Conv2D -> BiasAdd -> Relu -> MaxPool        images --[piece]--> products --max--> + bias --> relu --> result

Adding a number and cutting at zero keep the order of numbers, rounded as they are, so that the largest elements can be
found first: the result is the same and a quarter of the elements, or less, are left.

Source: tensorflow/core/grappler/optimizers/remapper.cc, release 1.15 (which fuses the first three ops).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.graph.operation import Operation
from gpuplace.kernels.pieces import in_turn, is_small_product, product, scratch
from gpuplace.ops.convolving import convolve, cut_output
from gpuplace.ops.pooling import largest, largest_of
from gpuplace.ops.windows import Window, format_of, spatial, window_of

__all__ = ["FOLLOWERS", "chain_functions"]

FOLLOWERS = ("BiasAdd", "Relu", "MaxPool")
"""The ops that a chain may have behind its convolution, in this order."""


@dataclasses.dataclass(slots=True)
class Pending:
    """A convolution that is not computed yet."""

    images: Any
    filter: Any
    window: Window
    bias: Any = None
    relu: bool = False

    def compute(self, pool: Window | None) -> Any:
        """The result of the chain."""
        rows, columns, deep, filters = self.filter.shape
        batch, height, width, channels = self.images.shape
        out_height, out_width, _ = self.window.geometry(height, width)
        spans = cut_output(np, self.images, self.window)
        whole = all(lines == slice(0, out_height) for _, lines in spans)
        in_order = self.bias is None or np.isfinite(self.bias).all()
        if channels != deep or (pool is not None and not (whole and in_order)):
            return self._one_by_one(pool)
        matrix = self.filter.reshape(-1, filters)
        sizes = (out_height, out_width) if pool is None else pool.geometry(out_height, out_width)[:2]
        result = np.empty((batch, *sizes, filters), self.images.dtype)

        def piece(index: int) -> None:
            part, lines = spans[index]
            seen = self.window.matrix(np, self.images[part], lines)
            target = result[part] if pool is not None else result[part, lines]
            if pool is None:
                product(np, seen, matrix, target.reshape(-1, filters))
            else:
                products = scratch(np, "products", (len(seen), filters), matrix.dtype)
                product(np, seen, matrix, products)
                largest_of(np, products.reshape(-1, out_height, out_width, filters), pool, target)
            self._finish(target)

        in_turn(np, piece, len(spans), products_are_small=is_small_product(np, *matrix.shape))
        return result

    def _finish(self, target: Any) -> None:
        if self.bias is not None:
            lines = target.reshape(-1, target.shape[2] * target.shape[3])
            np.add(lines, np.tile(self.bias, target.shape[2]), out=lines)
        if self.relu:
            np.maximum(target, target.dtype.type(0), out=target)

    def _one_by_one(self, pool: Window | None) -> Any:
        result = convolve(np, self.images, self.filter, self.window)
        if self.bias is not None:
            result += self.bias
        if self.relu:
            np.maximum(result, result.dtype.type(0), out=result)
        return result if pool is None else largest(np, result, pool)


def chain_functions(ops: Sequence[Operation], convolution: Callable[..., Any]) -> list[Callable[..., Any]]:
    """What a plan calls for each op of a chain, the convolution first.

    Args:
        ops: a convolution and, each fed by the one before, any of ``FOLLOWERS`` in their order.
        convolution: the function of the convolution alone, for inputs that it has to complain about.
    """

    def start(images: Any, filter: Any) -> Any:
        if images.shape[3] % filter.shape[2]:
            return convolution(images, filter)
        window = window_of(ops[0].attrs, filter.shape[0], filter.shape[1])
        window.geometry(images.shape[1], images.shape[2])
        return Pending(images, filter, window)

    functions: list[Callable[..., Any]] = [start]
    for op in ops[1:]:
        is_last = op is ops[-1]
        functions.append({"BiasAdd": _bias, "Relu": _relu, "MaxPool": _pool}[op.type](op, is_last))
    return functions


def _bias(op: Operation, is_last: bool) -> Callable[..., Any]:
    def run(pending: Pending, bias: Any) -> Any:
        if bias.shape != pending.filter.shape[3:]:
            np.add(pending.compute(None), bias)  # complains
        pending.bias = bias
        return pending.compute(None) if is_last else pending

    return run


def _relu(op: Operation, is_last: bool) -> Callable[..., Any]:
    def run(pending: Pending) -> Any:
        pending.relu = True
        return pending.compute(None) if is_last else pending

    return run


def _pool(op: Operation, is_last: bool) -> Callable[..., Any]:
    rows, columns = spatial(op.attrs["ksize"], format_of(op.attrs))
    window = window_of(op.attrs, rows, columns)
    return lambda pending: pending.compute(window)
