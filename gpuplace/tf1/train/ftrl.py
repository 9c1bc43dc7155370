"""Follow the regularized leader: sparse weights by an L1 penalty.

Source: tensorflow/python/training/ftrl.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import constant
from gpuplace.ops.train.optimizer import KernelOptimizer
from gpuplace.typing import TensorLike


class FtrlOptimizer(KernelOptimizer):
    """FTRL-Proximal.

    Args:
        learning_rate: a number, a scalar tensor, or a function that returns one.
        learning_rate_power: exponent by which the rate falls with the sum of squares, 0 or less.
        initial_accumulator_value: initial sum of squares, 0 or more.
        l1_regularization_strength: 0 or more.
        l2_regularization_strength: 0 or more.
        use_locking: recorded in the graph only.
        name: name of the update and of the slots.
        accum_name: name of the slot for the sums of squares; None for ``name``.
        linear_name: name of the other slot; None for ``name``.
        l2_shrinkage_regularization_strength: 0 or more; this penalty is added to the gradient of the weights,
            but not to the gradient whose squares are summed.

    Raises:
        ValueError: a number is out of range, or the name is empty.
    """

    _op = "Ftrl"
    _kernel_slots = {"accum": "accum", "linear": "linear"}

    def __init__(
        self,
        learning_rate: TensorLike,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
    ) -> None:
        for argument, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{argument} {value} needs to be positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power} needs to be negative or zero")
        super().__init__(
            use_locking,
            name,
            learning_rate=learning_rate,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
            l2_shrinkage_regularization_strength=l2_shrinkage_regularization_strength,
            learning_rate_power=learning_rate_power,
        )
        if l2_shrinkage_regularization_strength > 0.0:
            self._op = "FtrlV2"
        self._start = initial_accumulator_value
        self._slot_scopes = accum_name or name, linear_name or name

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for variable in var_list:
            with get_default_graph().colocate_with(variable.op):
                start = constant(self._start, variable.dtype.base_dtype, variable.get_shape())
                self._get_or_make_slot(variable, start, "accum", self._slot_scopes[0])
                self._zeros_slot(variable, "linear", self._slot_scopes[1])

    def _scalars(self) -> dict[str, Tensor]:
        scalars = super()._scalars()
        shrinkage = scalars.pop("l2_shrinkage_regularization_strength")
        return {**scalars, "l2_shrinkage": shrinkage} if self._op == "FtrlV2" else scalars
