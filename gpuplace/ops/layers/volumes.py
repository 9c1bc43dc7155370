"""Convolutions and poolings of volumes as layers.

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
    _transposed = staticmethod(nn_conv3d_transpose)


@init_defaults()
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
    _pooled = staticmethod(max_pool3d)


@init_defaults()
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
    _pooled = staticmethod(avg_pool3d)


average_pooling3d = function_of(AveragePooling3D, "average_pooling3d", has_variables=False)
conv3d = function_of(Conv3D, "conv3d")
conv3d_transpose = function_of(Conv3DTranspose, "conv3d_transpose")
max_pooling3d = function_of(MaxPooling3D, "max_pooling3d", has_variables=False)
