"""Fits a line through noisy points by gradient descent."""
from __future__ import print_function

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(7)
train_x = rng.uniform(-1.0, 1.0, 40).astype(np.float32)
train_y = (3.0 * train_x - 0.5 + 0.05 * rng.randn(40)).astype(np.float32)
n_samples = train_x.shape[0]

X = tf.placeholder("float", name="X")
Y = tf.placeholder("float", name="Y")
W = tf.Variable(0.3, name="weight")
b = tf.Variable(-0.1, name="bias")

pred = tf.add(tf.multiply(X, W), b)
cost = tf.reduce_sum(tf.pow(pred - Y, 2)) / (2 * n_samples)
optimizer = tf.train.GradientDescentOptimizer(0.3).minimize(cost)
init = tf.global_variables_initializer()

with tf.Session() as sess:
    sess.run(init)
    for epoch in range(60):
        _, c = sess.run([optimizer, cost], feed_dict={X: train_x, Y: train_y})
        if epoch % 20 == 0:
            print("Epoch:", "%04d" % epoch, "cost=", "{:.9g}".format(c))
    for x, y in zip(train_x[:5], train_y[:5]):
        sess.run(optimizer, feed_dict={X: x, Y: y})
    print("W = %.4f b = %.4f" % (sess.run(W), sess.run(b)))
    print("cost %.9g" % cost.eval(feed_dict={X: train_x, Y: train_y}))
