"""Steps of several tasks beside TensorFlow 2.21's servers, every task in a process of its own on this machine.

    python -m tests.benchmarks.bench_clusters [--tensorflow PYTHON] [--rounds 8] [--only WORD ...]

`--tensorflow`, or the environment variable GPUPLACE_TENSORFLOW_PYTHON, is the Python that has TensorFlow. The libraries
run the same program, in turns of a fraction of a second. There are three kinds of cases:

- `there`: a variable's value goes from one task to another, which takes one element of it; `there and back`: half of
  it returns;
- `fed and fetched`: the session's own process sends a value to another task and gets it back;
- `trained`: two workers train one net at the same time, with its variables on a parameter server.

A figure is what a step took in the fastest few steps in a row.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.benchmarks.bench_training import Net, convolutional
from tests.benchmarks.peers import ROOT, TENSORFLOW_VARIABLE, Least, interleaved, serve

LIBRARIES = ("gpuplace", "tensorflow")
SIZES = {"1 KB": 1 << 8, "64 KB": 1 << 14, "1 MB": 1 << 18, "100 MB": 25_000_000}
"""Names of sizes, and how many float32 they are."""
TRAINED_STEPS = 10
"""Steps of each worker in a row."""

Call = Callable[[], Any]


def steps_in_a_row(name: str) -> int:
    """How many steps of a case are timed together."""
    return TRAINED_STEPS if name.startswith("trained") else 2 if "100 MB" in name else 20


def library(name: str) -> Any:
    """A library, as a program of TensorFlow 1 has it."""
    if name == "tensorflow":
        tf = importlib.import_module("tensorflow.compat.v1")
        tf.disable_eager_execution()
        tf.disable_resource_variables()
        return tf
    tf = importlib.import_module("gpuplace")
    tf.use_machine("cpu")
    return tf


def there(tf: Any, count: int) -> tuple[Any, dict[Any, Any]]:
    """A step that takes a value from the second worker to the first one."""
    with tf.device("/job:worker/task:1"):
        sent = tf.identity(tf.Variable(tf.ones([count])))
    with tf.device("/job:worker/task:0"):
        return sent[0] + 1.0, {}


def both_ways(tf: Any, count: int) -> tuple[Any, dict[Any, Any]]:
    """A step that takes a value from the parameter server to the first worker, and a value computed of it back."""
    with tf.device("/job:ps"):
        variable = tf.Variable(tf.ones([count]))
    with tf.device("/job:worker/task:0"):
        halves = variable * 0.5
    with tf.device("/job:ps"):
        return halves[0] + 1.0, {}


def fed(tf: Any, count: int) -> tuple[Any, dict[Any, Any]]:
    """A step that takes a value from the session to the second worker, and back."""
    with tf.device("/job:worker/task:1"):
        x = tf.placeholder(tf.float32, [count])
        return tf.identity(x), {x: np.ones(count, np.float32)}


def deep_mnist(net: Net) -> tuple[list[Any], dict[Any, Any]]:
    """The convolutional net of TensorFlow's second tutorial: 3.3 million weights, most of them in one layer."""
    tf = net.tf
    x = tf.placeholder(tf.float32, [32, 28, 28, 1])
    h = x
    for before, after in ((1, 32), (32, 64)):
        h = tf.nn.conv2d(h, net.weights(5, 5, before, after), strides=[1, 1, 1, 1], padding="SAME")
        h = tf.nn.relu(h + net.weights(after))
        h = tf.nn.max_pool(h, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    h = tf.nn.relu(net.dense(tf.reshape(h, [32, 3136]), 1024))
    loss = net.entropy(net.dense(h, 10))
    return [tf.train.GradientDescentOptimizer(1e-4).minimize(loss), loss], {x: net.values(32, 28, 28, 1)}


NETS: dict[str, Callable[[Net], Any]] = {"small convnet": convolutional, "deep MNIST": deep_mnist}
CASES: dict[str, Callable[[Any], Any]] = {
    **{f"there, {size}": functools.partial(there, count=count) for size, count in SIZES.items()},
    **{f"there and back, {size}": functools.partial(both_ways, count=count) for size, count in SIZES.items()},
    **{f"fed and fetched, {size}": functools.partial(fed, count=count) for size, count in SIZES.items()},
}


def own_names(tf: Any, case: str) -> Any:
    """A scope for a case: variables of one name are one variable to all sessions of a cluster."""
    return tf.name_scope("".join(letter if letter.isalnum() else "_" for letter in case))


def is_wanted(name: str, words: list[str]) -> bool:
    """Whether a case has one of the words; all have where there are none."""
    return not words or any(word.lower() in name.lower() for word in words)


def repeated(call: Call, count: int) -> Call:
    """A function that calls another one so many times."""

    def run() -> None:
        for _ in range(count):
            call()

    return run


def crossings(tf: Any, target: str, words: list[str]) -> dict[str, Call]:
    """Steps of the cases that train nothing."""
    found: dict[str, Call] = {}
    for name, make in CASES.items():
        if not is_wanted(name, words):
            continue
        with tf.Graph().as_default(), own_names(tf, name):
            fetches, feeds = make(tf)
            session = tf.Session(target)
            session.run(tf.global_variables_initializer())
        found[name] = repeated(functools.partial(session.run, fetches, feeds), steps_in_a_row(name))
    return found


def training(
    tf: Any, target: str, cluster: dict[str, list[str]], index: int, words: list[str]
) -> dict[str, Call]:
    """Steps of one worker in each net."""
    found: dict[str, Call] = {}
    for name, make in NETS.items():
        if not is_wanted(f"trained, {name}", words):
            continue
        setter = tf.train.replica_device_setter(cluster=cluster, worker_device=f"/job:worker/task:{index}")
        with tf.Graph().as_default(), tf.device(setter), own_names(tf, name):
            fetches, feeds = make(Net(tf))
            config = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
            session = tf.Session(target, config=config)
            session.run(tf.global_variables_initializer())
        found[f"trained, {name}"] = repeated(functools.partial(session.run, fetches, feeds), TRAINED_STEPS)
    return found


# Processes


def free_cluster() -> dict[str, list[str]]:
    """One parameter server and two workers, on ports that are free."""
    sockets = [socket.socket() for _ in range(3)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    server, *workers = [f"localhost:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    return {"ps": [server], "worker": workers}


@contextlib.contextmanager
def task(name: str, cluster: dict[str, list[str]], job: str, index: int, words: list[str]) -> Iterator[Any]:
    """A task in a process of its own, which ends with its input."""
    command = [sys.executable, "-m", "tests.benchmarks.bench_clusters", "--measure", name]
    command += ["--task", json.dumps([cluster, job, index]), "--only", *words]
    with subprocess.Popen(
        command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.stdin.close()


def be_task(name: str, cluster: dict[str, list[str]], job: str, index: int, words: list[str]) -> None:
    """Serves until the input ends; a line of input is the name of a net to train some steps."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    tf = library(name)
    server = tf.train.Server(cluster, job_name=job, task_index=index)
    for line in sys.stdin:
        if line == "train\n":
            calls = training(tf, server.target, cluster, index, words)
        else:
            calls[line.rstrip("\n")]()
        print(flush=True, file=answers)
    os._exit(0)  # servers of TensorFlow cannot be stopped


def measure(name: str, words: list[str]) -> None:
    """Is the first worker and the session of a library; see ``serve``."""
    cluster = free_cluster()
    with task(name, cluster, "ps", 0, words), task(name, cluster, "worker", 1, words) as other:
        tf = library(name)
        server = tf.train.Server(cluster, job_name="worker", task_index=0)
        calls = crossings(tf, server.target, words)
        own = training(tf, server.target, cluster, 0, words)

        def ask(line: str) -> None:
            print(line, file=other.stdin, flush=True)
            if not other.stdout.readline():
                sys.exit(f"the second worker of {name} failed")

        def both(case: str) -> None:
            thread = threading.Thread(target=ask, args=(case,))
            thread.start()
            own[case]()
            thread.join()

        ask("train")
        calls |= {case: functools.partial(both, case) for case in own}
        serve(calls)
    os._exit(0)


def print_table(figures: dict[str, dict[str, Least]]) -> None:
    """A row a case: microseconds a step, and of the processor in the session's process; how they compare."""
    peer = figures.get("tensorflow", {})
    header = [f"{found} us" for found in figures] + (["/ tensorflow", "as fast"] if peer else [])
    print(f"{'':26}" + "".join(f"{text:>16}" for text in header))
    for name, ours in figures["gpuplace"].items():
        steps = steps_in_a_row(name)
        cells = [f"{found[name].wall / steps:,.0f}" for found in figures.values()]
        if peer:
            ratio = ours.wall / peer[name].wall
            cells += [f"{ratio:.2f}", f"{1 / ratio:.2f}"]
        print(f"{name:26}" + "".join(f"{cell:>16}" for cell in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--tensorflow", default=os.environ.get(TENSORFLOW_VARIABLE), help="Python with TensorFlow"
    )
    parser.add_argument("--rounds", type=int, default=8, help="turns of each case")
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD", help="cases whose names have a word")
    parser.add_argument("--measure", choices=LIBRARIES, help=argparse.SUPPRESS)
    parser.add_argument("--task", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        be_task(options.measure, *options.task, options.only)
    elif options.measure:
        measure(options.measure, options.only)
    else:
        pythons = {"gpuplace": sys.executable}
        if options.tensorflow:
            pythons["tensorflow"] = options.tensorflow
        print_table(interleaved(pythons, "bench_clusters", options.only, options.rounds, seconds=0.4))


if __name__ == "__main__":
    main()
