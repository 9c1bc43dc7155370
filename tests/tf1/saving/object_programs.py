"""Programs that make objects and save them; run by TensorFlow it writes the checkpoints that the tests load.

    python tests/tf1/saving/object_programs.py tests/data/objects-1.15.tar.xz

in an environment with TensorFlow 1.15.5 (Python 3.7) writes, for each program, ``<name>-1.*``: a checkpoint of today's
format with the graph of objects. With a folder in the place of the file, the checkpoints in it are restored and saved
again under ``again/``.
"""

import os
import sys
import tarfile
import tempfile

import numpy as np


def filled(variable_initializers, seed=3):
    """Values that do not come from a random number generator of TensorFlow."""
    state = np.random.RandomState(seed)
    return [state.randint(-50, 50, size=shape).astype(dtype) for shape, dtype in variable_initializers]


def variables(tf):
    """Variables of both kinds and several types."""
    one, two, three = filled([((2, 3), np.float32), ((4,), np.int64), ((), np.float64)])
    return {
        "reference": tf.Variable(one, name="r", use_resource=False),
        "resource": tf.Variable(two, name="r", use_resource=True),
        "with/slash.and.dots": tf.get_variable("third", initializer=three),
        "texts": tf.Variable([b"a", b"\xff\x00"], name="texts"),
    }


def containers(tf):
    """Lists, dicts and objects in each other; a variable that is reached by two ways."""
    objects = sys.modules[tf.Module.__mro__[1].__module__]
    shared = tf.Variable([1.0, 2.0], name="shared")
    root = objects.AutoTrackable()
    root.inner = objects.AutoTrackable()
    root.inner.list = [shared, {"key": tf.Variable(3, name="in_dict"), "not kept": 5}, [tf.Variable(4.0)]]
    root.again = shared
    root.name = "text"
    root.inner.root = root
    return {"root": root}


def module(tf):
    """A module with another one."""

    class Line(tf.Module):
        def __init__(self, name=None):
            super().__init__(name=name)
            with self.name_scope:
                self.slope = tf.Variable(2.0, name="slope")
                self.offsets = [tf.Variable(float(i), name="offset") for i in range(2)]

    class Two(tf.Module):
        def __init__(self):
            super().__init__()
            self.lines = {"first": Line(), "second": Line("other")}
            self.last = Line()

    return {"two": Two()}


def trained(tf, optimizer, use_resource):
    """Two variables after a step of an optimizer."""
    v = tf.Variable([1.0, 2.0], name="v", use_resource=use_resource)
    w = tf.Variable([[3.0], [-1.0]], name="w", use_resource=use_resource)
    loss = tf.reduce_sum(tf.square(v)) + tf.reduce_sum(w * w * w)
    return {"optimizer": optimizer, "v": v, "w": w, "step": optimizer.minimize(loss)}


def layered(tf):
    """Layers, after a step of Adam."""

    class Block(tf.layers.Layer):
        def __init__(self):
            super().__init__()
            self.dense = tf.layers.Dense(2, kernel_initializer=tf.ones_initializer(), name="d")
            self.others = [
                tf.layers.BatchNormalization(name="n"),
                tf.layers.Dense(1, use_bias=False, kernel_initializer=tf.ones_initializer(), name="e"),
            ]
            self.own = tf.Variable(5.0, name="own", use_resource=True)

        def build(self, shape):
            self.scale = self.add_variable("scale_of_it", [int(shape[-1])], initializer=tf.ones_initializer())
            self.built = True

        def call(self, inputs):
            hidden = self.others[0](self.dense(inputs * self.scale), training=False)
            return self.others[1](hidden) * self.own

    block = Block()
    tf.get_variable_scope().set_use_resource(
        True
    )  # with references the step's gradients might see updated values
    loss = tf.reduce_sum(block(tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0], [2.0, 5.0, 9.0]])) ** 3)
    optimizer = tf.train.AdamOptimizer(0.1)
    return {
        "model": block,
        "dense": block.dense,
        "norm": block.others[0],
        "optimizer": optimizer,
        "step": optimizer.minimize(loss),
    }


def cells(tf):
    """Cells of recurrent nets, in each other."""
    kept = tf.nn.rnn_cell
    with tf.variable_scope("net", initializer=tf.constant_initializer(0.25)):
        stack = kept.MultiRNNCell(
            [
                kept.DropoutWrapper(kept.BasicLSTMCell(2), input_keep_prob=0.5),
                kept.ResidualWrapper(kept.LSTMCell(2, use_peepholes=True, num_proj=2)),
                kept.DeviceWrapper(kept.GRUCell(3), "/cpu:0"),
                kept.BasicRNNCell(2),
            ]
        )
        stack(tf.ones([1, 2]), stack.zero_state(1, tf.float32))
    return {"cell": stack}


def templates(tf):
    """A template that calls another one."""
    inner = tf.make_template("inner", lambda: tf.get_variable("w", initializer=[1.0, 2.0]))

    def outer_function():
        own = tf.get_variable("own", initializer=[3.0])
        with tf.variable_scope("deep"):
            tf.get_variable("er", initializer=[4.0])
        return own + inner()

    outer = tf.make_template("outer", outer_function)
    outer()
    return {"template": outer}


def tables(tf):
    """A table that can be changed."""
    kept = tf.contrib.lookup if hasattr(tf, "contrib") else tf.lookup.experimental
    table = kept.MutableHashTable(tf.string, tf.int64, -1, name="counts")
    return {"table": table, "step": table.insert(["a"], [1])}


PROGRAMS = {
    "variables": variables,
    "containers": containers,
    "module": module,
    "layered": layered,
    "cells": cells,
    "templates": templates,
    "tables": tables,
}
for _kind in (False, True):
    for _name, _make in {
        "Adam": lambda tf: tf.train.AdamOptimizer(0.1),
        "Momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9),
        "RMSProp": lambda tf: tf.train.RMSPropOptimizer(0.1, centered=True),
        "Adagrad": lambda tf: tf.train.AdagradOptimizer(0.1),
        "Adadelta": lambda tf: tf.train.AdadeltaOptimizer(0.1),
        "Ftrl": lambda tf: tf.train.FtrlOptimizer(0.1),
        "GradientDescent": lambda tf: tf.train.GradientDescentOptimizer(0.1),
        "ProximalAdagrad": lambda tf: tf.train.ProximalAdagradOptimizer(0.1),
    }.items():
        PROGRAMS[_name + "_of_" + ("resources" if _kind else "references")] = (
            lambda tf, make=_make, kind=_kind: trained(tf, make(tf), kind)
        )


def objects(tf, name):
    """A checkpoint object of a program, and the operation that changes its values, or None."""
    made = PROGRAMS[name](tf)
    step = made.pop("step", None)
    return tf.train.Checkpoint(**made), step


def write(tf, folder):
    """Saves the objects of each program after one step, as ``<name>-1``."""
    for name in PROGRAMS:
        with tf.Graph().as_default(), tf.Session() as session:
            checkpoint, step = objects(tf, name)
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            if step is not None:
                session.run(step)
            checkpoint.save(os.path.join(folder, name))


def restore(tf, folder):
    """Restores what is in a folder, and saves it again without a step.

    TensorFlow 2.21 has no layers.
    """
    for name in [name for name in PROGRAMS if hasattr(tf, "contrib") or name not in ("layered", "cells")]:
        with tf.Graph().as_default(), tf.Session():
            checkpoint, _ = objects(tf, name)
            status = checkpoint.restore(os.path.join(folder, name + "-1"))
            status.assert_consumed().run_restore_ops()
            checkpoint.write(os.path.join(folder, "again", name))


if __name__ == "__main__":
    import tensorflow

    v1 = tensorflow if hasattr(tensorflow, "contrib") else tensorflow.compat.v1
    v1.disable_v2_behavior()
    if os.path.isdir(sys.argv[1]):
        restore(v1, sys.argv[1])
        print('"restored"')
    else:
        with tempfile.TemporaryDirectory() as made:
            write(v1, made)
            with tarfile.open(sys.argv[1], "w:xz") as archive:
                for path in sorted(os.listdir(made)):
                    if path != "checkpoint":
                        archive.add(os.path.join(made, path), path)
