"""Latency of a session, beside bare NumPy and, where it is installed, TensorFlow 2.21's `compat.v1` on the CPU.

    python -m tests.benchmarks.bench_session [--tensorflow PYTHON] [--repeat 5] [--only NAME ...]

`--tensorflow`, or the environment variable GPUPLACE_TENSORFLOW_PYTHON, is the Python that has TensorFlow. Both programs
are the same and run in turns, each in a process of its own, one thread; a figure is the median of the fastest of each
turn. A ratio below 1 means that gpuplace is faster.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.benchmarks.peers import TENSORFLOW_VARIABLE, in_process

A = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
B = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
SMALL = np.ones([2, 2], np.float32)
LARGE = np.random.default_rng(0).standard_normal([1024, 1024], np.float32)


def fastest(call: Callable[[], Any], seconds: float = 0.4) -> float:
    """Microseconds of one call: the best of many batches."""
    call()
    started = time.perf_counter()
    call()
    count = max(1, int(0.01 / max(time.perf_counter() - started, 1e-7)))
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        started = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - started) / count)
    return 1e6 * best


def guide_matmul(tf: Any) -> Any:
    return tf.matmul(tf.constant(A), tf.constant(B))


def chain(tf: Any, x: Any) -> Any:
    total = x
    for _ in range(1000):
        total = tf.add(total, x)
    return total


def session_calls(tf: Any, device: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names and calls of one library; a call is good until the next one is asked for."""
    with tf.Graph().as_default(), tf.device(device), tf.Session() as session:
        product = guide_matmul(tf)
        yield "MatMul, run", lambda: session.run(product)
        yield "MatMul, make_callable", session.make_callable(product)
        x = tf.placeholder(tf.float32, [2, 3])
        fed = tf.matmul(x, tf.constant(B))
        yield "MatMul, fed", lambda: session.run(fed, {x: A})
    with tf.Graph().as_default(), tf.device(device), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2, 2])
        total = chain(tf, x)
        yield "chain of 1,000 adds", lambda: session.run(total, {x: SMALL})
    with tf.Graph().as_default(), tf.device(device), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2, 2])
        many = [tf.add(x, x) for _ in range(1000)]
        ops = [add.op for add in many]
        yield "1,000 independent adds", lambda: session.run(ops, {x: SMALL})
        yield "the same, fetched", lambda: session.run(many, {x: SMALL})
    with tf.Graph().as_default(), tf.device(device), tf.Session() as session:
        x = tf.placeholder(tf.float32, [1024, 1024])
        large = tf.matmul(x, x)
        yield "large MatMul", lambda: session.run(large, {x: LARGE})


def session_cases(tf: Any, device: str) -> dict[str, float]:
    """Figures of one library, microseconds by name."""
    found = {name: fastest(call) for name, call in session_calls(tf, device)}
    found["build 10,000 ops"], found["first run of 10,000 ops"] = build_and_first_run(tf, device)
    return found


def build_and_first_run(tf: Any, device: str) -> tuple[float, float]:
    """Microseconds to build a graph and for the first run in a new session."""
    built, first = [], []
    for _ in range(2):
        with tf.Graph().as_default(), tf.device(device), tf.Session() as session:
            started = time.perf_counter()
            total = x = tf.placeholder(tf.float32, [2, 2])
            for number in range(9_999):
                total = tf.add(total, x) if number % 2 else tf.multiply(total, x)
            built.append(time.perf_counter() - started)
            started = time.perf_counter()
            session.run(total, {x: SMALL})
            first.append(time.perf_counter() - started)
    return 1e6 * min(built), 1e6 * min(first)


def numpy_calls() -> dict[str, Callable[[], Any]]:
    """The same arithmetic as bare calls."""

    def adds() -> Any:
        total = SMALL
        for _ in range(1000):
            total = np.add(total, SMALL)
        return total

    def independent() -> None:
        for _ in range(1000):
            np.add(SMALL, SMALL)

    def matmul() -> Any:
        return np.matmul(A, B)

    return {
        **dict.fromkeys(("MatMul, run", "MatMul, make_callable", "MatMul, fed"), matmul),
        "chain of 1,000 adds": adds,
        "1,000 independent adds": independent,
        "the same, fetched": lambda: [np.add(SMALL, SMALL) for _ in range(1000)],
        "large MatMul": lambda: np.matmul(LARGE, LARGE),
    }


def measure(library: str) -> dict[str, float]:
    """Figures of ``numpy``, ``gpuplace``, ``simulated`` (gpuplace on a simulated GPU) or ``tensorflow``."""
    if library == "numpy":
        return {name: fastest(call) for name, call in numpy_calls().items()}
    if library == "tensorflow":
        tf = importlib.import_module("tensorflow.compat.v1")
        tf.disable_eager_execution()
        return session_cases(tf, "/cpu:0")
    tf = importlib.import_module("gpuplace")
    tf.use_machine("cpu" if library == "gpuplace" else "1x Tesla K40c")
    return session_cases(tf, "/cpu:0" if library == "gpuplace" else "/gpu:0")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--tensorflow", default=os.environ.get(TENSORFLOW_VARIABLE), help="Python with TensorFlow"
    )
    parser.add_argument("--repeat", type=int, default=3, help="turns")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    pythons = {"numpy": sys.executable, "gpuplace": sys.executable, "simulated": sys.executable}
    if options.tensorflow:
        pythons["tensorflow"] = options.tensorflow
    turns: dict[str, list[dict[str, float]]] = {library: [] for library in pythons}
    for _ in range(options.repeat):
        for library, python in pythons.items():
            turns[library].append(in_process(python, "bench_session", "--measure", library, threads=1))
    figures = {
        library: {name: statistics.median(turn[name] for turn in found) for name in found[0]}
        for library, found in turns.items()
    }
    print_table(figures)


def print_table(figures: dict[str, dict[str, float]]) -> None:
    """A row a case: microseconds, then gpuplace's time divided by the others'."""
    peers = [library for library in ("numpy", "tensorflow") if library in figures]
    header = [*(f"{library} us" for library in figures), *(f"/ {peer}" for peer in peers)]
    print(f"{'':26}" + "".join(f"{text:>16}" for text in header))
    for name, time_us in figures["gpuplace"].items():
        cells = [f"{found[name]:.2f}" if name in found else "" for found in figures.values()]
        cells += [f"{time_us / figures[peer][name]:.2f}" if name in figures[peer] else "" for peer in peers]
        print(f"{name:26}" + "".join(f"{cell:>16}" for cell in cells))


if __name__ == "__main__":
    main()
