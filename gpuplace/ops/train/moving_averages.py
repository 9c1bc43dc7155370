"""Moving averages of variables and tensors: shadows that follow slowly.

Source: tensorflow/python/training/moving_averages.py, release 1.15.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.op_sets import REFERENCE_VARIABLES
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.flow import control
from gpuplace.ops.math import cast, division, elementwise
from gpuplace.ops.train.slots import create_slot, create_zeros_slot
from gpuplace.ops.variables import state
from gpuplace.ops.variables.init_ops import Zeros
from gpuplace.ops.variables.initialization import moving_average_variables, trainable_variables
from gpuplace.ops.variables.variable_scope import get_variable, variable_scope
from gpuplace.ops.variables.variables import Variable
from gpuplace.typing import TensorLike


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """``variable -= (variable - value) * (1 - decay)``.

    Args:
        variable: the average, a variable of a floating type.
        value: what it moves towards, of its type and shape.
        decay: how much of the average is kept, a number or scalar tensor from 0 to 1.
        zero_debias: correct for an average that begins at zero: it is divided by the weight that values have had so
            far. Makes two variables, named after the average.
        name: name scope, and name of the operation.

    Returns:
        What ``assign_sub`` or ``assign`` returns: the variable afterwards.
    """
    with name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope:
        rest: Any = convert_to_tensor(1.0 - decay, name="decay")
        if rest.dtype.base_dtype != variable.dtype.base_dtype:
            rest = cast.cast(rest, variable.dtype.base_dtype)
        if zero_debias:
            return _zero_debiased(variable, value, rest, scope)
        change = (variable - value) * rest
        if variable.dtype.is_ref_dtype:
            with get_default_graph().colocate_with(variable.op):
                return state.assign_sub(variable, change, name=scope)
        return state.assign_sub(variable, change, name=scope)


def _zero_debiased(average: Any, value: Any, rest: Any, name: str) -> Any:
    """Assigns what an average of ``value`` that began at zero is, divided by the weight of the values in it."""
    graph = get_default_graph()
    kind = average.dtype.base_dtype
    with variable_scope(average.op.name, values=[average, value, rest]) as scope:
        names = {variable.op.name for variable in scope.global_variables()}

        def fresh(wanted: str) -> str:
            if scope.reuse or f"{scope.name}/{wanted}" not in names:
                return wanted
            number = next(n for n in itertools.count(1) if f"{scope.name}/{wanted}_{n}" not in names)
            return f"{wanted}_{number}"

        with graph.colocate_with(average.op):
            biased = get_variable(
                fresh("biased"), average.get_shape(), kind, initializer=Zeros(), trainable=False
            )
            steps = get_variable(fresh("local_step"), [], kind, initializer=Zeros(), trainable=False)
    moved = state.assign_sub(biased, (biased - value) * rest)
    count = steps.assign_add(1)
    weight = 1 - elementwise.pow(1.0 - rest, count)
    return state.assign(average, moved / weight, name=name)


def weighted_moving_average(
    value: Any,
    decay: Any,
    weight: Any,
    truediv: bool = True,
    collections: Any = None,
    name: str | None = None,
) -> Tensor:
    """A moving average of values that count by their weights; the sums are kept in two variables.

    Args:
        value: a tensor of a floating type and known shape.
        decay: how much of the sums is kept, a number or scalar tensor from 0 to 1.
        weight: its weight, of its type, with a shape that broadcasts.
        truediv: divide integers as floating numbers.
        collections: list of names of collections for the variables; None: the global ones.
        name: name of the variable scope; None: ``WeightedMovingAvg``, made unique.

    Returns:
        The average with this value, a tensor of its type and shape.
    """
    with variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:

        def kept(what: str, like: Any) -> Any:
            kind = like.dtype.base_dtype
            return get_variable(
                what, like.get_shape(), kind, initializer=Zeros(), trainable=False, collections=collections
            )

        total, weights = kept("value_x_weight", value), kept("weight", weight)
        over = assign_moving_average(total, value * weight, decay, zero_debias=False)
        under = assign_moving_average(weights, weight, decay, zero_debias=False)
        result: Tensor = (division.truediv if truediv else division.div)(over, under, name=scope.name)
        return result


class ExponentialMovingAverage:
    """Keeps a moving average of each of some variables or tensors.

    That of a variable begins at its initial value, that of a tensor at zero.

    Args:
        decay: how much of an average is kept, close to 1; the smaller, the faster an average follows.
        num_updates: a count that makes averages follow faster in the beginning (``decay`` is at most ``(1 +
            num_updates) / (10 + num_updates)``), or None.
        zero_debias: divide averages of tensors by the weight that values have had so far, since they begin at zero.
        name: end of the averages' names.
    """

    def __init__(
        self,
        decay: TensorLike,
        num_updates: TensorLike | None = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[int, tuple[Any, Any]] = {}

    @property
    def name(self) -> str:
        """End of the averages' names."""
        return self._name

    def apply(self, var_list: Sequence[Any] | None = None) -> Operation:
        """An operation that moves the averages; makes those that are not there yet.

        Args:
            var_list: variables and tensors, of float16, bfloat16, float32 or float64; None: the trainable ones.

        Returns:
            An operation without outputs.

        Raises:
            TypeError: one is not of a floating type.
        """
        variables = trainable_variables() if var_list is None else list(var_list)
        graph = get_default_graph()
        from_zero = set()
        for variable in variables:
            if variable.dtype.base_dtype.name not in ("bfloat16", "float16", "float32", "float64"):
                raise TypeError(f"The variables must be half, float, or double: {variable.name}")
            if id(variable) not in self._averages:
                with graph.control_dependencies(None):
                    if isinstance(variable, Variable):
                        average = create_slot(variable, variable.initialized_value(), self._name)
                        graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, variable)
                    else:
                        is_storage = variable.op.type in REFERENCE_VARIABLES | {"VarHandleOp"}
                        average = create_zeros_slot(variable, self._name, colocate_with_primary=is_storage)
                        from_zero.add(id(variable))
                self._averages[id(variable)] = (variable, average)
        with graph.name_scope(self._name) as scope:
            decay: Any = convert_to_tensor(self._decay, name="decay")
            if self._num_updates is not None:
                count: Any = cast.cast(self._num_updates, "float32", name="num_updates")
                decay = elementwise.minimum(decay, (1.0 + count) / (10.0 + count))
            moved = [
                assign_moving_average(
                    self._averages[id(variable)][1],
                    variable,
                    decay,
                    zero_debias=self._zero_debias and id(variable) in from_zero,
                )
                for variable in variables
            ]
            return control.group(*moved, name=scope)

    def average(self, var: Any) -> Any:
        """The average of a variable or tensor.

        Args:
            var: the variable or tensor.

        Returns:
            A variable of its type and shape, or None where ``apply`` has not made one.
        """
        return self._averages.get(id(var), (None, None))[1]

    def average_name(self, var: Any) -> str:
        """The name of an average, which need not exist.

        Args:
            var: the variable or tensor.

        Returns:
            A name of an operation, as text.
        """
        average = self.average(var)
        if average is not None:
            return average.op.name
        return get_default_graph().unique_name(f"{var.op.name}/{self._name}", mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Sequence[Any] | None = None) -> dict[str, Any]:
        """The names to read from a checkpoint, each with the variable to read it into.

        Args:
            moving_avg_variables: the variables that are read from their averages; None: the trainable ones, and those
                with an average.

        Returns:
            A dict from name to variable, with all global variables.
        """
        averaged = [*trainable_variables(), *moving_average_variables()]
        if moving_avg_variables is not None:
            averaged = list(moving_avg_variables)
        names = {self.average_name(variable): variable for variable in averaged}
        taken = {id(variable) for variable in averaged}
        for variable in get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES):
            if id(variable) not in taken and variable.op.name not in names:
                names[variable.op.name] = variable
        return names
