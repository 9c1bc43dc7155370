"""Gradient descent: ``var -= learning_rate * grad``.

Source: tensorflow/python/training/gradient_descent.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.operation import Tensor
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.math import elementwise, unary
from gpuplace.ops.train.optimizer import KernelOptimizer, cast_to
from gpuplace.ops.variables.resource_state import resource_scatter
from gpuplace.typing import TensorLike


class GradientDescentOptimizer(KernelOptimizer):
    """Gradient descent optimizer.

    >>> import gpuplace as tf
    >>> x = tf.Variable(3.0)
    >>> step = tf.train.GradientDescentOptimizer(0.25).minimize(x * x)
    >>> with tf.Session() as session:
    ...     session.run(x.initializer)
    ...     session.run(step)
    ...     float(session.run(x))
    1.5

    Args:
        learning_rate: a number, a scalar tensor, or a function that returns one.
        use_locking: stored in the graph without effect.
        name: name of the update.

    Raises:
        ValueError: the name is empty.
    """

    _op = "GradientDescent"
    _rate_input = "alpha"

    def __init__(
        self, learning_rate: TensorLike, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(use_locking, name, learning_rate=learning_rate)

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any) -> Any:
        rate = cast_to(self._tensors["learning_rate"], var.dtype.base_dtype)
        delta = IndexedSlices(
            elementwise.multiply(grad.values, rate, name="mul"), grad.indices, grad.dense_shape
        )
        return var.scatter_sub(delta, use_locking=self._use_locking)

    def _resource_apply_sparse_duplicate_indices(self, grad: Tensor, var: Any, indices: Tensor) -> Any:
        change = elementwise.multiply(unary.negative(grad), self._settings["learning_rate"], name="mul")
        return resource_scatter("add", var.handle, indices, change)
