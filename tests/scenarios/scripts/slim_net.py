"""A net of contrib: default arguments, batch normalisation, regularizers, variables by scope, and fifty steps of training."""
import numpy as np
import tensorflow as tf
import tensorflow.contrib.slim as slim
from tensorflow.contrib import layers

tf.set_random_seed(5)
x = tf.placeholder(tf.float32, [2, 8, 8, 3])
is_training = tf.placeholder(tf.bool, [])


def net(x, reuse=None):
    with tf.variable_scope("net", reuse=reuse):
        with slim.arg_scope([slim.conv2d, slim.fully_connected], weights_regularizer=slim.l2_regularizer(0.01), normalizer_fn=slim.batch_norm, normalizer_params={"is_training": is_training, "decay": 0.9}):
            h = slim.conv2d(x, 4, [3, 3], scope="c1")
            h = slim.max_pool2d(h, [2, 2], scope="p1")
            h = slim.repeat(h, 2, slim.conv2d, 4, [3, 3], scope="c2")
            h = slim.avg_pool2d(h, 2, 1)
            h = slim.separable_conv2d(h, 5, 3, 1, normalizer_fn=None)
            h = slim.conv2d_transpose(h, 3, 3, stride=2)
            f = slim.flatten(h)
            f = slim.fully_connected(f, 6)
            f = slim.dropout(f, 0.8, is_training=is_training, scope="d")
        f = slim.stack(f, slim.fully_connected, [5, 4], scope="fc")
        return slim.fully_connected(f, 3, activation_fn=None, scope="out")


o = net(x)
o2 = net(x, reuse=True)
ln = layers.layer_norm(tf.constant([[1.0, 2.0, 4.0], [3.0, 5.0, 8.0]]))
b = layers.batch_norm(o, updates_collections=None, is_training=is_training, scale=True)
b2 = layers.batch_norm(x, updates_collections=None, is_training=True)
b3 = layers.batch_norm(o, is_training=True)
q = layers.softmax(o)
oh = layers.one_hot_encoding([1, 0], 3)
e = layers.embed_sequence([[1, 2], [0, 1]], 4, 3)
w = tf.get_variable("w", [3, 4], initializer=layers.xavier_initializer())
w2 = tf.get_variable("w2", [3, 3, 2, 4], initializer=layers.variance_scaling_initializer())
w3 = tf.get_variable("w3", [3, 4], initializer=layers.xavier_initializer_conv2d(uniform=False), regularizer=layers.l1_l2_regularizer(0.1, 0.2))
pen = layers.apply_regularization(layers.l1_regularizer(0.5), [w, w2])
step = tf.contrib.framework.get_or_create_global_step()
sl = tf.contrib.seq2seq.sequence_loss(tf.reshape(o, [1, 2, 3]), tf.constant([[1, 2]]), tf.constant([[1., .5]]))
loss = tf.losses.get_regularization_loss()
for v in slim.get_model_variables():
    print(v.name, v.shape)
print([v.name for v in slim.get_variables_to_restore(exclude=["net/c1", "w"])])
print([v.name for v in slim.get_variables("net", suffix="weights")], [v.name for v in tf.contrib.framework.get_variables_by_name("biases")][:2])
print([v.name for v in tf.get_collection(tf.GraphKeys.UPDATE_OPS)])
print([v.name for v in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)])
ups = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
with tf.control_dependencies(ups):
    train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(tf.reduce_sum(tf.square(o2)) + loss + sl, global_step=step)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {x: np.linspace(-1, 1, 2*8*8*3).reshape(2, 8, 8, 3), is_training: False}
    for t in (o, o2, ln, b, b2, b3, q, oh, e, w, w2, w3, pen, sl, loss):
        v = sess.run(t, feed)
        print(v.shape, np.round(np.float64(v).ravel()[:5], 4).tolist())
    feed[is_training] = True
    for i in range(50):
        print("loss %.9g step %d" % tuple(sess.run([train, sl, step], feed)[1:]))
