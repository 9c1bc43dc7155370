"""``tf.contrib.distributions``: everything in ``tf.distributions``, and related functions.

Source: tensorflow/contrib/distributions/__init__.py, release 1.15 (names).
"""

import sys as _sys

from gpuplace.api import missing as _missing
from gpuplace.tf1.api.arithmetic.distributions import *
from gpuplace.tf1.api.arithmetic.distributions import __all__ as _all
from gpuplace.tf1.api.contrib.distributions import bijectors
from gpuplace.tf1.distributions.softplus import (
    BetaWithSoftplusConcentration,
    ExponentialWithSoftplusRate,
    GammaWithSoftplusConcentrationRate,
    LaplaceWithSoftplusScale,
    NormalWithSoftplusScale,
    StudentTWithAbsDfSoftplusScale,
)
from gpuplace.tf1.distributions.transformed_distribution import TransformedDistribution
from gpuplace.tf1.distributions.vectors import (
    fill_triangular,
    fill_triangular_inverse,
    matrix_diag_transform,
    reduce_weighted_logsumexp,
    softplus_inverse,
    tridiag,
)

__all__ = [
    *_all, "BetaWithSoftplusConcentration", "ExponentialWithSoftplusRate", "GammaWithSoftplusConcentrationRate",
    "LaplaceWithSoftplusScale", "NormalWithSoftplusScale", "StudentTWithAbsDfSoftplusScale",
    "TransformedDistribution", "bijectors", "fill_triangular", "fill_triangular_inverse", "matrix_diag_transform",
    "reduce_weighted_logsumexp", "softplus_inverse", "tridiag",
]  # fmt: skip

_missing.advise("contrib.distributions", _sys.modules[__name__])
