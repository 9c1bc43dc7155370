"""Small training graphs that advice is asked for in tests."""

import gpuplace as tf


def towers(count=2, width=1024, devices=True, batch=64):
    """Towers with their variables on the CPU; returns a function that builds them."""

    def build():
        rows = tf.placeholder(tf.float32, [batch * count, width], name="rows")
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        parts, found = tf.split(rows, count), []
        for number in range(count):
            with tf.device(f"/gpu:{number}" if devices else None), tf.name_scope(f"tower_{number}"):
                with tf.variable_scope("net", reuse=number > 0):
                    with tf.device("/cpu:0" if devices else None):
                        weights = tf.get_variable("weights", [width, width])
                    hidden = tf.nn.relu(tf.matmul(parts[number], weights))
                    loss = tf.reduce_mean(tf.square(hidden))
                found.append(optimizer.compute_gradients(loss))
        averages = [
            (tf.add_n([gradient for gradient, _ in pairs]) / count, pairs[0][1]) for pairs in zip(*found)
        ]
        optimizer.apply_gradients(averages, name="train")

    return build


def branches(count=3, width=2048, blocks=2):
    """Blocks of branches that can run side by side; returns a function that builds them."""

    def build():
        found = tf.placeholder(tf.float32, [512, width], name="rows")
        for block in range(blocks):
            with tf.variable_scope(f"block_{block}"):
                ends = []
                for branch in range(count):
                    with tf.variable_scope(f"branch_{branch}"):
                        weights = tf.get_variable("weights", [width, width])
                        ends.append(tf.nn.relu(tf.matmul(tf.matmul(found, weights), weights)))
                found = tf.add_n(ends, name="sum")
        loss = tf.reduce_mean(found, name="loss")
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, name="train")

    return build


def stack(layers=3, steps=3, units=512, cell=True):
    """Recurrent layers one above the other, unrolled; returns a function that builds them."""

    def build():
        rows = tf.placeholder(tf.float32, [64, steps, units], name="rows")
        sequence = tf.unstack(rows, axis=1)
        for layer in range(layers):
            with tf.variable_scope(f"layer_{layer}"):
                sequence, _ = tf.nn.static_rnn(tf.nn.rnn_cell.LSTMCell(units), sequence, dtype=tf.float32)
        loss = tf.add_n([tf.reduce_mean(one) for one in sequence], name="loss")
        tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")

    return build


def large(layers=5, width=8192, has_slots=True):
    """A chain of layers whose variables do not fit on one small GPU; returns a function that builds it."""

    def build():
        found = tf.placeholder(tf.float32, [16, width], name="rows")
        for layer in range(layers):
            with tf.variable_scope(f"layer_{layer}"):
                weights = tf.get_variable("weights", [width, width])
                found = tf.nn.relu(tf.matmul(found, weights))
        optimizer = (
            tf.train.MomentumOptimizer(0.1, 0.9) if has_slots else tf.train.GradientDescentOptimizer(0.1)
        )
        optimizer.minimize(tf.reduce_mean(found), name="train")

    return build


def graph_of(build):
    """The graph that a function builds."""
    with tf.Graph().as_default() as graph:
        build()
    return graph


def image_towers(count=4, batch=128):
    """Towers of a small convolutional net with summaries and moving averages, one a GPU, and the rest on the CPU.

    It is put together as TensorFlow's tutorial for the images of CIFAR-10 is; returns a function that builds it.
    """

    def variable(name, shape):
        with tf.device("/cpu:0"):
            return tf.get_variable(name, shape)

    def tower(images, labels):
        top = images
        for layer, channels in enumerate((3, 64), 1):
            with tf.variable_scope(f"conv{layer}"):
                top = tf.nn.conv2d(top, variable("weights", [5, 5, channels, 64]), [1, 1, 1, 1], "SAME")
                top = tf.nn.relu(tf.nn.bias_add(top, variable("biases", [64])))
                tf.summary.histogram("activations", top)
                tf.summary.scalar("sparsity", tf.nn.zero_fraction(top))
            top = tf.nn.max_pool(top, [1, 3, 3, 1], [1, 2, 2, 1], "SAME", name=f"pool{layer}")
        top = tf.reshape(top, [batch, -1])
        for layer, width in (("local3", 384), ("local4", 192), ("classes", 10)):
            with tf.variable_scope(layer):
                top = tf.matmul(top, variable("weights", [top.shape[1].value, width])) + variable(
                    "biases", [width]
                )
                top = tf.nn.relu(top) if width > 10 else top
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=top)
        return tf.reduce_mean(losses, name="loss")

    def build():
        with tf.device("/cpu:0"):
            images = tf.placeholder(tf.float32, [batch, 24, 24, 3], name="images")
            labels = tf.placeholder(tf.int32, [batch], name="labels")
            step = tf.train.get_or_create_global_step()
            optimizer = tf.train.GradientDescentOptimizer(tf.train.exponential_decay(0.1, step, 1000, 0.1))
            found = []
            for number in range(count):
                with tf.device(f"/gpu:{number}"), tf.name_scope(f"tower_{number}") as scope:
                    with tf.variable_scope("", reuse=number > 0):
                        loss = tower(images, labels)
                    tf.summary.scalar("loss", loss)
                    summaries = tf.get_collection(tf.GraphKeys.SUMMARIES, scope)
                    found.append(optimizer.compute_gradients(loss))
            averages = []
            for pairs in zip(*found):
                stacked = tf.concat([tf.expand_dims(gradient, 0) for gradient, _ in pairs], 0)
                averages.append((tf.reduce_mean(stacked, 0), pairs[0][1]))
            update = optimizer.apply_gradients(averages, global_step=step)
            follow = tf.train.ExponentialMovingAverage(0.9999, step).apply(tf.trainable_variables())
            tf.group(update, follow, name="train")
            tf.train.Saver(tf.global_variables())
            tf.summary.merge(summaries, name="summary")

    return build
