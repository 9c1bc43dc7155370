"""A loop on a worker over weights of a parameter server, and what begins, ends and differentiates it elsewhere."""

import argparse
import json

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--job_name", required=True)
parser.add_argument("--task_index", type=int, default=0)
parser.add_argument("--hosts", type=json.loads, required=True, help="job -> addresses, as JSON")
args = parser.parse_args()

cluster = tf.train.ClusterSpec(args.hosts)
server = tf.train.Server(cluster, job_name=args.job_name, task_index=args.task_index)
if args.job_name == "ps":
    server.join()

with tf.device("/job:ps/task:0"):
    w = tf.get_variable("w", initializer=np.float32([[0.5, 0.1], [-0.2, 0.4]]))
    start = tf.constant([[1.0, 2.0]]) + 0.0
with tf.device("/job:worker/task:0"):
    state = tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, tf.tanh(tf.matmul(s, w))), [0, start])[1]
    elements = tf.map_fn(lambda row: tf.reduce_sum(row * row), tf.concat([state, start], 0))
with tf.device("/job:ps/task:0"):
    loss = tf.reduce_sum(elements)
train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, colocate_gradients_with_ops=True)
with tf.Session(server.target) as sess:
    sess.run(w.initializer)
    for _ in range(4):
        print("loss %.9g" % sess.run([loss, train_op])[0])
    print(sess.run(w).ravel().tolist())
