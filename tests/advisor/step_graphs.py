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
