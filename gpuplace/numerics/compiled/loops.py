"""Loops over whole arrays that replace many NumPy passes, in the subset of Python that numba compiles.

The last functions are formulas of one element, which numba compiles to functions like NumPy's own; ``one`` is 1 in
their type.

Each loop gives the same bits as NumPy: the same operations in the same order, each rounded separately. The arrays are
contiguous. Output arrays come last, except for scratch memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

UNIT_BYTES = 64
"""The loops of ``window_loops`` take matrices whose line lengths are multiples of this."""


def descent(grad: Any, alpha: Any, var: Any) -> None:
    """``training_ops._gradient_descent``."""
    for i in range(var.size):
        var[i] -= grad[i] * alpha


def momentum(grad: Any, lr: Any, decay: Any, var: Any, accum: Any) -> None:
    """``training_ops._momentum`` without Nesterov momentum."""
    for i in range(var.size):
        total = accum[i] * decay + grad[i]
        accum[i] = total
        var[i] -= total * lr


def adam(grad: Any, rest1: Any, rest2: Any, rate: Any, epsilon: Any, var: Any, m: Any, v: Any) -> None:
    """``training_ops._adam`` without Nesterov momentum; ``rest1`` and ``rest2`` are 1 minus the betas."""
    for i in range(var.size):
        first = m[i] + (grad[i] - m[i]) * rest1
        second = v[i] + (grad[i] * grad[i] - v[i]) * rest2
        m[i] = first
        v[i] = second
        var[i] -= first * rate / (np.sqrt(second) + epsilon)


def relu_gradient(grad: Any, x: Any, result: Any) -> None:
    """Return ``grad`` where ``x`` is positive, otherwise zero."""
    for i in range(x.size):
        result[i] = grad[i] if x[i] > 0 else 0


def sigmoid_gradient(one: Any) -> Callable[[Any, Any], Any]:
    """Return the kernel of ``SigmoidGrad``."""

    def formula(dy: Any, y: Any) -> Any:
        return dy * y * (one - y)

    return formula


def tanh_gradient(one: Any) -> Callable[[Any, Any], Any]:
    """Return the kernel of ``TanhGrad``."""

    def formula(dy: Any, y: Any) -> Any:
        return dy * (one - y * y)

    return formula
