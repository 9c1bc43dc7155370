"""``tf.layers``: layers with their own variables, as classes, and as functions that create a layer and call it.

    tf.layers.dense(x, 10)      dense/kernel, dense/bias --> dense/MatMul --> dense/BiasAdd

A layer's name is the name of its variable scope; with ``reuse``, a layer shares the variables of the layer with the
same name.

Source: tensorflow/_api/v1/layers, release 1.15 (names).
"""

from gpuplace.ops.layers.base import Layer
from gpuplace.ops.layers.convolutional import *
from gpuplace.ops.layers.core import *
from gpuplace.ops.layers.input_spec import InputSpec
from gpuplace.ops.layers.normalization import *
from gpuplace.ops.layers.pooling import *
from gpuplace.ops.layers.volumes import *

# fmt: off
__all__ = [
    "AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "BatchNormalization", "Conv1D", "Conv2D",
    "Conv2DTranspose", "Conv3D", "Conv3DTranspose", "Dense", "Dropout", "Flatten", "InputSpec", "Layer", "MaxPooling1D",
    "MaxPooling2D", "MaxPooling3D", "SeparableConv1D", "SeparableConv2D", "average_pooling1d", "average_pooling2d",
    "average_pooling3d", "batch_normalization", "conv1d", "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose",
    "dense", "dropout", "flatten", "max_pooling1d", "max_pooling2d", "max_pooling3d", "separable_conv1d",
    "separable_conv2d",
]
# fmt: on
