"""The names of ``tf.nn``.

Source: tensorflow/_api/v1/nn, release 1.15.
"""

from gpuplace.ops.math.unary import sigmoid, tanh
from gpuplace.ops.nn.activation import (
    crelu,
    elu,
    leaky_relu,
    log_softmax,
    relu,
    relu6,
    selu,
    softmax,
    softplus,
    softsign,
    swish,
)
from gpuplace.ops.nn.conv import (
    conv2d,
    conv2d_backprop_filter,
    conv2d_backprop_input,
    conv2d_transpose,
)
from gpuplace.ops.nn.depthwise import depthwise_conv2d, depthwise_conv2d_native, separable_conv2d
from gpuplace.ops.nn.entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits,
)
from gpuplace.ops.nn.misc import (
    bias_add,
    dropout,
    embedding_lookup,
    in_top_k,
    l2_loss,
    relu_layer,
    top_k,
    xw_plus_b,
)
from gpuplace.ops.nn.norm import (
    batch_normalization,
    fused_batch_norm,
    l2_normalize,
    local_response_normalization,
    lrn,
    moments,
)
from gpuplace.ops.nn.pool import avg_pool, avg_pool2d, max_pool, max_pool2d

__all__ = [
    "avg_pool",
    "avg_pool2d",
    "batch_normalization",
    "bias_add",
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "crelu",
    "depthwise_conv2d",
    "depthwise_conv2d_native",
    "dropout",
    "elu",
    "embedding_lookup",
    "fused_batch_norm",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "local_response_normalization",
    "log_softmax",
    "lrn",
    "max_pool",
    "max_pool2d",
    "moments",
    "relu",
    "relu6",
    "relu_layer",
    "selu",
    "separable_conv2d",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "softsign",
    "sparse_softmax_cross_entropy_with_logits",
    "swish",
    "tanh",
    "top_k",
    "weighted_cross_entropy_with_logits",
    "xw_plus_b",
]
