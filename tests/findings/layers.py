"""Layers and towers of the programs in `programs.py`, as people write them for TensorFlow 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gpuplace as tf


def dense(rows: Any, units: int, name: str, activation: Any = tf.nn.relu, *, resource: bool = False) -> Any:
    """A dense layer with variables of its own."""
    with tf.variable_scope(name, use_resource=resource):
        width = rows.shape[-1].value
        weights = tf.get_variable("weights", [width, units])
        biases = tf.get_variable("biases", [units], initializer=tf.zeros_initializer())
        found = tf.nn.bias_add(tf.matmul(rows, weights), biases)
        return found if activation is None else activation(found)


def convolution(images: Any, channels: int, name: str, stride: int = 1) -> Any:
    """A convolution of 3x3, with a bias and ReLU."""
    with tf.variable_scope(name):
        kernel = tf.get_variable("kernel", [3, 3, images.shape[-1].value, channels])
        bias = tf.get_variable("bias", [channels], initializer=tf.zeros_initializer())
        found = tf.nn.conv2d(images, kernel, [1, stride, stride, 1], "SAME")
        return tf.nn.relu(tf.nn.bias_add(found, bias))


def small_vgg(images: Any, classes: int = 100) -> Any:
    """A convolutional network of three blocks."""
    found = images
    for block, channels in enumerate((64, 128, 256)):
        for number in range(2):
            found = convolution(found, channels, f"conv{block}_{number}")
        found = tf.nn.max_pool(found, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    pooled = tf.reduce_mean(found, [1, 2])
    return dense(dense(pooled, 1024, "hidden"), classes, "logits", None)


def layer_norm(rows: Any, name: str) -> Any:
    """Layer normalisation over the last axis."""
    with tf.variable_scope(name):
        width = rows.shape[-1].value
        gamma = tf.get_variable("gamma", [width], initializer=tf.ones_initializer())
        beta = tf.get_variable("beta", [width], initializer=tf.zeros_initializer())
        mean, variance = tf.nn.moments(rows, [-1], keep_dims=True)
        return (rows - mean) * tf.rsqrt(variance + 1e-6) * gamma + beta


def transformer_layer(rows: Any, batch: int, length: int, heads: int, name: str) -> Any:
    """A layer of BERT: attention and two dense layers; rows are [batch * length, width]."""
    with tf.variable_scope(name):
        width = rows.shape[-1].value
        size = width // heads

        def split(found: Any) -> Any:
            return tf.transpose(tf.reshape(found, [batch, length, heads, size]), [0, 2, 1, 3])

        query, key, value = (split(dense(rows, width, part, None)) for part in ("query", "key", "value"))
        scores = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) * (size**-0.5))
        context = tf.reshape(tf.transpose(tf.matmul(scores, value), [0, 2, 1, 3]), [batch * length, width])
        rows = layer_norm(rows + dense(context, width, "output", None), "attention_norm")
        inner = dense(rows, 4 * width, "inner")
        return layer_norm(rows + dense(inner, width, "outer", None), "output_norm")


def bert(
    batch: int, length: int, layers: int, width: int, device: Callable[[int], str]
) -> tuple[Any, dict[Any, Any]]:
    """A stack of transformer layers with a loss over tokens; `device` tells where each layer is."""
    tokens = tf.placeholder(tf.int32, [batch, length], "tokens")
    labels = tf.placeholder(tf.int32, [batch, length], "labels")
    with tf.device(device(0)):
        table = tf.get_variable("embedding", [8000, width])
        rows = tf.reshape(tf.nn.embedding_lookup(table, tokens), [batch * length, width])
    for layer in range(layers):
        with tf.device(device(layer)):
            rows = transformer_layer(rows, batch, length, width // 64, f"layer_{layer}")
    with tf.device(device(layers - 1)):
        logits = dense(rows, 2000, "predictions", None)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.reshape(labels, [-1]), logits=logits
        )
        loss = tf.reduce_mean(losses)
    return loss, {tokens: (batch, length), labels: (batch, length)}


def image_feeds(batch: int | None, size: int) -> tuple[Any, Any]:
    """Placeholders of images and labels."""
    images = tf.placeholder(tf.float32, [batch, size, size, 3], "images")
    return images, tf.placeholder(tf.int32, [batch], "labels")


def class_loss(logits: Any, labels: Any) -> Any:
    """The mean cross entropy."""
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def average_gradients(tower_gradients: list[Any]) -> list[Any]:
    """The mean of all towers' gradients, as the CIFAR-10 tutorial has it."""
    found = []
    for pairs in zip(*tower_gradients, strict=True):
        stacked = tf.concat([tf.expand_dims(gradient, 0) for gradient, _ in pairs], 0)
        found.append((tf.reduce_mean(stacked, 0), pairs[0][1]))
    return found


def towers(
    count: int,
    model: Callable[[int], Any],
    optimizer: Any,
    variables_on: Callable[[Any], str],
    gpu: Callable[[int], int] = lambda number: number,
) -> list[Any]:
    """Gradients of each tower; variables are shared, and made on the device that `variables_on` tells."""
    found = []
    for number in range(count):

        def device(op: Any, own: str = f"/gpu:{gpu(number)}") -> str:
            return variables_on(op) if op.type in ("VariableV2", "VarHandleOp") else own

        with tf.variable_scope(tf.get_variable_scope(), reuse=number > 0):
            with tf.device(device), tf.name_scope(f"tower_{number}"):
                found.append(optimizer.compute_gradients(model(number)))
    return found


def in_turn(count: int) -> Callable[[Any], str]:
    """Variables on all GPUs in turn, by size: the next one on the GPU that has the fewest bytes."""
    homes: dict[str, str] = {}
    loads = [0] * count

    def device(op: Any) -> str:
        if op.name not in homes:
            least = loads.index(min(loads))
            homes[op.name] = f"/gpu:{least}"
            loads[least] += tf.TensorShape(op.get_attr("shape")).num_elements()
        return homes[op.name]

    return device
