"""Layers on different workers: activations go forward over the wire, gradients come back beside their layers."""

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
if args.task_index != 0:
    server.join()

random = np.random.RandomState(7)
images = random.rand(6, 8, 8, 1).astype(np.float32)
labels = random.randint(0, 4, 6)
kernel = random.randn(3, 3, 1, 4).astype(np.float32) * 0.3
dense = random.randn(64, 4).astype(np.float32) * 0.1
is_training = tf.placeholder_with_default(True, [])
with tf.device("/job:worker/task:0"):
    k = tf.get_variable("kernel", initializer=kernel)
    net = tf.nn.relu(tf.nn.conv2d(tf.constant(images), k, [1, 1, 1, 1], "SAME"))
    net = tf.nn.max_pool(net, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
with tf.device("/job:worker/task:1"):
    net = tf.reshape(net, [6, 64])
    d = tf.get_variable("dense", initializer=dense)
    net = tf.cond(is_training, lambda: net * 0.9, lambda: net)
with tf.device("/job:worker/task:2"):
    bias = tf.get_variable("bias", [4], initializer=tf.zeros_initializer())
    logits = tf.matmul(net, d) + bias
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
train_op = tf.train.GradientDescentOptimizer(0.5).minimize(loss, colocate_gradients_with_ops=True)
with tf.Session(server.target) as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(5):
        print("loss %.9g" % sess.run([loss, train_op])[0])
    print("evaluation loss %.9g" % sess.run(loss, {is_training: False}))
