"""Gradient descent with L1 and L2 penalties that are applied after each step.

Source: tensorflow/python/training/proximal_gradient_descent.py, release 1.15.
"""

from __future__ import annotations

from gpuplace.ops.train.optimizer import KernelOptimizer
from gpuplace.typing import TensorLike


class ProximalGradientDescentOptimizer(KernelOptimizer):
    """Proximal gradient descent.

    Args:
        learning_rate: a number, a scalar tensor, or a function that returns one.
        l1_regularization_strength: 0 or more.
        l2_regularization_strength: 0 or more.
        use_locking: recorded in the graph only.
        name: name of the update.

    Raises:
        ValueError: the name is empty.
    """

    _op = "ProximalGradientDescent"
    _rate_input = "alpha"

    def __init__(
        self,
        learning_rate: TensorLike,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(
            use_locking,
            name,
            learning_rate=learning_rate,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
        )
