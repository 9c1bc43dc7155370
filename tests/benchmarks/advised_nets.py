"""Twelve training steps of the kinds that people split over GPUs, built with gpuplace, for the advisor's benchmark.

``build(tf, "GNMT", gpus=4)`` builds a step as a program would be written that says little of devices, or, for towers,
as published programs say it. Returns what to run.

Sources of the shapes: Wu et al., Google's neural machine translation system, 2016 (GNMT: eight layers of LSTMs, the
first both ways, attention); Devlin et al., BERT, 2018 (base and large); Cheng et al., Wide and deep learning, 2016;
Józefowicz et al., Exploring the limits of language modeling, 2016; Szegedy et al. and He et al., as in
``published_nets``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.benchmarks.published_nets import CLASSES, NETS, SIDE, Layers, training_step


def _matrix(tf: Any, name: str, rows: int, columns: int) -> Any:
    return tf.get_variable(name, (rows, columns), tf.float32)


def _dense(tf: Any, name: str, top: Any, units: int, activate: bool = True) -> Any:
    with tf.variable_scope(name):
        weights = _matrix(tf, "weights", int(top.shape[-1]), units)
        bias = tf.get_variable("bias", (units,), tf.float32, tf.zeros_initializer())
        result = tf.nn.bias_add(tf.matmul(top, weights), bias)
        return tf.nn.relu(result) if activate else result


def _rows(tf: Any, name: str, shape: tuple[int, ...]) -> Any:
    """Numbers that a step begins with, kept in a variable that is not trained."""
    return tf.Variable(
        tf.truncated_normal(shape, stddev=0.1),
        trainable=False,
        collections=[tf.GraphKeys.LOCAL_VARIABLES],
        name=name,
    )


def _loss(tf: Any, logits: Any) -> Any:
    labels = tf.constant([1] * int(logits.shape[0]), tf.int32)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def _train(tf: Any, loss: Any) -> Any:
    return tf.train.GradientDescentOptimizer(0.01).minimize(loss, name="train_op")


def _single(net: str, batch: int) -> Callable[[Any, int], Any]:
    """A published net that says nothing of devices."""

    def build(tf: Any, gpus: int) -> Any:
        side = SIDE[net]
        layers = Layers(tf, _rows(tf, "images", (batch, 3, side, side)))
        NETS[net](layers)
        return _train(tf, _loss(tf, layers.dense(CLASSES, activate=False)))

    return build


def _towers(net: str, batch: int | None = None) -> Callable[[Any, int], Any]:
    return lambda tf, gpus: training_step(tf, net, gpus, batch=batch)


def _lstm(tf: Any, name: str, steps: list[Any], units: int) -> list[Any]:
    """A layer of an LSTM over time, one cell a step."""
    batch = int(steps[0].shape[0])
    with tf.variable_scope(name):
        weights = _matrix(tf, "kernel", int(steps[0].shape[1]) + units, 4 * units)
        bias = tf.get_variable("bias", (4 * units,), tf.float32, tf.zeros_initializer())
        hidden = cell = tf.zeros([batch, units])
        found = []
        for step in steps:
            gates = tf.nn.bias_add(tf.matmul(tf.concat([step, hidden], 1), weights), bias)
            enter, new, forget, out = tf.split(gates, 4, 1)
            cell = tf.sigmoid(forget) * cell + tf.sigmoid(enter) * tf.tanh(new)
            hidden = tf.sigmoid(out) * tf.tanh(cell)
            found.append(hidden)
    return found


def gnmt(layers: int, units: int, length: int, batch: int, words: int) -> Callable[[Any, int], Any]:
    """Encoder and decoder of stacked LSTMs, attention, and a softmax over the words for all steps together.

    Args:
        layers: of each of the two, from 2 on.
        units: of a layer.
        length: steps.
        batch: sentences.
        words: of the vocabulary.
    """

    def build(tf: Any, gpus: int) -> Any:
        table = _matrix(tf, "embedding", words, units)
        source = [
            tf.nn.embedding_lookup(table, tf.constant([at % words] * batch, tf.int32)) for at in range(length)
        ]
        forward = _lstm(tf, "encoder_forward", source, units)
        backward = _lstm(tf, "encoder_backward", source[::-1], units)[::-1]
        top = [tf.concat([one, other], 1) for one, other in zip(forward, backward)]
        for layer in range(1, layers):
            below, top = top, _lstm(tf, f"encoder_{layer}", top, units)
            if layer > 1:
                top = [one + other for one, other in zip(top, below)]
        memory = tf.stack(top, 1)
        target = [
            tf.nn.embedding_lookup(table, tf.constant([(7 * at) % words] * batch, tf.int32))
            for at in range(length)
        ]
        top = _lstm(tf, "decoder_0", target, units)
        contexts = []
        for one in top:
            scores = tf.nn.softmax(tf.reduce_sum(memory * tf.expand_dims(one, 1), 2))
            contexts.append(tf.reduce_sum(memory * tf.expand_dims(scores, 2), 1))
        top = [tf.concat([one, other], 1) for one, other in zip(top, contexts)]
        for layer in range(1, layers):
            below, top = top, _lstm(tf, f"decoder_{layer}", top, units)
            if layer > 1:
                top = [one + other for one, other in zip(top, below)]
        return _train(tf, _loss(tf, _dense(tf, "softmax", tf.concat(top, 0), words, activate=False)))

    return build


def _bert(layers: int, width: int, heads: int, length: int, batch: int) -> Callable[[Any, int], Any]:
    """A stack of transformer layers above an embedding."""

    def normed(tf: Any, name: str, top: Any) -> Any:
        mean = tf.reduce_mean(top, [1], keepdims=True)
        spread = tf.reduce_mean(tf.square(top - mean), [1], keepdims=True)
        with tf.variable_scope(name):
            scale = tf.get_variable("gamma", (width,), tf.float32, tf.ones_initializer())
            offset = tf.get_variable("beta", (width,), tf.float32, tf.zeros_initializer())
        return (top - mean) * tf.rsqrt(spread + 1e-6) * scale + offset

    def build(tf: Any, gpus: int) -> Any:
        table = _matrix(tf, "embedding", 30522, width)
        words = tf.constant([at % 30522 for at in range(batch * length)], tf.int32)
        top = tf.nn.embedding_lookup(table, words)
        size = width // heads
        for layer in range(layers):
            with tf.variable_scope(f"layer_{layer}"):
                parts = []
                for name in ("query", "key", "value"):
                    part = _dense(tf, name, top, width, activate=False)
                    parts.append(tf.transpose(tf.reshape(part, [batch, length, heads, size]), [0, 2, 1, 3]))
                scores = tf.nn.softmax(tf.matmul(parts[0], parts[1], transpose_b=True) * size**-0.5)
                mixed = tf.transpose(tf.matmul(scores, parts[2]), [0, 2, 1, 3])
                mixed = _dense(
                    tf, "output", tf.reshape(mixed, [batch * length, width]), width, activate=False
                )
                top = normed(tf, "attended", top + mixed)
                inner = _dense(tf, "inner", top, 4 * width)
                top = normed(tf, "transformed", top + _dense(tf, "outer", inner, width, activate=False))
        first = tf.reshape(top, [batch, length * width])[:, :width]
        return _train(tf, _loss(tf, _dense(tf, "classes", first, 1000, activate=False)))

    return build


def _wide_embedding(rows: int, width: int, batch: int) -> Callable[[Any, int], Any]:
    """Many tables, a deep part above their rows, and a cross product of each with the deep part."""

    def build(tf: Any, gpus: int) -> Any:
        found = []
        for number in range(48):
            with tf.variable_scope(f"table_{number}"):
                table = _matrix(tf, "weights", rows, width)
                keys = _rows(tf, "keys", (batch,))
                found.append(tf.gather(table, tf.cast(keys * 0.0, tf.int32) + number))
        tops = []
        for number in range(8):
            part = tf.concat(found[number * 6 : number * 6 + 6], 1)
            with tf.variable_scope(f"part_{number}"):
                tops.append(_dense(tf, "second", _dense(tf, "first", part, 16 * width), 8 * width))
        top = tf.concat(tops, 1)
        for layer, units in enumerate((16 * width, 8 * width)):
            top = _dense(tf, f"deep_{layer}", top, units)
        return _train(tf, _loss(tf, _dense(tf, "classes", top, 1000, activate=False)))

    return build


def _experts(batch: int, width: int) -> Callable[[Any, int], Any]:
    """Sixteen experts side by side, three layers each, mixed."""

    def build(tf: Any, gpus: int) -> Any:
        top = _dense(tf, "enter", _rows(tf, "rows", (batch, width)), width)
        for block in range(2):
            mixed = []
            for number in range(16):
                with tf.variable_scope(f"block_{block}/expert_{number}"):
                    mixed.append(_dense(tf, "outer", _dense(tf, "inner", top, 2 * width), width))
            top = tf.add_n(mixed)
        return _train(tf, _loss(tf, _dense(tf, "classes", top, 1000, activate=False)))

    return build


def _deep(width: int, batch: int) -> Callable[[Any, int], Any]:
    """Square layers, five for each GPU; of 16,384 units, 1 GiB each, they fit only where they are spread."""

    def build(tf: Any, gpus: int) -> Any:
        top = _dense(tf, "enter", _rows(tf, "rows", (batch, 1024)), width)
        for layer in range(max(6, 5 * gpus)):
            top = _dense(tf, f"layer_{layer}", top, width)
        return _train(tf, _loss(tf, _dense(tf, "classes", top, 1000, activate=False)))

    return build


def _many_losses(batch: int, width: int) -> Callable[[Any, int], Any]:
    """One trunk, and twelve tasks with losses of their own."""

    def build(tf: Any, gpus: int) -> Any:
        top = _rows(tf, "rows", (batch, width))
        for layer in range(3):
            top = _dense(tf, f"trunk_{layer}", top, width)
        losses = []
        for task in range(12):
            with tf.variable_scope(f"task_{task}"):
                own = top
                for layer in range(3):
                    own = _dense(tf, f"layer_{layer}", own, width * 3 // 2)
                losses.append(_loss(tf, _dense(tf, "classes", own, 1000, activate=False)))
        return _train(tf, tf.add_n(losses))

    return build


ADVISED: dict[str, Callable[[Any, int], Any]] = {
    "AlexNet towers": _towers("AlexNet"),
    "ResNet-50 towers": _towers("ResNet-50"),
    "InceptionV3": _single("InceptionV3", 64),
    "ResNet-50": _single("ResNet-50", 64),
    "GNMT, 4 layers": gnmt(4, 1024, 12, 128, 32000),
    "GNMT, 8 layers": gnmt(8, 1024, 8, 128, 32000),
    "BERT base": _bert(12, 768, 12, 128, 32),
    "BERT large": _bert(24, 1024, 16, 128, 8),
    "wide embedding": _wide_embedding(50_000, 64, 8192),
    "experts": _experts(4096, 1024),
    "many losses": _many_losses(8192, 1024),
    "too large for one GPU": _deep(16384, 256),
}
"""Net -> what builds it for a number of GPUs."""

SMALL: dict[str, Callable[[Any, int], Any]] = {
    "AlexNet towers": _towers("AlexNet", 2),
    "ResNet-50 towers": _towers("ResNet-50", 1),
    "InceptionV3": _single("InceptionV3", 1),
    "ResNet-50": _single("ResNet-50", 1),
    "GNMT, 4 layers": gnmt(4, 128, 12, 16, 2000),
    "GNMT, 8 layers": gnmt(8, 128, 8, 16, 2000),
    "BERT base": _bert(12, 192, 12, 32, 4),
    "BERT large": _bert(24, 256, 16, 32, 2),
    "wide embedding": _wide_embedding(5000, 16, 512),
    "experts": _experts(256, 256),
    "many losses": _many_losses(512, 256),
    "too large for one GPU": _deep(2048, 32),
}
"""The same nets with smaller batches and layers: steps that NumPy computes in seconds."""


def build(tf: Any, name: str, gpus: int, is_small: bool = False) -> Any:
    """Builds a net's training step in the default graph; returns the op to run.

    Args:
        tf: gpuplace, or TensorFlow's ``compat.v1``.
        name: one of `ADVISED`.
        gpus: GPUs of the machine.
        is_small: whether to build it as in `SMALL`.
    """
    return (SMALL if is_small else ADVISED)[name](tf, gpus)
