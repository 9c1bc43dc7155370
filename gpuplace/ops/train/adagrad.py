"""Adagrad: step sizes shrink with the sum of the squared gradients so far.

Source: tensorflow/python/training/adagrad.py, release 1.15.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.math import cast
from gpuplace.ops.train.optimizer import KernelOptimizer
from gpuplace.ops.variables.init_ops import Constant
from gpuplace.typing import DTypeLike, TensorLike, VariableLike


class AdagradOptimizer(KernelOptimizer):
    """Adagrad optimizer.

    Args:
        learning_rate: a number, a scalar tensor, or a function that returns one.
        initial_accumulator_value: initial value of the sums of squares, a positive number.
        use_locking: stored in the graph without effect.
        name: name of the update and of the slots.

    Raises:
        ValueError: ``initial_accumulator_value`` is not positive, or the name is empty.
    """

    _op = "Adagrad"
    _kernel_slots = {"accum": "accumulator"}

    def __init__(
        self,
        learning_rate: TensorLike,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name, learning_rate=learning_rate)
        self._initial_accumulator_value = initial_accumulator_value

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for variable in var_list:
            dtype = variable.dtype.base_dtype
            start: Any = Constant(self._initial_accumulator_value, dtype=dtype)
            if not variable.get_shape().is_fully_defined():
                start = functools.partial(self._filled_like, variable, dtype)
            self._get_or_make_slot_with_initializer(
                variable,
                start,
                variable.get_shape(),
                dtype,
                "accumulator",
                self._name,
            )

    def _filled_like(self, variable: VariableLike, dtype: DTypeLike) -> Tensor:
        """Return the initial sums for a variable with a dynamic shape."""
        filled = constant.fill(reshaping.shape(variable), self._initial_accumulator_value)
        return cast.cast(filled, dtype)
