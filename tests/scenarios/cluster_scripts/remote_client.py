"""A client that is no task: it trains over the target of a worker, saves, resets the cluster and restores."""

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

if args.job_name != "client":
    hosts = {job: addresses for job, addresses in args.hosts.items() if job != "client"}
    tf.train.Server(hosts, job_name=args.job_name, task_index=args.task_index).join()

target = "grpc://" + args.hosts["worker"][0]
with tf.device("/job:ps/task:0"):
    w = tf.get_variable("w", [3], initializer=tf.constant_initializer(1.0))
with tf.device("/job:ps/task:1"):
    v = tf.get_variable("v", [3], initializer=tf.constant_initializer(-1.0))
    step = tf.train.get_or_create_global_step()
with tf.device("/job:worker"):
    loss = tf.reduce_sum(tf.square(w * v + tf.constant([1.0, 2.0, 3.0])))
free = tf.constant(2.0) * 3.0
train_op = tf.train.RMSPropOptimizer(0.05).minimize(loss, step)
saver = tf.train.Saver(sharded=True)
folder = tempfile.mkdtemp()
with tf.Session(target) as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(4):
        print("loss %.9g" % sess.run([loss, train_op])[0])
    path = saver.save(sess, os.path.join(folder, "model"), step)
    print("saved", os.path.basename(path), "free", sess.run(free))
    last = sess.run(w)
tf.Session.reset(target)
with tf.Session(target) as sess:
    print("left", [name.decode() for name in sess.run(tf.report_uninitialized_variables([w, v, step]))])
    saver.restore(sess, path)
    print("same", np.array_equal(last, sess.run(w)), "step", sess.run(step))
    print("loss %.9g" % sess.run([loss, train_op])[0])
shutil.rmtree(folder)
