"""A multilayer perceptron that learns XOR of signs with Adam; weights in dictionaries."""
import numpy as np
import tensorflow as tf

tf.set_random_seed(1234)
np.random.seed(3)
n_hidden_1, n_hidden_2, n_input, n_classes = 16, 8, 2, 2
data = np.random.uniform(-1, 1, (200, n_input)).astype(np.float32)
target = (data[:, 0] * data[:, 1] > 0).astype(np.int64)

X = tf.placeholder(tf.float32, [None, n_input])
Y = tf.placeholder(tf.int64, [None])
weights = {
    "h1": tf.Variable(tf.random_normal([n_input, n_hidden_1])),
    "h2": tf.Variable(tf.random_normal([n_hidden_1, n_hidden_2])),
    "out": tf.Variable(tf.random_normal([n_hidden_2, n_classes])),
}
biases = {
    "b1": tf.Variable(tf.random_normal([n_hidden_1])),
    "b2": tf.Variable(tf.random_normal([n_hidden_2])),
    "out": tf.Variable(tf.random_normal([n_classes])),
}


def multilayer_perceptron(x):
    layer_1 = tf.nn.tanh(tf.add(tf.matmul(x, weights["h1"]), biases["b1"]))
    layer_2 = tf.nn.relu(tf.add(tf.matmul(layer_1, weights["h2"]), biases["b2"]))
    return tf.matmul(layer_2, weights["out"]) + biases["out"]


logits = multilayer_perceptron(X)
loss_op = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=Y))
train_op = tf.train.AdamOptimizer(learning_rate=0.02).minimize(loss_op)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), Y), "float"))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print("h1[0] =", sess.run(weights["h1"])[0].round(4))
    for step in range(61):
        _, c = sess.run([train_op, loss_op], feed_dict={X: data, Y: target})
        if step % 20 == 0:
            print("step %d cost %.9g" % (step, c))
    print("accuracy %.2f" % accuracy.eval({X: data, Y: target}))
