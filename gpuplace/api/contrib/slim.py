"""``tf.contrib.slim``: the layers and variables of ``tf.contrib`` under short names.

Source: tensorflow/contrib/slim, release 1.15 (names).
"""

from gpuplace.ops import losses
from gpuplace.ops.contrib.arg_scope import *
from gpuplace.ops.contrib.layers import *
from gpuplace.ops.contrib.regularizers import *
from gpuplace.ops.contrib.variables import *
from gpuplace.ops.train.global_step import create_global_step, get_global_step, get_or_create_global_step

# fmt: off
__all__ = [
    "add_arg_scope", "add_model_variable", "arg_scope", "arg_scoped_arguments", "avg_pool2d", "batch_norm", "conv1d",
    "conv2d", "conv2d_transpose", "convolution", "convolution1d", "convolution2d", "convolution2d_transpose",
    "create_global_step", "current_arg_scope", "dropout", "embed_sequence", "flatten", "fully_connected",
    "get_global_step", "get_local_variables", "get_model_variables", "get_or_create_global_step",
    "get_trainable_variables", "get_unique_variable", "get_variables", "get_variables_by_name",
    "get_variables_by_suffix", "get_variables_to_restore", "has_arg_scope", "l1_l2_regularizer", "l1_regularizer",
    "l2_regularizer", "layer_norm", "linear", "local_variable", "losses", "max_pool2d", "model_variable",
    "one_hot_encoding", "relu_layer", "repeat", "separable_conv2d", "separable_convolution2d", "softmax", "stack",
    "sum_regularizer", "variable", "variance_scaling_initializer", "xavier_initializer", "xavier_initializer_conv2d",
]
# fmt: on
