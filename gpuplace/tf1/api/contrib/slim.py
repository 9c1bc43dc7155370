"""``tf.contrib.slim``: the layers and variables of ``tf.contrib`` under short names.

Source: tensorflow/contrib/slim, release 1.15 (names).
"""

from typing import TYPE_CHECKING

from gpuplace.lazy import lazy_names as _lazy_names
from gpuplace.ops.train.global_step import create_global_step, get_global_step, get_or_create_global_step
from gpuplace.tf1.contrib import summaries, utils
from gpuplace.tf1.contrib.arg_scope import *
from gpuplace.tf1.contrib.convolutions import *
from gpuplace.tf1.contrib.layers import *
from gpuplace.tf1.contrib.normalization import *
from gpuplace.tf1.contrib.optimizers import *
from gpuplace.tf1.contrib.regularizers import *
from gpuplace.tf1.contrib.summaries import *
from gpuplace.tf1.contrib.variables import *
from gpuplace.tf1.input import prefetching as prefetch_queue
from gpuplace.tf1.input import prefetching as queues

if TYPE_CHECKING:
    from gpuplace.tf1.api.contrib import metrics, nets
    from gpuplace.tf1.contrib import losses, model_analyzer, regularizers
    from gpuplace.tf1.contrib import regularizers as initializers
    from gpuplace.tf1.contrib.providers import (
        data_decoder,
        data_provider,
        dataset,
        dataset_data_provider,
        parallel_reader,
        tfexample_decoder,
    )
    from gpuplace.tf1.saving.assigning import (
        assign_from_checkpoint,
        assign_from_checkpoint_fn,
        assign_from_values,
        assign_from_values_fn,
    )
    from gpuplace.tf1.training import evaluation, learning
else:
    __getattr__ = _lazy_names(
        __name__,
        {
            "gpuplace.tf1.saving.assigning": """
                assign_from_checkpoint assign_from_checkpoint_fn assign_from_values assign_from_values_fn
            """,
            "gpuplace.tf1.api.contrib": "metrics nets",
            "gpuplace.tf1.contrib": "losses model_analyzer regularizers regularizers as initializers",
            "gpuplace.tf1.contrib.providers": """
                data_decoder data_provider dataset dataset_data_provider parallel_reader tfexample_decoder
            """,
            "gpuplace.tf1.training": "evaluation learning",
        },
    )

# fmt: off
__all__ = [
    "OPTIMIZER_CLS_NAMES", "OPTIMIZER_SUMMARIES", "adaptive_clipping_fn", "add_arg_scope", "add_model_variable",
    "arg_scope", "arg_scope_func_key", "arg_scoped_arguments", "assign_from_checkpoint", "assign_from_checkpoint_fn",
    "assign_from_values", "assign_from_values_fn", "avg_pool2d", "batch_norm", "conv1d", "conv2d", "conv2d_transpose",
    "convolution", "convolution1d", "convolution2d", "convolution2d_transpose", "create_global_step",
    "current_arg_scope", "data_decoder", "data_provider", "dataset", "dataset_data_provider", "dropout",
    "embed_sequence", "evaluation", "flatten", "fully_connected", "get_global_step", "get_local_variables",
    "get_model_variables", "get_or_create_global_step", "get_trainable_variables", "get_unique_variable",
    "get_variables", "get_variables_by_name", "get_variables_by_suffix", "get_variables_to_restore", "has_arg_scope",
    "initializers", "l1_l2_regularizer", "l1_regularizer", "l2_regularizer", "layer_norm", "learning", "linear",
    "local_variable", "losses", "max_pool2d", "metrics", "model_analyzer", "model_variable", "nets", "one_hot_encoding",
    "optimize_loss", "parallel_reader", "prefetch_queue", "queues", "regularizers", "relu_layer", "repeat",
    "separable_conv2d", "separable_convolution2d", "softmax", "stack", "sum_regularizer", "summaries",
    "summarize_activation", "summarize_activations", "summarize_biases", "summarize_collection", "summarize_tensor",
    "summarize_tensors", "summarize_variables", "summarize_weights", "tfexample_decoder", "utils", "variable",
    "variance_scaling_initializer", "xavier_initializer", "xavier_initializer_conv2d",
]
# fmt: on
