"""Graphs that tests place."""

import gpuplace as tf


def towers() -> tf.Graph:
    """The guide's two towers on GPU 2 and GPU 3, their sum on the CPU."""
    graph = tf.Graph()
    with graph.as_default():
        products = []
        for device in ["/device:GPU:2", "/device:GPU:3"]:
            with tf.device(device):
                a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3])
                b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2])
                products.append(tf.matmul(a, b))
        with tf.device("/cpu:0"):
            tf.add_n(products)
    return graph


def layered(layers: int) -> tf.Graph:
    """`layers` scopes of four ops each, in two towers."""
    graph = tf.Graph()
    with graph.as_default():
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                x = tf.placeholder(tf.float32, [8, 8], name="x")
                for layer in range(layers):
                    with tf.name_scope(f"layer_{layer}"):
                        x = tf.matmul(x, x + 1.0)
    return graph
