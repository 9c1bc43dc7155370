"""Layers and losses that several programs share."""

from __future__ import annotations

from tests.oracle.corpus.programs import tf


def dense(x, units, name, activation=tf.nn.relu):
    """A fully connected layer."""
    with tf.variable_scope(name):
        weights = tf.get_variable("weights", [int(x.shape[-1]), units])
        biases = tf.get_variable("biases", [units], initializer=tf.zeros_initializer())
        return activation(tf.nn.bias_add(tf.matmul(x, weights), biases))


def conv(x, filters, name, stride=1, size=3):
    """A convolution with bias and relu."""
    with tf.variable_scope(name):
        kernel = tf.get_variable("kernel", [size, size, int(x.shape[-1]), filters])
        biases = tf.get_variable("biases", [filters], initializer=tf.zeros_initializer())
        return tf.nn.relu(
            tf.nn.bias_add(tf.nn.conv2d(x, kernel, strides=[1, stride, stride, 1], padding="SAME"), biases)
        )


def batch_norm(x, name, training=True):
    """Batch normalisation with moving averages that are updated beside the step."""
    with tf.variable_scope(name):
        channels = int(x.shape[-1])
        scale = tf.get_variable("scale", [channels], initializer=tf.ones_initializer())
        offset = tf.get_variable("offset", [channels], initializer=tf.zeros_initializer())
        mean = tf.get_variable("mean", [channels], initializer=tf.zeros_initializer(), trainable=False)
        variance = tf.get_variable("variance", [channels], initializer=tf.ones_initializer(), trainable=False)
        if not training:
            return tf.nn.fused_batch_norm(x, scale, offset, mean, variance, is_training=False)[0]
        y, batch_mean, batch_variance = tf.nn.fused_batch_norm(x, scale, offset)
        for moving, batch in ((mean, batch_mean), (variance, batch_variance)):
            tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_sub(moving, (moving - batch) * 0.1))
        return y


def digits():
    """Images and labels that are fed."""
    return tf.placeholder(tf.float32, [None, 784], "images"), tf.placeholder(tf.int64, [None], "labels")


def cross_entropy(logits, labels):
    """Mean loss of a classifier."""
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def perceptron():
    """Loss of a small net on digits."""
    images, labels = digits()
    return cross_entropy(dense(dense(images, 32, "hidden"), 10, "output", tf.identity), labels)


def lstm_step(x, c, h, units):
    """One step of an LSTM."""
    with tf.variable_scope("lstm", reuse=tf.AUTO_REUSE):
        kernel = tf.get_variable("kernel", [int(x.shape[-1]) + units, 4 * units])
        biases = tf.get_variable("biases", [4 * units], initializer=tf.zeros_initializer())
        i, j, f, o = tf.split(tf.nn.bias_add(tf.matmul(tf.concat([x, h], 1), kernel), biases), 4, 1)
    c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
    return c, tf.tanh(c) * tf.sigmoid(o)


def attention(queries, keys, values):
    """Scaled dot products."""
    scores = tf.matmul(queries, keys, transpose_b=True) / tf.sqrt(tf.cast(tf.shape(keys)[-1], tf.float32))
    return tf.matmul(tf.nn.softmax(scores), values)
