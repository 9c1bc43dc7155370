"""Integers asked onto a GPU: most of them end on the CPU; counters, indices, shapes, bit operations."""
import numpy as np
import tensorflow as tf

with tf.device("/gpu:0"):
    counter = tf.Variable(0, name="counter", trainable=False)
    large = tf.Variable(np.int64(1) << 40, name="large", trainable=False)
    bump = counter.assign_add(3)
    grow = tf.assign_add(large, 1)
    i = tf.constant([7, -7, 9], name="i")
    j = tf.constant([2, 2, -4], name="j")
    results = [
        i + j, i - j, i * j, i // j, i % j, tf.floordiv(i, j), tf.truncatediv(i, j), tf.mod(i, j),
        tf.maximum(i, j), tf.square(i), tf.negative(i), tf.abs(i), tf.sign(i), tf.pow(j, [2, 3, 2]),
        tf.bitwise.bitwise_and(i, 5), tf.bitwise.left_shift(i, 1),
    ]  # fmt: skip
    divided = i / j
    totals = [tf.reduce_sum(i), tf.reduce_prod(i), tf.reduce_max(i), tf.reduce_mean(i)]
    matrix = tf.reshape(tf.range(6), [2, 3])
    product = tf.matmul(matrix, matrix, transpose_b=True)
    shape = tf.shape(matrix)
    rows = tf.gather(matrix, [1, 0])
    piece = tf.slice(matrix, [0, 1], [2, -1])
    casts = [tf.cast(i, kind) for kind in (tf.float32, tf.int64, tf.uint8, tf.bool, tf.float64)]
    first = tf.argmax(matrix, axis=1, output_type=tf.int32)

with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run([bump, grow]), sess.run(counter))
    for tensor in results:
        print(tensor.op.type, tensor.dtype.name, sess.run(tensor))
    print(divided.dtype.name, sess.run(divided), sess.run(totals))
    print(sess.run([product, shape, rows, piece, first]))
    for tensor in casts:
        print(tensor.dtype.name, sess.run(tensor))
