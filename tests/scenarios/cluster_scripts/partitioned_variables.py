"""Two parameter servers: variables in slices over both, embeddings with sparse gradients, Adam's slots beside them."""

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

ids = np.array([[1, 4, 4], [0, 9, 2], [7, 1, 8]])
labels = np.array([[1.0], [0.0], [1.0]], np.float32)
setter = tf.train.replica_device_setter(
    cluster=cluster, worker_device="/job:worker/task:%d" % args.task_index
)
with tf.device(setter):
    global_step = tf.train.get_or_create_global_step()
    with tf.variable_scope("embedding", partitioner=tf.fixed_size_partitioner(2)):
        table = tf.get_variable("table", [10, 4], initializer=tf.random_uniform_initializer(-1, 1, seed=5))
    dense = tf.get_variable("dense", [4, 1], initializer=tf.constant_initializer(0.3))
    embedded = tf.nn.embedding_lookup(table, ids, partition_strategy="div")
    logits = tf.matmul(tf.reduce_mean(embedded, axis=1), dense)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
    optimizer = tf.train.AdamOptimizer(0.1)
    grads = optimizer.compute_gradients(loss)
    train_op = optimizer.apply_gradients(grads, global_step=global_step)

for part in table:
    print(part.name, part.device, optimizer.get_slot(part, "m").device)
print([type(grad).__name__ for grad, _ in grads])

weights = np.linspace(-1, 1, 40).astype(np.float32).reshape(10, 4)
with tf.train.MonitoredTrainingSession(master=server.target) as sess:
    for part, value in zip(table, np.split(weights, 2)):
        part.load(value, sess.run_step_fn(lambda step_context: step_context.session))
    for _ in range(6):
        print("loss %.9g" % sess.run([loss, train_op])[0])
    print("step", sess.run(global_step))
