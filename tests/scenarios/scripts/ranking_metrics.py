"""Figures of scores: areas under curves, counts at thresholds, and what is among the best classes."""
import numpy as np
import tensorflow as tf

truth = tf.placeholder(tf.int64, [None], name="truth")
scores = tf.placeholder(tf.float32, [None], name="scores")
share = tf.placeholder(tf.float32, [None], name="share")
classes = tf.placeholder(tf.int64, [3], name="classes")
logits = tf.placeholder(tf.float32, [3, 4], name="logits")
found = [
    tf.metrics.auc(truth, scores, num_thresholds=50),
    tf.metrics.auc(truth, scores, share, 20, curve="PR", summation_method="careful_interpolation", name="pr"),
    tf.metrics.auc(truth, scores, share, 20, summation_method="minoring"),
    tf.metrics.precision_at_thresholds(truth, scores, [0.1, 0.5]),
    tf.metrics.recall_at_thresholds(truth, scores, [0.2], share),
    tf.metrics.false_positives_at_thresholds(truth, scores, [0.5, 0.2]),
    tf.metrics.sensitivity_at_specificity(truth, scores, 0.4, num_thresholds=20),
    tf.metrics.specificity_at_sensitivity(truth, scores, 0.6, share, num_thresholds=20),
    tf.metrics.recall_at_k(classes, logits, 2),
    tf.metrics.precision_at_k(classes, logits, 1, weights=[1.0, 2.0, 0.5]),
    tf.metrics.recall_at_k(classes, logits, 2, class_id=1),
]
print([variable.name for variable in tf.local_variables()])
rng = np.random.RandomState(4)
with tf.Session() as sess:
    sess.run(tf.local_variables_initializer())
    for size in (9, 4):
        batch = {
            truth: rng.randint(0, 2, size),
            scores: rng.randint(0, 101, size) / 100.0,
            share: rng.randint(1, 5, size),
            classes: rng.randint(0, 3, 3),
            logits: rng.rand(3, 4),
        }
        for value, update in found:
            now = sess.run(update, batch)
            print(value.name, update.name, np.round(now, 5).tolist(), np.round(sess.run(value), 5).tolist())
