"""Student's t distribution.

Source: tensorflow/python/ops/distributions/student_t.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.graph.convert import name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import fill, ones, ones_like
from gpuplace.ops.array.gather import where_v2
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.reshaping import identity
from gpuplace.ops.flow.control import with_dependencies
from gpuplace.ops.math.check_ops import assert_less, assert_positive
from gpuplace.ops.math.comparison import greater, less
from gpuplace.ops.math.special import digamma, lbeta, lgamma
from gpuplace.ops.math.unary import log, log1p, rsqrt, square
from gpuplace.ops.random.random_ops import random_normal
from gpuplace.tf1.distributions.checks import gen_new_seed
from gpuplace.tf1.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    ScalarDistribution,
    float_parameters,
)
from gpuplace.tf1.math.incomplete import betainc
from gpuplace.tf1.random.gamma_and_poisson import random_gamma
from gpuplace.typing import TensorLike


class StudentT(ScalarDistribution):
    """Student's t distributions with location and scale.

    Args:
        df: degrees of freedom; positive.
        loc: the center.
        scale: the scale; the shapes of all three broadcast.
        validate_args: whether to check ``df`` at run time.
        allow_nan_stats: whether an undefined statistic is NaN rather than an error.
        name: name of its scope.

    Raises:
        ValueError: the dtypes of the parameters differ, or are not floating.
    """

    _parameter_names = ("df", "loc", "scale")

    def __init__(
        self,
        df: TensorLike,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentT",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[df, loc, scale]) as scope:
            checks = [assert_positive(df)] if validate_args else []
            self._df, self._loc, self._scale = float_parameters(checks, df=df, loc=loc, scale=scale)
        super().__init__(
            dtype=self._scale.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._df, self._loc, self._scale],
            name=scope,
        )

    @property
    def df(self) -> Tensor:
        """Degrees of freedom."""
        return self._df

    @property
    def loc(self) -> Tensor:
        """The center."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """The scale."""
        return self._scale

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        normal = random_normal(self._numbered_shape(n), dtype=self.dtype, seed=seed)
        df = self.df * ones(self.batch_shape_tensor(), dtype=self.dtype)
        gamma = random_gamma(
            [n], 0.5 * df, beta=0.5, dtype=self.dtype, seed=gen_new_seed(seed, salt="student_t")
        )
        drawn = normal * rsqrt(gamma / df)
        return drawn * self.scale + self.loc

    def _log_prob(self, x: Tensor) -> Tensor:
        y = (x - self.loc) / self.scale
        unnormalized = -0.5 * (self.df + 1.0) * log1p(y**2.0 / self.df)
        normalization = log(abs(self.scale)) + 0.5 * log(self.df)
        normalization = normalization + 0.5 * np.log(np.pi)
        normalization = normalization + lgamma(0.5 * self.df)
        return unnormalized - (normalization - lgamma(0.5 * (self.df + 1.0)))

    def _cdf(self, x: Tensor) -> Tensor:
        y = (x - self.loc) / abs(self.scale)
        at = self.df / (y**2.0 + self.df)
        outside = 0.5 * betainc(0.5 * self.df, 0.5, at)
        return where_v2(less(y, 0.0), outside, 1.0 - outside)

    def _entropy(self) -> Tensor:
        one = ones(self.batch_shape_tensor(), dtype=self.dtype)[..., None]
        df = one * self.df[..., None]
        halves = concat([df, one], -1) / 2.0
        entropy = log(abs(self.scale)) + 0.5 * log(self.df)
        entropy = entropy + lbeta(halves)
        factor = 0.5 * (self.df + 1.0)
        return entropy + factor * (digamma(0.5 * (self.df + 1.0)) - digamma(0.5 * self.df))

    def _mean(self) -> Tensor:
        """Return ``loc`` if ``df`` is above 1; otherwise the mean is undefined."""
        mean = self.loc * ones(self.batch_shape_tensor(), dtype=self.dtype)
        return self._where_defined(mean, "mean")

    def _variance(self) -> Tensor:
        """Return ``scale ** 2 * df / (df - 2)`` if ``df`` is above 2, infinity above 1; otherwise it is undefined."""
        denominator = where_v2(greater(self.df, 2.0), self.df - 2.0, ones_like(self.df))
        wide = ones(self.batch_shape_tensor(), dtype=self.dtype)
        variance = wide * square(self.scale) * self.df / denominator
        finite = self.df > fill(self.batch_shape_tensor(), 2.0)
        infinite = fill(self.batch_shape_tensor(), self.dtype.as_numpy_dtype(np.inf), name="inf")
        return self._where_defined(where_v2(finite, variance, infinite), "variance")

    def _where_defined(self, value: Tensor, what: str) -> Tensor:
        if self.allow_nan_stats:
            defined = greater(self.df, ones(self.batch_shape_tensor(), dtype=self.dtype))
            nan = fill(self.batch_shape_tensor(), self.dtype.as_numpy_dtype(np.nan), name="nan")
            return where_v2(defined, value, nan)
        message = f"{what} not defined for components of df <= 1"
        return with_dependencies([assert_less(ones([], dtype=self.dtype), self.df, message=message)], value)

    def _mode(self) -> Tensor:
        return identity(self.loc)
