"""Loss scales: factors for a loss that keep small gradients from vanishing in half precision.

Source: tensorflow/python/training/experimental/loss_scale.py, release 1.15.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, ValuesView
from typing import Any

from gpuplace.dtypes import float32, int64
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.flow import control
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.math import elementwise, reduction, unary
from gpuplace.ops.nest import flatten
from gpuplace.ops.tracking.base import Trackable, TrackableReference
from gpuplace.ops.variables.variables import Variable
from gpuplace.typing import DTypeLike

__all__ = ["DynamicLossScale", "FixedLossScale", "LossScale", "get", "get_loss_scale_weights"]


class LossScale(Trackable, abc.ABC):
    """A loss scale; calling it returns a float32 scalar. Its variables belong to the default graph."""

    def __init__(self) -> None:
        self._weights: dict[tuple[str, Graph], Any] = {}

    @abc.abstractmethod
    def __call__(self) -> Tensor:
        """Return the current scale, a float32 scalar."""

    @abc.abstractmethod
    def update(self, grads: Any) -> tuple[Operation, Any]:
        """Return an operation that adjusts the scale to gradients.

        Args:
            grads: a structure of gradients, already divided by the scale; None stands for a missing gradient.

        Returns:
            The operation, and whether to apply the gradients: True, or a boolean scalar.
        """

    @abc.abstractmethod
    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal loss scale."""

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Any:
        """Return a loss scale of the class.

        Args:
            config: the result of ``get_config``.
        """
        return cls(**config)

    def _add_weight(self, name: str, initial_value: Any, dtype: DTypeLike | None = None) -> Any:
        """Return a variable of the scale, restored from a checkpoint if one is pending."""
        key = (name, get_default_graph())
        if key in self._weights:
            raise RuntimeError(f"Duplicate variables detected. {key}")
        variable = Variable(initial_value, name=name, dtype=dtype, trainable=False, use_resource=True)
        self._weights[key] = variable
        self._handle_deferred_dependencies(name=name, trackable=variable)
        return variable

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        graph = get_default_graph()
        own = [
            TrackableReference(name, variable)
            for (name, of), variable in sorted(self._weights.items(), key=lambda item: item[0][0])
            if of is graph
        ]
        return [*super()._checkpoint_dependencies, *own]

    def _lookup_dependency(self, name: str) -> Any:
        dependency = super()._lookup_dependency(name)
        return self._weights.get((name, get_default_graph())) if dependency is None else dependency


def get_loss_scale_weights(loss_scale: LossScale) -> ValuesView[Any]:
    """Return the variables of a loss scale.

    Args:
        loss_scale: the loss scale.
    """
    return loss_scale._weights.values()


class FixedLossScale(LossScale):
    """A constant loss scale.

    Args:
        loss_scale_value: the scale, a number of at least 1.

    Raises:
        ValueError: ``loss_scale_value`` is not a number, or less than 1.
    """

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        if not isinstance(loss_scale_value, int | float):
            raise ValueError("loss_scale_value must be a Python int or float.")
        if loss_scale_value < 1:
            raise ValueError("loss_scale_value must be at least 1.")
        self._loss_scale_value = float(loss_scale_value)

    def __call__(self) -> Tensor:
        return convert_to_tensor(self._loss_scale_value)

    def update(self, grads: Any) -> tuple[Operation, Any]:
        """Return an operation that does nothing, and True.

        Args:
            grads: ignored.
        """
        return control.no_op(), True

    def __repr__(self) -> str:
        return f"FixedLossScale({self._loss_scale_value})"

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal loss scale."""
        return {"loss_scale_value": self._loss_scale_value}


class DynamicLossScale(LossScale):
    """A loss scale that grows while all gradients are finite, and shrinks otherwise.

    Args:
        initial_loss_scale: the initial scale.
        increment_period: number of steps with finite gradients after which the scale is multiplied.
        multiplier: the factor; after a step with gradients that are not finite the scale is divided by it,
            but stays at least 1.
    """

    def __init__(
        self, initial_loss_scale: float = 2**15, increment_period: int = 2000, multiplier: float = 2.0
    ) -> None:
        super().__init__()
        self._initial_loss_scale = float(initial_loss_scale)
        self._increment_period = int(increment_period)
        self._multiplier = float(multiplier)
        self._current_loss_scale = self._add_weight(
            "current_loss_scale", self._initial_loss_scale, dtype=float32
        )
        self._num_good_steps = self._add_weight("good_steps", 0, dtype=int64)

    @property
    def initial_loss_scale(self) -> float:
        """The initial scale."""
        return self._initial_loss_scale

    @property
    def increment_period(self) -> int:
        """Number of steps with finite gradients after which the scale is multiplied."""
        return self._increment_period

    @property
    def multiplier(self) -> float:
        """The factor by which the scale is multiplied or divided."""
        return self._multiplier

    def __call__(self) -> Tensor:
        return convert_to_tensor(self._current_loss_scale)

    def update(self, grads: Any) -> tuple[Operation, Any]:
        """Return an operation that adjusts the scale, and whether all gradients are finite.

        Args:
            grads: a structure of gradients; None stands for a missing gradient.
        """
        is_finite = _are_all_finite(flatten(grads))
        operation = cond(is_finite, self._after_finite_step, self._after_nonfinite_step)
        return operation, is_finite

    def _after_finite_step(self) -> Any:
        scale, steps = self._current_loss_scale, self._num_good_steps

        def multiplied() -> Any:
            larger = scale * self._multiplier
            return control.group(_assign_if_finite(scale, larger), steps.assign(0))

        return cond(steps + 1 >= self._increment_period, multiplied, lambda: steps.assign_add(1).op)

    def _after_nonfinite_step(self) -> Any:
        smaller = elementwise.maximum(self._current_loss_scale / self._multiplier, 1)
        return control.group(self._num_good_steps.assign(0), self._current_loss_scale.assign(smaller))

    def __repr__(self) -> str:
        return (
            f"DynamicLossScale(initial_loss_scale={self.initial_loss_scale}, "
            f"increment_period={self.increment_period}, multiplier={self.multiplier})"
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal loss scale."""
        return {
            "initial_loss_scale": self.initial_loss_scale,
            "increment_period": self.increment_period,
            "multiplier": self.multiplier,
        }


def _are_all_finite(grads: list[Any]) -> Tensor:
    finite = [reduction.reduce_all(unary.is_finite(grad)) for grad in grads if grad is not None]
    return reduction.reduce_all(finite)


def _assign_if_finite(variable: Any, value: Tensor) -> Any:
    return cond(unary.is_finite(value), lambda: variable.assign(value).op, control.no_op)


def get(identifier: Any) -> LossScale | None:
    """Return a loss scale from its identifier.

    Args:
        identifier: a number, ``"dynamic"``, a ``LossScale``, or None.

    Returns:
        The loss scale; None for None.

    Raises:
        ValueError: ``identifier`` is anything else.
    """
    if isinstance(identifier, int | float):
        return FixedLossScale(identifier)
    if isinstance(identifier, str) and identifier == "dynamic":
        return DynamicLossScale()
    if identifier is None or isinstance(identifier, LossScale):
        return identifier
    raise ValueError(f"Could not interpret loss scale identifier: {identifier}")
