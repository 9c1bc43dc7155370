"""The names of ``tf.initializers``.

Source: tensorflow/_api/v1/initializers, release 1.15.
"""

from typing import TYPE_CHECKING

from gpuplace.lazy import lazy_names as _lazy_names
from gpuplace.ops.variables.init_ops import Constant as constant
from gpuplace.ops.variables.init_ops import GlorotNormal as glorot_normal
from gpuplace.ops.variables.init_ops import GlorotUniform as glorot_uniform
from gpuplace.ops.variables.init_ops import Identity as identity
from gpuplace.ops.variables.init_ops import Initializer, he_normal, he_uniform, lecun_normal, lecun_uniform
from gpuplace.ops.variables.init_ops import Ones as ones
from gpuplace.ops.variables.init_ops import Orthogonal as orthogonal
from gpuplace.ops.variables.init_ops import RandomNormal as random_normal
from gpuplace.ops.variables.init_ops import RandomUniform as random_uniform
from gpuplace.ops.variables.init_ops import TruncatedNormal as truncated_normal
from gpuplace.ops.variables.init_ops import UniformUnitScaling as uniform_unit_scaling
from gpuplace.ops.variables.init_ops import VarianceScaling as variance_scaling
from gpuplace.ops.variables.init_ops import Zeros as zeros
from gpuplace.ops.variables.initialization import global_variables_initializer as global_variables
from gpuplace.ops.variables.initialization import local_variables_initializer as local_variables
from gpuplace.ops.variables.initialization import variables_initializer as variables

if TYPE_CHECKING:
    from gpuplace.tf1.input.tables import tables_initializer
else:  # imported on first use
    __getattr__ = _lazy_names(
        __name__,
        {
            "gpuplace.tf1.input.tables": "tables_initializer",
        },
    )

__all__ = [
    "Initializer",
    "constant",
    "global_variables",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "local_variables",
    "ones",
    "orthogonal",
    "random_normal",
    "random_uniform",
    "tables_initializer",
    "truncated_normal",
    "uniform_unit_scaling",
    "variables",
    "variance_scaling",
    "zeros",
]
