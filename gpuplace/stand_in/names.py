"""Makes ``import tensorflow`` mean gpuplace, for scripts written for TensorFlow 1.

A finder at the head of ``sys.meta_path`` answers for ``tensorflow`` and everything below it:

- ``tensorflow`` and ``tensorflow.compat.v1`` are gpuplace itself;
- modules that scripts import from TensorFlow's insides (``tensorflow.python.client.device_lib``,
  ``tensorflow.core.framework.graph_pb2``) are the modules of ``MODULES``;
- ``tensorflow.python.framework.ops`` and its like are modules that hold gpuplace's public names;
- ``tensorflow.train`` and other namespaces of gpuplace are those namespaces;
- what lies below a folder ``tensorflow`` beside the script, or elsewhere on the path, is found there
  (``tensorflow/examples/tutorials/mnist/input_data.py``), unless it is an installed TensorFlow.

Anything else is a ``ModuleNotFoundError`` that says so. ``google.protobuf`` is not touched. TensorBoard is told to go
without TensorFlow, of which it would need more than gpuplace has: it has a stub of what it needs.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from gpuplace.api.missing import sentence
from gpuplace.callers import OwnFramesHidden
from gpuplace.errors import UnimplementedError
from gpuplace.stand_in.absent import AbsentModule, is_absent

ROOT = "tensorflow"

WITHOUT_TENSORFLOW = "tensorboard.compat.notf"
"""Where this module exists, TensorBoard uses its stub; source: tensorboard/compat/__init__.py."""

CHILDREN = str(Path(__file__).resolve().parent / "children")
"""A folder whose ``tensorflow`` is gpuplace, for the paths of other Python processes."""

ROOMS = "arithmetic|files|nets|testing|training"
"""Folders of `gpuplace.api`, which are no part of names."""
_EXAMPLES = "tensorflow.examples"
"""The package of tutorials, of which gpuplace has the data set."""

_INSTALLED = os.path.join("python", "pywrap_tensorflow.py")
"""A file that every TensorFlow has."""

GPUPLACE_ITSELF = {"tensorflow", "tensorflow.compat.v1", "tensorflow._api.v1.v1"}
"""Names that are gpuplace itself."""

MODULES = {
    "tensorflow.python.client.device_lib": "gpuplace.session.device_lib",
    "tensorflow.python.compat.compat": "gpuplace.stand_in.forward_compat",
    "tensorflow.python.compat.v2_compat": "gpuplace.api.behavior",
    "tensorflow.python.eager.execution_callbacks": "gpuplace.stand_in.execution_callbacks",
    "tensorflow.python.tf2": "gpuplace.stand_in.tf2",
    "tensorflow.python.client.timeline": "gpuplace.tracing.chrome_timeline",
    "tensorflow.python.framework.config": "gpuplace.stand_in.framework.config",
    "tensorflow.python.framework.errors": "gpuplace.errors",
    "tensorflow.python.framework.errors_impl": "gpuplace.errors",
    "tensorflow.python.framework.tensor_shape": "gpuplace.shapes",
    "tensorflow.contrib.learn.datasets": "gpuplace.data_sets.learn",
    "tensorflow.contrib.learn.datasets.mnist": "gpuplace.data_sets.mnist",
    "tensorflow.contrib.learn.preprocessing": "gpuplace.data_sets.preprocessing",
    "tensorflow.contrib.learn.python.learn.preprocessing": "gpuplace.data_sets.preprocessing",
    "tensorflow.contrib.learn.python.learn.datasets": "gpuplace.data_sets.learn",
    "tensorflow.contrib.learn.python.learn.datasets.mnist": "gpuplace.data_sets.mnist",
    "tensorflow.contrib.legacy_seq2seq.python.ops.seq2seq": "gpuplace.api.contrib.legacy_seq2seq",
    "tensorflow.contrib.metrics.python.ops.metric_ops": "gpuplace.api.contrib.metrics",
    "tensorflow.contrib.layers.python.layers.utils": "gpuplace.ops.contrib.utils",
    "tensorflow.contrib.losses.python.losses.loss_ops": "gpuplace.ops.contrib.losses",
    "tensorflow.contrib.slim.python.slim.evaluation": "gpuplace.training.evaluation",
    "tensorflow.contrib.slim.python.slim.learning": "gpuplace.training.learning",
    "tensorflow.contrib.slim.python.slim.model_analyzer": "gpuplace.ops.contrib.model_analyzer",
    "tensorflow.contrib.slim.nets": "gpuplace.api.contrib.nets",
    **{
        f"tensorflow.contrib.slim.python.slim.nets.{module}": f"gpuplace.ops.contrib.nets.{module}"
        for module in (
            *(
                "alexnet",
                "inception",
                "inception_v1",
                "inception_v2",
                "inception_v3",
                "overfeat",
                "resnet_utils",
            ),
            *("resnet_v1", "resnet_v2", "vgg"),
        )
    },
    **{
        f"tensorflow.contrib.slim.python.slim.data.{module}": f"gpuplace.ops.contrib.providers.{module}"
        for module in (
            *("data_decoder", "data_provider", "dataset", "dataset_data_provider", "parallel_reader"),
            "tfexample_decoder",
        )
    },
    "tensorflow.contrib.memory_stats.python.ops.memory_stats_ops": "gpuplace.api.contrib.memory_stats",
    "tensorflow.contrib.training.python.training.bucket_ops": "gpuplace.api.contrib.training",
    "tensorflow.contrib.training.python.training.device_setter": "gpuplace.api.contrib.training",
    "tensorflow.contrib.training.python.training.evaluation": "gpuplace.api.contrib.training",
    "tensorflow.contrib.training.python.training.hparam": "gpuplace.training.hparams",
    "tensorflow.contrib.training.python.training.training": "gpuplace.api.contrib.training",
    "tensorflow.examples.tutorials.mnist.input_data": "gpuplace.data_sets.mnist",
    "tensorflow.examples.tutorials.mnist.mnist": "gpuplace.data_sets.mnist_net",
    "tensorflow.python.framework.graph_util": "gpuplace.api.files.graph_util",
    "tensorflow.python.framework.graph_util_impl": "gpuplace.api.files.graph_util",
    "tensorflow.python.framework.meta_graph": "gpuplace.saving.scoped_meta_graph",
    "tensorflow.python.saved_model.constants": "gpuplace.saving.saved_model_constants",
    "tensorflow.python.saved_model.loader": "gpuplace.saving.saved_model_loader",
    "tensorflow.python.saved_model.loader_impl": "gpuplace.saving.saved_model_loader",
    "tensorflow.python.saved_model.main_op": "gpuplace.saving.saved_model_loader",
    "tensorflow.python.saved_model.signature_constants": "gpuplace.saving.signature_constants",
    "tensorflow.python.saved_model.signature_def_utils": "gpuplace.saving.signatures",
    "tensorflow.python.saved_model.signature_def_utils_impl": "gpuplace.saving.signatures",
    "tensorflow.python.saved_model.tag_constants": "gpuplace.saving.tag_constants",
    "tensorflow.python.saved_model.utils": "gpuplace.saving.signatures",
    "tensorflow.python.framework.test_util": "gpuplace.stand_in.test_util",
    "tensorflow.python.platform.googletest": "gpuplace.api.testing.test_case",
    "tensorflow.python.platform.test": "gpuplace.api.testing.test",
    "tensorflow.python.platform.app": "gpuplace.api.app",
    "tensorflow.python.platform.flags": "gpuplace.api.flags",
    "tensorflow.python.platform.tf_logging": "gpuplace.tf_logging",
    "tensorflow.python.ops.gradient_checker": "gpuplace.api.testing.gradient_checker",
    "tensorflow.python.ops.gradient_checker_v2": "gpuplace.stand_in.gradient_checker_v2",
    "tensorflow.core.lib.core.error_codes_pb2": "gpuplace.stand_in.error_codes",
    "tensorflow.core.example.example_pb2": "gpuplace.graphdef.messages",
    "tensorflow.core.example.feature_pb2": "gpuplace.graphdef.messages",
    "tensorflow.core.protobuf.control_flow_pb2": "gpuplace.graphdef.messages",
    "tensorflow.core.protobuf.queue_runner_pb2": "gpuplace.graphdef.messages",
    "tensorflow.core.protobuf.saved_model_pb2": "gpuplace.graphdef.messages",
    "tensorflow.core.protobuf.tensorflow_server_pb2": "gpuplace.graphdef.messages",
    "tensorflow.core.protobuf.config_pb2": "gpuplace.stand_in.config_pb2",
    "tensorflow.python.pywrap_tensorflow": "gpuplace.stand_in.pywrap_tensorflow",
    "tensorflow.python.saved_model.simple_save": "gpuplace.saving.saved_model_builder",
    "tensorflow.python.training.checkpoint_state_pb2": "gpuplace.graphdef.messages",
    "tensorflow.python.training.checkpoint_utils": "gpuplace.api.training.train",
    "tensorflow.python.training.training": "gpuplace.api.training.train",
}
"""TensorFlow's module -> the module of gpuplace that holds the same names."""

_FLOW = ("ops.flow.context", "ops.flow.while_loops", "ops.flow.conditionals", "ops.flow.control")
_NN = (
    *("api.nets.nn", "ops.nn.misc", "ops.nn.conv", "ops.nn.pool", "ops.nn.activation", "ops.nn.sampling"),
    *("ops.random.fractional", "ops.array.sorting", "stand_in.v2_names"),
)
_VARIABLES = (
    *("ops.variables.variables", "ops.variables.resource_variables", "ops.variables.resource_state"),
    "ops.variables.partitioned",
)

NAMES = {
    "client.session": ("session.fetches",),
    **dict.fromkeys(
        ("data.ops.dataset_ops", "data.ops.iterator_ops", "data.ops.readers"),
        ("api.training.data", "api.training.data_experimental"),
    ),
    "data.ops.multi_device_iterator_ops": (),
    "data.ops.optional_ops": ("api.training.data_experimental",),
    **{
        f"data.experimental.ops.{module}": ("api.training.data_experimental",)
        for module in (
            *(
                "batching",
                "counter",
                "enumerate_ops",
                "error_ops",
                "get_single_element",
                "grouping",
                "interleave_ops",
            ),
            *(
                "cardinality",
                "optimization",
                "optimization_options",
                "stats_options",
                "take_while_ops",
                "threading_options",
            ),
            *("prefetching_ops", "random_ops", "scan_ops", "shuffle_ops", "threadpool", "unique"),
        )
    },
    "distribute.all_reduce": (),
    "eager.backprop": ("ops.gradients.tape",),
    "eager.context": ("stand_in.eager_context",),
    "eager.def_function": (),
    "eager.function": (),
    "eager.test": ("api.testing.test",),
    "framework.common_shapes": ("shapes",),
    "framework.constant_op": (),
    "framework.device": ("device.spec",),
    "framework.device_spec": ("device.spec",),
    "framework.dtypes": ("dtypes",),
    "framework.function": (),
    "framework.graph_io": ("api.training.train",),
    "framework.graph_util": ("api.files.graph_util",),
    "framework.graph_util_impl": ("api.files.graph_util",),
    "framework.importer": (),
    "framework.indexed_slices": ("ops.gradients.indexed_slices", "ops.gradients.slices_spec"),
    "framework.ops": (
        *("graph.graph", "graph.convert", "graph.operation", "graph.stacks", "graph.op_statistics"),
        *("ops.gradients.registry", "ops.gradients.indexed_slices", "saving.names"),
    ),
    "framework.random_seed": ("graph.graph",),
    "framework.test_combinations": ("stand_in.framework.combinations",),
    "framework.smart_cond": ("ops.flow.conditionals",),
    "framework.sparse_tensor": ("ops.sparse.sparse_spec", "ops.sparse.sparse_tensor"),
    "framework.tensor_spec": ("ops.data.bounded_spec", "ops.type_spec"),
    "framework.type_spec": ("ops.type_spec",),
    "framework.tensor_util": ("graph.constant_value", "graph.convert", "api.files.io"),
    "framework.versions": ("api.version",),
    "layers.base": ("api.nets.layers",),
    "layers.convolutional": ("api.nets.layers",),
    "layers.core": ("api.nets.layers",),
    "layers.layers": ("api.nets.layers",),
    "layers.normalization": ("api.nets.layers",),
    "layers.pooling": ("api.nets.layers",),
    "layers.utils": ("stand_in.layer_utils", "ops.flow.conditionals", "api.nets.layers"),
    "lib.io.file_io": ("files.file_io", "api.files.gfile"),
    **dict.fromkeys(("lib.io.python_io", "lib.io.tf_record"), ("api.files.io",)),
    "ops.array_ops": ("ops.array.constant", "ops.array.reshaping", "ops.array.gather"),
    "ops.bitwise_ops": ("api.arithmetic.bitwise",),
    "ops.collective_ops": (),
    "ops.candidate_sampling_ops": _NN,
    "ops.check_ops": ("ops.math.check_ops",),
    "ops.clip_ops": (),
    "ops.confusion_matrix": ("ops.math.confusion_matrix", "ops.metrics"),
    "ops.control_flow_ops": _FLOW,
    "ops.control_flow_util": ("stand_in.control_flow_util", *_FLOW),
    "ops.control_flow_v2_toggles": ("api.behavior",),
    "ops.ctc_ops": ("ops.nn.ctc", *_NN),
    "ops.custom_gradient": ("ops.gradients.custom_gradient",),
    "ops.data_flow_ops": (
        "ops.array.gather",
        "api.contrib.staging",
        *("ops.input.staging", "ops.input.accumulators"),
        "api.training.queue",
    ),
    "ops.embedding_ops": _NN,
    "ops.functional_ops": ("ops.flow.higher_order",),
    "ops.gradients": (),
    "ops.gradients_impl": ("ops.gradients.gradients",),
    "ops.gradients_util": ("ops.gradients.gradients",),
    "ops.histogram_ops": (),
    **dict.fromkeys(("ops.image_ops", "ops.image_ops_impl"), ("api.nets.image", "ops.image.geometry")),
    "ops.init_ops": (
        *("api.nets.initializers", "ops.variables.convolution_initializers"),
        "ops.variables.init_ops",
    ),
    "ops.io_ops": (),
    **dict.fromkeys(
        ("ops.linalg_ops", "ops.linalg.linalg", "ops.linalg.linalg_impl"),
        ("ops.math.matrix_functions", "ops.math.tridiagonal", "api.arithmetic.linalg"),
    ),
    "ops.list_ops": (),
    "ops.logging_ops": ("api.printing",),
    "ops.lookup_ops": ("ops.input.tables",),
    "ops.losses.losses": ("ops.losses",),
    "ops.losses.util": ("ops.losses",),
    "ops.manip_ops": ("api.arithmetic.manip",),
    "ops.map_fn": (),
    "ops.math_ops": ("api.arithmetic.math", "ops.math.reduction"),
    "ops.metrics": ("api.nets.metrics",),
    "ops.metrics_impl": ("api.nets.metrics",),
    "ops.nccl_ops": ("api.contrib.nccl",),
    "ops.nn": _NN,
    "ops.nn_impl": _NN,
    "ops.nn_ops": _NN,
    "ops.numerics": (),
    "ops.parsing_ops": ("api.files.io", "stand_in.v2_names"),
    "ops.partitioned_variables": (),
    "ops.random_ops": ("api.arithmetic.random",),
    "ops.resource_variable_ops": _VARIABLES,
    "ops.resources": ("ops.variables.resources",),
    "ops.rnn": ("api.nets.nn",),
    "ops.rnn_cell": ("api.nets.rnn_cell",),
    "ops.rnn_cell_impl": ("api.nets.rnn_cell", "ops.rnn.cells"),
    "ops.script_ops": (),
    "ops.session_ops": ("ops.session_tensors", "session.tensor_handle"),
    "ops.sets": ("api.arithmetic.sets",),
    "ops.sets_impl": ("api.arithmetic.sets",),
    "ops.sort_ops": (),
    "ops.sparse_ops": ("ops.sparse.sparse_spec", "ops.sparse.crossing", "api.arithmetic.sparse"),
    "ops.special_math_ops": (),
    "ops.standard_ops": (),
    "ops.stateless_random_ops": ("ops.random.stateless",),
    "ops.state_ops": ("ops.variables.state", "ops.variables.resource_state"),
    "ops.string_ops": ("api.printing", "api.arithmetic.strings"),
    "ops.template": (),
    "ops.tensor_array_ops": (),
    "ops.unconnected_gradients": (),
    "ops.variable_scope": (
        *("ops.variables.variable_scope", "ops.variables.variable_store"),
        "ops.variables.partitioned",
    ),
    "ops.variables": _VARIABLES,
    "platform.benchmark": ("api.testing.benchmark",),
    "platform.gfile": ("api.files.gfile",),
    **dict.fromkeys(
        ("saved_model.builder", "saved_model.builder_impl"),
        ("stand_in.saved_model.builder_impl", "saving.saved_model_builder"),
    ),
    "summary.summary": ("api.training.summary",),
    "summary.summary_iterator": ("api.training.train",),
    "summary.writer.writer": ("graphdef.file_writer", "api.training.summary"),
    "summary.writer.writer_cache": ("graphdef.file_writer", "api.training.summary"),
    "training.learning_rate_decay": ("ops.train.learning_rates",),
    **dict.fromkeys(
        ("training.monitored_session", "training.basic_session_run_hooks"),
        ("training.monitored_session", "training.saver_hooks", "training.hooks", "api.training.train"),
    ),
    "training.checkpoint_ops": ("training.load_and_remap",),
    "training.checkpoint_management": ("saving.checkpoint_state", "api.training.train"),
    "training.saver": (
        *("saving.saver", "saving.builder", "saving.saveables", "saving.import_meta_graph"),
        "api.training.train",
    ),
    "training.moving_averages": ("ops.train.moving_averages",),
    "training.training_util": ("ops.train.global_step", "api.training.train"),
    "training.slot_creator": ("ops.train.slots",),
    "ops.weights_broadcast_ops": ("ops.losses",),
    "training.warm_starting_util": ("training.warm_start", "api.training.train"),
    "util.compat": ("api.compat", "stand_in.util_compat"),
    "util.nest": ("api.nest", "ops.nest_paths", "ops.nest"),
}
"""Modules of TensorFlow below ``tensorflow.python`` -> modules of gpuplace where their names are looked for, before
those at gpuplace's top.
"""

CONTRIB = {
    "data.python.ops": (
        *("data", "batching", "counter", "enumerate_ops", "error_ops", "get_single_element", "grouping"),
        *(
            "interleave_ops",
            "prefetching_ops",
            "random_ops",
            "scan_ops",
            "shuffle_ops",
            "threadpool",
            "unique",
        ),
    ),
    "framework.python.framework": ("framework", "checkpoint_utils"),
    "framework.python.ops": ("framework", "arg_scope", "ops", "variables"),
    "layers.python.layers": (
        *("layers", "embedding_ops", "encoders", "feature_column", "initializers", "layers", "normalization"),
        *("optimizers", "regularizers", "summaries", "utils"),
    ),
    "rnn.python.ops": (
        "rnn",
        "core_rnn_cell",
        "core_rnn_cell_impl",
        "gru_ops",
        "lstm_ops",
        "rnn",
        "rnn_cell",
    ),
    "seq2seq.python.ops": (
        *(
            "seq2seq",
            "attention_wrapper",
            "basic_decoder",
            "beam_search_decoder",
            "decoder",
            "helper",
            "loss",
        ),
    ),
    "slim.python.slim": ("slim", "queues", "summaries"),
    "testing.python.framework": ("testing", "fake_summary_writer", "util", "util_test"),
}
"""Packages below ``tensorflow.contrib`` -> the namespace that has the names of their modules, and these modules."""

WITHOUT_NAMES = {
    "tensorflow.contrib.all_reduce.python.all_reduce": "contrib",
    "tensorflow.contrib.image.python.ops.distort_image_ops": "contrib",
    **{
        f"tensorflow.python.eager.{module}": "function"
        for module in ("def_function", "function", "wrap_function")
    },
    "tensorflow.python.framework.cpp_shape_inference_pb2": "cpp_shape_inference_pb2",
}
"""Modules that programs import for a way of theirs that is seldom gone -> whose advice the error is; using what is in
them is the error.
"""

_CONTRIB_MODULES = {
    f"{ROOT}.contrib.{package}.{module}": f"gpuplace.api.contrib.{space}"
    for package, (space, *modules) in CONTRIB.items()
    for module in modules
}
_CONTRIB_PACKAGES = {f"{ROOT}.contrib.{package}": space for package, (space, *_) in CONTRIB.items()}

ALIASES = {
    ("ops.variables", "VariableV1"): "Variable",
    ("ops.variables", "RefVariable"): "Variable",
    ("ops.variable_scope", "VariableV1"): "Variable",
    ("ops.variable_scope", "variable"): "Variable",
    ("ops.variable_scope", "_PartitionInfo"): "PartitionInfo",
    ("ops.image_ops", "resize_image_with_pad_v1"): "resize_image_with_pad",
    ("framework.constant_op", "constant_v1"): "constant",
    ("ops.control_flow_ops", "_Identity"): "identity",
    ("framework.tensor_util", "constant_value"): "get_static_value",
    ("framework.tensor_util", "MakeNdarray"): "make_ndarray",
    ("data.ops.dataset_ops", "DatasetV1"): "Dataset",
    ("data.ops.dataset_ops", "DatasetV2"): "Dataset",
    ("data.ops.dataset_ops", "DatasetV1Adapter"): "Dataset",
    **{
        ("data.ops.dataset_ops", f"get_legacy_output_{what}"): f"get_output_{what}"
        for what in ("types", "shapes", "classes")
    },
    **{
        ("data.ops.readers", f"{name}Dataset{version}"): f"{name}Dataset"
        for name in ("TextLine", "TFRecord", "FixedLengthRecord")
        for version in ("V1", "V2")
    },
    ("layers.normalization", "batch_norm"): "batch_normalization",
    ("ops.array_ops", "rank_internal"): "rank",
    ("framework.common_shapes", "broadcast_shape"): "broadcast_shapes",
    ("framework.device_spec", "DeviceSpecV1"): "DeviceSpec",
    ("framework.device_spec", "DeviceSpecV2"): "DeviceSpec",
    ("training.training_util", "_get_or_create_global_step_read"): "global_step_read",
    ("training.training_util", "_increment_global_step"): "increment_global_step",
    ("ops.lookup_ops", "StaticHashTableV1"): "StaticHashTable",
    ("ops.lookup_ops", "StaticVocabularyTableV1"): "StaticVocabularyTable",
    ("ops.nn_ops", "conv2d_transpose_v2"): "conv2d_transpose",
    ("ops.nn_ops", "conv3d_transpose_v2"): "conv3d_transpose",
    ("ops.nn_impl", "_compute_sampled_logits"): "compute_sampled_logits",
    ("ops.nn_ops", "softmax_v2"): "softmax",
    ("ops.nn_ops", "log_softmax_v2"): "log_softmax",
    ("ops.array_ops", "squeeze_v2"): "squeeze",
    **{
        (f"ops.{module}", new): old
        for module in ("image_ops", "image_ops_impl")
        for new, old in (("ResizeMethod", "ResizeMethodV2"), ("ResizeMethodV1", "ResizeMethod"))
    },
    ("ops.init_ops", "_compute_fans"): "fans",
    ("ops.nn_impl", "l2_normalize_v2"): "l2_normalize",
    ("ops.parsing_ops", "decode_raw"): "decode_raw_v2",
    ("ops.parsing_ops", "decode_raw_v1"): "decode_raw",
    ("ops.nn_impl", "moments_v2"): "moments",
    ("training.checkpoint_ops", "_load_and_remap_matrix"): "remapped_matrix",
    ("training.checkpoint_ops", "_load_and_remap_matrix_initializer"): "load_and_remap_matrix_initializer",
    ("training.checkpoint_ops", "_load_embedding_initializer"): "load_embedding_initializer",
    ("training.saver", "_get_saver_or_default"): "saver_or_default",
    ("training.warm_starting_util", "_warm_start_var_with_vocab"): "warm_start_with_vocab",
    ("util.nest", "is_sequence"): "is_nested",
    ("util.nest", "_is_attrs"): "is_attrs",
}
"""Module of TensorFlow and name in it -> gpuplace's public name for it."""

TRAINING = "training."
"""Modules of this folder have the names of ``tf.train``."""

_GRADIENTS = re.compile(r"ops\.\w+_grad")
"""Modules that register gradients when they are imported, and hold nothing."""

_GENERATED = re.compile(
    r"tensorflow\.(?:python\.(?:(?:ops|training)\.gen_\w+_ops|training\.training_ops|framework\.test_ops)|contrib\.framework\.python\.ops\.audio_ops)"
)
"""Modules of functions that add one op each."""

PROTO_FOLDERS = {"tensorflow.core.framework", "tensorflow.core.protobuf", "tensorflow.core.util"}
"""Packages of generated messages: their modules are those of ``tensorboard.compat.proto``."""

PACKAGES = {
    "tensorflow.contrib.all_reduce",
    "tensorflow.contrib.all_reduce.python",
    "tensorflow.contrib.image",
    "tensorflow.contrib.image.python",
    "tensorflow.contrib.image.python.ops",
    "tensorflow.python.data",
    "tensorflow.python.data.experimental",
    "tensorflow.python.data.experimental.ops",
    "tensorflow.python.data.ops",
    "tensorflow.python.distribute",
    "tensorflow.contrib.learn.python",
    "tensorflow.contrib.legacy_seq2seq.python",
    "tensorflow.contrib.legacy_seq2seq.python.ops",
    "tensorflow.contrib.metrics.python",
    "tensorflow.contrib.metrics.python.ops",
    "tensorflow.contrib.training.python",
    "tensorflow.contrib.training.python.training",
    "tensorflow.python.compat",
    "tensorflow.python.debug",
    "tensorflow.contrib.learn.python.learn",
    "tensorflow.contrib.losses.python",
    "tensorflow.contrib.losses.python.losses",
    "tensorflow.contrib.slim.python.slim.data",
    "tensorflow.contrib.slim.python.slim.nets",
    *(package.rpartition(".")[0] for package in _CONTRIB_PACKAGES),
    "tensorflow.core",
    "tensorflow.contrib.memory_stats.python",
    "tensorflow.contrib.memory_stats.python.ops",
    "tensorflow.core.example",
    "tensorflow.core.lib",
    "tensorflow.core.lib.core",
    "tensorflow.examples",
    "tensorflow.examples.tutorials",
    "tensorflow.examples.tutorials.mnist",
    "tensorflow.python",
    "tensorflow.python.client",
    "tensorflow.python.autograph",
    "tensorflow.python.autograph.core",
    "tensorflow.python.data.kernel_tests",
    "tensorflow.python.data.util",
    "tensorflow.python.framework",
    "tensorflow.python.eager",
    "tensorflow.python.layers",
    "tensorflow.python.lib",
    "tensorflow.python.lib.io",
    "tensorflow.python.ops",
    "tensorflow.python.ops.linalg",
    "tensorflow.python.ops.losses",
    "tensorflow.python.platform",
    "tensorflow.python.saved_model",
    "tensorflow.python.saved_model.model_utils",
    "tensorflow.python.summary",
    "tensorflow.python.summary.writer",
    "tensorflow.python.training",
    "tensorflow.python.util",
    *PROTO_FOLDERS,
}
"""Packages that only hold modules."""


class _Names(ModuleType):
    """A module without code of its own: attributes are modules below it, or names of gpuplace.

    Args:
        name: its name.
        sources: modules of gpuplace whose names it has, the first that has one deciding; none: those below it.
    """

    def __init__(self, name: str, sources: Sequence[str] = ()) -> None:
        super().__init__(name, f"{name}, as far as gpuplace has it.")
        self._sources = sources

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if not self._sources or f"{self.__name__}.{name}" in _CONTRIB_MODULES:
            try:
                with OwnFramesHidden(ImportError):
                    return importlib.import_module(f"{self.__name__}.{name}")
            except ModuleNotFoundError as error:
                if self.__name__.startswith(_EXAMPLES):
                    raise  # `from ... import name` says what it says
                raise AttributeError(str(error)) from None
        if _GENERATED.fullmatch(f"tensorflow.python.ops.{name}"):
            return importlib.import_module(f"tensorflow.python.ops.{name}")
        name = ALIASES.get((self.__name__.removeprefix("tensorflow.python."), name), name)
        *first, last = self._sources
        for source in first:
            value = getattr(importlib.import_module(source), name, self)
            if value is not self:
                return value
        op_type = _op_type(name) if ".ops." in self.__name__ else None
        package = importlib.import_module(last)
        if op_type is not None and name not in package.__all__:
            return _generated(op_type)
        if name.endswith("_ref") and self.__name__.endswith(".dtypes"):
            return importlib.import_module("gpuplace.dtypes").as_dtype(name)
        return getattr(package, name)


class _WithoutNames(ModuleType):
    """A module that can be imported and has nothing but the modules below it."""

    def __getattr__(self, name: str) -> Any:
        below = f"{self.__name__}.{name}"
        if below in WITHOUT_NAMES:
            with OwnFramesHidden(ImportError):
                return importlib.import_module(below)
        if name.startswith("__"):
            raise AttributeError(name)
        told = f"module {self.__name__!r} has no attribute {name!r}: {sentence(WITHOUT_NAMES[self.__name__])}"
        if name in _DECORATORS:
            return _decorator_of_what_is_not_called(told)
        raise AttributeError(told, name=name)


_DECORATORS = frozenset({"defun", "defun_with_attributes", "function"})
"""What programs decorate functions with when they are loaded."""


def _decorator_of_what_is_not_called(told: str) -> Callable[..., Any]:
    """A decorator, bare or with arguments, of functions that say what is missing when they are called."""

    def decorate(func: Any = None, *arguments: Any, **options: Any) -> Any:
        if not callable(func):
            return decorate

        @functools.wraps(func)
        def refuse(*args: Any, **kwargs: Any) -> Any:
            with OwnFramesHidden(UnimplementedError):
                raise UnimplementedError.of(told)

        return refuse

    return decorate


def _op_type(name: str) -> str | None:
    """The op whose generated function has this name, or the name after a leading underscore; None for no op."""
    generated = importlib.import_module("gpuplace.graph.generated")
    found: str | None = generated.by_snake_case().get(name.removeprefix("_"))
    return found


def _generated(op_type: str) -> Any:
    return importlib.import_module("gpuplace.graph.generated").op_function(op_type)


class _Generated(ModuleType):
    """A module of functions that add one op each, in TensorFlow's order of arguments.

    Under the op's own name there is the function that takes all by keyword.
    """

    def __getattr__(self, name: str) -> Any:
        if name == "_op_def_lib":
            return importlib.import_module("gpuplace.stand_in.framework.op_def_library").op_def_library
        if name[:1].isupper():
            return getattr(importlib.import_module("gpuplace.api.raw_ops"), name)
        op_type = _op_type(name)
        if op_type is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return _generated(op_type)


def _sources(module: str) -> list[str] | None:
    """Where the names of a module below ``tensorflow.python`` are looked for; None for one that is not known."""
    if module in NAMES:
        inner = NAMES[module]
    elif module.startswith(TRAINING) and module.count(".") == 1:
        inner = (f"ops.train.{module.removeprefix(TRAINING)}", "api.training.train")
    elif _GRADIENTS.fullmatch(module):
        inner = ("ops.gradients.registry",)
    else:
        return None
    own = _own(module)
    there = [
        name for name in (f"gpuplace.{one}" for one in inner) if importlib.util.find_spec(name) is not None
    ]
    return [*([own] if own else []), *there, "gpuplace"]


def _own(module: str) -> str | None:
    """The module beside this one that has, at least, names of one below ``tensorflow.python``; None where none has."""
    if f"tensorflow.python.{module.rpartition('.')[0]}" not in PACKAGES:
        return None
    name = f"gpuplace.stand_in.{module}"
    try:
        return name if importlib.util.find_spec(name) is not None else None
    except ModuleNotFoundError:  # a folder above it is not there
        return None


def resolve(fullname: str) -> ModuleType:
    """The module that ``fullname``, ``tensorflow`` or something below it, stands for.

    >>> resolve("tensorflow.python.framework.errors").__name__
    'gpuplace.errors'

    Raises:
        ModuleNotFoundError: gpuplace has nothing of that name.
    """
    if fullname in GPUPLACE_ITSELF:
        return importlib.import_module("gpuplace")
    if fullname in MODULES:
        return importlib.import_module(MODULES[fullname])
    if fullname in PACKAGES:
        return _Names(fullname)
    if fullname in WITHOUT_NAMES:
        return _WithoutNames(fullname)
    if fullname in _CONTRIB_PACKAGES:
        return _Names(fullname, [f"gpuplace.api.contrib.{_CONTRIB_PACKAGES[fullname]}"])
    if fullname in _CONTRIB_MODULES:
        return _Names(fullname, [_CONTRIB_MODULES[fullname], "gpuplace"])
    if _GENERATED.fullmatch(fullname):
        return _Generated(fullname)
    inner = fullname.removeprefix("tensorflow.python.")
    if inner != fullname:
        sources = _sources(inner)
        if sources is not None:
            return _Names(fullname, sources)
        if own := _own(inner):
            return importlib.import_module(own)
    parent, _, name = fullname.rpartition(".")
    if parent in PROTO_FOLDERS and name.endswith("_pb2"):
        try:
            return importlib.import_module(f"tensorboard.compat.proto.{name}")
        except ModuleNotFoundError:
            pass
    if is_absent(fullname):
        return AbsentModule(fullname)
    value: Any = importlib.import_module("gpuplace")
    for part in fullname.removeprefix("tensorflow.").removeprefix("compat.v1.").split("."):
        value = None if isinstance(value, _Names) else getattr(value, part, None)
    if isinstance(value, ModuleType):
        return value
    raise _missing(fullname)


def _missing(fullname: str) -> ModuleNotFoundError:
    folders = rf"compat\.v1|python|_api\.v1|api(?:\.(?:{ROOMS}))?"
    name = re.sub(rf"^(?:tensorflow|gpuplace)(?:\.(?:{folders}))*\.", "", fullname)
    above: Any = importlib.import_module("gpuplace")
    for part in name.split(".")[:-1]:
        above = vars(above).get(part)
        if not isinstance(above, ModuleType):
            break
    return ModuleNotFoundError(
        f"No module named '{ROOT}.{name}': gpuplace stands in for TensorFlow here and has nothing of that name; "
        f"{sentence(name, getattr(above, '__all__', ()))}",
        name=f"{ROOT}.{name}",
    )


class _Loader(Loader):
    """Puts the module that a name stands for in the place of the one that is being imported."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == WITHOUT_TENSORFLOW:
            return
        with OwnFramesHidden(ImportError):
            found = resolve(module.__name__)
        if not hasattr(found, "__path__"):  # without it nothing below the name could be imported
            found.__path__ = []
        sys.modules[module.__name__] = found


class Finder(MetaPathFinder):
    """Answers for ``tensorflow`` and all below it, before an installed TensorFlow could."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        above = fullname.rpartition(".")[0]
        if (above == "gpuplace" or above.startswith("gpuplace.api.")) and PathFinder.find_spec(
            fullname, path, target
        ) is None:
            # For `from tensorflow import keras` Python looks below the module.
            with OwnFramesHidden(ImportError):
                raise _missing(fullname)
        ours = ModuleSpec(fullname, _Loader(), origin="gpuplace", is_package=True)
        if fullname in (ROOT, WITHOUT_TENSORFLOW):
            return ours
        if not fullname.startswith(ROOT + "."):
            return None
        try:
            resolve(fullname)
        except ModuleNotFoundError:
            return _on_the_path(fullname) or ours
        if fullname.startswith(_EXAMPLES):  # a program may have its own copy of them
            return _on_the_path(fullname) or ours
        return ours


def _on_the_path(fullname: str) -> ModuleSpec | None:
    """A module of somebody else's below a folder ``tensorflow``; that of an installed TensorFlow is not looked into."""
    parents = fullname.split(".")[1:-1]
    roots = [os.path.join(entry, ROOT) for entry in sys.path]
    folders = [
        os.path.join(root, *parents)
        for root in roots
        if os.path.isdir(root) and not os.path.exists(os.path.join(root, _INSTALLED))
    ]
    return PathFinder.find_spec(fullname, folders)


def install() -> None:
    """Puts the finder in front of all others, here and in processes started from now on; again, it changes nothing.

    ``__version__`` of the package becomes that of the release chosen, as scripts ask for it.
    """
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, Finder())
    if CHILDREN not in sys.path:
        sys.path.insert(1, CHILDREN)
    entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    if CHILDREN not in entries:
        os.environ["PYTHONPATH"] = os.pathsep.join([CHILDREN, *entries])
    package = importlib.import_module("gpuplace")
    _kept.setdefault("__version__", package.__dict__.pop("__version__"))


_kept: dict[str, Any] = {}
"""What the package has of its own while it stands in for TensorFlow."""


def uninstall() -> None:
    """Takes the finder and everything it brought in away again."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Finder)]
    for name in [name for name in sys.modules if name == ROOT or name.startswith(ROOT + ".")]:
        del sys.modules[name]
    sys.modules.pop(WITHOUT_TENSORFLOW, None)
    sys.path[:] = [entry for entry in sys.path if entry != CHILDREN]
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(entry for entry in entries if entry != CHILDREN)
    if not os.environ["PYTHONPATH"]:
        del os.environ["PYTHONPATH"]
    package = importlib.import_module("gpuplace")
    package.__dict__.update(_kept)
    # An import of `tensorflow.python` makes `python` an attribute of what stands for `tensorflow`.
    spaces = [module for name, module in sys.modules.items() if name.startswith("gpuplace.api.")]
    for space in (package, *spaces):
        for name, value in list(vars(space).items()):
            if isinstance(value, ModuleType) and value.__name__.startswith(ROOT + "."):
                delattr(space, name)
