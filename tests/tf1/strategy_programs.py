"""Programs for ``tf.distribute`` that gpuplace and TensorFlow 1.15.5 both run: each makes a loss on so many GPUs.

They are called with the module, NumPy and the names of devices, in a graph of their own.
"""


def embedding_with_adam(tf, np, devices):
    """Dense gradients go through NCCL in one pack, slices by way of one device."""
    strategy = tf.distribute.MirroredStrategy(devices, cross_device_ops=tf.distribute.NcclAllReduce())
    with strategy.scope():
        weights = tf.get_variable("weights", [3, 1], initializer=tf.ones_initializer())
        bias = tf.get_variable("bias", [1], initializer=tf.zeros_initializer())
        table = tf.get_variable("table", [5, 3], initializer=tf.zeros_initializer())
        optimizer = tf.train.AdamOptimizer(0.1)

        def step():
            rows = tf.nn.embedding_lookup(table, [1, 2]) + 1.0
            loss = tf.reduce_mean(tf.square(tf.matmul(rows, weights) + bias - 1.0))
            with tf.control_dependencies([optimizer.minimize(loss)]):
                return tf.identity(loss)

        losses = strategy.experimental_run_v2(step)
        total = strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)
        weights.assign_add(tf.ones([3, 1]))
        tf.add(weights, 1.0)
        tf.group(weights.initializer)
    return total


def momentum_with_global_step(tf, np, devices):
    """Each replica has another input, by its number."""
    strategy = tf.distribute.MirroredStrategy(devices)
    with strategy.scope():
        weights = tf.get_variable("weights", [3, 1], initializer=tf.ones_initializer())
        global_step = tf.train.get_or_create_global_step()
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)

        def step():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            inputs = tf.cast(number + 1, tf.float32) * tf.constant([[1.0, 2.0, 3.0], [2.0, 0.0, 1.0]]) / 4.0
            loss = tf.reduce_mean(tf.square(tf.matmul(inputs, weights) - 3.0))
            with tf.control_dependencies([optimizer.minimize(loss, global_step=global_step)]):
                return tf.identity(loss)

        losses = strategy.experimental_run_v2(step)
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)


def layers_made_in_replicas(tf, np, devices):
    """Variables are made by the first replica, moving averages are brought together when they are read."""
    strategy = tf.distribute.MirroredStrategy(devices)
    with strategy.scope():
        optimizer = tf.train.GradientDescentOptimizer(0.05)

        def step():
            number = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
            images = tf.reshape(tf.cast(tf.range(32), tf.float32) / 32.0, [2, 4, 4, 1]) + number
            tenth, fifth = tf.constant_initializer(0.1), tf.constant_initializer(0.2)
            with tf.variable_scope("net"):
                hidden = tf.layers.conv2d(images, 3, 3, activation=tf.nn.relu, kernel_initializer=tenth)
                hidden = tf.layers.batch_normalization(hidden, training=True)
                logits = tf.layers.dense(tf.layers.flatten(hidden), 2, kernel_initializer=fifth)
            loss = tf.losses.sparse_softmax_cross_entropy([0, 1], logits)
            with tf.control_dependencies([optimizer.minimize(loss)]):
                return tf.identity(loss)

        losses = strategy.experimental_run_v2(step)
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)


def sums_over_a_batch(tf, np, devices):
    """A sum over the first dimension too, of values nested in a dict."""
    strategy = tf.distribute.MirroredStrategy(devices)

    def step(factor):
        with tf.name_scope("inside"):
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            return {"rows": factor * tf.constant([1.0, 2.0]) * tf.cast(number + 1, tf.float32), "two": 2.0}

    with strategy.scope():
        found = strategy.experimental_run_v2(step, args=(tf.constant(2.0),))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, found["rows"], axis=0)


PROGRAMS = [embedding_with_adam, momentum_with_global_step, layers_made_in_replicas, sums_over_a_batch]
