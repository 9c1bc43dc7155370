"""``tf.train``: optimizers, steps, checkpoints, and graphs written to files.

Source: tensorflow/_api/v1/train, release 1.15 (names).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpuplace.api.graph_io import write_graph
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
    "ExponentialMovingAverage",
    "GradientDescentOptimizer",
    "MomentumOptimizer",
    "NewCheckpointReader",
    "Optimizer",
    "RMSPropOptimizer",
    "Saver",
    "SaverDef",
    "assert_global_step",
    "checkpoint_exists",
    "cosine_decay",
    "create_global_step",
    "exponential_decay",
    "export_meta_graph",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "import_meta_graph",
    "inverse_time_decay",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "natural_exp_decay",
    "polynomial_decay",
    "remove_checkpoint",
    "replica_device_setter",
    "update_checkpoint_state",
    "write_graph",
]

if TYPE_CHECKING:
    from gpuplace.checkpoints.reader import NewCheckpointReader
    from gpuplace.graphdef.messages import SaverDef
    from gpuplace.saving.checkpoint_state import (
        checkpoint_exists,
        generate_checkpoint_state_proto,
        get_checkpoint_mtimes,
        get_checkpoint_state,
        latest_checkpoint,
        remove_checkpoint,
        update_checkpoint_state,
    )
    from gpuplace.saving.import_meta_graph import export_meta_graph, import_meta_graph
    from gpuplace.saving.load import list_variables, load_checkpoint, load_variable
    from gpuplace.saving.saver import Saver
else:
    _SAVING = {
        "NewCheckpointReader": ("gpuplace.checkpoints.reader", ""),
        "SaverDef": ("gpuplace.graphdef.messages", "SaverDef"),
        "Saver": ("gpuplace.saving.saver", "Saver"),
        "export_meta_graph": ("gpuplace.saving.import_meta_graph", "export_meta_graph"),
        "import_meta_graph": ("gpuplace.saving.import_meta_graph", "import_meta_graph"),
        **dict.fromkeys(("list_variables", "load_checkpoint", "load_variable"), ("gpuplace.saving.load", "")),
        **dict.fromkeys(
            (
                "checkpoint_exists",
                "generate_checkpoint_state_proto",
                "get_checkpoint_mtimes",
                "get_checkpoint_state",
                "latest_checkpoint",
                "remove_checkpoint",
                "update_checkpoint_state",
            ),
            ("gpuplace.saving.checkpoint_state", ""),
        ),
    }

    def __getattr__(name: str) -> Any:
        """What loads protobuf when it is first asked for; AttributeError for other names."""
        if name not in _SAVING:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, attribute = _SAVING[name]
        return getattr(import_module(module), attribute or name)
