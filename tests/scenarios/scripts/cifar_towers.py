"""Small colour images on one, two and four GPUs: towers that share variables, with averaged gradients."""

import os
import re
import shutil
import tempfile

import numpy as np
import tensorflow as tf

IMAGE, CLASSES, BATCH, EXAMPLES, STEPS = 8, 5, 4, 40, 50
TOWER = "tower"


def draw_examples():
    rng = np.random.RandomState(7)
    labels = rng.randint(CLASSES, size=EXAMPLES)
    images = rng.rand(EXAMPLES, IMAGE, IMAGE, 3) * 0.5
    for image, label in zip(images, labels):
        image[label : label + 3, :, label % 3] += 1.0
    return images.astype(np.float32), labels.astype(np.int32)


def variable_on_cpu(name, shape, initializer):
    with tf.device("/cpu:0"):
        return tf.get_variable(name, shape, initializer=initializer, dtype=tf.float32)


def variable_with_decay(name, shape, stddev, decay, seed):
    initializer = tf.truncated_normal_initializer(stddev=stddev, seed=seed, dtype=tf.float32)
    var = variable_on_cpu(name, shape, initializer)
    if decay:
        tf.add_to_collection("losses", tf.multiply(tf.nn.l2_loss(var), decay, name="weight_loss"))
    return var


def summarize(activations):
    name = re.sub("%s_[0-9]*/" % TOWER, "", activations.op.name)
    tf.summary.histogram(name + "/activations", activations)
    tf.summary.scalar(name + "/sparsity", tf.nn.zero_fraction(activations))


def inference(images):
    with tf.variable_scope("conv1") as scope:
        kernel = variable_with_decay("weights", [3, 3, 3, 6], 0.1, None, 1)
        conv = tf.nn.conv2d(images, kernel, [1, 1, 1, 1], padding="SAME")
        biases = variable_on_cpu("biases", [6], tf.constant_initializer(0.0))
        conv1 = tf.nn.relu(tf.nn.bias_add(conv, biases), name=scope.name)
        summarize(conv1)
    pool1 = tf.nn.max_pool(conv1, [1, 3, 3, 1], [1, 2, 2, 1], padding="SAME", name="pool1")
    norm1 = tf.nn.lrn(pool1, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75, name="norm1")
    with tf.variable_scope("local2") as scope:
        size = IMAGE * IMAGE // 4 * 6
        weights = variable_with_decay("weights", [size, 16], 0.1, 0.004, 2)
        biases = variable_on_cpu("biases", [16], tf.constant_initializer(0.1))
        flat = tf.reshape(norm1, [-1, size])
        local2 = tf.nn.relu(tf.matmul(flat, weights) + biases, name=scope.name)
        summarize(local2)
    with tf.variable_scope("softmax_linear") as scope:
        weights = variable_with_decay("weights", [16, CLASSES], 0.1, None, 3)
        biases = variable_on_cpu("biases", [CLASSES], tf.constant_initializer(0.0))
        logits = tf.add(tf.matmul(local2, weights), biases, name=scope.name)
        summarize(logits)
    return logits


def tower_loss(scope, images, labels):
    logits = inference(images)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.cast(labels, tf.int64), logits=logits, name="entropy_per_example"
    )
    tf.add_to_collection("losses", tf.reduce_mean(entropy, name="entropy"))
    losses = tf.get_collection("losses", scope)
    total = tf.add_n(losses, name="total_loss")
    for loss in losses + [total]:
        tf.summary.scalar(re.sub("%s_[0-9]*/" % TOWER, "", loss.op.name), loss)
    return total


def average_gradients(tower_grads):
    averaged = []
    for pairs in zip(*tower_grads):
        grads = [tf.expand_dims(grad, 0) for grad, _ in pairs]
        averaged.append((tf.reduce_mean(tf.concat(grads, axis=0), 0), pairs[0][1]))
    return averaged


def train(num_gpus, folder):
    images, labels = draw_examples()
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        global_step = tf.get_variable("global_step", [], initializer=tf.constant_initializer(0), trainable=False)
        learning_rate = tf.train.exponential_decay(0.1, global_step, 10, 0.9, staircase=True)
        optimizer = tf.train.GradientDescentOptimizer(learning_rate)
        image, label = tf.train.slice_input_producer(
            [tf.constant(images), tf.constant(labels)], shuffle=False, capacity=16
        )
        batch = tf.train.batch([image, label], BATCH, num_threads=1, capacity=4 * BATCH)
        queue = tf.FIFOQueue(2 * num_gpus, [tf.float32, tf.int32], [[BATCH, IMAGE, IMAGE, 3], [BATCH]])
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(batch)]))
        tower_grads, losses = [], []
        with tf.variable_scope(tf.get_variable_scope()):
            for i in range(num_gpus):
                with tf.device("/gpu:%d" % i), tf.name_scope("%s_%d" % (TOWER, i)) as scope:
                    tower_images, tower_labels = queue.dequeue()
                    loss = tower_loss(scope, tower_images, tower_labels)
                    tf.get_variable_scope().reuse_variables()
                    summaries = tf.get_collection(tf.GraphKeys.SUMMARIES, scope)
                    tower_grads.append(optimizer.compute_gradients(loss))
                    losses.append(loss)
        grads = average_gradients(tower_grads)
        summaries.append(tf.summary.scalar("learning_rate", learning_rate))
        for grad, var in grads:
            summaries.append(tf.summary.histogram(var.op.name + "/gradients", grad))
        apply_gradients = optimizer.apply_gradients(grads, global_step=global_step)
        for var in tf.trainable_variables():
            summaries.append(tf.summary.histogram(var.op.name, var))
        averages = tf.train.ExponentialMovingAverage(0.99, global_step)
        follow = averages.apply(tf.trainable_variables())
        mean_loss = tf.reduce_mean(tf.stack(losses))
        saver = tf.train.Saver(tf.global_variables())
        summary_op = tf.summary.merge(summaries)
        init = tf.global_variables_initializer()
        config = tf.ConfigProto(allow_soft_placement=True)
        with tf.Session(config=config) as sess:
            sess.run(init)
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(sess=sess, coord=coord)
            writer = tf.summary.FileWriter(folder, sess.graph)
            for step in range(STEPS):
                if step == STEPS - 1:
                    text = sess.run(summary_op)
                    writer.add_summary(text, step)
                value, _ = sess.run([mean_loss, apply_gradients])
                sess.run(follow)
                assert not np.isnan(value), "Model diverged with loss = NaN"
                print("  step %d loss %.9g" % (step, value))
            path = saver.save(sess, os.path.join(folder, "model.ckpt"), global_step=STEPS)
            coord.request_stop()
            coord.join(threads)
            writer.close()
            print("%d GPU(s), %d steps" % (num_gpus, int(sess.run(global_step))))
            for var in tf.trainable_variables():
                print("  %-25s %8.4f" % (var.op.name, np.linalg.norm(sess.run(var))))
            print("  averaged biases", np.round(sess.run(averages.average(var)), 3))
        tags = sorted(value.tag for value in tf.Summary.FromString(text).value)
        print("  %d summaries, such as %s and %s" % (len(tags), tags[0], tags[-1]))
        return os.path.basename(path)


def evaluate(folder, name):
    images, labels = draw_examples()
    with tf.Graph().as_default():
        logits = inference(tf.constant(images))
        hits = tf.reduce_sum(tf.cast(tf.nn.in_top_k(logits, labels, 1), tf.int32))
        averages = tf.train.ExponentialMovingAverage(0.99)
        restored = averages.variables_to_restore()
        saver = tf.train.Saver(restored)
        with tf.Session() as sess:
            saver.restore(sess, os.path.join(folder, name))
            print("  right by averages: %d of %d" % (sess.run(hits), EXAMPLES))
        print("  read from", sorted(restored)[0])


if __name__ == "__main__":
    for gpus in (1, 2, 4):
        logdir = tempfile.mkdtemp()
        try:
            evaluate(logdir, train(gpus, logdir))
        finally:
            shutil.rmtree(logdir)
