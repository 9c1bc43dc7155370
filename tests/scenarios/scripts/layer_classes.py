"""Layers as classes and functions: images, sequences, batch normalisation by a tensor, shared variables."""
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [2, 8, 8, 3])
tf.set_random_seed(3)


def reg(v):
    return tf.reduce_sum(tf.square(v)) * 0.1


h = tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu, kernel_regularizer=reg, activity_regularizer=lambda t: tf.reduce_sum(t))
h = tf.layers.batch_normalization(h, training=True)
h = tf.layers.max_pooling2d(h, 2, 2)
h = tf.layers.conv2d_transpose(h, 5, 3, strides=2, padding="same")
h = tf.layers.conv2d_transpose(h, 2, 3, strides=2)
h = tf.layers.separable_conv2d(h, 3, 3)
h = tf.layers.average_pooling2d(h, 2, 1)
f = tf.layers.flatten(h)
d = tf.layers.Dense(6, tf.nn.tanh, name="dd")
a = d(f)
b = d(f * 2)
print(d.kernel.name, d.name, [one.name for one in d.trainable_variables], d.built, d.scope_name)
train = tf.placeholder_with_default(True, [])
c = tf.layers.dropout(a, 0.5, training=train)
c = tf.layers.batch_normalization(c, training=train, name="bn")
e = tf.layers.batch_normalization(tf.cast(b, tf.float64), training=True)
e16 = tf.layers.batch_normalization(tf.cast(b, tf.float16), training=True)
e2 = tf.layers.batch_normalization(e, training=False)
s = tf.placeholder(tf.float32, [2, 10, 3])
q = tf.layers.conv1d(s, 4, 3, padding="causal")
q = tf.layers.conv1d(q, 4, 3, strides=2)
q = tf.layers.max_pooling1d(q, 2, 1)
q = tf.layers.average_pooling1d(q, 2, 1, padding="same")
q = tf.layers.separable_conv1d(q, 4, 2)
q = tf.layers.dense(q, 3)
with tf.variable_scope("sh"):
    y1 = tf.layers.dense(a, 3, name="o")
    y2 = tf.layers.dense(b, 3, name="o", reuse=True)
    y3 = tf.layers.dense(b, 3)


class My(tf.layers.Layer):
    def build(self, shape):
        self.w = self.add_variable("w", [shape[-1].value, 2], initializer=tf.ones_initializer())
        super(My, self).build(shape)

    def call(self, inputs):
        return tf.matmul(inputs, self.w)


m = My(name="mine")
z = m(a)
z2 = m(b)
bn = tf.layers.BatchNormalization(fused=False)
w = bn(x, training=True)
w2 = bn(x, training=False)
print([one.name for one in tf.global_variables()])
print([one.name for one in tf.get_collection(tf.GraphKeys.UPDATE_OPS)])
print([one.name for one in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)])
g = tf.gradients(tf.reduce_sum(q), [s])[0]
gx = tf.gradients(tf.reduce_sum(f), [x])[0]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {x: np.linspace(-1, 1, 2*8*8*3).reshape(2, 8, 8, 3), s: np.linspace(-1, 1, 60).reshape(2, 10, 3)}
    for t in (f, a, e, e16, e2, q, y2, z2, w, w2, g, gx):
        v = sess.run(t, feed)
        print(t.name, v.shape, v.dtype, np.round(np.float64(v).ravel()[:6], 2 if v.dtype==np.float16 else 5).tolist())
    feed[train] = False
    print(sess.run(c, feed).ravel()[:4].tolist())
