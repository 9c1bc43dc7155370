"""Synchronous training: SyncReplicasOptimizer takes the mean of the workers' gradients."""

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
random = np.random.RandomState(3)
features = np.split(random.randn(4 * workers, 6).astype(np.float32), workers)[args.task_index]
labels = np.split(random.randint(0, 3, 4 * workers), workers)[args.task_index]

with tf.device(
    tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % args.task_index, cluster=cluster)
):
    global_step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", [6, 3], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [3], initializer=tf.zeros_initializer())
    logits = tf.nn.xw_plus_b(tf.constant(features), w, b)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.constant(labels), logits=logits)
    )
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.AdagradOptimizer(0.5), replicas_to_aggregate=workers, total_num_replicas=workers
    )
    train_op = optimizer.minimize(loss, global_step=global_step)
    hook = optimizer.make_session_run_hook(is_chief, num_tokens=0)

# each worker waits for all others after each step: a faster one would take their tokens too
with tf.device("/job:ps/task:0"):
    came = [
        tf.FIFOQueue(2 * workers, tf.int32, shapes=[[]], shared_name="came_%d" % i, name="came_%d" % i)
        for i in range(workers)
    ]
tell_all = tf.group(*[queue.enqueue(args.task_index) for queue in came])
tell_others = tf.group(*[queue.enqueue(0) for queue in came[1:]])
wait_for_all = came[args.task_index].dequeue_many(workers)


def meet(step_context):
    step_context.session.run(tell_all)
    step_context.session.run(wait_for_all)


if not is_chief:  # until the chief has initialised the variables
    with tf.Session(server.target) as sess:
        sess.run(came[args.task_index].dequeue())

config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % args.task_index])
with tf.train.MonitoredTrainingSession(
    master=server.target, is_chief=is_chief, hooks=[hook], config=config, stop_grace_period_secs=1
) as sess:
    if is_chief:
        sess.run_step_fn(lambda step_context: step_context.session.run(tell_others))
    sess.run_step_fn(meet)
    for _ in range(5):
        value, _ = sess.run([loss, train_op])
        print("worker %d loss %.9g" % (args.task_index, value))
        sess.run_step_fn(meet)
    if is_chief:
        steps = sess.run_step_fn(lambda step_context: step_context.session.run(global_step))
        print("steps", steps)
