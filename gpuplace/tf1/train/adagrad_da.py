"""Adagrad dual averaging: a variable is computed from the sum of all its gradients, with L1 and L2 penalties.

Source: tensorflow/python/training/adagrad_da.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.ops.array.constant import constant
from gpuplace.ops.array.reshaping import identity
from gpuplace.ops.math.cast import cast
from gpuplace.ops.train.optimizer import KernelOptimizer
from gpuplace.typing import TensorLike, VariableLike


class AdagradDAOptimizer(KernelOptimizer):
    """Adagrad dual averaging.

    Args:
        learning_rate: a number or a scalar tensor.
        global_step: number of completed steps, an int64 variable or scalar.
        initial_gradient_squared_accumulator_value: initial sum of squares, a positive number.
        l1_regularization_strength: 0 or more; larger values give more zeros.
        l2_regularization_strength: 0 or more.
        use_locking: recorded in the graph only.
        name: name of the update and of the slots.

    Raises:
        ValueError: ``initial_gradient_squared_accumulator_value`` is not positive, or the name is empty.
    """

    _op = "AdagradDA"
    _kernel_slots = {name: name for name in ("gradient_accumulator", "gradient_squared_accumulator")}

    def __init__(
        self,
        learning_rate: TensorLike,
        global_step: VariableLike,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        start = initial_gradient_squared_accumulator_value
        if start <= 0.0:
            raise ValueError(f"initial_gradient_squared_accumulator_value must be positive: {start}")
        super().__init__(use_locking, name, learning_rate=learning_rate)
        self._start = start
        self._l1 = l1_regularization_strength
        self._l2 = l2_regularization_strength
        self._global_step = global_step
        self._step: Any = None
        """The number of this step, counted from 1."""

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for variable in var_list:
            dtype, shape = variable.dtype.base_dtype, variable.get_shape()
            with get_default_graph().colocate_with(variable.op):
                zeros = constant(0.0, dtype, shape)
                start = constant(self._start, dtype, shape)
            self._get_or_make_slot(variable, zeros, "gradient_accumulator", self._name)
            self._get_or_make_slot(variable, start, "gradient_squared_accumulator", self._name)

    def _prepare(self) -> None:
        super()._prepare()
        with get_default_graph().colocate_with(self._tensors["learning_rate"].op):
            done: Any = identity(convert_to_tensor(self._global_step))
            self._step = done + 1

    def _other_inputs(self, var: Any) -> dict[str, Any]:
        with get_default_graph().device(var.device):
            step = identity(self._step)
        dtype = var.dtype.base_dtype
        return {"l1": cast(self._l1, dtype), "l2": cast(self._l2, dtype), "global_step": step}
