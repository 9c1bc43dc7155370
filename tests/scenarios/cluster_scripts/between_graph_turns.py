"""Between-graph replication, asynchronous, the workers taking turns so that the order of their steps is known."""

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

is_chief = args.task_index == 0
workers = cluster.num_tasks("worker")
random = np.random.RandomState(args.task_index)
with tf.device(
    tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % args.task_index, cluster=cluster)
):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.placeholder(tf.float32, [None, 1], name="y")
    w = tf.get_variable("w", [3, 1], initializer=tf.constant_initializer(0.5))
    b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.squared_difference(tf.matmul(x, w) + b, y), name="loss")
    global_step = tf.train.get_or_create_global_step()
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=global_step)

turns = []
for i in range(workers):
    with tf.device("/job:ps/task:0"):
        turns.append(tf.FIFOQueue(1, tf.int32, shapes=[[]], shared_name="turn_%d" % i, name="turn_%d" % i))
my_turn = turns[args.task_index].dequeue()
next_turn = turns[(args.task_index + 1) % workers].enqueue(0)

if not is_chief:  # until the chief has initialised the variables
    with tf.Session(server.target) as sess:
        sess.run(my_turn)

with tf.train.MonitoredTrainingSession(master=server.target, is_chief=is_chief) as sess:
    for i in range(4):
        if i:
            sess.run_step_fn(lambda step_context: step_context.session.run(my_turn))
        batch = random.randn(4, 3).astype(np.float32)
        value, _ = sess.run([loss, train_op], {x: batch, y: batch.sum(1, keepdims=True)})
        print("worker %d turn %d loss %.9g" % (args.task_index, i, value))
        sess.run_step_fn(lambda step_context: step_context.session.run(next_turn))
    if is_chief:
        sess.run_step_fn(lambda step_context: step_context.session.run(my_turn))
        print("steps", sess.run_step_fn(lambda step_context: step_context.session.run(global_step)))
