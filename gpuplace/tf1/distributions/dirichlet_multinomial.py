"""The Dirichlet-multinomial distribution.

Source: tensorflow/python/ops/distributions/dirichlet_multinomial.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import int32
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import one_hot
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.reshaping import reshape, shape
from gpuplace.ops.flow.control import with_dependencies
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.check_ops import assert_equal
from gpuplace.ops.math.matrix import matmul, matrix_set_diag
from gpuplace.ops.math.reduction import reduce_sum
from gpuplace.ops.math.special import lbeta
from gpuplace.ops.math.unary import exp, log, sqrt
from gpuplace.ops.random.random_ops import multinomial
from gpuplace.shapes import TensorShape
from gpuplace.tf1.distributions.beta import checked_concentration
from gpuplace.tf1.distributions.checks import (
    embed_check_categorical_event_shape,
    embed_check_nonnegative_integer_form,
    gen_new_seed,
    log_combinations,
)
from gpuplace.tf1.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from gpuplace.tf1.random.gamma_and_poisson import random_gamma
from gpuplace.typing import TensorLike


class DirichletMultinomial(Distribution):
    """Distributions of class counts whose probabilities are first drawn from a Dirichlet distribution.

    Args:
        total_count: number of draws.
        concentration: the Dirichlet distribution's parameters; the last axis holds one for each class.
        validate_args: whether to check parameters and values at run time.
        allow_nan_stats: whether an undefined statistic is NaN rather than an error.
        name: name of its scope.
    """

    def __init__(
        self,
        total_count: TensorLike,
        concentration: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[total_count, concentration]) as scope:
            self._total_count = checked_total_count(total_count, validate_args)
            parameter = convert_to_tensor(concentration, name="concentration")
            if validate_args:
                parameter = embed_check_categorical_event_shape(parameter)
            self._concentration = checked_concentration(parameter, validate_args)
            self._total_concentration = reduce_sum(self._concentration, -1)
        super().__init__(
            dtype=self._concentration.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._total_count, self._concentration],
            name=scope,
        )

    @property
    def total_count(self) -> Tensor:
        """Number of draws."""
        return self._total_count

    @property
    def concentration(self) -> Tensor:
        """The parameters, one for each class."""
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
        draws = cast(self.total_count, dtype=int32)
        k = self.event_shape_tensor()[0]
        gammas = random_gamma(shape=[n], alpha=self.concentration, dtype=self.dtype, seed=seed)
        sizes_of_rows: Any = [-1, k]
        logits = reshape(log(gammas), shape=sizes_of_rows)
        drawn = multinomial(
            logits=logits, num_samples=draws, seed=gen_new_seed(seed, salt="dirichlet_multinomial")
        )
        counts = reduce_sum(one_hot(drawn, depth=k), -2)
        sizes = concat([[n], self.batch_shape_tensor(), [k]], 0)
        return cast(reshape(counts, sizes), self.dtype)

    def _log_prob(self, counts: Tensor) -> Tensor:
        """``counts`` are whole numbers of 0 or more that sum to ``total_count`` along the last axis."""
        if self.validate_args:
            message = "counts last-dimension must sum to `self.total_count`"
            counts = checked_counts(counts, self.total_count, message)
        of_one_order = lbeta(self.concentration + counts) - lbeta(self.concentration)
        return of_one_order + log_combinations(self.total_count, counts)

    def _prob(self, counts: Tensor) -> Tensor:
        return exp(self._log_prob(counts))

    def _mean(self) -> Tensor:
        return self.total_count * (self.concentration / self.total_concentration[..., None])

    def _covariance(self) -> Tensor:
        x = self._variance_scale_term() * self._mean()
        return matrix_set_diag(-matmul(x[..., None], x[..., None, :]), self._variance())

    def _variance(self) -> Tensor:
        scale = self._variance_scale_term()
        x = scale * self._mean()
        return x * (self.total_count * scale - x)

    def _variance_scale_term(self) -> Tensor:
        total = self.total_concentration[..., None]
        return sqrt((1.0 + total / self.total_count) / (1.0 + total))


def checked_total_count(total_count: TensorLike, validate_args: bool) -> Tensor:
    """Return a number of draws as a tensor that is checked at run time to be a whole number of 0 or more.

    Args:
        total_count: the number.
        validate_args: whether to check it.
    """
    count = convert_to_tensor(total_count, name="total_count")
    return embed_check_nonnegative_integer_form(count) if validate_args else count


def checked_counts(counts: Tensor, total_count: Tensor, message: str) -> Tensor:
    """Return counts that are checked at run time to be whole numbers of 0 or more with the right sum.

    Args:
        counts: the count of each class, along the last axis.
        total_count: their sum.
        message: error message for a wrong sum.
    """
    counts = embed_check_nonnegative_integer_form(counts)
    check = assert_equal(total_count, reduce_sum(counts, -1), message=message)
    return with_dependencies([check], counts)
