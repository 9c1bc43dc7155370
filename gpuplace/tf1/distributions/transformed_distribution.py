"""The distribution of the images of another distribution's samples under a bijector.

The base distribution may be a scalar one that is sampled repeatedly to form a batch or an event with more
axes. The axes of an event then come first and are moved after the batch::

    drawn [event..., n, batch...]  --rotate-->  [n, batch..., event...]

Shapes that are known while the graph is built need no operations.

Source: tensorflow/python/ops/distributions/transformed_distribution.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.dtypes import int32
from gpuplace.graph.constant_value import constant_value_as_shape, static_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import constant, ones, ones_like, zeros
from gpuplace.ops.array.constant import range as numbers
from gpuplace.ops.array.gather import where_v2
from gpuplace.ops.array.joining import concat, stack
from gpuplace.ops.array.padding import broadcast_static_shape, tile
from gpuplace.ops.array.reshaping import rank, reshape, shape, size, transpose
from gpuplace.ops.flow.control import with_dependencies
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.check_ops import assert_equal, assert_positive, assert_rank
from gpuplace.ops.math.comparison import equal, logical_and, logical_not
from gpuplace.ops.math.reduction import reduce_all, reduce_logsumexp, reduce_prod, reduce_sum
from gpuplace.ops.math.unary import exp
from gpuplace.shapes import TensorShape
from gpuplace.tf1.distributions.bijector import Bijector, Identity
from gpuplace.tf1.distributions.distribution import Distribution
from gpuplace.tf1.distributions.vectors import pick_vector, prefer_static_value
from gpuplace.typing import SizesLike, TensorLike


class TransformedDistribution(Distribution):
    """Distributions of ``bijector.forward(x)``, where ``x`` is a sample of a base distribution.

    Args:
        distribution: the base distribution.
        bijector: the bijector; None for the identity.
        batch_shape: sizes of a batch, for a single base distribution.
        event_shape: sizes of an event, for a scalar base distribution.
        validate_args: whether to check arguments at run time.
        name: name of its scope; None for the joined names of both.

    Raises:
        ValueError: a shape is given, but the base distribution is not scalar or not single.
    """

    def __init__(
        self,
        distribution: Distribution,
        bijector: Bijector | None = None,
        batch_shape: SizesLike | None = None,
        event_shape: SizesLike | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        parameters = dict(locals())
        name = name or ("" if bijector is None else bijector.name) + distribution.name
        with name_scope(name, values=[event_shape, batch_shape]) as scope:
            self._zero = constant(0, dtype=int32, name="zero")
            self._empty = constant([], dtype=int32, name="empty")
            if bijector is None:
                bijector = Identity(validate_args=validate_args)
            self._override_batch_shape = self._override(
                batch_shape, distribution.is_scalar_batch(), validate_args, "batch_shape"
            )
            self._is_batch_override = self._is_not_empty(self._override_batch_shape)
            self._override_event_shape = self._override(
                event_shape, distribution.is_scalar_event(), validate_args, "event_shape"
            )
            self._is_event_override = self._is_not_empty(self._override_event_shape)
            self._needs_rotation = _logical_and(
                self._is_event_override,
                _logical_not(self._is_batch_override),
                _logical_not(distribution.is_scalar_batch()),
            )
            of_events = _length(self._override_event_shape)
            self._rotate_ndims = _chosen(self._needs_rotation, of_events, 0)
            self._reduced_axes = numbers(self._rotate_ndims - of_events, self._rotate_ndims)
        self._distribution = distribution
        self._bijector = bijector
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=distribution.reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats,
            parameters=parameters,
            graph_parents=[*distribution._graph_parents, *bijector.graph_parents],
            name=scope,
        )

    @property
    def distribution(self) -> Distribution:
        """The base distribution."""
        return self._distribution

    @property
    def bijector(self) -> Bijector:
        """The bijector."""
        return self._bijector

    def _override(self, override: Any, base_is_scalar: Tensor, validate_args: bool, name: str) -> Tensor:
        """Return a shape override as a checked tensor; ``self._empty`` if there is none."""
        sizes = convert_to_tensor([] if override is None else override, dtype=int32, name=name)
        is_empty = _equal(_length(sizes), 0)
        if static_value(is_empty):
            return self._empty
        checks = []
        if sizes.shape.ndims is None:
            if validate_args:
                checks.append(assert_rank(sizes, 1, message="shape override must be a vector"))
        elif sizes.shape.ndims != 1:
            raise ValueError("shape override must be a vector")
        static_sizes, message = static_value(sizes), "shape override must have positive elements"
        if static_sizes is None:
            if validate_args:
                checks.append(assert_positive(sizes, message=message))
        elif (static_sizes <= 0).any():
            raise ValueError(message)
        both = _logical_and(_logical_not(base_is_scalar), _logical_not(is_empty))
        refused, message = static_value(both), "base distribution not scalar"
        if refused is None:
            if validate_args:
                checks.append(assert_equal(both, False, message=message))
        elif refused:
            raise ValueError(message)
        return with_dependencies(checks, sizes) if checks else sizes

    def _is_not_empty(self, sizes: Tensor) -> Tensor:
        return _logical_not(_equal(_length(sizes), self._zero))

    @property
    def _may_override_event(self) -> bool:
        return _may_have_elements(self._override_event_shape)

    # Shapes

    def _event_shape_tensor(self) -> Tensor:
        return self.bijector.forward_event_shape_tensor(
            pick_vector(
                self._is_event_override, self._override_event_shape, self.distribution.event_shape_tensor()
            )
        )

    def _event_shape(self) -> TensorShape:
        static = constant_value_as_shape(self._override_event_shape)
        return self.bijector.forward_event_shape(
            static if self._may_override_event else self.distribution.event_shape
        )

    def _batch_shape_tensor(self) -> Tensor:
        batch_sizes: Tensor = pick_vector(
            self._is_batch_override, self._override_batch_shape, self.distribution.batch_shape_tensor()
        )
        return batch_sizes

    def _batch_shape(self) -> TensorShape:
        static = constant_value_as_shape(self._override_batch_shape)
        return static if _may_have_elements(self._override_batch_shape) else self.distribution.batch_shape

    # Samples and probabilities

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        first = pick_vector(self._needs_rotation, self._empty, [n])
        last = pick_vector(self._needs_rotation, [n], self._empty)
        sizes = _concat(first, self._override_batch_shape, self._override_event_shape, last)
        return self._rotated(self.distribution.sample(sample_shape=sizes, seed=seed))

    def _call_sample_n(self, sample_shape: Any, seed: int | None, name: str, **kwargs: Any) -> Tensor:
        with self._name_scope(name, [sample_shape]):
            sizes, count = self._sample_sizes(sample_shape)
            points = self._reshaped(self._sample_n(count, seed, **kwargs), sizes)
            # The bijector sees samples in their final shape, because it caches them for `log_prob`.
            images = self.bijector.forward(points, **kwargs)
            return self._set_sample_static_shape(images, sizes)

    def _log_prob(self, y: Tensor) -> Tensor:
        log_prob = self._of_points(y, lambda x, ildj, axes: self._log_prob_of_one(y, x, ildj, axes))
        return reduce_logsumexp(stack(log_prob), axis=0) if isinstance(log_prob, list) else log_prob

    def _log_prob_of_one(self, y: Tensor, x: Tensor, ildj: Tensor, event_ndims: Any) -> Tensor:
        log_prob = self.distribution.log_prob(self._rotated(x, back=True))
        if self._may_override_event:
            log_prob = reduce_sum(log_prob, self._reduced_axes)
        return self._with_batch_shape(log_prob + cast(ildj, log_prob.dtype), y, event_ndims)

    def _prob(self, y: Tensor) -> Tensor:
        prob = self._of_points(y, lambda x, ildj, axes: self._prob_of_one(y, x, ildj, axes))
        return sum(prob) if isinstance(prob, list) else prob  # type: ignore[return-value]

    def _prob_of_one(self, y: Tensor, x: Tensor, ildj: Tensor, event_ndims: Any) -> Tensor:
        prob = self.distribution.prob(self._rotated(x, back=True))
        if self._may_override_event:
            prob = reduce_prod(prob, self._reduced_axes)
        return self._with_batch_shape(prob * exp(cast(ildj, prob.dtype)), y, event_ndims)

    def _of_points(self, y: Tensor, function: Callable[[Tensor, Tensor, Any], Tensor]) -> Any:
        """Return a function of the point that is mapped to ``y``, or a list of its values at all such points."""
        x = self.bijector.inverse(y)
        axes = self._event_ndims()
        ildj = self.bijector.inverse_log_det_jacobian(y, event_ndims=axes)
        if self.bijector._is_injective:
            return function(x, ildj, axes)
        return [function(one, of_one, axes) for one, of_one in zip(x, ildj, strict=True)]

    def _event_ndims(self) -> Any:
        if self.event_shape.ndims is not None:
            return self.event_shape.ndims
        return prefer_static_value(size(self.event_shape_tensor()))

    def _with_batch_shape(self, result: Tensor, y: Tensor, event_ndims: Any) -> Tensor:
        if self._may_override_event and isinstance(event_ndims, int):
            before = y.shape.with_rank_at_least(1)[:-event_ndims]
            result.set_shape(broadcast_static_shape(before, self.batch_shape))
        return result

    def _log_cdf(self, y: Tensor) -> Tensor:
        return self.distribution.log_cdf(self._one_point(y, "log_cdf"))

    def _cdf(self, y: Tensor) -> Tensor:
        return self.distribution.cdf(self._one_point(y, "cdf"))

    def _log_survival_function(self, y: Tensor) -> Tensor:
        return self.distribution.log_survival_function(self._one_point(y, "log_survival_function"))

    def _survival_function(self, y: Tensor) -> Tensor:
        return self.distribution.survival_function(self._one_point(y, "survival_function"))

    def _quantile(self, value: Tensor) -> Tensor:
        self._refuse_several("quantile")
        return self.bijector.forward(self.distribution.quantile(value))

    def _one_point(self, y: Tensor, what: str) -> Tensor:
        self._refuse_several(what)
        point: Tensor = self.bijector.inverse(y)
        return point

    def _refuse_several(self, what: str) -> None:
        """Raise an error for a quantity that is only defined for scalar events and injective bijectors."""
        if self._may_override_event:
            raise NotImplementedError(f"{what} is not implemented when overriding event_shape")
        self._refuse_several_points(what)

    def _refuse_several_points(self, what: str) -> None:
        if not self.bijector._is_injective:
            raise NotImplementedError(f"{what} is not implemented when bijector is not injective.")

    def _entropy(self) -> Tensor:
        if not self.bijector.is_constant_jacobian:
            raise NotImplementedError("entropy is not implemented")
        self._refuse_several_points("entropy")
        entropy = self.distribution.entropy()
        if self._may_override_event:
            entropy = entropy * cast(reduce_prod(self._override_event_shape), entropy.dtype.base_dtype)
        if _may_have_elements(self._override_batch_shape):
            ahead = _ones_of_length(self._override_batch_shape)
            entropy = reshape(entropy, concat([ahead, self.distribution.batch_shape_tensor()], 0))
            behind = _ones_of_length(self.distribution.batch_shape_tensor())
            entropy = tile(entropy, concat([self._override_batch_shape, behind], 0))
        sizes = concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        anywhere = zeros(shape=sizes, dtype=self.dtype)
        axes: Any = self.event_shape.ndims
        if axes is None:
            axes = size(self.event_shape_tensor())
        ildj = self.bijector.inverse_log_det_jacobian(anywhere, event_ndims=axes)
        entropy = entropy - cast(ildj, entropy.dtype)
        entropy.set_shape(self.batch_shape)
        return entropy

    def _rotated(self, x: Tensor, back: bool = False) -> Tensor:
        """Move the event axes after the batch axes, or back."""
        needed = static_value(self._needs_rotation)
        if needed is not None and not needed:
            return x
        axes = rank(x)
        first = axes - self._rotate_ndims if back else self._rotate_ndims
        return transpose(x, _concat(numbers(first, axes), numbers(0, first)))


# Constant folding: known values give constants


def _value(x: TensorLike) -> Any:
    return static_value(convert_to_tensor(x))


def _logical_and(*args: Tensor) -> Tensor:
    values = [_value(arg) for arg in args]
    if any(value is not None and not value for value in values):
        return constant(False)
    if all(value is not None for value in values):
        return constant(True)
    return logical_and(*args) if len(args) == 2 else reduce_all(args)


def _logical_not(x: Tensor) -> Tensor:
    value = _value(x)
    return logical_not(x) if value is None else constant(np.logical_not(value))


def _equal(x: TensorLike, y: TensorLike) -> Tensor:
    values = _value(x), _value(y)
    if values[0] is None or values[1] is None:
        return equal(x, y)
    return constant(np.array_equal(values[0], values[1]))


def _chosen(condition: Tensor, one: Any, other: Any) -> Any:
    value = _value(condition)
    if value is None:
        return where_v2(condition, one, other)
    return one if value else other


def _concat(*vectors: Any) -> Tensor:
    values = [_value(vector) for vector in vectors]
    if any(value is None for value in values):
        return concat(vectors, 0)
    return constant([element for value in values for element in value])


def _ones_of_length(x: Tensor) -> Tensor:
    return ones(x.shape.as_list(), dtype=x.dtype) if x.shape.is_fully_defined() else ones_like(x)


def _length(sizes: Tensor) -> Tensor:
    """Return the number of axes of a shape."""
    if sizes.shape.ndims not in (None, 1):
        raise ValueError("input is not a valid shape: not 1D")
    if not sizes.dtype.is_integer:
        raise TypeError("input is not a valid shape: wrong dtype")
    static_length = sizes.shape.num_elements()
    if static_length is not None:
        return constant(static_length)
    return shape(sizes)[0]


def _may_have_elements(sizes: Tensor) -> bool:
    static_sizes = static_value(sizes)
    return static_sizes is None or static_sizes.size != 0
