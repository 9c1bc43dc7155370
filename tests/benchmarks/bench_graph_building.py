"""Graphs in bulk, beside TensorFlow 2.21's `compat.v1` where it is installed: building, first run, GraphDef in and out.

    python -m tests.benchmarks.bench_graph_building [--tensorflow PYTHON] [--repeat 3] [--only WORD ...] [--no-import]

`--tensorflow`, or the environment variable GPUPLACE_TENSORFLOW_PYTHON, is the Python that has TensorFlow. Both programs
are the same and run in turns, each case in a process of its own; a figure is the median of the turns. The ratio is
TensorFlow's time divided by gpuplace's: above 1, gpuplace is faster. Cases that build count every operation that comes
into being, those of initialisers, gradients and optimizers too.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks import import_time
from tests.benchmarks.peers import TENSORFLOW_VARIABLE, in_process

Figures = dict[str, tuple[float, int]]
"""Name of a figure to its seconds and the number of operations."""


def timed(call: Callable[[], Any]) -> float:
    """Seconds of one call, of which no garbage of earlier ones is collected."""
    gc.collect()
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


# Graphs


def chain(tf: Any, count: int) -> Any:
    """Element by element, one after the other."""
    total = x = tf.placeholder(tf.float32, [2, 2], name="x")
    for number in range(count - 1):
        total = tf.add(total, x) if number % 2 else tf.multiply(total, x)
    return total


def mixed(tf: Any, count: int) -> Any:
    """Matrices, scopes, devices, constant arguments and Python's operators: about `count` operations."""
    graph = tf.get_default_graph()
    total = tf.placeholder(tf.float32, [8, 16], name="x")
    number = 0

    def on_cpu(op: Any) -> str:
        return "/cpu:0"

    while len(graph.get_operations()) < count:
        with tf.name_scope(f"block{number}"), tf.device("/cpu:0" if number % 2 else on_cpu):
            weights = tf.constant(np.ones([16, 16], np.float32), name="weights")
            x = tf.matmul(total, weights) + 1.0
            x = tf.nn.relu(tf.nn.bias_add(x, tf.zeros([16])))
            x = tf.reshape(x, [4, 2, 16])
            x = tf.transpose(x, [1, 0, 2])
            mean = tf.reduce_mean(x, axis=[0, 1], keepdims=True)
            x = tf.concat([x - mean, x * 2.0], axis=0)
            x = tf.cast(x, tf.float32)[:2]
            x = tf.squeeze(tf.expand_dims(x, 0), [0])
            with tf.control_dependencies([mean]):
                x = tf.identity(x)
            total = tf.reshape(tf.stack([x, x])[0], [8, 16])
        number += 1
    return total


def variables(tf: Any, count: int) -> Any:
    """Variables with their initialisers, and what reads them: about `count` operations."""
    graph = tf.get_default_graph()
    x = tf.placeholder(tf.float32, [8, 16], name="x")
    number = 0
    while len(graph.get_operations()) < count:
        with tf.variable_scope(f"layer{number}"):
            weights = tf.get_variable("weights", [16, 16])
            bias = tf.get_variable("bias", [16], initializer=tf.zeros_initializer())
            x = tf.tanh(tf.matmul(x, weights) + bias)
        with tf.name_scope(f"more{number}"):
            x = x * tf.Variable(tf.truncated_normal([16], stddev=0.1), name="scale")
        number += 1
    return x


def layers(tf: Any, count: int) -> Any:
    """A deep net of dense layers, its gradients and an optimizer: a training step of about `count` operations."""
    x = tf.placeholder(tf.float32, [8, 16], name="x")
    hidden = x
    for number in range(max(1, count // 56)):
        with tf.variable_scope(f"layer{number}"):
            weights = tf.get_variable("weights", [16, 16])
            bias = tf.get_variable("bias", [16], initializer=tf.zeros_initializer())
            hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(hidden, weights), bias))
    loss = tf.reduce_mean(tf.square(hidden))
    return tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)


def convolutions(tf: Any, count: int) -> Any:
    """Convolutional layers with pooling and their gradients: about `count` operations."""
    x = tf.placeholder(tf.float32, [2, 32, 32, 4], name="x")
    hidden = x
    for number in range(max(1, count // 68)):
        with tf.variable_scope(f"conv{number}"):
            kernel = tf.get_variable("kernel", [3, 3, 4, 4])
            bias = tf.get_variable("bias", [4], initializer=tf.zeros_initializer())
            hidden = tf.nn.conv2d(hidden, kernel, strides=[1, 1, 1, 1], padding="SAME")
            hidden = tf.nn.relu(tf.nn.bias_add(hidden, bias))
            hidden = tf.nn.max_pool(hidden, [1, 2, 2, 1], [1, 1, 1, 1], "SAME")
    loss = tf.reduce_mean(hidden)
    return tf.train.GradientDescentOptimizer(0.01).minimize(loss)


def gradients(tf: Any, count: int) -> Any:
    """`tf.gradients` of a chain, of which only the gradients' own time counts."""
    return chain(tf, count)


# Cases


def building(tf: Any, build: Callable[[Any, int], Any], count: int) -> Figures:
    name = f"build, {build.__name__}"
    seconds, made = [], 0
    for _ in range(3):
        with tf.Graph().as_default() as graph:
            seconds.append(timed(lambda: build(tf, count)))
            made = len(graph.get_operations())
    return {name: (min(seconds), made)}


def building_gradients(tf: Any, count: int) -> Figures:
    seconds, made = [], 0
    for _ in range(3):
        with tf.Graph().as_default() as graph:
            total = chain(tf, count // 2)
            x, before = graph.get_tensor_by_name("x:0"), len(graph.get_operations())
            seconds.append(timed(lambda: tf.gradients(total, x)))  # noqa: B023
            made = len(graph.get_operations()) - before
    return {"build, tf.gradients": (min(seconds), made)}


def first_runs(tf: Any, build: Callable[[Any, int], Any], shape: list[int], count: int) -> Figures:
    """The first `run` in a session, the second one, and the fastest of those after it."""
    with tf.Graph().as_default() as graph:
        fetch = build(tf, count)
        has_variables = bool(tf.global_variables())
        initialise = tf.global_variables_initializer() if has_variables else None
        made = len(graph.get_operations())
        value = {"x:0": np.ones(shape, np.float32)}
        figures: Figures = {}
        with tf.Session() as session:
            name = f"{build.__name__}"
            if initialise is not None:
                figures[f"first run, initialisers of {name}"] = timed(lambda: session.run(initialise)), made
            figures[f"first run, {name}"] = timed(lambda: session.run(fetch, value)), made
            figures[f"second run, {name}"] = timed(lambda: session.run(fetch, value)), made
            later = [timed(lambda: session.run(fetch, value)) for _ in range(10)]
            figures[f"later runs, {name}"] = min(later), made
    return figures


def graph_defs(tf: Any, count: int) -> Figures:
    """A graph as a GraphDef, and back; the message as bytes, and as a file."""
    figures: Figures = {}
    for build in (chain, layers):
        with tf.Graph().as_default() as graph:
            build(tf, count)
            made, found = len(graph.get_operations()), []
            seconds = timed(lambda: found.append(graph.as_graph_def()))  # noqa: B023
            figures[f"as_graph_def, {build.__name__}"] = seconds, made
        message = found[0]
        figures[f"SerializeToString, {build.__name__}"] = timed(message.SerializeToString), made
        with tempfile.TemporaryDirectory() as folder:
            seconds = timed(lambda: tf.train.write_graph(message, folder, "graph.pb", as_text=False))  # noqa: B023
            figures[f"write_graph, {build.__name__}"] = seconds, made
        with tf.Graph().as_default():
            seconds = timed(lambda: tf.import_graph_def(message, name=""))  # noqa: B023
            figures[f"import_graph_def, {build.__name__}"] = seconds, made
    return figures


CASES: dict[str, Callable[[Any], Figures]] = {
    "chain": lambda tf: building(tf, chain, 10_000),
    "mixed": lambda tf: building(tf, mixed, 10_000),
    "variables": lambda tf: building(tf, variables, 10_000),
    "layers": lambda tf: building(tf, layers, 10_000),
    "convolutions": lambda tf: building(tf, convolutions, 10_000),
    "gradients": lambda tf: building_gradients(tf, 20_000),
    "first-chain": lambda tf: first_runs(tf, chain, [2, 2], 50_000),
    "first-long-chain": lambda tf: first_runs(tf, chain, [2, 2], 200_000),
    "first-layers": lambda tf: first_runs(tf, layers, [8, 16], 50_000),
    "graph-def": lambda tf: graph_defs(tf, 50_000),
}


def measure(library: str, case: str) -> Figures:
    """Figures of one case, in this process."""
    if library == "tensorflow":
        tf = importlib.import_module("tensorflow.compat.v1")
        tf.disable_eager_execution()
        tf.disable_resource_variables()
    else:
        tf = importlib.import_module("gpuplace")
    sys.setrecursionlimit(10_000)
    return CASES[case](tf)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--tensorflow", default=os.environ.get(TENSORFLOW_VARIABLE), help="Python with TensorFlow"
    )
    parser.add_argument("--repeat", type=int, default=3, help="turns")
    usual = [case for case in CASES if case != "first-long-chain"]  # for which TensorFlow takes minutes
    parser.add_argument("--only", nargs="*", default=usual, choices=list(CASES), metavar="CASE")
    parser.add_argument("--no-import", action="store_true", help="leave out the row of the imports")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.only[0])))
        return
    pythons = {"gpuplace": sys.executable}
    if options.tensorflow:
        pythons["tensorflow"] = options.tensorflow
    print(f"{'':36}{'ops':>8}" + "".join(f"{name + ' ms':>16}" for name in pythons) + f"{'ratio':>8}")
    for case in options.only:
        turns = [
            {
                library: in_process(python, "bench_graph_building", "--measure", library, "--only", case)
                for library, python in pythons.items()
            }
            for _ in range(options.repeat)
        ]
        for name, (_, made) in turns[0]["gpuplace"].items():
            row = {
                library: statistics.median(turn[library][name][0] for turn in turns) for library in pythons
            }
            print_row(name, str(made), row)
    if not options.no_import:
        statements = {library: (python, f"import {library}") for library, python in pythons.items()}
        print_row("import of the library", "", import_time.measure(statements, 5))


def print_row(name: str, made: str, seconds: dict[str, float]) -> None:
    """One line: milliseconds, and how many times gpuplace's time TensorFlow needs."""
    cells = "".join(f"{1000 * taken:16.1f}" for taken in seconds.values())
    ratio = f"{seconds['tensorflow'] / seconds['gpuplace']:8.1f}" if "tensorflow" in seconds else ""
    print(f"{name:36}{made:>8}{cells}{ratio}", flush=True)


if __name__ == "__main__":
    main()
