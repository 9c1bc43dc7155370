"""``tf.contrib.layers``: layers as functions, regularizers and initializers.

Source: tensorflow/contrib/layers, release 1.15 (names).
"""

from gpuplace.tf1.contrib import utils
from gpuplace.tf1.contrib.convolutions import *
from gpuplace.tf1.contrib.layers import *
from gpuplace.tf1.contrib.normalization import *
from gpuplace.tf1.contrib.optimizers import *
from gpuplace.tf1.contrib.regularizers import *
from gpuplace.tf1.contrib.summaries import *
from gpuplace.tf1.sparse.embedding import safe_embedding_lookup_sparse

# fmt: off
__all__ = [
    "OPTIMIZER_CLS_NAMES", "OPTIMIZER_SUMMARIES", "apply_regularization", "avg_pool2d",
    "batch_norm", "conv1d", "conv2d", "conv2d_transpose", "convolution", "convolution1d", "convolution2d",
    "convolution2d_transpose", "dropout", "embed_sequence", "flatten", "fully_connected", "l1_l2_regularizer",
    "l1_regularizer", "l2_regularizer", "layer_norm", "linear", "max_pool2d", "one_hot_encoding", "optimize_loss",
    "relu_layer", "repeat", "safe_embedding_lookup_sparse",
    "separable_conv2d", "separable_convolution2d", "softmax", "stack", "sum_regularizer",
    "summarize_activation", "summarize_activations", "summarize_biases", "summarize_collection", "summarize_tensor",
    "summarize_tensors", "summarize_variables", "summarize_weights", "utils", "variance_scaling_initializer",
    "xavier_initializer", "xavier_initializer_conv2d",
]
# fmt: on
