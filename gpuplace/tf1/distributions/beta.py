"""The beta distribution.

Source: tensorflow/python/ops/distributions/beta.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import fill, ones, ones_like
from gpuplace.ops.array.gather import where_v2
from gpuplace.ops.array.reshaping import shape
from gpuplace.ops.flow.control import with_dependencies
from gpuplace.ops.math.check_ops import assert_less, assert_positive, assert_same_float_dtype
from gpuplace.ops.math.comparison import logical_and
from gpuplace.ops.math.elementwise import xlogy
from gpuplace.ops.math.special import digamma, lgamma
from gpuplace.ops.math.unary import exp, log, log1p
from gpuplace.shapes import TensorShape
from gpuplace.tf1.distributions.checks import gen_new_seed
from gpuplace.tf1.distributions.distribution import FULLY_REPARAMETERIZED, ScalarDistribution
from gpuplace.tf1.distributions.kullback_leibler import RegisterKL
from gpuplace.tf1.math.incomplete import betainc
from gpuplace.tf1.random.gamma_and_poisson import random_gamma
from gpuplace.typing import TensorLike


class Beta(ScalarDistribution):
    """Beta distributions, of numbers between 0 and 1.

    Args:
        concentration1: the parameters that pull towards 1; positive.
        concentration0: the parameters that pull towards 0; positive; the shapes broadcast.
        validate_args: whether to check parameters and values at run time.
        allow_nan_stats: whether an undefined statistic is NaN rather than an error.
        name: name of its scope.

    Raises:
        ValueError: the dtypes of the parameters differ, or are not floating.
    """

    _parameter_names = ("concentration1", "concentration0")

    def __init__(
        self,
        concentration1: TensorLike | None = None,
        concentration0: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[concentration1, concentration0]) as scope:
            both = []
            parameter: Any
            for parameter, of_it in ((concentration1, "concentration1"), (concentration0, "concentration0")):
                both.append(checked_concentration(convert_to_tensor(parameter, name=of_it), validate_args))
            self._concentration1, self._concentration0 = both
            assert_same_float_dtype(both)
            self._total_concentration = self._concentration1 + self._concentration0
        super().__init__(
            dtype=self._total_concentration.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._concentration1, self._concentration0, self._total_concentration],
            name=scope,
        )

    @property
    def concentration1(self) -> Tensor:
        """The parameters that pull towards 1."""
        return self._concentration1

    @property
    def concentration0(self) -> Tensor:
        """The parameters that pull towards 0."""
        return self._concentration0

    @property
    def total_concentration(self) -> Tensor:
        """The sum of both parameters."""
        return self._total_concentration

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self.total_concentration)

    def _batch_shape(self) -> TensorShape:
        return self.total_concentration.shape

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        total = self.total_concentration
        wide1, wide0 = (
            ones_like(total, dtype=self.dtype) * one for one in (self.concentration1, self.concentration0)
        )
        gamma1 = random_gamma(shape=[n], alpha=wide1, dtype=self.dtype, seed=seed)
        seed0 = gen_new_seed(seed, "beta")
        gamma0 = random_gamma(shape=[n], alpha=wide0, dtype=self.dtype, seed=seed0)
        return gamma1 / (gamma1 + gamma0)

    def _log_prob(self, x: Tensor) -> Tensor:
        """``x`` has the distribution's dtype and is between 0 and 1."""
        x = self._checked(x)
        towards1 = xlogy(self.concentration1 - 1.0, x)
        return towards1 + (self.concentration0 - 1.0) * log1p(-x) - self._log_normalization()

    def _prob(self, x: Tensor) -> Tensor:
        return exp(self._log_prob(x))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return log(self._cdf(x))

    def _cdf(self, x: Tensor) -> Tensor:
        return betainc(self.concentration1, self.concentration0, x)

    def _log_normalization(self) -> Tensor:
        return lgamma(self.concentration1) + lgamma(self.concentration0) - lgamma(self.total_concentration)

    def _entropy(self) -> Tensor:
        entropy = self._log_normalization()
        entropy = entropy - (self.concentration1 - 1.0) * digamma(self.concentration1)
        entropy = entropy - (self.concentration0 - 1.0) * digamma(self.concentration0)
        return entropy + (self.total_concentration - 2.0) * digamma(self.total_concentration)

    def _mean(self) -> Tensor:
        return self.concentration1 / self.total_concentration

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self._mean()) / (1.0 + self.total_concentration)

    def _mode(self) -> Tensor:
        """Return the mode, which is defined if both parameters are above 1."""
        mode = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        both = self.concentration1, self.concentration0
        if self.allow_nan_stats:
            nan = fill(self.batch_shape_tensor(), self.dtype.as_numpy_dtype(np.nan), name="nan")
            return where_v2(logical_and(both[0] > 1.0, both[1] > 1.0), mode, nan)
        checks = []
        for one, of_it in zip(both, ("concentration1", "concentration0"), strict=True):
            message = f"Mode undefined for {of_it} <= 1."
            checks.append(assert_less(ones([], dtype=self.dtype), one, message=message))
        return with_dependencies(checks, mode)

    def _checked(self, x: Tensor) -> Tensor:
        if not self.validate_args:
            return x
        positive = assert_positive(x, message="sample must be positive")
        below = assert_less(x, ones([], self.dtype), message="sample must be less than `1`.")
        return with_dependencies([positive, below], x)


def checked_concentration(concentration: Tensor, validate_args: bool) -> Tensor:
    """Return a parameter that is checked to be positive at run time.

    Args:
        concentration: the parameter.
        validate_args: whether to check it.
    """
    if not validate_args:
        return concentration
    check = assert_positive(concentration, message="Concentration parameter must be positive.")
    return with_dependencies([check], concentration)


@RegisterKL(Beta, Beta)
def _kl_beta_beta(d1: Beta, d2: Beta, name: str | None = None) -> Tensor:
    names = ("concentration1", "concentration0", "total_concentration")
    first, second = ([getattr(one, name) for name in names] for one in (d1, d2))
    with name_scope(name, "kl_beta_beta", [*first, *second]):
        normalization2 = d2._log_normalization()
        divergence = normalization2 - d1._log_normalization()
        for own, others, sign in zip(first, second, "--+", strict=True):
            term = digamma(own) * (others - own)
            divergence = divergence - term if sign == "-" else divergence + term
        return divergence
