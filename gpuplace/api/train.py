"""``tf.train``: optimizers, steps, and graphs written to files.

Source: tensorflow/_api/v1/train, release 1.15 (names).
"""

from gpuplace.api.graph_io import write_graph
from gpuplace.ops.train.adadelta import AdadeltaOptimizer
from gpuplace.ops.train.adagrad import AdagradOptimizer
from gpuplace.ops.train.adam import AdamOptimizer
from gpuplace.ops.train.device_setter import ClusterSpec, replica_device_setter
from gpuplace.ops.train.ftrl import FtrlOptimizer
from gpuplace.ops.train.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from gpuplace.ops.train.gradient_descent import GradientDescentOptimizer
from gpuplace.ops.train.learning_rates import (
    cosine_decay,
    exponential_decay,
    inverse_time_decay,
    natural_exp_decay,
    piecewise_constant,
    piecewise_constant_decay,
    polynomial_decay,
)
from gpuplace.ops.train.momentum import MomentumOptimizer
from gpuplace.ops.train.moving_averages import ExponentialMovingAverage
from gpuplace.ops.train.optimizer import Optimizer
from gpuplace.ops.train.proximal_gradient_descent import ProximalGradientDescentOptimizer
from gpuplace.ops.train.rmsprop import RMSPropOptimizer

__all__ = [
    "AdadeltaOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "ClusterSpec",
    "ExponentialMovingAverage",
    "FtrlOptimizer",
    "GradientDescentOptimizer",
    "MomentumOptimizer",
    "Optimizer",
    "ProximalGradientDescentOptimizer",
    "RMSPropOptimizer",
    "assert_global_step",
    "cosine_decay",
    "create_global_step",
    "exponential_decay",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "inverse_time_decay",
    "natural_exp_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
    "replica_device_setter",
    "write_graph",
]
