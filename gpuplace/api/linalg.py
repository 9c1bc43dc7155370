"""``tf.linalg``: matrices under their shorter names."""

from gpuplace.ops.array import matrix_transpose
from gpuplace.ops.constant import eye
from gpuplace.ops.contraction import einsum, tensordot
from gpuplace.ops.linalg import cholesky
from gpuplace.ops.linalg import matrix_solve as solve
from gpuplace.ops.matrix import cross, matmul, matvec, trace
from gpuplace.ops.matrix import diag as tensor_diag
from gpuplace.ops.matrix import diag_part as tensor_diag_part
from gpuplace.ops.matrix import matrix_band_part as band_part
from gpuplace.ops.matrix import matrix_diag as diag
from gpuplace.ops.matrix import matrix_diag_part as diag_part
from gpuplace.ops.matrix import matrix_set_diag as set_diag
from gpuplace.ops.nn_norm import l2_normalize
from gpuplace.ops.reduction import norm

transpose = matrix_transpose

__all__ = [
    "band_part",
    "cholesky",
    "cross",
    "diag",
    "diag_part",
    "einsum",
    "eye",
    "l2_normalize",
    "matmul",
    "matrix_transpose",
    "matvec",
    "norm",
    "set_diag",
    "solve",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "transpose",
]
