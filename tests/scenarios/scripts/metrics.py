"""Figures gathered over batches: accuracy, means, counts, precision, recall and intersection over union."""
import numpy as np
import tensorflow as tf

labels = tf.placeholder(tf.int64, [4], name="labels")
guesses = tf.placeholder(tf.int64, [4], name="guesses")
share = tf.placeholder(tf.float32, [4], name="share")
values, wanted = tf.placeholder(tf.float32, [3, 2]), tf.placeholder(tf.float32, [3, 2])
found = [
    tf.metrics.accuracy(labels, guesses),
    tf.metrics.accuracy(labels=labels, predictions=guesses, weights=share, name="weighted"),
    tf.metrics.mean(values),
    tf.metrics.mean(values, [[1.0, 1.0], [0.0, 0.0], [2.0, 2.0]]),
    tf.metrics.precision(labels, guesses),
    tf.metrics.recall(labels, guesses, updates_collections=[tf.GraphKeys.UPDATE_OPS]),
    tf.metrics.true_positives(labels, guesses),
    tf.metrics.false_negatives(labels, guesses),
    tf.metrics.false_positives(labels, guesses),
    tf.metrics.true_negatives(labels, guesses),
    tf.metrics.mean_squared_error(values, wanted),
    tf.metrics.root_mean_squared_error(values, wanted, updates_collections="updates", metrics_collections=["figures"]),
    tf.metrics.mean_absolute_error(values, wanted),
    tf.metrics.mean_iou(labels, guesses, 3),
]
print([variable.name for variable in tf.local_variables()])
print(tf.get_collection("updates")[0].name, tf.get_collection("figures")[0].name)
numbers = [[1, 2], [3, 4], [5, 6]]
batches = [
    {labels: [1, 0, 1, 1], guesses: [1, 1, 0, 1], share: [1, 0.5, 2, 1], values: numbers, wanted: np.ones([3, 2])},
    {labels: [0, 0, 1, 2], guesses: [0, 1, 2, 2], share: [1, 1, 1, 3], values: numbers, wanted: numbers},
]
with tf.Session() as sess:
    sess.run(tf.local_variables_initializer())
    for batch in batches:
        for value, update in found:
            now = sess.run(update, batch)
            print(value.name, update.name, np.asarray(now).tolist(), float(sess.run(value)))
