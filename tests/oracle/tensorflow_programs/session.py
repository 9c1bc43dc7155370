"""A session of TensorFlow 1's API, which logs by its own option."""

import tensorflow as tf

tf1 = tf.compat.v1
with tf.Graph().as_default():
    a = tf1.placeholder(tf.float32, [None, 3], name="a")
    w = tf1.get_variable("w", [3, 2], initializer=tf1.ones_initializer())
    product = tf.matmul(a, w, name="product")
    train = tf1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(product), name="train")
    with tf1.Session(config=tf1.ConfigProto(log_device_placement=True)) as session:
        session.run(tf1.global_variables_initializer())
        session.run(train, {a: [[1.0, 2.0, 3.0]]})
        print(session.run(product, {a: [[1.0, 2.0, 3.0]]}).shape)
