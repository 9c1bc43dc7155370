"""Softmax regression on two noisy clusters, with accuracy and mini-batches."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
features = np.concatenate([rng.randn(60, 2) + [2, 0], rng.randn(60, 2) - [2, 0]]).astype("float32")
labels = np.repeat(np.eye(2, dtype="float32"), 60, axis=0)
order = rng.permutation(120)
features, labels = features[order], labels[order]

x = tf.placeholder(tf.float32, [None, 2], name="features")
y_ = tf.placeholder(tf.float32, [None, 2], name="labels")
W = tf.Variable(tf.zeros([2, 2]))
b = tf.Variable(tf.zeros([2]))
y = tf.nn.softmax(tf.matmul(x, W) + b)
cross_entropy = tf.reduce_mean(-tf.reduce_sum(y_ * tf.log(y), reduction_indices=[1]))
train_step = tf.train.GradientDescentOptimizer(0.5).minimize(cross_entropy)
correct_prediction = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
accuracy = tf.reduce_mean(tf.cast(correct_prediction, tf.float32))

sess = tf.InteractiveSession()
tf.initialize_all_variables().run()
batch = 30
for epoch in range(13):
    total = 0.0
    for start in range(0, len(features), batch):
        feed = {x: features[start : start + batch], y_: labels[start : start + batch]}
        _, loss = sess.run((train_step, cross_entropy), feed)
        total += loss
    print("epoch %d loss %.9g accuracy %.3f" % (epoch, total / 4, accuracy.eval({x: features, y_: labels})))
print(W.eval().round(4))
print(b.eval().round(4))
sess.close()
