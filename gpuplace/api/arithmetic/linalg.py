"""``tf.linalg``: matrices under their shorter names.

Source: tensorflow/_api/v1/linalg, release 1.15 (names).
"""

from gpuplace.ops.array.constant import eye
from gpuplace.ops.array.reshaping import matrix_transpose
from gpuplace.ops.array.reshaping import matrix_transpose as transpose
from gpuplace.ops.math.contraction import einsum, tensordot
from gpuplace.ops.math.factorization import svd
from gpuplace.ops.math.linalg import cholesky
from gpuplace.ops.math.linalg import matrix_solve as solve
from gpuplace.ops.math.matrix import cross, matmul, matvec, trace
from gpuplace.ops.math.matrix import diag as tensor_diag
from gpuplace.ops.math.matrix import diag_part as tensor_diag_part
from gpuplace.ops.math.matrix import matrix_band_part as band_part
from gpuplace.ops.math.matrix import matrix_diag as diag
from gpuplace.ops.math.matrix import matrix_diag_part as diag_part
from gpuplace.ops.math.matrix import matrix_set_diag as set_diag
from gpuplace.ops.math.reduction import norm
from gpuplace.ops.nn.norm import l2_normalize

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
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "transpose",
]
