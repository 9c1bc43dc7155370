"""Pooling of signals, images and volumes, including windows with dilations.

Source: tensorflow/python/ops/nn_ops.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.reshaping import expand_dims, squeeze
from gpuplace.ops.nn.convolution import with_space_to_batch
from gpuplace.ops.nn.pool import avg_pool, max_pool
from gpuplace.ops.nn.volumes import avg_pool3d, max_pool3d
from gpuplace.ops.support import new
from gpuplace.ops.variants import variant_of
from gpuplace.typing import TensorLike

__all__ = ["avg_pool1d", "avg_pool_v2", "max_pool1d", "max_pool_v2", "pool"]

_KINDS: dict[str, tuple[Callable[..., Tensor], Callable[..., Tensor]]] = {
    "AVG": (avg_pool, avg_pool3d),
    "MAX": (max_pool, max_pool3d),
}
"""Pooling functions for images and for volumes."""
_SIGNALS = {None: "NHWC", "NWC": "NHWC", "NCW": "NCHW"}


def _numbers(values: Any, number: int, label: str) -> Any:
    numbers = np.ones(number, np.int64) if values is None else np.array(values)
    if len(numbers) != number:
        raise ValueError(f"len({label})={len(numbers)} but should be {number}")
    if (numbers < 1).any():
        raise ValueError(f"all values of {label} must be positive")
    return numbers


def pool(
    input: TensorLike,
    window_shape: Sequence[int],
    pooling_type: str,
    padding: str,
    dilation_rate: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Sequence[int] | None = None,
) -> Tensor:
    """Return the largest or mean element of each window of signals, images or volumes.

    >>> import gpuplace as tf
    >>> tf.nn.pool(tf.zeros([8, 32, 3]), [4], "MAX", "VALID", strides=[2]).shape.as_list()
    [8, 15, 3]

    Args:
        input: ``[batch, one to three sizes, channels]``; formats that begin with ``NC`` have the channels second.
        window_shape: size of the window along each axis.
        pooling_type: ``"AVG"`` or ``"MAX"``.
        padding: ``"SAME"`` or ``"VALID"``.
        dilation_rate: spacing of the window's elements along each axis; None: 1.
        strides: steps of the window along each axis; None: 1.
        name: name of the op.
        data_format: ``"NWC"``, ``"NHWC"``, ``"NDHWC"``, or a format with the channels second.
        dilations: newer name of ``dilation_rate``.

    Raises:
        ValueError: the rank or type is not supported, strides exceed the window, or both strides and dilations exceed
            1.
    """
    if dilations is not None and dilation_rate is not None:
        raise ValueError("Cannot specify both 'dilation_rate' and 'dilations'")
    with name_scope(name, f"{pooling_type.lower()}_pool", [input]) as scope:
        values = convert_to_tensor(input, name="input")
        number = len(window_shape)
        if not 1 <= number <= 3:
            raise ValueError("It is required that 1 <= num_spatial_dims <= 3.")
        values.shape.with_rank(number + 2)
        steps = _numbers(strides, number, "strides")
        apart = _numbers(dilation_rate if dilations is None else dilations, number, "dilation_rate")
        if (steps > 1).any() and (apart > 1).any():
            raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
        if padding == "SAME" and (apart > 1).any():
            raise ValueError("pooling with SAME padding is not implemented for dilation_rate > 1")
        if (steps > np.array(window_shape)).any():
            raise ValueError("strides > window_shape not supported, as CPU and GPU differ there")
        if pooling_type not in _KINDS:
            raise ValueError(f"{number}-D {pooling_type} pooling is not supported: use AVG or MAX")
        first = 2 if data_format is not None and data_format.startswith("NC") else 1
        outer = [[1] * first, [1] * (2 - first)]
        window = [*outer[0], *window_shape, *outer[1]]
        moves = [*outer[0], *(int(step) for step in steps), *outer[1]]
        layout = data_format
        if number == 1:
            if data_format not in _SIGNALS:
                raise ValueError('data_format must be either "NWC" or "NCW".')
            layout, window, moves = _SIGNALS[data_format], [1, *window], [1, *moves]

        def pooled(images: Tensor, _: int, padding: str) -> Tensor:
            if number == 1:
                images = expand_dims(images, first)
            kind = _KINDS[pooling_type][number == 3]
            result = kind(images, window, moves, padding, name=scope, data_format=layout)
            return squeeze(result, [first]) if number == 1 else result

        return with_space_to_batch(
            values,
            apart,
            padding,
            pooled,
            filter_shape=list(window_shape),
            spatial_dims=range(first, first + number),
        )


def _in_order(value: Any, channels_first: bool, label: str) -> list[int]:
    """Return one number, or one for each dimension, as a list for images with one row."""
    numbers = [value] if isinstance(value, int) else list(value)
    if len(numbers) == 1:
        numbers = [1, 1, numbers[0]] if channels_first else [1, numbers[0], 1]
    if len(numbers) != 3:
        raise ValueError(f"{label} should be of length 1 or 3 but was {len(numbers)}")
    return [numbers[0], 1, *numbers[1:]] if not channels_first else [*numbers[:2], 1, numbers[2]]


def _pool1d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NWC",
    name: str | None = None,
    *,
    op_type: str = "",
    argument: str = "",
    scope: str = "",
) -> Tensor:
    with name_scope(name, scope, [input]) as scope_name:
        first = (data_format or "NWC").startswith("NC")
        at = 2 if first else 1
        images = new("ExpandDims", input=convert_to_tensor(input, name="input"), dim=at)
        pooled = new(
            op_type, scope_name, **{argument: images}, ksize=_in_order(ksize, first, "ksize"),
            strides=_in_order(strides, first, "strides"), padding=padding, data_format="NCHW" if first else "NHWC",
        )  # fmt: skip
        return new("Squeeze", input=pooled, squeeze_dims=[at])


@variant_of(_pool1d, op_type="MaxPool", argument="input", scope="MaxPool1d")
def max_pool1d() -> None:
    """Return the maxima of windows over sequences of vectors.

    Args:
        input: ``[batch, width, channels]``, or ``[batch, channels, width]`` for ``NCW``.
        ksize: size of the window, a number or a list of 1 or 3.
        strides: step of the window, in the form of ``ksize``.
        padding: ``"VALID"`` or ``"SAME"``.
        data_format: ``"NWC"`` or ``"NCW"``.
        name: name of the scope.

    Returns:
        A tensor in the same order.
    """


@variant_of(_pool1d, op_type="AvgPool", argument="value", scope="AvgPool1D")
def avg_pool1d() -> None:
    """Return the means of windows over sequences of vectors.

    Args:
        input: ``[batch, width, channels]``, or ``[batch, channels, width]`` for ``NCW``.
        ksize: size of the window, a number or a list of 1 or 3.
        strides: step of the window, in the form of ``ksize``.
        padding: ``"VALID"`` or ``"SAME"``.
        data_format: ``"NWC"`` or ``"NCW"``.
        name: name of the scope.

    Returns:
        A tensor in the same order.
    """


def max_pool_v2(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the maxima of windows over signals, images or volumes.

    Args:
        input: ``[batch, one to three sizes, channels]``; formats that begin with ``NC`` have the channels second.
        ksize: size of the window, one number or one for each size.
        strides: steps of the window, in the form of ``ksize``.
        padding: ``"VALID"`` or ``"SAME"``.
        data_format: ``"NWC"``, ``"NHWC"``, ``"NDHWC"`` or a format with channels second; None: channels last.
        name: name of the operation.

    Returns:
        A tensor in the same order.

    Raises:
        ValueError: the rank is not supported or unknown.
    """
    return _pool_of_rank(
        (max_pool1d, max_pool, max_pool3d), input, ksize, strides, padding, data_format, name
    )


def avg_pool_v2(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the means of windows over signals, images or volumes.

    Args:
        input: ``[batch, one to three sizes, channels]``; formats that begin with ``NC`` have the channels second.
        ksize: size of the window, one number or one for each size.
        strides: steps of the window, in the form of ``ksize``.
        padding: ``"VALID"`` or ``"SAME"``.
        data_format: ``"NWC"``, ``"NHWC"``, ``"NDHWC"`` or a format with channels second; None: channels last.
        name: name of the operation.

    Returns:
        A tensor in the same order.

    Raises:
        ValueError: the rank is not supported or unknown.
    """
    return _pool_of_rank(
        (avg_pool1d, avg_pool, avg_pool3d), input, ksize, strides, padding, data_format, name
    )


def _pool_of_rank(
    kinds: Sequence[Callable[..., Tensor]], input: TensorLike, ksize: Any, strides: Any, padding: str,
    data_format: str | None, name: str | None,
) -> Tensor:  # fmt: skip
    shape = input.shape if hasattr(input, "shape") else convert_to_tensor(input).shape
    rank = len(shape)
    if not 3 <= rank <= 5:
        raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {rank}.")
    order = data_format or ("NWC", "NHWC", "NDHWC")[rank - 3]
    return kinds[rank - 3](input, ksize, strides, padding, order, name)
