"""``tf.math``: arithmetic, comparisons, reductions, and what else counts as mathematics."""

from gpuplace.ops.check_ops import is_non_decreasing, is_strictly_increasing
from gpuplace.ops.comparison import *
from gpuplace.ops.elementwise import *
from gpuplace.ops.elementwise import div_no_nan as divide_no_nan
from gpuplace.ops.indexed_slices import unsorted_segment_sum
from gpuplace.ops.matrix import *
from gpuplace.ops.nn_activation import log_softmax, softmax, softplus, softsign
from gpuplace.ops.nn_misc import in_top_k, top_k
from gpuplace.ops.nn_norm import l2_normalize
from gpuplace.ops.reduction import *
from gpuplace.ops.segments import *
from gpuplace.ops.sequence import argmax, argmin, bincount, cumprod, cumsum, invert_permutation
from gpuplace.ops.special import *
from gpuplace.ops.unary import *
