"""Graphs of real kinds, built by TensorFlow itself: one function each, in `PROGRAMS`.

    python tests/oracle/corpus.py FOLDER [--functions]

writes `FOLDER/NAME.pb` (a GraphDef) or `FOLDER/NAME/saved_model.pb` for every program that the installed
TensorFlow can build; 2.21 (through `compat.v1`, in graph mode) and 1.15.5 (Python 3.7) are meant. With `--functions`
it writes `FUNCTION_PROGRAMS` and `EAGER_PROGRAMS` instead: control flow v2 and functions, which TensorFlow rewrites
before it places them.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow

tf = tensorflow.compat.v1
PROGRAMS = {}
"""Name -> function that builds a graph in the default graph, or returns a SavedModel's folder."""
FUNCTION_PROGRAMS = {}
"""The same for graphs with functions that are called."""
EAGER_PROGRAMS = {}
"""The same for what only 2.x, with eager execution, can save."""


def program(function):
    """Adds a program under its function's name."""
    PROGRAMS[function.__name__] = function
    return function


def function_program(function):
    """Adds a program with functions."""
    FUNCTION_PROGRAMS[function.__name__] = function
    return function


def eager_program(function):
    """Adds a program that saves a model of 2.x."""
    EAGER_PROGRAMS[function.__name__] = function
    return function


def variants(**choices):
    """Adds a program once for each choice of its only argument, as ``name_choice``."""

    def add(function):
        ((argument, values),) = choices.items()
        for value in values:
            PROGRAMS["%s_%s" % (function.__name__, str(value).lower())] = functools.partial(
                function, **{argument: value}
            )
        return function

    return add


# Building blocks


def dense(x, units, name, activation=tf.nn.relu):
    """A fully connected layer."""
    with tf.variable_scope(name):
        weights = tf.get_variable("weights", [int(x.shape[-1]), units])
        biases = tf.get_variable("biases", [units], initializer=tf.zeros_initializer())
        return activation(tf.nn.bias_add(tf.matmul(x, weights), biases))


def conv(x, filters, name, stride=1, size=3):
    """A convolution with bias and relu."""
    with tf.variable_scope(name):
        kernel = tf.get_variable("kernel", [size, size, int(x.shape[-1]), filters])
        biases = tf.get_variable("biases", [filters], initializer=tf.zeros_initializer())
        return tf.nn.relu(
            tf.nn.bias_add(tf.nn.conv2d(x, kernel, strides=[1, stride, stride, 1], padding="SAME"), biases)
        )


def batch_norm(x, name, training=True):
    """Batch normalisation with moving averages that are updated beside the step."""
    with tf.variable_scope(name):
        channels = int(x.shape[-1])
        scale = tf.get_variable("scale", [channels], initializer=tf.ones_initializer())
        offset = tf.get_variable("offset", [channels], initializer=tf.zeros_initializer())
        mean = tf.get_variable("mean", [channels], initializer=tf.zeros_initializer(), trainable=False)
        variance = tf.get_variable("variance", [channels], initializer=tf.ones_initializer(), trainable=False)
        if not training:
            return tf.nn.fused_batch_norm(x, scale, offset, mean, variance, is_training=False)[0]
        y, batch_mean, batch_variance = tf.nn.fused_batch_norm(x, scale, offset)
        for moving, batch in ((mean, batch_mean), (variance, batch_variance)):
            tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_sub(moving, (moving - batch) * 0.1))
        return y


def digits():
    """Images and labels that are fed."""
    return tf.placeholder(tf.float32, [None, 784], "images"), tf.placeholder(tf.int64, [None], "labels")


def cross_entropy(logits, labels):
    """Mean loss of a classifier."""
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def perceptron():
    """Loss of a small net on digits."""
    images, labels = digits()
    return cross_entropy(dense(dense(images, 32, "hidden"), 10, "output", tf.identity), labels)


def lstm_step(x, c, h, units):
    """One step of an LSTM."""
    with tf.variable_scope("lstm", reuse=tf.AUTO_REUSE):
        kernel = tf.get_variable("kernel", [int(x.shape[-1]) + units, 4 * units])
        biases = tf.get_variable("biases", [4 * units], initializer=tf.zeros_initializer())
        i, j, f, o = tf.split(tf.nn.bias_add(tf.matmul(tf.concat([x, h], 1), kernel), biases), 4, 1)
    c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
    return c, tf.tanh(c) * tf.sigmoid(o)


def attention(queries, keys, values):
    """Scaled dot products."""
    scores = tf.matmul(queries, keys, transpose_b=True) / tf.sqrt(tf.cast(tf.shape(keys)[-1], tf.float32))
    return tf.matmul(tf.nn.softmax(scores), values)


# Convolutional nets


@program
def lenet():
    """Two convolutions, dropout, Adam, accuracy, initialisation."""
    images, labels = digits()
    x = tf.reshape(images, [-1, 28, 28, 1])
    for i, filters in enumerate((32, 64)):
        x = tf.nn.max_pool(conv(x, filters, "conv%d" % i, size=5), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    x = tf.nn.dropout(dense(tf.reshape(x, [-1, 7 * 7 * 64]), 128, "full"), rate=0.5)
    logits = dense(x, 10, "logits", tf.identity)
    tf.train.AdamOptimizer().minimize(cross_entropy(logits, labels))
    tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32), name="accuracy")
    tf.global_variables_initializer()


@program
def alexnet_inference():
    """Local response normalisation, grouped convolution by split and concat, on one GPU."""
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [8, 64, 64, 3])
        x = tf.nn.local_response_normalization(conv(x, 16, "conv1", 2, 11))
        x = tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "VALID")
        halves = [conv(half, 8, "conv2_%d" % i) for i, half in enumerate(tf.split(x, 2, 3))]
        x = tf.concat(halves, 3)
        x = dense(tf.reshape(x, [8, -1]), 32, "full")
        tf.nn.top_k(tf.nn.softmax(x), 5)


@variants(training=[True, False])
def resnet(training):
    """Residual blocks with batch normalisation."""
    x = tf.placeholder(tf.float32, [4, 32, 32, 3])
    x = conv(x, 8, "first")
    for block in range(3):
        y = batch_norm(conv(x, 8, "block%d_a" % block), "norm%d_a" % block, training)
        y = batch_norm(conv(y, 8, "block%d_b" % block), "norm%d_b" % block, training)
        x = tf.nn.relu(x + y)
    logits = dense(tf.reduce_mean(x, [1, 2]), 10, "logits", tf.identity)
    if training:
        loss = cross_entropy(logits, tf.placeholder(tf.int32, [4]))
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, tf.train.get_or_create_global_step())


@program
def inception_block():
    """Parallel branches, average pooling, concat."""
    x = tf.placeholder(tf.float32, [2, 16, 16, 8])
    branches = [
        conv(x, 4, "one", size=1),
        conv(conv(x, 4, "reduce"), 4, "three"),
        tf.nn.avg_pool(x, 3, 1, "SAME"),
    ]
    y = tf.concat(branches, 3)
    tf.gradients(tf.reduce_sum(y), tf.trainable_variables())


@program
def dcgan():
    """Generator and discriminator with transposed convolutions and two optimizers."""
    noise = tf.random_normal([4, 16])
    with tf.variable_scope("generator"):
        x = tf.reshape(dense(noise, 4 * 4 * 8, "project"), [4, 4, 4, 8])
        kernel = tf.get_variable("kernel", [5, 5, 1, 8])
        fake = tf.tanh(tf.nn.conv2d_transpose(x, kernel, [4, 8, 8, 1], [1, 2, 2, 1]))

    def discriminate(images):
        with tf.variable_scope("discriminator", reuse=tf.AUTO_REUSE):
            return dense(tf.reshape(conv(images, 4, "conv"), [4, 256]), 1, "logit", tf.identity)

    real_logit, fake_logit = discriminate(tf.placeholder(tf.float32, [4, 8, 8, 1])), discriminate(fake)
    losses = {
        "generator": tf.nn.sigmoid_cross_entropy_with_logits(
            labels=tf.ones_like(fake_logit), logits=fake_logit
        ),
        "discriminator": tf.nn.sigmoid_cross_entropy_with_logits(
            labels=tf.ones_like(real_logit), logits=real_logit
        ),
    }
    for scope, loss in losses.items():
        variables = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope)
        tf.train.AdamOptimizer(2e-4, name=scope + "_adam").minimize(tf.reduce_mean(loss), var_list=variables)


@program
def unet():
    """Downsampling, resizing up, skip connections, dilated and depthwise convolutions."""
    x = tf.placeholder(tf.float32, [1, 32, 32, 4])
    down = tf.nn.max_pool(conv(x, 8, "down"), 2, 2, "SAME")
    kernel = tf.get_variable("depthwise", [3, 3, 8, 1])
    down = tf.nn.depthwise_conv2d(down, kernel, [1, 1, 1, 1], "SAME")
    atrous = tf.get_variable("atrous", [3, 3, 8, 8])
    down = tf.nn.atrous_conv2d(down, atrous, 2, "SAME")
    up = tf.image.resize_bilinear(down, [32, 32])
    y = conv(tf.concat([x, up], 3), 1, "mask")
    tf.train.RMSPropOptimizer(0.01).minimize(tf.reduce_mean(tf.square(y)))


@program
def convolution_3d_and_1d():
    """Convolutions of other ranks."""
    video = tf.placeholder(tf.float32, [1, 8, 8, 8, 2])
    y = tf.nn.conv3d(video, tf.get_variable("k3", [3, 3, 3, 2, 4]), [1, 1, 1, 1, 1], "SAME")
    y = tf.nn.max_pool3d(y, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "SAME")
    sound = tf.placeholder(tf.float32, [1, 100, 2])
    z = tf.nn.conv1d(sound, tf.get_variable("k1", [5, 2, 4]), 1, "SAME")
    tf.gradients(tf.reduce_sum(y) + tf.reduce_sum(z), tf.trainable_variables())


@program
def image_decoding():
    """Files to distorted images: ops of the CPU, asked for on the GPU in part."""
    files = tf.train.match_filenames_once("*.jpg")
    content = tf.read_file(files[0])
    image = tf.image.decode_jpeg(content, channels=3)
    image = tf.image.random_flip_left_right(tf.image.convert_image_dtype(image, tf.float32))
    image = tf.image.random_brightness(tf.image.resize_images(image, [32, 32]), 0.2)
    image = tf.image.per_image_standardization(image)
    with tf.device("/gpu:0"):
        conv(tf.expand_dims(image, 0), 4, "conv")
        tf.image.non_max_suppression(tf.zeros([5, 4]), tf.zeros([5]), 3)


@program
def style_transfer():
    """An image as variable, Gram matrices, total variation."""
    image = tf.get_variable("image", [1, 16, 16, 3])
    features = tf.reshape(conv(image, 8, "features"), [-1, 8])
    gram = tf.matmul(features, features, transpose_a=True)
    loss = tf.nn.l2_loss(gram - tf.ones([8, 8])) + tf.reduce_sum(tf.image.total_variation(image))
    tf.train.AdamOptimizer().minimize(loss, var_list=[image])
    tf.assign(image, tf.clip_by_value(image, 0.0, 1.0))


# Recurrent nets and attention


@program
def lstm_unrolled():
    """An unrolled LSTM, truncated gradients, clipping."""
    x = tf.placeholder(tf.float32, [4, 5, 8])
    c = h = tf.zeros([4, 16])
    for step in tf.unstack(x, axis=1):
        c, h = lstm_step(step, c, h, 16)
    loss = tf.reduce_mean(tf.square(h))
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
    tf.train.GradientDescentOptimizer(1.0).apply_gradients(zip(gradients, variables))


@variants(variables=["ref", "resource"])
def lstm_in_a_loop(variables):
    """A while loop with tensor arrays, and its gradient with stacks."""
    with tf.variable_scope("net", use_resource=variables == "resource"):
        x = tf.placeholder(tf.float32, [5, 4, 8])
        inputs = tf.TensorArray(tf.float32, 5).unstack(x)
        outputs = tf.TensorArray(tf.float32, 5)

        def step(i, c, h, outputs):
            c, h = lstm_step(tf.ensure_shape(inputs.read(i), [4, 8]), c, h, 16)
            return i + 1, c, h, outputs.write(i, h)

        zeros = tf.zeros([4, 16])
        outputs = tf.while_loop(lambda i, *_: i < 5, step, [0, zeros, zeros, outputs])[3].stack()
        tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(outputs))


@program
def language_model():
    """Embedding on the CPU, recurrence on the GPU, sampled softmax."""
    tokens = tf.placeholder(tf.int32, [4, 6])
    with tf.device("/cpu:0"):
        embedding = tf.get_variable("embedding", [1000, 16])
        x = tf.nn.embedding_lookup(embedding, tokens)
    with tf.device("/gpu:0"):
        c = h = tf.zeros([4, 16])
        for step in tf.unstack(x, axis=1):
            c, h = lstm_step(step, c, h, 16)
        weights = tf.get_variable("softmax", [1000, 16])
        biases = tf.get_variable("biases", [1000])
        labels = tf.placeholder(tf.int64, [4, 1])
        loss = tf.nn.sampled_softmax_loss(weights, biases, labels, h, 20, 1000)
        tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(loss))


@program
def layers_on_devices():
    """Recurrent layers spread over GPUs, as in translation models."""
    x = tf.placeholder(tf.float32, [4, 3, 8])
    steps = tf.unstack(x, axis=1)
    for layer in range(3):
        with tf.device("/gpu:%d" % layer), tf.variable_scope("layer%d" % layer):
            c = h = tf.zeros([4, 8])
            outputs = []
            for step in steps:
                c, h = lstm_step(step, c, h, 8)
                outputs.append(h)
        steps = outputs
    tf.train.GradientDescentOptimizer(0.1).minimize(
        tf.reduce_sum(tf.stack(steps)), colocate_gradients_with_ops=True
    )


@program
def sequence_to_sequence():
    """Encoder, attending decoder, sequence lengths, masks, greedy search."""
    source = tf.placeholder(tf.int32, [4, None], "source")
    lengths = tf.placeholder(tf.int32, [4], "lengths")
    embedding = tf.get_variable("embedding", [50, 16])
    memory = tf.gather(embedding, source)
    memory = tf.where(
        tf.tile(tf.expand_dims(tf.sequence_mask(lengths, tf.shape(source)[1]), 2), [1, 1, 16]),
        memory,
        tf.zeros_like(memory),
    )
    memory = tf.reverse_sequence(memory, lengths, seq_axis=1, batch_axis=0)

    def step(i, token, h, logits):
        x = tf.gather(embedding, token)
        context = tf.squeeze(attention(tf.expand_dims(h, 1), memory, memory), 1)
        with tf.variable_scope("decoder", reuse=tf.AUTO_REUSE):
            h = dense(tf.concat([x, context, h], 1), 16, "cell", tf.tanh)
            output = dense(h, 50, "output", tf.identity)
        return i + 1, tf.argmax(output, 1, output_type=tf.int32), h, logits.write(i, output)

    first = [0, tf.zeros([4], tf.int32), tf.zeros([4, 16]), tf.TensorArray(tf.float32, 7)]
    tf.while_loop(lambda i, *_: i < 7, step, first)


@program
def transformer_block():
    """Many heads, layer normalisation, positions, label smoothing, warm-up."""
    tokens = tf.placeholder(tf.int64, [2, 10], "tokens")
    x = tf.nn.embedding_lookup(tf.get_variable("embedding", [100, 32]), tokens) * 32**0.5
    positions = tf.cast(tf.range(10), tf.float32)[:, None] * tf.exp(tf.linspace(0.0, -5.0, 16))[None]
    x += tf.concat([tf.sin(positions), tf.cos(positions)], 1)
    heads = []
    for name in ("queries", "keys", "values"):
        weights = tf.get_variable(name, [32, 32])
        heads.append(tf.transpose(tf.reshape(tf.tensordot(x, weights, 1), [2, 10, 4, 8]), [0, 2, 1, 3]))
    x += tf.reshape(tf.transpose(attention(*heads), [0, 2, 1, 3]), [2, 10, 32])
    mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
    x = (x - mean) * tf.rsqrt(variance + 1e-6)
    logits = dense(tf.reshape(x, [-1, 32]), 100, "logits", tf.identity)
    labels = tf.one_hot(tf.reshape(tokens, [-1]), 100, 0.9, 0.001)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits))
    step = tf.train.get_or_create_global_step()
    rate = tf.minimum(tf.rsqrt(tf.cast(step, tf.float32) + 1.0), tf.cast(step, tf.float32) * 0.01)
    tf.train.AdamOptimizer(rate, beta2=0.98).minimize(loss, step)


@program
def beam_search():
    """top_k, gather_nd, scatter_nd, integer arithmetic."""
    scores = tf.placeholder(tf.float32, [3, 4, 50])
    best, flat = tf.nn.top_k(tf.reshape(scores, [3, 200]), 4)
    beams, words = flat // 50, flat % 50
    batch = tf.tile(tf.range(3)[:, None], [1, 4])
    chosen = tf.gather_nd(scores, tf.stack([batch, beams, words], 2))
    tf.scatter_nd(tf.reshape(batch, [-1, 1]), tf.reshape(best + chosen, [-1]), [3])
    tf.cumsum(words, axis=1)


@program
def ctc():
    """Sparse labels, a CTC loss and a decoder, both of the CPU."""
    logits = dense(tf.placeholder(tf.float32, [20, 8]), 5, "logits", tf.identity)
    logits = tf.reshape(logits, [10, 2, 5])
    lengths = tf.constant([10, 9])
    loss = tf.nn.ctc_loss(tf.sparse_placeholder(tf.int32), logits, lengths)
    tf.nn.ctc_beam_search_decoder(logits, lengths)
    tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_mean(loss))


# Optimizers


def optimizers():
    """Name -> optimizer."""
    train = tf.train
    return {
        "sgd": lambda: train.GradientDescentOptimizer(0.1),
        "momentum": lambda: train.MomentumOptimizer(0.1, 0.9),
        "nesterov": lambda: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        "adam": lambda: train.AdamOptimizer(),
        "adagrad": lambda: train.AdagradOptimizer(0.1),
        "adagrad_da": lambda: train.AdagradDAOptimizer(0.1, train.get_or_create_global_step()),
        "adadelta": lambda: train.AdadeltaOptimizer(),
        "rmsprop": lambda: train.RMSPropOptimizer(0.1),
        "centered_rmsprop": lambda: train.RMSPropOptimizer(0.1, centered=True),
        "ftrl": lambda: train.FtrlOptimizer(0.1),
        "proximal_sgd": lambda: train.ProximalGradientDescentOptimizer(0.1),
        "proximal_adagrad": lambda: train.ProximalAdagradOptimizer(0.1),
    }


@variants(optimizer=sorted(optimizers()))
def trained_ref(optimizer):
    """A net with reference variables on GPU 0, trained."""
    with tf.device("/gpu:0"):
        optimizers()[optimizer]().minimize(perceptron())


@variants(optimizer=sorted(optimizers()))
def trained_resource(optimizer):
    """A net with resource variables and an embedding, trained wherever it falls."""
    with tf.variable_scope("net", use_resource=True):
        table = tf.get_variable("table", [100, 8])
        x = tf.reduce_mean(tf.nn.embedding_lookup(table, tf.placeholder(tf.int64, [None, 3])), 1)
        loss = tf.reduce_sum(tf.square(dense(x, 4, "dense")))
    optimizers()[optimizer]().minimize(loss)


@variants(optimizer=["sgd", "momentum", "adam", "adagrad", "rmsprop", "ftrl"])
def sparse_gradients(optimizer):
    """Reference embeddings with IndexedSlices as gradients."""
    table = tf.get_variable("table", [100, 8])
    rows = tf.nn.embedding_lookup(table, tf.placeholder(tf.int32, [None]))
    more = tf.gather(table, tf.placeholder(tf.int32, [None]))
    optimizers()[optimizer]().minimize(tf.nn.l2_loss(rows) + tf.nn.l2_loss(more))


@program
def averages_and_decay():
    """Exponential moving averages, decaying rate, global step."""
    loss = perceptron()
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.1, step, 1000, 0.96, staircase=True)
    training = tf.train.GradientDescentOptimizer(rate).minimize(loss, step)
    averages = tf.train.ExponentialMovingAverage(0.99, step)
    with tf.control_dependencies([training]):
        averages.apply(tf.trainable_variables())
    tf.train.Saver(averages.variables_to_restore())


@program
def piecewise_rate():
    """A rate chosen by a case of control flow v1."""
    step = tf.train.get_or_create_global_step()
    rate = tf.train.piecewise_constant(step, [100, 200], [0.1, 0.01, 0.001])
    tf.train.MomentumOptimizer(rate, 0.9).minimize(perceptron(), step)


@program
def clipped_by_value():
    """compute_gradients, clipping, noise, apply_gradients."""
    optimizer = tf.train.AdamOptimizer()
    pairs = optimizer.compute_gradients(perceptron())
    clipped = [(tf.clip_by_value(g, -1.0, 1.0) + tf.random_normal(tf.shape(g)), v) for g, v in pairs]
    optimizer.apply_gradients(clipped)
    tf.add_check_numerics_ops()


@program
def loss_scaling():
    """float16 with float32 masters."""
    x = tf.cast(tf.placeholder(tf.float32, [None, 8]), tf.float16)
    master = tf.get_variable("master", [8, 8])
    y = tf.matmul(x, tf.cast(master, tf.float16))
    loss = tf.reduce_mean(tf.cast(y, tf.float32)) * 128.0
    (gradient,) = tf.gradients(loss, [master])
    finite = tf.reduce_all(tf.is_finite(gradient))
    update = tf.where(tf.fill([8, 8], finite), gradient / 128.0, tf.zeros([8, 8]))
    tf.train.GradientDescentOptimizer(0.1).apply_gradients([(update, master)])


@program
def hessian():
    """Second derivatives."""
    w = tf.get_variable("w", [3, 3])
    loss = tf.reduce_sum(tf.tanh(tf.matmul(w, w)))
    gradient = tf.gradients(loss, w)[0]
    tf.gradients(gradient * tf.ones([3, 3]), w)
    v = tf.get_variable("v", [4])
    tf.hessians(tf.reduce_sum(v * v * v), v)


@program
def gradients_beside_their_ops():
    """Gradients colocated with the forward ops, accumulated as a tree."""
    with tf.device("/gpu:1"):
        images, labels = digits()
        x = dense(images, 16, "a")
    with tf.device("/cpu:0"):
        loss = cross_entropy(dense(x, 10, "b", tf.identity) + dense(x, 10, "c"), labels)
    method = tf.AggregationMethod.EXPERIMENTAL_TREE
    tf.train.GradientDescentOptimizer(0.1).minimize(
        loss, colocate_gradients_with_ops=True, aggregation_method=method
    )


# Several devices


@variants(gpus=[1, 2, 4, 8])
def towers(gpus):
    """Towers with variables on the CPU and averaged gradients."""
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    tower_gradients = []
    with tf.device("/cpu:0"):
        for i in range(gpus):
            with tf.device("/gpu:%d" % i), tf.variable_scope("net", reuse=tf.AUTO_REUSE):
                tower_gradients.append(optimizer.compute_gradients(perceptron()))
        averaged = []
        for pairs in zip(*tower_gradients):
            gradient = tf.reduce_mean(tf.stack([g for g, _ in pairs]), 0)
            averaged.append((gradient, pairs[0][1]))
        optimizer.apply_gradients(averaged, tf.train.get_or_create_global_step())
        tf.train.Saver(tf.global_variables())


@program
def towers_with_resource_variables():
    """Towers whose device function puts variables on the CPU."""

    def device_of_tower(tower):
        def device(operation):
            return "/cpu:0" if operation.type in ("VarHandleOp", "VariableV2") else "/gpu:%d" % tower

        return device

    losses = []
    for tower in range(2):
        with tf.variable_scope("net", reuse=tf.AUTO_REUSE, use_resource=True):
            with tf.device(device_of_tower(tower)):
                losses.append(perceptron())
    with tf.device("/cpu:0"):
        tf.train.AdamOptimizer().minimize(tf.add_n(losses), colocate_gradients_with_ops=True)
    tf.global_variables_initializer()


@program
def mirrored_variables():
    """A copy of the variables on each GPU, summed by hand on one of them."""
    gradients = []
    for i in range(2):
        with tf.device("/device:GPU:%d" % i), tf.variable_scope("replica%d" % i, use_resource=True):
            loss = perceptron()
            gradients.append(tf.gradients(loss, tf.trainable_variables("replica%d" % i)))
    with tf.device("/gpu:0"):
        total = [tf.add_n(list(pair)) for pair in zip(*gradients)]
    for i in range(2):
        with tf.device("/gpu:%d" % i):
            for gradient, variable in zip(total, tf.trainable_variables("replica%d" % i)):
                variable.assign_sub(0.1 * gradient)


@program
def model_parallel():
    """One large product cut over four GPUs."""
    x = tf.placeholder(tf.float32, [None, 64])
    parts = []
    for i in range(4):
        with tf.device("/gpu:%d" % i):
            parts.append(tf.matmul(x, tf.get_variable("w%d" % i, [64, 16])))
    with tf.device("/cpu:0"):
        tf.nn.softmax(tf.concat(parts, 1))


@program
def pinned_to_the_cpu():
    """Everything asked for the CPU, one part for the GPU."""
    with tf.device("/cpu:0"):
        loss = perceptron()
        with tf.device(None):
            free = tf.square(loss)
        with tf.device("/gpu:0"):
            tf.sqrt(free)
    tf.train.AdagradOptimizer(0.1).minimize(loss)


@variants(variables=["ref", "resource"])
def parameter_servers(variables):
    """Two parameter servers and a worker, as replica_device_setter places them."""
    cluster = {"ps": ["a:1", "b:1"], "worker": ["c:1", "d:1"]}
    setter = tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:1/gpu:0")
    with tf.device(setter), tf.variable_scope("net", use_resource=variables == "resource"):
        step = tf.train.get_or_create_global_step()
        tf.train.AdamOptimizer().minimize(perceptron(), step)
    tf.train.Saver(sharded=True)


@program
def synchronous_replicas():
    """SyncReplicasOptimizer: accumulators and token queues."""
    cluster = {"ps": ["a:1"], "worker": ["c:1", "d:1"]}
    with tf.device(tf.train.replica_device_setter(cluster=cluster)):
        step = tf.train.get_or_create_global_step()
        inner = tf.train.GradientDescentOptimizer(0.1)
        optimizer = tf.train.SyncReplicasOptimizer(inner, 2, total_num_replicas=2)
        optimizer.minimize(perceptron(), step)
        optimizer.get_init_tokens_op()


@program
def local_accumulators():
    """Conditional accumulators of one process."""
    accumulator = tf.ConditionalAccumulator(tf.float32, [2])
    accumulator.apply_grad(tf.ones([2]))
    accumulator.take_grad(1)
    sparse = tf.SparseConditionalAccumulator(tf.float32)
    sparse.apply_indexed_slices_grad(tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0], tf.int64)))


@program
def partitioned_embedding():
    """A partitioned variable, looked up by both strategies, and saved in slices."""
    partitioner = tf.fixed_size_partitioner(3)
    table = tf.get_variable("table", [99, 8], partitioner=partitioner)
    ids = tf.placeholder(tf.int64, [None])
    x = tf.nn.embedding_lookup(table, ids, "mod") + tf.nn.embedding_lookup(table, ids, "div")
    tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(x))
    tf.convert_to_tensor(table)
    tf.train.Saver()


@program
def partitioned_on_devices():
    """Shards of a table on the CPU and two GPUs."""
    shards = []
    for i, device in enumerate(("/cpu:0", "/gpu:0", "/gpu:1")):
        with tf.device(device):
            shards.append(tf.get_variable("shard%d" % i, [33, 8]))
    tf.nn.embedding_lookup(shards, tf.placeholder(tf.int32, [None]))


# Control flow v1


@program
def conditionals():
    """Nested cond with variables that are updated in the branches, and its gradient."""
    p, q = tf.placeholder(tf.bool), tf.placeholder(tf.bool)
    v = tf.get_variable("v", [2])
    inner = tf.cond(q, lambda: v * 2.0, lambda: tf.identity(v))
    y = tf.cond(p, lambda: tf.assign_add(v, inner), lambda: inner - 1.0)
    tf.gradients(y, v)


@program
def conditional_on_devices():
    """Branches on different devices."""
    x = tf.placeholder(tf.float32, [4])

    def gpu():
        with tf.device("/gpu:0"):
            return tf.exp(x)

    def cpu():
        with tf.device("/cpu:0"):
            return tf.log(x)

    tf.cond(tf.reduce_sum(x) > 0.0, gpu, cpu)


@program
def nested_loops():
    """A loop in a loop, over integers and floats, one on the CPU."""

    def outer(i, total):
        _, total = tf.while_loop(lambda j, _: j < i, lambda j, t: (j + 1, t * 1.5), [0, total])
        return i + 1, total

    with tf.device("/cpu:0"):
        tf.while_loop(lambda i, _: i < 3, outer, [0, 1.0])
    total = tf.while_loop(lambda i, _: i < 3, outer, [0, 1.0])[1]
    tf.sqrt(total)


@program
def loop_with_swapping():
    """A loop whose intermediate values may be swapped to memory, and its gradient."""
    x = tf.get_variable("x", [8, 8])
    y = tf.while_loop(
        lambda i, _: i < 4,
        lambda i, m: (i + 1, tf.tanh(tf.matmul(m, x))),
        [0, tf.ones([8, 8])],
        swap_memory=True,
        parallel_iterations=2,
    )[1]
    with tf.device("/gpu:0"):
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y))


@program
def map_scan_fold():
    """Higher-order functions of control flow v1."""
    x = tf.placeholder(tf.float32, [6, 3])
    tf.map_fn(tf.square, x)
    tf.scan(lambda a, b: a + b, x)
    tf.foldl(lambda a, b: a * b, x)
    tf.map_fn(lambda s: tf.string_to_number(s), tf.constant(["1", "2"]), dtype=tf.float32)


@program
def case_and_assert():
    """case with a default, assertions, prints."""
    x = tf.placeholder(tf.int32, [])
    y = tf.case([(x < 0, lambda: -x), (x > 10, lambda: x * 2)], default=lambda: x, exclusive=True)
    with tf.control_dependencies([tf.Assert(y > 0, [y]), tf.assert_equal(x, y)]):
        tf.Print(y, [y], "y ")
        tf.print("sum", y, x)


@program
def stack_and_tensor_array():
    """Tensor arrays of integers and strings, scattered, concatenated."""
    array = tf.TensorArray(tf.int32, 0, dynamic_size=True).write(0, 1).write(1, 2)
    array.gather([0, 1])
    array.size()
    names = tf.TensorArray(tf.string, 2).unstack(["a", "b"])
    names.stack()
    with tf.device("/gpu:0"):
        tf.TensorArray(tf.float32, 3).scatter([0, 1, 2], tf.ones([3, 2])).stack()


# Inputs


@program
def queue_runners():
    """Queues of all kinds with runners, dequeued to the GPU."""
    x = tf.random_uniform([3])
    queues = [
        tf.FIFOQueue(10, tf.float32, [[3]]),
        tf.RandomShuffleQueue(10, 2, tf.float32, [[3]]),
        tf.PaddingFIFOQueue(10, [tf.float32], [[None]]),
        tf.PriorityQueue(10, tf.float32, [[3]]),
    ]
    for queue in queues[:3]:
        runner = tf.train.QueueRunner(queue, [queue.enqueue(x)] * 2)
        tf.train.add_queue_runner(runner)
        y = queue.dequeue_many(2)
        queue.size()
        with tf.device("/gpu:0"):
            tf.square(y)
    queues[3].enqueue((tf.constant(1, tf.int64), x))


@program
def file_readers():
    """Filename queue, reader, parser, shuffled batches: input pipelines of 1.x."""
    names = tf.train.string_input_producer(["a", "b"], num_epochs=2)
    _, value = tf.TextLineReader().read(names)
    columns = tf.decode_csv(value, [[0.0], [0.0], [0]])
    features, labels = tf.train.shuffle_batch([tf.stack(columns[:2]), columns[2]], 8, 100, 10)
    dense(features, 4, "dense")
    tf.one_hot(labels, 4)


@program
def parsed_examples():
    """Records to dense and sparse features."""
    names = tf.train.string_input_producer(["a"])
    _, value = tf.TFRecordReader().read(names)
    features = {"image": tf.FixedLenFeature([], tf.string), "label": tf.FixedLenFeature([], tf.int64)}
    parsed = tf.parse_single_example(value, features)
    image = tf.cast(tf.decode_raw(parsed["image"], tf.uint8), tf.float32)
    tf.train.batch([tf.reshape(image, [4]), parsed["label"]], 8)
    tf.parse_example(tf.placeholder(tf.string, [None]), {"words": tf.VarLenFeature(tf.string)})


@program
def dataset_one_shot():
    """A one-shot iterator."""
    dataset = tf.data.Dataset.range(10).shuffle(5).repeat()
    tf.square(tf.cast(tf.data.make_one_shot_iterator(dataset).get_next(), tf.float32))


@program
def dataset_initializable():
    """Mapped, batched, prefetched, with placeholders; the net beside it."""
    images, labels = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int64, [None])
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    dataset = dataset.shuffle(10).map(lambda x, y: (x / 255.0, y)).batch(8).prefetch(1)
    iterator = tf.data.make_initializable_iterator(dataset)
    x, y = iterator.get_next()
    tf.train.AdamOptimizer().minimize(cross_entropy(dense(x, 10, "logits"), y))


@program
def dataset_reinitializable():
    """One iterator for two datasets, on the CPU, consumer on the GPU."""
    first, second = tf.data.Dataset.range(4), tf.data.Dataset.range(9).filter(lambda x: x > 3)
    with tf.device("/cpu:0"):
        iterator = tf.data.Iterator.from_structure(tf.int64, [])
        iterator.make_initializer(first)
        iterator.make_initializer(second)
    with tf.device("/gpu:0"):
        tf.cast(iterator.get_next(), tf.float32) + 1.0


@program
def dataset_feedable():
    """String handles."""
    handle = tf.placeholder(tf.string, [])
    iterator = tf.data.Iterator.from_string_handle(handle, tf.string, [])
    tf.string_split([iterator.get_next()], " ")
    tf.data.make_one_shot_iterator(tf.data.Dataset.from_tensors("a b")).string_handle()


@program
def dataset_of_files():
    """Interleaved text files, padded batches, zip, cache, take, skip."""
    lines = tf.data.Dataset.list_files("*").interleave(tf.data.TextLineDataset, cycle_length=2)
    words = lines.map(lambda line: tf.string_split([line]).values).padded_batch(4, [None])
    both = tf.data.Dataset.zip((words, tf.data.Dataset.range(9).take(5).skip(1).cache())).repeat(2)
    tf.data.make_initializable_iterator(both).get_next()


@program
def dataset_on_a_gpu():
    """An iterator asked for on a GPU."""
    dataset = tf.data.Dataset.range(5).map(lambda x: x * 2)
    with tf.device("/gpu:0"):
        iterator = tf.data.make_initializable_iterator(dataset)
        tf.cast(iterator.get_next(), tf.float32)


@program
def staging_areas():
    """Staged copies to the GPU, and a map of stages."""
    x = tf.random_uniform([4])
    stage = tensorflow.raw_ops
    with tf.device("/gpu:0"):
        stage.Stage(values=[x], shared_name="s")
        tf.square(stage.Unstage(dtypes=[tf.float32], shared_name="s")[0])
    stage.StageSize(dtypes=[tf.float32], shared_name="s")
    stage.StageClear(dtypes=[tf.float32], shared_name="s")


# Strings, tables, sparse


@program
def lookup_tables():
    """Tables from arrays and files, with buckets; initialised; looked up."""
    keys = tf.constant(["a", "b"])
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(keys, tf.constant([0, 1], tf.int64)), -1
    )
    ids = table.lookup(tf.placeholder(tf.string, [None]))
    tf.nn.embedding_lookup(tf.get_variable("e", [2, 4]), ids)
    buckets = tf.lookup.StaticVocabularyTable(
        tf.lookup.TextFileInitializer(
            "vocabulary.txt",
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        ),
        3,
    )
    buckets.lookup(keys)
    table.size()
    tf.tables_initializer()


@program
def tables_on_a_gpu():
    """A table asked for on a GPU."""
    with tf.device("/gpu:0"):
        initializer = tf.lookup.KeyValueTensorInitializer([1, 2], [3, 4], tf.int64, tf.int64)
        tf.lookup.StaticHashTable(initializer, -1).lookup(tf.constant([1], tf.int64))


@program
def string_processing():
    """Most ops on strings, one on a GPU."""
    text = tf.placeholder(tf.string, [None])
    tf.strings.regex_replace(tf.strings.lower(text), "[^a-z]", " ")
    tf.strings.substr(tf.strings.strip(text), 0, 3)
    tf.strings.to_hash_bucket_fast(text, 100)
    tf.strings.join([text, tf.strings.as_string(tf.constant([1.0]))], "-")
    tf.reduce_join(text, 0)
    tf.decode_base64(tf.encode_base64(text))
    tf.strings.length(text)
    tf.reshape(text, [-1, 1])
    tf.gather(text, [0])
    tf.concat([text, ["a"]], 0)
    with tf.device("/gpu:0"):
        tf.identity(text)
        tf.string_to_number(text)


@program
def bag_of_words():
    """Split words, hash, weighted sparse embedding."""
    words = tf.string_split(tf.placeholder(tf.string, [None]))
    ids = tf.SparseTensor(words.indices, tf.strings.to_hash_bucket_fast(words.values, 100), words.dense_shape)
    table = tf.get_variable("table", [100, 8])
    x = tf.nn.embedding_lookup_sparse(table, ids, None, combiner="mean")
    safe = tf.nn.safe_embedding_lookup_sparse([table], ids)
    loss = cross_entropy(
        dense(tf.ensure_shape(x + safe, [None, 8]), 3, "logits"), tf.placeholder(tf.int32, [None])
    )
    tf.train.FtrlOptimizer(0.1).minimize(loss)


@program
def sparse_tensors():
    """Sparse algebra."""
    sparse = tf.sparse_placeholder(tf.float32, [4, 4])
    tf.sparse_tensor_dense_matmul(sparse, tf.ones([4, 2]))
    tf.sparse_reduce_sum(sparse, 1)
    tf.sparse_tensor_to_dense(tf.sparse_add(sparse, sparse))
    tf.sparse_softmax(sparse)
    tf.sparse_retain(sparse, sparse.values > 0.0)
    with tf.device("/gpu:0"):
        tf.sparse_tensor_dense_matmul(sparse, tf.ones([4, 2]))


@program
def ragged_and_segments():
    """Segment sums, partitions, stitches, unique, where."""
    x, ids = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int32, [None])
    tf.segment_sum(x, ids)
    tf.unsorted_segment_max(x, ids, 5)
    tf.sparse_segment_mean(x, ids, ids)
    parts = tf.dynamic_partition(x, ids, 2)
    tf.dynamic_stitch([tf.range(2), tf.range(2, 4)], parts)
    tf.unique_with_counts(ids)
    tf.where(x > 0.0)
    tf.boolean_mask(x, ids > 0)
    tf.gather(tf.RaggedTensor.from_row_lengths(tf.reshape(x, [-1]), ids), [0])


# Summaries, savers, saved models


@program
def summaries():
    """All kinds of summary of 1.x."""
    x = tf.placeholder(tf.float32, [None, 8, 8, 1])
    tf.summary.image("x", x)
    tf.summary.scalar("mean", tf.reduce_mean(x))
    with tf.device("/gpu:0"):
        tf.summary.histogram("histogram", conv(x, 2, "conv"))
    tf.summary.text("note", tf.constant("a"))
    tf.summary.audio("sound", tf.reshape(x, [-1, 64]), 100.0)
    tf.summary.merge_all()


@variants(version=[1, 2])
def savers(version):
    """Save and restore in both formats, variables on two devices."""
    with tf.device("/gpu:0"):
        tf.get_variable("a", [2])
        tf.get_variable("r", [2], use_resource=True)
    with tf.device("/cpu:0"):
        tf.get_variable("b", [2], tf.int32, initializer=tf.zeros_initializer())
    tf.train.Saver(write_version=version, sharded=version == 2)
    tf.report_uninitialized_variables()


@program
def saved_model():
    """A SavedModel of 1.x with two signatures, an asset and an initialiser of tables."""
    images, _ = digits()
    logits = dense(images, 10, "logits")
    names = tf.constant(["digit%d" % i for i in range(10)])
    tensors = {"scores": logits, "classes": tf.gather(names, tf.argmax(logits, 1))}
    info = tf.saved_model.utils.build_tensor_info
    signature = tf.saved_model.signature_def_utils.build_signature_def(
        {"images": info(images)}, {name: info(t) for name, t in tensors.items()}, "serving"
    )
    folder = os.path.join(tempfile.mkdtemp(), "model")
    builder = tf.saved_model.builder.SavedModelBuilder(folder)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {"serving_default": signature, "classify": signature},
            main_op=tf.tables_initializer(),
        )
    builder.save()
    return folder


@program
def saved_model_on_devices():
    """A SavedModel that keeps its devices, with resource variables."""
    with tf.device("/gpu:1"), tf.variable_scope("net", use_resource=True):
        x = tf.placeholder(tf.float32, [None, 4])
        y = dense(x, 2, "dense")
    folder = os.path.join(tempfile.mkdtemp(), "model")
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, folder, {"x": x}, {"y": y})
    return folder


# Other kinds


@program
def linear_algebra():
    """Decompositions, solvers, transforms."""
    x = tf.placeholder(tf.float32, [4, 4])
    tf.cholesky(x)
    tf.matrix_inverse(x)
    tf.svd(x)
    tf.qr(x)
    tf.self_adjoint_eig(x)
    tf.matrix_solve_ls(x, x)
    tf.einsum("ij,jk->ik", x, x)
    tf.fft(tf.complex(x, x))
    tf.lin_space(0.0, 1.0, 5)
    tf.signal.stft(tf.reshape(x, [-1]), 8, 4)
    tf.norm(x)


@program
def integers():
    """Counting with integers of all widths, some on a GPU."""
    for dtype in (tf.int8, tf.uint8, tf.int16, tf.int32, tf.int64):
        x = tf.placeholder(dtype, [4])
        y = tf.cast(x, tf.int32) * 2 + 1
        tf.reduce_max(y)
        tf.argmax(tf.cast(x, tf.float32))
        with tf.device("/gpu:0"):
            tf.cast(y, tf.int64) // 3
    counter = tf.get_variable("counter", [], tf.int32, initializer=tf.zeros_initializer())
    tf.assign_add(counter, 1)
    tf.bincount(tf.placeholder(tf.int32, [4]))


@program
def random_numbers():
    """Generators of random numbers, stateful and stateless."""
    shape = tf.shape(tf.placeholder(tf.float32))
    for function in (tf.random_normal, tf.random_uniform, tf.truncated_normal):
        function(shape)
    tf.multinomial(tf.ones([2, 3]), 4)
    tf.random_gamma([2], 1.0)
    tf.random_shuffle(tf.range(5))
    tf.random.stateless_uniform([2], [1, 2])
    tf.random_crop(tf.ones([4, 4]), [2, 2])
    tf.random_uniform([2], 0, 5, tf.int32)
    tf.random_poisson([1.0], [2])


@program
def reinforcement_learning():
    """Policy gradient, a target net that is copied, a replay of integers."""
    observations = tf.placeholder(tf.float32, [None, 4])
    with tf.variable_scope("policy"):
        logits = dense(dense(observations, 16, "a"), 2, "b", tf.identity)
    with tf.variable_scope("target"):
        dense(dense(observations, 16, "a"), 2, "b", tf.identity)
    actions = tf.stop_gradient(tf.squeeze(tf.multinomial(logits, 1), 1))
    log_probability = -tf.nn.sparse_softmax_cross_entropy_with_logits(labels=actions, logits=logits)
    loss = -tf.reduce_mean(log_probability * tf.placeholder(tf.float32, [None]))
    tf.train.RMSPropOptimizer(0.01).minimize(loss, var_list=tf.trainable_variables("policy"))
    pairs = zip(tf.trainable_variables("policy"), tf.trainable_variables("target"))
    tf.group(*[tf.assign(target, source) for source, target in pairs])


@program
def variational_autoencoder():
    """Sampling in the middle, two losses, on a GPU."""
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [None, 32])
        hidden = dense(x, 16, "encoder")
        mean, log_variance = dense(hidden, 4, "mean", tf.identity), dense(hidden, 4, "variance", tf.identity)
        z = mean + tf.exp(0.5 * log_variance) * tf.random_normal(tf.shape(mean))
        y = dense(z, 32, "decoder", tf.sigmoid)
        divergence = -0.5 * tf.reduce_sum(1 + log_variance - tf.square(mean) - tf.exp(log_variance), 1)
        loss = tf.reduce_mean(tf.reduce_sum(tf.square(x - y), 1) + divergence)
        tf.train.AdamOptimizer().minimize(loss)


@program
def word2vec():
    """Negative sampling with candidates of the CPU."""
    inputs, labels = tf.placeholder(tf.int32, [16]), tf.placeholder(tf.int32, [16, 1])
    with tf.device("/cpu:0"):
        embeddings = tf.Variable(tf.random_uniform([100, 8], -1.0, 1.0))
        x = tf.nn.embedding_lookup(embeddings, inputs)
        weights = tf.Variable(tf.truncated_normal([100, 8]))
        biases = tf.Variable(tf.zeros([100]))
    loss = tf.reduce_mean(tf.nn.nce_loss(weights, biases, labels, x, 8, 100))
    tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    normalized = embeddings / tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keepdims=True))
    tf.matmul(normalized, normalized, transpose_b=True)
    tf.global_variables_initializer()


@program
def matrix_factorization():
    """Two embeddings, sparse gradients, an integer step on the GPU."""
    users, items = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    with tf.device("/gpu:0"):
        left = tf.nn.embedding_lookup(tf.get_variable("users", [50, 4]), users)
        right = tf.nn.embedding_lookup(tf.get_variable("items", [50, 4]), items)
        loss = tf.reduce_sum(tf.square(tf.reduce_sum(left * right, 1) - tf.placeholder(tf.float32, [None])))
        step = tf.get_variable("step", [], tf.int64, initializer=tf.zeros_initializer(), trainable=False)
        tf.train.AdamOptimizer().minimize(loss, step)


@program
def k_means():
    """Assignments, dependent updates, int64."""
    points = tf.placeholder(tf.float32, [None, 2])
    centroids = tf.get_variable("centroids", [5, 2])
    distances = tf.reduce_sum(tf.square(points[:, None] - centroids[None]), 2)
    nearest = tf.argmin(distances, 1)
    sums = tf.unsorted_segment_sum(points, nearest, 5)
    counts = tf.unsorted_segment_sum(tf.ones_like(points[:, :1]), nearest, 5)
    changed = tf.assign(centroids, sums / tf.maximum(counts, 1.0))
    with tf.control_dependencies([changed]):
        tf.identity(tf.reduce_min(distances))


@program
def metrics():
    """Streaming metrics, whose variables are local."""
    labels, predictions = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None])
    for metric in (tf.metrics.accuracy, tf.metrics.precision, tf.metrics.recall):
        metric(labels, predictions)
    tf.metrics.mean(tf.cast(labels, tf.float32))
    tf.metrics.auc(labels > 0, tf.sigmoid(tf.cast(predictions, tf.float32)), num_thresholds=5)
    tf.local_variables_initializer()


@program
def variables_of_all_types():
    """Reference and resource variables of many types, read and assigned."""
    for dtype in (tf.float32, tf.float64, tf.float16, tf.int32, tf.int64, tf.bool, tf.complex64, tf.string):
        for resource in (False, True):
            initial = tf.constant("a") if dtype == tf.string else tf.cast(tf.constant([0.0, 1.0]), dtype)
            name = "v_%s_%d" % (dtype.name, resource)
            v = tf.get_variable(name, initializer=initial, use_resource=resource, collections=[])
            v.read_value()
            v.assign(initial)


@program
def scattered_updates():
    """Scatter ops on both kinds of variables."""
    indices = tf.placeholder(tf.int32, [None])
    for resource in (False, True):
        v = tf.get_variable("v%d" % resource, [5, 2], use_resource=resource)
        tf.scatter_add(v, indices, tf.ones([1, 2]))
        tf.scatter_update(v, indices, tf.ones([1, 2]))
        tf.scatter_nd_update(v, indices[:, None], tf.ones([1, 2]))
        tf.assign(v[0], [1.0, 2.0]) if not resource else v[0].assign([1.0, 2.0])
        tf.count_up_to(tf.get_variable("c%d" % resource, [], tf.int32, use_resource=resource), 5)


@program
def python_functions():
    """py_func, and a gradient of our own."""
    x = tf.placeholder(tf.float32, [3])
    y = tf.py_func(lambda a: a, [x], tf.float32)
    tf.square(tf.ensure_shape(y, [3]))
    with tf.device("/gpu:0"):
        tf.py_func(lambda a: a, [x], tf.float32)


@program
def critical_sections():
    """Mutexes, barriers, group and tuple."""
    v = tf.get_variable("v", [], use_resource=True)
    tf.CriticalSection(name="section").execute(lambda: v.assign_add(1.0), exclusive_resource_access=True)
    tf.tuple([tf.identity(v), tf.ones([])])
    tf.group(v.initializer, tf.no_op())


@program
def quantized():
    """Simulated and real quantization."""
    x = tf.placeholder(tf.float32, [4, 4])
    tf.quantization.fake_quant_with_min_max_args(x)
    low, high = tf.get_variable("low", []), tf.get_variable("high", [])
    tf.quantization.fake_quant_with_min_max_vars(x, low, high)
    q = tf.quantize(x, -1.0, 1.0, tf.quint8)
    tf.dequantize(q.output, q.output_min, q.output_max)


@program
def frozen():
    """A graph whose variables became constants."""
    with tf.device("/gpu:0"):
        images, _ = digits()
        logits = dense(dense(images[:, :8], 4, "hidden"), 3, "logits", tf.nn.softmax)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(tf.global_variables_initializer())
        return tf.graph_util.convert_variables_to_constants(
            session, tf.get_default_graph().as_graph_def(), [logits.op.name]
        )


@program
def imported_twice():
    """A graph imported under two names, one on a GPU."""
    with tf.Graph().as_default() as inner:
        x = tf.placeholder(tf.float32, [None, 4], "x")
        dense(x, 2, "dense")
    message = inner.as_graph_def()
    tf.import_graph_def(message, {"x": tf.ones([1, 4])}, name="first")
    with tf.device("/gpu:1"):
        tf.import_graph_def(message, {"x": tf.zeros([1, 4])}, name="second")


# Functions and control flow v2: rewritten before they are placed


def with_control_flow_v2(function):
    """Builds with control flow v2."""

    @functools.wraps(function)
    def build():
        tf.enable_control_flow_v2()
        try:
            return function()
        finally:
            tf.disable_control_flow_v2()

    return build


for _function in (conditionals, conditional_on_devices, nested_loops, map_scan_fold, case_and_assert):
    FUNCTION_PROGRAMS["v2_" + _function.__name__] = with_control_flow_v2(_function)
FUNCTION_PROGRAMS["v2_lstm_in_a_loop"] = with_control_flow_v2(functools.partial(lstm_in_a_loop, "resource"))


@function_program
def called_functions():
    """Functions called on several devices, one inside another."""

    @tensorflow.function
    def inner(x):
        return tf.square(x)

    @tensorflow.function
    def outer(x):
        with tf.device("/gpu:0"):
            y = inner(x)
        return y + 1.0

    with tf.device("/cpu:0"):
        outer(tf.placeholder(tf.float32, [2]))
    outer(tf.ones([2]))


@eager_program
def saved_module():
    """A SavedModel of 2.x with two signatures."""

    class Module(tensorflow.Module):
        def __init__(self):
            self.w = tensorflow.Variable(tensorflow.ones([4, 2]))

        @tensorflow.function(input_signature=[tensorflow.TensorSpec([None, 4])])
        def predict(self, x):
            return {"y": tensorflow.matmul(x, self.w)}

        @tensorflow.function(input_signature=[tensorflow.TensorSpec([], tensorflow.string)])
        def measure(self, s):
            return {"n": tensorflow.strings.length(s)}

    module = Module()
    folder = os.path.join(tempfile.mkdtemp(), "model")
    signatures = {"serving_default": module.predict, "measure": module.measure}
    tensorflow.saved_model.save(module, folder, signatures=signatures)
    return folder


def write(folder, name, build):
    """Builds one program and writes what it made."""
    with tf.Graph().as_default() as graph:
        made = build()
    target = os.path.join(folder, name)
    if isinstance(made, str):
        os.makedirs(target)
        shutil.copy(os.path.join(made, "saved_model.pb"), target)
        shutil.rmtree(os.path.dirname(made))
        return
    message = graph.as_graph_def() if made is None or not hasattr(made, "node") else made
    with open(target + ".pb", "wb") as file:
        file.write(message.SerializeToString(deterministic=True))


def main(folder, functions=""):
    """Writes all programs that this TensorFlow can build, and says which it cannot."""
    os.makedirs(folder, exist_ok=True)
    chosen = FUNCTION_PROGRAMS if functions else PROGRAMS
    failed = {}
    if functions and tensorflow.__version__.startswith("2"):
        for name, build in EAGER_PROGRAMS.items():
            made = build()
            os.makedirs(os.path.join(folder, name))
            shutil.copy(os.path.join(made, "saved_model.pb"), os.path.join(folder, name))
            shutil.rmtree(os.path.dirname(made))
    tf.disable_v2_behavior()
    tf.logging.set_verbosity("ERROR")
    for name, build in chosen.items():
        try:
            write(folder, name, build)
        except (AttributeError, LookupError, TypeError, ValueError, NotImplementedError) as error:
            failed[name] = "%s: %s" % (type(error).__name__, str(error).split("\n")[0])
    print("%d graphs written by TensorFlow %s" % (len(chosen) - len(failed), tensorflow.__version__))
    for name, reason in failed.items():
        print("  cannot build %s: %s" % (name, reason))


if __name__ == "__main__":
    main(*sys.argv[1:])
