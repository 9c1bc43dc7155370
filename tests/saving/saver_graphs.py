"""Graphs with savers; run by TensorFlow 1.15.5 (Python 3.7) or 2.21, prints the nodes as one JSON object."""

import json
import os
import sys


def model(tf):
    """Variables of all kinds; those with random values would differ between releases."""
    with tf.device("/gpu:0"):
        a = tf.Variable([[1.0, 2.0]], name="a")
        r = tf.get_variable("r", initializer=[3.0], use_resource=True)
    with tf.device("/cpu:0"):
        b = tf.get_variable("b", initializer=[4, 5])
    tf.Variable(0, name="step", trainable=False)
    with tf.variable_scope("net", use_resource=True):
        tf.get_variable("c", initializer=[[1.0]])
        d = tf.Variable([1.0, 2.0], name="d")
    return a, r, b, d


def unknown_shape(tf):
    """A saver that reshapes, for a variable of unknown shape."""
    tf.Variable(tf.placeholder(tf.float32, name="given"), validate_shape=False, name="u")
    return tf.train.Saver(reshape=True)


def two(tf):
    """Two savers, one in a name scope."""
    variables = model(tf)
    tf.train.Saver()
    with tf.name_scope("inner"):
        return tf.train.Saver(variables[:2])


V1 = 1
PROGRAMS = {
    "plain": lambda tf: (model(tf), tf.train.Saver()),
    "named": lambda tf: (model(tf), tf.train.Saver(name="mine")),
    "sharded": lambda tf: (model(tf), tf.train.Saver(sharded=True)),
    "reshape": lambda tf: (model(tf), tf.train.Saver(reshape=True)),
    "list": lambda tf: tf.train.Saver(model(tf)[1:3]),
    "dict": lambda tf: tf.train.Saver(dict(zip("xyz", model(tf)))),
    "first format": lambda tf: (model(tf), tf.train.Saver(write_version=V1)),
    "first format, sharded": lambda tf: (model(tf), tf.train.Saver(write_version=V1, sharded=True)),
    "filename": lambda tf: (model(tf), tf.train.Saver(filename="there")),
    "sequential": lambda tf: (model(tf), tf.train.Saver(restore_sequentially=True)),
    "deferred": lambda tf: (model(tf), tf.train.Saver(defer_build=True).build()),
    "two": two,
    "unknown shape": unknown_shape,
}
"""Name -> a function of the module that is, or stands for, TensorFlow."""


def rows(graph_def):
    """Name, op type, inputs, device, colocation and names to save of each node; control inputs sorted."""
    found = []
    for node in graph_def.node:
        data = [name for name in node.input if not name.startswith("^")]
        controls = sorted(name for name in node.input if name.startswith("^"))
        groups = (
            sorted(value.decode() for value in node.attr["_class"].list.s) if "_class" in node.attr else []
        )
        texts = []
        if node.op == "Const" and node.name.endswith(("tensor_names", "slices", "filename/input")):
            texts = [text.decode() for text in node.attr["value"].tensor.string_val]
        found.append([node.name, node.op, data + controls, node.device, groups, texts])
    return found


if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow

    tf = tensorflow.compat.v1
    tf.disable_v2_behavior()
    answers = {"version": tensorflow.__version__}
    for title, program in PROGRAMS.items():
        with tf.Graph().as_default() as graph:
            program(tf)
        answers[title] = rows(graph.as_graph_def())
    json.dump(answers, sys.stdout)
