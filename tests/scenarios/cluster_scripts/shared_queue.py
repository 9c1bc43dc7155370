"""A producer and two consumers around one queue on the parameter server; it is closed when all is in."""

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
if args.job_name == "ps":
    server.join()

with tf.device("/job:ps/task:0"):
    queue = tf.FIFOQueue(3, [tf.int64, tf.string], shapes=[[], []], shared_name="work", name="work")
    results = tf.FIFOQueue(100, [tf.int64], shapes=[[]], shared_name="results", name="results")
    finished = tf.FIFOQueue(100, [tf.int32], shapes=[[]], shared_name="finished", name="finished")

if args.task_index == 0:
    number = tf.placeholder(tf.int64, [])
    enqueue = queue.enqueue([number, tf.as_string(number)])
    close = queue.close()
    consumers = cluster.num_tasks("worker") - 1
    wait = finished.dequeue_many(consumers)
    all_results = results.dequeue_many(12)
    with tf.Session(server.target) as sess:
        for i in range(12):
            sess.run(enqueue, {number: i})
        sess.run(close)
        sess.run(wait)
        print("results", sorted(sess.run(all_results).tolist()), "left", sess.run(results.size()))
        try:
            sess.run(enqueue, {number: 0})
        except tf.errors.CancelledError as error:
            print(type(error).__name__)
else:
    with tf.device("/job:worker/task:%d" % args.task_index):
        number, text = queue.dequeue()
        squared = tf.square(number) + tf.string_to_number(text, tf.int64)
        put = results.enqueue([squared])
        done = finished.enqueue([args.task_index])
    with tf.Session(server.target) as sess:
        try:
            while True:
                sess.run(put)
        except tf.errors.OutOfRangeError as error:
            print("end of work:", type(error).__name__)
        sess.run(done)
