"""``tensorflow.python.ops.gradient_checker_v2``: the two Jacobians of a function, by gradients and by differences.

They have the shape ``[elements of y, elements of x]``, the transpose of what ``tf.test.compute_gradient`` gives.

Source: tensorflow/python/ops/gradient_checker_v2.py, release 1.15 (names, arguments, results).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Tensor
from gpuplace.graph.stacks import get_default_session
from gpuplace.ops.array.constant import placeholder
from gpuplace.ops.gradients.indexed_slices import IndexedSlicesValue
from gpuplace.tf1.api.testing import gradient_checker
from gpuplace.typing import Array

__all__ = ["compute_gradient", "max_error"]


def compute_gradient(
    f: Callable[..., Any], x: Sequence[Any], delta: float = 1e-3
) -> tuple[list[Array], list[Array]]:
    """The Jacobians of a function by each of its arguments; runs in the default session.

    Args:
        f: makes a tensor of tensors.
        x: the arguments: arrays, or tensors of known shape.
        delta: the step of the differences.

    Returns:
        The Jacobians by ``tf.gradients`` and those by differences, one for each argument.

    Raises:
        ValueError: ``x`` is no list or tuple, or there is no default session.
    """
    if not isinstance(x, (list, tuple)):
        raise ValueError(f"`x` must be a list or tuple of values convertible to a Tensor; got {type(x)}.")
    session = get_default_session()
    if session is None:
        raise ValueError("compute_gradient needs a default session: call it within `with tf.Session():`")
    starts = session.run([convert_to_tensor(one) for one in x])
    xs = [placeholder(start.dtype, start.shape) for start in starts]
    y = f(*xs)
    feeds = dict(zip(xs, starts, strict=True))
    y_shape = session.run(y, feeds).shape
    pairs = [
        gradient_checker.compute_gradient(
            one,
            start.shape,
            y,
            y_shape,
            start,
            delta,
            extra_feed_dict={k: v for k, v in feeds.items() if k is not one},
        )
        for one, start in zip(xs, starts, strict=True)
    ]
    return [theoretical.T for theoretical, _ in pairs], [numeric.T for _, numeric in pairs]


def max_error(grad1: Sequence[Array], grad2: Sequence[Array]) -> float:
    """The largest difference between Jacobians; infinite where two differ in shape.

    Args:
        grad1: Jacobians.
        grad2: as many others.
    """
    error = 0.0
    for one, other in zip(grad1, grad2, strict=True):
        if one.shape != other.shape:
            return float("inf")
        if one.size:
            apart = float(abs(one - other).max())
            error = error if error > apart else apart  # also where it is no number
    return error


def _to_numpy(a: Any) -> Any:
    """A value as an array.

    Args:
        a: a tensor, which runs in the default session; slices, which become dense; other values are given back.
    """
    if isinstance(a, Tensor):
        return a.eval()
    if isinstance(a, IndexedSlicesValue):
        dense = np.zeros(a.dense_shape)
        np.add.at(dense, a.indices, a.values)
        return dense
    return a
