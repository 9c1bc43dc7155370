"""Bijectors: invertible functions and their Jacobian determinants, which transform samples of distributions.

Each result is cached with its argument, so ``inverse(forward(x))`` is ``x`` and adds no operations.

Source: tensorflow/python/ops/distributions/bijector_impl.py and identity_bijector.py, release 1.15.
"""

from __future__ import annotations

import abc
import builtins
import contextlib
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from gpuplace.dtypes import DType, int32
from gpuplace.graph.constant_value import static_value
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import constant, ones
from gpuplace.ops.array.constant import range as numbers
from gpuplace.ops.array.padding import broadcast_static_shape
from gpuplace.ops.array.reshaping import rank, shape
from gpuplace.ops.math.check_ops import assert_greater_equal, assert_rank
from gpuplace.ops.math.reduction import reduce_sum
from gpuplace.shapes import TensorShape
from gpuplace.tf1.distributions.distribution import check_graph_parents, first_implemented
from gpuplace.typing import ShapeLike, TensorLike


class _Known:
    """Cached values for one point and its image."""

    def __init__(self, x: Any = None, y: Any = None) -> None:
        self.x = x
        self.y = y
        self.ildj: dict[Any, Tensor] = {}
        """Log-determinants of the inverse's Jacobian, by the number of event axes."""


class Bijector(abc.ABC):
    """An invertible function.

    A subclass defines ``_forward``, ``_inverse``, and one of ``_forward_log_det_jacobian`` and
    ``_inverse_log_det_jacobian``.

    Args:
        graph_parents: tensors that it depends on.
        is_constant_jacobian: whether the Jacobian is the same everywhere.
        validate_args: whether to check arguments at run time.
        dtype: dtype of arguments; None for any.
        forward_min_event_ndims: number of axes that ``forward`` needs at once; None: as for ``inverse``.
        inverse_min_event_ndims: number of axes that ``inverse`` needs at once; None: as for ``forward``.
        name: name of its scope; None for the class name in lower case.

    Raises:
        ValueError: both numbers of axes are missing, one is negative, or a parent is not a tensor.
        TypeError: a number of axes is not an integer.
    """

    @abc.abstractmethod
    def __init__(
        self,
        graph_parents: list[Any] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        dtype: DType | None = None,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str | None = None,
    ) -> None:
        self._graph_parents = graph_parents or []
        if forward_min_event_ndims is None and inverse_min_event_ndims is None:
            raise ValueError(
                "Must specify at least one of `forward_min_event_ndims` and `inverse_min_event_ndims`."
            )
        forward, inverse = forward_min_event_ndims, inverse_min_event_ndims
        self._forward_min_event_ndims = _axes(inverse if forward is None else forward, "forward")
        self._inverse_min_event_ndims = _axes(forward if inverse is None else inverse, "inverse")
        self._is_constant_jacobian = is_constant_jacobian
        self._validate_args = validate_args
        self._dtype = dtype
        self._constant_ildj: dict[Any, Tensor] = {}
        self._from_x: dict[Any, _Known] = {}
        self._from_y: dict[Any, _Known] = {}
        self._name = name or _in_small_letters(type(self).__name__.lstrip("_"))
        check_graph_parents(self._graph_parents)

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that it depends on."""
        return self._graph_parents

    @property
    def forward_min_event_ndims(self) -> int:
        """Number of axes that ``forward`` needs at once."""
        return self._forward_min_event_ndims

    @property
    def inverse_min_event_ndims(self) -> int:
        """Number of axes that ``inverse`` needs at once."""
        return self._inverse_min_event_ndims

    @property
    def is_constant_jacobian(self) -> bool:
        """Whether the Jacobian is the same everywhere."""
        return self._is_constant_jacobian

    @property
    def _is_injective(self) -> bool:
        """Whether each image has only one point; otherwise ``inverse`` returns several."""
        return True

    @property
    def validate_args(self) -> bool:
        """Whether arguments are checked at run time."""
        return self._validate_args

    @property
    def dtype(self) -> Any:
        """The dtype of arguments; None for any."""
        return self._dtype

    @property
    def name(self) -> str:
        """The bijector's name."""
        return self._name

    # Shapes

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        return input_shape

    def _forward_event_shape(self, input_shape: TensorShape) -> TensorShape:
        return input_shape

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        return output_shape

    def _inverse_event_shape(self, output_shape: ShapeLike) -> TensorShape:
        return TensorShape(output_shape)

    def forward_event_shape_tensor(
        self, input_shape: TensorLike, name: str = "forward_event_shape_tensor"
    ) -> Tensor:
        """Return the event shape of images, an int32 vector.

        Args:
            input_shape: the event shape of points.
            name: name of the scope.
        """
        with self._name_scope(name, [input_shape]):
            return self._forward_event_shape_tensor(
                convert_to_tensor(input_shape, dtype=int32, name="input_shape")
            )

    def forward_event_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return the event shape of images, as far as it is known.

        Args:
            input_shape: the event shape of points.
        """
        return self._forward_event_shape(TensorShape(input_shape))

    def inverse_event_shape_tensor(
        self, output_shape: TensorLike, name: str = "inverse_event_shape_tensor"
    ) -> Tensor:
        """Return the event shape of points, an int32 vector.

        Args:
            output_shape: the event shape of images.
            name: name of the scope.
        """
        with self._name_scope(name, [output_shape]):
            return self._inverse_event_shape_tensor(
                convert_to_tensor(output_shape, dtype=int32, name="output_shape")
            )

    def inverse_event_shape(self, output_shape: ShapeLike) -> TensorShape:
        """Return the event shape of points, as far as it is known.

        Args:
            output_shape: the event shape of images.
        """
        return self._inverse_event_shape(output_shape)

    # The function and its inverse

    def _forward(self, x: Tensor) -> Tensor:
        raise NotImplementedError("forward not implemented.")

    def _inverse(self, y: Tensor) -> Any:
        raise NotImplementedError("inverse not implemented")

    def forward(self, x: TensorLike, name: str = "forward", **kwargs: Any) -> Tensor:
        """Return the images of points.

        Args:
            x: points.
            name: name of the scope.
            **kwargs: arguments of subclasses, for ``_forward``.

        Raises:
            TypeError: ``x`` has a dtype other than ``dtype``.
            NotImplementedError: the class does not define it.
        """
        with self._name_scope(name, [x]):
            x = self._argument(x, "x")
            if not self._is_injective:
                return self._forward(x, **kwargs)
            cached = self._known(self._from_x, x, kwargs, _Known(x=x))
            if cached.y is None:
                cached.y = self._forward(x, **kwargs)
                self._remember(cached, kwargs)
            return cached.y

    def inverse(self, y: TensorLike, name: str = "inverse", **kwargs: Any) -> Any:
        """Return the points that are mapped to images.

        Args:
            y: images.
            name: name of the scope.
            **kwargs: arguments of subclasses, for ``_inverse``.

        Returns:
            A tensor, or a tuple of tensors if several points have the same image.

        Raises:
            TypeError: ``y`` has a dtype other than ``dtype``.
            NotImplementedError: the class does not define it.
        """
        with self._name_scope(name, [y]):
            y = self._argument(y, "y")
            if not self._is_injective:
                return self._inverse(y, **kwargs)
            cached = self._known(self._from_y, y, kwargs, _Known(y=y))
            if cached.x is None:
                cached.x = self._inverse(y, **kwargs)
                self._remember(cached, kwargs)
            return cached.x

    # Jacobian determinants

    def _inverse_log_det_jacobian(self, y: Tensor) -> Any:
        raise NotImplementedError("inverse_log_det_jacobian not implemented.")

    def _forward_log_det_jacobian(self, x: Tensor) -> Any:
        raise NotImplementedError("forward_log_det_jacobian not implemented.")

    def inverse_log_det_jacobian(
        self, y: TensorLike, event_ndims: Any, name: str = "inverse_log_det_jacobian", **kwargs: Any
    ) -> Any:
        """Return the log-determinant of the inverse's Jacobian.

        Args:
            y: images.
            event_ndims: number of final axes that form one event.
            name: name of the scope.
            **kwargs: arguments of subclasses.

        Raises:
            ValueError: ``event_ndims`` is smaller than the number of axes that ``inverse`` needs.
            NotImplementedError: the class does not define it.
        """
        with self._name_scope(name, [y]):
            if _hashable(event_ndims) in self._constant_ildj:
                return self._constant_ildj[_hashable(event_ndims)]
            y = self._argument(y, "y")
            checks = self._event_checks(self.inverse_min_event_ndims, event_ndims)
            with get_default_graph().control_dependencies(checks):
                if not self._is_injective:
                    return self._ildjs_of_all(y, event_ndims, kwargs)
                cached = self._known(self._from_y, y, kwargs, _Known(y=y))
                return self._ildj(cached, event_ndims, kwargs, inverse_first=True)

    def forward_log_det_jacobian(
        self, x: TensorLike, event_ndims: Any, name: str = "forward_log_det_jacobian", **kwargs: Any
    ) -> Any:
        """Return the log-determinant of the Jacobian.

        Args:
            x: points.
            event_ndims: number of final axes that form one event.
            name: name of the scope.
            **kwargs: arguments of subclasses.

        Raises:
            ValueError: ``event_ndims`` is smaller than the number of axes that ``forward`` needs.
            NotImplementedError: the class does not define it, or several points have the same image.
        """
        if not self._is_injective:
            raise NotImplementedError(
                "forward_log_det_jacobian cannot be implemented for non-injective transforms."
            )
        with self._name_scope(name, [x]):
            checks = self._event_checks(self.forward_min_event_ndims, event_ndims)
            with get_default_graph().control_dependencies(checks):
                if _hashable(event_ndims) in self._constant_ildj:
                    return -1.0 * self._constant_ildj[_hashable(event_ndims)]
                x = self._argument(x, "x")
                cached = self._known(self._from_x, x, kwargs, _Known(x=x))
                return -self._ildj(cached, event_ndims, kwargs, inverse_first=False)

    def _ildj(self, cached: _Known, event_ndims: Any, kwargs: dict[str, Any], inverse_first: bool) -> Tensor:
        """Return the inverse's log-determinant at a point, by the preferred method or else the other one."""
        key = _hashable(event_ndims)
        if key in cached.ildj:
            return cached.ildj[key]

        def by_inverse() -> Tensor:
            y = cached.y if cached.y is not None else self._forward(cached.x, **kwargs)
            ildj = self._inverse_log_det_jacobian(y, **kwargs)
            ildj = self._summed(y, ildj, self.inverse_min_event_ndims, event_ndims)
            cached.y = y
            return ildj

        def by_forward() -> Tensor:
            x = cached.x if cached.x is not None else self._inverse(cached.y, **kwargs)
            ildj = -self._forward_log_det_jacobian(x, **kwargs)
            ildj = self._summed(x, ildj, self.forward_min_event_ndims, event_ndims)
            cached.x = x
            return ildj

        ways = (by_inverse, by_forward) if inverse_first else (by_forward, by_inverse)
        result: Tensor = first_implemented(*ways)
        cached.ildj[key] = result
        self._remember(cached, kwargs)
        if self.is_constant_jacobian:
            self._constant_ildj[key] = result
        return result

    def _ildjs_of_all(self, y: Tensor, event_ndims: Any, kwargs: dict[str, Any]) -> tuple[Tensor, ...]:
        """Return the inverse's log-determinant at each of the points with the same image."""

        def by_inverse() -> tuple[Tensor, ...]:
            at_least = self.inverse_min_event_ndims
            every = self._inverse_log_det_jacobian(y, **kwargs)
            return tuple(self._summed(y, one, at_least, event_ndims) for one in every)

        def by_forward() -> tuple[Tensor, ...]:
            at_least = self.forward_min_event_ndims
            x = self._inverse(y, **kwargs)
            every = self._forward_log_det_jacobian(x, **kwargs)
            return tuple(self._summed(x, -one, at_least, event_ndims) for one in every)

        ildjs: tuple[Tensor, ...] = first_implemented(by_inverse, by_forward)
        return ildjs

    def _summed(self, at: Tensor, ildj: Tensor, at_least: int, event_ndims: Any) -> Tensor:
        """Sum over the event axes beyond those that the function needs at once."""
        axes = rank(at)
        sizes = shape(at)[axes - event_ndims : axes - at_least]
        wide = ones(sizes, ildj.dtype) * ildj
        ndims = _known_event_ndims(event_ndims)
        if ndims is None:
            total = reduce_sum(wide, axis=numbers(-(event_ndims - at_least), 0))
        else:
            total = reduce_sum(wide, axis=[-index for index in builtins.range(1, ndims - at_least + 1)])
        if ndims is not None and at.shape.ndims is not None and ildj.shape.ndims is not None:
            static = at.shape[at.shape.ndims - ndims : at.shape.ndims - at_least]
            both = broadcast_static_shape(ildj.shape, static)
            total.set_shape(both[: (both.ndims or 0) - (ndims - at_least)])
        return total

    def _event_checks(self, at_least: int, event_ndims: Any) -> list[Operation]:
        axes = convert_to_tensor(event_ndims, name="event_ndims")
        ndims = static_value(axes)
        checks: list[Any] = []
        if not axes.dtype.is_integer:
            raise ValueError(f"Expected integer dtype, got dtype {axes.dtype}")
        if ndims is not None:
            if axes.shape.ndims != 0:
                raise ValueError(f"Expected scalar event_ndims, got shape {axes.shape}")
            if at_least > ndims:
                raise ValueError(f"event_ndims ({ndims}) must be larger than min_event_ndims ({at_least})")
        elif self.validate_args:
            checks.append(assert_greater_equal(axes, at_least))
        if axes.shape.is_fully_defined():
            if axes.shape.ndims != 0:
                raise ValueError(f"Expected scalar shape, got ndims {axes.shape.ndims}")
        elif self.validate_args:
            checks.append(assert_rank(axes, 0, message="Expected scalar."))
        return checks

    # Internals

    @contextlib.contextmanager
    def _name_scope(self, name: str | None = None, values: list[Any] | None = None) -> Iterator[str]:
        with (
            name_scope(self.name),
            name_scope(name, values=[*(values or []), *self.graph_parents]) as scope,
        ):
            yield scope

    def _argument(self, value: TensorLike, name: str) -> Tensor:
        tensor = convert_to_tensor(value, name=name)
        if self.dtype is not None and self.dtype.base_dtype != tensor.dtype.base_dtype:
            raise TypeError(f"Input had dtype {self.dtype} but expected {tensor.dtype}.")
        return tensor

    @staticmethod
    def _known(table: dict[Any, _Known], at: Tensor, kwargs: dict[str, Any], new: _Known) -> _Known:
        return table.get(_key(at, kwargs), new)

    def _remember(self, cached: _Known, kwargs: dict[str, Any]) -> None:
        for table, at in ((self._from_x, cached.x), (self._from_y, cached.y)):
            if at is not None:
                table[_key(at, kwargs)] = cached


def _key(at: Tensor, kwargs: dict[str, Any]) -> Any:
    return id(at), tuple(sorted((name, _hashable(value)) for name, value in kwargs.items()))


def _hashable(value: Any) -> Any:
    """Return a hashable key for a value."""
    if isinstance(value, (list, tuple)):
        return tuple(map(_hashable, value))
    return id(value) if isinstance(value, (Tensor, np.ndarray)) else value


def _axes(count: Any, direction: str) -> int:
    if not isinstance(count, int):
        raise TypeError(f"Expected {direction}_min_event_ndims to be of type int, got {type(count).__name__}")
    if count < 0:
        raise ValueError(f"{direction}_min_event_ndims must be a non-negative integer.")
    return count


def _in_small_letters(name: str) -> str:
    words = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", words).lower()


def _known_event_ndims(event_ndims: Any) -> int | None:
    static_ndims = static_value(event_ndims)
    if isinstance(static_ndims, (np.generic, np.ndarray)):
        if static_ndims.dtype not in (np.int32, np.int64):
            raise ValueError(f"Expected integer dtype, got dtype {static_ndims.dtype}")
        if static_ndims.ndim:
            raise ValueError(f"Expected a scalar integer, got {static_ndims}")
    return None if static_ndims is None else int(static_ndims)


class Identity(Bijector):
    """The identity function.

    Args:
        validate_args: whether to check arguments at run time.
        name: name of its scope.
    """

    def __init__(self, validate_args: bool = False, name: str = "identity") -> None:
        super().__init__(
            forward_min_event_ndims=0, is_constant_jacobian=True, validate_args=validate_args, name=name
        )

    def _forward(self, x: Tensor) -> Tensor:
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        return y

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return constant(0.0, dtype=y.dtype)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return constant(0.0, dtype=x.dtype)
