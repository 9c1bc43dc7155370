"""Convolutions and poolings of volumes as layers.

Source: tensorflow/python/layers/convolutional.py, pooling.py and keras/layers/convolutional.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import constant, joining, reshaping
from gpuplace.ops.layers.base import function_of
from gpuplace.ops.layers.convolutional import ConvBase
from gpuplace.ops.layers.pooling import PoolingBase
from gpuplace.ops.nn.convolution import dilated
from gpuplace.ops.nn.volumes import avg_pool3d, max_pool3d
from gpuplace.ops.nn.volumes import conv3d as nn_conv3d
from gpuplace.ops.nn.volumes import conv3d_transpose as nn_conv3d_transpose
from gpuplace.ops.variables.init_ops import Zeros
from gpuplace.typing import Function, InitializerLike, IntsLike

__all__ = [
    "AveragePooling3D", "Conv3D", "Conv3DTranspose", "MaxPooling3D", "average_pooling3d", "conv3d", "conv3d_transpose",
    "max_pooling3d",
]  # fmt: skip


class Conv3D(ConvBase):
    """``activation(conv3d(inputs, kernel) + bias)``.

    >>> import gpuplace as tf
    >>> tf.layers.conv3d(tf.zeros([2, 8, 8, 8, 3]), filters=4, kernel_size=3).shape
    TensorShape([Dimension(2), Dimension(6), Dimension(6), Dimension(6), Dimension(4)])

    Args:
        filters: number of output channels.
        kernel_size: planes, rows and columns of the window, one or three integers.
        strides: how far the window moves: one or three integers.
        padding: ``"valid"`` or ``"same"``, in either case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        dilation_rate: distance of the window's elements: one or three integers.
        activation: a function from tensor to tensor; None: nothing more is done.
        use_bias: add a bias.
        kernel_initializer: of the kernel, ``[planes, rows, columns, in_channels, filters]``; None: the scope's.
        bias_initializer: of the bias, ``[filters]``; None: the scope's.
        kernel_regularizer: from the kernel to a scalar loss; None: the scope's.
        bias_regularizer: from the bias to a scalar loss; None: the scope's.
        activity_regularizer: from the output to a scalar loss.
        kernel_constraint: a function from the value to a value, applied by optimizers after an update.
        bias_constraint: the same for the bias.
        trainable: collect the variables among the trainable ones.
        name: name of the layer; None: that of the function, made unique.
        **kwargs: those of ``Layer``.

    Raises:
        TypeError: the inputs have another dtype.
        ValueError: the number of channels is not known, the window does not fit, an argument has another value, or
            variables may not be shared.
        InvalidArgumentError: at run time, ``"channels_first"`` on a CPU.
    """

    _rank = 3

    def __init__(
        self,
        filters: int,
        kernel_size: IntsLike,
        strides: IntsLike = (1, 1, 1),
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: IntsLike = (1, 1, 1),
        activation: Callable[[Any], Any] | None = None,
        use_bias: bool = True,
        kernel_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = Zeros,
        kernel_regularizer: Function | None = None,
        bias_regularizer: Function | None = None,
        activity_regularizer: Function | None = None,
        kernel_constraint: Function | None = None,
        bias_constraint: Function | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            (kernel_initializer, kernel_regularizer, kernel_constraint),
            (bias_initializer, bias_regularizer, bias_constraint),
            activity_regularizer,
            trainable,
            name,
            **kwargs,
        )

    def _after_build(self) -> None:
        self._rates = constant.constant(self.dilation_rate, "int32", name="dilation_rate")

    def _convolve(self, inputs: Any) -> Tensor:
        padding, layout = self.padding.upper(), "NCDHW" if self._first else "NDHWC"
        if self._is_dilated:
            outputs = dilated(inputs, self.kernel, self.strides, self._rates, padding, layout, None)
        else:
            strides = (1, 1, *self.strides) if self._first else (1, *self.strides, 1)
            outputs = nn_conv3d(inputs, self.kernel, list(strides), padding, layout, name="Conv3D")
        result: Tensor = self._biased(outputs)
        return result


class Conv3DTranspose(ConvBase):
    """``activation(conv3d_transpose(inputs, kernel) + bias)``: makes larger volumes of small ones.

    >>> import gpuplace as tf
    >>> tf.layers.conv3d_transpose(tf.zeros([2, 4, 4, 4, 8]), 3, 3, strides=2, padding="same").shape
    TensorShape([Dimension(2), Dimension(8), Dimension(8), Dimension(8), Dimension(3)])

    Args:
        filters: number of output channels.
        kernel_size: planes, rows and columns of the window, one or three integers.
        strides: by how much larger the volumes become: one or three integers.
        padding: ``"valid"`` or ``"same"``, in either case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        activation: a function from tensor to tensor; None: nothing more is done.
        use_bias: add a bias.
        kernel_initializer: of the kernel, ``[planes, rows, columns, filters, in_channels]``; None: the scope's.
        bias_initializer: of the bias, ``[filters]``; None: the scope's.
        kernel_regularizer: from the kernel to a scalar loss; None: the scope's.
        bias_regularizer: from the bias to a scalar loss; None: the scope's.
        activity_regularizer: from the output to a scalar loss.
        kernel_constraint: a function from the value to a value, applied by optimizers after an update.
        bias_constraint: the same for the bias.
        trainable: collect the variables among the trainable ones.
        name: name of the layer; None: that of the function, made unique.
        **kwargs: those of ``Layer``.

    Raises:
        TypeError: the inputs have another dtype.
        ValueError: the number of channels is not known, an argument has another value, or variables may not be shared.
        InvalidArgumentError: at run time, ``"channels_first"`` on a CPU.
    """

    _rank = 3

    def __init__(
        self,
        filters: int,
        kernel_size: IntsLike,
        strides: IntsLike = (1, 1, 1),
        padding: str = "valid",
        data_format: str = "channels_last",
        activation: Callable[[Any], Any] | None = None,
        use_bias: bool = True,
        kernel_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = Zeros,
        kernel_regularizer: Function | None = None,
        bias_regularizer: Function | None = None,
        activity_regularizer: Function | None = None,
        kernel_constraint: Function | None = None,
        bias_constraint: Function | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            1,
            activation,
            use_bias,
            (kernel_initializer, kernel_regularizer, kernel_constraint),
            (bias_initializer, bias_regularizer, bias_constraint),
            activity_regularizer,
            trainable,
            name,
            **kwargs,
        )

    def _kernel_shape(self, channels: int) -> tuple[int, ...]:
        return (*self.kernel_size, self.filters, channels)

    def _length(self, size: Any, axis: int) -> Any:
        """The size of the volumes after; a tensor for a tensor."""
        if size is None:
            return None
        size = size * self.strides[axis]
        if self.padding == "valid":
            size = size + max(self.kernel_size[axis] - self.strides[axis], 0)
        return size

    def _convolve(self, inputs: Any) -> Tensor:
        sizes = reshaping.shape(inputs)
        batch = sizes[0]
        start = 2 if self._first else 1
        lengths = [sizes[start + axis] for axis in range(3)]
        space = [self._length(size, axis) for axis, size in enumerate(lengths)]
        wanted = [batch, self.filters, *space] if self._first else [batch, *space, self.filters]
        outputs = nn_conv3d_transpose(
            inputs,
            self.kernel,
            joining.stack(wanted),
            strides=(1, 1, *self.strides) if self._first else (1, *self.strides, 1),
            padding=self.padding.upper(),
            data_format="NCDHW" if self._first else "NDHWC",
        )
        known = [self._length(inputs.shape[start + axis].value, axis) for axis in range(3)]
        first = inputs.shape[0].value
        outputs.set_shape([first, self.filters, *known] if self._first else [first, *known, self.filters])
        result: Tensor = self._biased(outputs)
        return result


class MaxPooling3D(PoolingBase):
    """The largest element of each window, channel by channel.

    Args:
        pool_size: planes, rows and columns of the window, one or three integers.
        strides: how far the window moves: one or three integers.
        padding: ``"valid"`` or ``"same"``, in either case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        name: name of the layer; None: ``max_pooling3d``, made unique.
        **kwargs: those of ``Layer``.

    Raises:
        TypeError: the inputs have another dtype.
        ValueError: the rank is not 5, the window does not fit, or an argument has another value.
    """

    _rank = 3

    def __init__(
        self,
        pool_size: IntsLike,
        strides: IntsLike,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Tensor:
        """Pools.

        Args:
            inputs: ``[batch, planes, rows, columns, channels]``, or with the channels first.
            *args: nothing.
            **kwargs: nothing.
        """
        layout = "NCDHW" if self._first else "NDHWC"
        return max_pool3d(inputs, self.pool_size, self.strides, self.padding.upper(), data_format=layout)


class AveragePooling3D(PoolingBase):
    """The mean of each window, channel by channel; what lies beyond the border does not count.

    Args:
        pool_size: planes, rows and columns of the window, one or three integers.
        strides: how far the window moves: one or three integers.
        padding: ``"valid"`` or ``"same"``, in either case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        name: name of the layer; None: ``average_pooling3d``, made unique.
        **kwargs: those of ``Layer``.

    Raises:
        TypeError: the inputs have another dtype.
        ValueError: the rank is not 5, the window does not fit, or an argument has another value.
    """

    _rank = 3

    def __init__(
        self,
        pool_size: IntsLike,
        strides: IntsLike,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Tensor:
        """Pools.

        Args:
            inputs: ``[batch, planes, rows, columns, channels]``, or with the channels first.
            *args: nothing.
            **kwargs: nothing.
        """
        layout = "NCDHW" if self._first else "NDHWC"
        return avg_pool3d(inputs, self.pool_size, self.strides, self.padding.upper(), data_format=layout)


average_pooling3d = function_of(AveragePooling3D, "average_pooling3d", has_variables=False)
conv3d = function_of(Conv3D, "conv3d")
conv3d_transpose = function_of(Conv3DTranspose, "conv3d_transpose")
max_pooling3d = function_of(MaxPooling3D, "max_pooling3d", has_variables=False)
