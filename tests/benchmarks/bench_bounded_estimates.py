"""Estimates at batches that no machine holds: they take as long, and as much memory, as those at batch 10.

    python tests/oracle/keras_models.py FOLDER                  # with TensorFlow 2.21: models beside those built here
    python -m tests.benchmarks.bench_bounded_estimates [FOLDER] [--models NAME ...] [--known FILE]

Every model is estimated at every batch in a process of its own, with the memory of the step. A model passes if the
peak memory of the process grows by less than 50 MB over all batches, and the CPU time of the estimate by less than
20 %, and if every peak is known. ``--known FILE`` compares the peaks with those of an earlier run, which printed them
as JSON. The exit status is 1 if a model fails.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpuplace as tf
from gpuplace.tf1.stand_in.framework.function import Defun
from tests.benchmarks.published_nets import CLASSES, NETS, SIDE, Layers

BATCHES = (10, 10**4, 10**6, 10**8)
MACHINE = "1x V100"
MOST_BYTES, MOST_TIME = 50 << 20, 1.2
REPEATS, SECONDS = 3, 0.5
"""How often, and for how long, an estimate is repeated at least; the quickest counts."""
NOISE_SECONDS = 0.005
"""Differences below this say nothing."""

MODELS: dict[str, Callable[[int], tuple[Any, dict[Any, Any]]]] = {}


def model(function: Callable[[int], tuple[Any, dict[Any, Any]]]) -> Callable[..., Any]:
    """A model: what is fetched, and what is fed, for a batch."""
    MODELS[function.__name__] = function
    return function


def _published(name: str) -> Callable[[int], tuple[Any, dict[Any, Any]]]:
    def build(batch: int) -> tuple[Any, dict[Any, Any]]:
        images = tf.placeholder(tf.float32, [batch, 3, SIDE[name], SIDE[name]])
        labels = tf.placeholder(tf.int32, [batch])
        net = Layers(tf, images)
        NETS[name](net)
        return _trained(_loss(labels, net.dense(CLASSES, activate=False))), {}

    return build


MODELS.update({name: _published(name) for name in NETS})


def _loss(labels: Any, logits: Any) -> Any:
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def _trained(loss: Any) -> Any:
    return tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)


@model
def perceptron(batch: int) -> tuple[Any, dict[Any, Any]]:
    rows, labels = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int32, [None])
    top = tf.layers.dense(tf.layers.dense(rows, 500, tf.nn.relu), 10)
    return _trained(_loss(labels, top)), {rows: (batch, 784), labels: (batch,)}


@model
def normalized_convolutions(batch: int) -> tuple[Any, dict[Any, Any]]:
    images = tf.placeholder(tf.float32, [None, 32, 32, 3])
    top = tf.layers.batch_normalization(tf.layers.conv2d(images, 32, 3), training=True)
    top = tf.nn.dropout(tf.layers.flatten(tf.layers.max_pooling2d(tf.nn.relu(top), 2, 2)), 0.5)
    return _trained(tf.reduce_mean(tf.layers.dense(top, 10) ** 2)), {images: (batch, 32, 32, 3)}


@model
def autoencoder(batch: int) -> tuple[Any, dict[Any, Any]]:
    images = tf.placeholder(tf.float32, [None, 32, 32, 3])
    top = tf.layers.conv2d_transpose(tf.layers.conv2d(images, 8, 3, 2, "same"), 3, 3, 2, "same")
    return _trained(tf.reduce_mean((top - images) ** 2)), {images: (batch, 32, 32, 3)}


@model
def dynamic_lstm(batch: int) -> tuple[Any, dict[Any, Any]]:
    rows = tf.placeholder(tf.float32, [None, 20, 16])
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(64), rows, dtype=tf.float32)
    return _trained(tf.reduce_mean(outputs)), {rows: (batch, 20, 16)}


@model
def static_gru(batch: int) -> tuple[Any, dict[Any, Any]]:
    rows = tf.placeholder(tf.float32, [None, 8, 16])
    cell = tf.nn.rnn_cell.GRUCell(64)
    outputs, _ = tf.nn.static_rnn(cell, tf.unstack(rows, axis=1), dtype=tf.float32)
    return _trained(tf.reduce_mean(outputs[-1])), {rows: (batch, 8, 16)}


@model
def attention(batch: int) -> tuple[Any, dict[Any, Any]]:
    rows = tf.placeholder(tf.float32, [None, 16, 32])
    query, key, value = (tf.layers.dense(rows, 32) for _ in range(3))
    weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True))
    top = tf.contrib.layers.layer_norm(tf.matmul(weights, value) + rows)
    return _trained(tf.reduce_mean(top**2)), {rows: (batch, 16, 32)}


@model
def embedding(batch: int) -> tuple[Any, dict[Any, Any]]:
    words, table = tf.placeholder(tf.int32, [None, 12]), tf.get_variable("table", [5000, 64])
    top = tf.reduce_mean(tf.nn.embedding_lookup(table, words), 1)
    return _trained(tf.reduce_mean(tf.layers.dense(top, 1) ** 2)), {words: (batch, 12)}


@model
def texts(batch: int) -> tuple[Any, dict[Any, Any]]:
    lines, table = tf.placeholder(tf.string, [None]), tf.get_variable("table", [1000, 64])
    words = tf.strings.regex_replace(tf.strings.lower(lines), "(a|aa)+$", tf.constant("b"))
    return tf.nn.embedding_lookup(table, tf.string_to_hash_bucket_fast(words, 1000)), {lines: (batch,)}


@model
def branches(batch: int) -> tuple[Any, dict[Any, Any]]:
    rows, is_wide = tf.placeholder(tf.float32, [None, 64]), tf.placeholder(tf.bool, [])
    top = tf.cond(is_wide, lambda: tf.layers.dense(rows, 512), lambda: tf.tile(rows, [1, 8]))
    mask = tf.placeholder(tf.bool, [None])
    feeds = {rows: (batch, 64), is_wide: (), mask: (batch,)}
    return tf.reduce_sum(tf.boolean_mask(top, mask) ** 2), feeds


@model
def loop(batch: int) -> tuple[Any, dict[Any, Any]]:
    rows, weights = tf.placeholder(tf.float32, [None, 64]), tf.get_variable("weights", [64, 64])
    top = tf.while_loop(
        lambda i, x: i < 30, lambda i, x: (i + 1, tf.tanh(tf.matmul(x, weights))), [tf.constant(0), rows]
    )[1]
    return _trained(tf.reduce_sum(top)), {rows: (batch, 64)}


@model
def call_that_is_not_inlined(batch: int) -> tuple[Any, dict[Any, Any]]:
    @Defun(tf.float32, tf.float32, noinline=True)
    def filtered(images: Any, weights: Any) -> Any:
        images.set_shape([None, 32, 32, 16])
        weights.set_shape([3, 3, 16, 24])
        top = tf.nn.relu(tf.nn.conv2d(images, weights, strides=[1, 1, 1, 1], padding="SAME"))
        return tf.reduce_mean(tf.concat([top, top], 3), [1, 2])

    images = tf.placeholder(tf.float32, [None, 32, 32, 16])
    return filtered(images, tf.get_variable("weights", [3, 3, 16, 24])), {images: (batch, 32, 32, 16)}


@model
def sliced_and_joined(batch: int) -> tuple[Any, dict[Any, Any]]:
    images = tf.placeholder(tf.float32, [None, 20, 20, 8])
    both = tf.split(tf.concat([images, tf.nn.lrn(images)], 3), 2, 3)
    padded = tf.pad(tf.transpose(both[0], [0, 3, 1, 2]), [[0, 0], [0, 0], [1, 1], [1, 1]])
    return tf.reduce_sum(padded) + tf.reduce_sum(both[1][:, 1:, ::2]), {images: (batch, 20, 20, 8)}


@model
def two_gpus_take_turns(batch: int) -> tuple[Any, dict[Any, Any]]:
    rows = top = tf.placeholder(tf.float32, [None, 256])
    for number in range(4):
        with tf.device(f"/gpu:{number % 2}"):
            top = tf.layers.dense(top, 256, tf.nn.relu)
    return _trained(tf.reduce_mean(top)), {rows: (batch, 256)}


def measure(name: str, batch: int, folder: str) -> dict[str, Any]:
    """Estimate one model in this process.

    Args:
        name: one of `MODELS`, or a folder in ``folder``.
        batch: examples in a step.
        folder: exported models.
    """
    options: dict[str, Any] = {"batch": batch}
    graph: Any = str(Path(folder) / name)
    if name in MODELS:
        with tf.Graph().as_default() as graph:
            fetches, feeds = MODELS[name](batch)
        options = {"fetches": fetches, "feeds": feeds}
    machine = "2x V100" if name == "two_gpus_take_turns" else MACHINE
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds: list[float] = []
    while len(seconds) < REPEATS or sum(seconds) < SECONDS:
        begin = time.process_time()
        step = tf.estimate(graph, machine=machine, **options)
        peaks, unknown = step.peak_memory, step.memory.unknown
        seconds.append(time.process_time() - begin)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "model": name,
        "batch": batch,
        "seconds": min(seconds),
        "grown": (after - before) << 10,
        "peak": {device.rpartition("device:")[2]: nbytes for device, nbytes in peaks.items()},
        "unknown": unknown,
    }


def measured(name: str, batch: int, folder: str) -> dict[str, Any]:
    """Estimate one model in a process of its own."""
    words = [sys.executable, "-m", __spec__.name, folder, "--models", name, "--batch", str(batch)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"model": name, "batch": batch, "error": done.stderr.strip().splitlines()[-1:]}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def judge(rows: list[dict[str, Any]], known: dict[tuple[str, int], Any]) -> list[str]:
    """What is wrong with the rows of a model."""
    wrong = [f"batch {row['batch']:,}: {row['error']}" for row in rows if "error" in row]
    if wrong:
        return wrong
    first = rows[0]
    for row in rows:
        at = f"batch {row['batch']:,}"
        if row["grown"] - first["grown"] >= MOST_BYTES:
            wrong.append(f"{at}: {(row['grown'] - first['grown']) >> 20} MiB more")
        if row["seconds"] > MOST_TIME * first["seconds"] + NOISE_SECONDS:
            wrong.append(f"{at}: {row['seconds'] / first['seconds']:.2f} times as long")
        if row["unknown"]:
            wrong.append(f"{at}: {row['unknown']}")
        before = known.get((row["model"], row["batch"]))
        if before is not None and before != row["peak"]:
            wrong.append(f"{at}: peaks {row['peak']}, were {before}")
    return wrong


def main() -> int:
    """Measure, and print a line for each model and batch."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", default="", help="exported models")
    parser.add_argument("--models", nargs="*", help="only these")
    parser.add_argument("--batch", type=int, help="measure in this process, and print it as JSON")
    parser.add_argument("--known", help="JSON lines of an earlier run")
    given = parser.parse_args()
    if given.batch is not None:
        print(json.dumps(measure(given.models[0], given.batch, given.folder)))
        return 0
    known = {}
    for line in Path(given.known).read_text().splitlines() if given.known else ():
        row = json.loads(line)
        if row.get("peak") and None not in row["peak"].values():
            known[row["model"], row["batch"]] = row["peak"]
    exported = (
        sorted(path.parent.name for path in Path(given.folder).glob("*/saved_model.pb"))
        if given.folder
        else []
    )
    failed = []
    for name in given.models or [*MODELS, *exported]:
        rows = [measured(name, batch, given.folder) for batch in BATCHES]
        for row in rows:
            print(json.dumps(row), flush=True)
        failed += [f"{name}: {said}" for said in judge(rows, known)]
    print(*(failed or ["all models pass"]), sep="\n", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
