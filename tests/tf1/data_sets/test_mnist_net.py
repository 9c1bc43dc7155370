"""The tutorial's net for MNIST: its variables, and that it learns."""

import numpy as np

import gpuplace as tf
from gpuplace.tf1.data_sets import mnist_net
from gpuplace.tf1.data_sets.synthetic import digits


def test_it_learns_the_drawn_digits():
    tf.set_random_seed(1)
    images, labels = digits(64, seed=0)
    pixels = images.reshape(64, mnist_net.IMAGE_PIXELS).astype(np.float32) / 255
    logits = mnist_net.inference(tf.constant(pixels), 16, 8)
    loss = mnist_net.loss(logits, tf.constant(labels.astype(np.int32)))
    train = mnist_net.training(loss, 0.1)
    right = mnist_net.evaluation(logits, tf.constant(labels.astype(np.int32)))
    assert [variable.op.name for variable in tf.global_variables()] == [
        *(
            f"{layer}/{kind}"
            for layer in ("hidden1", "hidden2", "softmax_linear")
            for kind in ("weights", "biases")
        ),
        "global_step",
    ]
    assert [tensor.op.name for tensor in tf.get_collection(tf.GraphKeys.SUMMARIES)] == ["loss"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first, before = session.run([loss, right])
        for _ in range(60):
            session.run(train)
        last, after = session.run([loss, right])
    assert last < 0.7 * first and after > before
