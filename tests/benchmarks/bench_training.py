"""Whole training steps beside TensorFlow 2.21 on the CPU, and the same steps on a simulated GPU.

    python -m tests.benchmarks.bench_training [--tensorflow PYTHON] [--rounds 8] [--only WORD ...]

`--tensorflow`, or the environment variable GPUPLACE_TENSORFLOW_PYTHON, is the Python that has TensorFlow. The libraries
run the same graph in turns of a fraction of a second, each in a process of its own; a figure is what the fastest step
took, of time and of the processor's. A simulated GPU computes on the same processor and accounts for every tensor in
its allocator besides.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import math
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.peers import TENSORFLOW_VARIABLE, Least, interleaved, serve

LIBRARIES = ("gpuplace", "simulated GPU", "tensorflow")

Step = tuple[list[Any], dict[Any, Any]]
"""Fetches and feeds of a training step."""


class Net:
    """What the nets below are made of.

    Args:
        tf: the library.
    """

    def __init__(self, tf: Any) -> None:
        self.tf = tf
        self.random = np.random.default_rng(0)

    def values(self, *shape: int) -> Any:
        return self.random.standard_normal(shape, np.float32)

    def weights(self, *shape: int) -> Any:
        return self.tf.Variable(self.values(*shape) * np.float32(0.1))

    def entropy(self, logits: Any) -> Any:
        labels = np.arange(int(logits.shape[0])) % int(logits.shape[1])
        tf = self.tf
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels.astype(np.int64), logits=logits)
        )

    def dense(self, x: Any, width: int) -> Any:
        return self.tf.matmul(x, self.weights(int(x.shape[1]), width)) + self.weights(width)


def perceptron(optimizer: Callable[[Any], Any], batch: int, width: int) -> Callable[[Net], Step]:
    """Three hidden layers of one width."""

    def make(net: Net) -> Step:
        tf = net.tf
        x = h = tf.placeholder(tf.float32, [batch, width])
        for _ in range(3):
            h = tf.nn.relu(net.dense(h, width))
        loss = net.entropy(net.dense(h, 10))
        return [optimizer(tf).minimize(loss), loss], {x: net.values(batch, width)}

    return make


def regression(net: Net) -> Step:
    """The softmax regression that TensorFlow's first tutorial trains on MNIST."""
    tf = net.tf
    x, labels = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.float32, [None, 10])
    y = tf.nn.softmax(tf.matmul(x, tf.Variable(tf.zeros([784, 10]))) + tf.Variable(tf.zeros([10])))
    loss = -tf.reduce_sum(labels * tf.log(y))
    train = tf.train.GradientDescentOptimizer(1e-4).minimize(loss)
    return [train, loss], {x: net.values(100, 784), labels: np.eye(10, dtype=np.float32)[np.arange(100) % 10]}


def recurrent(net: Net) -> Step:
    """An LSTM of 32 units written out for 20 steps."""
    tf, batch, units = net.tf, 16, 32
    x = tf.placeholder(tf.float32, [20, batch, units])
    kernel, bias = net.weights(2 * units, 4 * units), net.weights(4 * units)
    h = c = tf.zeros([batch, units])
    for now in tf.unstack(x):
        i, j, f, o = tf.split(tf.matmul(tf.concat([now, h], 1), kernel) + bias, 4, 1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
    loss = tf.reduce_sum(tf.square(h))
    return [tf.train.GradientDescentOptimizer(0.01).minimize(loss), loss], {x: net.values(20, batch, units)}


def embedding(net: Net) -> Step:
    """Rows of a table of 10,000, of which a step changes 640."""
    tf = net.tf
    ids = tf.placeholder(tf.int32, [64, 10])
    means = tf.reduce_mean(tf.nn.embedding_lookup(net.weights(10_000, 64), ids), 1)
    loss = tf.reduce_mean(tf.square(tf.matmul(means, net.weights(64, 1))))
    feeds = {ids: net.random.integers(0, 10_000, (64, 10)).astype(np.int32)}
    return [tf.train.GradientDescentOptimizer(0.01).minimize(loss), loss], feeds


def attention(net: Net) -> Step:
    """One head over 64 positions of 64 values, eight at once."""
    tf = net.tf
    x = tf.placeholder(tf.float32, [8, 64, 64])
    query, key, value = (tf.tensordot(x, net.weights(64, 64), 1) for _ in range(3))
    mixed = tf.matmul(tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / 8.0), value)
    loss = tf.reduce_sum(tf.square(mixed))
    return [tf.train.AdamOptimizer().minimize(loss), loss], {x: net.values(8, 64, 64)}


def convolutional(net: Net) -> Step:
    """Three convolutions with bias, relu and pooling, and a dense layer, on images of 32x32."""
    tf = net.tf
    x = h = tf.placeholder(tf.float32, [32, 32, 32, 3])
    for before, after in ((3, 16), (16, 32), (32, 64)):
        h = tf.nn.conv2d(h, net.weights(3, 3, before, after), strides=[1, 1, 1, 1], padding="SAME")
        h = tf.nn.relu(h + net.weights(after))
        h = tf.nn.max_pool(h, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    loss = net.entropy(net.dense(tf.reshape(h, [32, 1024]), 10))
    return [tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss), loss], {x: net.values(32, 32, 32, 3)}


CASES: dict[str, Callable[[Net], Step]] = {
    "softmax regression": regression,
    "32x64, descent": perceptron(lambda tf: tf.train.GradientDescentOptimizer(0.01), 32, 64),
    "32x64, Adam": perceptron(lambda tf: tf.train.AdamOptimizer(), 32, 64),
    "128x1024, Adam": perceptron(lambda tf: tf.train.AdamOptimizer(), 128, 1024),
    "LSTM, 20 steps": recurrent,
    "embedding of 10,000": embedding,
    "attention": attention,
    "convolutional net": convolutional,
}


def steps(library: str, words: list[str]) -> dict[str, Callable[[], Any]]:
    """A step of each case, which has run a few times."""
    device = "/cpu:0"
    if library == "tensorflow":
        tf = importlib.import_module("tensorflow.compat.v1")
        tf.disable_eager_execution()
        tf.disable_resource_variables()
    else:
        tf = importlib.import_module("gpuplace")
        is_simulated = library == "simulated GPU"
        tf.use_machine("1x Tesla K40c" if is_simulated else "cpu")
        device = "/gpu:0" if is_simulated else device
    made = {}
    for name, make in CASES.items():
        if words and not any(word.lower() in name.lower() for word in words):
            continue
        with tf.Graph().as_default():
            with tf.device(device):
                fetches, feeds = make(Net(tf))
            session = tf.Session(config=tf.ConfigProto(allow_soft_placement=True))
            session.run(tf.global_variables_initializer())
        made[name] = functools.partial(session.run, fetches, feeds)
        for _ in range(3):
            made[name]()
    return made


def print_table(figures: dict[str, dict[str, Least]]) -> None:
    """A row a case: microseconds of time and of the processor's, then those of gpuplace divided by TensorFlow's."""
    peer = figures.get("tensorflow", {})
    header = [f"{library} {what}" for library in figures for what in ("us", "CPU us")]
    header += ["/ tensorflow", "CPU / CPU"] if peer else []
    width = max(map(len, header)) + 2
    print(f"{'':22}" + "".join(f"{text:>{width}}" for text in header))
    ratios = []
    for name, ours in figures["gpuplace"].items():
        cells = [f"{time_us:.0f}" for found in figures.values() for time_us in found[name]]
        if peer:
            ratios.append((ours.wall / peer[name].wall, ours.cpu / peer[name].cpu))
            cells += [f"{ratio:.2f}" for ratio in ratios[-1]]
        print(f"{name:22}" + "".join(f"{cell:>{width}}" for cell in cells))
    for index, what in enumerate(("time", "CPU time")):
        if ratios:
            mean = math.exp(sum(math.log(pair[index]) for pair in ratios) / len(ratios))
            print(
                f"{what}: geometric mean {mean:.2f}, at most {max(pair[index] for pair in ratios):.2f} of TensorFlow's"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--tensorflow", default=os.environ.get(TENSORFLOW_VARIABLE), help="Python with TensorFlow"
    )
    parser.add_argument("--rounds", type=int, default=8, help="turns of each case")
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD", help="cases whose names have a word")
    parser.add_argument("--measure", choices=LIBRARIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        serve(steps(options.measure, options.only))
        return
    pythons = dict.fromkeys(LIBRARIES[:2], sys.executable)
    if options.tensorflow:
        pythons["tensorflow"] = options.tensorflow
    print_table(interleaved(pythons, "bench_training", options.only, options.rounds))


if __name__ == "__main__":
    main()
