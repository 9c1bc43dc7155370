"""``tf.test.compute_gradient``: compare the derivatives of ``tf.gradients`` with finite differences.

Both are Jacobians of shape ``[elements of x, elements of y]``; a complex element counts as two, its real and its
imaginary part::

    theoretical[:, j]   the gradient of x for a gradient of y that is 1 in element j and 0 elsewhere
    numeric[i, :]       (y(x + delta in element i) - y(x - delta in element i)) / (2 delta)

Source: tensorflow/python/ops/gradient_checker.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.stacks import get_default_session
from gpuplace.ops.array.constant import constant
from gpuplace.ops.gradients.gradients import gradients
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.typing import Array, TensorLike

__all__ = ["compute_gradient", "compute_gradient_error"]


def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Sequence[Operation] | Operation | None = None,
    extra_feed_dict: Mapping[Any, Any] | None = None,
) -> Any:
    """Compute the Jacobian of ``y`` by ``x`` in the default session, with ``tf.gradients`` and by finite differences.

    Args:
        x: a tensor that ``y`` depends on, or a list of them.
        x_shape: its shape, or a list of shapes.
        y: a tensor of a floating or complex type.
        y_shape: its shape.
        x_init_value: an array, or a list of them: the point to differentiate at; None: random, from a fixed seed.
        delta: step of the finite differences.
        init_targets: operations to run first, or None.
        extra_feed_dict: tensors to feed besides ``x``, or None.

    Returns:
        Two arrays, from ``tf.gradients`` and finite differences; a list of such pairs if ``x`` is a list.

    Raises:
        ValueError: there is no default session, or a dtype or the shape of ``x_init_value`` is wrong.
        InvalidArgumentError: ``y`` has no elements, and its gradient is not zero.
    """
    session = get_default_session()
    if session is None:
        raise ValueError("compute_gradient needs a default session: call it within `with tf.Session():`")
    if init_targets is not None:
        session.run(init_targets)
    is_list = isinstance(x, (list, tuple))
    xs, shapes = (list(x), list(x_shape)) if is_list else ([x], [x_shape])
    for tensor, label in [*((tensor, "x") for tensor in xs), (y, "y")]:
        if not (tensor.dtype.is_floating or tensor.dtype.is_complex):
            raise ValueError(f"{label} must be of a floating or complex type: {tensor.dtype.name}")
    starts = _starts(xs, shapes, x_init_value if is_list or x_init_value is None else [x_init_value])
    feeds = dict(extra_feed_dict or {})
    feeds.update(zip(xs, starts, strict=True))
    jacobians = [
        (
            _theoretical(session, tensor, shape, y, y_shape, feeds),
            _numeric(session, tensor, y, y_shape, feeds, delta),
        )
        for tensor, shape in zip(xs, shapes, strict=True)
    ]
    return jacobians if is_list else jacobians[0]


def compute_gradient_error(
    x: TensorLike,
    x_shape: Any,
    y: Tensor,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Sequence[Operation] | Operation | None = None,
    extra_feed_dict: Mapping[Any, Any] | None = None,
) -> float:
    """Return the largest difference between the two Jacobians of ``compute_gradient``.

    Args:
        x: as for ``compute_gradient``.
        x_shape: as for ``compute_gradient``.
        y: as for ``compute_gradient``.
        y_shape: as for ``compute_gradient``.
        x_init_value: as for ``compute_gradient``.
        delta: as for ``compute_gradient``.
        init_targets: as for ``compute_gradient``.
        extra_feed_dict: as for ``compute_gradient``.

    Returns:
        A number; 0 for Jacobians without elements.
    """
    pairs = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    error = 0.0
    for theoretical, numeric in pairs if isinstance(pairs, list) else [pairs]:
        if theoretical.size or numeric.size:
            error = float(np.maximum(error, np.fabs(theoretical - numeric).max()))
    return error


def _starts(xs: Sequence[Tensor], shapes: Sequence[Any], given: Sequence[Array] | None) -> list[Array]:
    """Return the points to differentiate at: copies, because the differences modify them."""
    if given is None:
        random = np.random.RandomState(12345)
        points = []
        for tensor, shape in zip(xs, shapes, strict=True):
            numbers = random.random_sample(tuple(shape))
            points.append(np.asarray(numbers, tensor.dtype.as_numpy_dtype))
        return points
    starts = [np.array(array, tensor.dtype.as_numpy_dtype) for array, tensor in zip(given, xs, strict=True)]
    for start, shape in zip(starts, shapes, strict=True):
        if list(start.shape) != list(shape):
            raise ValueError(f"x_init_value has shape {list(start.shape)}, but x_shape is {list(shape)}")
    return starts


def _numbers(array: Array) -> Array:
    """Return the real numbers in an array, a complex one as two."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def _theoretical(
    session: Any, x: Tensor, x_shape: Any, y: Tensor, y_shape: Any, feeds: Mapping[Any, Any]
) -> Array:
    seed = np.zeros(tuple(y_shape), y.dtype.as_numpy_dtype)
    dy = constant(1, dtype=y.dtype.base_dtype, shape=y_shape)
    dx = gradients(y, x, grad_ys=dy)[0]
    columns = _numbers(seed).size
    start = np.asarray(feeds[x])
    rows = _numbers(start).size
    numbers = _numbers(start).dtype
    jacobian = np.zeros((rows, columns), numbers)
    if dx is None:
        return jacobian
    for column in range(columns):
        one_hot = seed.copy()
        parts = one_hot.reshape(-1)
        (parts.view(parts.real.dtype) if parts.dtype.kind == "c" else parts)[column] = 1
        slope = session.run(dx, {**feeds, dy: one_hot})
        if isinstance(dx, IndexedSlices):
            perturbed = np.zeros(start.shape, start.dtype)
            np.add.at(perturbed, np.asarray(slope.indices), slope.values)
            slope = perturbed
        jacobian[:, column] = _numbers(np.asarray(slope, start.dtype))
    if not columns:
        slope = session.run(dx, {**feeds, dy: seed})
        values = slope.values if isinstance(dx, IndexedSlices) else slope
        if np.any(values):
            raise InvalidArgumentError.of("The gradient of a tensor without elements is not zero.")
    return jacobian


def _numeric(
    session: Any, x: Tensor, y: Tensor, y_shape: Any, feeds: Mapping[Any, Any], delta: float
) -> Array:
    start = np.array(feeds[x])
    exact = np.float64 if start.dtype.name in ("float16", "bfloat16") else None
    rows = _numbers(start).size
    probe = np.zeros(tuple(y_shape), y.dtype.as_numpy_dtype)
    jacobian = np.zeros((rows, _numbers(probe).size), exact or _numbers(start).dtype)

    def value_at(row: int, step: float) -> Array:
        moved = start.copy()
        parts = moved.reshape(-1)
        parts = parts.view(parts.real.dtype) if parts.dtype.kind == "c" else parts
        parts[row] = parts[row] + parts.dtype.type(step)
        return _numbers(np.asarray(session.run(y, {**feeds, x: moved})))

    for row in range(rows):
        jacobian[row, :] = (value_at(row, delta) - value_at(row, -delta)) / (2 * delta)
    return jacobian
