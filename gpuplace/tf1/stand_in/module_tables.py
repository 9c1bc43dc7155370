"""Tables of the modules and names of gpuplace that stand for modules of TensorFlow.

Modules in no table follow rules in ``gpuplace.tf1.stand_in.names``: a file ``X/Y.py`` beside this one is
``tensorflow.python.X.Y``, and names in a namespace of gpuplace need no entry.
"""

from __future__ import annotations

import re

ROOT = "tensorflow"

ROOMS = "arithmetic|files|nets|testing|training"
"""Folders of ``gpuplace.api`` and ``gpuplace.tf1.api`` that are not part of public names."""

EXAMPLES = "tensorflow.examples"
"""The package of tutorials, for which gpuplace has the data set."""

GPUPLACE_ITSELF = {"tensorflow", "tensorflow.compat.v1", "tensorflow._api.v1.v1"}
"""Names that stand for gpuplace itself."""

MODULES = {
    "tensorflow.python.client.device_lib": "gpuplace.runtime.session.device_lib",
    "tensorflow.python.compat.compat": "gpuplace.tf1.stand_in.forward_compat",
    "tensorflow.python.compat.v2_compat": "gpuplace.api.behavior",
    "tensorflow.python.eager.execution_callbacks": "gpuplace.tf1.stand_in.execution_callbacks",
    "tensorflow.python.tf2": "gpuplace.tf1.stand_in.tf2",
    "tensorflow.python.ops.control_flow_util": "gpuplace.ops.flow.control_flow_util",
    "tensorflow.python.client.timeline": "gpuplace.runtime.tracing.chrome_timeline",
    "tensorflow.python.framework.config": "gpuplace.tf1.stand_in.framework.config",
    "tensorflow.python.framework.errors": "gpuplace.errors",
    "tensorflow.python.framework.errors_impl": "gpuplace.errors",
    "tensorflow.python.framework.tensor_shape": "gpuplace.shapes",
    "tensorflow.contrib.learn.datasets": "gpuplace.tf1.data_sets.learn",
    "tensorflow.contrib.learn.datasets.mnist": "gpuplace.tf1.data_sets.mnist",
    "tensorflow.contrib.learn.preprocessing": "gpuplace.tf1.data_sets.preprocessing",
    "tensorflow.contrib.learn.python.learn.preprocessing": "gpuplace.tf1.data_sets.preprocessing",
    "tensorflow.contrib.learn.python.learn.datasets": "gpuplace.tf1.data_sets.learn",
    "tensorflow.contrib.learn.python.learn.datasets.mnist": "gpuplace.tf1.data_sets.mnist",
    "tensorflow.contrib.legacy_seq2seq.python.ops.seq2seq": "gpuplace.tf1.api.contrib.legacy_seq2seq",
    "tensorflow.contrib.metrics.python.ops.metric_ops": "gpuplace.tf1.api.contrib.metrics",
    "tensorflow.contrib.layers.python.layers.utils": "gpuplace.tf1.contrib.utils",
    "tensorflow.contrib.losses.python.losses.loss_ops": "gpuplace.tf1.contrib.losses",
    "tensorflow.contrib.slim.python.slim.evaluation": "gpuplace.tf1.training.evaluation",
    "tensorflow.contrib.slim.python.slim.learning": "gpuplace.tf1.training.learning",
    "tensorflow.contrib.slim.python.slim.model_analyzer": "gpuplace.tf1.contrib.model_analyzer",
    "tensorflow.contrib.slim.nets": "gpuplace.tf1.api.contrib.nets",
    **{
        f"tensorflow.contrib.slim.python.slim.nets.{module}": f"gpuplace.tf1.contrib.nets.{module}"
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
        f"tensorflow.contrib.slim.python.slim.data.{module}": f"gpuplace.tf1.contrib.providers.{module}"
        for module in (
            *("data_decoder", "data_provider", "dataset", "dataset_data_provider", "parallel_reader"),
            "tfexample_decoder",
        )
    },
    "tensorflow.contrib.memory_stats.python.ops.memory_stats_ops": "gpuplace.tf1.api.contrib.memory_stats",
    "tensorflow.contrib.training.python.training.bucket_ops": "gpuplace.tf1.api.contrib.training",
    "tensorflow.contrib.training.python.training.device_setter": "gpuplace.tf1.api.contrib.training",
    "tensorflow.contrib.training.python.training.evaluation": "gpuplace.tf1.api.contrib.training",
    "tensorflow.contrib.training.python.training.hparam": "gpuplace.tf1.training.hparams",
    "tensorflow.contrib.training.python.training.training": "gpuplace.tf1.api.contrib.training",
    "tensorflow.examples.tutorials.mnist.input_data": "gpuplace.tf1.data_sets.mnist",
    "tensorflow.examples.tutorials.mnist.mnist": "gpuplace.tf1.data_sets.mnist_net",
    "tensorflow.python.framework.graph_util": "gpuplace.api.files.graph_util",
    "tensorflow.python.framework.graph_util_impl": "gpuplace.api.files.graph_util",
    "tensorflow.python.framework.meta_graph": "gpuplace.saving.scoped_meta_graph",
    "tensorflow.python.saved_model.constants": "gpuplace.saving.saved_model_constants",
    "tensorflow.python.saved_model.loader": "gpuplace.tf1.saving.saved_model_loader",
    "tensorflow.python.saved_model.loader_impl": "gpuplace.tf1.saving.saved_model_loader",
    "tensorflow.python.saved_model.main_op": "gpuplace.tf1.saving.saved_model_loader",
    "tensorflow.python.saved_model.signature_constants": "gpuplace.saving.signature_constants",
    "tensorflow.python.saved_model.signature_def_utils": "gpuplace.tf1.saving.signatures",
    "tensorflow.python.saved_model.signature_def_utils_impl": "gpuplace.tf1.saving.signatures",
    "tensorflow.python.saved_model.tag_constants": "gpuplace.saving.tag_constants",
    "tensorflow.python.saved_model.utils": "gpuplace.tf1.saving.signatures",
    "tensorflow.python.saved_model.utils_impl": "gpuplace.tf1.saving.signatures",
    "tensorflow.python.framework.test_util": "gpuplace.tf1.stand_in.test_util",
    "tensorflow.python.platform.googletest": "gpuplace.tf1.api.testing.test_case",
    "tensorflow.python.platform.test": "gpuplace.tf1.api.testing.test",
    "tensorflow.python.platform.app": "gpuplace.api.app",
    "tensorflow.python.platform.flags": "gpuplace.api.flags",
    "tensorflow.python.platform.tf_logging": "gpuplace.tf_logging",
    "tensorflow.python.ops.gradient_checker": "gpuplace.tf1.api.testing.gradient_checker",
    "tensorflow.core.lib.core.error_codes_pb2": "gpuplace.tf1.stand_in.error_codes",
    "tensorflow.core.example.example_pb2": "gpuplace.graphdef.messages",
    "tensorflow.core.example.feature_pb2": "gpuplace.graphdef.messages",
    "tensorflow.core.framework.kernel_def_pb2": "gpuplace.graphdef.kernel_messages",
    "tensorflow.core.protobuf.control_flow_pb2": "gpuplace.graphdef.messages",
    "tensorflow.core.protobuf.queue_runner_pb2": "gpuplace.graphdef.messages",
    "tensorflow.core.protobuf.saved_model_pb2": "gpuplace.graphdef.messages",
    "tensorflow.core.protobuf.tensorflow_server_pb2": "gpuplace.graphdef.messages",
    "tensorflow.core.protobuf.trackable_object_graph_pb2": "gpuplace.graphdef.messages",
    "tensorflow.core.protobuf.config_pb2": "gpuplace.tf1.stand_in.config_pb2",
    "tensorflow.python.pywrap_tensorflow": "gpuplace.tf1.stand_in.pywrap_tensorflow",
    "tensorflow.python.saved_model.simple_save": "gpuplace.tf1.saving.saved_model_builder",
    "tensorflow.python.training.checkpoint_state_pb2": "gpuplace.graphdef.messages",
    "tensorflow.python.training.checkpoint_utils": "gpuplace.api.training.train",
    "tensorflow.python.training.training": "gpuplace.api.training.train",
}
"""TensorFlow's module -> the module of gpuplace with the same names."""

_FLOW = ("ops.flow.context", "ops.flow.while_loops", "ops.flow.conditionals", "ops.flow.control")
_NN = (
    *("api.nets.nn", "ops.nn.misc", "ops.nn.conv", "ops.nn.pool", "ops.nn.activation", "tf1.nn.sampling"),
    *("tf1.random.fractional", "ops.array.sorting", "tf1.stand_in.v2_names"),
)
_VARIABLES = (
    *("ops.variables.variables", "ops.variables.resource_variables", "ops.variables.resource_state"),
    "ops.variables.partitioned",
)

NAMES = {
    "client.session": ("runtime.session.fetches",),
    "data.ops.dataset_ops": (
        "tf1.api.training.data",
        "tf1.api.training.data_experimental",
        "tf1.stand_in.data.pipelines",
    ),
    "data.ops.iterator_ops": (
        "tf1.api.training.data",
        "tf1.api.training.data_experimental",
        "tf1.data.iterators",
    ),
    "data.ops.readers": ("tf1.api.training.data", "tf1.api.training.data_experimental"),
    "data.ops.multi_device_iterator_ops": (),
    "data.ops.optional_ops": ("tf1.api.training.data_experimental", "tf1.data.optional"),
    **{
        f"data.experimental.ops.{module}": ("tf1.api.training.data_experimental",)
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
            *("iterator_ops", "parsing_ops", "resampling", "writers"),
        )
    },
    "data.experimental.ops.readers": ("tf1.api.training.data_experimental", "tf1.data.examples"),
    "distribute.all_reduce": (),
    "distribute.distribution_strategy_context": ("tf1.distribute.current", "tf1.distribute.contexts"),
    "distribute.mirrored_strategy": ("tf1.training.mirrored_strategy",),
    "distribute.one_device_strategy": ("tf1.training.mirrored_strategy",),
    "distribute.reduce_util": ("tf1.distribute.cross_device", "ops.distribute.contexts"),
    "eager.backprop": ("ops.gradients.tape",),
    "eager.context": ("tf1.stand_in.eager_context",),
    "eager.def_function": ("tf1.functions.def_function",),
    "eager.wrap_function": ("tf1.saving.wrapped_functions",),
    "eager.function": ("tf1.functions.defun", "tf1.functions.concrete"),
    "eager.test": ("tf1.api.testing.test",),
    "framework.common_shapes": ("shapes",),
    "framework.constant_op": ("tf1.stand_in.v2_names",),
    "framework.device": ("device.spec",),
    "framework.device_spec": ("device.spec",),
    "framework.dtypes": ("dtypes",),
    "framework.auto_control_deps": ("tf1.functions.auto_control_deps",),
    "framework.func_graph": ("tf1.functions.func_graph",),
    "framework.function": (),
    "framework.graph_io": ("api.training.train",),
    "framework.graph_util": ("api.files.graph_util",),
    "framework.graph_util_impl": ("api.files.graph_util",),
    "framework.importer": (),
    "framework.indexed_slices": ("ops.gradients.indexed_slices", "ops.gradients.slices_spec"),
    "framework.ops": (
        *("graph.graph", "graph.convert", "graph.operation", "graph.stacks", "kernels.flop_statistics"),
        *("ops.gradients.registry", "ops.gradients.indexed_slices", "saving.names"),
    ),
    "framework.random_seed": ("graph.graph",),
    "framework.error_interpolation": ("runtime.plan.step_errors",),
    "util.dispatch": ("ops.dispatch",),
    "framework.subscribe": ("tf1.flow.subscribe",),
    "framework.smart_cond": ("ops.flow.conditionals",),
    "framework.sparse_tensor": ("ops.sparse.sparse_spec", "ops.sparse.sparse_tensor"),
    "framework.composite_tensor": ("ops.composite",),
    "framework.tensor_spec": ("tf1.data.bounded_spec", "ops.type_spec"),
    "framework.type_spec": ("ops.type_spec",),
    "framework.tensor_conversion_registry": ("graph.convert",),
    "framework.tensor_util": ("graph.constant_value", "graph.convert", "api.files.io"),
    "framework.versions": ("api.version",),
    "layers.base": ("api.nets.layers",),
    "layers.convolutional": ("api.nets.layers",),
    "layers.core": ("api.nets.layers",),
    "layers.layers": ("api.nets.layers",),
    "layers.normalization": ("api.nets.layers",),
    "layers.pooling": ("api.nets.layers",),
    "layers.utils": ("tf1.stand_in.layer_utils", "ops.flow.conditionals", "api.nets.layers"),
    "lib.io.file_io": ("files.file_io", "api.files.gfile"),
    **dict.fromkeys(("lib.io.python_io", "lib.io.tf_record"), ("api.files.io",)),
    "ops.array_ops": ("ops.array.constant", "ops.array.reshaping", "ops.array.gather"),
    "ops.bitwise_ops": ("api.arithmetic.bitwise",),
    "ops.collective_ops": (),
    "ops.candidate_sampling_ops": _NN,
    "ops.check_ops": ("ops.math.check_ops",),
    "ops.clip_ops": (),
    "ops.cond_v2": ("tf1.functions.flow.cond_v2", "tf1.functions.flow.cond_gradients"),
    "ops.control_flow_util_v2": ("tf1.functions.flow.graphs",),
    "ops.control_flow_v2_func_graphs": ("tf1.functions.flow.graphs",),
    "ops.while_v2": ("tf1.functions.flow.while_v2", "tf1.functions.flow.while_gradients"),
    "ops.confusion_matrix": ("ops.math.confusion_matrix", "tf1.metrics.metrics"),
    "ops.control_flow_ops": _FLOW,
    "ops.control_flow_v2_toggles": ("api.behavior",),
    "ops.critical_section_ops": ("tf1.flow.critical_section",),
    "ops.ctc_ops": ("tf1.nn.ctc", *_NN),
    "ops.custom_gradient": ("ops.gradients.custom_gradient",),
    "ops.data_flow_ops": (
        "ops.array.gather",
        "tf1.api.contrib.staging",
        *("tf1.input.staging", "tf1.input.accumulators", "tf1.input.record_input"),
        "tf1.api.training.queue",
    ),
    **{
        f"ops.distributions.{module}": (f"tf1.distributions.{module}", "tf1.distributions.softplus")
        for module in ("beta", "laplace", "normal", "student_t")
    },
    **dict.fromkeys(
        ("ops.distributions.exponential", "ops.distributions.gamma"),
        ("tf1.distributions.gamma", "tf1.distributions.softplus"),
    ),
    **dict.fromkeys(
        (
            "ops.distributions.bijector",
            "ops.distributions.bijector_impl",
            "ops.distributions.identity_bijector",
        ),
        ("tf1.distributions.bijector",),
    ),
    **{
        f"ops.distributions.{module}": (f"tf1.distributions.{module}",)
        for module in (
            *("bernoulli", "categorical", "dirichlet", "dirichlet_multinomial", "distribution"),
            *("kullback_leibler", "multinomial", "special_math", "transformed_distribution", "uniform"),
        )
    },
    "ops.distributions.distributions": ("tf1.api.arithmetic.distributions",),
    "ops.distributions.util": ("tf1.distributions.checks", "tf1.distributions.vectors"),
    "ops.embedding_ops": _NN,
    "ops.functional_ops": ("tf1.stand_in.functional_ops", "ops.flow.higher_order", "ops.flow.calls"),
    "ops.gradients": (),
    "ops.gradients_impl": ("ops.gradients.gradients", "tf1.gradients.hessians"),
    "ops.gradients_util": ("ops.gradients.gradients",),
    "ops.histogram_ops": (),
    **dict.fromkeys(("ops.image_ops", "ops.image_ops_impl"), ("tf1.api.nets.image", "tf1.image.geometry")),
    "ops.inplace_ops": ("tf1.array.inplace",),
    "ops.init_ops": (
        *("api.nets.initializers", "tf1.variables.convolution_initializers"),
        "ops.variables.init_ops",
    ),
    "ops.io_ops": (),
    **dict.fromkeys(
        ("ops.linalg_ops", "ops.linalg.linalg", "ops.linalg.linalg_impl"),
        ("tf1.math.matrix_functions", "tf1.math.tridiagonal", "api.arithmetic.linalg"),
    ),
    "ops.list_ops": ("tf1.flow.tensor_lists",),
    **{
        f"ops.linalg.{module}": ("api.arithmetic.linalg", f"tf1.linear_operators.{home}")
        for module, home in {
            "linear_operator": "linear_operator",
            "linear_operator_adjoint": "of_one",
            "linear_operator_block_diag": "of_several",
            "linear_operator_circulant": "circulant",
            "linear_operator_composition": "of_several",
            "linear_operator_diag": "structured",
            "linear_operator_full_matrix": "structured",
            "linear_operator_householder": "structured",
            "linear_operator_identity": "identity",
            "linear_operator_inversion": "of_one",
            "linear_operator_kronecker": "of_several",
            "linear_operator_low_rank_update": "low_rank_update",
            "linear_operator_lower_triangular": "structured",
            "linear_operator_toeplitz": "circulant",
            "linear_operator_util": "broadcasting",
            "linear_operator_zeros": "identity",
        }.items()
    },
    **dict.fromkeys(
        (
            f"ops.linalg.{kind}_registrations"
            for kind in ("adjoint", "cholesky", "inverse", "matmul", "solve")
        ),
        ("tf1.linear_operators.registrations",),
    ),
    "ops.linalg.linear_operator_algebra": ("tf1.linear_operators.algebra",),
    "ops.logging_ops": ("api.printing",),
    "ops.lookup_ops": ("tf1.input.tables", "tf1.input.table_initializers", "tf1.input.vocabularies"),
    "ops.losses.losses": ("ops.losses",),
    "ops.losses.util": ("ops.losses",),
    "ops.manip_ops": ("api.arithmetic.manip",),
    "ops.map_fn": (),
    "ops.math_ops": ("api.arithmetic.math", "ops.math.reduction", "ops.gradients.dense_slices"),
    "ops.metrics": ("tf1.api.nets.metrics",),
    "ops.metrics_impl": ("tf1.api.nets.metrics",),
    "ops.nccl_ops": ("tf1.api.contrib.nccl",),
    "ops.nn": _NN,
    "ops.nn_impl": _NN,
    "ops.nn_ops": _NN,
    "ops.numerics": (),
    "ops.parsing_ops": ("api.files.io", "tf1.stand_in.v2_names"),
    "ops.partitioned_variables": (),
    "ops.random_ops": ("api.arithmetic.random",),
    "ops.resource_variable_ops": _VARIABLES,
    "ops.resources": ("ops.variables.resources",),
    "ops.rnn": ("api.nets.nn",),
    "ops.rnn_cell": ("api.nets.rnn_cell",),
    "ops.rnn_cell_impl": ("api.nets.rnn_cell", "ops.rnn.cells"),
    "ops.script_ops": (),
    "ops.session_ops": ("tf1.session_tensors", "runtime.session.tensor_handle"),
    "ops.sets": ("tf1.api.arithmetic.sets",),
    "ops.sets_impl": ("tf1.api.arithmetic.sets",),
    "ops.signal.fft_ops": ("tf1.api.arithmetic.signal",),
    "ops.sort_ops": (),
    "ops.sparse_ops": (
        *("ops.sparse.sparse_spec", "tf1.sparse.crossing", "tf1.sparse.sparse_ops", "ops.sparse.cwise"),
        *("tf1.sparse.rearranging", "tf1.sparse.reductions", "tf1.sparse.segments"),
        *("tf1.sparse.tensors_map", "tf1.api.arithmetic.sparse"),
    ),
    "ops.special_math_ops": (),
    "ops.standard_ops": (),
    "ops.stateless_random_ops": ("tf1.random.stateless",),
    "ops.state_ops": ("ops.variables.state", "ops.variables.resource_state"),
    "ops.string_ops": ("api.printing", "api.arithmetic.strings"),
    "ops.template": ("tf1.variables.template",),
    "ops.tensor_array_ops": (),
    "ops.unconnected_gradients": (),
    "ops.variable_scope": (
        *("ops.variables.variable_scope", "ops.variables.variable_store"),
        "ops.variables.partitioned",
    ),
    "ops.variables": _VARIABLES,
    "platform.benchmark": ("tf1.api.testing.benchmark",),
    "platform.gfile": ("api.files.gfile",),
    **dict.fromkeys(
        ("saved_model.builder", "saved_model.builder_impl"),
        ("tf1.stand_in.saved_model.builder_impl", "tf1.saving.saved_model_builder"),
    ),
    "saved_model.model_utils.export_output": (
        *("tf1.training.estimator.export_outputs", "tf1.training.estimator.supervised_outputs"),
    ),
    "training.experimental.mixed_precision": ("tf1.train.mixed_precision",),
    "summary.summary": ("api.training.summary",),
    "summary.summary_iterator": ("api.training.train",),
    "summary.writer.writer": ("graphdef.file_writer", "api.training.summary"),
    "summary.writer.writer_cache": ("graphdef.file_writer", "api.training.summary"),
    "training.learning_rate_decay": ("ops.train.learning_rates",),
    **dict.fromkeys(
        ("training.monitored_session", "training.basic_session_run_hooks"),
        (
            "tf1.training.monitored_session",
            "tf1.training.saver_hooks",
            "tf1.training.hooks",
            "api.training.train",
        ),
    ),
    "training.checkpoint_ops": ("tf1.training.load_and_remap",),
    "training.checkpoint_management": ("saving.checkpoint_state", "api.training.train"),
    "training.experimental.loss_scale": ("tf1.train.loss_scale",),
    "training.experimental.loss_scale_optimizer": ("tf1.train.loss_scale_optimizer",),
    "keras.engine.input_spec": ("ops.layers.input_spec",),
    "module.module": ("ops.tracking.module",),
    "training.saving.functional_saver": ("tf1.saving.tracking.device_saver",),
    "training.saving.saveable_object": ("saving.saveables",),
    "training.saving.saveable_object_util": ("saving.saveables",),
    "training.tracking.base": ("ops.tracking.base", "tf1.saving.tracking.state"),
    "training.tracking.data_structures": ("ops.tracking.wrappers", "ops.tracking.data_structures"),
    "training.tracking.graph_view": ("tf1.saving.tracking.graph_view",),
    "training.tracking.layer_utils": ("ops.tracking.layer_containers",),
    "training.tracking.python_state": ("tf1.saving.tracking.state",),
    "training.tracking.tracking": ("ops.tracking.tracking",),
    "training.tracking.util": (
        *("tf1.saving.tracking.checkpoint", "tf1.saving.tracking.status", "ops.tracking.variables"),
        *("tf1.saving.tracking.restoring", "tf1.saving.tracking.state", "api.training.train"),
    ),
    "util.object_identity": ("tf1.saving.tracking.identity",),
    "training.saver": (
        *("saving.saver", "saving.builder", "saving.saveables", "saving.import_meta_graph"),
        "api.training.train",
    ),
    "training.moving_averages": ("ops.train.moving_averages",),
    "training.training_util": ("ops.train.global_step", "api.training.train"),
    "training.slot_creator": ("ops.train.slots",),
    "ops.weights_broadcast_ops": ("ops.losses",),
    "training.warm_starting_util": ("tf1.training.warm_start", "api.training.train"),
    "util.compat": ("api.compat", "tf1.stand_in.util_compat"),
    "util.nest": ("api.nest", "ops.nest_paths", "ops.nest"),
}
"""Modules below ``tensorflow.python`` -> modules of gpuplace to search for their names, before gpuplace's top level.
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
"""Packages below ``tensorflow.contrib`` -> the namespace with the names of their modules, and these modules."""

CONTRIB_MODULES = {
    f"{ROOT}.contrib.{package}.{module}": f"gpuplace.tf1.api.contrib.{space}"
    for package, (space, *modules) in CONTRIB.items()
    for module in modules
}
CONTRIB_PACKAGES = {f"{ROOT}.contrib.{package}": space for package, (space, *_) in CONTRIB.items()}

ALIASES = {
    ("ops.variable_scope", "VariableV1"): "Variable",
    ("ops.variable_scope", "variable"): "Variable",
    ("ops.variable_scope", "_PartitionInfo"): "PartitionInfo",
    ("ops.image_ops", "resize_image_with_pad_v1"): "resize_image_with_pad",
    ("framework.constant_op", "constant"): "constant_v2",
    ("framework.constant_op", "constant_v1"): "constant",
    ("ops.control_flow_ops", "_Identity"): "identity",
    ("framework.tensor_util", "constant_value"): "get_static_value",
    ("framework.tensor_util", "MakeNdarray"): "make_ndarray",
    ("data.ops.dataset_ops", "DatasetV1"): "Dataset",
    ("data.ops.dataset_ops", "DatasetV2"): "Dataset",
    ("data.ops.dataset_ops", "DatasetV1Adapter"): "Dataset",
    ("data.ops.dataset_ops", "_VariantDataset"): "Dataset",
    ("data.ops.optional_ops", "_OptionalImpl"): "Optional",
    ("ops.script_ops", "eager_py_func"): "py_function",
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
    **{
        ("ops.sparse_ops", f"_{name}"): name
        for name in (
            *("add_sparse_to_tensors_map", "add_many_sparse_to_tensors_map"),
            "take_many_sparse_from_tensors_map",
        )
    },
    ("ops.array_ops", "rank_internal"): "rank",
    ("ops.template", "_skip_common_stack_elements"): "not_shared",
    ("util.dispatch", "add_dispatch_support"): "dispatched",
    ("framework.error_interpolation", "_compute_device_summary_from_list"): "device_summary",
    ("framework.error_interpolation", "_compute_colocation_summary_from_dict"): "colocation_summary",
    ("framework.common_shapes", "broadcast_shape"): "broadcast_shapes",
    ("framework.device_spec", "DeviceSpecV1"): "DeviceSpec",
    ("framework.device_spec", "DeviceSpecV2"): "DeviceSpec",
    ("training.training_util", "_get_or_create_global_step_read"): "global_step_read",
    ("training.training_util", "_increment_global_step"): "increment_global_step",
    ("ops.lookup_ops", "StaticHashTableV1"): "StaticHashTable",
    ("ops.lookup_ops", "StaticVocabularyTableV1"): "StaticVocabularyTable",
    ("ops.nn_ops", "conv2d_transpose_v2"): "conv2d_transpose",
    ("ops.nn_ops", "conv3d_transpose_v2"): "conv3d_transpose",
    ("ops.gradients_impl", "_hessian_vector_product"): "hessian_vector_product",
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
    (
        "training.experimental.mixed_precision",
        "enable_mixed_precision_graph_rewrite_v1",
    ): "enable_mixed_precision_graph_rewrite",
    ("saved_model.model_utils.export_output", "_SupervisedOutput"): "SupervisedOutput",
    ("ops.rnn_cell_impl", "assert_like_rnncell"): "require_cell",
    ("ops.rnn_cell_impl", "_zero_state_tensors"): "zeros_of",
    ("ops.nn_impl", "l2_normalize_v2"): "l2_normalize",
    ("ops.parsing_ops", "decode_raw"): "decode_raw_v2",
    ("ops.parsing_ops", "decode_raw_v1"): "decode_raw",
    ("ops.nn_impl", "moments_v2"): "moments",
    ("training.checkpoint_management", "update_checkpoint_state_internal"): "write_checkpoint_state",
    ("training.saving.saveable_object_util", "op_list_to_dict"): "by_name",
    ("training.saving.saveable_object_util", "saveable_objects_for_op"): "saveables_for",
    ("training.saving.saveable_object_util", "validate_and_slice_inputs"): "saveables_of",
    ("training.tracking.util", "CheckpointV1"): "Checkpoint",
    ("training.tracking.util", "_CheckpointRestoreCoordinator"): "CheckpointRestoreCoordinator",
    ("training.checkpoint_ops", "_load_and_remap_matrix"): "remapped_matrix",
    ("training.checkpoint_ops", "_load_and_remap_matrix_initializer"): "load_and_remap_matrix_initializer",
    ("training.checkpoint_ops", "_load_embedding_initializer"): "load_embedding_initializer",
    ("training.saver", "_get_saver_or_default"): "saver_or_default",
    ("ops.distributions.kullback_leibler", "_DIVERGENCES"): "DIVERGENCES",
    ("ops.distributions.kullback_leibler", "_registered_kl"): "registered_kl",
    ("ops.linalg.linear_operator_circulant", "_to_complex"): "to_complex",
    ("ops.linalg.linear_operator_toeplitz", "_to_complex"): "to_complex",
    **{
        ("ops.linalg.linear_operator_algebra", f"_{table}"): table
        for table in (
            *("ADJOINTS", "CHOLESKY_DECOMPS", "INVERSES", "MATMUL", "SOLVE", "registered_adjoint"),
            *("registered_cholesky", "registered_inverse", "registered_matmul", "registered_solve"),
        )
    },
    ("training.warm_starting_util", "_warm_start_var_with_vocab"): "warm_start_with_vocab",
    ("util.nest", "is_sequence"): "is_nested",
    ("util.nest", "_is_attrs"): "is_attrs",
}
"""Module of TensorFlow and name in it -> gpuplace's public name for it."""

TRAINING = "training."
"""Modules of this folder have the names of ``tf.train``."""

GRADIENTS = re.compile(r"ops\.\w+_grad")
"""Empty modules that register gradients when they are imported."""

GENERATED = re.compile(
    r"tensorflow\.(?:python\.(?:(?:ops|training)\.gen_\w+_ops|training\.training_ops|framework\.test_ops)|contrib\.framework\.python\.ops\.audio_ops)"
)
"""Modules of functions that add one op each."""

PROTO_FOLDERS = {"tensorflow.core.framework", "tensorflow.core.protobuf", "tensorflow.core.util"}
"""Packages of generated messages; ``tensorboard.compat.proto`` has their modules."""

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
    *(package.rpartition(".")[0] for package in CONTRIB_PACKAGES),
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
    "tensorflow.python.framework",
    "tensorflow.python.eager",
    "tensorflow.python.layers",
    "tensorflow.python.lib",
    "tensorflow.python.lib.io",
    "tensorflow.python.ops",
    "tensorflow.python.ops.distributions",
    "tensorflow.python.ops.linalg",
    "tensorflow.python.ops.losses",
    "tensorflow.python.ops.signal",
    "tensorflow.python.platform",
    "tensorflow.python.saved_model",
    "tensorflow.python.saved_model.model_utils",
    "tensorflow.python.summary",
    "tensorflow.python.summary.writer",
    "tensorflow.python.module",
    "tensorflow.python.training",
    "tensorflow.python.training.experimental",
    "tensorflow.python.training.saving",
    "tensorflow.python.training.tracking",
    "tensorflow.python.util",
    *PROTO_FOLDERS,
}
"""Packages that only contain modules."""
