"""``tf.linalg``: matrices under their shorter names.

Source: tensorflow/_api/v1/linalg, release 1.15 (names).
"""

from typing import TYPE_CHECKING

from gpuplace.lazy import lazy_names as _lazy_names
from gpuplace.ops.array.constant import eye
from gpuplace.ops.array.reshaping import matrix_transpose
from gpuplace.ops.array.reshaping import matrix_transpose as transpose
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
from gpuplace.ops.math.reduction import norm, normalize
from gpuplace.ops.nn.norm import l2_normalize

if TYPE_CHECKING:
    from gpuplace.tf1.api.arithmetic.linear_operators import (
        LinearOperator,
        LinearOperatorAdjoint,
        LinearOperatorBlockDiag,
        LinearOperatorCirculant,
        LinearOperatorCirculant2D,
        LinearOperatorCirculant3D,
        LinearOperatorComposition,
        LinearOperatorDiag,
        LinearOperatorFullMatrix,
        LinearOperatorHouseholder,
        LinearOperatorIdentity,
        LinearOperatorInversion,
        LinearOperatorKronecker,
        LinearOperatorLowerTriangular,
        LinearOperatorLowRankUpdate,
        LinearOperatorScaledIdentity,
        LinearOperatorToeplitz,
        LinearOperatorZeros,
    )
    from gpuplace.tf1.math.matrix_functions import lu, matrix_rank, pinv
    from gpuplace.tf1.math.matrix_functions import matrix_exponential as expm
    from gpuplace.tf1.math.matrix_functions import matrix_logarithm as logm
    from gpuplace.tf1.math.matrix_functions import matrix_solve_ls as lstsq
    from gpuplace.tf1.math.matrix_functions import matrix_square_root as sqrtm
    from gpuplace.tf1.math.tridiagonal import tridiagonal_matmul, tridiagonal_solve
else:  # imported on first use
    __getattr__ = _lazy_names(
        __name__,
        {
            "gpuplace.tf1.api.arithmetic.linear_operators": """
                LinearOperator LinearOperatorAdjoint LinearOperatorBlockDiag LinearOperatorCirculant
                LinearOperatorCirculant2D LinearOperatorCirculant3D LinearOperatorComposition
                LinearOperatorDiag LinearOperatorFullMatrix LinearOperatorHouseholder
                LinearOperatorIdentity LinearOperatorInversion LinearOperatorKronecker
                LinearOperatorLowRankUpdate LinearOperatorLowerTriangular LinearOperatorScaledIdentity
                LinearOperatorToeplitz LinearOperatorZeros
            """,
            "gpuplace.tf1.math.matrix_functions": """
                lu matrix_rank pinv matrix_exponential as expm matrix_logarithm as logm
                matrix_solve_ls as lstsq matrix_square_root as sqrtm
            """,
            "gpuplace.tf1.math.tridiagonal": "tridiagonal_matmul tridiagonal_solve",
        },
    )

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
