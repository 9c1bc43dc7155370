"""Four workers and two parameter servers, each worker at its own pace: every step counts, each once."""

import argparse
import json
import time

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--job_name", required=True)
parser.add_argument("--task_index", type=int, default=0)
parser.add_argument("--hosts", type=json.loads, required=True, help="job -> addresses, as JSON")
args = parser.parse_args()

cluster = tf.train.ClusterSpec(args.hosts)
server = tf.train.Server(cluster, job_name=args.job_name, task_index=args.task_index)
with tf.device("/job:ps/task:0"):
    finished = tf.FIFOQueue(9, tf.int32, shapes=[[]], shared_name="finished", name="finished")
    ready = tf.FIFOQueue(9, tf.int32, shapes=[[]], shared_name="ready", name="ready")
workers = cluster.num_tasks("worker")

if args.job_name == "ps":
    if args.task_index:
        server.join()
    with tf.Session(server.target) as sess:  # instead of server.join(): ends with the workers
        print("ended:", sorted(sess.run(finished.dequeue_many(workers)).tolist()))
else:
    is_chief = args.task_index == 0
    with tf.device(
        tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % args.task_index, cluster=cluster)
    ):
        global_step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", [4], initializer=tf.zeros_initializer())
        table = tf.get_variable("table", [8, 2], initializer=tf.zeros_initializer(), use_resource=True)
        add = tf.assign_add(w, tf.one_hot(args.task_index, 4), use_locking=True)
        scatter = tf.scatter_add(table, [2 * args.task_index], tf.ones([1, 2]))
        with tf.control_dependencies([add, scatter]):
            train_op = tf.assign_add(global_step, 1, use_locking=True)
    tell = ready.enqueue_many([list(range(1, workers))])
    wait, end = ready.dequeue(), finished.enqueue(args.task_index)
    if not is_chief:
        with tf.Session(server.target) as sess:
            sess.run(wait)
    # other workers may end: a step would fail, and the session would try it again when a part of it is done
    own = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % args.task_index])
    with tf.train.MonitoredTrainingSession(master=server.target, is_chief=is_chief, config=own) as sess:
        if is_chief:
            sess.run_step_fn(lambda step_context: step_context.session.run(tell))
        for _ in range(10):
            sess.run(train_op)
    with tf.Session(server.target, config=own) as sess:
        if is_chief:
            while sess.run(global_step) < 10 * workers:
                time.sleep(0.02)
            print("steps", sess.run(global_step), sess.run(w).tolist(), sess.run(table).tolist())
        sess.run(end)
