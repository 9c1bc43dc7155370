"""Moving averages of variables and tensors.

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
from gpuplace.typing import TensorLike, VariableLike


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Tensor:
    """Update a moving average: ``variable -= (variable - value) * (1 - decay)``.

    Args:
        variable: the average, a variable of a floating type.
        value: the new value, of its type and shape.
        decay: fraction of the average to keep, a number or scalar tensor from 0 to 1.
        zero_debias: whether to correct for an average that starts at zero, by dividing it by the total weight of the
            values so far. Makes two variables, named after the average.
        name: name scope, and name of the operation.

    Returns:
        The updated variable, as ``assign_sub`` or ``assign`` returns it.
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
    """Assign the zero-initialized average of ``value``, divided by the total weight of its values."""
    graph = get_default_graph()
    kind = average.dtype.base_dtype
    with variable_scope(average.op.name, values=[average, value, rest]) as scope:
        names = {variable.op.name for variable in scope.global_variables()}

        def fresh(base: str) -> str:
            if scope.reuse or f"{scope.name}/{base}" not in names:
                return base
            number = next(n for n in itertools.count(1) if f"{scope.name}/{base}_{n}" not in names)
            return f"{base}_{number}"

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
    value: TensorLike,
    decay: Any,
    weight: Any,
    truediv: bool = True,
    collections: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return a moving average of weighted values; the sums are kept in two variables.

    Args:
        value: a floating tensor of static shape.
        decay: fraction of the sums to keep, a number or scalar tensor from 0 to 1.
        weight: its weight, of its type, with a shape that broadcasts.
        truediv: whether to divide integers as floating numbers.
        collections: list of collection names for the variables; None: the global variables.
        name: name of the variable scope; None: ``WeightedMovingAvg``, made unique.

    Returns:
        The average including this value, a tensor of its type and shape.
    """
    with variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:

        def kept(label: str, like: Any) -> Any:
            kind = like.dtype.base_dtype
            return get_variable(
                label, like.get_shape(), kind, initializer=Zeros(), trainable=False, collections=collections
            )

        total, weights = kept("value_x_weight", value), kept("weight", weight)
        over = assign_moving_average(total, value * weight, decay, zero_debias=False)
        under = assign_moving_average(weights, weight, decay, zero_debias=False)
        result: Tensor = (division.truediv if truediv else division.div)(over, under, name=scope.name)
        return result


class ExponentialMovingAverage:
    """Moving averages of variables or tensors.

    A variable's average starts at its initial value, a tensor's at zero.

    Args:
        decay: fraction of an average to keep, close to 1; smaller values make averages adapt faster.
        num_updates: a count that makes averages adapt faster at the beginning (``decay`` is at most ``(1 + num_updates)
            / (10 + num_updates)``), or None.
        zero_debias: whether to divide averages of tensors, which start at zero, by the total weight of the values so
            far.
        name: suffix of the averages' names.
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
        """The suffix of the averages' names."""
        return self._name

    def apply(self, var_list: Sequence[Any] | None = None) -> Operation:
        """Return an operation that updates the averages; create missing ones.

        Args:
            var_list: variables and tensors, of float16, bfloat16, float32 or float64; None: the trainable variables.

        Returns:
            An operation without outputs.

        Raises:
            TypeError: a variable is not floating.
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

    def average(self, var: VariableLike) -> Any:
        """Return the average of a variable or tensor.

        Args:
            var: the variable or tensor.

        Returns:
            A variable of its type and shape, or None if ``apply`` has not created it.
        """
        return self._averages.get(id(var), (None, None))[1]

    def average_name(self, var: VariableLike) -> str:
        """Return the name of an average, which need not exist.

        Args:
            var: the variable or tensor.

        Returns:
            The name of an operation.
        """
        average = self.average(var)
        if average is not None:
            return average.op.name
        return get_default_graph().unique_name(f"{var.op.name}/{self._name}", mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Sequence[Any] | None = None) -> dict[str, Any]:
        """Return the names to read from a checkpoint, each with the variable to restore.

        Args:
            moving_avg_variables: the variables to restore from their averages; None: the trainable variables and those
                with an average.

        Returns:
            A dict from name to variable, with all global variables.
        """
        averaged = [*trainable_variables(), *moving_average_variables()]
        if moving_avg_variables is not None:
            averaged = list(moving_avg_variables)
        names = {self.average_name(variable): variable for variable in averaged}
        averaged_ids = {id(variable) for variable in averaged}
        for variable in get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES):
            if id(variable) not in averaged_ids and variable.op.name not in names:
                names[variable.op.name] = variable
        return names
