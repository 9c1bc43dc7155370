"""Graph seeds, op seeds, and what a new session repeats."""
import tensorflow as tf


def draw(graph_seed, op_seed):
    with tf.Graph().as_default():
        if graph_seed is not None:
            tf.set_random_seed(graph_seed)
        a = tf.random_uniform([2], seed=op_seed)
        b = tf.random_normal([2], mean=1.0, stddev=0.5, seed=op_seed)
        c = tf.truncated_normal([2], seed=op_seed)
        d = tf.random_uniform([3], maxval=10, dtype=tf.int32, seed=op_seed)
        e = tf.random_shuffle(tf.range(5), seed=op_seed)
        with tf.Session() as sess:
            first = sess.run([a, b, c, d, e])
            second = sess.run([a, b, c, d, e])
        with tf.Session() as sess:
            repeated = sess.run([a, b, c, d, e])
    return first, second, repeated


for graph_seed, op_seed in ((87654321, None), (None, 5), (1, 2), (0, 0)):
    first, second, repeated = draw(graph_seed, op_seed)
    print("seeds", graph_seed, op_seed)
    for name, x, y, z in zip("abcde", first, second, repeated):
        print(name, x.round(4).tolist(), y.round(4).tolist(), (x == z).all())

tf.set_random_seed(99)
w = tf.get_variable("w", [3, 2])
v = tf.get_variable("v", [4], initializer=tf.random_normal_initializer(stddev=0.1))
d = tf.nn.dropout(tf.ones([8]), keep_prob=0.5)
m = tf.multinomial(tf.log([[0.1, 0.2, 0.7]]), 6)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(w).round(4).tolist(), sess.run(v).round(4).tolist())
    print(sess.run(d), sess.run(m))
    print([tensor.shape.as_list() for tensor in (w, v, d, m)])
