"""The uniform distribution.

Source: tensorflow/python/ops/distributions/uniform.py, release 1.15.
"""

from __future__ import annotations

import math
from typing import Any

from gpuplace.graph.convert import name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import ones, ones_like, zeros, zeros_like
from gpuplace.ops.array.gather import where_v2
from gpuplace.ops.array.padding import broadcast_dynamic_shape
from gpuplace.ops.array.reshaping import shape
from gpuplace.ops.math.check_ops import assert_less
from gpuplace.ops.math.comparison import logical_or
from gpuplace.ops.math.unary import is_nan, log, square
from gpuplace.ops.random.random_ops import random_uniform
from gpuplace.tf1.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    ScalarDistribution,
    float_parameters,
)
from gpuplace.typing import TensorLike


class Uniform(ScalarDistribution):
    """Uniform distributions, from ``low`` to ``high``, ``high`` excluded.

    Args:
        low: the lower limits.
        high: the upper limits; the shape broadcasts with that of ``low``.
        validate_args: whether to check ``low < high`` at run time.
        allow_nan_stats: whether an undefined statistic is NaN rather than an error.
        name: name of its scope.

    Raises:
        InvalidArgumentError: at run time, with ``validate_args``: ``low`` is not below ``high``.
    """

    _parameter_names = ("low", "high")

    def __init__(
        self,
        low: TensorLike = 0.0,
        high: TensorLike = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Uniform",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[low, high]) as scope:
            message = "uniform not defined when low >= high."
            checks = [assert_less(low, high, message=message)] if validate_args else []
            self._low, self._high = float_parameters(checks, low=low, high=high)
        super().__init__(
            dtype=self._low.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._low, self._high],
            name=scope,
        )

    @property
    def low(self) -> Tensor:
        """The lower limits."""
        return self._low

    @property
    def high(self) -> Tensor:
        """The upper limits."""
        return self._high

    def range(self, name: str = "range") -> Tensor:
        """Return ``high - low``.

        Args:
            name: name of the scope.
        """
        with self._name_scope(name):
            return self.high - self.low

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = random_uniform(shape=self._numbered_shape(n), dtype=self.dtype, seed=seed)
        return self.low + self.range() * drawn

    def _prob(self, x: Tensor) -> Tensor:
        x = x * ones(self.batch_shape_tensor(), dtype=x.dtype)
        unknown = is_nan(x)
        outside = logical_or(x < self.low, x >= self.high)
        inside_or_not = where_v2(outside, zeros_like(x), ones_like(x) / self.range())
        return where_v2(unknown, x, inside_or_not)

    def _cdf(self, x: Tensor) -> Tensor:
        sizes = broadcast_dynamic_shape(shape(x), self.batch_shape_tensor())
        none, all_of_it = zeros(sizes, dtype=self.dtype), ones(sizes, dtype=self.dtype)
        wide = x * all_of_it
        below = x < self.low
        not_above = where_v2(below, none, (wide - self.low) / self.range())
        return where_v2(x >= self.high, all_of_it, not_above)

    def _entropy(self) -> Tensor:
        return log(self.range())

    def _mean(self) -> Tensor:
        return (self.low + self.high) / 2.0

    def _variance(self) -> Tensor:
        return square(self.range()) / 12.0

    def _stddev(self) -> Tensor:
        return self.range() / math.sqrt(12.0)
