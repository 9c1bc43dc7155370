"""gpuplace: see where every op of a dataflow graph runs, and why.

A runtime in the style of TensorFlow 1, whose placer gives the same results as TensorFlow's own:

>>> import gpuplace as tf
>>> graph = tf.Graph()
>>> with graph.as_default(), tf.device("/gpu:1"):
...     x = tf.constant([1.0, 2.0], name="x")
>>> tf.place(graph, machine="2x Tesla K40c")["x"]
'/job:localhost/replica:0/task:0/device:GPU:1'

gpuplace adds these names to TensorFlow's:

====================================  =================================================================================
``place(graph, machine=...)``         the device of each node of a graph, GraphDef, file or SavedModel
``explore(x)``                        the interactive explorer, with switches for everything that changes a placement
``parse_log(text)``                   the placement in TensorFlow's log
``timeline(run_metadata)``            a measured step: device lanes, copies, critical path, recommended moves
``kernels("MatMul")``                 the kernels registered for an op type
``use_machine("4x Tesla K20m")``      set the machine of sessions and ``place``
``Machine``                           real or simulated machines: ``parse``, ``simulated``, ``local``, ``from_devices``
``sweep(graphs, machines, configs)``    place many graphs on many machines, on all cores or a dask cluster
``CostModel.fit(metadata, graph)``      kernel times fitted to measured steps; ``save`` and ``load``
``capture_log()``                     a block that captures the log of TensorFlow in this process
``compare(graph, log)``               TensorFlow's placement against the prediction, with likely reasons
``cluster(client)``                     the workers of a dask cluster as tasks of a TensorFlow cluster
``reset_runtime()``                   drop the GPU state; in TensorFlow, this needs a new process
``set_release("2.21")``               the TensorFlow release to reproduce; see also ``get_release()``
``%load_ext gpuplace``                the magics ``%%placement``, ``%placement`` and ``%%watch_placement``
``placement.explain("x")``            why a node is on its device, and what would move it
``placement.blame("GPU")``            what keeps nodes off the GPUs, ranked
``placement.diff(other)``             the nodes that move, with the difference that moves each
``placement.trace("x")``              everything that a node depends on, with the copies between
``placement.picture()``               the graph in colors; ``.frame()`` tables, ``.log()`` TensorFlow's lines
``session.placement``                 the placement of a session's graph; ``.frame("memory")`` what its GPUs hold
``session.timeline(fetches)``         run a step with a trace and return its timeline
``gpuplace.testing``                  toy ops, kernels and machines for tests of placements
``gpuplace.typing``                   types for signatures: ``TensorLike``, ``ShapeLike``, ``GraphLike``, ...
====================================  =================================================================================

All other names are TensorFlow 1.15's, with its defaults: ``Graph``, ``Session``, ``device``, ``constant``, ``matmul``,
``Variable``, ``nn``, ``train``, ``errors``, ...
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpuplace import dtypes, errors
from gpuplace.api.missing import advise_in as _advise_in
from gpuplace.api.missing import give_advice as _give_advice
from gpuplace.device.spec import DeviceSpec
from gpuplace.dtypes import *
from gpuplace.dtypes import QUANTIZED_DTYPES, DType, as_dtype
from gpuplace.errors import OpError
from gpuplace.lazy import lazy_names as _lazy_names
from gpuplace.release import get_release, set_release
from gpuplace.shapes import Dimension, TensorShape, dimension_at_index, dimension_value

__version__ = "0.1.0"

# fmt: off
__all__ = [
    # Tools
    "place", "explore", "parse_log", "timeline", "kernels", "use_machine", "Machine", "reset_runtime",
    "capture_log", "compare", "explore_rules",
    "estimate", "StepEstimate", "CostModel", "advise", "Advice", "tower_choices", "sweep", "set_release",
    "get_release", "cluster", "load_ipython_extension", "unload_ipython_extension",
    # Graphs, devices and sessions
    "add_check_numerics_ops",
    "add_to_collection", "add_to_collections", "colocate_with", "container", "control_dependencies",
    "convert_to_tensor", "device", "DeviceSpec", "disable_eager_execution", "disable_v2_behavior",
    "control_flow_v2_enabled", "disable_control_flow_v2", "enable_control_flow_v2",
    "disable_v2_tensorshape", "executing_eagerly", "get_collection", "get_collection_ref",
    "get_default_graph", "get_default_session", "get_static_value", "Graph", "GraphKeys", "init_scope",
    "InteractiveSession", "is_tensor", "name_scope",
    "op_scope", "Operation", "OpError", "register_tensor_conversion_function", "reset_default_graph",
    "Session", "Tensor",
    # Messages, which load protobuf on first use
    "AttrValue", "ConfigProto", "Event", "GPUOptions", "GraphDef", "GraphOptions", "HistogramProto",
    "import_graph_def", "make_ndarray", "make_tensor_proto", "MetaGraphDef", "NameAttrList", "NodeDef",
    "OptimizerOptions", "RunMetadata", "RunOptions", "SessionLog", "Summary", "SummaryMetadata",
    "TensorInfo", "TensorProto", "VersionDef",
    # Types and shapes
    "as_dtype", "bfloat16", "bool", "complex128", "complex64", "Dimension", "dimension_at_index", "dimension_value",
    "double", "DType", "float16",
    "float32", "float64", "half", "int16", "QUANTIZED_DTYPES", "int32", "int64", "int8", "qint16", "qint32", "qint8",
    "quint16", "quint8", "resource", "string", "OptionalSpec", "TensorShape", "TensorSpec", "TypeSpec", "uint16",
    "uint32", "uint64", "uint8", "variant",
    # Quantized numbers
    "dequantize", "quantize", "quantize_v2", "quantized_concat",
    # Messages of the runtime
    "get_logger",
    # Namespaces
    "app", "audio", "bitwise", "compat", "config", "contrib", "data", "debugging", "distribute", "distributions",
    "dtypes", "errors",
    "estimator", "flags", "gfile",
    "graph_util", "image", "initializers", "io", "layers", "linalg", "logging", "lookup", "losses", "manip",
    "math", "metrics", "nest", "nn", "profiler", "python_io", "quantization", "queue", "random", "raw_ops",
    "resource_loader", "saved_model", "sets",
    "signal", "sparse", "spectral", "strings", "summary", "test", "train", "version",
    # The release, as a whole and of its graphs
    "GIT_VERSION", "GRAPH_DEF_VERSION", "GRAPH_DEF_VERSION_MIN_CONSUMER", "GRAPH_DEF_VERSION_MIN_PRODUCER", "VERSION",
    # Ops: array
    "arg_max", "arg_min", "argmax", "argmin", "argsort", "batch_gather", "batch_to_space", "batch_to_space_nd",
    "bincount", "boolean_mask", "broadcast_dynamic_shape", "broadcast_static_shape", "broadcast_to",
    "check_numerics", "concat", "constant", "cumprod", "cumsum", "depth_to_space", "dynamic_partition",
    "dynamic_stitch", "ensure_shape", "expand_dims", "eye", "fill", "gather", "gather_nd",
    "guarantee_const", "histogram_fixed_width", "histogram_fixed_width_bins", "identity", "identity_n",
    "invert_permutation", "lin_space", "linspace",
    "matrix_transpose", "meshgrid", "newaxis", "one_hot", "ones", "ones_like", "pad", "parallel_stack",
    "placeholder", "placeholder_with_default", "range", "rank", "repeat", "required_space_to_batch_paddings",
    "reshape", "reverse", "reverse_sequence", "reverse_v2", "roll", "scatter_nd", "searchsorted",
    "sequence_mask", "setdiff1d", "shape", "shape_n", "size", "slice", "sort", "space_to_batch",
    "space_to_batch_nd", "space_to_depth", "split", "squeeze", "stack", "stop_gradient", "strided_slice",
    "tensor_scatter_add", "tensor_scatter_nd_add", "tensor_scatter_nd_sub", "tensor_scatter_nd_update",
    "tensor_scatter_sub", "tensor_scatter_update", "tile", "transpose", "unique", "unique_with_counts",
    "unravel_index", "unstack", "verify_tensor_all_finite", "where", "where_v2", "zeros", "zeros_like",
    # Ops: flow
    "Assert", "case", "cond", "foldl", "foldr", "function", "group", "map_fn", "no_op", "numpy_function", "print",
    "CriticalSection", "Print", "py_func", "py_function", "scan", "switch_case", "TensorArray", "TensorArraySpec",
    "tuple", "while_loop", "with_dependencies", "wrap_function",
    # Ops: gradients
    "AggregationMethod", "convert_to_tensor_or_indexed_slices", "custom_gradient", "grad_pass_through", "gradients",
    "GradientTape", "hessians", "IndexedSlices", "IndexedSlicesSpec", "IndexedSlicesValue", "no_gradient", "NoGradient",
    "NotDifferentiable", "recompute_grad", "RegisterGradient", "UnconnectedGradients", "unsorted_segment_sum",
    "delete_session_tensor", "get_session_handle", "get_session_tensor",
    # Ops: input
    "ConditionalAccumulator", "ConditionalAccumulatorBase", "FIFOQueue", "PaddingFIFOQueue", "PriorityQueue",
    "QueueBase", "RandomShuffleQueue", "SparseConditionalAccumulator",
    "FixedLengthRecordReader", "IdentityReader", "matching_files", "ReaderBase", "read_file", "TextLineReader",
    "TFRecordReader", "WholeFileReader", "write_file",
    "decode_csv", "decode_json_example", "FixedLenFeature", "FixedLenSequenceFeature", "parse_example",
    "parse_single_example", "parse_single_sequence_example", "parse_tensor", "serialize_tensor",
    "initialize_all_tables", "SparseFeature", "tables_initializer", "VarLenFeature",
    # Ops: math
    "abs", "accumulate_n", "acos", "acosh", "add", "add_n", "add_v2", "angle", "approximate_equal",
    "asin", "asinh", "assert_equal", "assert_greater", "assert_greater_equal", "assert_integer",
    "assert_less", "assert_less_equal", "assert_near", "assert_negative", "assert_non_negative",
    "assert_non_positive", "assert_none_equal", "assert_positive", "assert_proper_iterable",
    "assert_rank", "assert_rank_at_least", "assert_rank_in", "assert_same_float_dtype", "assert_scalar",
    "assert_type", "atan", "atan2", "atanh",
    "batch_matmul", "betainc", "bitcast", "bitwise_and", "bitwise_or", "bitwise_xor", "cast",
    "ceil", "cholesky", "cholesky_solve", "clip_by_average_norm", "clip_by_global_norm", "clip_by_norm",
    "clip_by_value", "complex", "confusion_matrix", "conj", "cos", "cosh", "count_nonzero", "cross", "diag",
    "diag_part", "digamma", "div", "div_no_nan", "divide", "einsum", "equal", "erf", "erfc", "exp", "expm1",
    "extract_image_patches", "extract_volume_patches", "fft",
    "fft2d", "fft3d", "floor", "floor_div", "floordiv", "floormod", "global_norm", "greater", "greater_equal",
    "ifft", "ifft2d", "ifft3d", "igamma", "igammac", "imag",
    "invert", "is_finite", "is_inf", "is_nan", "is_non_decreasing", "is_numeric_tensor", "is_strictly_increasing",
    "lbeta", "left_shift", "less", "less_equal", "lgamma", "log", "log1p", "log_sigmoid", "logical_and",
    "logical_not", "logical_or", "logical_xor", "matmul", "matrix_band_part", "matrix_determinant",
    "matrix_diag", "matrix_diag_part", "matrix_inverse", "matrix_set_diag", "matrix_solve", "matrix_solve_ls",
    "matrix_square_root", "matrix_triangular_solve", "matvec", "maximum", "minimum", "mod", "multiply",
    "multiply_no_nan", "negative", "norm", "not_equal",
    "polygamma", "polyval", "pow", "qr", "real", "realdiv", "reciprocal", "reduce_all", "reduce_any",
    "reduce_euclidean_norm", "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod",
    "reduce_std", "reduce_sum", "reduce_variance", "right_shift", "rint", "round", "rsqrt",
    "saturate_cast", "scalar_mul", "segment_max", "segment_mean", "segment_min", "segment_prod",
    "segment_sum", "self_adjoint_eig", "self_adjoint_eigvals",
    "sigmoid", "sign", "sin", "sinh", "sparse_matmul", "sqrt", "square",
    "squared_difference", "subtract", "svd", "tan", "tanh", "tensordot", "to_bfloat16", "to_complex128",
    "to_complex64", "to_double", "to_float", "to_int32", "to_int64", "trace", "truediv", "truncatediv",
    "truncatemod", "unsorted_segment_max", "unsorted_segment_mean", "unsorted_segment_min",
    "unsorted_segment_prod", "unsorted_segment_sqrt_n", "xdivy", "xlogy", "zeta",
    # Ops: random
    "categorical", "get_seed", "multinomial", "random_crop", "random_normal", "random_shuffle",
    "random_uniform", "set_random_seed", "truncated_normal",
    # Ops: text
    "as_string", "decode_base64", "decode_compressed", "decode_raw", "encode_base64", "fingerprint",
    "timestamp", "reduce_join", "regex_replace",
    "string_split", "string_to_hash_bucket", "string_to_hash_bucket_fast", "string_to_hash_bucket_strong",
    "string_join", "string_length", "string_lower", "string_strip", "string_to_number", "string_upper",
    "substr",
    # Ops: variables
    "all_variables", "assert_variables_initialized", "assign", "assign_add", "assign_sub", "AUTO_REUSE",
    "Constant", "constant_initializer", "count_up_to", "create_partitioned_variables", "disable_resource_variables",
    "enable_resource_variables", "fixed_size_partitioner", "get_local_variable", "get_variable", "get_variable_scope",
    "global_variables", "global_variables_initializer", "glorot_normal_initializer",
    "glorot_uniform_initializer", "GlorotNormal", "GlorotUniform", "he_normal", "he_uniform", "Identity",
    "identity_initializer", "initialize_all_variables", "initialize_local_variables",
    "initialize_variables", "Initializer", "is_resource_variable", "is_variable_initialized",
    "lecun_normal", "lecun_uniform", "local_variables", "local_variables_initializer", "make_template",
    "min_max_variable_partitioner", "model_variables", "Module", "moving_average_variables", "no_regularizer",
    "Ones", "ones_initializer",
    "Orthogonal", "orthogonal_initializer", "random_normal_initializer", "random_uniform_initializer",
    "RandomNormal", "RandomUniform", "report_uninitialized_variables", "resource_variables_enabled",
    "ResourceVariable", "scatter_add", "scatter_div", "scatter_max", "scatter_min", "scatter_mul",
    "batch_scatter_update", "scatter_nd_add", "scatter_nd_sub", "scatter_nd_update",
    "scatter_sub", "scatter_update", "trainable_variables", "truncated_normal_initializer",
    "TruncatedNormal", "uniform_unit_scaling_initializer", "UniformUnitScaling", "Variable",
    "variable_axis_size_partitioner", "variable_creator_scope", "variable_op_scope", "variable_scope",
    "VariableAggregation", "variables_initializer",
    "VariableScope", "VariableSynchronization", "variance_scaling_initializer", "VarianceScaling",
    "Zeros", "zeros_initializer",
    # Ops: random numbers, others are among those of arrays
    "random_gamma", "random_poisson",
    # Ops: quantization
    "fake_quant_with_min_max_args", "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars", "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel", "fake_quant_with_min_max_vars_per_channel_gradient",
    # Ops: sparse
    "edit_distance", "sparse_add", "sparse_concat", "sparse_fill_empty_rows", "sparse_mask",
    "sparse_maximum", "sparse_merge",
    "sparse_minimum", "sparse_placeholder", "sparse_reduce_max", "sparse_reduce_max_sparse",
    "sparse_reduce_sum", "sparse_reduce_sum_sparse", "sparse_reorder", "sparse_reset_shape",
    "sparse_reshape", "sparse_retain", "sparse_segment_mean", "sparse_segment_sqrt_n", "sparse_segment_sum",
    "sparse_slice", "sparse_softmax", "sparse_split", "sparse_tensor_dense_matmul",
    "sparse_tensor_to_dense", "sparse_to_dense", "sparse_to_indicator", "sparse_transpose", "SparseTensor",
    "SparseTensorSpec", "SparseTensorValue", "convert_to_tensor_or_sparse_tensor", "deserialize_many_sparse",
    "serialize_many_sparse", "serialize_sparse",
]
# fmt: on

if TYPE_CHECKING:
    from gpuplace import tf_logging as logging
    from gpuplace.advisor.steps.advice import Advice
    from gpuplace.advisor.steps.advise import advise
    from gpuplace.advisor.towers import tower_choices
    from gpuplace.api import app, config, flags
    from gpuplace.api.arithmetic import debugging, linalg, math, strings
    from gpuplace.api.core import *
    from gpuplace.api.files import gfile, graph_util, io, python_io, saved_model
    from gpuplace.api.kernel_table import kernels
    from gpuplace.api.nets import layers, nn
    from gpuplace.api.tools import (
        capture_log,
        explore,
        explore_rules,
        load_ipython_extension,
        parse_log,
        timeline,
        unload_ipython_extension,
    )
    from gpuplace.api.training import summary, train
    from gpuplace.api.version import *
    from gpuplace.clusters.dask_client import cluster
    from gpuplace.cost.cost_model import CostModel
    from gpuplace.cost.estimate import estimate
    from gpuplace.cost.step_estimate import StepEstimate
    from gpuplace.device.machine import Machine
    from gpuplace.graphdef.messages import (
        AttrValue,
        ConfigProto,
        Event,
        GPUOptions,
        GraphDef,
        GraphOptions,
        HistogramProto,
        MetaGraphDef,
        NameAttrList,
        NodeDef,
        OptimizerOptions,
        RunMetadata,
        RunOptions,
        SessionLog,
        Summary,
        SummaryMetadata,
        TensorInfo,
        TensorProto,
        VersionDef,
    )
    from gpuplace.ops import losses
    from gpuplace.ops.gradients.slices_spec import *
    from gpuplace.ops.gradients.tape import GradientTape
    from gpuplace.ops.sparse.sparse_spec import (
        SparseTensorSpec,
        deserialize_many_sparse,
        serialize_many_sparse,
        serialize_sparse,
    )
    from gpuplace.ops.sparse.sparse_tensor import *
    from gpuplace.ops.text.strings import *
    from gpuplace.ops.tracking.module import Module
    from gpuplace.ops.type_spec import *
    from gpuplace.runtime.memory.process_state import reset_runtime, use_machine
    from gpuplace.runtime.session.place import place
    from gpuplace.runtime.session.session import InteractiveSession, Session
    from gpuplace.sweeps.sweep import sweep
    from gpuplace.tf1.api import contrib, distribute, profiler
    from gpuplace.tf1.api.arithmetic import distributions, quantization, sets, signal, sparse, spectral
    from gpuplace.tf1.api.files import audio
    from gpuplace.tf1.api.nets import image, metrics
    from gpuplace.tf1.api.testing import test
    from gpuplace.tf1.api.training import data, estimator, lookup, queue
    from gpuplace.tf1.data.optional import OptionalSpec
    from gpuplace.tf1.flow.critical_section import CriticalSection
    from gpuplace.tf1.flow.immediate_functions import py_function
    from gpuplace.tf1.flow.tensor_array_spec import *
    from gpuplace.tf1.functions.def_function import function as function
    from gpuplace.tf1.gradients.hessians import hessians
    from gpuplace.tf1.image.volume_patches import extract_volume_patches
    from gpuplace.tf1.input.accumulators import (
        ConditionalAccumulator,
        ConditionalAccumulatorBase,
        SparseConditionalAccumulator,
    )
    from gpuplace.tf1.input.csv import *
    from gpuplace.tf1.input.file_ops import matching_files, read_file, write_file
    from gpuplace.tf1.input.parsing import *
    from gpuplace.tf1.input.queues import *
    from gpuplace.tf1.input.readers import *
    from gpuplace.tf1.input.tables import initialize_all_tables, tables_initializer
    from gpuplace.tf1.math.incomplete import betainc, igamma, igammac, polygamma, zeta
    from gpuplace.tf1.math.matrix_functions import matrix_solve_ls, matrix_square_root
    from gpuplace.tf1.math.spectral import fft, fft2d, fft3d, ifft, ifft2d, ifft3d
    from gpuplace.tf1.nn.patches import extract_image_patches
    from gpuplace.tf1.quantized.fake import *
    from gpuplace.tf1.quantized.quantized import dequantize, quantize, quantize_v2, quantized_concat
    from gpuplace.tf1.random.gamma_and_poisson import random_gamma, random_poisson
    from gpuplace.tf1.saving.wrapped_functions import wrap_function
    from gpuplace.tf1.session_tensors import delete_session_tensor, get_session_handle, get_session_tensor
    from gpuplace.tf1.sparse.edit_distance import *
    from gpuplace.tf1.sparse.masking import *
    from gpuplace.tf1.sparse.rearranging import *
    from gpuplace.tf1.sparse.reductions import *
    from gpuplace.tf1.sparse.segments import *
    from gpuplace.tf1.sparse.sparse_ops import *
    from gpuplace.tf1.stand_in.platform import resource_loader
    from gpuplace.tf1.text.raw_bytes import decode_compressed, fingerprint, timestamp
    from gpuplace.tf1.text.regex_and_encoding import decode_base64, decode_raw, encode_base64, regex_replace
    from gpuplace.tf1.text.splitting import *
    from gpuplace.tf1.variables.template import make_template
    from gpuplace.views.logs.run_comparison import compare
else:
    _late_name = _lazy_names(
        __name__,
        {
            "gpuplace": "tf_logging as logging",
            "gpuplace.advisor.steps.advice": "Advice",
            "gpuplace.advisor.steps.advise": "advise",
            "gpuplace.advisor.towers": "tower_choices",
            "gpuplace.api": "app config flags",
            "gpuplace.api.arithmetic": "debugging linalg math strings",
            "gpuplace.api.kernel_table": "kernels",
            "gpuplace.api.files": "gfile graph_util io python_io saved_model",
            "gpuplace.api.nets": "layers nn",
            "gpuplace.tf1.api": "contrib distribute profiler",
            "gpuplace.tf1.api.arithmetic": "distributions quantization sets signal sparse spectral",
            "gpuplace.tf1.api.files": "audio",
            "gpuplace.tf1.api.nets": "image metrics",
            "gpuplace.tf1.api.testing": "test",
            "gpuplace.tf1.api.training": "data estimator lookup queue",
            "gpuplace.api.tools": """
                capture_log explore explore_rules load_ipython_extension parse_log timeline unload_ipython_extension
            """,
            "gpuplace.api.training": "summary train",
            "gpuplace.clusters.dask_client": "cluster",
            "gpuplace.tf1.stand_in.platform": "resource_loader",
            "gpuplace.cost.cost_model": "CostModel",
            "gpuplace.cost.estimate": "estimate",
            "gpuplace.cost.step_estimate": "StepEstimate",
            "gpuplace.device.machine": "Machine",
            "gpuplace.views.logs.run_comparison": "compare",
            "gpuplace.runtime.memory.process_state": "reset_runtime use_machine",
            "gpuplace.tf1.saving.wrapped_functions": "wrap_function",
            "gpuplace.ops": "losses",
            "gpuplace.tf1.flow.critical_section": "CriticalSection",
            "gpuplace.graphdef.messages": """
                AttrValue ConfigProto Event GPUOptions GraphDef GraphOptions HistogramProto MetaGraphDef NameAttrList
                NodeDef OptimizerOptions RunMetadata RunOptions SessionLog Summary SummaryMetadata TensorInfo
                TensorProto                 VersionDef
            """,
            "gpuplace.tf1.data.optional": "OptionalSpec",
            "gpuplace.tf1.flow.immediate_functions": "py_function",
            "gpuplace.tf1.flow.tensor_array_spec": "TensorArraySpec",
            "gpuplace.ops.gradients.slices_spec": """
                IndexedSlicesSpec
            """,
            "gpuplace.ops.tracking.module": "Module",
            "gpuplace.ops.type_spec": """
                TensorSpec TypeSpec
            """,
            "gpuplace.tf1.gradients.hessians": "hessians",
            "gpuplace.ops.gradients.tape": "GradientTape",
            "gpuplace.tf1.math.incomplete": "betainc igamma igammac polygamma zeta",
            "gpuplace.tf1.math.matrix_functions": "matrix_solve_ls matrix_square_root",
            "gpuplace.tf1.variables.template": "make_template",
            "gpuplace.tf1.functions.def_function": "function",
            "gpuplace.tf1.input.csv": """
                decode_csv
            """,
            "gpuplace.tf1.input.file_ops": """
                matching_files read_file write_file
            """,
            "gpuplace.tf1.input.parsing": """
                decode_json_example FixedLenFeature FixedLenSequenceFeature parse_example
                parse_single_example parse_single_sequence_example parse_tensor serialize_tensor
                SparseFeature VarLenFeature
            """,
            "gpuplace.tf1.input.accumulators": """
                ConditionalAccumulator ConditionalAccumulatorBase SparseConditionalAccumulator
            """,
            "gpuplace.tf1.input.queues": """
                FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue
            """,
            "gpuplace.tf1.session_tensors": "delete_session_tensor get_session_handle get_session_tensor",
            "gpuplace.tf1.input.readers": """
                FixedLengthRecordReader IdentityReader ReaderBase TextLineReader TFRecordReader
                WholeFileReader
            """,
            "gpuplace.tf1.input.tables": """
                initialize_all_tables tables_initializer
            """,
            "gpuplace.tf1.quantized.fake": """
                fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient fake_quant_with_min_max_vars
                fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel
                fake_quant_with_min_max_vars_per_channel_gradient
            """,
            "gpuplace.tf1.math.spectral": """
                fft fft2d fft3d ifft ifft2d ifft3d
            """,
            "gpuplace.tf1.random.gamma_and_poisson": "random_gamma random_poisson",
            "gpuplace.tf1.quantized.quantized": "dequantize quantize quantize_v2 quantized_concat",
            "gpuplace.tf1.nn.patches": """
                extract_image_patches
            """,
            "gpuplace.tf1.image.volume_patches": "extract_volume_patches",
            "gpuplace.tf1.sparse.edit_distance": "edit_distance",
            "gpuplace.tf1.sparse.masking": "sparse_mask",
            "gpuplace.tf1.sparse.rearranging": """
                sparse_concat sparse_reorder sparse_reshape sparse_slice sparse_split
                sparse_transpose
            """,
            "gpuplace.tf1.sparse.reductions": """
                sparse_reduce_max sparse_reduce_max_sparse sparse_reduce_sum
                sparse_reduce_sum_sparse
            """,
            "gpuplace.tf1.sparse.segments": """
                sparse_segment_mean sparse_segment_sqrt_n sparse_segment_sum
            """,
            "gpuplace.tf1.sparse.sparse_ops": """
                sparse_add sparse_fill_empty_rows sparse_maximum sparse_merge sparse_minimum
                sparse_placeholder sparse_reset_shape sparse_retain sparse_softmax
                sparse_tensor_dense_matmul sparse_tensor_to_dense sparse_to_dense
                sparse_to_indicator
            """,
            "gpuplace.ops.sparse.sparse_spec": """
                SparseTensorSpec deserialize_many_sparse serialize_many_sparse serialize_sparse
            """,
            "gpuplace.ops.sparse.sparse_tensor": """
                SparseTensor SparseTensorValue convert_to_tensor_or_sparse_tensor
            """,
            "gpuplace.tf1.text.raw_bytes": "decode_compressed fingerprint timestamp",
            "gpuplace.tf1.text.regex_and_encoding": """
                decode_base64 decode_raw encode_base64 regex_replace
            """,
            "gpuplace.tf1.text.splitting": """
                string_split string_to_hash_bucket string_to_hash_bucket_fast
                string_to_hash_bucket_strong
            """,
            "gpuplace.ops.text.strings": """
                as_string reduce_join string_join string_length string_lower string_strip
                string_to_number string_upper substr
            """,
            "gpuplace.runtime.session.place": "place",
            "gpuplace.sweeps.sweep": "sweep",
            "gpuplace.runtime.session.session": "InteractiveSession Session",
        },
    )

    for _package in ("device", "kernels"):  # the functions of these names are loaded lazily
        import_module(f"{__name__}.{_package}")
        del globals()[_package]

    def __getattr__(name: str) -> Any:
        """Return a lazily imported name or one that depends on the release; AttributeError for other names."""
        try:
            found = _late_name(name)
        except AttributeError:
            if name not in (*__all__, "__version__", "__git_version__"):
                raise
            return _core_name(name)
        _advise_in(name)
        return found

    def _core_name(name: str) -> Any:
        """Return a name of the core, which loads as a whole."""
        core = vars(import_module("gpuplace.api.core"))
        for public in [public for public in __all__ if public in core and public not in globals()]:
            globals()[public] = core[public]
            _advise_in(public)
        # Evaluated at each access: names that depend on the release, and TensorFlow's version instead of the package's.
        return globals()[name] if name in globals() else getattr(core["version"], name.strip("_").upper())


def __dir__() -> list[str]:
    """Return the public names, without the packages that they come from."""
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])


_give_advice()
