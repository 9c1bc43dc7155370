"""Convolution and pooling layers for volumes.

Source: tensorflow/python/layers/convolutional.py, pooling.py and keras/layers/convolutional.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.operation import Tensor
from gpuplace.ops.layers.as_function import function_of
from gpuplace.ops.layers.convolutional import DilatedConv, TransposedConv
from gpuplace.ops.layers.pooling import PoolingBase
from gpuplace.ops.nn.convolution import dilated
from gpuplace.ops.nn.volumes import avg_pool3d, max_pool3d
from gpuplace.ops.nn.volumes import conv3d as nn_conv3d
from gpuplace.ops.nn.volumes import conv3d_transpose as nn_conv3d_transpose
from gpuplace.ops.variants import init_defaults

__all__ = [
    "AveragePooling3D", "Conv3D", "Conv3DTranspose", "MaxPooling3D", "average_pooling3d", "conv3d", "conv3d_transpose",
    "max_pooling3d",
]  # fmt: skip


@init_defaults(strides=(1, 1, 1), dilation_rate=(1, 1, 1))
class Conv3D(DilatedConv):
    """3D convolution layer: ``activation(conv3d(inputs, kernel) + bias)``.

    >>> import gpuplace as tf
    >>> tf.layers.conv3d(tf.zeros([2, 8, 8, 8, 3]), filters=4, kernel_size=3).shape
    TensorShape([Dimension(2), Dimension(6), Dimension(6), Dimension(6), Dimension(4)])

    Args:
        filters: number of output channels.
        kernel_size: planes, rows and columns of the window, one or three integers.
        strides: steps of the window: one or three integers.
        padding: ``"valid"`` or ``"same"``, in upper or lower case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        dilation_rate: spacing of the window's elements: one or three integers.
        activation: a function from tensor to tensor, or None.
        use_bias: whether to add a bias.
        kernel_initializer: initializer of ``[planes, rows, columns, in_channels, filters]``; None: the scope's.
        bias_initializer: initializer of the bias, ``[filters]``; None: the scope's.
        kernel_regularizer: function from the kernel to a scalar loss; None: the scope's.
        bias_regularizer: function from the bias to a scalar loss; None: the scope's.
        activity_regularizer: function from the output to a scalar loss.
        kernel_constraint: a function that optimizers apply to the value after an update.
        bias_constraint: the same for the bias.
        trainable: whether to add the variables to the trainable variables.
        name: name of the layer; None: that of the function, made unique.
        **kwargs: arguments of ``Layer``.

    Raises:
        TypeError: the inputs have an unsupported dtype.
        ValueError: the number of channels is unknown, the window does not fit, an argument is invalid, or
            variables may not be shared.
        InvalidArgumentError: at run time, ``"channels_first"`` on a CPU.
    """

    _rank = 3

    def _convolve(self, inputs: Any) -> Tensor:
        padding, layout = self._op_padding, self._layout
        if self._is_dilated:
            outputs = dilated(inputs, self.kernel, self.strides, self._rates, padding, layout, None)
        else:
            strides = (1, 1, *self.strides) if self._first else (1, *self.strides, 1)
            outputs = nn_conv3d(inputs, self.kernel, list(strides), padding, layout, name="Conv3D")
        result: Tensor = self._biased(outputs)
        return result


@init_defaults(strides=(1, 1, 1))
class Conv3DTranspose(TransposedConv):
    """3D transposed convolution layer for upsampling: ``activation(conv3d_transpose(inputs, kernel) + bias)``.

    >>> import gpuplace as tf
    >>> tf.layers.conv3d_transpose(tf.zeros([2, 4, 4, 4, 8]), 3, 3, strides=2, padding="same").shape
    TensorShape([Dimension(2), Dimension(8), Dimension(8), Dimension(8), Dimension(3)])

    Args:
        filters: number of output channels.
        kernel_size: planes, rows and columns of the window, one or three integers.
        strides: upsampling factors: one or three integers.
        padding: ``"valid"`` or ``"same"``, in upper or lower case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        activation: a function from tensor to tensor, or None.
        use_bias: whether to add a bias.
        kernel_initializer: initializer of ``[planes, rows, columns, filters, in_channels]``; None: the scope's.
        bias_initializer: initializer of the bias, ``[filters]``; None: the scope's.
        kernel_regularizer: function from the kernel to a scalar loss; None: the scope's.
        bias_regularizer: function from the bias to a scalar loss; None: the scope's.
        activity_regularizer: function from the output to a scalar loss.
        kernel_constraint: a function that optimizers apply to the value after an update.
        bias_constraint: the same for the bias.
        trainable: whether to add the variables to the trainable variables.
        name: name of the layer; None: that of the function, made unique.
        **kwargs: arguments of ``Layer``.

    Raises:
        TypeError: the inputs have an unsupported dtype.
        ValueError: the number of channels is unknown, an argument is invalid, or variables may not be shared.
        InvalidArgumentError: at run time, ``"channels_first"`` on a CPU.
    """

    _rank = 3
    _transposed = staticmethod(nn_conv3d_transpose)


@init_defaults()
class MaxPooling3D(PoolingBase):
    """3D max pooling layer: the largest element of each window, channel by channel.

    Args:
        pool_size: planes, rows and columns of the window, one or three integers.
        strides: steps of the window: one or three integers.
        padding: ``"valid"`` or ``"same"``, in upper or lower case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        name: name of the layer; None: ``max_pooling3d``, made unique.
        **kwargs: arguments of ``Layer``.

    Raises:
        TypeError: the inputs have an unsupported dtype.
        ValueError: the rank is not 5, the window does not fit, or an argument is invalid.
    """

    _rank = 3
    _pooled = staticmethod(max_pool3d)


@init_defaults()
class AveragePooling3D(PoolingBase):
    """3D average pooling layer: the mean of each window; elements beyond the border do not count.

    Args:
        pool_size: planes, rows and columns of the window, one or three integers.
        strides: steps of the window: one or three integers.
        padding: ``"valid"`` or ``"same"``, in upper or lower case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        name: name of the layer; None: ``average_pooling3d``, made unique.
        **kwargs: arguments of ``Layer``.

    Raises:
        TypeError: the inputs have an unsupported dtype.
        ValueError: the rank is not 5, the window does not fit, or an argument is invalid.
    """

    _rank = 3
    _pooled = staticmethod(avg_pool3d)


average_pooling3d = function_of(AveragePooling3D, "average_pooling3d", has_variables=False)
conv3d = function_of(Conv3D, "conv3d")
conv3d_transpose = function_of(Conv3DTranspose, "conv3d_transpose")
max_pooling3d = function_of(MaxPooling3D, "max_pooling3d", has_variables=False)
