"""``tf.linalg``: matrices under their shorter names.

Source: tensorflow/_api/v1/linalg, release 1.15 (names).
"""

from gpuplace.ops.array.constant import eye
from gpuplace.ops.array.reshaping import matrix_transpose
from gpuplace.ops.array.reshaping import matrix_transpose as transpose
from gpuplace.ops.linear_operators import as_matrices as _as_matrices
from gpuplace.ops.linear_operators import registrations as _registrations
from gpuplace.ops.linear_operators.circulant import (
    LinearOperatorCirculant,
    LinearOperatorCirculant2D,
    LinearOperatorCirculant3D,
    LinearOperatorToeplitz,
)
from gpuplace.ops.linear_operators.identity import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
    LinearOperatorZeros,
)
from gpuplace.ops.linear_operators.linear_operator import LinearOperator
from gpuplace.ops.linear_operators.low_rank_update import LinearOperatorLowRankUpdate
from gpuplace.ops.linear_operators.of_one import LinearOperatorAdjoint, LinearOperatorInversion
from gpuplace.ops.linear_operators.of_several import (
    LinearOperatorBlockDiag,
    LinearOperatorComposition,
    LinearOperatorKronecker,
)
from gpuplace.ops.linear_operators.structured import (
    LinearOperatorDiag,
    LinearOperatorFullMatrix,
    LinearOperatorHouseholder,
    LinearOperatorLowerTriangular,
)
from gpuplace.ops.math.clip_ops import global_norm
from gpuplace.ops.math.contraction import einsum, tensordot
from gpuplace.ops.math.factorization import qr, svd
from gpuplace.ops.math.factorization import self_adjoint_eig as eigh
from gpuplace.ops.math.factorization import self_adjoint_eigvals as eigvalsh
from gpuplace.ops.math.linalg import adjoint, cholesky, cholesky_solve, logdet
from gpuplace.ops.math.linalg import log_matrix_determinant as slogdet
from gpuplace.ops.math.linalg import matrix_determinant as det
from gpuplace.ops.math.linalg import matrix_inverse as inv
from gpuplace.ops.math.linalg import matrix_solve as solve
from gpuplace.ops.math.linalg import matrix_triangular_solve as triangular_solve
from gpuplace.ops.math.matrix import cross, matmul, matvec, trace
from gpuplace.ops.math.matrix import diag as tensor_diag
from gpuplace.ops.math.matrix import diag_part as tensor_diag_part
from gpuplace.ops.math.matrix import matrix_band_part as band_part
from gpuplace.ops.math.matrix import matrix_diag as diag
from gpuplace.ops.math.matrix import matrix_diag_part as diag_part
from gpuplace.ops.math.matrix import matrix_set_diag as set_diag
from gpuplace.ops.math.matrix_functions import lu, matrix_rank, pinv
from gpuplace.ops.math.matrix_functions import matrix_exponential as expm
from gpuplace.ops.math.matrix_functions import matrix_logarithm as logm
from gpuplace.ops.math.matrix_functions import matrix_solve_ls as lstsq
from gpuplace.ops.math.matrix_functions import matrix_square_root as sqrtm
from gpuplace.ops.math.reduction import norm, normalize
from gpuplace.ops.math.tridiagonal import tridiagonal_matmul, tridiagonal_solve
from gpuplace.ops.nn.norm import l2_normalize

__all__ = [
    "LinearOperator",
    "LinearOperatorAdjoint",
    "LinearOperatorBlockDiag",
    "LinearOperatorCirculant",
    "LinearOperatorCirculant2D",
    "LinearOperatorCirculant3D",
    "LinearOperatorComposition",
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorHouseholder",
    "LinearOperatorIdentity",
    "LinearOperatorInversion",
    "LinearOperatorKronecker",
    "LinearOperatorLowRankUpdate",
    "LinearOperatorLowerTriangular",
    "LinearOperatorScaledIdentity",
    "LinearOperatorToeplitz",
    "LinearOperatorZeros",
    "adjoint",
    "band_part",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eigh",
    "eigvalsh",
    "einsum",
    "expm",
    "global_norm",
    "eye",
    "inv",
    "l2_normalize",
    "logdet",
    "logm",
    "lstsq",
    "lu",
    "matmul",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "pinv",
    "qr",
    "set_diag",
    "slogdet",
    "solve",
    "sqrtm",
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "transpose",
    "triangular_solve",
    "tridiagonal_matmul",
    "tridiagonal_solve",
]
