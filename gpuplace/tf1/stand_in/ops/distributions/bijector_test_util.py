"""``tensorflow.python.ops.distributions.bijector_test_util``: whether a bijector's methods go with each other.

Source: tensorflow/python/ops/distributions/bijector_test_util.py, release 1.15 (names, arguments, tolerances, seeds).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.graph.stacks import get_default_session
from gpuplace.ops.math.reduction import reduce_mean
from gpuplace.ops.math.unary import exp
from gpuplace.tf1.distributions.uniform import Uniform


def assert_finite(array: Any) -> None:
    """Fails where an element is not finite.

    Args:
        array: numbers.
    """
    if not np.isfinite(array).all():
        raise AssertionError(f"array was not all finite. {array[:15]}")


def assert_strictly_increasing(array: Any) -> None:
    """Fails where an element is not above the one before it.

    Args:
        array: numbers in a row.
    """
    np.testing.assert_array_less(0.0, np.diff(array))


def assert_strictly_decreasing(array: Any) -> None:
    """Fails where an element is not below the one before it.

    Args:
        array: numbers in a row.
    """
    np.testing.assert_array_less(np.diff(array), 0.0)


def assert_strictly_monotonic(array: Any) -> None:
    """Fails where numbers neither only rise nor only fall.

    Args:
        array: numbers in a row.
    """
    rises = array[0] < array[-1]
    (assert_strictly_increasing if rises else assert_strictly_decreasing)(array)


def assert_scalar_congruency(
    bijector: Any, lower_x: Any, upper_x: Any, n: int = 10000, rtol: float = 0.01, sess: Any = None
) -> None:
    """Fails unless a bijector of scalars only rises or only falls, is undone by its inverse, and has its Jacobian.

    The mean of the inverse's derivative over the image of an interval, times the length of that image, is the length of
    the interval.

    Args:
        bijector: the bijector.
        lower_x: where the interval begins.
        upper_x: where it ends.
        n: how many values are drawn.
        rtol: how far the length may be away, as a share of it.
        sess: the session; None: the default one.

    Raises:
        AssertionError: something does not go with the rest.
    """
    sess = sess or get_default_session()
    points = np.linspace(lower_x, upper_x, num=10).astype(np.float32)
    if bijector.dtype is not None:
        points = points.astype(bijector.dtype.as_numpy_dtype)
    image = bijector.forward(points)
    lower_y, upper_y = sorted(sess.run([bijector.forward(lower_x), bijector.forward(upper_x)]))
    x = Uniform(low=lower_x, high=upper_x).sample(n, seed=0)
    y = Uniform(low=lower_y, high=upper_y).sample(n, seed=1)
    by_y = exp(bijector.inverse_log_det_jacobian(y, event_ndims=0))
    found = sess.run(
        {
            "image": image,
            "x": (bijector.inverse(bijector.forward(x)), x),
            "y": (bijector.forward(bijector.inverse(y)), y),
            "by_y": by_y,
            "by_x": exp(bijector.forward_log_det_jacobian(bijector.inverse(y), event_ndims=0)),
            "length": (upper_y - lower_y) * reduce_mean(by_y),
        }
    )
    assert_strictly_monotonic(found["image"])
    for again, given in (found["x"], found["y"]):
        np.testing.assert_allclose(again, given, atol=1e-5, rtol=1e-3)
    np.testing.assert_allclose(upper_x - lower_x, found["length"], atol=0, rtol=rtol)
    np.testing.assert_allclose(found["by_y"], 1.0 / found["by_x"], atol=1e-5, rtol=1e-3)


def assert_bijective_and_finite(
    bijector: Any, x: Any, y: Any, event_ndims: int, atol: float = 0, rtol: float = 1e-5, sess: Any = None
) -> None:
    """Fails unless a bijector and its inverse undo each other, have opposite Jacobians, and give finite numbers.

    Args:
        bijector: the bijector.
        x: numbers that it takes.
        y: numbers that its inverse takes.
        event_ndims: how many axes belong to one value.
        atol: how far numbers may be apart.
        rtol: how far they may be apart, as a share of them.
        sess: the session; None: the default one.

    Raises:
        AssertionError: something does not go with the rest.
    """
    sess = sess or get_default_session()
    assert_finite(x)
    assert_finite(y)
    image, origin = bijector.forward(x), bijector.inverse(y)
    found = sess.run(
        {
            "image": image,
            "origin": origin,
            "x": bijector.inverse(image),
            "y": bijector.forward(origin),
            "back from the image": bijector.inverse_log_det_jacobian(image, event_ndims=event_ndims),
            "from x": bijector.forward_log_det_jacobian(x, event_ndims=event_ndims),
            "back from y": bijector.inverse_log_det_jacobian(y, event_ndims=event_ndims),
            "from the origin": bijector.forward_log_det_jacobian(origin, event_ndims=event_ndims),
        }
    )
    for one in found.values():
        assert_finite(one)
    np.testing.assert_allclose(found["x"], x, atol=atol, rtol=rtol)
    np.testing.assert_allclose(found["y"], y, atol=atol, rtol=rtol)
    np.testing.assert_allclose(-found["back from the image"], found["from x"], atol=atol, rtol=rtol)
    np.testing.assert_allclose(-found["back from y"], found["from the origin"], atol=atol, rtol=rtol)
