"""Common ops one by one, beside TensorFlow 2.21 on the CPU: large ones and small ones.

    python -m tests.benchmarks.bench_ops [--tensorflow PYTHON] [--repeat 2] [--threads 2] [--only WORD ...]

`--tensorflow`, or the environment variable GPUPLACE_TENSORFLOW_PYTHON, is the Python that has TensorFlow. Every op
runs on a variable of about a million float32 numbers and on one of about a thousand; a small one's time is mostly the
call's. The libraries run in turns, each in a process of its own, with as many threads as there are cores; a figure is
the fastest of all turns. A ratio below 1 means that gpuplace is faster; one above 2 has a mark.
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

from tests.benchmarks.bench_session import fastest
from tests.benchmarks.peers import TENSORFLOW_VARIABLE, in_turns

LIBRARIES = ("gpuplace", "tensorflow")
SIDES = {"1M": 1024, "1k": 32}
SECONDS = 0.12

Make = Callable[[Any, Any], Any]


def values(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def side(x: Any) -> int:
    """The width of the square that is fed."""
    return int(x.shape[-1])


def row(tf: Any, x: Any) -> Any:
    return tf.constant(values(side(x)))


def column(tf: Any, x: Any) -> Any:
    return tf.constant(values(side(x), 1))


def indices(tf: Any, x: Any) -> Any:
    return tf.constant(np.random.default_rng(1).permutation(side(x)).astype(np.int32))


def images(tf: Any, x: Any) -> Any:
    """The numbers as images with 16 channels: 64 of 32x32, or one of 8x8."""
    return tf.reshape(x, [64, 32, 32, 16] if side(x) == 1024 else [1, 8, 8, 16])


def convolution(size: int, **options: Any) -> Make:
    given = {"strides": [1, 1, 1, 1], "padding": "SAME", **options}
    return lambda tf, x: tf.nn.conv2d(images(tf, x), tf.constant(values(size, size, 16, 16)), **given)


def pooling(kind: str, size: int, stride: int) -> Make:
    given = {"ksize": [1, size, size, 1], "strides": [1, stride, stride, 1], "padding": "SAME"}
    return lambda tf, x: getattr(tf.nn, kind)(images(tf, x), **given)


def gradient(make: Make) -> Make:
    """The gradient for a gradient that is a variable, so that nothing of it is constant."""

    def backwards(tf: Any, x: Any) -> Any:
        y = make(tf, x)
        grad = tf.Variable(values(*(int(size) for size in y.shape.as_list())))
        return tf.gradients(y, [x], [grad.value()])[0]

    return backwards


def scattered(tf: Any, x: Any) -> Any:
    return tf.scatter_nd(indices(tf, x)[:, None], x, [side(x), side(x)])


def labels(tf: Any, x: Any) -> Any:
    return tf.constant(np.arange(side(x), dtype=np.int32))


def entropy(tf: Any, x: Any) -> Any:
    given = tf.constant(np.full((side(x), side(x)), 1 / side(x), np.float32))
    return tf.nn.softmax_cross_entropy_with_logits_v2(labels=given, logits=x)


def segments(tf: Any, x: Any) -> Any:
    return tf.constant(np.arange(side(x), dtype=np.int32) // 4)


UNARY = (
    "abs", "negative", "square", "sqrt", "rsqrt", "exp", "log", "log1p", "expm1", "sigmoid", "tanh", "sin", "cos",
    "floor", "round", "sign", "reciprocal", "erf",
)  # fmt: skip
ACTIVATIONS = ("relu", "relu6", "elu", "selu", "leaky_relu", "softplus", "softsign", "softmax", "log_softmax")
BINARY = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "squared_difference",
    "pow",
    "greater",
    "floordiv",
)
REDUCTIONS = ("reduce_sum", "reduce_mean", "reduce_max", "reduce_prod", "reduce_logsumexp")

CASES: dict[str, Make] = {
    **{
        name: lambda tf, x, name=name: getattr(tf, name)(tf.abs(x) if "log" in name or "sqrt" in name else x)
        for name in UNARY
    },
    **{name: lambda tf, x, name=name: getattr(tf.nn, name)(x) for name in ACTIVATIONS},
    **{
        f"{name}, gradient": gradient(lambda tf, x, name=name: getattr(tf.nn, name)(x))
        for name in ACTIVATIONS
    },
    **{
        f"{name}": lambda tf, x, name=name: getattr(tf, name)(x, tf.constant(values(side(x), side(x))))
        for name in BINARY
        if name != "pow"
    },
    **{
        f"{name}, a row": lambda tf, x, name=name: getattr(tf, name)(x, row(tf, x))
        for name in ("add", "multiply", "greater")
    },
    **{
        f"{name}, a column": lambda tf, x, name=name: getattr(tf, name)(x, column(tf, x))
        for name in ("add", "multiply", "greater")
    },
    "add, a number": lambda tf, x: x + 1.5,
    "pow, 2": lambda tf, x: tf.pow(x, 2.0),
    "pow": lambda tf, x: tf.pow(tf.abs(x), tf.constant(values(side(x), side(x)))),
    "multiply, gradient by a row": lambda tf, x: tf.gradients(x * (r := row(tf, x)), [r])[0],
    "add_n of 4": lambda tf, x: tf.add_n([x, x, x, x]),
    "where": lambda tf, x: tf.where(x > 0, x, tf.constant(values(side(x), side(x)))),
    "clip_by_value": lambda tf, x: tf.clip_by_value(x, -0.5, 0.5),
    "cast to int32": lambda tf, x: tf.cast(x, tf.int32),
    "cast to double": lambda tf, x: tf.cast(x, tf.float64),
    "is_nan": lambda tf, x: tf.math.is_nan(x),
    "logical_and": lambda tf, x: tf.logical_and(x > 0, x < 1),
    **{f"{name}": lambda tf, x, name=name: getattr(tf, name)(x) for name in REDUCTIONS},
    **{
        f"{name}, axis {axis}": lambda tf, x, name=name, axis=axis: getattr(tf, name)(x, axis)
        for name in REDUCTIONS
        for axis in (0, 1)
    },
    "reduce_sum, middle of 3": lambda tf, x: tf.reduce_sum(tf.reshape(x, [16, -1, 4]), 1),
    "reduce_sum, last of 8": lambda tf, x: tf.reduce_sum(tf.reshape(x, [-1, 8]), 1),
    "reduce_any": lambda tf, x: tf.reduce_any(x > 9, 1),
    "moments": lambda tf, x: tf.nn.moments(x, [0])[1],
    "l2_normalize": lambda tf, x: tf.nn.l2_normalize(x, 1),
    "softmax cross entropy": entropy,
    "softmax cross entropy, gradient": gradient(entropy),
    "sparse softmax cross entropy": lambda tf, x: tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=labels(tf, x), logits=x
    ),
    "sigmoid cross entropy": lambda tf, x: tf.nn.sigmoid_cross_entropy_with_logits(
        labels=tf.abs(x), logits=x
    ),
    "transpose": lambda tf, x: tf.transpose(x),
    "transpose, 3 axes": lambda tf, x: tf.transpose(tf.reshape(x, [16, -1, 4]), [1, 0, 2]),
    "transpose, NHWC to NCHW": lambda tf, x: tf.transpose(images(tf, x), [0, 3, 1, 2]),
    "concat, axis 0": lambda tf, x: tf.concat([x, x], 0),
    "concat, axis 1": lambda tf, x: tf.concat([x, x], 1),
    "stack, axis 1": lambda tf, x: tf.stack([x, x], 1),
    "split, axis 0": lambda tf, x: tf.split(x, 4, 0),
    "split, axis 1": lambda tf, x: tf.split(x, 4, 1),
    "unstack": lambda tf, x: tf.unstack(tf.reshape(x, [8, -1])),
    "slice": lambda tf, x: x[1:-1, 1:-1],
    "slice, every other": lambda tf, x: x[::2, ::2],
    "pad": lambda tf, x: tf.pad(x, [[1, 1], [2, 2]]),
    "pad, reflected": lambda tf, x: tf.pad(x, [[1, 1], [2, 2]], "REFLECT"),
    "tile": lambda tf, x: tf.tile(x, [2, 2]),
    "reverse": lambda tf, x: tf.reverse(x, [1]),
    "fill": lambda tf, x: tf.fill(tf.shape(x), x[0, 0]),
    "gather rows": lambda tf, x: tf.gather(x, indices(tf, x)),
    "gather columns": lambda tf, x: tf.gather(x, indices(tf, x), axis=1),
    "gather_nd": lambda tf, x: tf.gather_nd(x, tf.stack([indices(tf, x), indices(tf, x)], 1)),
    "gather, gradient": lambda tf, x: tf.convert_to_tensor(
        gradient(lambda tf, y: tf.gather(y, indices(tf, y)))(tf, x)
    ),
    "scatter_nd": scattered,
    "one_hot": lambda tf, x: tf.one_hot(tf.cast(x[0], tf.int32), side(x)),
    "boolean_mask": lambda tf, x: tf.boolean_mask(x, x > 0),
    "argmax, axis 0": lambda tf, x: tf.argmax(x, 0),
    "argmax, axis 1": lambda tf, x: tf.argmax(x, 1),
    "top_k of 5": lambda tf, x: tf.nn.top_k(x, 5)[0],
    "sort": lambda tf, x: tf.nn.top_k(x, side(x))[0],
    "in_top_k": lambda tf, x: tf.nn.in_top_k(x, labels(tf, x), 5),
    "unique": lambda tf, x: tf.unique(tf.cast(tf.reshape(x, [-1]) * 100, tf.int32))[0],
    "cumsum, axis 0": lambda tf, x: tf.cumsum(x, 0),
    "cumsum, axis 1": lambda tf, x: tf.cumsum(x, 1),
    "cumprod": lambda tf, x: tf.cumprod(x, 1),
    "segment_sum": lambda tf, x: tf.segment_sum(x, segments(tf, x)),
    "unsorted_segment_sum": lambda tf, x: tf.unsorted_segment_sum(x, indices(tf, x) // 4, side(x)),
    "matmul": lambda tf, x: tf.matmul(x, x),
    "matmul, transposed": lambda tf, x: tf.matmul(x, x, transpose_b=True),
    "matmul, batched": lambda tf, x: tf.matmul(*[tf.reshape(x, [-1, 16, 16])] * 2),
    "matmul, batched, transposed": lambda tf, x: tf.matmul(
        *[tf.reshape(x, [-1, 16, 16])] * 2, transpose_b=True
    ),
    "matmul, a vector": lambda tf, x: tf.matmul(x, column(tf, x)),
    "tensordot": lambda tf, x: tf.tensordot(tf.reshape(x, [16, -1, 16]), tf.constant(values(16, 16)), 1),
    "conv2d 1x1": convolution(1),
    "conv2d 3x3": convolution(3),
    "conv2d 3x3, VALID": convolution(3, padding="VALID"),
    "conv2d 3x3, stride 2": convolution(3, strides=[1, 2, 2, 1]),
    "conv2d 3x3, dilated": convolution(3, dilations=[1, 2, 2, 1]),
    "conv2d 5x5": convolution(5),
    "conv2d 3x3, gradient": gradient(convolution(3)),
    "conv2d 3x3, stride 2, gradient": gradient(convolution(3, strides=[1, 2, 2, 1])),
    "max_pool 2x2": pooling("max_pool", 2, 2),
    "max_pool 3x3, stride 1": pooling("max_pool", 3, 1),
    "max_pool 2x2, gradient": gradient(pooling("max_pool", 2, 2)),
    "avg_pool 2x2": pooling("avg_pool", 2, 2),
    "avg_pool 3x3, stride 1": pooling("avg_pool", 3, 1),
    "avg_pool 2x2, gradient": gradient(pooling("avg_pool", 2, 2)),
    "bias_add": lambda tf, x: tf.nn.bias_add(images(tf, x), tf.constant(values(16))),
    "dropout": lambda tf, x: tf.nn.dropout(x, rate=0.5),
    "random_normal": lambda tf, x: tf.random_normal(tf.shape(x)),
    "random_uniform": lambda tf, x: tf.random_uniform(tf.shape(x)),
    "truncated_normal": lambda tf, x: tf.truncated_normal(tf.shape(x)),
    "random_uniform, int32": lambda tf, x: tf.random_uniform(tf.shape(x), maxval=1000, dtype=tf.int32),
    "range": lambda tf, x: tf.range(tf.cast(tf.size(x) + tf.cast(x[0, 0] * 0, tf.int32), tf.int32)),
}


def measure(library: str, words: list[str]) -> dict[str, float]:
    """Microseconds by case and size."""
    if library == "tensorflow":
        tf = importlib.import_module("tensorflow.compat.v1")
        tf.disable_eager_execution()
    else:
        tf = importlib.import_module("gpuplace")
        tf.use_machine("cpu")
    found = {}
    for name, make in CASES.items():
        if words and not any(word.lower() in name.lower() for word in words):
            continue
        for label, size in SIDES.items():
            array = values(size, size)
            with tf.Graph().as_default(), tf.device("/cpu:0"), tf.Session() as session:
                x = tf.Variable(array)
                call = session.make_callable(make(tf, x.value()))
                session.run(tf.global_variables_initializer())
                found[f"{name}|{label}"] = fastest(call, SECONDS)
    return found


def print_table(found: dict[str, dict[str, float]]) -> None:
    """A line for each op: both libraries' times and their ratio, for each size; the worst ratio is marked."""
    libraries = list(found)
    heads = [
        f"{label} {library}"
        for label in SIDES
        for library in (*libraries, *(["ratio"] if len(libraries) > 1 else []))
    ]
    print(f"{'':34}" + "".join(f"{head:>16}" for head in heads))
    names = dict.fromkeys(key.partition("|")[0] for key in found["gpuplace"])
    for name in names:
        cells = []
        for label in SIDES:
            times = [turn[f"{name}|{label}"] for turn in found.values()]
            cells += [f"{time:.1f}" for time in times]
            if len(times) > 1:
                ratio = times[0] / times[1]
                cells.append(f"{'! ' if ratio > 2 else ''}{ratio:.2f}")
        print(f"{name:34}" + "".join(f"{cell:>16}" for cell in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--tensorflow", default=os.environ.get(TENSORFLOW_VARIABLE), help="Python with TensorFlow"
    )
    parser.add_argument("--repeat", type=int, default=2, help="turns")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads of each library")
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD", help="cases whose names have a word")
    parser.add_argument("--measure", choices=LIBRARIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.only)))
        return
    pythons = {"gpuplace": sys.executable}
    if options.tensorflow:
        pythons["tensorflow"] = options.tensorflow
    turns = in_turns(pythons, "bench_ops", options.only, options.repeat, options.threads)
    print_table(
        {
            library: {name: min(turn[name] for turn in found) for name in found[0]}
            for library, found in turns.items()
        }
    )


if __name__ == "__main__":
    main()
