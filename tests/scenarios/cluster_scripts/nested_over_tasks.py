"""Loops in branches in a loop, and branches in a loop in a branch, each on three tasks, and gradients through them."""

import argparse
import json

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

PS, FIRST, SECOND = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"


def scaled(times, value):
    """value * 0.75 ** times + 0.5 * times: multiplied on one task, summed on another."""

    def body(i, product, total):
        with tf.device(SECOND):
            product = product * 0.75
        with tf.device(PS):
            return i + 1, product, total + 0.5

    with tf.device(FIRST):
        _, product, total = tf.while_loop(lambda i, *_: i < times, body, [0, value, 0.0])
        return product + total


with tf.device(FIRST):
    x = tf.placeholder(tf.float32, [], name="x")
    count = tf.placeholder(tf.int32, [], name="count")


def loops_in_branches(i, value):
    with tf.device(SECOND):
        is_even = tf.equal(i % 2, 0)
    with tf.device(PS):
        value = tf.cond(is_even, lambda: scaled(i, value), lambda: value - x)
        return i + 1, value


def branches_in_a_loop():
    def body(i, value):
        with tf.device(SECOND):
            is_large = value > 1.0
        with tf.device(FIRST):
            value = tf.cond(is_large, lambda: value * 0.5, lambda: scaled(2, value) + x)
        with tf.device(PS):
            return i + 1, value

    with tf.device(SECOND):
        return tf.while_loop(lambda i, _: i < count, body, [0, x])[1]


with tf.device(PS):
    one = tf.while_loop(lambda i, _: i < count, loops_in_branches, [0, x])[1]
with tf.device(FIRST):
    other = tf.cond(x > 0.0, branches_in_a_loop, lambda: x * x)
gradients = tf.gradients([one, other], x)

with tf.Session(server.target) as sess:
    for fed in ((0.5, 0), (0.5, 1), (-2.0, 3), (3.0, 4), (-0.25, 6), (1.5, 5)):
        values = sess.run([one, other, gradients[0]], {x: fed[0], count: fed[1]})
        print("x %g, %d times: %.9g %.9g gradient %.9g" % (fed + tuple(values)))
