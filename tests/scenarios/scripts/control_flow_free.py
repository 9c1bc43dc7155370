"""Branches without tf.cond: where, masks, clip, boolean_mask, sequence masks, segment sums."""
import tensorflow as tf

x = tf.constant([-2.0, -0.5, 0.0, 0.5, 2.0], name="x")
threshold = tf.placeholder_with_default(0.0, [], name="threshold")
positive = tf.greater(x, threshold)
leaky = tf.where(positive, x, 0.1 * x, name="leaky")
masked = tf.boolean_mask(x, positive)
indices = tf.where(positive, name="indices")
weights = tf.to_float(positive)
mean_positive = tf.reduce_sum(x * weights) / tf.maximum(tf.reduce_sum(weights), 1.0)
lengths = tf.constant([1, 3, 2])
mask = tf.sequence_mask(lengths, 4, dtype=tf.float32)
sums = tf.segment_sum(tf.constant([1, 2, 3, 4]), tf.constant([0, 0, 1, 2]))
unsorted_sums = tf.unsorted_segment_sum([1.0, 2.0, 3.0], [2, 0, 2], 3)
padded = tf.pad([[1, 2]], [[0, 1], [1, 0]])
rounded = tf.stack([tf.round(x), tf.floor(x), tf.ceil(x), tf.sign(x)])
sorted_values, order = tf.nn.top_k(x, 2, sorted=True)
scattered = tf.scatter_nd([[1], [3]], [9, 8], [5])
parts = tf.dynamic_partition(x, tf.cast(positive, tf.int32), 2)
unique, position = tf.unique([3, 1, 3, 2, 1])

with tf.Session() as sess:
    for tensor in (leaky, masked, indices, mean_positive, mask, sums, unsorted_sums, padded, rounded, scattered):
        print(tensor.op.type, sess.run(tensor).tolist())
    print(sess.run([sorted_values, order]))
    print([part.tolist() for part in sess.run(parts)])
    print([part.tolist() for part in sess.run([unique, position])])
    print(sess.run(masked, {threshold: 1.0}), sess.run(indices, {threshold: 5.0}).shape)
    print(sess.run(tf.reduce_logsumexp(x)).round(5), [part.tolist() for part in sess.run(tf.setdiff1d([1, 2, 3], [2]))])
