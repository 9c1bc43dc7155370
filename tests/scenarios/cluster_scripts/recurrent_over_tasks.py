"""A recurrent net whose loop runs on three tasks: its cell on one worker, its decisions and outputs on another one."""

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
if (args.job_name, args.task_index) != ("worker", 0):
    server.join()

random = np.random.RandomState(7)
sequences = random.randn(6, 4, 3).astype(np.float32)
targets = random.randn(4, 5).astype(np.float32)

with tf.device("/job:ps"):
    w = tf.get_variable("w", initializer=(random.randn(3, 5) * 0.5).astype(np.float32))
    u = tf.get_variable("u", initializer=(random.randn(5, 5) * 0.5).astype(np.float32))
    visits = tf.get_variable("visits", initializer=0)

with tf.device("/job:worker/task:1"):
    steps = tf.placeholder(tf.int32, [], name="steps")
    inputs = tf.constant(sequences)


def goes_on(time, state, penalty):
    with tf.device("/job:worker/task:1"):
        return tf.logical_and(time < steps, penalty < 1e3)


def step(time, state, penalty):
    with tf.device("/job:worker/task:1"):
        x = tf.gather(inputs, time)
    with tf.device("/job:worker/task:0"):
        state = tf.tanh(tf.matmul(x, w) + tf.matmul(state, u))

    def twice():
        with tf.device("/job:ps"):
            return state * 2.0

    def as_it_is():
        with tf.device("/job:worker/task:1"):
            return state - 0.25

    with tf.device("/job:worker/task:0"):
        state = tf.cond(tf.equal(time % 2, 0), twice, as_it_is)
    with tf.device("/job:ps"):
        with tf.control_dependencies([tf.assign_add(visits, 1)]):
            penalty = penalty + tf.reduce_sum(tf.square(state))
    with tf.device("/job:worker/task:1"):
        return time + 1, state, penalty


with tf.device("/job:worker/task:0"):
    _, last, total = tf.while_loop(goes_on, step, [0, tf.zeros([4, 5]), 0.0])
    loss = tf.reduce_mean(tf.square(last - targets)) + 0.01 * total
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

with tf.Session(server.target) as sess:
    sess.run(tf.global_variables_initializer())
    for count in (6, 6, 1, 0, 5, 6):
        _, found = sess.run([train, loss], {steps: count})
        print("loss %.9g" % found)
    print("visits", sess.run(visits))
    print("u", sess.run(u).ravel().tolist())
