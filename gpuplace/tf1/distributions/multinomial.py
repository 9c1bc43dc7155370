"""The multinomial distribution.

Source: tensorflow/python/ops/distributions/multinomial.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import int32
from gpuplace.graph.convert import name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import one_hot, ones_like
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.reshaping import identity, reshape, shape, transpose
from gpuplace.ops.flow.higher_order import map_fn
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.matrix import matmul, matrix_set_diag
from gpuplace.ops.math.reduction import reduce_sum
from gpuplace.ops.nn.activation import log_softmax
from gpuplace.ops.random.random_ops import multinomial
from gpuplace.shapes import TensorShape
from gpuplace.tf1.distributions.checks import get_logits_and_probs, log_combinations
from gpuplace.tf1.distributions.dirichlet_multinomial import checked_counts, checked_total_count
from gpuplace.tf1.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from gpuplace.typing import TensorLike


class Multinomial(Distribution):
    """Distributions of class counts.

    Args:
        total_count: number of draws.
        logits: unnormalized log-probabilities, with the classes along the last axis; an alternative to ``probs``.
        probs: probabilities of the classes.
        validate_args: whether to check parameters and values at run time.
        allow_nan_stats: whether an undefined statistic is NaN rather than an error.
        name: name of its scope.

    Raises:
        ValueError: both ``logits`` and ``probs`` are given, or neither.
    """

    def __init__(
        self,
        total_count: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Multinomial",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[total_count, logits, probs]) as scope:
            self._total_count = checked_total_count(total_count, validate_args)
            self._logits, self._probs = get_logits_and_probs(
                logits=logits, probs=probs, multidimensional=True, validate_args=validate_args, name=scope
            )
            self._mean_val = self._total_count[..., None] * self._probs
        super().__init__(
            dtype=self._probs.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._total_count, self._logits, self._probs],
            name=scope,
        )

    @property
    def total_count(self) -> Tensor:
        """Number of draws."""
        return self._total_count

    @property
    def logits(self) -> Tensor:
        """Unnormalized log-probabilities."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """Probabilities of the classes."""
        return self._probs

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self._mean_val)[:-1]

    def _batch_shape(self) -> TensorShape:
        return self._mean_val.shape.with_rank_at_least(1)[:-1]

    def _event_shape_tensor(self) -> Tensor:
        return shape(self._mean_val)[-1:]

    def _event_shape(self) -> TensorShape:
        return self._mean_val.shape.with_rank_at_least(1)[-1:]

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        draws = cast(self.total_count, dtype=int32)
        k = self.event_shape_tensor()[0]
        draws = ones_like(self.logits[..., 0], dtype=draws.dtype) * draws
        logits = ones_like(draws[..., None], dtype=self.logits.dtype) * self.logits
        sizes_of_rows: Any = [-1, k]
        rows = reshape(logits, sizes_of_rows)
        draws_of_rows = n * reshape(draws, [-1])

        def counts_of_row(args: list[Tensor]) -> Tensor:
            drawn = multinomial(args[0][None, ...], args[1], seed)
            drawn = reshape(drawn, shape=[n, -1])
            return reduce_sum(one_hot(drawn, depth=k), axis=-2)

        counts = map_fn(counts_of_row, [rows, draws_of_rows], dtype=self.dtype)
        counts = transpose(counts, perm=[1, 0, 2])
        return reshape(counts, concat([[n], self.batch_shape_tensor(), [k]], 0))

    def _log_prob(self, counts: Tensor) -> Tensor:
        """``counts`` are whole numbers of 0 or more that sum to ``total_count`` along the last axis."""
        seen = self._checked(counts)
        unnormalized = reduce_sum(seen * log_softmax(self.logits), -1)
        return unnormalized - -log_combinations(self.total_count, self._checked(counts))

    def _mean(self) -> Tensor:
        return identity(self._mean_val)

    def _covariance(self) -> Tensor:
        p = self.probs * ones_like(self.total_count)[..., None]
        return matrix_set_diag(-matmul(self._mean_val[..., None], p[..., None, :]), self._variance())

    def _variance(self) -> Tensor:
        p = self.probs * ones_like(self.total_count)[..., None]
        return self._mean_val - self._mean_val * p

    def _checked(self, counts: Tensor) -> Tensor:
        if not self.validate_args:
            return counts
        return checked_counts(counts, self.total_count, "counts must sum to `self.total_count`")
