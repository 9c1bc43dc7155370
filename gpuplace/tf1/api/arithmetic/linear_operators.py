"""The linear operators of ``tf.linalg``, with the ops that accept them and the rules for combining them."""

from gpuplace.tf1.linear_operators import as_matrices as _as_matrices
from gpuplace.tf1.linear_operators import registrations as _registrations
from gpuplace.tf1.linear_operators.circulant import (
    LinearOperatorCirculant,
    LinearOperatorCirculant2D,
    LinearOperatorCirculant3D,
    LinearOperatorToeplitz,
)
from gpuplace.tf1.linear_operators.identity import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
    LinearOperatorZeros,
)
from gpuplace.tf1.linear_operators.linear_operator import LinearOperator
from gpuplace.tf1.linear_operators.low_rank_update import LinearOperatorLowRankUpdate
from gpuplace.tf1.linear_operators.of_one import LinearOperatorAdjoint, LinearOperatorInversion
from gpuplace.tf1.linear_operators.of_several import (
    LinearOperatorBlockDiag,
    LinearOperatorComposition,
    LinearOperatorKronecker,
)
from gpuplace.tf1.linear_operators.structured import (
    LinearOperatorDiag,
    LinearOperatorFullMatrix,
    LinearOperatorHouseholder,
    LinearOperatorLowerTriangular,
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
]
