"""Momentum: ``accum = momentum * accum + grad``, ``var -= learning_rate * accum``.

Source: tensorflow/python/training/momentum.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.convert import convert_to_tensor
from gpuplace.ops.train.optimizer import KernelOptimizer
from gpuplace.typing import TensorLike


class MomentumOptimizer(KernelOptimizer):
    """Gradient descent with momentum.

    Args:
        learning_rate: a number, a scalar tensor, or a function that returns one.
        momentum: decay of the sum of the gradients, from 0 to below 1, in the same forms.
        use_locking: stored in the graph without effect.
        name: name of the update and of the slots.
        use_nesterov: whether to use Nesterov momentum.

    Raises:
        ValueError: the name is empty.
    """

    _op = "Momentum"
    _kernel_slots = {"accum": "momentum"}

    def __init__(
        self,
        learning_rate: TensorLike,
        momentum: TensorLike,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name, learning_rate=learning_rate, momentum=momentum)
        self._use_nesterov = use_nesterov

    def _prepare(self) -> None:
        for name, value in self._settings.items():  # functions are called after the earlier tensors are built
            self._tensors[name] = convert_to_tensor(self._call_if_callable(value), name=name)

    def _attrs(self) -> dict[str, Any]:
        return {"use_nesterov": self._use_nesterov}
