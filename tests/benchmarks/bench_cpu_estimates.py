"""Predicted and measured steps on this machine's CPU: of gpuplace's runtime, and of TensorFlow 2.21.

    python -m tests.benchmarks.bench_cpu_estimates [--tensorflow PYTHON] [--only WORD ...]

Both libraries build the same twelve training steps, those of ``bench_training`` and larger ones, and run them; the
graphs as each of them built them are then estimated with what ``gpuplace calibrate`` found on this machine, of
TensorFlow with what ``gpuplace calibrate --tensorflow PYTHON`` found. Before each round of calibrating to a library
there is one of measuring it: a machine that others use is quicker and slower for minutes. Where arrays lie makes the
steps of one process quicker than those of the next: each third of the rounds has a process of its own. Of the medians
of all rounds those count that calibrating counts, too (``counted_of``); the median of them is shown beside. None of the
graphs is among those that calibrating runs.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import itertools
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.bench_training import CASES as SMALL
from tests.benchmarks.bench_training import Net, Step
from tests.benchmarks.peers import TENSORFLOW_VARIABLE, in_process, interleaving, least, serve

RELEASES = {"gpuplace": None, "tensorflow": "2.21"}
WARM_SECONDS = 1.0
SECONDS = {"gpuplace": 0.05, "tensorflow": 0.15}
"""Of a case in a round."""
PROCESSES = 3


def _convolved(
    net: Net, top: Any, channels: int, size: int = 3, stride: int = 1, padding: str = "SAME"
) -> Any:
    weights = net.weights(size, size, int(top.shape[-1]), channels)
    return net.tf.nn.conv2d(top, weights, strides=[1, stride, stride, 1], padding=padding)


def _normalised(net: Net, top: Any, activate: bool = True) -> Any:
    tf, channels = net.tf, int(top.shape[-1])
    scale, offset = tf.Variable(tf.ones([channels])), tf.Variable(tf.zeros([channels]))
    out = tf.nn.fused_batch_norm(top, scale, offset, epsilon=1e-3)[0]
    return tf.nn.relu(out) if activate else out


def _pooled(net: Net, top: Any, size: int = 2, stride: int = 2) -> Any:
    return net.tf.nn.max_pool(top, ksize=[1, size, size, 1], strides=[1, stride, stride, 1], padding="VALID")


def _flat(net: Net, top: Any) -> Any:
    _, rows, columns, channels = (int(size) for size in top.shape)
    return net.tf.reshape(top, [int(top.shape[0]), rows * columns * channels])


def _trained(net: Net, logits: Any, images: Any) -> Step:
    tf, loss = net.tf, net.entropy(logits)
    train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
    return [train, loss], {images: net.values(*(int(size) for size in images.shape))}


def residual(net: Net) -> Step:
    """The residual net of 20 layers for images of 32x32."""
    tf = net.tf
    images = tf.placeholder(tf.float32, [16, 32, 32, 3])
    top = _normalised(net, _convolved(net, images, 16))
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        for block in range(3):
            step = stride if block == 0 else 1
            inner = _normalised(net, _convolved(net, top, channels, 3, step))
            inner = _normalised(net, _convolved(net, inner, channels), activate=False)
            if step > 1:
                top = _convolved(net, top, channels, 1, step)
            top = tf.nn.relu(inner + top)
    return _trained(net, net.dense(tf.reduce_mean(top, [1, 2]), 10), images)


def branches(net: Net) -> Step:
    """Three modules of four branches each, joined, on maps of 28x28."""
    tf = net.tf
    images = tf.placeholder(tf.float32, [8, 28, 28, 64])
    top = images
    for width in (32, 48, 64):
        one = tf.nn.relu(_convolved(net, top, width, 1))
        three = tf.nn.relu(_convolved(net, tf.nn.relu(_convolved(net, top, width, 1)), width))
        five = tf.nn.relu(_convolved(net, tf.nn.relu(_convolved(net, top, width // 4, 1)), width // 2, 5))
        around = tf.nn.max_pool(top, ksize=[1, 3, 3, 1], strides=[1, 1, 1, 1], padding="SAME")
        top = tf.concat([one, three, five, tf.nn.relu(_convolved(net, around, width // 2, 1))], 3)
    return _trained(net, net.dense(tf.reduce_mean(top, [1, 2]), 100), images)


def alexnet(net: Net) -> Step:
    """AlexNet in one column, eight images."""
    tf = net.tf
    images = tf.placeholder(tf.float32, [8, 227, 227, 3])
    top = _pooled(net, tf.nn.relu(_convolved(net, images, 64, 11, 4, "VALID")), 3)
    top = _pooled(net, tf.nn.relu(_convolved(net, top, 192, 5)), 3)
    for channels in (384, 256, 256):
        top = tf.nn.relu(_convolved(net, top, channels))
    top = _flat(net, _pooled(net, top, 3))
    for units in (4096, 4096):
        top = tf.nn.relu(net.dense(top, units))
    return _trained(net, net.dense(top, 1000), images)


def loop(net: Net) -> Step:
    """A recurrent cell of 128 units in a ``while_loop`` of 24 steps, with its gradient."""
    tf, batch, units, length = net.tf, 32, 128, 24
    inputs = tf.placeholder(tf.float32, [length, batch, units])
    kernel, bias = net.weights(2 * units, units), net.weights(units)
    rows = tf.TensorArray(tf.float32, length).unstack(inputs)

    def body(time: Any, state: Any) -> tuple[Any, Any]:
        joined = tf.concat([rows.read(time), state], 1)
        return time + 1, tf.tanh(tf.matmul(joined, kernel) + bias)

    _, state = tf.while_loop(lambda time, state: time < length, body, [0, tf.zeros([batch, units])])
    loss = tf.reduce_sum(tf.square(state))
    return [tf.train.GradientDescentOptimizer(0.01).minimize(loss), loss], {
        inputs: net.values(length, batch, units)
    }


CASES: dict[str, Callable[[Net], Step]] = {
    **SMALL,
    "residual net": residual,
    "branches": branches,
    "AlexNet": alexnet,
    "loop": loop,
}


def _steps(library: str, words: list[str]) -> Iterator[tuple[str, Any, Any, Step]]:
    """(name of a case, TensorFlow or gpuplace, its graph, what is run) of each case."""
    if library == "tensorflow":
        tf = importlib.import_module("tensorflow.compat.v1")
        tf.disable_v2_behavior()
    else:
        tf = importlib.import_module("gpuplace")
        tf.use_machine("cpu")
    for name, make in CASES.items():
        if not words or any(word.lower() in name.lower() for word in words):
            with tf.Graph().as_default() as graph:
                yield name, tf, graph, make(Net(tf))


def opened(library: str, words: list[str]) -> dict[str, Callable[[], Any]]:
    """What runs a step of each case, which has run for a while: loops are compiled in its first second."""
    calls = {}
    for name, tf, graph, (fetches, feeds) in _steps(library, words):
        with graph.as_default():
            session = tf.Session()
            session.run(tf.global_variables_initializer())
        calls[name] = functools.partial(session.run, fetches, feeds)
        least(calls[name], WARM_SECONDS)
    return calls


def write(library: str, words: list[str], folder: Path) -> None:
    """Writes the graph of each case, and prints as JSON what is fetched and the shapes of what is fed."""
    asked = {}
    for number, (name, _, graph, (fetches, feeds)) in enumerate(_steps(library, words)):
        path = folder / f"{library}{number}.pb"
        path.write_bytes(graph.as_graph_def().SerializeToString())
        shapes = {key.name: list(value.shape) for key, value in feeds.items()}
        asked[name] = (str(path), [fetch.name for fetch in fetches], shapes)
    print(json.dumps(asked))


def main() -> None:
    """Prints a table: a row a case."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--tensorflow", default=os.environ.get(TENSORFLOW_VARIABLE), help="Python with TensorFlow"
    )
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD", help="cases whose names have a word")
    parser.add_argument("--explain", action="store_true", help="the most costly types of ops, too")
    parser.add_argument("--measure", choices=RELEASES, help=argparse.SUPPRESS)
    parser.add_argument("--write", choices=RELEASES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        serve(opened(options.measure, options.only))
    elif options.write:
        write(options.write, options.only, options.folder)
    else:
        with tempfile.TemporaryDirectory() as folder:
            compare(options, Path(folder))


@contextlib.contextmanager
def measuring(
    library: str, python: str, words: list[str]
) -> Iterator[tuple[dict[str, list[float]], Callable[[str], None]]]:
    """Microseconds of a step of each case, round by round; and what adds to them in a round."""
    from gpuplace.cost.calibration.probe_runs import ROUNDS, ROUNDS_OF_TENSORFLOW

    rounds = ROUNDS if library == "gpuplace" else ROUNDS_OF_TENSORFLOW
    taken: dict[str, list[float]] = {}
    with contextlib.ExitStack() as stack:
        numbers = itertools.count()
        turn: Callable[[], Any]

        def measure(told: str) -> None:
            nonlocal turn
            if "round" not in told:
                return
            if next(numbers) % -(-rounds // PROCESSES) == 0:
                stack.close()
                of_this = interleaving({library: python}, "bench_cpu_estimates", words, SECONDS[library])
                turn = stack.enter_context(of_this)
            for name, found in turn()[library].items():
                taken.setdefault(name, []).append(found.median)

        yield taken, measure


def compare(options: argparse.Namespace, folder: Path) -> None:
    """Calibrates, measures, estimates and prints."""
    from gpuplace.cost.calibration.calibrate import calibrate, counted_of
    from gpuplace.cost.estimate import estimate

    pythons = {"gpuplace": sys.executable}
    if options.tensorflow:
        pythons["tensorflow"] = options.tensorflow
    models, measured = {}, {}
    for library, python in pythons.items():
        with measuring(library, python, options.only) as (measured[library], measure):
            models[library] = calibrate(measure, tensorflow=None if library == "gpuplace" else python)
    for library, python in pythons.items():
        model, counted = models[library], counted_of(None if library == "gpuplace" else python)
        words = ("--write", library, "--folder", str(folder), "--only", *options.only)
        asked = in_process(python, "bench_cpu_estimates", *words)
        print(f"{library}: {model.source}")
        print(f"{'':22}{'median ms':>12}{'measured ms':>12}{'predicted ms':>12}{'off':>7}")
        errors = []
        for name, (path, fetches, feeds) in asked.items():
            step = estimate(path, fetches, feeds, "local", release=RELEASES[library], cost_model=model)
            rounds = [micros / 1e6 for micros in measured[library][name]]
            seconds = counted(rounds)
            off = step.step_time / seconds - 1
            errors.append(abs(off))
            figures = "".join(
                f"{1e3 * one:>12.3f}" for one in (statistics.median(rounds), seconds, step.step_time)
            )
            print(f"{name:22}{figures}{off:>+7.0%}", flush=True)
            if options.explain:
                for row in step.rows("ops")[:8]:
                    print(f"    {row.op:<28}{row.nodes:>6}{row.time * 1e3:>10.3f} ms {row.model}")
        print(f"{library}: mean |error| {sum(errors) / len(errors):.0%}, worst {max(errors):.0%}")


if __name__ == "__main__":
    main()
