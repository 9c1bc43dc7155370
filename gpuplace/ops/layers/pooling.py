"""Pooling layers.

Source: tensorflow/python/layers/pooling.py and keras/layers/pooling.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import reshaping
from gpuplace.ops.layers.as_function import function_of
from gpuplace.ops.layers.base import Layer, require_rank
from gpuplace.ops.layers.convolutional import (
    LAYOUTS,
    normalize_data_format,
    normalize_padding,
    normalize_tuple,
)
from gpuplace.ops.nn.pool import avg_pool, max_pool
from gpuplace.ops.variants import init_defaults
from gpuplace.typing import IntsLike, TensorLike

__all__ = [
    "AveragePooling1D", "AveragePooling2D", "MaxPooling1D", "MaxPooling2D", "average_pooling1d", "average_pooling2d",
    "max_pooling1d", "max_pooling2d",
]  # fmt: skip


class PoolingBase(Layer):
    """Base class of pooling layers."""

    _rank = 2
    _pooled: Callable[..., Any]
    _config = ("pool_size", "strides", "padding", "data_format")

    def __init__(
        self,
        pool_size: IntsLike,
        strides: IntsLike,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        if strides is None:
            raise ValueError("Argument `strides` must not be None.")
        super().__init__(name=name, **kwargs)
        self.pool_size = normalize_tuple(pool_size, self._rank, "pool_size")
        self.strides = normalize_tuple(strides, self._rank, "strides")
        self.padding = normalize_padding(padding)
        self.data_format = normalize_data_format(data_format)
        self._first = self.data_format == "channels_first"

    def _check(self, inputs: TensorLike) -> None:
        require_rank(inputs, self, rank=self._rank + 2)

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
        """Pool the input.

        Args:
            inputs: ``[batch, *spatial, channels]``, or with the channels first; the class name gives the number of
                spatial axes.
            *args: unused.
            **kwargs: unused.
        """
        padding, layout = self.padding.upper(), LAYOUTS[max(2, self._rank)][self._first]
        if self._rank > 1:
            result: Tensor = self._pooled(inputs, self.pool_size, self.strides, padding, data_format=layout)
            return result
        axis = 3 if self._first else 2
        # Pool sequences as images of one column.
        images = reshaping.expand_dims(inputs, axis)
        outputs = self._pooled(images, (*self.pool_size, 1), (*self.strides, 1), padding, data_format=layout)
        return reshaping.squeeze(outputs, axis)


@init_defaults()
class MaxPooling2D(PoolingBase):
    """2D max pooling layer: the largest element of each window, channel by channel.

    Args:
        pool_size: rows and columns of the window, one or two integers.
        strides: steps of the window in pixels: one or two integers.
        padding: ``"valid"`` or ``"same"``, in upper or lower case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        name: name of the layer; None: ``max_pooling2d``, made unique.
        **kwargs: arguments of ``Layer``.

    Raises:
        TypeError: the inputs have an unsupported dtype.
        ValueError: the rank is not 4, the window does not fit, or an argument is invalid.
    """

    _pooled = staticmethod(max_pool)


@init_defaults()
class AveragePooling2D(PoolingBase):
    """2D average pooling layer: the mean of each window, channel by channel; pixels of the border do not count.

    Args:
        pool_size: rows and columns of the window, one or two integers.
        strides: steps of the window in pixels: one or two integers.
        padding: ``"valid"`` or ``"same"``, in upper or lower case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        name: name of the layer; None: ``average_pooling2d``, made unique.
        **kwargs: arguments of ``Layer``.

    Raises:
        TypeError: the inputs have an unsupported dtype.
        ValueError: the rank is not 4, the window does not fit, or an argument is invalid.
    """

    _pooled = staticmethod(avg_pool)


@init_defaults()
class MaxPooling1D(PoolingBase):
    """1D max pooling layer: the largest element of each window of sequences, channel by channel.

    Args:
        pool_size: length of the window, an integer.
        strides: step of the window, an integer.
        padding: ``"valid"`` or ``"same"``, in upper or lower case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        name: name of the layer; None: ``max_pooling1d``, made unique.
        **kwargs: arguments of ``Layer``.

    Raises:
        TypeError: the inputs have an unsupported dtype.
        ValueError: the rank is not 3, the window does not fit, or an argument is invalid.
    """

    _rank = 1
    _pooled = staticmethod(max_pool)


@init_defaults()
class AveragePooling1D(PoolingBase):
    """1D average pooling layer: the mean of each window of sequences; elements beyond the border do not count.

    Args:
        pool_size: length of the window, an integer.
        strides: step of the window, an integer.
        padding: ``"valid"`` or ``"same"``, in upper or lower case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        name: name of the layer; None: ``average_pooling1d``, made unique.
        **kwargs: arguments of ``Layer``.

    Raises:
        TypeError: the inputs have an unsupported dtype.
        ValueError: the rank is not 3, the window does not fit, or an argument is invalid.
    """

    _rank = 1
    _pooled = staticmethod(avg_pool)


average_pooling1d = function_of(AveragePooling1D, "average_pooling1d", has_variables=False)
average_pooling2d = function_of(AveragePooling2D, "average_pooling2d", has_variables=False)
max_pooling1d = function_of(MaxPooling1D, "max_pooling1d", has_variables=False)
max_pooling2d = function_of(MaxPooling2D, "max_pooling2d", has_variables=False)
