"""``tf.test.compute_gradient``: the derivatives that ``tf.gradients`` gives beside those by differences.

Both are Jacobians of shape ``[elements of x, elements of y]``; a complex element counts as two, its real and its
imaginary part::

    theoretical[:, j]   the gradient of x, for a gradient of y that is one in element j and zero elsewhere
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
    """The Jacobian of ``y`` by ``x``, by ``tf.gradients`` and by differences; runs in the default session.

    Args:
        x: a tensor that ``y`` depends on, or a list of them.
        x_shape: its shape, or a list of shapes.
        y: a tensor of a floating or complex type.
        y_shape: its shape.
        x_init_value: an array, or a list of them: where to differentiate; None: random numbers, from a fixed seed.
        delta: the step of the differences.
        init_targets: operations to run first; None: none.
        extra_feed_dict: tensors to feed besides ``x``; None: none.

    Returns:
        Two arrays, from ``tf.gradients`` and by differences; a list of such pairs where ``x`` is a list.

    Raises:
        ValueError: there is no default session, a tensor is of another type, or ``x_init_value`` of another shape.
        InvalidArgumentError: ``y`` has no elements, and its gradient is not zero.
    """
    session = get_default_session()
    if session is None:
        raise ValueError("compute_gradient needs a default session: call it within `with tf.Session():`")
    if init_targets is not None:
        session.run(init_targets)
    many = isinstance(x, (list, tuple))
    xs, shapes = (list(x), list(x_shape)) if many else ([x], [x_shape])
    for tensor, wanted in [*((one, "x") for one in xs), (y, "y")]:
        if not (tensor.dtype.is_floating or tensor.dtype.is_complex):
            raise ValueError(f"{wanted} must be of a floating or complex type: {tensor.dtype.name}")
    starts = _starts(xs, shapes, x_init_value if many or x_init_value is None else [x_init_value])
    feeds = dict(extra_feed_dict or {})
    feeds.update(zip(xs, starts, strict=True))
    found = [
        (
            _theoretical(session, one, shape, y, y_shape, feeds),
            _numeric(session, one, y, y_shape, feeds, delta),
        )
        for one, shape in zip(xs, shapes, strict=True)
    ]
    return found if many else found[0]


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
    """The largest difference between the two Jacobians of ``compute_gradient``.

    Args:
        x: as there.
        x_shape: as there.
        y: as there.
        y_shape: as there.
        x_init_value: as there.
        delta: as there.
        init_targets: as there.
        extra_feed_dict: as there.

    Returns:
        A number, 0 for Jacobians without elements.
    """
    pairs = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    error = 0.0
    for theoretical, numeric in pairs if isinstance(pairs, list) else [pairs]:
        if theoretical.size or numeric.size:
            error = float(np.maximum(error, np.fabs(theoretical - numeric).max()))
    return error


def _starts(xs: Sequence[Tensor], shapes: Sequence[Any], given: Sequence[Array] | None) -> list[Array]:
    """Where to differentiate: arrays of their own, as differences change them."""
    if given is None:
        random = np.random.RandomState(12345)
        made = []
        for tensor, shape in zip(xs, shapes, strict=True):
            numbers = random.random_sample(tuple(shape))
            made.append(np.asarray(numbers, tensor.dtype.as_numpy_dtype))
        return made
    starts = [np.array(one, tensor.dtype.as_numpy_dtype) for one, tensor in zip(given, xs, strict=True)]
    for start, shape in zip(starts, shapes, strict=True):
        if list(start.shape) != list(shape):
            raise ValueError(f"x_init_value has shape {list(start.shape)}, and x_shape is {list(shape)}")
    return starts


def _numbers(array: Array) -> Array:
    """The real numbers in an array, complex ones as two."""
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
            whole = np.zeros(start.shape, start.dtype)
            np.add.at(whole, np.asarray(slope.indices), slope.values)
            slope = whole
        jacobian[:, column] = _numbers(np.asarray(slope, start.dtype))
    if not columns:
        slope = session.run(dx, {**feeds, dy: seed})
        values = slope.values if isinstance(dx, IndexedSlices) else slope
        if np.any(values):
            raise InvalidArgumentError.of("The gradient of something without elements is not zero.")
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
