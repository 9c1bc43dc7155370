"""RMSProp: steps are divided by the square root of a running mean of the squared gradients.

Source: tensorflow/python/training/rmsprop.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.ops.array import constant
from gpuplace.ops.train.optimizer import KernelOptimizer
from gpuplace.ops.variables.init_ops import Ones
from gpuplace.typing import TensorLike


class RMSPropOptimizer(KernelOptimizer):
    """RMSProp optimizer.

    Args:
        learning_rate: a number, a scalar tensor, or a function that returns one, as for the next three arguments.
        decay: decay of the running mean of the squared gradients, from 0 to below 1.
        momentum: decay of the sum of the steps, from 0 to below 1.
        epsilon: added to the mean to avoid division by zero.
        use_locking: stored in the graph without effect.
        centered: whether to subtract the squared running mean of the gradients.
        name: name of the update and of the slots.

    Raises:
        ValueError: the name is empty.
    """

    def __init__(
        self,
        learning_rate: TensorLike,
        decay: TensorLike = 0.9,
        momentum: TensorLike = 0.0,
        epsilon: TensorLike = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        settings = {"learning_rate": learning_rate, "decay": decay, "momentum": momentum, "epsilon": epsilon}
        super().__init__(use_locking, name, **settings)
        self._centered = centered
        self._op = "CenteredRMSProp" if centered else "RMSProp"
        self._kernel_slots = {**({"mg": "mg"} if centered else {}), "ms": "rms", "mom": "momentum"}

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for variable in var_list:
            dtype, shape = variable.dtype.base_dtype, variable.get_shape()
            ones = Ones(dtype=dtype) if shape.is_fully_defined() else constant.ones_like(variable)
            self._get_or_make_slot_with_initializer(variable, ones, shape, dtype, "rms", self._name)
            if self._centered:
                self._zeros_slot(variable, "mg", self._name)
            self._zeros_slot(variable, "momentum", self._name)
