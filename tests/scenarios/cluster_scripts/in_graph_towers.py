"""In-graph replication: one client, a tower on each worker, the mean of their gradients on the parameter server."""

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

random = np.random.RandomState(1)
inputs = random.randn(8, 5).astype(np.float32)
targets = random.randn(8, 1).astype(np.float32)

with tf.device("/job:ps/task:0/cpu:0"):
    w1 = tf.get_variable("w1", initializer=random.randn(5, 4).astype(np.float32))
    w2 = tf.get_variable("w2", initializer=random.randn(4, 1).astype(np.float32))
    global_step = tf.train.get_or_create_global_step()
    optimizer = tf.train.MomentumOptimizer(0.05, 0.9)

tower_losses, tower_grads = [], []
for i, (x, y) in enumerate(zip(np.split(inputs, 2), np.split(targets, 2))):
    with tf.device("/job:worker/task:%d" % i), tf.name_scope("tower_%d" % i):
        hidden = tf.nn.relu(tf.matmul(x, w1))
        loss = tf.reduce_mean(tf.square(tf.matmul(hidden, w2) - y), name="loss")
        tower_losses.append(loss)
        tower_grads.append(optimizer.compute_gradients(loss, [w1, w2]))

with tf.device("/job:ps/task:0"):
    mean_loss = tf.add_n(tower_losses) / len(tower_losses)
    averaged = []
    for pairs in zip(*tower_grads):
        stacked = tf.stack([grad for grad, _ in pairs])
        averaged.append((tf.reduce_mean(stacked, 0), pairs[0][1]))
    train_op = optimizer.apply_gradients(averaged, global_step=global_step)

with tf.Session(server.target) as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(6):
        _, loss, step = sess.run([train_op, mean_loss, global_step])
        print("loss %.9g" % loss)
    print("steps", sess.run(global_step), "w2", sess.run(w2).ravel().tolist())
