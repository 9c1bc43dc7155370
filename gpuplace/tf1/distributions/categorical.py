"""The categorical distribution.

Source: tensorflow/python/ops/distributions/categorical.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import DType, int32, int64
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import constant, ones, ones_like, zeros_like
from gpuplace.ops.array.gather import where
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.positions import argmax
from gpuplace.ops.array.reshaping import identity, rank, reshape, shape, transpose
from gpuplace.ops.array.sequence import sequence_mask
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.reduction import reduce_sum
from gpuplace.ops.nn.activation import log_softmax, softmax
from gpuplace.ops.nn.entropy import sparse_softmax_cross_entropy_with_logits
from gpuplace.ops.random.random_ops import multinomial
from gpuplace.shapes import TensorShape, dimension_value
from gpuplace.tf1.distributions.checks import (
    embed_check_categorical_event_shape,
    embed_check_integer_casting_closed,
    get_logits_and_probs,
)
from gpuplace.tf1.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from gpuplace.tf1.distributions.kullback_leibler import RegisterKL
from gpuplace.typing import TensorLike


class Categorical(Distribution):
    """Distributions over the class indices.

    Args:
        logits: unnormalized log-probabilities, with the classes along the last axis; an alternative to ``probs``.
        probs: probabilities of the classes.
        dtype: dtype of samples.
        validate_args: whether to check parameters and values at run time.
        allow_nan_stats: whether an undefined statistic is NaN rather than an error.
        name: name of its scope.

    Raises:
        ValueError: both ``logits`` and ``probs`` are given, or neither.
    """

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DType = int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[logits, probs]) as scope:
            self._logits, self._probs = get_logits_and_probs(
                logits=logits, probs=probs, validate_args=validate_args, multidimensional=True, name=scope
            )
            if validate_args:
                self._logits = embed_check_categorical_event_shape(self._logits)
            self._store_sizes(self._logits.shape.with_rank_at_least(1))
        super().__init__(
            dtype=dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._logits, self._probs],
            name=scope,
        )

    def _store_sizes(self, static: TensorShape) -> None:
        """Store the rank and sizes of the batch and the number of classes, as constants if they are known."""
        if static.ndims is not None:
            self._batch_rank = convert_to_tensor(static.ndims - 1, dtype=int32, name="batch_rank")
        else:
            with name_scope("batch_rank"):
                self._batch_rank = rank(self._logits) - 1
        sizes = shape(self._logits, name="logits_shape")
        classes = dimension_value(static[-1])
        if classes is not None:
            self._event_size = convert_to_tensor(classes, dtype=int32, name="event_size")
        else:
            with name_scope("event_size"):
                self._event_size = sizes[self._batch_rank]
        if static[:-1].is_fully_defined():
            self._batch_sizes = constant(static[:-1].as_list(), dtype=int32, name="batch_shape")
        else:
            with name_scope("batch_shape"):
                self._batch_sizes = sizes[:-1]

    @property
    def event_size(self) -> Tensor:
        """Number of classes, an int32 scalar."""
        return self._event_size

    @property
    def logits(self) -> Tensor:
        """Unnormalized log-probabilities."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """Probabilities of the classes."""
        return self._probs

    def _batch_shape_tensor(self) -> Tensor:
        return identity(self._batch_sizes)

    def _batch_shape(self) -> TensorShape:
        return self.logits.shape[:-1]

    def _event_shape_tensor(self) -> Tensor:
        return constant([], dtype=int32)

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        rows = self.logits
        if rows.shape.ndims != 2:
            sizes_of_rows: Any = [-1, self.event_size]
            rows = reshape(rows, sizes_of_rows)
        drawn_type = int64 if self.dtype.size > 4 else int32
        drawn = multinomial(rows, n, seed=seed, output_dtype=drawn_type)
        drawn = reshape(transpose(drawn), concat([[n], self.batch_shape_tensor()], 0))
        return cast(drawn, self.dtype)

    def _classes(self, k: Any) -> Tensor:
        k = convert_to_tensor(k, name="k")
        return embed_check_integer_casting_closed(k, target_dtype=int32) if self.validate_args else k

    def _cdf(self, k: Any) -> Tensor:
        k, probs = self._broadcast(self._classes(k), self.probs)
        rows = reshape(probs, (-1, self._event_size))
        below = sequence_mask(reshape(k, [-1]), self._event_size)
        sums = reduce_sum(where(below, rows, zeros_like(rows)), axis=-1)
        return reshape(sums, shape(k))

    def _log_prob(self, k: Any) -> Tensor:
        k, logits = self._broadcast(self._classes(k), self.logits)
        return -sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

    def _broadcast(self, event: Tensor, params: Tensor) -> tuple[Tensor, Tensor]:
        """Return values as integers, and parameters, broadcast to one batch shape."""
        if event.dtype.is_floating:
            event = cast(event, dtype=int32)
        elif not event.dtype.is_integer:
            raise TypeError(f"`value` should have integer `dtype` or `self.dtype` ({self.dtype.base_dtype})")
        has_static_shapes = (
            params.shape.ndims is not None
            and params.shape[:-1].is_fully_defined()
            and event.shape.is_fully_defined()
        )
        if has_static_shapes and params.shape[:-1] == event.shape:
            return event, params
        params = params * ones_like(event[..., None], dtype=params.dtype)
        event = event * ones(shape(params)[:-1], dtype=event.dtype)
        if params.shape.ndims is not None:
            event.set_shape(params.shape[:-1])
        return event, params

    def _entropy(self) -> Tensor:
        return -reduce_sum(log_softmax(self.logits) * self.probs, axis=-1)

    def _mode(self) -> Tensor:
        mode = cast(argmax(self.logits, axis=self._batch_rank), self.dtype)
        mode.set_shape(self.batch_shape)
        return mode


@RegisterKL(Categorical, Categorical)
def _kl_categorical_categorical(a: Categorical, b: Categorical, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_categorical_categorical", [a.logits, b.logits]):
        apart = log_softmax(a.logits) - log_softmax(b.logits)
        return reduce_sum(softmax(a.logits) * apart, axis=-1)
