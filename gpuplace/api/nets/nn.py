"""The names of ``tf.nn``.

Source: tensorflow/_api/v1/nn, release 1.15.
"""

from typing import TYPE_CHECKING

from gpuplace.api.nets import rnn_cell
from gpuplace.lazy import lazy_names as _lazy_names
from gpuplace.ops.array.batches import space_to_batch
from gpuplace.ops.array.rearranging import depth_to_space, space_to_depth
from gpuplace.ops.math.trigonometry import sigmoid, tanh
from gpuplace.ops.nn.activation import *
from gpuplace.ops.nn.conv import *
from gpuplace.ops.nn.convolution import *
from gpuplace.ops.nn.depthwise import *
from gpuplace.ops.nn.entropy import *
from gpuplace.ops.nn.misc import *
from gpuplace.ops.nn.norm import *
from gpuplace.ops.nn.pool import *
from gpuplace.ops.nn.pooling import *
from gpuplace.ops.nn.statistics import *
from gpuplace.ops.nn.volumes import *
from gpuplace.ops.rnn.rnn import *

if TYPE_CHECKING:
    from gpuplace.tf1.nn.ctc import (
        collapse_repeated,
        ctc_beam_search_decoder,
        ctc_beam_search_decoder_v2,
        ctc_greedy_decoder,
        ctc_loss,
        ctc_loss_v2,
        ctc_unique_labels,
    )
    from gpuplace.tf1.nn.dilation import dilation2d, erosion2d
    from gpuplace.tf1.nn.patches import max_pool_with_argmax
    from gpuplace.tf1.nn.sampling import (
        all_candidate_sampler,
        compute_accidental_hits,
        log_uniform_candidate_sampler,
        nce_loss,
        sampled_softmax_loss,
        uniform_candidate_sampler,
    )
    from gpuplace.tf1.nn.scaling import compute_average_loss, scale_regularization_loss
    from gpuplace.tf1.quantized.quantized import (
        quantized_avg_pool,
        quantized_conv2d,
        quantized_max_pool,
        quantized_relu_x,
    )
    from gpuplace.tf1.random.fractional import fractional_avg_pool, fractional_max_pool
    from gpuplace.tf1.random.unigrams import (
        fixed_unigram_candidate_sampler,
        learned_unigram_candidate_sampler,
    )
    from gpuplace.tf1.sparse.embedding import embedding_lookup_sparse, safe_embedding_lookup_sparse
else:  # imported on first use
    __getattr__ = _lazy_names(
        __name__,
        {
            "gpuplace.tf1.nn.ctc": """
                collapse_repeated ctc_beam_search_decoder ctc_beam_search_decoder_v2 ctc_greedy_decoder
                ctc_loss ctc_loss_v2 ctc_unique_labels
            """,
            "gpuplace.tf1.nn.dilation": "dilation2d erosion2d",
            "gpuplace.tf1.nn.patches": "max_pool_with_argmax",
            "gpuplace.tf1.nn.sampling": """
                all_candidate_sampler compute_accidental_hits log_uniform_candidate_sampler nce_loss
                sampled_softmax_loss uniform_candidate_sampler
            """,
            "gpuplace.tf1.nn.scaling": "compute_average_loss scale_regularization_loss",
            "gpuplace.tf1.quantized.quantized": """
                quantized_avg_pool quantized_conv2d quantized_max_pool quantized_relu_x
            """,
            "gpuplace.tf1.random.fractional": "fractional_avg_pool fractional_max_pool",
            "gpuplace.tf1.random.unigrams": """
                fixed_unigram_candidate_sampler learned_unigram_candidate_sampler
            """,
            "gpuplace.tf1.sparse.embedding": "embedding_lookup_sparse safe_embedding_lookup_sparse",
        },
    )

__all__ = [
    "all_candidate_sampler",
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "avg_pool_v2",
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "bias_add",
    "bidirectional_dynamic_rnn",
    "compute_accidental_hits",
    "compute_average_loss",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "conv3d",
    "conv3d_backprop_filter",
    "conv3d_backprop_filter_v2",
    "conv3d_transpose",
    "conv_transpose",
    "convolution",
    "crelu",
    "collapse_repeated",
    "ctc_beam_search_decoder",
    "ctc_beam_search_decoder_v2",
    "ctc_greedy_decoder",
    "ctc_loss",
    "ctc_loss_v2",
    "ctc_unique_labels",
    "depth_to_space",
    "depthwise_conv2d",
    "depthwise_conv2d_backprop_filter",
    "depthwise_conv2d_backprop_input",
    "depthwise_conv2d_native",
    "depthwise_conv2d_native_backprop_filter",
    "depthwise_conv2d_native_backprop_input",
    "dilation2d",
    "dropout",
    "dynamic_rnn",
    "elu",
    "embedding_lookup",
    "embedding_lookup_sparse",
    "erosion2d",
    "fixed_unigram_candidate_sampler",
    "fractional_avg_pool",
    "fractional_max_pool",
    "fused_batch_norm",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "learned_unigram_candidate_sampler",
    "local_response_normalization",
    "log_poisson_loss",
    "log_softmax",
    "log_uniform_candidate_sampler",
    "lrn",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool_v2",
    "max_pool_with_argmax",
    "moments",
    "nce_loss",
    "normalize_moments",
    "pool",
    "quantized_avg_pool",
    "quantized_conv2d",
    "quantized_max_pool",
    "quantized_relu_x",
    "raw_rnn",
    "relu",
    "relu6",
    "relu_layer",
    "rnn_cell",
    "safe_embedding_lookup_sparse",
    "sampled_softmax_loss",
    "scale_regularization_loss",
    "selu",
    "separable_conv2d",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "softsign",
    "space_to_batch",
    "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
    "sufficient_statistics",
    "swish",
    "tanh",
    "top_k",
    "uniform_candidate_sampler",
    "weighted_cross_entropy_with_logits",
    "weighted_moments",
    "with_space_to_batch",
    "xw_plus_b",
    "zero_fraction",
]
