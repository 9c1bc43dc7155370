"""Every kind of summary, written for TensorBoard and read back."""

import glob
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

STEPS = 50
logdir = tempfile.mkdtemp()

x_data = np.linspace(-1.0, 1.0, 20).astype(np.float32).reshape(20, 1)
y_data = 3.0 * x_data + 0.5

with tf.name_scope("input"):
    x = tf.placeholder(tf.float32, [None, 1], name="x")
    y = tf.placeholder(tf.float32, [None, 1], name="y")
    tf.summary.image("as_image", tf.reshape(x, [1, 4, 5, 1]), max_outputs=1)
with tf.name_scope("layer"):
    w = tf.Variable(tf.zeros([1, 1]), name="w")
    b = tf.Variable(tf.zeros([1]), name="b")
    out = tf.add(tf.matmul(x, w), b, name="out")
    tf.summary.histogram("weights", w)
    tf.summary.histogram("out", out)
with tf.name_scope("loss"):
    loss = tf.reduce_mean(tf.square(out - y))
    tf.summary.scalar("mse", loss)
    tf.summary.scalar("root", tf.sqrt(loss), family="errors")
with tf.name_scope("other"):
    tf.summary.audio("wave", tf.reshape(tf.sin(10.0 * out), [1, 20]), sample_rate=20.0)
    tf.summary.text("notes", tf.stack(["# a title", tf.as_string(loss, precision=3)]))
    tf.summary.tensor_summary("raw", out[:2], summary_description="the first two")
train = tf.train.GradientDescentOptimizer(0.2).minimize(loss)
merged = tf.summary.merge_all()
apart = tf.summary.scalar("loss", loss, collections=["test"])

with tf.Session() as sess:
    train_writer = tf.summary.FileWriter(os.path.join(logdir, "train"), sess.graph)
    test_writer = tf.summary.FileWriter(os.path.join(logdir, "test"), flush_secs=5, filename_suffix=".test")
    sess.run(tf.global_variables_initializer())
    for step in range(STEPS):
        if step % 10 == 0:
            train_writer.add_summary(sess.run(merged, {x: x_data, y: y_data}), step)
            test_writer.add_summary(sess.run(apart, {x: x_data + 0.1, y: y_data}), global_step=step)
        sess.run(train, {x: x_data, y: y_data})
    summary = tf.Summary(value=[tf.Summary.Value(tag="by_hand", simple_value=1.5)])
    test_writer.add_summary(summary, STEPS)
    test_writer.add_session_log(tf.SessionLog(status=tf.SessionLog.STOP), STEPS)
    train_writer.close()
    test_writer.close()


def shown(value):
    kind = value.WhichOneof("value")
    if kind == "simple_value":
        return "%.5f" % value.simple_value
    if kind == "histo":
        histo = value.histo
        return "%d values from %.4f to %.4f, sum %.4f" % (histo.num, histo.min, histo.max, histo.sum)
    if kind == "image":
        return "image of %d x %d" % (value.image.height, value.image.width)
    if kind == "audio":
        return "%d frames at %.1f Hz" % (value.audio.length_frames, value.audio.sample_rate)
    array = tf.make_ndarray(value.tensor)
    return "%s %s %r" % (array.dtype, array.shape, value.metadata.plugin_data.plugin_name)


for name in ("train", "test"):
    (path,) = glob.glob(os.path.join(logdir, name, "events*"))
    print(name, path.endswith(".test"))
    for event in tf.train.summary_iterator(path):
        kind = event.WhichOneof("what")
        print(" step %d: %s" % (event.step, kind))
        if kind == "summary" and event.step in (0, STEPS - 10, STEPS):
            for value in event.summary.value:
                print("   %-28s %s" % (value.tag, shown(value)))

broken = tf.summary.histogram("broken", tf.log(x))
with tf.Session() as sess:
    try:
        sess.run(broken, {x: [[-1.0]]})
    except tf.errors.InvalidArgumentError as error:
        print(type(error).__name__, error.message.split("\n")[0])
shutil.rmtree(logdir)
