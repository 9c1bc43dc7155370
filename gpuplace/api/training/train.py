"""``tf.train``: optimizers, training steps, checkpoints, and graph files.

Source: tensorflow/_api/v1/train, release 1.15 (names).
"""

from typing import TYPE_CHECKING

from gpuplace.api.files.graph_io import write_graph
from gpuplace.lazy import lazy_names
from gpuplace.ops.train.adadelta import AdadeltaOptimizer
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
    cosine_decay_restarts,
    exponential_decay,
    inverse_time_decay,
    linear_cosine_decay,
    natural_exp_decay,
    noisy_linear_cosine_decay,
    piecewise_constant,
    piecewise_constant_decay,
    polynomial_decay,
)
from gpuplace.ops.train.momentum import MomentumOptimizer
from gpuplace.ops.train.moving_averages import ExponentialMovingAverage
from gpuplace.ops.train.optimizer import Optimizer
from gpuplace.ops.train.rmsprop import RMSPropOptimizer

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "ChiefSessionCreator",
    "ClusterDef",
    "ClusterSpec",
    "Coordinator",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FeedFnHook",
    "FinalOpsHook",
    "FloatList",
    "FtrlOptimizer",
    "GlobalStepWaiterHook",
    "GradientDescentOptimizer",
    "Int64List",
    "JobDef",
    "LoggingTensorHook",
    "LooperThread",
    "MomentumOptimizer",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "NewCheckpointReader",
    "Optimizer",
    "ProfilerHook",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "QueueRunner",
    "RMSPropOptimizer",
    "Saver",
    "SaverDef",
    "Scaffold",
    "SecondOrStepTimer",
    "SequenceExample",
    "ServerDef",
    "Server",
    "SessionCreator",
    "SessionManager",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "SingularMonitoredSession",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
    "Supervisor",
    "SyncReplicasOptimizer",
    "WorkerSessionCreator",
    "add_queue_runner",
    "assert_global_step",
    "basic_train_loop",
    "batch",
    "batch_join",
    "checkpoint_exists",
    "checkpoints_iterator",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "experimental",
    "exponential_decay",
    "export_meta_graph",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "import_meta_graph",
    "init_from_checkpoint",
    "input_producer",
    "inverse_time_decay",
    "latest_checkpoint",
    "limit_epochs",
    "linear_cosine_decay",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
    "queue_runner",
    "range_input_producer",
    "remove_checkpoint",
    "replica_device_setter",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
    "summary_iterator",
    "update_checkpoint_state",
    "write_graph",
]

if TYPE_CHECKING:
    from gpuplace.clusters.server import Server
    from gpuplace.files.checkpoints.reader import NewCheckpointReader
    from gpuplace.graphdef.event_file import summary_iterator
    from gpuplace.graphdef.messages import (
        BytesList,
        ClusterDef,
        Example,
        Feature,
        FeatureList,
        FeatureLists,
        Features,
        FloatList,
        Int64List,
        JobDef,
        QueueRunnerDef,
        SaverDef,
        SequenceExample,
        ServerDef,
    )
    from gpuplace.saving.checkpoint_state import (
        checkpoint_exists,
        checkpoints_iterator,
        generate_checkpoint_state_proto,
        get_checkpoint_mtimes,
        get_checkpoint_state,
        latest_checkpoint,
        remove_checkpoint,
        update_checkpoint_state,
        wait_for_new_checkpoint,
    )
    from gpuplace.saving.import_meta_graph import export_meta_graph, import_meta_graph
    from gpuplace.saving.saver import Saver
    from gpuplace.tf1.api.training import train_experimental as experimental
    from gpuplace.tf1.input import queue_runner
    from gpuplace.tf1.input.batching import (
        batch,
        batch_join,
        maybe_batch,
        maybe_batch_join,
        maybe_shuffle_batch,
        maybe_shuffle_batch_join,
        shuffle_batch,
        shuffle_batch_join,
    )
    from gpuplace.tf1.input.coordinator import Coordinator, LooperThread
    from gpuplace.tf1.input.file_ops import match_filenames_once
    from gpuplace.tf1.input.producers import (
        input_producer,
        limit_epochs,
        range_input_producer,
        slice_input_producer,
        string_input_producer,
    )
    from gpuplace.tf1.input.queue_runner import QueueRunner, add_queue_runner, start_queue_runners
    from gpuplace.tf1.saving.init_from_checkpoint import init_from_checkpoint
    from gpuplace.tf1.saving.load import list_variables, load_checkpoint, load_variable
    from gpuplace.tf1.saving.tracking.checkpoint import Checkpoint
    from gpuplace.tf1.saving.tracking.checkpoint_manager import CheckpointManager
    from gpuplace.tf1.train.adagrad_da import AdagradDAOptimizer
    from gpuplace.tf1.train.ftrl import FtrlOptimizer
    from gpuplace.tf1.train.proximal_adagrad import ProximalAdagradOptimizer
    from gpuplace.tf1.train.proximal_gradient_descent import ProximalGradientDescentOptimizer
    from gpuplace.tf1.training.hooks import (
        FeedFnHook,
        FinalOpsHook,
        GlobalStepWaiterHook,
        LoggingTensorHook,
        NanLossDuringTrainingError,
        NanTensorHook,
        StopAtStepHook,
    )
    from gpuplace.tf1.training.monitored_session import (
        ChiefSessionCreator,
        MonitoredSession,
        MonitoredTrainingSession,
        SessionCreator,
        SingularMonitoredSession,
        WorkerSessionCreator,
    )
    from gpuplace.tf1.training.saver_hooks import (
        CheckpointSaverHook,
        CheckpointSaverListener,
        ProfilerHook,
        StepCounterHook,
        SummarySaverHook,
    )
    from gpuplace.tf1.training.scaffold import Scaffold
    from gpuplace.tf1.training.session_manager import SessionManager
    from gpuplace.tf1.training.session_run_hook import (
        SessionRunArgs,
        SessionRunContext,
        SessionRunHook,
        SessionRunValues,
    )
    from gpuplace.tf1.training.supervisor import Supervisor, basic_train_loop
    from gpuplace.tf1.training.sync_replicas import SyncReplicasOptimizer
    from gpuplace.tf1.training.timers import SecondOrStepTimer
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "gpuplace.tf1.api.training": "train_experimental as experimental",
            "gpuplace.files.checkpoints.reader": "NewCheckpointReader",
            "gpuplace.clusters.server": "Server",
            "gpuplace.graphdef.event_file": "summary_iterator",
            "gpuplace.graphdef.messages": """
                BytesList ClusterDef Example Feature FeatureList FeatureLists Features FloatList Int64List JobDef
                QueueRunnerDef SaverDef SequenceExample ServerDef
            """,
            "gpuplace.saving.checkpoint_state": """
                checkpoint_exists checkpoints_iterator generate_checkpoint_state_proto get_checkpoint_mtimes
                get_checkpoint_state latest_checkpoint remove_checkpoint update_checkpoint_state
                wait_for_new_checkpoint
            """,
            "gpuplace.saving.import_meta_graph": "export_meta_graph import_meta_graph",
            "gpuplace.tf1.input": "queue_runner",
            "gpuplace.tf1.input.batching": """
                batch batch_join maybe_batch maybe_batch_join maybe_shuffle_batch
                maybe_shuffle_batch_join shuffle_batch shuffle_batch_join
            """,
            "gpuplace.tf1.input.coordinator": "Coordinator LooperThread",
            "gpuplace.tf1.input.file_ops": "match_filenames_once",
            "gpuplace.tf1.input.producers": """
                input_producer limit_epochs range_input_producer slice_input_producer
                string_input_producer
            """,
            "gpuplace.tf1.input.queue_runner": "QueueRunner add_queue_runner start_queue_runners",
            "gpuplace.tf1.train.adagrad_da": "AdagradDAOptimizer",
            "gpuplace.tf1.train.ftrl": "FtrlOptimizer",
            "gpuplace.tf1.train.proximal_adagrad": "ProximalAdagradOptimizer",
            "gpuplace.tf1.train.proximal_gradient_descent": "ProximalGradientDescentOptimizer",
            "gpuplace.tf1.saving.init_from_checkpoint": "init_from_checkpoint",
            "gpuplace.tf1.saving.load": "list_variables load_checkpoint load_variable",
            "gpuplace.saving.saver": "Saver",
            "gpuplace.tf1.saving.tracking.checkpoint": "Checkpoint",
            "gpuplace.tf1.saving.tracking.checkpoint_manager": "CheckpointManager",
            "gpuplace.tf1.training.hooks": """
                FeedFnHook FinalOpsHook GlobalStepWaiterHook LoggingTensorHook NanLossDuringTrainingError
                NanTensorHook StopAtStepHook
            """,
            "gpuplace.tf1.training.monitored_session": """
                ChiefSessionCreator MonitoredSession MonitoredTrainingSession SessionCreator
                SingularMonitoredSession WorkerSessionCreator
            """,
            "gpuplace.tf1.training.saver_hooks": """
                CheckpointSaverHook CheckpointSaverListener ProfilerHook StepCounterHook SummarySaverHook
            """,
            "gpuplace.tf1.training.scaffold": "Scaffold",
            "gpuplace.tf1.training.session_manager": "SessionManager",
            "gpuplace.tf1.training.session_run_hook": """
                SessionRunArgs SessionRunContext SessionRunHook SessionRunValues
            """,
            "gpuplace.tf1.training.supervisor": "Supervisor basic_train_loop",
            "gpuplace.tf1.training.sync_replicas": "SyncReplicasOptimizer",
            "gpuplace.tf1.training.timers": "SecondOrStepTimer",
            "gpuplace.tf1.training.warm_start": "VocabInfo warm_start",
        },
    )
