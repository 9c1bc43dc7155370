"""Summaries, savers, SavedModels."""

from __future__ import annotations

import os
import tempfile

from tests.oracle.corpus.blocks import conv, dense, digits
from tests.oracle.corpus.programs import program, tf, variants


@program
def summaries():
    """All kinds of summary of 1.x."""
    x = tf.placeholder(tf.float32, [None, 8, 8, 1])
    tf.summary.image("x", x)
    tf.summary.scalar("mean", tf.reduce_mean(x))
    with tf.device("/gpu:0"):
        tf.summary.histogram("histogram", conv(x, 2, "conv"))
    tf.summary.text("note", tf.constant("a"))
    tf.summary.audio("sound", tf.reshape(x, [-1, 64]), 100.0)
    tf.summary.merge_all()


@variants(version=[1, 2])
def savers(version):
    """Save and restore in both formats, variables on two devices."""
    with tf.device("/gpu:0"):
        tf.get_variable("a", [2])
        tf.get_variable("r", [2], use_resource=True)
    with tf.device("/cpu:0"):
        tf.get_variable("b", [2], tf.int32, initializer=tf.zeros_initializer())
    tf.train.Saver(write_version=version, sharded=version == 2)
    tf.report_uninitialized_variables()


@program
def saved_model():
    """A SavedModel of 1.x with two signatures, an asset and an initialiser of tables."""
    images, _ = digits()
    logits = dense(images, 10, "logits")
    names = tf.constant(["digit%d" % i for i in range(10)])
    tensors = {"scores": logits, "classes": tf.gather(names, tf.argmax(logits, 1))}
    info = tf.saved_model.utils.build_tensor_info
    signature = tf.saved_model.signature_def_utils.build_signature_def(
        {"images": info(images)}, {name: info(t) for name, t in tensors.items()}, "serving"
    )
    folder = os.path.join(tempfile.mkdtemp(), "model")
    builder = tf.saved_model.builder.SavedModelBuilder(folder)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {"serving_default": signature, "classify": signature},
            main_op=tf.tables_initializer(),
        )
    builder.save()
    return folder


@program
def saved_model_on_devices():
    """A SavedModel that keeps its devices, with resource variables."""
    with tf.device("/gpu:1"), tf.variable_scope("net", use_resource=True):
        x = tf.placeholder(tf.float32, [None, 4])
        y = dense(x, 2, "dense")
    folder = os.path.join(tempfile.mkdtemp(), "model")
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, folder, {"x": x}, {"y": y})
    return folder
