"""The gradient of every neural network op, and of those about variables, against differences of its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpuplace as tf

MACHINES = [
    pytest.param("cpu", id="numpy"),
    pytest.param("1x Tesla K40c", id="simulated"),
    pytest.param("local", id="cupy", marks=pytest.mark.gpu),
]
GENERATOR = np.random.RandomState(7)


def values(*shape: int) -> np.ndarray:
    """Values in double precision, none close to another or to zero, where many functions have a kink."""
    count = int(np.prod(shape))
    spread = (np.arange(count) - count // 2 + 0.5) * (4.0 / count)
    return GENERATOR.permutation(spread).reshape(shape)


IMAGES = values(2, 5, 4, 2)
WEIGHTS = values(3, 2, 2, 3)
ROW = {"strides": [1, 1, 1, 1], "padding": "SAME"}
STEP = {"strides": [1, 2, 2, 1], "padding": "VALID"}


def conv(**attrs: Any) -> Callable[..., Any]:
    return lambda x, w: tf.nn.conv2d(x, w, **attrs)


def input_gradient(w: Any, g: Any) -> Any:
    return tf.nn.conv2d_backprop_input([2, 5, 4, 2], w, g, **ROW)


def filter_gradient(x: Any, g: Any) -> Any:
    return tf.nn.conv2d_backprop_filter(x, [3, 2, 2, 3], g, **ROW)


def pool(function: str, size: int, step: int, padding: str) -> Callable[..., Any]:
    return lambda x: getattr(tf.nn, function)(x, [1, size, size, 1], [1, step, step, 1], padding)


def entropy(x: Any, y: Any) -> Any:
    return tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(y), logits=x)


CASES: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
    "conv2d-same": (conv(**ROW), [IMAGES, WEIGHTS]),
    "conv2d-valid": (conv(**STEP), [IMAGES, WEIGHTS]),
    "conv2d-dilated": (conv(**ROW, dilations=[1, 2, 1, 1]), [IMAGES, WEIGHTS]),
    "conv2d-explicit": (
        conv(strides=1, padding=[[0, 0], [1, 0], [0, 2], [0, 0]]),
        [IMAGES, WEIGHTS],
    ),
    "conv2d_backprop_input": (input_gradient, [WEIGHTS, values(2, 5, 4, 3)]),
    "conv2d_backprop_filter": (filter_gradient, [IMAGES, values(2, 5, 4, 3)]),
    "conv2d_transpose": (
        lambda x, w: tf.nn.conv2d_transpose(x, w, [2, 10, 8, 3], 2),
        [IMAGES, values(3, 2, 3, 2)],
    ),
    "depthwise_conv2d": (
        lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME"),
        [IMAGES, WEIGHTS],
    ),
    "separable_conv2d": (
        lambda x, w, p: tf.nn.separable_conv2d(x, w, p, [1, 1, 1, 1], "VALID"),
        [IMAGES, WEIGHTS, values(1, 1, 6, 2)],
    ),
    "max_pool": (pool("max_pool", 2, 2, "VALID"), [IMAGES]),
    "max_pool-overlapping": (pool("max_pool", 3, 1, "SAME"), [IMAGES]),
    "avg_pool": (pool("avg_pool", 2, 2, "SAME"), [IMAGES]),
    "avg_pool-overlapping": (pool("avg_pool", 3, 2, "SAME"), [IMAGES]),
    "bias_add": (tf.nn.bias_add, [IMAGES, values(2)]),
    "bias_add-rows": (tf.nn.bias_add, [values(3, 4), values(4)]),
    "relu": (tf.nn.relu, [values(3, 4)]),
    "relu6": (lambda x: tf.nn.relu6(x * 5.0), [values(3, 4)]),
    "leaky_relu": (tf.nn.leaky_relu, [values(3, 4)]),
    "elu": (tf.nn.elu, [values(3, 4)]),
    "selu": (tf.nn.selu, [values(3, 4)]),
    "softplus": (tf.nn.softplus, [values(3, 4)]),
    "softsign": (tf.nn.softsign, [values(3, 4)]),
    "crelu": (tf.nn.crelu, [values(3, 4)]),
    "swish": (tf.nn.swish, [values(3, 4)]),
    "softmax": (tf.nn.softmax, [values(3, 4)]),
    "softmax-axis": (lambda x: tf.nn.softmax(x, axis=0), [values(3, 4)]),
    "log_softmax": (tf.nn.log_softmax, [values(3, 4)]),
    "softmax_cross_entropy": (entropy, [values(3, 4), values(3, 4)]),
    "sparse_softmax_cross_entropy": (
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1, 0, 3], logits=x),
        [values(3, 4)],
    ),
    "sigmoid_cross_entropy": (
        lambda x, y: tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=x),
        [values(3, 4), np.abs(values(3, 4))],
    ),
    "l2_loss": (tf.nn.l2_loss, [values(3, 4)]),
    "l2_normalize": (lambda x: tf.nn.l2_normalize(x, 1), [values(3, 4)]),
    "moments": (lambda x: tf.nn.moments(x, [0])[1], [values(3, 4)]),
    "batch_normalization": (
        lambda x, m, v, o, s: tf.nn.batch_normalization(x, m, v, o, s, 1e-3),
        [values(3, 4), values(4), 1 + np.abs(values(4)), values(4), values(4)],
    ),
    "top_k": (lambda x: tf.nn.top_k(x, 2)[0], [values(3, 4)]),
    "embedding_lookup": (lambda x: tf.nn.embedding_lookup(x, [2, 0, 2]), [values(3, 4)]),
    "xw_plus_b": (tf.nn.xw_plus_b, [values(3, 4), values(4, 2), values(2)]),
    "unsorted_segment_sum": (lambda x: tf.unsorted_segment_sum(x, [1, 0, 1], 2), [values(3, 4)]),
}
SINGLE: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {  # ops that exist in single precision only
    "lrn": (lambda x: tf.nn.lrn(x, 1, bias=1.0, alpha=0.5, beta=0.75), [IMAGES]),
    "fused_batch_norm": (lambda x, s, o: tf.nn.fused_batch_norm(x, s, o)[0], [IMAGES, values(2), values(2)]),
    "fused_batch_norm-inference": (
        lambda x, s, o: tf.nn.fused_batch_norm(x, s, o, [0.1, 0.2], [1.5, 0.5], is_training=False)[0],
        [IMAGES, values(2), values(2)],
    ),
}


def compare(
    function: Callable[..., Any], points: list[np.ndarray], dtype: Any, step: float, tolerance: float
) -> None:
    """Compares with central differences of a weighted sum of the outputs."""
    inputs = [tf.placeholder(dtype, point.shape) for point in points]
    output = function(*inputs)
    weights = np.cos(np.arange(output.shape.num_elements())).reshape(output.shape.as_list())
    found = [
        tf.convert_to_tensor(g) for g in tf.gradients(output, inputs, grad_ys=tf.constant(weights, dtype))
    ]
    with tf.Session() as session:
        analytic = session.run(found, dict(zip(inputs, points, strict=True)))
        run = session.make_callable(output, inputs)

        def value(*at: np.ndarray) -> float:
            return float((np.asarray(run(*at), np.float64) * weights).sum())

        for index, (point, gradient) in enumerate(zip(points, analytic, strict=True)):
            assert gradient.dtype == np.dtype(dtype.as_numpy_dtype)
            expected = np.empty_like(point)
            for at in np.ndindex(point.shape):
                moved = [[p.copy() for p in points] for _ in range(2)]
                moved[0][index][at] += step
                moved[1][index][at] -= step
                expected[at] = (value(*moved[0]) - value(*moved[1])) / (2 * step)
            np.testing.assert_allclose(
                gradient, expected, rtol=tolerance, atol=tolerance, err_msg=f"input {index}"
            )


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", CASES)
def test_gradient_is_the_slope(name, machine):
    use(machine)
    compare(*CASES[name], tf.float64, 1e-5, 1e-6)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", SINGLE)
def test_gradient_is_the_slope_in_single_precision(name, machine):
    use(machine)
    compare(*SINGLE[name], tf.float32, 1e-2, 1e-2)


def use(machine: str) -> None:
    tf.use_machine(tf.Machine.local() if machine == "local" else machine)


@pytest.mark.parametrize(
    "name", ["relu", "leaky_relu", "elu", "selu", "relu6", "max_pool", "softmax", "bias_add"]
)
def test_second_derivative_is_the_slope_of_the_first(name):
    function, points = CASES[name]

    def slope(*inputs: Any) -> Any:
        return tf.gradients(tf.reduce_sum(tf.square(function(*inputs))), inputs[0])[0]

    compare(slope, points, tf.float64, 1e-5, 1e-5)
