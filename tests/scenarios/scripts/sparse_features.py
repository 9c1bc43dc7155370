"""A linear model and embeddings over sparse features: placeholders that are fed, products, and combined rows."""
import numpy as np
import tensorflow as tf

features, classes = 12, 3
x = tf.sparse_placeholder(tf.float32, [None, features], name="x")
words = tf.sparse_placeholder(tf.int64, name="words")
labels = tf.placeholder(tf.int32, [None], name="labels")
start = np.linspace(-0.5, 0.5, features * classes).reshape(features, classes).astype(np.float32)
weights = tf.Variable(start, name="weights")
table = tf.Variable(start[::-1].copy(), name="table")
bias = tf.Variable(tf.zeros([classes]), name="bias")

linear = tf.sparse_tensor_dense_matmul(x, weights)
combined = tf.nn.embedding_lookup_sparse(table, words, None, combiner="mean", name="combined")
logits = linear + combined + bias
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
train = tf.train.AdamOptimizer(0.05).minimize(loss)
counts = tf.sparse_reduce_sum(x, axis=0)
dense = tf.sparse_tensor_to_dense(x)
part = tf.sparse_slice(x, [0, 2], [2, 4])
flat = tf.sparse_reshape(part, [-1])
turned = tf.sparse_transpose(x)
joined = tf.sparse_concat(0, [part, part])
kept = tf.sparse_retain(x, tf.greater(x.values, 1.0))
filled, empty = tf.sparse_fill_empty_rows(kept, -1.0)
print(words.shape, weights.shape, str(part)[:12], part.dtype)

value = tf.SparseTensorValue(
    indices=np.array([[0, 1], [0, 5], [1, 3], [2, 2], [2, 11]]),
    values=np.array([1.0, 2.0, 0.5, 1.5, 1.0]),
    dense_shape=np.array([3, features]),
)
ids = ([[0, 0], [0, 1], [1, 0], [2, 0], [2, 1]], [4, 7, 1, 0, 4], [3, 2])
feed = {x: value, words: ids, labels: [0, 1, 2]}
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(50):
        _, now = sess.run([train, loss], feed)
        if step % 7 == 0:
            print("step %d loss %.9g" % (step, now))
    print(sess.run(counts, feed).tolist(), sess.run(dense, feed).sum())
    for tensor in (part, flat, turned, joined, kept, filled):
        found = sess.run(tensor, feed)
        print(type(found).__name__, found.indices.tolist(), found.values.tolist(), found.dense_shape.tolist())
    print(sess.run({"empty": empty, "both": [x, loss]}, feed)["empty"].tolist())
    print(turned.eval(feed, sess).values.tolist())
    print(sess.run(table)[:2].round(4).tolist())
    try:
        sess.run(dense, {x: ([[0, 5], [0, 1]], [1.0, 2.0], [3, features])})
    except tf.errors.InvalidArgumentError as error:
        print("out of order" in error.message)
    try:
        tf.sparse_reorder(tf.zeros([2, 2]))
    except TypeError as error:
        print(str(error).split(". ")[0].rstrip("."))
