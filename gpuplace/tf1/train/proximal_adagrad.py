"""Adagrad with L1 and L2 penalties that are applied after each step.

Source: tensorflow/python/training/proximal_adagrad.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.graph.convert import get_default_graph
from gpuplace.ops.array.constant import constant
from gpuplace.ops.train.optimizer import KernelOptimizer
from gpuplace.typing import TensorLike


class ProximalAdagradOptimizer(KernelOptimizer):
    """Proximal Adagrad.

    Args:
        learning_rate: a number or a scalar tensor.
        initial_accumulator_value: initial sum of squares, a positive number.
        l1_regularization_strength: 0 or more.
        l2_regularization_strength: 0 or more.
        use_locking: recorded in the graph only.
        name: name of the update and of the slots.

    Raises:
        ValueError: ``initial_accumulator_value`` is not positive, or the name is empty.
    """

    _op = "ProximalAdagrad"
    _kernel_slots = {"accum": "accumulator"}

    def __init__(
        self,
        learning_rate: TensorLike,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(
            use_locking,
            name,
            learning_rate=learning_rate,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
        )
        self._start = initial_accumulator_value

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for variable in var_list:
            with get_default_graph().colocate_with(variable.op):
                start = constant(self._start, variable.dtype.base_dtype, variable.get_shape())
            self._get_or_make_slot(variable, start, "accumulator", self._name)
