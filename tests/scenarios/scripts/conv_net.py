"""A small convolutional net in the tutorial's manner: conv, pool, dropout, softmax, momentum, decayed rate."""
import numpy as np
import tensorflow as tf

FLAGS_seed = 42
IMAGE_SIZE, NUM_CHANNELS, NUM_LABELS, BATCH = 12, 1, 4, 16


def weight_variable(shape):
    return tf.Variable(tf.truncated_normal(shape, stddev=0.1, seed=FLAGS_seed))


def conv2d(x, W):
    return tf.nn.conv2d(x, W, strides=[1, 1, 1, 1], padding="SAME")


def max_pool_2x2(x):
    return tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")


rng = np.random.RandomState(5)
labels = rng.randint(NUM_LABELS, size=64)
images = rng.rand(64, IMAGE_SIZE, IMAGE_SIZE, NUM_CHANNELS).astype(np.float32) * 0.2
for i, label in enumerate(labels):
    images[i, 6 * (label // 2) : 6 * (label // 2) + 6, 6 * (label % 2) : 6 * (label % 2) + 6] += 1.0

data_node = tf.placeholder(tf.float32, shape=(BATCH, IMAGE_SIZE, IMAGE_SIZE, NUM_CHANNELS))
labels_node = tf.placeholder(tf.int64, shape=(BATCH,))
keep_prob = tf.placeholder_with_default(1.0, shape=(), name="keep_prob")

with tf.name_scope("conv1"):
    W_conv1 = weight_variable([5, 5, NUM_CHANNELS, 4])
    b_conv1 = tf.Variable(tf.zeros([4]))
    h_pool1 = max_pool_2x2(tf.nn.relu(tf.nn.bias_add(conv2d(data_node, W_conv1), b_conv1)))
with tf.name_scope("conv2"):
    W_conv2 = weight_variable([3, 3, 4, 8])
    b_conv2 = tf.Variable(tf.constant(0.1, shape=[8]))
    h_pool2 = max_pool_2x2(tf.nn.relu(conv2d(h_pool1, W_conv2) + b_conv2))
with tf.name_scope("fc"):
    pool_shape = h_pool2.get_shape().as_list()
    flat = tf.reshape(h_pool2, [pool_shape[0], pool_shape[1] * pool_shape[2] * pool_shape[3]])
    W_fc1 = weight_variable([3 * 3 * 8, 16])
    b_fc1 = tf.Variable(tf.constant(0.1, shape=[16]))
    h_fc1 = tf.nn.relu(tf.matmul(flat, W_fc1) + b_fc1)
    h_drop = tf.nn.dropout(h_fc1, keep_prob, seed=FLAGS_seed)
    W_fc2 = weight_variable([16, NUM_LABELS])
    b_fc2 = tf.Variable(tf.constant(0.1, shape=[NUM_LABELS]))
    logits = tf.matmul(h_drop, W_fc2) + b_fc2

loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels_node, logits=logits))
regularizers = tf.nn.l2_loss(W_fc1) + tf.nn.l2_loss(b_fc1) + tf.nn.l2_loss(W_fc2) + tf.nn.l2_loss(b_fc2)
loss += 5e-4 * regularizers
batch = tf.Variable(0, dtype=tf.float32)
learning_rate = tf.train.exponential_decay(0.05, batch * BATCH, 64, 0.95, staircase=True)
optimizer = tf.train.MomentumOptimizer(learning_rate, 0.9).minimize(loss, global_step=batch)
prediction = tf.nn.softmax(logits)

with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
    tf.global_variables_initializer().run()
    print([v.name for v in tf.trainable_variables()])
    for step in range(50):
        offset = (step * BATCH) % (len(labels) - BATCH + 1)
        feed_dict = {
            data_node: images[offset : offset + BATCH],
            labels_node: labels[offset : offset + BATCH],
            keep_prob: 0.75,
        }
        _, l, lr, predictions = sess.run([optimizer, loss, learning_rate, prediction], feed_dict=feed_dict)
        print("step %d loss %.9g rate %.6f" % (step, l, lr))
    error = np.mean(np.argmax(predictions, 1) == feed_dict[labels_node])
    print("batch accuracy %.3f of shape %s" % (error, predictions.shape))
    print("no dropout: loss %.9g" % sess.run(loss, {data_node: images[:BATCH], labels_node: labels[:BATCH]}))
