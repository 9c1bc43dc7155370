"""The gamma distribution, and its special case, the exponential distribution.

Source: tensorflow/python/ops/distributions/gamma.py and exponential.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import fill, ones
from gpuplace.ops.array.gather import where_v2
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.padding import broadcast_dynamic_shape, broadcast_static_shape
from gpuplace.ops.array.reshaping import shape
from gpuplace.ops.flow.control import with_dependencies
from gpuplace.ops.math.check_ops import assert_less, assert_positive, assert_same_float_dtype
from gpuplace.ops.math.elementwise import xlogy
from gpuplace.ops.math.special import digamma, lgamma
from gpuplace.ops.math.unary import log, sqrt, square
from gpuplace.ops.random.random_ops import random_uniform
from gpuplace.shapes import TensorShape
from gpuplace.tf1.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    ScalarDistribution,
    float_parameters,
)
from gpuplace.tf1.distributions.kullback_leibler import RegisterKL
from gpuplace.tf1.math.incomplete import igamma
from gpuplace.tf1.random.gamma_and_poisson import random_gamma
from gpuplace.typing import TensorLike


class Gamma(ScalarDistribution):
    """Gamma distributions.

    Args:
        concentration: shape parameters; positive.
        rate: inverse scales; positive; the shape broadcasts with that of ``concentration``.
        validate_args: whether to check parameters and values at run time.
        allow_nan_stats: whether an undefined statistic is NaN rather than an error.
        name: name of its scope.

    Raises:
        ValueError: the dtypes of the parameters differ, or are not floating.
    """

    _parameter_names: tuple[str, ...] = ("concentration", "rate")

    def __init__(
        self,
        concentration: TensorLike,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[concentration, rate]) as scope:
            checks = [assert_positive(concentration), assert_positive(rate)] if validate_args else []
            self._concentration, self._rate = float_parameters(checks, concentration=concentration, rate=rate)
        super().__init__(
            dtype=self._concentration.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._concentration, self._rate],
            name=scope,
        )

    @property
    def concentration(self) -> Tensor:
        """Shape parameters."""
        return self._concentration

    @property
    def rate(self) -> Tensor:
        """Inverse scales."""
        return self._rate

    def _batch_shape_tensor(self) -> Tensor:
        return broadcast_dynamic_shape(shape(self.concentration), shape(self.rate))

    def _batch_shape(self) -> TensorShape:
        return broadcast_static_shape(self.concentration.shape, self.rate.shape)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return random_gamma(shape=[n], alpha=self.concentration, beta=self.rate, dtype=self.dtype, seed=seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._checked(x)
        unnormalized = xlogy(self.concentration - 1.0, x) - self.rate * x
        return unnormalized - (lgamma(self.concentration) - self.concentration * log(self.rate))

    def _cdf(self, x: Tensor) -> Tensor:
        x = self._checked(x)
        return igamma(self.concentration, self.rate * x)

    def _entropy(self) -> Tensor:
        entropy = self.concentration - log(self.rate) + lgamma(self.concentration)
        return entropy + (1.0 - self.concentration) * digamma(self.concentration)

    def _mean(self) -> Tensor:
        return self.concentration / self.rate

    def _variance(self) -> Tensor:
        return self.concentration / square(self.rate)

    def _stddev(self) -> Tensor:
        return sqrt(self.concentration) / self.rate

    def _mode(self) -> Tensor:
        """Return the mode, which is defined for a concentration above 1."""
        mode = (self.concentration - 1.0) / self.rate
        if self.allow_nan_stats:
            nan = fill(self.batch_shape_tensor(), self.dtype.as_numpy_dtype(np.nan), name="nan")
            return where_v2(self.concentration > 1.0, mode, nan)
        message = "mode not defined when any concentration <= 1"
        check = assert_less(ones([], self.dtype), self.concentration, message=message)
        return with_dependencies([check], mode)

    def _checked(self, x: Tensor) -> Tensor:
        assert_same_float_dtype([x], self.dtype)
        return with_dependencies([assert_positive(x)], x) if self.validate_args else x


class Exponential(Gamma):
    """Exponential distributions.

    Args:
        rate: inverse scales; positive.
        validate_args: whether to check parameters and values at run time.
        allow_nan_stats: whether an undefined statistic is NaN rather than an error.
        name: name of its scope.

    Raises:
        ValueError: the dtype of ``rate`` is not floating.
    """

    _parameter_names = ("rate",)

    def __init__(
        self,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Exponential",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[rate]) as scope:
            parameter = convert_to_tensor(rate, name="rate")
        super().__init__(
            concentration=ones([], dtype=parameter.dtype),
            rate=parameter,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            name=scope,
        )
        self._parameters = parameters
        self._graph_parents += [self._rate]

    def _log_survival_function(self, value: Tensor) -> Tensor:
        return self._log_prob(value) - log(self._rate)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        sizes = concat([[n], shape(self._rate)], 0)
        least = np.finfo(self.dtype.as_numpy_dtype).tiny  # zero is excluded because its logarithm is infinite
        drawn = random_uniform(sizes, minval=least, maxval=1.0, seed=seed, dtype=self.dtype)
        return -log(drawn) / self._rate


@RegisterKL(Gamma, Gamma)
def _kl_gamma_gamma(g0: Gamma, g1: Gamma, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_gamma_gamma", [g0.concentration, g0.rate, g1.concentration, g1.rate]):
        total = (g0.concentration - g1.concentration) * digamma(g0.concentration)
        total = total + lgamma(g1.concentration)
        total = total - lgamma(g0.concentration)
        total = total + g1.concentration * log(g0.rate)
        total = total - g1.concentration * log(g1.rate)
        return total + g0.concentration * (g1.rate / g0.rate - 1.0)
