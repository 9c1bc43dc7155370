"""Data-parallel training: a tower a GPU, shared variables on the CPU, averaged gradients."""
import numpy as np
import tensorflow as tf

NUM_GPUS = 2
TOWER_NAME = "tower"


def _variable_on_cpu(name, shape, initializer):
    with tf.device("/cpu:0"):
        return tf.get_variable(name, shape, initializer=initializer, dtype=tf.float32)


def _variable_with_weight_decay(name, shape, stddev, wd):
    var = _variable_on_cpu(name, shape, tf.truncated_normal_initializer(stddev=stddev, seed=11))
    if wd is not None:
        weight_decay = tf.multiply(tf.nn.l2_loss(var), wd, name="weight_loss")
        tf.add_to_collection("losses", weight_decay)
    return var


def inference(images):
    with tf.variable_scope("conv1") as scope:
        kernel = _variable_with_weight_decay("weights", [3, 3, 1, 4], 0.2, 0.001)
        conv = tf.nn.conv2d(images, kernel, [1, 1, 1, 1], padding="SAME")
        biases = _variable_on_cpu("biases", [4], tf.constant_initializer(0.0))
        conv1 = tf.nn.relu(tf.nn.bias_add(conv, biases), name=scope.name)
    pool1 = tf.nn.max_pool(conv1, [1, 3, 3, 1], [1, 2, 2, 1], padding="SAME", name="pool1")
    with tf.variable_scope("local2") as scope:
        reshape = tf.reshape(pool1, [8, -1])
        dim = reshape.get_shape()[1].value
        weights = _variable_with_weight_decay("weights", [dim, 3], 0.1, 0.004)
        biases = _variable_on_cpu("biases", [3], tf.constant_initializer(0.1))
        return tf.add(tf.matmul(reshape, weights), biases, name=scope.name)


def tower_loss(scope, images, labels):
    logits = inference(images)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="per_example")
    tf.add_to_collection("losses", tf.reduce_mean(entropy, name="cross_entropy"))
    return tf.add_n(tf.get_collection("losses", scope), name="total_loss")


def average_gradients(tower_grads):
    average_grads = []
    for grad_and_vars in zip(*tower_grads):
        grads = [tf.expand_dims(g, 0) for g, _ in grad_and_vars]
        grad = tf.reduce_mean(tf.concat(axis=0, values=grads), 0)
        average_grads.append((grad, grad_and_vars[0][1]))
    return average_grads


with tf.Graph().as_default(), tf.device("/cpu:0"):
    global_step = tf.get_variable("global_step", [], initializer=tf.constant_initializer(0), trainable=False)
    lr = tf.train.exponential_decay(0.1, global_step, 2, 0.5, staircase=True)
    opt = tf.train.GradientDescentOptimizer(lr)
    inputs, tower_grads, losses = [], [], []
    with tf.variable_scope(tf.get_variable_scope()):
        for i in range(NUM_GPUS):
            with tf.device("/gpu:%d" % i):
                with tf.name_scope("%s_%d" % (TOWER_NAME, i)) as scope:
                    images = tf.placeholder(tf.float32, [8, 6, 6, 1], name="images")
                    labels = tf.placeholder(tf.int32, [8], name="labels")
                    loss = tower_loss(scope, images, labels)
                    tf.get_variable_scope().reuse_variables()
                    tower_grads.append(opt.compute_gradients(loss))
                    inputs.append((images, labels))
                    losses.append(loss)
    grads = average_gradients(tower_grads)
    apply_gradient_op = opt.apply_gradients(grads, global_step=global_step)
    variable_averages = tf.train.ExponentialMovingAverage(0.9, global_step)
    variables_averages_op = variable_averages.apply(tf.trainable_variables())
    train_op = tf.group(apply_gradient_op, variables_averages_op)
    init = tf.global_variables_initializer()

    sess = tf.Session(config=tf.ConfigProto(allow_soft_placement=True, log_device_placement=False))
    sess.run(init)
    rng = np.random.RandomState(1)
    feed = {}
    for images, labels in inputs:
        feed[images] = rng.rand(8, 6, 6, 1)
        feed[labels] = rng.randint(3, size=8)
    for step in range(50):
        _, values = sess.run([train_op, losses], feed_dict=feed)
        print("step %d: loss %s rate %.3f" % (step, " ".join("%.9g" % v for v in values), sess.run(lr)))
    with tf.variable_scope("local2", reuse=True):
        print(sess.run(tf.get_variable("biases")).round(5))
    print([v.op.name for v in tf.global_variables()])
