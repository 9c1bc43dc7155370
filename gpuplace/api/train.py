"""``tf.train``: optimizers, steps, and graphs written to files.

Source: tensorflow/_api/v1/train, release 1.15 (names).
"""

from gpuplace.api.graph_io import write_graph
from gpuplace.ops.train import *

__all__ = [
    "AdagradOptimizer",
    "AdamOptimizer",
    "ClusterSpec",
    "ExponentialMovingAverage",
    "GradientDescentOptimizer",
    "MomentumOptimizer",
    "Optimizer",
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
    "polynomial_decay",
    "replica_device_setter",
    "write_graph",
]
