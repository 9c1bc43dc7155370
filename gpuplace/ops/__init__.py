"""The op library: one block per op, listed by hand; importing this package registers all of them.

Those named at the end are imported by who uses their names, or when an op is asked for that is in none of the others.
"""

import gpuplace.ops.array.constant
import gpuplace.ops.array.distinct
import gpuplace.ops.array.gather
import gpuplace.ops.array.joining
import gpuplace.ops.array.padding
import gpuplace.ops.array.positions
import gpuplace.ops.array.rearranging
import gpuplace.ops.array.repeating
import gpuplace.ops.array.reshaping
import gpuplace.ops.array.running
import gpuplace.ops.array.sequence
import gpuplace.ops.array.slicing
import gpuplace.ops.array.sorting
import gpuplace.ops.flow.arrays.tensor_arrays
import gpuplace.ops.flow.assert_and_print
import gpuplace.ops.flow.calls
import gpuplace.ops.flow.case
import gpuplace.ops.flow.conditionals
import gpuplace.ops.flow.control
import gpuplace.ops.flow.functional_kernels
import gpuplace.ops.flow.gradients
import gpuplace.ops.flow.higher_order
import gpuplace.ops.flow.loop_ops
import gpuplace.ops.flow.python_functions
import gpuplace.ops.flow.sending
import gpuplace.ops.flow.stacks
import gpuplace.ops.flow.tensor_array_kernels
import gpuplace.ops.flow.tensor_list_kernels
import gpuplace.ops.flow.tensor_lists
import gpuplace.ops.flow.while_loops
import gpuplace.ops.gradients.gradients
import gpuplace.ops.gradients.indexed_slices
import gpuplace.ops.gradients.registry
import gpuplace.ops.math.cast
import gpuplace.ops.math.check_ops
import gpuplace.ops.math.clip_ops
import gpuplace.ops.math.comparison
import gpuplace.ops.math.confusion_matrix
import gpuplace.ops.math.contraction
import gpuplace.ops.math.division
import gpuplace.ops.math.einsum
import gpuplace.ops.math.elementwise
import gpuplace.ops.math.factorization
import gpuplace.ops.math.incomplete
import gpuplace.ops.math.linalg
import gpuplace.ops.math.matrix
import gpuplace.ops.math.matrix_functions
import gpuplace.ops.math.neighbours
import gpuplace.ops.math.reduction
import gpuplace.ops.math.segments
import gpuplace.ops.math.special
import gpuplace.ops.math.tridiagonal
import gpuplace.ops.math.trigonometry
import gpuplace.ops.math.unary
import gpuplace.ops.random.random_ops
import gpuplace.ops.sparse.cwise
import gpuplace.ops.variables.initialization
import gpuplace.ops.variables.initialized_value
import gpuplace.ops.variables.resource_state
import gpuplace.ops.variables.resource_variables
import gpuplace.ops.variables.scatter_nd
import gpuplace.ops.variables.state
import gpuplace.ops.variables.variable_scope
import gpuplace.ops.variables.variables
from gpuplace.lazy import wait_for_a_miss

wait_for_a_miss(
    "gpuplace.ops.array.data_formats",
    "gpuplace.ops.array.inplace",
    "gpuplace.ops.contrib.decoding.gather_tree",
    "gpuplace.ops.contrib.memory_kernels",
    "gpuplace.ops.contrib.nccl",
    "gpuplace.ops.data.dataset",
    "gpuplace.ops.data.experimental",
    "gpuplace.ops.data.optional",
    "gpuplace.ops.data.readers",
    "gpuplace.ops.data.runtime.batching",
    "gpuplace.ops.data.runtime.files",
    "gpuplace.ops.data.runtime.iterator_states",
    "gpuplace.ops.data.runtime.iterators",
    "gpuplace.ops.data.runtime.mapping",
    "gpuplace.ops.data.runtime.optionals",
    "gpuplace.ops.data.runtime.multi_device",
    "gpuplace.ops.data.runtime.remote",
    "gpuplace.ops.data.runtime.shuffling",
    "gpuplace.ops.data.runtime.sparse",
    "gpuplace.ops.data.runtime.prefetching",
    "gpuplace.ops.data.runtime.stages",
    "gpuplace.ops.data.runtime.tables",
    "gpuplace.ops.flow.critical_section",
    "gpuplace.ops.flow.immediate_functions",
    "gpuplace.ops.functions.flow.cond_gradients",
    "gpuplace.ops.functions.flow.while_gradients",
    "gpuplace.ops.image.boxes",
    "gpuplace.ops.image.codecs",
    "gpuplace.ops.image.color_kernels",
    "gpuplace.ops.image.crops",
    "gpuplace.ops.image.resizing",
    "gpuplace.ops.image.suppression",
    "gpuplace.ops.input.accumulators",
    "gpuplace.ops.input.audio",
    "gpuplace.ops.input.batching",
    "gpuplace.ops.input.coordinator",
    "gpuplace.ops.input.csv",
    "gpuplace.ops.input.file_ops",
    "gpuplace.ops.input.parsing",
    "gpuplace.ops.input.parsing_kernels",
    "gpuplace.ops.input.producers",
    "gpuplace.ops.input.queue_kernels",
    "gpuplace.ops.input.queue_runner",
    "gpuplace.ops.input.queues",
    "gpuplace.ops.input.readers",
    "gpuplace.ops.input.record_input",
    "gpuplace.ops.input.staging",
    "gpuplace.ops.input.table_kernels",
    "gpuplace.ops.input.vocab_remapping",
    "gpuplace.ops.losses",
    "gpuplace.ops.math.diagonals",
    "gpuplace.ops.math.spectral",
    "gpuplace.ops.nn.activation",
    "gpuplace.ops.nn.conv",
    "gpuplace.ops.nn.ctc",
    "gpuplace.ops.nn.depthwise",
    "gpuplace.ops.nn.dilation",
    "gpuplace.ops.nn.entropy",
    "gpuplace.ops.quantized.fake",
    "gpuplace.ops.quantized.kernels",
    "gpuplace.ops.random.fractional",
    "gpuplace.ops.nn.misc",
    "gpuplace.ops.nn.norm",
    "gpuplace.ops.nn.patches",
    "gpuplace.ops.nn.pool",
    "gpuplace.ops.nn.sampling",
    "gpuplace.ops.image.volume_patches",
    "gpuplace.ops.nn.volumes",
    "gpuplace.ops.random.gamma_and_poisson",
    "gpuplace.ops.random.stateless",
    "gpuplace.ops.random.unigrams",
    "gpuplace.ops.rnn.block_cells",
    "gpuplace.ops.rnn.fused_lstm",
    "gpuplace.ops.saving",
    "gpuplace.ops.session_tensors",
    "gpuplace.ops.sparse.crossing",
    "gpuplace.ops.sparse.edit_distance",
    "gpuplace.ops.sparse.embedding",
    "gpuplace.ops.sparse.rearranging_kernels",
    "gpuplace.ops.sparse.reductions",
    "gpuplace.ops.sparse.segments",
    "gpuplace.ops.sparse.sparse_kernels",
    "gpuplace.ops.sparse.sparse_ops",
    "gpuplace.ops.sparse.sparse_spec",
    "gpuplace.ops.sparse.sparse_tensor",
    "gpuplace.ops.summaries",
    "gpuplace.ops.text.ngrams",
    "gpuplace.ops.text.raw_bytes",
    "gpuplace.ops.text.regex_and_encoding",
    "gpuplace.ops.text.splitting",
    "gpuplace.ops.text.strings",
    "gpuplace.ops.text.unicode",
    "gpuplace.ops.train.training_ops",
    "gpuplace.ops.uncomputed_shapes",
)
