"""The normal distribution.

Source: tensorflow/python/ops/distributions/normal.py, release 1.15.
"""

from __future__ import annotations

import math
from typing import Any

from gpuplace.graph.convert import name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import constant, ones_like
from gpuplace.ops.math.check_ops import assert_positive
from gpuplace.ops.math.elementwise import squared_difference
from gpuplace.ops.math.unary import log, square
from gpuplace.ops.random.random_ops import random_normal
from gpuplace.tf1.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    ScalarDistribution,
    float_parameters,
)
from gpuplace.tf1.distributions.kullback_leibler import RegisterKL
from gpuplace.tf1.distributions.special_math import log_ndtr, ndtr, ndtri
from gpuplace.typing import TensorLike


class Normal(ScalarDistribution):
    """Normal distributions.

    >>> import gpuplace as tf
    >>> policy = tf.distributions.Normal(loc=[1.0, 2.0], scale=0.5)
    >>> policy.log_prob(policy.sample()).shape
    TensorShape([Dimension(2)])

    Args:
        loc: means, floating.
        scale: standard deviations; positive; the shape broadcasts with that of ``loc``.
        validate_args: whether to check ``scale`` at run time.
        allow_nan_stats: whether an undefined statistic is NaN rather than an error.
        name: name of its scope.

    Raises:
        ValueError: the dtypes of ``loc`` and ``scale`` differ, or are not floating.
    """

    _parameter_names = ("loc", "scale")

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Normal",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[loc, scale]) as scope:
            checks = [assert_positive(scale)] if validate_args else []
            self._loc, self._scale = float_parameters(checks, loc=loc, scale=scale)
        super().__init__(
            dtype=self._scale.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._loc, self._scale],
            name=scope,
        )

    @property
    def loc(self) -> Tensor:
        """The means."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations."""
        return self._scale

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        sizes = self._numbered_shape(n)
        drawn = random_normal(shape=sizes, mean=0.0, stddev=1.0, dtype=self.loc.dtype, seed=seed)
        return drawn * self.scale + self.loc

    def _log_prob(self, x: Tensor) -> Tensor:
        unnormalized = -0.5 * square(self._z(x))
        return unnormalized - (0.5 * math.log(2.0 * math.pi) + log(self.scale))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return log_ndtr(self._z(x))

    def _cdf(self, x: Tensor) -> Tensor:
        return ndtr(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return log_ndtr(-self._z(x))

    def _survival_function(self, x: Tensor) -> Tensor:
        return ndtr(-self._z(x))

    def _entropy(self) -> Tensor:
        scale = self.scale * ones_like(self.loc)
        return 0.5 * math.log(2.0 * math.pi * math.e) + log(scale)

    def _mean(self) -> Tensor:
        return self.loc * ones_like(self.scale)

    def _quantile(self, p: Tensor) -> Tensor:
        z = ndtri(p)
        with name_scope("reconstruct", values=[z]):
            return z * self.scale + self.loc

    def _stddev(self) -> Tensor:
        return self.scale * ones_like(self.loc)

    def _mode(self) -> Tensor:
        return self._mean()

    def _z(self, x: Tensor) -> Tensor:
        """Return the distance from the mean in standard deviations."""
        with name_scope("standardize", values=[x]):
            return (x - self.loc) / self.scale


@RegisterKL(Normal, Normal)
def _kl_normal_normal(n_a: Normal, n_b: Normal, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_normal_normal", [n_a.loc, n_b.loc]):
        one, two, half = (constant(value, dtype=n_a.dtype) for value in (1, 2, 0.5))
        variance_a, variance_b = square(n_a.scale), square(n_b.scale)
        ratio = variance_a / variance_b
        apart = squared_difference(n_a.loc, n_b.loc) / (two * variance_b)
        return apart + half * (ratio - one - log(ratio))
