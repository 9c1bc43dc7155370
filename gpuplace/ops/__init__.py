"""The op library: one block per op, listed by hand; importing this package registers all of them."""

import gpuplace.ops.array
import gpuplace.ops.cast
import gpuplace.ops.check_ops
import gpuplace.ops.comparison
import gpuplace.ops.constant
import gpuplace.ops.contraction
import gpuplace.ops.control
import gpuplace.ops.elementwise
import gpuplace.ops.gather
import gpuplace.ops.gradient_registry
import gpuplace.ops.joining
import gpuplace.ops.linalg
import gpuplace.ops.matrix
import gpuplace.ops.padding
import gpuplace.ops.random
import gpuplace.ops.reduction
import gpuplace.ops.segments
import gpuplace.ops.sequence
import gpuplace.ops.slicing
import gpuplace.ops.special
import gpuplace.ops.strings
import gpuplace.ops.unary
