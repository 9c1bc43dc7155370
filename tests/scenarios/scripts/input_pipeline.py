"""A small net that a pipeline feeds: slices, map, shuffle, batch and prefetch, one initialisation an epoch."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(1)
points = rng.rand(80, 2).astype("float32")
inside = ((points - 0.5) ** 2).sum(1) < 0.1

features = tf.placeholder(tf.float32, [None, 2], name="features")
targets = tf.placeholder(tf.bool, [None], name="targets")
scale = tf.constant(2.0, name="scale")


def prepare(point, target):
    return {"point": (point - 0.5) * scale, "squares": tf.square(point - 0.5)}, tf.cast(target, tf.int32)


dataset = tf.data.Dataset.from_tensor_slices((features, targets))
dataset = dataset.map(prepare, num_parallel_calls=2).shuffle(50, seed=7).batch(8).prefetch(1)
iterator = dataset.make_initializable_iterator()
batch, labels = iterator.get_next()
print(dataset.output_types, dataset.output_shapes[1])

inputs = tf.concat([batch["point"], batch["squares"]], axis=1)
W1 = tf.Variable(rng.randn(4, 6).astype("float32"), name="W1")
b1 = tf.Variable(tf.zeros([6]), name="b1")
W2 = tf.Variable(rng.randn(6, 2).astype("float32"), name="W2")
hidden = tf.nn.relu(tf.matmul(inputs, W1) + b1)
logits = tf.matmul(hidden, W2)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1, output_type=tf.int32), labels), tf.float32))
train = tf.train.GradientDescentOptimizer(0.2).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(5):
        sess.run(iterator.initializer, {features: points, targets: inside})
        losses = []
        while True:
            try:
                losses.append(sess.run([loss, train])[0])
            except tf.errors.OutOfRangeError:
                break
        print("epoch %d: %d batches, loss %.9g" % (epoch, len(losses), np.mean(losses)))
    sess.run(iterator.initializer, {features: points[:8], targets: inside[:8]})
    print("accuracy %.3f" % sess.run(accuracy))
