"""The Laplace distribution.

Source: tensorflow/python/ops/distributions/laplace.py, release 1.15.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuplace.graph.convert import name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import zeros_like
from gpuplace.ops.math.check_ops import assert_positive
from gpuplace.ops.math.unary import exp, log, log1p, sign
from gpuplace.ops.random.random_ops import random_uniform
from gpuplace.tf1.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    ScalarDistribution,
    float_parameters,
)
from gpuplace.tf1.distributions.special_math import log_cdf_laplace
from gpuplace.typing import TensorLike


class Laplace(ScalarDistribution):
    """Laplace distributions.

    Args:
        loc: means, floating.
        scale: spread; positive; the shape broadcasts with that of ``loc``.
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
        name: str = "Laplace",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[loc, scale]) as scope:
            checks = [assert_positive(scale)] if validate_args else []
            self._loc, self._scale = float_parameters(checks, loc=loc, scale=scale)
        super().__init__(
            dtype=self._loc.dtype,
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
        """The spread."""
        return self._scale

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        number = self.dtype.as_numpy_dtype
        drawn = random_uniform(
            shape=self._numbered_shape(n),
            minval=np.nextafter(number(-1.0), number(0.0)),  # the logarithm of zero is infinite
            maxval=1.0,
            dtype=self.dtype,
            seed=seed,
        )
        return self.loc - self.scale * sign(drawn) * log1p(-abs(drawn))

    def _log_prob(self, x: Tensor) -> Tensor:
        unnormalized = -abs(self._z(x))
        return unnormalized - (math.log(2.0) + log(self.scale))

    def _prob(self, x: Tensor) -> Tensor:
        return exp(self._log_prob(x))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return log_cdf_laplace(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return log_cdf_laplace(-self._z(x))

    def _cdf(self, x: Tensor) -> Tensor:
        z = self._z(x)
        return 0.5 + 0.5 * sign(z) * (1.0 - exp(-abs(z)))

    def _entropy(self) -> Tensor:
        scale = self.scale + zeros_like(self.loc)
        return math.log(2.0) + 1.0 + log(scale)

    def _mean(self) -> Tensor:
        return self.loc + zeros_like(self.scale)

    def _stddev(self) -> Tensor:
        return math.sqrt(2.0) * self.scale + zeros_like(self.loc)

    def _mode(self) -> Tensor:
        return self._mean()

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale
