"""Gray-scale dilation and erosion of images.

Source: tensorflow/core/kernels/dilation_ops.cc, core/ops/nn_ops.cc and tensorflow/python/ops/nn_ops.py, nn_grad.py,
release 1.15.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.ops.array.sequence import reverse
from gpuplace.ops.deprecation import deprecated_argument_lookup
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math.unary import negative
from gpuplace.ops.nn.windows import output_size
from gpuplace.ops.shape_rules import merge_sizes, require_rank
from gpuplace.ops.support import new, same_shape, shape_of_second
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, ArrayModule, IntsLike, TensorLike

__all__ = ["dilation2d", "erosion2d"]

_ATTRS = ("strides", "rates", "padding")


def dilation2d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: IntsLike | None = None,
    rates: IntsLike | None = None,
    padding: str | None = None,
    name: str | None = None,
    filters: TensorLike | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """Return the largest sum of a pixel and the filter's element over it, for each position, channel by channel.

    Args:
        input: ``[batch, height, width, channels]``, numbers.
        filter: ``[rows, columns, channels]``, of the same dtype.
        strides: steps of the window, ``[1, down, across, 1]``.
        rates: distances of the window's elements, ``[1, down, across, 1]``.
        padding: ``"SAME"`` or ``"VALID"``; positions beyond the border are left out.
        name: name of the operation.
        filters: the newer name of ``filter``.
        dilations: the newer name of ``rates``.

    Returns:
        ``[batch, out_height, out_width, channels]``, with the dtype of ``input``.

    Raises:
        TypeError: the dtype is unsupported, the dtypes differ, or lists are missing.
        ValueError: the shapes do not match.
    """
    return new(
        "Dilation2D",
        name,
        input=input,
        filter=deprecated_argument_lookup("filters", filters, "filter", filter),
        strides=strides,
        rates=deprecated_argument_lookup("dilations", dilations, "rates", rates),
        padding=padding,
    )


def erosion2d(
    value: TensorLike,
    kernel: TensorLike,
    strides: IntsLike,
    rates: IntsLike,
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Return the smallest difference of a pixel and the kernel's element over it: a dilation of the negated images.

    Args:
        value: ``[batch, height, width, channels]``, numbers.
        kernel: ``[rows, columns, channels]``, of the same dtype.
        strides: steps of the window, ``[1, down, across, 1]``.
        rates: distances of the window's elements, ``[1, down, across, 1]``.
        padding: ``"SAME"`` or ``"VALID"``; positions beyond the border are left out.
        name: name of the scope.

    Returns:
        ``[batch, out_height, out_width, channels]``, with the dtype of ``value``.

    Raises:
        TypeError: the dtype is unsupported, or the dtypes differ.
        ValueError: the shapes do not match.
    """
    with name_scope(name, "erosion2d", [value, kernel]) as scope:
        turned = convert_to_tensor(kernel)
        dilated = dilation2d(negative(value), reverse(turned, [0, 1]), strides, rates, padding, scope)
        return negative(dilated)


def _sizes(op: Operation, height: Any, width: Any, rows: Any, columns: Any) -> list[tuple[Any, int, int]]:
    padding = op.attrs["padding"].decode()
    strides, rates = op.attrs["strides"], op.attrs["rates"]
    return [
        output_size(size, taps, rates[axis], strides[axis], padding, (0, 0))
        for axis, size, taps in ((1, height, rows), (2, width, columns))
    ]


@shape_function("Dilation2D")
def _dilation_shape(op: Operation) -> list[TensorShape]:
    for name in ("strides", "rates"):
        numbers = op.attrs[name]
        if len(numbers) != 4:
            raise ValueError(
                f"Dilation2D requires the {name} attribute to contain 4 values, but got: {len(numbers)}"
            )
    images, filter = require_rank(op.inputs[0].shape, 4), require_rank(op.inputs[1].shape, 3)
    if None in (images[1].value, images[2].value, filter[0].value, filter[1].value):
        return [TensorShape.of((images[0].value, None, None, images[3].value))]
    channels = merge_sizes(images[3].value, filter[2].value)
    sizes = _sizes(op, images[1].value, images[2].value, filter[0].value, filter[1].value)
    return [TensorShape.of((images[0].value, sizes[0][0], sizes[1][0], channels))]


shape_function("Dilation2DBackpropInput")(same_shape)


shape_function("Dilation2DBackpropFilter")(shape_of_second)


def _lowest(xp: ArrayModule, dtype: Any) -> Any:
    return xp.iinfo(dtype).min if dtype.kind in "iu" else -xp.inf


def _check(images: Any, filter: Any, ctx: KernelContext) -> None:
    strides, rates = ctx.op.attrs["strides"], ctx.op.attrs["rates"]
    for what, numbers in (("stride", strides), ("rate", rates)):
        if (numbers[0], numbers[3]) != (1, 1):
            raise InvalidArgumentError.of(
                f"{what.capitalize()}s in the batch and depth dimensions must be 1.", op=ctx.op
            )
    if images.ndim != 4:
        raise InvalidArgumentError.of("input must be 4-dimensional", op=ctx.op)
    if filter.ndim != 3:
        raise InvalidArgumentError.of("filter must be 3-dimensional", op=ctx.op)
    if images.shape[3] != filter.shape[2]:
        raise InvalidArgumentError.of(
            f"input and filter must have the same depth: {images.shape[3]} vs {filter.shape[2]}", op=ctx.op
        )


class _Window:
    """The positions of a node's window on images."""

    def __init__(self, op: Operation, images: Any, filter: Any) -> None:
        self.taps = filter.shape[:2]
        self.strides, self.rates = op.attrs["strides"][1:3], op.attrs["rates"][1:3]
        sizes = _sizes(op, *images.shape[1:3], *self.taps)
        self.out = (sizes[0][0], sizes[1][0])
        self.pads = [(before, after) for _, before, after in sizes]

    def padded(self, xp: ArrayModule, images: Array) -> Array:
        """Return images with a border, whose values are never the largest unless there are no others."""
        if not any(map(any, self.pads)):
            return images
        return xp.pad(images, [(0, 0), *self.pads, (0, 0)], constant_values=_lowest(xp, images.dtype))

    def positions(self) -> Iterator[tuple[tuple[int, int], tuple[slice, ...]]]:
        """Yield each element of the window and its positions in the padded images."""
        for tap in itertools.product(*map(range, self.taps)):
            where = [
                slice(at * rate, at * rate + max(0, count - 1) * step + 1, step)
                for at, rate, step, count in zip(tap, self.rates, self.strides, self.out, strict=True)
            ]
            yield (tap[0], tap[1]), (slice(None), *where)

    def inside(self, xp: ArrayModule, images: Array) -> Array:
        """Return which pixels of padded images are not in the border."""
        height, width = images.shape[1:3]
        mask = xp.zeros((1, height + sum(self.pads[0]), width + sum(self.pads[1]), 1), bool)
        mask[self.inner(height, width)] = True
        return mask

    def inner(self, height: int, width: int) -> tuple[slice, ...]:
        (top, _), (left, _) = self.pads
        return (slice(None), slice(top, top + height), slice(left, left + width))


def _largest_sums(xp: ArrayModule, images: Array, filter: Array, window: _Window) -> tuple[Any, Any]:
    """Return the largest sums, and the first element of the window that gives each of them."""
    shape = (len(images), *window.out, images.shape[3])
    best = xp.full(shape, _lowest(xp, images.dtype), images.dtype)
    chosen = xp.zeros(shape, xp.int32)
    if not best.size:
        return best, chosen
    source, inside = window.padded(xp, images), window.inside(xp, images)
    first = xp.ones(shape, bool)
    for number, (tap, where) in enumerate(window.positions()):
        sums = source[where] + filter[tap]
        better = inside[where] & (first | (sums > best))
        best, chosen = xp.where(better, sums, best), xp.where(better, xp.int32(number), chosen)
        first &= ~better
    return best.astype(images.dtype, copy=False), chosen


@compute("Dilation2D", fresh=True)
def _dilation(xp: ArrayModule, images: Array, filter: Array, *, ctx: KernelContext) -> Array:
    _check(images, filter, ctx)
    return _largest_sums(xp, images, filter, _Window(ctx.op, images, filter))[0]


def _check_gradient(images: Any, window: _Window, grad: Any, ctx: KernelContext) -> None:
    expected = (len(images), *window.out, images.shape[3])
    if tuple(grad.shape) != expected:
        raise InvalidArgumentError.of(
            f"out_backprop has incompatible size: {tuple(grad.shape)}; the dilation's output is {expected}",
            op=ctx.op,
        )


@compute("Dilation2DBackpropInput", fresh=True)
def _backprop_input(
    xp: ArrayModule, images: Array, filter: Array, grad: Array, *, ctx: KernelContext
) -> Array:
    _check(images, filter, ctx)
    window = _Window(ctx.op, images, filter)
    _check_gradient(images, window, grad, ctx)
    _, chosen = _largest_sums(xp, images, filter, window)
    back = xp.zeros_like(window.padded(xp, images))
    if grad.size:
        for number, (_, where) in enumerate(window.positions()):
            back[where] += xp.where(chosen == number, grad, grad.dtype.type(0))
    return xp.ascontiguousarray(back[window.inner(*images.shape[1:3])])


@compute("Dilation2DBackpropFilter", fresh=True)
def _backprop_filter(
    xp: ArrayModule, images: Array, filter: Array, grad: Array, *, ctx: KernelContext
) -> Array:
    _check(images, filter, ctx)
    window = _Window(ctx.op, images, filter)
    _check_gradient(images, window, grad, ctx)
    _, chosen = _largest_sums(xp, images, filter, window)
    result = xp.zeros_like(filter)
    for number, (tap, _) in enumerate(window.positions()):
        result[tap] = xp.where(chosen == number, grad, grad.dtype.type(0)).sum(
            axis=(0, 1, 2), dtype=filter.dtype
        )
    return result


@gradient("Dilation2D")
def _dilation_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    arguments: dict[str, Any] = {"input": op.inputs[0], "filter": op.inputs[1], "out_backprop": grad}
    attrs = {name: op.attrs[name] for name in _ATTRS}
    return [new(f"Dilation2DBackprop{what}", **arguments, **attrs) for what in ("Input", "Filter")]
