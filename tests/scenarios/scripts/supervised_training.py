"""A supervisor: it initialises, saves, resumes and stops."""

import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
logdir = tempfile.mkdtemp()


def build():
    x = tf.constant(np.linspace(0.0, 1.0, 10).astype(np.float32))
    global_step = tf.Variable(0, name="global_step", trainable=False)
    w = tf.Variable(0.0, name="w")
    loss = tf.reduce_mean(tf.square(w * x - 2.0 * x), name="loss")
    tf.summary.scalar("loss", loss)
    train_op = tf.train.GradientDescentOptimizer(0.2).minimize(loss, global_step=global_step)
    return w, loss, train_op


for last in (25, 50):
    with tf.Graph().as_default():
        w, loss, train_op = build()
        summary = tf.summary.merge_all()
        sv = tf.train.Supervisor(logdir=logdir, summary_op=None, save_model_secs=0, save_summaries_secs=0)
        print("finalized", tf.get_default_graph().finalized, "chief", sv.is_chief, sv.global_step.name)
        with sv.managed_session() as sess:
            step = tf.train.global_step(sess, sv.global_step)
            print("begins at", step, "w %.4f" % sess.run(w))
            while not sv.should_stop():
                sess.run(train_op)
                step += 1
                if step % 10 == 0:
                    sv.summary_computed(sess, sess.run(summary))
                    print("step %d loss %.9g" % (step, sess.run(loss)))
                if step == last:
                    sv.saver.save(sess, sv.save_path, global_step=sv.global_step)
                    sv.request_stop()
        print("stopped", sv.should_stop())
print(os.path.basename(tf.train.latest_checkpoint(logdir)), sorted(os.listdir(logdir))[0])

with tf.Graph().as_default():
    w, loss, train_op = build()
    sv = tf.train.Supervisor(init_op=tf.global_variables_initializer())
    losses = []

    def train_step(sess, most):
        losses.append(sess.run([loss, train_op])[0])
        if len(losses) == most:
            sv.request_stop()

    tf.train.basic_train_loop(sv, train_step, args=[3])
    print(len(losses), "steps")
    try:
        with sv.managed_session() as sess:
            sess.run(tf.constant(1))
    except RuntimeError as error:
        print(type(error).__name__, error)
    try:
        with sv.managed_session() as sess:
            raise ValueError("raised in the block")
    except ValueError as error:
        print(type(error).__name__, error)

with tf.Graph().as_default():
    v = tf.Variable([1.0, 2.0], name="v")
    forgotten = tf.Variable(3.0, name="forgotten")
    manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
    try:
        manager.prepare_session("", init_op=v.initializer)
    except RuntimeError as error:
        print(str(error).split("error: ")[1])
    with manager.prepare_session("", init_op=tf.global_variables_initializer()) as sess:
        print("ready", sess.run([v, forgotten]))
shutil.rmtree(logdir)
