"""The op library: one block per op, listed by hand; importing this package registers all of them.

Modules listed at the end are imported when their names are used or when a graph needs an op that no other module has.
"""

from importlib.util import find_spec

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
import gpuplace.ops.math.linalg
import gpuplace.ops.math.matrix
import gpuplace.ops.math.reduction
import gpuplace.ops.math.segments
import gpuplace.ops.math.special
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
from gpuplace.lazy import LIBRARY, wait_for_a_miss

wait_for_a_miss(
    "gpuplace.ops.losses",
    "gpuplace.ops.nn.activation",
    "gpuplace.ops.nn.conv",
    "gpuplace.ops.nn.depthwise",
    "gpuplace.ops.nn.entropy",
    "gpuplace.ops.nn.misc",
    "gpuplace.ops.nn.norm",
    "gpuplace.ops.nn.pool",
    "gpuplace.ops.nn.volumes",
    "gpuplace.ops.saving",
    "gpuplace.ops.sparse.sparse_spec",
    "gpuplace.ops.sparse.sparse_tensor",
    "gpuplace.ops.summaries",
    "gpuplace.ops.text.strings",
    "gpuplace.ops.train.training_ops",
    "gpuplace.ops.uncomputed_shapes",
)
if find_spec(LIBRARY) is not None:
    wait_for_a_miss(f"{LIBRARY}.op_modules")
