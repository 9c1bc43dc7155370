"""Arithmetic of convolution and pooling over three axes, and their gradients, on NDHWC volumes.

For one position in the windows (a tap), the elements of all windows form a strided view of the padded volumes. Each tap
adds one matrix product, or one comparison, to the result::

    volumes --pad--> view of the tap --@ filter of the tap--> added to [batch, planes, rows, columns, filters]

Half-precision numbers are multiplied and summed as float32.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpuplace.ops.nn.conv_arithmetic import wide
from gpuplace.ops.nn.windows import output_size
from gpuplace.typing import Array, ArrayModule

Three = tuple[int, int, int]


@dataclass(frozen=True)
class Block:
    """Window of a node: sizes along planes, rows and columns, strides and dilations."""

    taps: Three
    strides: Three
    dilations: Three = (1, 1, 1)
    padding: str = "VALID"

    def geometry(self, sizes: Three) -> tuple[Three, list[tuple[int, int]]]:
        """Return the sizes of the output, and the border before and after each axis, for volumes of those sizes."""
        out_sizes, pads = [], []
        for size, taps, stride, dilation in zip(sizes, self.taps, self.strides, self.dilations, strict=True):
            out, before, after = output_size(size, taps, dilation, stride, self.padding, (0, 0))
            assert out is not None
            out_sizes.append(out)
            pads.append((before, after))
        return (out_sizes[0], out_sizes[1], out_sizes[2]), pads

    def positions(self, out: Three) -> Iterator[tuple[Three, tuple[slice, ...]]]:
        """Yield each tap, plane by plane, and its slices in the padded volumes for all windows."""
        for tap in itertools.product(*map(range, self.taps)):
            where = tuple(
                slice(at * gap, at * gap + (count - 1) * stride + 1, stride) if count else slice(0, 0)
                for at, gap, stride, count in zip(tap, self.dilations, self.strides, out, strict=True)
            )
            yield (tap[0], tap[1], tap[2]), (slice(None), *where)


def _padded(xp: ArrayModule, volumes: Array, pads: list[tuple[int, int]], fill: Any = 0) -> Array:
    if not any(map(any, pads)):
        return volumes
    return xp.pad(volumes, [(0, 0), *pads, (0, 0)], constant_values=fill)


def _inner(pads: list[tuple[int, int]], sizes: Any) -> tuple[slice, ...]:
    return (slice(None), *[slice(pad[0], pad[0] + size) for pad, size in zip(pads, sizes, strict=True)])


def convolve(xp: Any, volumes: Array, filter: Array, block: Block) -> Array:
    """Return the convolution of volumes; a filter with fewer input channels makes groups."""
    deep, filters = filter.shape[3:]
    out, pads = block.geometry(volumes.shape[1:4])
    groups = volumes.shape[4] // deep
    if groups > 1:
        parts = [
            convolve(xp, volumes[..., at * deep : (at + 1) * deep], part, block)
            for at, part in enumerate(xp.split(filter, groups, axis=4))
        ]
        return xp.concatenate(parts, axis=4)
    source, weights = _padded(xp, wide(volumes), pads), wide(filter)
    total = xp.zeros((len(volumes), *out, filters), source.dtype)
    if total.size:
        for tap, where in block.positions(out):
            total += xp.matmul(source[where], weights[tap])
    return total.astype(volumes.dtype, copy=False)


def volumes_gradient(
    xp: ArrayModule, shape: tuple[int, ...], filter: Array, grad: Array, block: Block
) -> Array:
    """Return the gradient of ``convolve`` with respect to volumes of that shape."""
    deep, filters = filter.shape[3:]
    groups = shape[4] // deep
    if groups > 1:
        each = filters // groups
        parts = [
            volumes_gradient(xp, (*shape[:4], deep), part, grad[..., at * each : (at + 1) * each], block)
            for at, part in enumerate(xp.split(filter, groups, axis=4))
        ]
        return xp.concatenate(parts, axis=4)
    sizes = (shape[1], shape[2], shape[3])
    out, pads = block.geometry(sizes)
    some, weights = wide(grad), wide(filter)
    padded = [size + sum(pad) for size, pad in zip(sizes, pads, strict=True)]
    back = xp.zeros((shape[0], *padded, deep), some.dtype)
    if some.size:
        for tap, where in block.positions(out):
            back[where] += xp.matmul(some, weights[tap].T)
    return xp.ascontiguousarray(back[_inner(pads, sizes)]).astype(grad.dtype, copy=False)


def filter_gradient(
    xp: ArrayModule, volumes: Array, shape: tuple[int, ...], grad: Array, block: Block
) -> Array:
    """Return the gradient of ``convolve`` with respect to a filter of that shape."""
    deep, filters = shape[3:]
    groups = volumes.shape[4] // deep
    if groups > 1:
        each = filters // groups
        parts = [
            filter_gradient(
                xp,
                volumes[..., at * deep : (at + 1) * deep],
                (*shape[:4], each),
                grad[..., at * each : (at + 1) * each],
                block,
            )
            for at in range(groups)
        ]
        return xp.concatenate(parts, axis=4)
    out, pads = block.geometry(volumes.shape[1:4])
    source, some = _padded(xp, wide(volumes), pads), wide(grad).reshape(-1, filters)
    result = xp.zeros(shape, some.dtype)
    if some.size:
        for tap, where in block.positions(out):
            result[tap] = source[where].reshape(-1, deep).T @ some
    return result.astype(grad.dtype, copy=False)


def largest(xp: Any, volumes: Array, block: Block) -> Array:
    """Return the largest element of each window."""
    out, pads = block.geometry(volumes.shape[1:4])
    source = _padded(xp, volumes, pads, -xp.inf)
    result = xp.full((len(volumes), *out, volumes.shape[4]), -xp.inf, volumes.dtype)
    if result.size:
        for _, where in block.positions(out):
            xp.maximum(result, source[where], out=result)
    return result


def largest_gradient(xp: Any, volumes: Array, pooled: Array, grad: Array, block: Block) -> Array:
    """Return the gradient of ``largest``: each of a window's largest elements gets all of its gradient."""
    sizes = volumes.shape[1:4]
    out, pads = block.geometry(sizes)
    padded = [size + sum(pad) for size, pad in zip(sizes, pads, strict=True)]
    back = xp.zeros((len(volumes), *padded, volumes.shape[4]), grad.dtype)
    if grad.size:
        source, nothing = _padded(xp, volumes, pads, -xp.inf), grad.dtype.type(0)
        for _, where in block.positions(out):
            back[where] += xp.where(source[where] == pooled, grad, nothing)
    return xp.ascontiguousarray(back[_inner(pads, sizes)])


def at_largest(xp: Any, volumes: Array, pooled: Array, values: Array, block: Block) -> Array:
    """Return the elements of ``values`` at the first of the largest elements in each window of ``volumes``."""
    out, pads = block.geometry(volumes.shape[1:4])
    result, done = xp.zeros(pooled.shape, values.dtype), xp.zeros(pooled.shape, bool)
    if result.size:
        source, others = _padded(xp, volumes, pads, -xp.inf), _padded(xp, values, pads)
        for _, where in block.positions(out):
            hits = (source[where] == pooled) & ~done
            done |= hits
            result = xp.where(hits, others[where], result)
    return result


def means(xp: Any, volumes: Array, block: Block) -> Array:
    """Return the mean of each window; its part outside the volume is not counted."""
    out, pads = block.geometry(volumes.shape[1:4])
    source = _padded(xp, wide(volumes), pads)
    total = xp.zeros((len(volumes), *out, volumes.shape[4]), source.dtype)
    if total.size:
        for _, where in block.positions(out):
            total += source[where]
    return (total / _counts(xp, block, volumes.shape[1:4], total.dtype)).astype(volumes.dtype, copy=False)


def means_gradient(xp: ArrayModule, shape: tuple[int, ...], grad: Array, block: Block) -> Array:
    """Return the gradient of ``means`` with respect to volumes of that shape."""
    sizes = (shape[1], shape[2], shape[3])
    out, pads = block.geometry(sizes)
    share = wide(grad) / _counts(xp, block, sizes, wide(grad).dtype)
    padded = [size + sum(pad) for size, pad in zip(sizes, pads, strict=True)]
    back = xp.zeros((shape[0], *padded, shape[4]), share.dtype)
    if share.size:
        for _, where in block.positions(out):
            back[where] += share
    return xp.ascontiguousarray(back[_inner(pads, sizes)]).astype(grad.dtype, copy=False)


def _counts(xp: ArrayModule, block: Block, sizes: Three, dtype: Any) -> Array:
    """Return the number of volume elements in each window: ``[planes, rows, columns, 1]``."""
    out, pads = block.geometry(sizes)
    result = xp.ones((1, 1, 1, 1), dtype)
    for axis, (size, count, pad) in enumerate(zip(sizes, out, pads, strict=True)):
        first = xp.arange(count) * block.strides[axis] - pad[0]
        covered = xp.minimum(first + block.taps[axis], size) - xp.maximum(first, 0)
        result = result * covered.astype(dtype).reshape([-1 if at == axis else 1 for at in range(4)])
    return result
