"""``tf.train``: optimizers, steps, and graphs written to files.

Source: tensorflow/_api/v1/train, release 1.15 (names).
"""

from typing import TYPE_CHECKING, Any

from gpuplace.api.graph_io import write_graph
from gpuplace.ops.input.coordinator import Coordinator, LooperThread
from gpuplace.ops.input.queue_runner import QueueRunner, add_queue_runner, start_queue_runners
from gpuplace.ops.train.adagrad import AdagradOptimizer
from gpuplace.ops.train.adam import AdamOptimizer
from gpuplace.ops.train.device_setter import ClusterSpec, replica_device_setter
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
    polynomial_decay,
)
from gpuplace.ops.train.momentum import MomentumOptimizer
from gpuplace.ops.train.moving_averages import ExponentialMovingAverage
from gpuplace.ops.train.optimizer import Optimizer
from gpuplace.ops.train.rmsprop import RMSPropOptimizer

__all__ = [
    "AdagradOptimizer",
    "AdamOptimizer",
    "ClusterSpec",
    "Coordinator",
    "ExponentialMovingAverage",
    "GradientDescentOptimizer",
    "LooperThread",
    "MomentumOptimizer",
    "Optimizer",
    "QueueRunner",
    "RMSPropOptimizer",
    "add_queue_runner",
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
    "summary_iterator",
    "start_queue_runners",
    "write_graph",
]

if TYPE_CHECKING:
    from gpuplace.graphdef.event_reader import summary_iterator
else:

    def __getattr__(name: str) -> Any:
        if name == "summary_iterator":
            from gpuplace.graphdef.event_reader import summary_iterator

            return summary_iterator
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
