"""Embedding lookups, sparse gradients, a partitioned table and negative sampling by hand."""
import numpy as np
import tensorflow as tf

vocabulary, size = 10, 4
table = np.linspace(-1, 1, vocabulary * size).reshape(vocabulary, size).astype(np.float32)
with tf.device("/cpu:0"):
    embeddings = tf.Variable(table, name="embeddings")
    train_inputs = tf.placeholder(tf.int32, shape=[None])
    embed = tf.nn.embedding_lookup(embeddings, train_inputs)
out = tf.Variable(table[::-1].copy(), name="out")
positive = tf.placeholder(tf.int32, shape=[None])
negative = tf.placeholder(tf.int32, shape=[None])
true_logits = tf.reduce_sum(embed * tf.gather(out, positive), axis=1)
false_logits = tf.matmul(embed, tf.nn.embedding_lookup(out, negative), transpose_b=True)
loss = tf.reduce_mean(
    tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.ones_like(true_logits), logits=true_logits)
) + tf.reduce_mean(
    tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.zeros_like(false_logits), logits=false_logits)
)
(grad,) = tf.gradients(loss, [embeddings])
print(type(grad).__name__, grad.dtype)
optimizer = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
adam = tf.train.AdamOptimizer(0.1).minimize(loss)
norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keep_dims=True))
normalized = embeddings / norm
similarity = tf.matmul(tf.nn.embedding_lookup(normalized, [0, 5]), normalized, transpose_b=True)
values, nearest = tf.nn.top_k(similarity, k=3)
parts = [tf.constant(table[0::2]), tf.constant(table[1::2])]
mod = tf.nn.embedding_lookup(parts, [1, 2, 9])

with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
    tf.global_variables_initializer().run()
    feed = {train_inputs: [1, 2, 2], positive: [3, 3, 4], negative: [7, 8]}
    g = sess.run(grad, feed)
    print(type(g).__name__, g.indices, g.values.round(4), g.dense_shape)
    for op in (optimizer, optimizer, adam):
        sess.run(op, feed)
        print("loss %.9g" % sess.run(loss, feed))
    print(embeddings.eval()[:3].round(4))
    print(sess.run(nearest), sess.run(values).round(4))
    print(sess.run(mod).round(4))
