"""The Dirichlet distribution.

Source: tensorflow/python/ops/distributions/dirichlet.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import fill, ones
from gpuplace.ops.array.gather import where_v2
from gpuplace.ops.array.reshaping import shape
from gpuplace.ops.flow.control import with_dependencies
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.check_ops import assert_less, assert_near, assert_positive, assert_rank_at_least
from gpuplace.ops.math.elementwise import xlogy
from gpuplace.ops.math.matrix import matmul, matrix_set_diag
from gpuplace.ops.math.reduction import reduce_all, reduce_sum
from gpuplace.ops.math.special import digamma, lbeta
from gpuplace.ops.math.unary import exp, rsqrt
from gpuplace.shapes import TensorShape
from gpuplace.tf1.distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from gpuplace.tf1.distributions.kullback_leibler import RegisterKL
from gpuplace.tf1.random.gamma_and_poisson import random_gamma
from gpuplace.typing import TensorLike


class Dirichlet(Distribution):
    """Dirichlet distributions, of vectors of positive numbers that sum to 1.

    Args:
        concentration: positive parameters; the last axis holds one for each element of a vector.
        validate_args: whether to check parameters and values at run time.
        allow_nan_stats: whether an undefined statistic is NaN rather than an error.
        name: name of its scope.
    """

    def __init__(
        self,
        concentration: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Dirichlet",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[concentration]) as scope:
            parameter = convert_to_tensor(concentration, name="concentration")
            self._concentration = self._checked_parameter(parameter) if validate_args else parameter
            self._total_concentration = reduce_sum(self._concentration, -1)
        super().__init__(
            dtype=self._concentration.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._concentration, self._total_concentration],
            name=scope,
        )

    @property
    def concentration(self) -> Tensor:
        """The parameters."""
        return self._concentration

    @property
    def total_concentration(self) -> Tensor:
        """Sums of the parameters over the last axis."""
        return self._total_concentration

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self.total_concentration)

    def _batch_shape(self) -> TensorShape:
        return self.total_concentration.shape

    def _event_shape_tensor(self) -> Tensor:
        return shape(self.concentration)[-1:]

    def _event_shape(self) -> TensorShape:
        return self.concentration.shape.with_rank_at_least(1)[-1:]

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = random_gamma(shape=[n], alpha=self.concentration, dtype=self.dtype, seed=seed)
        return drawn / reduce_sum(drawn, -1, keepdims=True)

    def _log_prob(self, x: Tensor) -> Tensor:
        """``x`` is positive and sums to 1 along the last axis."""
        x = self._checked(x)
        unnormalized = reduce_sum(xlogy(self.concentration - 1.0, x), -1)
        return unnormalized - lbeta(self.concentration)

    def _prob(self, x: Tensor) -> Tensor:
        return exp(self._log_prob(x))

    def _entropy(self) -> Tensor:
        k = cast(self.event_shape_tensor()[0], self.dtype)
        entropy = lbeta(self.concentration)
        entropy = entropy + (self.total_concentration - k) * digamma(self.total_concentration)
        return entropy - reduce_sum((self.concentration - 1.0) * digamma(self.concentration), axis=-1)

    def _mean(self) -> Tensor:
        return self.concentration / self.total_concentration[..., None]

    def _covariance(self) -> Tensor:
        x = self._variance_scale_term() * self._mean()
        return matrix_set_diag(-matmul(x[..., None], x[..., None, :]), self._variance())

    def _variance(self) -> Tensor:
        scale = self._variance_scale_term()
        x = scale * self._mean()
        return x * (scale - x)

    def _variance_scale_term(self) -> Tensor:
        return rsqrt(1.0 + self.total_concentration[..., None])

    def _mode(self) -> Tensor:
        """Return the mode, which is defined if all parameters are above 1."""
        k = cast(self.event_shape_tensor()[0], self.dtype)
        mode = (self.concentration - 1.0) / (self.total_concentration[..., None] - k)
        if self.allow_nan_stats:
            nan = fill(shape(mode), self.dtype.as_numpy_dtype(np.nan), name="nan")
            return where_v2(reduce_all(self.concentration > 1.0, axis=-1), mode, nan)
        message = "Mode undefined when any concentration <= 1"
        check = assert_less(ones([], self.dtype), self.concentration, message=message)
        return with_dependencies([check], mode)

    @staticmethod
    def _checked_parameter(concentration: Tensor) -> Tensor:
        checks = [
            assert_positive(concentration, message="Concentration parameter must be positive."),
            assert_rank_at_least(
                concentration, 1, message="Concentration parameter must have >=1 dimensions."
            ),
            assert_less(
                1, shape(concentration)[-1], message="Concentration parameter must have event_size >= 2."
            ),
        ]
        return with_dependencies(checks, concentration)

    def _checked(self, x: Tensor) -> Tensor:
        if not self.validate_args:
            return x
        positive = assert_positive(x, message="samples must be positive")
        one = ones([], dtype=self.dtype)
        sums = assert_near(one, reduce_sum(x, -1), message="sample last-dimension must sum to `1`")
        return with_dependencies([positive, sums], x)


@RegisterKL(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(d1: Dirichlet, d2: Dirichlet, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_dirichlet_dirichlet", [d1.concentration, d2.concentration]):
        of_sum = digamma(reduce_sum(d1.concentration, axis=-1, keepdims=True))
        of_each = digamma(d1.concentration) - of_sum
        apart = d1.concentration - d2.concentration
        divergence = reduce_sum(apart * of_each, axis=-1) - lbeta(d1.concentration)
        return divergence + lbeta(d2.concentration)
