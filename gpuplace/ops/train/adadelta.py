"""Adadelta: steps as large as the running size of former steps over that of gradients.

Source: tensorflow/python/training/adadelta.py, release 1.15.
"""

from __future__ import annotations

from gpuplace.ops.train.optimizer import KernelOptimizer
from gpuplace.typing import TensorLike


class AdadeltaOptimizer(KernelOptimizer):
    """Adadelta.

    Args:
        learning_rate: a number, a scalar tensor, or a function that returns one.
        rho: how much of the running averages is kept, given in the same ways.
        epsilon: added to the averages, given in the same ways.
        use_locking: kept in the graph.
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
