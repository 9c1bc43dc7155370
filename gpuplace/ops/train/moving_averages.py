"""Moving averages of variables: shadows that follow slowly.

Source: tensorflow/python/training/moving_averages.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Operation
from gpuplace.ops.flow import control
from gpuplace.ops.math import cast, elementwise
from gpuplace.ops.train.slots import create_slot
from gpuplace.ops.variables import state
from gpuplace.ops.variables.initialization import moving_average_variables, trainable_variables
from gpuplace.ops.variables.variables import Variable
from gpuplace.typing import TensorLike


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = False, name: str | None = None
) -> Any:
    """``variable -= (variable - value) * (1 - decay)``.

    Args:
        variable: the average, a variable of a floating type.
        value: what it moves towards, of its type and shape.
        decay: how much of the average is kept, a number or scalar tensor from 0 to 1.
        zero_debias: not supported.
        name: name scope, and name of the operation.

    Returns:
        What ``assign_sub`` returns: the variable afterwards.

    Raises:
        ValueError: ``zero_debias``, which is not supported.
    """
    if zero_debias:
        raise ValueError("zero_debias is not supported: start the variable at the first value instead")
    with name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope:
        rest: Any = convert_to_tensor(1.0 - decay, name="decay")
        if rest.dtype.base_dtype != variable.dtype.base_dtype:
            rest = cast.cast(rest, variable.dtype.base_dtype)
        change = (variable - value) * rest
        if variable.dtype.is_ref_dtype:
            with get_default_graph().colocate_with(variable.op):
                return state.assign_sub(variable, change, name=scope)
        return state.assign_sub(variable, change, name=scope)


class ExponentialMovingAverage:
    """Keeps a moving average of each of some variables.

    Args:
        decay: how much of an average is kept, close to 1; the smaller, the faster an average follows.
        num_updates: a count that makes averages follow faster in the beginning (``decay`` is at most ``(1 +
            num_updates) / (10 + num_updates)``), or None.
        zero_debias: not supported.
        name: end of the averages' names.

    Raises:
        ValueError: ``zero_debias``.
    """

    def __init__(
        self,
        decay: TensorLike,
        num_updates: TensorLike | None = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        if zero_debias:
            raise ValueError("zero_debias is not supported: averages of variables do not need it")
        self._decay = decay
        self._num_updates = num_updates
        self._name = name
        self._averages: dict[int, tuple[Any, Any]] = {}

    @property
    def name(self) -> str:
        """End of the averages' names."""
        return self._name

    def apply(self, var_list: Sequence[Any] | None = None) -> Operation:
        """An operation that moves the averages of variables; makes those that are not there yet.

        Args:
            var_list: the variables, of float16, bfloat16, float32 or float64; None: the trainable ones.

        Returns:
            An operation without outputs.

        Raises:
            TypeError: a variable is not of a floating type, or is a tensor, which is not supported.
        """
        variables = trainable_variables() if var_list is None else list(var_list)
        graph = get_default_graph()
        for variable in variables:
            if not isinstance(variable, Variable):
                raise TypeError(f"Moving averages are kept of variables, not of {variable}")
            if variable.dtype.base_dtype.name not in ("bfloat16", "float16", "float32", "float64"):
                raise TypeError(f"The variables must be half, float, or double: {variable.name}")
            if id(variable) not in self._averages:
                with graph.control_dependencies(None):
                    average = create_slot(variable, variable.initialized_value(), self._name)
                graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, variable)
                self._averages[id(variable)] = (variable, average)
        with graph.name_scope(self._name) as scope:
            decay: Any = convert_to_tensor(self._decay, name="decay")
            if self._num_updates is not None:
                count: Any = cast.cast(self._num_updates, "float32", name="num_updates")
                decay = elementwise.minimum(decay, (1.0 + count) / (10.0 + count))
            moved = [
                assign_moving_average(self._averages[id(variable)][1], variable, decay)
                for variable in variables
            ]
            return control.group(*moved, name=scope)

    def average(self, var: Any) -> Any:
        """The average of a variable.

        Args:
            var: the variable.

        Returns:
            A variable of its type and shape, or None where ``apply`` has not made one.
        """
        return self._averages.get(id(var), (None, None))[1]

    def average_name(self, var: Any) -> str:
        """The name of the variable's average, which need not exist.

        Args:
            var: the variable.

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
