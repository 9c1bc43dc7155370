"""Kernels of neural networks, and what a session adds to large ones, beside bare NumPy and TensorFlow 2.21 on the CPU.

    python -m tests.benchmarks.bench_kernels [--tensorflow PYTHON] [--repeat 3] [--threads 2] [--only WORD ...]

`--tensorflow`, or the environment variable GPUPLACE_TENSORFLOW_PYTHON, is the Python that has TensorFlow. The libraries
run the same graph in turns, each in a process of its own, with as many threads as there are cores; a figure is the
median of the fastest of each turn. A ratio below 1 means that gpuplace is faster. NumPy's rows are the calls that a
kernel ends in; a convolution's is the function that the session calls.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.bench_session import fastest, print_table
from tests.benchmarks.peers import TENSORFLOW_VARIABLE, in_turns, medians

LIBRARIES = ("numpy", "gpuplace", "tensorflow")
SAME = {"strides": [1, 1, 1, 1], "padding": "SAME"}
HALVED = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
OVERLAPPING = {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}


def values(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


IMAGES, FILTER = values(32, 16, 16, 32), values(3, 3, 32, 64)
LARGE_IMAGES, WIDE_IMAGES = values(32, 32, 32, 32), values(4, 112, 112, 64)
GRADIENT = values(32, 16, 16, 64)
LOGITS = values(1024, 1000)
MILLION, SQUARE, MANY = values(1000, 1000), values(1024, 1024), values(4096, 4096)


def conv_net(tf: Any, x: Any) -> Any:
    """Three convolutions with bias, relu and pooling, and a dense layer."""
    channels = 3
    for filters in (32, 64, 64):
        kernel, bias = tf.constant(values(3, 3, channels, filters) * 0.1), tf.constant(values(filters))
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, **SAME), bias))
        x, channels = tf.nn.max_pool(x, **HALVED), filters
    return tf.nn.softmax(tf.matmul(tf.reshape(x, [-1, 1024]), tf.constant(values(1024, 10))))


def conv_net_step(tf: Any, x: Any) -> Any:
    """The gradient of the same net, as far back as to the images."""
    return tf.gradients(tf.reduce_sum(tf.square(conv_net(tf, x))), [x])[0]


def normalised(tf: Any, x: Any, training: bool) -> Any:
    given = {} if training else {"mean": np.zeros(32, np.float32), "variance": np.ones(32, np.float32)}
    scale, offset = np.ones(32, np.float32), np.zeros(32, np.float32)
    return tf.nn.fused_batch_norm(x, scale, offset, is_training=training, **given)[0]


def entropy(tf: Any, x: Any) -> Any:
    labels = np.full((1024, 1000), 1e-3, np.float32)
    return tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.constant(labels), logits=x)


def sparse_entropy(tf: Any, x: Any) -> Any:
    labels = tf.constant(np.arange(1024, dtype=np.int32) % 1000)
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)


def gradient_of(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The gradient for a gradient that is the function's value, so that nothing of it is constant."""

    def both(tf: Any, x: Any) -> Any:
        y = function(tf, x)
        return tf.gradients(y, [x], [y])[0]

    return both


def pooled(kind: str, window: dict[str, Any]) -> Callable[[Any, Any], Any]:
    return lambda tf, x: getattr(tf.nn, kind)(x, **window)


def convolved(tf: Any, x: Any) -> Any:
    return tf.nn.conv2d(x, tf.constant(FILTER), **SAME)


def depthwise(tf: Any, x: Any) -> Any:
    return tf.nn.depthwise_conv2d(x, tf.constant(values(3, 3, 32, 1)), **SAME)


def depthwise_filter_gradient(tf: Any, x: Any) -> Any:
    filter = tf.constant(values(3, 3, 32, 1))
    y = tf.nn.depthwise_conv2d(x, filter, **SAME)
    return tf.gradients(y, [filter], [y])[0]


def conv_net_training(tf: Any, x: Any) -> Any:
    """The gradients of the same net with respect to its filters, their sizes added up."""
    y = tf.reduce_sum(tf.square(conv_net(tf, x)))
    filters = [op.inputs[1] for op in tf.get_default_graph().get_operations() if op.type == "Conv2D"]
    return tf.add_n([tf.reduce_sum(tf.abs(grad)) for grad in tf.gradients(y, filters)])


CASES: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {
    "conv net, forward": (values(32, 32, 32, 3), conv_net),
    "conv net, gradient": (values(32, 32, 32, 3), conv_net_step),
    "conv net, gradients of filters": (values(32, 32, 32, 3), conv_net_training),
    "Conv2D 3x3": (IMAGES, convolved),
    "Conv2D 3x3, 112x112": (
        WIDE_IMAGES,
        lambda tf, x: tf.nn.conv2d(x, tf.constant(values(3, 3, 64, 64)), **SAME),
    ),
    "Conv2D 1x1": (IMAGES, lambda tf, x: tf.nn.conv2d(x, tf.constant(values(1, 1, 32, 64)), **SAME)),
    "Conv2D 5x5, stride 2": (
        LARGE_IMAGES,
        lambda tf, x: tf.nn.conv2d(
            x, tf.constant(values(5, 5, 32, 32)), strides=[1, 2, 2, 1], padding="SAME"
        ),
    ),
    "Conv2DBackpropInput": (
        GRADIENT,
        lambda tf, x: tf.nn.conv2d_transpose(x, tf.constant(FILTER), IMAGES.shape, **SAME),
    ),
    "Conv2DBackpropFilter": (
        GRADIENT,
        lambda tf, x: tf.nn.conv2d_backprop_filter(tf.constant(IMAGES), FILTER.shape, x, **SAME),
    ),
    "DepthwiseConv2d": (LARGE_IMAGES, depthwise),
    "DepthwiseConv2d and its gradient": (LARGE_IMAGES, gradient_of(depthwise)),
    "the same of the filter": (LARGE_IMAGES, depthwise_filter_gradient),
    "DepthwiseConv2d, stride 2": (
        LARGE_IMAGES,
        lambda tf, x: tf.nn.depthwise_conv2d(x, values(3, 3, 32, 1), [1, 2, 2, 1], "SAME"),
    ),
    "MaxPool 2x2": (LARGE_IMAGES, pooled("max_pool", HALVED)),
    "MaxPool 3x3, stride 2": (LARGE_IMAGES, pooled("max_pool", OVERLAPPING)),
    "MaxPool 2x2 and its gradient": (LARGE_IMAGES, gradient_of(pooled("max_pool", HALVED))),
    "AvgPool 2x2": (LARGE_IMAGES, pooled("avg_pool", HALVED)),
    "AvgPool 2x2 and its gradient": (LARGE_IMAGES, gradient_of(pooled("avg_pool", HALVED))),
    "FusedBatchNorm": (LARGE_IMAGES, lambda tf, x: normalised(tf, x, False)),
    "FusedBatchNorm, training": (LARGE_IMAGES, lambda tf, x: normalised(tf, x, True)),
    "FusedBatchNorm and its gradient": (LARGE_IMAGES, gradient_of(lambda tf, x: normalised(tf, x, True))),
    "BiasAdd": (LARGE_IMAGES, lambda tf, x: tf.nn.bias_add(x, tf.constant(values(32)))),
    "BiasAddGrad": (
        LARGE_IMAGES,
        lambda tf, x: tf.gradients(tf.nn.bias_add(x, b := tf.constant(values(32))), [b], [x])[0],
    ),
    "Relu": (LARGE_IMAGES, lambda tf, x: tf.nn.relu(x)),
    "Softmax": (LOGITS, lambda tf, x: tf.nn.softmax(x)),
    "softmax cross entropy": (LOGITS, entropy),
    "sparse cross entropy": (LOGITS, sparse_entropy),
    "MatMul 1024": (SQUARE, lambda tf, x: tf.matmul(x, x)),
    "Sum of 16M": (MANY, lambda tf, x: tf.reduce_sum(x)),
    "Sum of 16M, axis 0": (MANY, lambda tf, x: tf.reduce_sum(x, 0)),
    "Sum of 16M, axis 1": (MANY, lambda tf, x: tf.reduce_sum(x, 1)),
    "Mean of 16M": (MANY, lambda tf, x: tf.reduce_mean(x)),
    "Add of 1M": (MILLION, lambda tf, x: tf.add(x, x)),
    "6 ops on 1M": (MILLION, lambda tf, x: tf.tanh(tf.nn.relu(x * 2.0 + x) - 0.5) * x + 1.0),
}


def bare_convolution() -> Callable[[], Any]:
    """The function that a session calls for a convolution."""
    convolving = importlib.import_module("gpuplace.ops.nn.conv_arithmetic")
    window = importlib.import_module("gpuplace.ops.nn.windows").Window(3, 3, (1, 1), padding="SAME")
    return lambda: convolving.convolve(np, IMAGES, FILTER, window)


def numpy_cases() -> dict[str, Callable[[], Any]]:
    zero, half, one, two = (np.float32(number) for number in (0, 0.5, 1, 2))
    return {
        "Conv2D 3x3": bare_convolution(),
        "MatMul 1024": lambda: np.matmul(SQUARE, SQUARE),
        "Sum of 16M": lambda: np.sum(MANY),
        "Sum of 16M, axis 0": lambda: np.sum(MANY, 0),
        "Sum of 16M, axis 1": lambda: np.sum(MANY, 1),
        "Mean of 16M": lambda: np.mean(MANY),
        "Add of 1M": lambda: np.add(MILLION, MILLION),
        "6 ops on 1M": lambda: np.tanh(np.maximum(MILLION * two + MILLION, zero) - half) * MILLION + one,
    }


def measure(library: str, words: list[str]) -> dict[str, float]:
    """Microseconds by case."""
    wanted = [name for name in CASES if not words or any(word.lower() in name.lower() for word in words)]
    if library == "numpy":
        return {name: fastest(call, 0.7) for name, call in numpy_cases().items() if name in wanted}
    if library == "tensorflow":
        tf = importlib.import_module("tensorflow.compat.v1")
        tf.disable_eager_execution()
    else:
        tf = importlib.import_module("gpuplace")
        tf.use_machine("cpu")
    found = {}
    for name in wanted:
        array, make = CASES[name]
        with tf.Graph().as_default(), tf.device("/cpu:0"), tf.Session() as session:
            x = tf.placeholder(tf.float32, array.shape)
            call = session.make_callable(make(tf, x), [x])
            found[name] = fastest(lambda call=call, array=array: call(array), 0.7)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--tensorflow", default=os.environ.get(TENSORFLOW_VARIABLE), help="Python with TensorFlow"
    )
    parser.add_argument("--repeat", type=int, default=3, help="turns")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads of each library")
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD", help="cases whose names have a word")
    parser.add_argument("--measure", choices=LIBRARIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.only)))
        return
    pythons = {"numpy": sys.executable, "gpuplace": sys.executable}
    if options.tensorflow:
        pythons["tensorflow"] = options.tensorflow
    print_table(medians(in_turns(pythons, "bench_kernels", options.only, options.repeat, options.threads)))


if __name__ == "__main__":
    main()
