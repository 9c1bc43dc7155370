"""Workers that do not see each other: sessions begin though one worker was never started."""

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

config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % args.task_index])
with tf.device("/job:worker/task:1"):
    elsewhere = tf.constant(1.0) + 1.0
with tf.Session(server.target, config=config) as sess:
    names = {device.name for device in sess.list_devices() if "XLA" not in device.name}
    print(sorted(name.replace("/replica:0", "") for name in names))
with tf.Session(server.target, config=config) as sess:
    try:
        sess.run(elsewhere)
    except tf.errors.InvalidArgumentError as error:
        print(type(error).__name__, "Cannot assign a device" in error.message)
graph = tf.Graph()
with graph.as_default():
    with tf.device("/job:ps/task:0"):
        total = tf.get_variable("total", initializer=[1.0, 2.0], use_resource=True)
    with tf.device("/job:worker/task:%d" % args.task_index):
        add = total.assign_add(total * 2.0)
    with tf.Session(server.target, config=config) as sess:
        sess.run(total.initializer)
        for _ in range(3):
            sess.run(add)
        print(sess.run(total).tolist())
