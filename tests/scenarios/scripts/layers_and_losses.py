"""tf.layers, tf.losses, batch normalisation with its update ops, summaries of what was made."""
import numpy as np
import tensorflow as tf


def model_fn(features, labels, training):
    net = tf.reshape(features, [-1, 8, 8, 1])
    net = tf.layers.conv2d(net, filters=4, kernel_size=[3, 3], padding="same", activation=tf.nn.relu, name="conv",
                           kernel_initializer=tf.random_normal_initializer(stddev=0.2, seed=3))
    net = tf.layers.batch_normalization(net, training=training)
    net = tf.layers.max_pooling2d(net, pool_size=[2, 2], strides=2)
    net = tf.layers.flatten(net)
    net = tf.layers.dense(net, 8, activation=tf.nn.tanh, kernel_initializer=tf.constant_initializer(0.05))
    net = tf.layers.dropout(net, rate=0.0, training=training)
    logits = tf.layers.dense(net, 3, kernel_initializer=tf.glorot_uniform_initializer(seed=8), name="logits")
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    penalty = tf.losses.mean_squared_error(tf.zeros_like(net), net, weights=0.01)
    return logits, tf.losses.get_total_loss(), (loss, penalty)


x = tf.placeholder(tf.float32, [12, 64])
y = tf.placeholder(tf.int32, [12])
with tf.variable_scope("model"):
    logits, total, parts = model_fn(x, y, True)
update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
with tf.control_dependencies(update_ops):
    train_op = tf.train.AdamOptimizer(0.01).minimize(total)
with tf.variable_scope("model", reuse=True):
    test_logits, _, _ = model_fn(x, y, False)

print([op.name for op in update_ops])
for variable in tf.global_variables("model"):
    print(variable.op.name, variable.shape.as_list())
rng = np.random.RandomState(2)
feed = {x: rng.rand(12, 64), y: np.arange(12) % 3}
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(50):
        _, value, both = sess.run([train_op, total, parts], feed)
        print("loss %.9g" % value, ["%.9g" % part for part in both])
    print(sess.run(test_logits, feed)[0].round(3))
    print(int(np.sum([np.prod(v.shape.as_list()) for v in tf.trainable_variables()])))
