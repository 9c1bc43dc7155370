"""``tf.contrib.framework``: default arguments, variables of models, the global step.

Source: tensorflow/contrib/framework, release 1.15 (names).
"""

from typing import TYPE_CHECKING

from gpuplace.lazy import lazy_names as _lazy_names
from gpuplace.ops import nest
from gpuplace.ops.flow.control import with_dependencies
from gpuplace.ops.train.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
)
from gpuplace.tf1.contrib.arg_scope import *
from gpuplace.tf1.contrib.variables import *

if TYPE_CHECKING:
    from gpuplace.tf1.saving.assigning import (
        assign_from_checkpoint,
        assign_from_checkpoint_fn,
        assign_from_values,
        assign_from_values_fn,
    )
    from gpuplace.tf1.saving.init_from_checkpoint import init_from_checkpoint
    from gpuplace.tf1.saving.load import list_variables, load_checkpoint, load_variable
    from gpuplace.tf1.training.load_and_remap import (
        load_and_remap_matrix_initializer,
        load_embedding_initializer,
        load_linear_multiclass_bias_initializer,
    )
    from gpuplace.tf1.variables.convolution_initializers import (
        convolutional_delta_orthogonal,
        convolutional_orthogonal_1d,
        convolutional_orthogonal_2d,
        convolutional_orthogonal_3d,
    )
else:
    __getattr__ = _lazy_names(
        __name__,
        {
            "gpuplace.tf1.saving.init_from_checkpoint": "init_from_checkpoint",
            "gpuplace.tf1.saving.load": "list_variables load_checkpoint load_variable",
            "gpuplace.tf1.variables.convolution_initializers": """
                convolutional_delta_orthogonal convolutional_orthogonal_1d convolutional_orthogonal_2d
                convolutional_orthogonal_3d
            """,
            "gpuplace.tf1.training.load_and_remap": """
                load_and_remap_matrix_initializer load_embedding_initializer load_linear_multiclass_bias_initializer
            """,
            "gpuplace.tf1.saving.assigning": """
                assign_from_checkpoint assign_from_checkpoint_fn assign_from_values assign_from_values_fn
            """,
        },
    )

# fmt: off
__all__ = [
    "add_arg_scope", "add_model_variable", "arg_scope", "arg_scope_func_key", "arg_scoped_arguments",
    "assert_global_step",
    "assign_from_checkpoint", "assign_from_checkpoint_fn", "assign_from_values", "assign_from_values_fn",
    "convolutional_delta_orthogonal", "convolutional_orthogonal_1d", "convolutional_orthogonal_2d",
    "convolutional_orthogonal_3d", "create_global_step", "current_arg_scope", "get_global_step",
    "get_local_variables", "get_model_variables", "get_or_create_global_step", "get_trainable_variables",
    "get_unique_variable", "get_variables", "get_variables_by_name", "get_variables_by_suffix",
    "get_variables_to_restore", "has_arg_scope", "init_from_checkpoint", "list_variables",
    "load_and_remap_matrix_initializer", "load_checkpoint", "load_embedding_initializer",
    "load_linear_multiclass_bias_initializer", "load_variable",
    "local_variable", "model_variable", "nest", "variable", "with_dependencies",
]
# fmt: on
