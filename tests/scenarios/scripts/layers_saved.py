"""A convolutional net of AlexNet's kind, each layer on a device of its own; saved, and loaded on other devices."""
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

folder = tempfile.mkdtemp()
rng = np.random.RandomState(11)


def weights(*shape):
    return (rng.rand(*shape) * 0.2 - 0.1).astype(np.float32)


def conv(value, name, size, inputs, outputs, stride, device):
    with tf.device(device), tf.variable_scope(name):
        kernel = tf.get_variable("weights", initializer=weights(size, size, inputs, outputs))
        biases = tf.get_variable("biases", [outputs], initializer=tf.zeros_initializer())
        value = tf.nn.conv2d(value, kernel, [1, stride, stride, 1], "SAME")
        return tf.nn.relu(tf.nn.bias_add(value, biases), name="relu")


def fully(value, name, inputs, outputs, device):
    with tf.device(device), tf.variable_scope(name):
        w = tf.get_variable("weights", initializer=weights(inputs, outputs))
        b = tf.get_variable("biases", initializer=weights(outputs))
        return tf.nn.xw_plus_b(value, w, b, name="out")


graph = tf.Graph()
with graph.as_default():
    images = tf.placeholder(tf.float32, [None, 16, 16, 3], name="images")
    net = conv(images, "conv1", 5, 3, 8, 2, "/gpu:0")
    net = tf.nn.max_pool(net, [1, 3, 3, 1], [1, 2, 2, 1], "VALID", name="pool1")
    net = conv(net, "conv2", 3, 8, 12, 1, "/gpu:0")
    net = conv(net, "conv3", 3, 12, 12, 1, "/gpu:1")
    net = tf.nn.max_pool(net, [1, 2, 2, 1], [1, 2, 2, 1], "SAME", name="pool3")
    net = tf.reshape(net, [-1, 2 * 2 * 12])
    net = tf.nn.relu(fully(net, "fc4", 48, 16, "/gpu:1"))
    logits = fully(net, "fc5", 16, 5, "/cpu:0")
    tf.add_to_collection("logits", logits)
    saver = tf.train.Saver(sharded=True)
    batch = rng.rand(2, 16, 16, 3).astype(np.float32)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        sess.run(tf.global_variables_initializer())
        expected = sess.run(logits, {images: batch})
        path = saver.save(sess, os.path.join(folder, "net"), global_step=7)
print(expected.shape, os.path.basename(path))
print(sorted(os.listdir(folder)))
print(tf.train.list_variables(folder))


def loaded(title, **arguments):
    with tf.Graph().as_default() as again:
        restorer = tf.train.import_meta_graph(path + ".meta", **arguments)
        (result,) = tf.get_collection("logits")
        feed = result.name.replace("fc5/out:0", "images:0")
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
            restorer.restore(sess, path)
            same = np.allclose(sess.run(result, {feed: batch}), expected, atol=1e-5)
        devices = sorted({v.device for v in tf.global_variables()})
        print(title, same, devices, [v.op.name for v in tf.trainable_variables()][:2])


loaded("as it was")
loaded("no devices", clear_devices=True)
loaded("in a scope", import_scope="old", clear_devices=True)
with tf.device("/gpu:3"):
    loaded("outside of the graph", clear_devices=True)
with tf.Graph().as_default():
    with tf.device("/gpu:3"):
        restorer = tf.train.import_meta_graph(path + ".meta", clear_devices=True)
    print("moved", sorted({v.device for v in tf.global_variables()}))
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        restorer.restore(sess, path)
        print(np.allclose(sess.run("fc5/out:0", {"images:0": batch}), expected, atol=1e-5))
shutil.rmtree(folder)
