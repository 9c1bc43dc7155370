"""Adadelta: step sizes are the ratio of the running magnitudes of past steps and gradients.

Source: tensorflow/python/training/adadelta.py, release 1.15.
"""

from __future__ import annotations

from gpuplace.ops.train.optimizer import KernelOptimizer
from gpuplace.typing import TensorLike


class AdadeltaOptimizer(KernelOptimizer):
    """Adadelta optimizer.

    Args:
        learning_rate: a number, a scalar tensor, or a function that returns one.
        rho: fraction of the running averages to keep, in the same forms.
        epsilon: added to the averages, in the same forms.
        use_locking: stored in the graph without effect.
        name: name of the update and of the slots.

    Raises:
        ValueError: the name is empty.
    """

    _op = "Adadelta"
    _kernel_slots = {"accum": "accum", "accum_update": "accum_update"}

    def __init__(
        self,
        learning_rate: TensorLike = 0.001,
        rho: TensorLike = 0.95,
        epsilon: TensorLike = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name, lr=learning_rate, rho=rho, epsilon=epsilon)
