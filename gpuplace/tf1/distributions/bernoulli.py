"""The Bernoulli distribution.

Source: tensorflow/python/ops/distributions/bernoulli.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import DType, int32
from gpuplace.dtypes import bool as bool_type
from gpuplace.graph.convert import name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import ones_like
from gpuplace.ops.array.reshaping import identity
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.comparison import less
from gpuplace.ops.math.trigonometry import sigmoid
from gpuplace.ops.nn.activation import softplus
from gpuplace.ops.nn.entropy import sigmoid_cross_entropy_with_logits
from gpuplace.ops.random.random_ops import random_uniform
from gpuplace.tf1.distributions.checks import embed_check_integer_casting_closed, get_logits_and_probs
from gpuplace.tf1.distributions.distribution import NOT_REPARAMETERIZED, ScalarDistribution
from gpuplace.tf1.distributions.kullback_leibler import RegisterKL
from gpuplace.typing import TensorLike


class Bernoulli(ScalarDistribution):
    """Distributions that are one with a probability, and zero otherwise.

    Args:
        logits: log-odds of one; an alternative to ``probs``.
        probs: probabilities of one.
        dtype: dtype of samples.
        validate_args: whether to check parameters and values at run time.
        allow_nan_stats: whether an undefined statistic is NaN rather than an error.
        name: name of its scope.

    Raises:
        ValueError: both ``logits`` and ``probs`` are given, or neither.
    """

    _parameter_names = ("logits",)

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DType = int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name) as scope:
            self._logits, self._probs = get_logits_and_probs(
                logits=logits, probs=probs, validate_args=validate_args, name=scope
            )
        super().__init__(
            dtype=dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._logits, self._probs],
            name=scope,
        )

    @property
    def logits(self) -> Tensor:
        """Log-odds of one."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """Probabilities of one."""
        return self._probs

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        sizes = self._numbered_shape(n)
        drawn = random_uniform(sizes, seed=seed, dtype=self.probs.dtype)
        return cast(less(drawn, self.probs), self.dtype)

    def _log_prob(self, event: Tensor) -> Tensor:
        if self.validate_args:
            event = embed_check_integer_casting_closed(event, target_dtype=bool_type)
        event = cast(event, self.logits.dtype)
        logits = self.logits
        shapes = event.shape, logits.shape
        if not all(shape.is_fully_defined() for shape in shapes) or shapes[0] != shapes[1]:
            logits, event = ones_like(event) * logits, ones_like(logits) * event
        return -sigmoid_cross_entropy_with_logits(labels=event, logits=logits)

    def _entropy(self) -> Tensor:
        return -self.logits * (sigmoid(self.logits) - 1) + softplus(-self.logits)

    def _mean(self) -> Tensor:
        return identity(self.probs)

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self.probs)

    def _mode(self) -> Tensor:
        return cast(self.probs > 0.5, self.dtype)


@RegisterKL(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(a: Bernoulli, b: Bernoulli, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_bernoulli_bernoulli", [a.logits, b.logits]):
        of_zero = softplus(-b.logits) - softplus(-a.logits)
        of_one = softplus(b.logits) - softplus(a.logits)
        return sigmoid(a.logits) * of_zero + sigmoid(-a.logits) * of_one
