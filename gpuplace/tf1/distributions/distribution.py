"""Base class of all distributions: samples, probabilities and statistics, and their shapes.

A distribution has three shapes, whose concatenation is the shape of a sample::

    sample_shape        batch_shape                 event_shape
    number of samples   number of distributions     one sample: () for scalars, (k,) for vectors

Public methods open a scope (``Normal/log_prob``) and call the private method of the same name. Subclasses
define these private methods. If one is missing, another may replace it: ``prob`` is ``exp`` of ``log_prob``,
for example.

Source: tensorflow/python/ops/distributions/distribution.py, release 1.15.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpuplace.dtypes import DType, int32
from gpuplace.graph.constant_value import static_value
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import constant
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.padding import broadcast_dynamic_shape, broadcast_static_shape
from gpuplace.ops.array.reshaping import identity, rank, reshape, shape
from gpuplace.ops.math.check_ops import assert_same_float_dtype
from gpuplace.ops.math.comparison import equal
from gpuplace.ops.math.reduction import reduce_prod
from gpuplace.ops.math.unary import exp, log, log1p, sqrt, square
from gpuplace.ops.variables.variables import Variable
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.tf1.distributions import kullback_leibler
from gpuplace.tf1.distributions.vectors import pick_vector
from gpuplace.typing import ShapeLike, SizesLike, TensorLike


class ReparameterizationType:
    """Whether samples are differentiable functions of the parameters.

    The two instances, ``FULLY_REPARAMETERIZED`` and ``NOT_REPARAMETERIZED``, are equal only to themselves.

    Args:
        rep_type: its name.
    """

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameteriation Type: {self._rep_type}>"

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


class Distribution:
    """A batch of distributions of one family; the base of all families.

    >>> import gpuplace as tf
    >>> normal = tf.distributions.Normal(loc=[0.0, 1.0], scale=2.0)
    >>> normal.batch_shape, normal.event_shape, normal.sample(3).shape
    (TensorShape([Dimension(2)]), TensorShape([]), TensorShape([Dimension(3), Dimension(2)]))

    A subclass defines ``_sample_n``, ``_log_prob``, ``_mean`` and so on, without the argument ``name``.

    Args:
        dtype: dtype of samples; None for any.
        reparameterization_type: whether gradients flow through samples.
        validate_args: whether to check parameters and values at run time.
        allow_nan_stats: whether an undefined statistic is NaN rather than an error.
        parameters: the constructor's arguments by name, for ``copy``.
        graph_parents: tensors that it depends on.
        name: name of its scope; None for the class name.

    Raises:
        ValueError: an element of ``graph_parents`` is not a tensor.
    """

    def __init__(
        self,
        dtype: DType | None,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any] | None = None,
        graph_parents: list[Any] | None = None,
        name: str | None = None,
    ) -> None:
        self._graph_parents = graph_parents or []
        check_graph_parents(self._graph_parents)
        if not name or not name.endswith("/"):
            with name_scope(name or type(self).__name__) as scope:
                name = scope
        self._dtype = dtype
        self._reparameterization_type = reparameterization_type
        self._allow_nan_stats = allow_nan_stats
        self._validate_args = validate_args
        self._parameters = parameters or {}
        self._name = name

    # Properties

    @property
    def _parameters(self) -> dict[str, Any]:
        return self._parameter_dict

    @_parameters.setter
    def _parameters(self, value: dict[str, Any]) -> None:
        self._parameter_dict = {
            name: argument for name, argument in value.items() if name != "self" and not name.startswith("__")
        }

    @property
    def name(self) -> str:
        """The scope of its operations, with a final slash."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The dtype of samples."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments, by name."""
        return dict(self._parameters)

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        """Whether gradients flow through samples to the parameters."""
        return self._reparameterization_type

    @property
    def allow_nan_stats(self) -> bool:
        """Whether an undefined statistic is NaN rather than an error."""
        return self._allow_nan_stats

    @property
    def validate_args(self) -> bool:
        """Whether parameters and values are checked at run time."""
        return self._validate_args

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        """Return a distribution of the same class with the same constructor arguments.

        Args:
            **override_parameters_kwargs: arguments that replace the original ones.
        """
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    def __str__(self) -> str:
        batch = "" if self.batch_shape.ndims is None else f", batch_shape={self.batch_shape}"
        event = "" if self.event_shape.ndims is None else f", event_shape={self.event_shape}"
        return (
            f'tfp.distributions.{type(self).__name__}("{self.name}"{batch}{event}, dtype={self.dtype.name})'
        )

    def __repr__(self) -> str:
        return (
            f"<tfp.distributions.{type(self).__name__} '{self.name}' batch_shape={self.batch_shape}"
            f" event_shape={self.event_shape} dtype={self.dtype.name}>"
        )

    # Shapes

    @classmethod
    def param_shapes(
        cls, sample_shape: SizesLike, name: str = "DistributionParamShapes"
    ) -> dict[str, Tensor]:
        """Return the parameter shapes that give samples of a certain shape.

        Args:
            sample_shape: desired sizes of ``sample()``.
            name: name of the scope.

        Returns:
            Dict from parameter name to a vector of sizes.
        """
        with name_scope(name, values=[sample_shape]):
            return cls._param_shapes(sample_shape)

    @classmethod
    def param_static_shapes(cls, sample_shape: ShapeLike) -> dict[str, TensorShape]:
        """Return the parameter shapes as far as they are known without running the graph.

        Args:
            sample_shape: desired sizes of ``sample()``.

        Raises:
            ValueError: the shapes are unknown.
        """
        sizes: Any = sample_shape
        if isinstance(sizes, TensorShape):
            if not sizes.is_fully_defined():
                raise ValueError("TensorShape sample_shape must be fully defined")
            sizes = sizes.as_list()
        shapes = {}
        for name, needed in cls.param_shapes(sizes).items():
            value = static_value(needed)
            if value is None:
                raise ValueError("sample_shape must be a fully-defined TensorShape or list/tuple")
            shapes[name] = TensorShape(value)
        return shapes

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        raise NotImplementedError("_param_shapes not implemented")

    @property
    def batch_shape(self) -> TensorShape:
        """The shape of the batch of distributions, as far as it is known."""
        return as_shape(self._batch_shape())

    @property
    def event_shape(self) -> TensorShape:
        """The shape of one sample of one distribution, as far as it is known."""
        return as_shape(self._event_shape())

    def _batch_shape(self) -> Any:
        return TensorShape(None)

    def _event_shape(self) -> Any:
        return TensorShape(None)

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Return the batch shape as an int32 vector.

        Args:
            name: name of the scope.
        """
        return self._shape_tensor("batch_shape", name)

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """Return the event shape as an int32 vector.

        Args:
            name: name of the scope.
        """
        return self._shape_tensor("event_shape", name)

    def _shape_tensor(self, method: str, name: str) -> Tensor:
        with self._name_scope(name):
            static: TensorShape = getattr(self, method)
            if static.is_fully_defined():
                sizes: Any = static.as_list()
                return convert_to_tensor(sizes, dtype=int32, name=method)
            dynamic: Tensor = self._own(f"{method}_tensor")
            return dynamic

    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        """Return whether a sample of one distribution is a scalar, as a boolean tensor.

        Args:
            name: name of the scope.
        """
        return self._is_scalar(self.event_shape, self.event_shape_tensor, name, "is_scalar_event")

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Tensor:
        """Return whether the batch has a single distribution, as a boolean tensor.

        Args:
            name: name of the scope.
        """
        return self._is_scalar(self.batch_shape, self.batch_shape_tensor, name, "is_scalar_batch")

    def _is_scalar(
        self, static: TensorShape, make_tensor: Callable[[], Tensor], name: str, of_constant: str
    ) -> Tensor:
        with self._name_scope(name):
            is_scalar: Any
            if static.ndims is not None:
                is_scalar = static.ndims == 0
            else:
                sizes = make_tensor()
                length = sizes.shape.as_list() if sizes.shape.ndims is not None else [None]
                is_scalar = length == [0] if length[0] is not None else equal(shape(sizes)[0], 0)
            return convert_to_tensor(is_scalar, name=of_constant)

    # Samples

    def sample(
        self, sample_shape: SizesLike = (), seed: int | None = None, name: str = "sample", **kwargs: Any
    ) -> Tensor:
        """Return samples.

        Args:
            sample_shape: number of samples of each distribution: an integer or sizes.
            seed: seed of the operation.
            name: name of the scope.
            **kwargs: arguments of subclasses, for ``_sample_n``.

        Returns:
            A tensor of shape ``sample_shape + batch_shape + event_shape``.

        Raises:
            ValueError: ``sample_shape`` is neither a number nor a vector.
        """
        return self._call_sample_n(sample_shape, seed, name, **kwargs)

    def _call_sample_n(self, sample_shape: Any, seed: int | None, name: str, **kwargs: Any) -> Tensor:
        with self._name_scope(name, [sample_shape]):
            sizes, count = self._sample_sizes(sample_shape)
            drawn = self._reshaped(self._own("sample_n", count, seed, **kwargs), sizes)
            return self._set_sample_static_shape(drawn, sizes)

    @staticmethod
    def _reshaped(drawn: Tensor, sample_sizes: Tensor) -> Tensor:
        """Reshape samples from one axis to the sample shape."""
        of_one = shape(drawn)[1:]
        return reshape(drawn, concat([sample_sizes, of_one], 0))

    def _sample_sizes(self, sample_shape: Any) -> tuple[Tensor, Any]:
        """Return the sample sizes as a vector, and their product."""
        sizes = convert_to_tensor(sample_shape, dtype=int32, name="sample_shape")
        static_sizes = static_value(sizes)
        count: Any = reduce_prod(sizes) if static_sizes is None else np.prod(static_sizes, dtype=np.int32)
        rank_of_sizes = sizes.shape.ndims
        if rank_of_sizes is None:
            is_number = equal(rank(sizes), 0)
            new_shape = pick_vector(is_number, np.array([1], np.int32), shape(sizes))
            sizes = reshape(sizes, new_shape)
        elif rank_of_sizes == 0:
            if static_sizes is None:
                sizes = reshape(sizes, [1])
            else:
                sizes = convert_to_tensor(np.array([static_sizes], np.int32), name="sample_shape")
        elif rank_of_sizes != 1:
            raise ValueError("Input is neither scalar nor vector.")
        return sizes, count

    def _set_sample_static_shape(self, x: Tensor, sample_shape: Tensor) -> Tensor:
        """Set the static shape of a sample as far as it is known."""
        static_sizes = static_value(sample_shape)
        sample = TensorShape(None if static_sizes is None else static_sizes)
        parts = [sample, self.batch_shape, self.event_shape]
        ranks = [part.ndims for part in parts]
        whole = x.shape.ndims
        if whole is None and None not in ranks:
            whole = sum(rank_of_part for rank_of_part in ranks if rank_of_part is not None)
        if whole is None:
            return x
        if ranks.count(None) == 1:
            missing = ranks.index(None)
            ranks[missing] = whole - sum(rank_of_part or 0 for rank_of_part in ranks)
        before, after = ranks[0], ranks[2]
        known_ends = [
            (part, before_it, whole - before_it - part.ndims)
            for part, before_it in zip(
                parts, (0, before, whole - after if after is not None else None), strict=True
            )
            if part.ndims is not None and before_it is not None
        ]
        for part, ahead, behind in known_ends:
            around = TensorShape([None] * ahead).concatenate(part).concatenate([None] * behind)
            x.set_shape(x.shape.merge_with(around))
        return x

    # Probabilities

    def log_prob(self, value: TensorLike, name: str = "log_prob", **kwargs: Any) -> Tensor:
        """Return the log-probability, or the log-density, at values.

        Args:
            value: numbers whose shape broadcasts with the batch and event shapes.
            name: name of the scope.
            **kwargs: arguments of subclasses, for ``_log_prob``.
        """
        return self._of_value("log_prob", value, name, log, "prob", kwargs)

    def prob(self, value: TensorLike, name: str = "prob", **kwargs: Any) -> Tensor:
        """Return the probability, or the density, at values.

        Args:
            value: numbers whose shape broadcasts with the batch and event shapes.
            name: name of the scope.
            **kwargs: arguments of subclasses, for ``_prob``.
        """
        return self._of_value("prob", value, name, exp, "log_prob", kwargs)

    def log_cdf(self, value: TensorLike, name: str = "log_cdf", **kwargs: Any) -> Tensor:
        """Return the logarithm of the probability of at most a value.

        Args:
            value: numbers whose shape broadcasts with the batch and event shapes.
            name: name of the scope.
            **kwargs: arguments of subclasses, for ``_log_cdf``.
        """
        return self._of_value("log_cdf", value, name, log, "cdf", kwargs)

    def cdf(self, value: TensorLike, name: str = "cdf", **kwargs: Any) -> Tensor:
        """Return the probability of at most a value.

        Args:
            value: numbers whose shape broadcasts with the batch and event shapes.
            name: name of the scope.
            **kwargs: arguments of subclasses, for ``_cdf``.
        """
        return self._of_value("cdf", value, name, exp, "log_cdf", kwargs)

    def log_survival_function(
        self, value: TensorLike, name: str = "log_survival_function", **kwargs: Any
    ) -> Tensor:
        """Return the logarithm of the probability of more than a value.

        Args:
            value: numbers whose shape broadcasts with the batch and event shapes.
            name: name of the scope.
            **kwargs: arguments of subclasses.
        """
        with self._name_scope(name, [value]):
            value = convert_to_tensor(value, name="value", preferred_dtype=self.dtype)
            return first_implemented(
                lambda: self._own("log_survival_function", value, **kwargs),
                lambda: log1p(-self.cdf(value, **kwargs)),
            )

    def survival_function(self, value: TensorLike, name: str = "survival_function", **kwargs: Any) -> Tensor:
        """Return the probability of more than a value.

        Args:
            value: numbers whose shape broadcasts with the batch and event shapes.
            name: name of the scope.
            **kwargs: arguments of subclasses.
        """
        with self._name_scope(name, [value]):
            value = convert_to_tensor(value, name="value", preferred_dtype=self.dtype)
            return first_implemented(
                lambda: self._own("survival_function", value, **kwargs),
                lambda: 1.0 - self.cdf(value, **kwargs),
            )

    def quantile(self, value: TensorLike, name: str = "quantile", **kwargs: Any) -> Tensor:
        """Return the inverse of ``cdf`` at probabilities.

        Args:
            value: probabilities whose shape broadcasts with the batch shape.
            name: name of the scope.
            **kwargs: arguments of subclasses, for ``_quantile``.
        """
        return self._of_value("quantile", value, name, None, "", kwargs)

    def _of_value(
        self,
        method: str,
        value: TensorLike,
        name: str,
        function: Callable[[Tensor], Tensor] | None,
        of: str,
        kwargs: dict[str, Any],
    ) -> Tensor:
        """Return the class's own result for a value, or else ``function`` of a related result."""
        with self._name_scope(name, [value]):
            value = convert_to_tensor(value, name="value", preferred_dtype=self.dtype)
            if function is None:
                return self._own(method, value, **kwargs)
            return first_implemented(
                lambda: self._own(method, value, **kwargs),
                lambda: function(self._own(of, value, **kwargs)),
            )

    # Statistics

    def entropy(self, name: str = "entropy") -> Tensor:
        """Return the entropy in nats, with the batch shape.

        Args:
            name: name of the scope.
        """
        return self._statistic("entropy", name)

    def mean(self, name: str = "mean") -> Tensor:
        """Return the mean, with the batch and event shape.

        Args:
            name: name of the scope.
        """
        return self._statistic("mean", name)

    def variance(self, name: str = "variance") -> Tensor:
        """Return the variance, with the batch and event shape.

        Args:
            name: name of the scope.
        """
        return self._statistic("variance", name, square, "stddev")

    def stddev(self, name: str = "stddev") -> Tensor:
        """Return the standard deviation, with the batch and event shape.

        Args:
            name: name of the scope.
        """
        return self._statistic("stddev", name, sqrt, "variance")

    def covariance(self, name: str = "covariance") -> Tensor:
        """Return the covariance matrices of an event's elements, with the batch shape in front.

        Args:
            name: name of the scope.
        """
        return self._statistic("covariance", name)

    def mode(self, name: str = "mode") -> Tensor:
        """Return the point of highest probability, with the batch and event shape.

        Args:
            name: name of the scope.
        """
        return self._statistic("mode", name)

    def _statistic(
        self, method: str, name: str, function: Callable[[Tensor], Tensor] | None = None, of: str = ""
    ) -> Tensor:
        with self._name_scope(name):
            if function is None:
                return self._own(method)
            return first_implemented(lambda: self._own(method), lambda: function(self._own(of)))

    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> Tensor:
        """Return the cross entropy of this distribution and another.

        Args:
            other: the other distribution.
            name: name of the scope.

        Raises:
            NotImplementedError: no divergence is registered for the two classes.
        """
        with self._name_scope(name):
            return self._cross_entropy(other)

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Tensor:
        """Return the Kullback-Leibler divergence from this distribution to another.

        Args:
            other: the other distribution.
            name: name of the scope.

        Raises:
            NotImplementedError: no divergence is registered for the two classes.
        """
        with self._name_scope(name):
            return self._kl_divergence(other)

    def _cross_entropy(self, other: Distribution) -> Tensor:
        return kullback_leibler.cross_entropy(self, other, allow_nan_stats=self.allow_nan_stats)

    def _kl_divergence(self, other: Distribution) -> Tensor:
        return kullback_leibler.kl_divergence(self, other, allow_nan_stats=self.allow_nan_stats)

    # Internals

    def _own(self, method_name: str, *arguments: Any, **kwargs: Any) -> Any:
        """Return the result of the class's own method."""
        method = getattr(self, f"_{method_name}", None)
        if method is None:
            raise NotImplementedError(f"{method_name} is not implemented: {type(self).__name__}")
        return method(*arguments, **kwargs)

    @contextlib.contextmanager
    def _name_scope(self, name: str | None = None, values: list[Any] | None = None) -> Iterator[str]:
        with (
            name_scope(self.name),
            name_scope(name, values=[*(values or []), *self._graph_parents]) as scope,
        ):
            yield scope


def first_implemented(first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """Return the value of the first function, or of the second if the first is not implemented.

    Args:
        first: a function without arguments.
        second: another such function.

    Raises:
        NotImplementedError: neither is implemented; the message is that of the first.
    """
    try:
        return first()
    except NotImplementedError as error:
        try:
            return second()
        except NotImplementedError:
            raise error from None


def check_graph_parents(parents: list[Any]) -> None:
    """Check that all graph parents are tensors.

    Args:
        parents: the graph parents.

    Raises:
        ValueError: a parent is not a tensor.
    """
    for index, parent in enumerate(parents):
        if not isinstance(parent, Tensor | Variable):
            raise ValueError(f"Graph parent item {index} is not a Tensor; {parent}.")


class ScalarDistribution(Distribution):
    """A distribution of scalars, whose batch shape is the broadcast shape of its parameters."""

    _parameter_names: tuple[str, ...] = ()
    """The names of the attributes that are parameters."""

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Tensor]:
        sizes = convert_to_tensor(sample_shape, dtype=int32)
        return dict.fromkeys(cls._parameter_names, sizes)

    def _batch_shape_tensor(self) -> Tensor:
        first, *others = self._parameter_names
        return self._dynamic_shape_of(first, others)

    def _dynamic_shape_of(self, first: str, others: list[str]) -> Tensor:
        sizes = shape(getattr(self, first))
        if not others:
            return sizes
        return broadcast_dynamic_shape(sizes, self._dynamic_shape_of(others[0], others[1:]))

    def _batch_shape(self) -> TensorShape:
        shapes = [getattr(self, name).shape for name in self._parameter_names]
        return functools.reduce(broadcast_static_shape, shapes)

    def _event_shape_tensor(self) -> Tensor:
        return constant([], dtype=int32)

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _numbered_shape(self, n: Any) -> Tensor:
        """Return the shape of ``n`` samples."""
        return concat([[n], self.batch_shape_tensor()], 0)


def float_parameters(checks: list[Any], **values: Any) -> list[Tensor]:
    """Return parameters as tensors of one floating dtype that depend on checks.

    Args:
        checks: the check operations.
        **values: the parameters, by the names of their operations.

    Raises:
        ValueError: their dtypes differ, or are not floating.
    """
    with get_default_graph().control_dependencies(checks):
        tensors = [identity(value, name=name) for name, value in values.items()]
        assert_same_float_dtype(tensors)
    return tensors
