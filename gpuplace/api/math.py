"""``tf.math``: arithmetic, comparisons, reductions, and what else counts as mathematics.

Source: tensorflow/_api/v1/math, release 1.15 (names).
"""

from gpuplace.ops.array.sequence import argmax, argmin, bincount, cumprod, cumsum, invert_permutation
from gpuplace.ops.gradients.indexed_slices import unsorted_segment_sum
from gpuplace.ops.math.check_ops import is_non_decreasing, is_strictly_increasing
from gpuplace.ops.math.comparison import *
from gpuplace.ops.math.elementwise import *
from gpuplace.ops.math.elementwise import div_no_nan as divide_no_nan
from gpuplace.ops.math.matrix import *
from gpuplace.ops.math.reduction import *
from gpuplace.ops.math.segments import *
from gpuplace.ops.math.special import *
from gpuplace.ops.math.unary import *
from gpuplace.ops.nn.activation import log_softmax, softmax, softplus, softsign
from gpuplace.ops.nn.misc import in_top_k, top_k
from gpuplace.ops.nn.norm import l2_normalize
