"""An LSTM that learns which half of a sequence holds the larger numbers: 50 steps, then a GRU on top of it."""
import numpy as np
import tensorflow as tf
from tensorflow.contrib import rnn

tf.set_random_seed(11)
steps, size, hidden, classes = 8, 2, 6, 2
random = np.random.RandomState(5)
data = random.uniform(-1, 1, [12, steps, size]).astype(np.float32)
lengths = random.randint(3, steps + 1, 12)
labels = np.array([int(row[:4].sum() > row[4:].sum()) for row in data])

x = tf.placeholder(tf.float32, [None, steps, size], name="x")
seqlen = tf.placeholder(tf.int32, [None], name="seqlen")
y = tf.placeholder(tf.int32, [None], name="y")
weights = {"out": tf.Variable(tf.random_normal([hidden, classes]))}
biases = {"out": tf.Variable(tf.zeros([classes]))}


def static_net(inputs):
    lstm = rnn.BasicLSTMCell(hidden, forget_bias=1.0)
    outputs, _ = rnn.static_rnn(lstm, tf.unstack(inputs, steps, 1), dtype=tf.float32)
    return tf.matmul(outputs[-1], weights["out"]) + biases["out"]


def dynamic_net(inputs):
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(hidden), tf.nn.rnn_cell.GRUCell(4)])
    outputs, state = tf.nn.dynamic_rnn(cell, inputs, sequence_length=seqlen, dtype=tf.float32)
    last = tf.gather(tf.reshape(outputs, [-1, 4]), tf.range(tf.shape(outputs)[0]) * steps + (seqlen - 1))
    return tf.layers.dense(last, classes, name="top"), state


logits = static_net(x)
deep, state = dynamic_net(x)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=y))
deep_loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=deep)
train = tf.train.AdamOptimizer(0.02).minimize(loss)
grads, variables = zip(*tf.train.RMSPropOptimizer(0.01).compute_gradients(deep_loss))
clipped, norm = tf.clip_by_global_norm([g if g is not None else g for g in grads if g is not None], 1.0)
kept = [v for g, v in zip(grads, variables) if g is not None]
deep_train = tf.train.RMSPropOptimizer(0.01).apply_gradients(zip(clipped, kept))
correct = tf.reduce_mean(tf.cast(tf.equal(tf.cast(tf.argmax(logits, 1), tf.int32), y), tf.float32))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {x: data, seqlen: lengths, y: labels}
    for step in range(50):
        values = sess.run([loss, deep_loss, train, deep_train], feed)
        if step % 7 == 0 or step == 49:
            print("step %d: loss %.9g %.9g" % (step, values[0], values[1]))
    print("accuracy %.4f norm %.5f" % tuple(sess.run([correct, norm], feed)))
    final = sess.run(state, feed)
    print(type(final[0]).__name__, final[0].c.shape, final[1].shape, round(float(final[1].sum()), 4))
for v in tf.trainable_variables():
    print(v.name, v.shape.as_list())
