"""A server of this process alone: what its target gives, sessions that share variables, and reset."""

import argparse
import json

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--job_name", required=True)
parser.add_argument("--task_index", type=int, default=0)
parser.add_argument("--hosts", type=json.loads, required=True, help="job -> addresses, as JSON")
args = parser.parse_args()

server = tf.train.Server.create_local_server()
print("target", server.target.split(":")[0], server.server_def.protocol)

count = tf.get_variable("count", initializer=0)
add = tf.assign_add(count, 1)
greeting = tf.constant("Hello, distributed TensorFlow!")
with tf.Session(server.target) as sess:
    print(sess.run(greeting).decode())
    sess.run(count.initializer)
    print("count", sess.run(add), sess.run(add))
with tf.Session(server.target) as sess:
    print("another session", sess.run(count))
    print("devices", sorted(device.device_type for device in sess.list_devices() if "XLA" not in device.name))
ended = tf.Session(server.target)
print("a third", ended.run(count))
tf.Session.reset(server.target)
try:
    ended.run(count)
except tf.errors.AbortedError as error:
    print("reset:", type(error).__name__)
with tf.Session(server.target) as sess:
    try:
        sess.run(count)
    except tf.errors.FailedPreconditionError as error:
        print("not initialised:", type(error).__name__)
server2 = tf.train.Server.create_local_server()
with tf.Session(server2.target) as sess, tf.device("/cpu:0"):
    matrix = tf.reshape(tf.range(6.0), [2, 3])
    print(sess.run(tf.matmul(matrix, matrix, transpose_b=True)).tolist())
