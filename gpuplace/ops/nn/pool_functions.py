"""Poolings of vectors over time, and of any number of dimensions.

Source: tensorflow/python/ops/nn_ops.py (pool, max_pool1d, avg_pool1d), release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.nn.convolution import with_space_to_batch
from gpuplace.ops.support import new
from gpuplace.typing import TensorLike

__all__ = ["avg_pool1d", "max_pool1d", "pool"]


def _in_order(value: Any, channels_first: bool, what: str) -> list[int]:
    """One number, or one for each dimension, as a list for images of one row."""
    given = [value] if isinstance(value, int) else list(value)
    if len(given) == 1:
        given = [1, 1, given[0]] if channels_first else [1, given[0], 1]
    if len(given) != 3:
        raise ValueError(f"{what} should be of length 1 or 3 but was {len(given)}")
    return [given[0], 1, *given[1:]] if not channels_first else [*given[:2], 1, given[2]]


def _pool1d(
    op_type: str,
    argument: str,
    scope: str,
    x: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: Any,
    name: Any,
) -> Tensor:
    with name_scope(name, scope, [x]) as made:
        first = (data_format or "NWC").startswith("NC")
        at = 2 if first else 1
        images = new("ExpandDims", input=convert_to_tensor(x, name="input"), dim=at)
        pooled = new(
            op_type, made, **{argument: images}, ksize=_in_order(ksize, first, "ksize"),
            strides=_in_order(strides, first, "strides"), padding=padding, data_format="NCHW" if first else "NHWC",
        )  # fmt: skip
        return new("Squeeze", input=pooled, squeeze_dims=[at])


def max_pool1d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """Returns the largest elements of windows over vectors in a row.

    Args:
        input: ``[batch, width, channels]``, or ``[batch, channels, width]`` for ``NCW``.
        ksize: size of the window, a number or a list of 1 or 3.
        strides: how far it moves, likewise.
        padding: ``"VALID"`` or ``"SAME"``.
        data_format: ``"NWC"`` or ``"NCW"``.
        name: name of the scope.

    Returns:
        A tensor in the same order.
    """
    return _pool1d("MaxPool", "input", "MaxPool1d", input, ksize, strides, padding, data_format, name)


def avg_pool1d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """Returns the means of windows over vectors in a row.

    Args:
        input: ``[batch, width, channels]``, or ``[batch, channels, width]`` for ``NCW``.
        ksize: size of the window, a number or a list of 1 or 3.
        strides: how far it moves, likewise.
        padding: ``"VALID"`` or ``"SAME"``.
        data_format: ``"NWC"`` or ``"NCW"``.
        name: name of the scope.

    Returns:
        A tensor in the same order.
    """
    return _pool1d("AvgPool", "value", "AvgPool1D", input, ksize, strides, padding, data_format, name)


def pool(
    input: TensorLike, window_shape: Sequence[int], pooling_type: str, padding: str,
    dilation_rate: Sequence[int] | None = None, strides: Sequence[int] | None = None, name: str | None = None,
    data_format: str | None = None, dilations: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Returns the largest elements, or the means, of windows over one, two or three dimensions.

    Args:
        input: ``[batch, ..., channels]``, or ``[batch, channels, ...]`` for data formats that begin with ``NC``.
        window_shape: sizes of the window.
        pooling_type: ``"MAX"`` or ``"AVG"``.
        padding: ``"VALID"`` or ``"SAME"``.
        dilation_rate: distances of the elements in it. None: 1.
        strides: how far it moves. None: 1.
        name: name of the scope.
        data_format: None: channels last.
        dilations: another name of ``dilation_rate``.

    Returns:
        A tensor in the same order.

    Raises:
        ValueError: another type or number of dimensions; strides and distances both above 1; distances above 1 with
            ``"SAME"``.
    """
    rate = list(dilation_rate or dilations or ())
    window, number = list(window_shape), len(window_shape)
    if not 1 <= number <= 3:
        raise ValueError(f"It is required that 1 <= num_spatial_dims <= 3. Got: {number}")
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"Unsupported pooling type: {pooling_type}. Use 'MAX' or 'AVG'")
    rate = rate or [1] * number
    steps = list(strides) if strides is not None else [1] * number
    if len(rate) != number or len(steps) != number:
        raise ValueError(f"dilation_rate and strides must have {number} elements: {rate}, {steps}")
    if max(steps) > 1 and max(rate) > 1:
        raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
    if padding == "SAME" and max(rate) > 1:
        raise ValueError("pooling with SAME padding is not implemented for dilation_rate > 1")
    if any(step > size for step, size in zip(steps, window, strict=True)):
        raise ValueError("strides > window_shape not supported due to inconsistency between CPU and GPU")
    first = data_format is not None and data_format.startswith("NC")
    with name_scope(name, f"{pooling_type.lower()}_pool", [input]) as scope:
        x = convert_to_tensor(input, name="input")
        x.shape.assert_has_rank(number + 2)

        def pooled(images: Tensor, padding: str, inner: str | None) -> Tensor:
            if number == 1:
                function = max_pool1d if pooling_type == "MAX" else avg_pool1d
                return function(images, window, steps, padding, data_format or "NWC", inner)
            sizes, moves = ([1, 1, *one] if first else [1, *one, 1] for one in (window, steps))
            order = "NCDHW"[:2] + "DHW"[3 - number :] if first else "N" + "DHW"[3 - number :] + "C"
            op_type = ("MaxPool" if pooling_type == "MAX" else "AvgPool") + ("3D" if number == 3 else "")
            argument = "value" if op_type == "AvgPool" else "input"
            return new(
                op_type,
                inner,
                **{argument: images},
                ksize=sizes,
                strides=moves,
                padding=padding,
                data_format=order,
            )

        if max(rate) == 1:
            return pooled(x, padding, scope)
        return with_space_to_batch(
            input=x,
            dilation_rate=rate,
            padding=padding,
            op=lambda images, _, padding: pooled(images, padding, None),
            spatial_dims=[at + 2 for at in range(number)] if first else [at + 1 for at in range(number)],
            filter_shape=window,
        )
