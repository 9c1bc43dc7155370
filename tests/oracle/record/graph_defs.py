"""Writes graphs with TensorFlow 2.21 into tests/data/graph_defs, for tests that read them and write them back.

Each is there twice: as written, and as TensorFlow writes it after importing what it wrote (the import copies the
devices of colocated nodes).

Usage: python tests/oracle/record/graph_defs.py    (needs the `oracle` extra)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
FOLDER = Path(__file__).resolve().parents[2] / "data" / "graph_defs"


def training() -> None:
    """A softmax classifier with a reference variable, Adam and a saver, on two devices."""
    images = tf1.placeholder(tf.float32, [None, 28, 28, 1])
    labels = tf1.placeholder(tf.int32, [None])
    with tf1.device("/cpu:0"):
        weights = tf1.get_variable("weights", [784, 10], use_resource=False)
    with tf1.device("/gpu:1"):
        logits = tf.matmul(tf.reshape(images, [-1, 784]), weights)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    tf1.train.AdamOptimizer().minimize(loss)
    tf1.train.Saver()
    tf1.global_variables_initializer()


def control_flow_v1() -> None:
    """A loop and a branch as Switch and Merge."""
    tf1.disable_control_flow_v2()
    i = tf1.while_loop(lambda i: i < 10, lambda i: i + 1, [tf.constant(0)])
    tf1.cond(i > 3, lambda: tf.constant(1.0), lambda: tf.constant(2.0))


def control_flow_v2() -> None:
    """The same as While and If, with a function library."""
    tf1.enable_control_flow_v2()
    i = tf1.while_loop(lambda i: i < 10, lambda i: i + 1, [tf.constant(0)])
    tf1.cond(i > 3, lambda: tf.constant(1.0), lambda: tf.constant(2.0))


def datasets() -> None:
    """An input pipeline with a mapped function."""
    dataset = tf.data.Dataset.range(10).map(lambda x: x + 1).batch(2)
    tf1.data.make_initializable_iterator(dataset).get_next()


def constants() -> None:
    """Constants of many types, and a splat."""
    for value in (["a", "b"], 1 + 2j, True, np.arange(5, dtype=np.int8), np.ones([2, 2], np.float16), 2**40):
        tf.constant(value)
    tf.constant([1.5, -2.0], tf.bfloat16)
    tf.constant(0.0, shape=[3, 4])
    tf.strings.join([tf.constant("x"), "y"])


def main() -> None:
    tf1.disable_eager_execution()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for make in (training, control_flow_v1, control_flow_v2, datasets, constants):
        with tf1.Graph().as_default() as graph:
            make()
        with tf1.Graph().as_default() as again:
            tf1.import_graph_def(graph.as_graph_def(), name="")
        for name, message in (("written", graph.as_graph_def()), ("imported", again.as_graph_def())):
            data = message.SerializeToString(deterministic=True)
            (FOLDER / f"{make.__name__}.{name}.pb").write_bytes(data)
            print(f"{make.__name__}.{name}: {len(message.node)} nodes, {len(data)} bytes")


if __name__ == "__main__":
    main()
