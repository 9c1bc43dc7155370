"""Thirty programs as people write them: twenty with one known mistake each, ten without any.

Each builds its graph in the default graph and returns what a step fetches and is fed. The mistake is in one place, and
the rest of the program is sound: kernels are large enough for the GPU, no GPU is idle, inputs are read on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import gpuplace as tf
from gpuplace.findings.finding import (
    AVERAGING,
    DOES_NOT_FIT,
    GRADIENTS,
    HOST_DATA,
    IDLE,
    INPUT,
    OVERRIDDEN,
    SMALL,
    VARIABLES,
)
from tests.findings.layers import (
    average_gradients,
    bert,
    class_loss,
    convolution,
    dense,
    image_feeds,
    in_turn,
    small_vgg,
    towers,
)


class Step(NamedTuple):
    """What a program runs in a step."""

    fetches: Any
    feeds: Mapping[Any, Any] = {}


@dataclass(frozen=True)
class Program:
    """A program and the mistake that is in it."""

    build: Callable[[], Step]
    machine: str
    mistake: str
    """The kind of the finding that is to come first; ``""`` for a program without a mistake."""

    @property
    def name(self) -> str:
        return self.build.__name__

    def estimate(self) -> tf.StepEstimate:
        """The step of the program on its machine."""
        with tf.Graph().as_default() as graph:
            step = self.build()
            return tf.estimate(graph, step.fetches, dict(step.feeds), self.machine)


# Gradients on another device than their layers


def bert_over_two_gpus() -> Step:
    """Half of the layers on each GPU; `minimize` without ``colocate_gradients_with_ops``."""
    loss, feeds = bert(16, 128, 6, 512, lambda layer: f"/gpu:{layer // 3}")
    return Step(tf.train.AdamOptimizer(1e-4).minimize(loss), feeds)


def lstm_over_two_gpus() -> Step:
    """A stack of two LSTMs, one on each GPU; the optimizer stands outside of both."""
    batch, steps, width = 128, 16, 1024
    words = tf.placeholder(tf.float32, [steps, batch, width], "words")
    labels = tf.placeholder(tf.int32, [batch], "labels")
    rows = tf.unstack(words)
    for layer in range(2):
        with tf.device(f"/gpu:{layer}"), tf.variable_scope(f"layer_{layer}"):
            rows, _ = tf.nn.static_rnn(tf.nn.rnn_cell.LSTMCell(width), rows, dtype=tf.float32)
    with tf.device("/gpu:1"):
        loss = class_loss(dense(rows[-1], 100, "logits", None), labels)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    return Step(train, {words: (steps, batch, width), labels: (batch,)})


def minimize_on_the_cpu() -> Step:
    """The layers ask for the GPU, but `minimize` stands in a block for the CPU."""
    images, labels = image_feeds(32, 32)
    with tf.device("/gpu:0"):
        loss = class_loss(small_vgg(images), labels)
    with tf.device("/cpu:0"):
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    return Step(train, {images: (32, 32, 32, 3), labels: (32,)})


# Data that goes through the CPU


def buckets_of_integers() -> Step:
    """Activations are hashed into buckets with int32 arithmetic in the middle of the network."""
    rows = tf.placeholder(tf.float32, [8192, 1024], "rows")
    labels = tf.placeholder(tf.int32, [8192], "labels")
    hidden = dense(rows, 1024, "first")
    codes = tf.cast(hidden * 1000.0, tf.int32)
    buckets = tf.floormod(codes * 31 + 7, 255)
    mixed = tf.concat([hidden, tf.cast(buckets, tf.float32) / 255.0], 1)
    loss = class_loss(dense(dense(mixed, 1024, "second"), 100, "logits", None), labels)
    return Step(tf.train.AdamOptimizer().minimize(loss), {rows: (8192, 1024), labels: (8192,)})


def words_in_the_middle() -> Step:
    """The model's own guesses become strings, which a table's hash turns into rows of an embedding."""
    rows = tf.placeholder(tf.float32, [4096, 512], "rows")
    labels = tf.placeholder(tf.int32, [4096], "labels")
    hidden = dense(rows, 512, "first")
    words = tf.as_string(tf.reshape(hidden[:, :32], [-1]), precision=2)
    numbers = tf.string_to_hash_bucket_fast(words, 1000)
    table = tf.get_variable("table", [1000, 32])
    looked_up = tf.reshape(tf.nn.embedding_lookup(table, numbers), [4096, 32 * 32])
    loss = class_loss(dense(tf.concat([hidden, looked_up], 1), 100, "logits", None), labels)
    return Step(tf.train.AdamOptimizer().minimize(loss), {rows: (4096, 512), labels: (4096,)})


# Requests that a reference edge overrides


def memory_bank_on_the_cpu() -> Step:
    """A bank of features is a variable on the CPU; the lines that renew it ask for the GPU."""
    rows = tf.placeholder(tf.float32, [4096, 1024], "rows")
    with tf.device("/cpu:0"):
        bank = tf.get_variable("bank", [4096, 1024], trainable=False, use_resource=True)
    with tf.device("/gpu:0"):
        hidden = dense(dense(rows, 1024, "first"), 1024, "second", None)
        renewed = tf.assign(bank, 0.9 * bank + 0.1 * hidden)
        loss = tf.reduce_mean(tf.square(hidden - renewed))
        train = tf.train.AdamOptimizer().minimize(loss)
    return Step(train, {rows: (4096, 1024)})


def table_of_another_block() -> Step:
    """A table is made beside the input, on the CPU; rows are taken and renewed in the block for the GPU."""
    words = tf.placeholder(tf.int32, [256, 64], "words")
    labels = tf.placeholder(tf.int32, [256], "labels")
    with tf.device("/cpu:0"):
        table = tf.get_variable("table", [50_000, 512], use_resource=True, trainable=False)
    with tf.device("/gpu:0"):
        ids = tf.reshape(words, [-1])
        rows = tf.gather(table, ids)
        hidden = dense(dense(rows, 512, "first"), 512, "second", None)
        renewed = tf.scatter_update(table, ids, 0.9 * rows + 0.1 * hidden)
        pooled = tf.reduce_mean(tf.reshape(hidden, [256, 64, 512]), 1)
        train = tf.train.AdamOptimizer().minimize(class_loss(dense(pooled, 100, "logits", None), labels))
    return Step([train, renewed], {words: (256, 64), labels: (256,)})


# Variables that every tower copies


def _mlp_tower(width: int, batch: int, feeds: dict[Any, Any]) -> Callable[[int], Any]:
    def model(number: int) -> Any:
        rows = tf.placeholder(tf.float32, [batch, width], f"rows_{number}")
        labels = tf.placeholder(tf.int32, [batch], f"labels_{number}")
        feeds[rows], feeds[labels] = (batch, width), (batch,)
        hidden = rows
        for layer in range(3):
            hidden = dense(hidden, width, f"dense_{layer}")
        return class_loss(dense(hidden, 100, "logits", None), labels)

    return model


def four_towers_read_from_the_cpu() -> Step:
    """Four towers of dense layers; all variables are on the CPU, as in the CIFAR-10 tutorial."""
    feeds: dict[Any, Any] = {}
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    found = towers(4, _mlp_tower(2048, 1024, feeds), optimizer, lambda op: "/cpu:0")
    with tf.device("/gpu:0"):
        averaged = average_gradients(found)
    return Step(optimizer.apply_gradients(averaged), feeds)


def two_lstm_towers_read_from_the_cpu() -> Step:
    """Two towers of an LSTM with its matrices on the CPU."""
    batch, steps, width = 256, 6, 1024
    feeds: dict[Any, Any] = {}

    def model(number: int) -> Any:
        words = tf.placeholder(tf.float32, [steps, batch, width], f"words_{number}")
        labels = tf.placeholder(tf.int32, [batch], f"labels_{number}")
        feeds[words], feeds[labels] = (steps, batch, width), (batch,)
        cell = tf.nn.rnn_cell.LSTMCell(width)
        rows, _ = tf.nn.static_rnn(cell, tf.unstack(words), dtype=tf.float32)
        return class_loss(dense(rows[-1], 4096, "logits", None), labels)

    optimizer = tf.train.GradientDescentOptimizer(0.1)
    found = towers(2, model, optimizer, lambda op: "/cpu:0")
    with tf.device("/gpu:0"):
        averaged = average_gradients(found)
    return Step(optimizer.apply_gradients(averaged), feeds)


# Gradients that one device averages


def _image_tower(batch: int, size: int, feeds: dict[Any, Any]) -> Callable[[int], Any]:
    def model(number: int) -> Any:
        images = tf.placeholder(tf.float32, [batch, size, size, 3], f"images_{number}")
        labels = tf.placeholder(tf.int32, [batch], f"labels_{number}")
        feeds[images], feeds[labels] = (batch, size, size, 3), (batch,)
        return class_loss(small_vgg(images), labels)

    return model


def averages_on_the_cpu() -> Step:
    """Two towers with variables on the first GPU; gradients are averaged in a block for the CPU."""
    feeds: dict[Any, Any] = {}
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    found = towers(2, _mlp_tower(2048, 1024, feeds), optimizer, lambda op: "/gpu:0")
    with tf.device("/cpu:0"):
        averaged = average_gradients(found)
    return Step(optimizer.apply_gradients(averaged), feeds)


def averages_of_four_towers_on_the_cpu() -> Step:
    """Four towers, variables on all GPUs in turn; all gradients go to the CPU to be averaged."""
    feeds: dict[Any, Any] = {}
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    found = towers(4, _mlp_tower(1024, 2048, feeds), optimizer, in_turn(4))
    with tf.device("/cpu:0"):
        averaged = average_gradients(found)
    return Step(optimizer.apply_gradients(averaged), feeds)


# An idle GPU


def both_towers_on_one_gpu() -> Step:
    """Two towers, and a number that was forgotten: both ask for the first GPU."""
    feeds: dict[Any, Any] = {}
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    found = towers(2, _image_tower(32, 32, feeds), optimizer, lambda op: "/gpu:0", lambda number: 0)
    with tf.device("/gpu:0"):
        averaged = average_gradients(found)
    return Step(optimizer.apply_gradients(averaged), feeds)


def everything_on_the_cpu() -> Step:
    """A block for the CPU that was meant for the input stands around the whole network."""
    images, labels = image_feeds(16, 32)
    with tf.device("/cpu:0"):
        loss = class_loss(small_vgg(images), labels)
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    return Step(train, {images: (16, 32, 32, 3), labels: (16,)})


def one_gpu_of_two() -> Step:
    """A program for one GPU on a machine with two."""
    images, labels = image_feeds(None, 64)
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(class_loss(small_vgg(images), labels))
    return Step(train, {images: (64, 64, 64, 3), labels: (64,)})


# Input pipeline ops on a GPU


def augmentation_on_the_gpu() -> Step:
    """Photographs are flipped, scaled and coloured by the GPU that trains on them."""
    photos = tf.placeholder(tf.uint8, [64, 256, 256, 3], "photos")
    labels = tf.placeholder(tf.int32, [64], "labels")
    with tf.device("/gpu:0"):
        images = tf.image.random_flip_left_right(tf.cast(photos, tf.float32))
        images = tf.image.resize_bilinear(images, [128, 128])
        images = tf.image.random_brightness(images, 32.0)
        images = tf.image.random_contrast(images, 0.8, 1.2)
        mean, variance = tf.nn.moments(images, [1, 2, 3], keep_dims=True)
        images = tf.image.resize_bilinear((images - mean) * tf.rsqrt(variance + 1e-3), [32, 32])
        loss = class_loss(small_vgg(images), labels)
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    return Step(train, {photos: (64, 256, 256, 3), labels: (64,)})


def one_hot_on_the_gpu() -> Step:
    """Long texts become one-hot rows, which the GPU makes and counts, before a small network reads them."""
    texts = tf.placeholder(tf.int32, [512, 128], "texts")
    labels = tf.placeholder(tf.int32, [512], "labels")
    with tf.device("/gpu:0"):
        letters = tf.one_hot(texts, 2000)
        counts = tf.reduce_sum(letters, 1)
        rows = counts / tf.reduce_sum(counts, 1, keepdims=True)
        hidden = dense(dense(rows, 512, "first"), 512, "second")
        train = tf.train.AdamOptimizer().minimize(class_loss(dense(hidden, 100, "logits", None), labels))
    return Step(train, {texts: (512, 128), labels: (512,)})


# Kernels too small for the GPU


def lstm_of_single_sentences() -> Step:
    """An unrolled LSTM with two sentences in a batch."""
    batch, steps, width = 2, 40, 128
    words = tf.placeholder(tf.int32, [batch, steps], "words")
    table = tf.get_variable("table", [5000, width])
    rows = tf.unstack(tf.nn.embedding_lookup(table, words), axis=1)
    rows, _ = tf.nn.static_rnn(tf.nn.rnn_cell.LSTMCell(width), rows, dtype=tf.float32)
    logits = dense(tf.concat(rows, 0), 200, "logits", None)
    labels = tf.placeholder(tf.int32, [batch * steps], "labels")
    train = tf.train.GradientDescentOptimizer(0.1).minimize(class_loss(logits, labels))
    return Step(train, {words: (batch, steps), labels: (batch * steps,)})


def narrow_and_deep() -> Step:
    """Thirty dense layers of 64 units with eight examples in a batch."""
    rows = tf.placeholder(tf.float32, [8, 64], "rows")
    labels = tf.placeholder(tf.int32, [8], "labels")
    hidden = rows
    for layer in range(30):
        hidden = dense(hidden, 64, f"dense_{layer}")
    train = tf.train.AdamOptimizer().minimize(class_loss(dense(hidden, 10, "logits", None), labels))
    return Step(train, {rows: (8, 64), labels: (8,)})


# A model that does not fit


def batch_too_large() -> Step:
    """A convolutional network with more images in a batch than a V100 holds."""
    images, labels = image_feeds(None, 128)
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(class_loss(small_vgg(images), labels))
    return Step(train, {images: (1024, 128, 128, 3), labels: (1024,)})


def embedding_too_large() -> Step:
    """An embedding of two million rows with Adam's two slots beside it."""
    words = tf.placeholder(tf.int32, [256, 64], "words")
    labels = tf.placeholder(tf.int32, [256], "labels")
    table = tf.get_variable("table", [2_500_000, 1024])
    rows = tf.reshape(tf.nn.embedding_lookup(table, words), [256 * 64, 1024])
    hidden = tf.reduce_mean(tf.reshape(dense(rows, 1024, "first"), [256, 64, 1024]), 1)
    loss = class_loss(dense(hidden, 100, "logits", None), labels)
    return Step(tf.train.AdamOptimizer().minimize(loss), {words: (256, 64), labels: (256,)})


# Programs without a mistake


def vgg_on_one_gpu() -> Step:
    """A convolutional network on the one GPU of the machine."""
    images, labels = image_feeds(64, 64)
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(class_loss(small_vgg(images), labels))
    return Step(train, {images: (64, 64, 64, 3), labels: (64,)})


def bert_on_one_gpu() -> Step:
    """A small BERT with Adam."""
    loss, feeds = bert(16, 128, 4, 512, lambda layer: "/gpu:0")
    return Step(tf.train.AdamOptimizer(1e-4).minimize(loss), feeds)


def bert_with_its_gradients() -> Step:
    """A BERT over two GPUs, gradients with their layers."""
    loss, feeds = bert(16, 128, 6, 512, lambda layer: f"/gpu:{layer // 3}")
    optimizer = tf.train.AdamOptimizer(1e-4)
    return Step(optimizer.minimize(loss, colocate_gradients_with_ops=True), feeds)


def towers_with_variables_in_turn() -> Step:
    """Two towers; variables, and the averages of their gradients, are on both GPUs in turn."""
    feeds: dict[Any, Any] = {}
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    found = towers(2, _image_tower(64, 64, feeds), optimizer, in_turn(2))
    averaged = []
    for pairs in zip(*found, strict=True):
        with tf.device(pairs[0][1].device):
            averaged += average_gradients([[pair] for pair in pairs])
    return Step(optimizer.apply_gradients(averaged), feeds)


def towers_of_their_own() -> Step:
    """Two networks that are trained side by side, each on its own GPU."""
    steps, feeds = [], {}
    for number in range(2):
        with tf.device(f"/gpu:{number}"), tf.variable_scope(f"member_{number}"):
            images, labels = image_feeds(64, 64)
            feeds |= {images: (64, 64, 64, 3), labels: (64,)}
            loss = class_loss(small_vgg(images), labels)
            steps.append(
                tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, colocate_gradients_with_ops=True)
            )
    return Step(tf.group(*steps), feeds)


def language_model() -> Step:
    """An LSTM of 1024 units with 256 sentences in a batch, and its softmax."""
    batch, steps, width = 256, 12, 1024
    words = tf.placeholder(tf.int32, [batch, steps], "words")
    labels = tf.placeholder(tf.int32, [batch * steps], "labels")
    table = tf.get_variable("table", [10_000, width])
    rows = tf.unstack(tf.nn.embedding_lookup(table, words), axis=1)
    rows, _ = tf.nn.static_rnn(tf.nn.rnn_cell.LSTMCell(width), rows, dtype=tf.float32)
    logits = dense(tf.concat(rows, 0), 10_000, "logits", None)
    train = tf.train.AdamOptimizer().minimize(class_loss(logits, labels))
    return Step(train, {words: (batch, steps), labels: (batch * steps,)})


def generative_network() -> Step:
    """A generator and a discriminator that take turns within one step."""
    batch = 64
    noise = tf.placeholder(tf.float32, [batch, 100], "noise")
    photos = tf.placeholder(tf.float32, [batch, 64, 64, 3], "photos")
    with tf.variable_scope("generator"):
        images = tf.reshape(dense(noise, 8 * 8 * 256, "seed"), [batch, 8, 8, 256])
        for number, channels in enumerate((128, 64, 3)):
            with tf.variable_scope(f"up_{number}"):
                size = 2 * images.shape[1].value
                kernel = tf.get_variable("kernel", [5, 5, channels, images.shape[-1].value])
                images = tf.nn.conv2d_transpose(images, kernel, [batch, size, size, channels], [1, 2, 2, 1])
                images = tf.nn.relu(images) if channels > 3 else tf.tanh(images)

    def verdict(found: Any, reuse: bool) -> Any:
        with tf.variable_scope("discriminator", reuse=reuse):
            for number, channels in enumerate((64, 128, 256)):
                found = convolution(found, channels, f"down_{number}", 2)
            return dense(tf.reshape(found, [batch, 8 * 8 * 256]), 1, "verdict", None)

    real, fake = verdict(photos, False), verdict(images, True)
    cross_entropy = tf.nn.sigmoid_cross_entropy_with_logits
    critic_loss = tf.reduce_mean(cross_entropy(labels=tf.ones_like(real), logits=real)) + tf.reduce_mean(
        cross_entropy(labels=tf.zeros_like(fake), logits=fake)
    )
    artist_loss = tf.reduce_mean(cross_entropy(labels=tf.ones_like(fake), logits=fake))

    def train(loss: Any, scope: str) -> Any:
        variables = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope)
        return tf.train.AdamOptimizer(2e-4, 0.5).minimize(loss, var_list=variables)

    steps = [train(critic_loss, "discriminator"), train(artist_loss, "generator")]
    return Step(steps, {noise: (batch, 100), photos: (batch, 64, 64, 3)})


def images_from_a_queue() -> Step:
    """Photographs are decoded, cropped and queued on the CPU; the network takes batches from the queue."""
    with tf.device("/cpu:0"):
        names = tf.train.string_input_producer([f"photo_{number}.jpg" for number in range(100)])
        _, content = tf.WholeFileReader().read(names)
        photo = tf.image.resize_images(tf.image.decode_jpeg(content, channels=3), [64, 64])
        photo = tf.image.random_flip_left_right(photo)
        photo.set_shape([64, 64, 3])
        label = tf.string_to_hash_bucket_fast(content, 100)
        images, labels = tf.train.batch([photo, tf.cast(label, tf.int32)], 64)
    loss = class_loss(small_vgg(images), labels)
    summary = tf.summary.scalar("loss", loss)
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    tf.train.Saver()
    return Step([train, summary])


def embedding_and_metrics() -> Step:
    """A recommender on one GPU: embeddings, dense layers, and an accuracy that only the CPU can count."""
    users = tf.placeholder(tf.int32, [16384], "users")
    items = tf.placeholder(tf.int32, [16384], "items")
    labels = tf.placeholder(tf.int32, [16384], "labels")
    user = tf.nn.embedding_lookup(tf.get_variable("user_table", [20_000, 256]), users)
    item = tf.nn.embedding_lookup(tf.get_variable("item_table", [20_000, 256]), items)
    hidden = dense(dense(tf.concat([user, item], 1), 1024, "first"), 512, "second")
    logits = dense(hidden, 50, "logits", None)
    accuracy = tf.reduce_mean(tf.cast(tf.nn.in_top_k(logits, labels, 5), tf.float32))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(class_loss(logits, labels))
    return Step([train, accuracy], {users: (16384,), items: (16384,), labels: (16384,)})


def inference_of_constants() -> Step:
    """A frozen network: its weights are constants, and one step classifies a batch."""
    images = tf.placeholder(tf.float32, [64, 64, 64, 3], "images")
    found = images
    for number, channels in enumerate((64, 64, 128, 128)):
        kernel = tf.constant(0.1, tf.float32, [3, 3, found.shape[-1].value, channels], f"kernel_{number}")
        found = tf.nn.relu(tf.nn.conv2d(found, kernel, [1, 1, 1, 1], "SAME"))
    pooled = tf.reduce_mean(found, [1, 2])
    weights = tf.constant(0.1, tf.float32, [128, 1000], "weights")
    return Step(tf.nn.softmax(tf.matmul(pooled, weights)), {images: (64, 64, 64, 3)})


PROGRAMS = (
    Program(bert_over_two_gpus, "2x V100", GRADIENTS),
    Program(lstm_over_two_gpus, "2x V100", GRADIENTS),
    Program(minimize_on_the_cpu, "1x V100", GRADIENTS),
    Program(buckets_of_integers, "1x V100", HOST_DATA),
    Program(words_in_the_middle, "1x V100", HOST_DATA),
    Program(memory_bank_on_the_cpu, "1x V100", OVERRIDDEN),
    Program(table_of_another_block, "1x V100", OVERRIDDEN),
    Program(four_towers_read_from_the_cpu, "4x V100", VARIABLES),
    Program(two_lstm_towers_read_from_the_cpu, "2x V100", VARIABLES),
    Program(averages_on_the_cpu, "2x V100", AVERAGING),
    Program(averages_of_four_towers_on_the_cpu, "4x V100", AVERAGING),
    Program(both_towers_on_one_gpu, "2x V100", IDLE),
    Program(everything_on_the_cpu, "1x V100", IDLE),
    Program(one_gpu_of_two, "2x V100", IDLE),
    Program(augmentation_on_the_gpu, "1x V100", INPUT),
    Program(one_hot_on_the_gpu, "1x V100", INPUT),
    Program(lstm_of_single_sentences, "1x V100", SMALL),
    Program(narrow_and_deep, "1x V100", SMALL),
    Program(batch_too_large, "1x V100", DOES_NOT_FIT),
    Program(embedding_too_large, "1x V100", DOES_NOT_FIT),
    Program(vgg_on_one_gpu, "1x V100", ""),
    Program(bert_on_one_gpu, "1x V100", ""),
    Program(bert_with_its_gradients, "2x V100", ""),
    Program(towers_with_variables_in_turn, "2x V100", ""),
    Program(towers_of_their_own, "2x V100", ""),
    Program(language_model, "1x V100", ""),
    Program(generative_network, "1x V100", ""),
    Program(images_from_a_queue, "1x V100", ""),
    Program(embedding_and_metrics, "1x V100", ""),
    Program(inference_of_constants, "1x V100", ""),
)
MISTAKES = tuple(program for program in PROGRAMS if program.mistake)
SOUND = tuple(program for program in PROGRAMS if not program.mistake)
