"""``tf.math``: arithmetic, comparisons, reductions and other mathematical functions.

Source: tensorflow/_api/v1/math, release 1.15 (names).
"""

from typing import TYPE_CHECKING

from gpuplace.lazy import lazy_names as _lazy_names
from gpuplace.ops.array.positions import argmax, argmin, invert_permutation
from gpuplace.ops.array.running import cumprod, cumsum, cumulative_logsumexp
from gpuplace.ops.array.sequence import bincount
from gpuplace.ops.gradients.indexed_slices import unsorted_segment_sum
from gpuplace.ops.math.check_ops import is_non_decreasing, is_strictly_increasing
from gpuplace.ops.math.comparison import *
from gpuplace.ops.math.confusion_matrix import confusion_matrix
from gpuplace.ops.math.division import reciprocal_no_nan
from gpuplace.ops.math.elementwise import *
from gpuplace.ops.math.elementwise import div_no_nan as divide_no_nan
from gpuplace.ops.math.matrix import *
from gpuplace.ops.math.reduction import *
from gpuplace.ops.math.segments import *
from gpuplace.ops.math.special import *
from gpuplace.ops.math.trigonometry import *
from gpuplace.ops.math.unary import *
from gpuplace.ops.nn.activation import log_softmax, softmax, softplus, softsign
from gpuplace.ops.nn.misc import in_top_k, top_k
from gpuplace.ops.nn.norm import l2_normalize
from gpuplace.ops.nn.statistics import zero_fraction

if TYPE_CHECKING:
    from gpuplace.tf1.math.incomplete import (
        bessel_i0,
        bessel_i0e,
        bessel_i1,
        bessel_i1e,
        betainc,
        igamma,
        igammac,
        polygamma,
        zeta,
    )
    from gpuplace.tf1.math.neighbors import nextafter
else:  # imported on first use
    __getattr__ = _lazy_names(
        __name__,
        {
            "gpuplace.tf1.math.incomplete": """
                betainc igamma igammac polygamma zeta bessel_i0 bessel_i0e bessel_i1 bessel_i1e
            """,
            "gpuplace.tf1.math.neighbors": "nextafter",
        },
    )

# fmt: off
__all__ = [
    "abs", "accumulate_n", "acos", "acosh", "add", "add_n", "add_v2", "angle", "approximate_equal",
    "argmax", "argmin", "asin", "asinh", "atan", "atan2", "atanh", "batch_matmul",
    "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e",
    "betainc", "bincount", "bitwise_and", "bitwise_or", "bitwise_xor", "ceil", "clip_by_norm", "clip_by_value",
    "complex", "confusion_matrix", "conj", "cos", "cosh", "count_nonzero", "cross", "cumprod", "cumsum",
    "cumulative_logsumexp", "diag", "diag_part", "digamma",
    "div", "div_no_nan", "divide", "divide_no_nan", "equal", "erf", "erfc", "exp", "expm1", "floor",
    "floor_div", "floordiv", "floormod", "greater", "greater_equal", "igamma", "igammac", "imag", "in_top_k", "invert",
    "invert_permutation", "is_finite", "is_inf", "is_nan", "is_non_decreasing", "is_strictly_increasing",
    "l2_normalize", "lbeta", "left_shift", "less", "less_equal", "lgamma", "log", "log1p", "log_sigmoid",
    "log_softmax", "logical_and", "logical_not", "logical_or", "logical_xor", "matmul",
    "matrix_band_part", "matrix_diag", "matrix_diag_part", "matrix_set_diag", "matvec", "maximum",
    "minimum", "mod", "multiply", "multiply_no_nan", "negative", "nextafter", "norm", "not_equal",
    "polygamma", "polyval", "pow",
    "real", "realdiv", "reciprocal", "reciprocal_no_nan", "reduce_all", "reduce_any", "reduce_euclidean_norm",
    "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_std",
    "reduce_sum", "reduce_variance", "right_shift", "rint", "round", "rsqrt", "scalar_mul", "segment_max",
    "segment_mean", "segment_min", "segment_prod", "segment_sum", "sigmoid", "sign", "sin", "sinh",
    "softmax", "softplus", "softsign", "sparse_matmul", "sqrt", "square", "squared_difference",
    "subtract", "tan", "tanh", "top_k", "trace", "truediv", "truncatediv", "truncatemod",
    "unsorted_segment_max", "unsorted_segment_mean", "unsorted_segment_min", "unsorted_segment_prod",
    "unsorted_segment_sqrt_n", "unsorted_segment_sum", "xdivy", "xlogy", "zero_fraction", "zeta",
]
# fmt: on
