"""A monitored session with hooks of its own, stopped and resumed."""

import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
rng = np.random.RandomState(0)
features = rng.rand(64, 3).astype(np.float32)
targets = features.dot(np.array([[1.0], [-2.0], [0.5]], np.float32)) + 0.1


class Tell(tf.train.SessionRunHook):
    """Says what happens when."""

    def __init__(self, every):
        self.every = every

    def begin(self):
        self.step = 0
        print("begin, finalized:", tf.get_default_graph().finalized)

    def after_create_session(self, session, coord):
        self.step = session.run(tf.train.get_global_step())
        print("session at step", self.step, "finalized:", session.graph.finalized)

    def before_run(self, run_context):
        return tf.train.SessionRunArgs({"loss": "loss:0"})

    def after_run(self, run_context, run_values):
        self.step += 1
        if self.step % self.every == 0:
            print("step %d loss %.9g" % (self.step, run_values.results["loss"]))

    def end(self, session):
        print("end at", session.run(tf.train.get_global_step()))


class Saves(tf.train.CheckpointSaverListener):
    """Counts checkpoints."""

    steps = []

    def after_save(self, session, global_step_value):
        self.steps.append(int(global_step_value))


def train(folder, last_step):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        y = tf.placeholder(tf.float32, [None, 1], name="y")
        w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
        b = tf.get_variable("b", [1], initializer=tf.constant_initializer(0.0))
        calls = tf.get_variable("calls", [], tf.int32, tf.zeros_initializer(), collections=[tf.GraphKeys.LOCAL_VARIABLES])
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y), name="loss")
        tf.summary.scalar("loss", loss)
        global_step = tf.train.get_or_create_global_step()
        with tf.control_dependencies([loss]):
            train_op = tf.train.MomentumOptimizer(0.1, 0.5).minimize(loss, global_step=global_step)
        count = tf.assign_add(calls, 1)
        scaffold = tf.train.Scaffold()
        final = tf.train.FinalOpsHook([w, calls])
        hooks = [
            Tell(10),
            tf.train.StopAtStepHook(last_step=last_step),
            tf.train.FeedFnHook(lambda: {x: features, y: targets}),
            tf.train.NanTensorHook(loss),
            tf.train.CheckpointSaverHook(folder, save_steps=10, scaffold=scaffold, listeners=[Saves()]),
            final,
        ]
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder, scaffold=scaffold, hooks=hooks, save_checkpoint_secs=None, save_summaries_steps=5
        ) as session:
            while not session.should_stop():
                session.run([train_op, count])
        values, calls = final.final_ops_values
        print("weights", np.round(values.ravel(), 3), "calls", calls)


logdir = tempfile.mkdtemp()
train(logdir, 25)
train(logdir, 50)
print("saved at", Saves.steps)
print("last", os.path.basename(tf.train.latest_checkpoint(logdir)))
with tf.Graph().as_default():
    ticks = tf.train.get_or_create_global_step()
    tick = tf.assign_add(ticks, 1)
    with tf.train.SingularMonitoredSession(hooks=[tf.train.StopAtStepHook(num_steps=3)]) as session:
        print("raw", session.raw_session().run(tick))
        while not session.should_stop():
            print("tick", session.run(tick))
    with tf.train.MonitoredSession() as session:
        print("function", session.run_step_fn(lambda step_context: step_context.session.run(tick)))
    try:
        with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(tf.constant(float("nan")))]) as session:
            session.run(tick)
    except tf.train.NanLossDuringTrainingError as error:
        print(type(error).__name__, error)
    try:
        tf.train.LoggingTensorHook({})
    except ValueError as error:
        print(error)
shutil.rmtree(logdir)
