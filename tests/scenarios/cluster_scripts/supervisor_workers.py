"""A supervisor in each worker: the chief initialises and saves, the other one waits for it."""

import argparse
import json
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--job_name", required=True)
parser.add_argument("--task_index", type=int, default=0)
parser.add_argument("--hosts", type=json.loads, required=True, help="job -> addresses, as JSON")
args = parser.parse_args()

tf.logging.set_verbosity(tf.logging.ERROR)
cluster = tf.train.ClusterSpec(args.hosts)
server = tf.train.Server(cluster, job_name=args.job_name, task_index=args.task_index)
if args.job_name == "ps":
    server.join()

is_chief = args.task_index == 0
with tf.device(
    tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % args.task_index, cluster=cluster)
):
    global_step = tf.Variable(0, name="global_step", trainable=False)
    x = tf.constant(np.linspace(-1, 1, 8).astype(np.float32).reshape(8, 1))
    w = tf.Variable([[0.0]], name="w")
    b = tf.Variable([0.0], name="b")
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - 3 * x - 1))
    train_op = tf.train.GradientDescentOptimizer(0.2).minimize(loss, global_step=global_step)
    with tf.device("/job:ps/task:0"):
        turn = tf.FIFOQueue(1, tf.int32, shapes=[[]], shared_name="turn", name="turn")
        over = tf.FIFOQueue(1, tf.int32, shapes=[[]], shared_name="over", name="over")
    hand_over, my_turn = turn.enqueue(1), turn.dequeue()
    is_over, end = over.dequeue(), over.enqueue(1)

logdir = tempfile.mkdtemp() if is_chief else None
sv = tf.train.Supervisor(
    is_chief=is_chief,
    logdir=logdir,
    global_step=global_step,
    recovery_wait_secs=0.1,
    save_model_secs=0,
    save_summaries_secs=0,
)
config = tf.ConfigProto(
    allow_soft_placement=True, device_filters=["/job:ps", "/job:worker/task:%d" % args.task_index]
)
sess = sv.prepare_or_wait_for_session(server.target, config=config)
if not is_chief:
    sess.run(my_turn)
for _ in range(5):
    value, _, step = sess.run([loss, train_op, global_step])
    print("worker %d loss %.9g" % (args.task_index, value))
if is_chief:
    path = sv.saver.save(sess, os.path.join(logdir, "model"), global_step=global_step)
    print("saved", os.path.basename(path))
    sess.run(hand_over)
    sess.run(is_over)
    print("steps", sess.run(global_step), "w %.6f" % sess.run(w)[0, 0])
    sv.saver.restore(sess, path)
    print("restored", sess.run(global_step))
else:
    sess.run(end)
sv.stop()
if is_chief:
    shutil.rmtree(logdir)
