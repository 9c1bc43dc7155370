"""``tf.train``: optimizers, steps, and graphs written to files.

Source: tensorflow/_api/v1/train, release 1.15 (names).
"""

from typing import TYPE_CHECKING, Any

from gpuplace.api.graph_io import write_graph
from gpuplace.ops.input.batching import (
    batch,
    batch_join,
    maybe_batch,
    maybe_batch_join,
    maybe_shuffle_batch,
    maybe_shuffle_batch_join,
    shuffle_batch,
    shuffle_batch_join,
)
from gpuplace.ops.input.coordinator import Coordinator, LooperThread
from gpuplace.ops.input.file_ops import match_filenames_once
from gpuplace.ops.input.producers import (
    input_producer,
    limit_epochs,
    range_input_producer,
    slice_input_producer,
    string_input_producer,
)
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
    "BytesList",
    "ClusterSpec",
    "Coordinator",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "GradientDescentOptimizer",
    "Int64List",
    "LooperThread",
    "MomentumOptimizer",
    "Optimizer",
    "QueueRunner",
    "RMSPropOptimizer",
    "SequenceExample",
    "add_queue_runner",
    "assert_global_step",
    "batch",
    "batch_join",
    "cosine_decay",
    "create_global_step",
    "exponential_decay",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "input_producer",
    "inverse_time_decay",
    "limit_epochs",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "natural_exp_decay",
    "polynomial_decay",
    "range_input_producer",
    "replica_device_setter",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
    "write_graph",
]

if TYPE_CHECKING:
    from gpuplace.graphdef.own_messages import (
        BytesList,
        Example,
        Feature,
        FeatureList,
        FeatureLists,
        Features,
        FloatList,
        Int64List,
        QueueRunnerDef,
        SequenceExample,
    )
else:

    def __getattr__(name: str) -> Any:
        """A message class, which loads protobuf when it is first asked for."""
        from gpuplace.graphdef import own_messages

        if name in own_messages.__all__:
            return getattr(own_messages, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
