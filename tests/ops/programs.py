"""Programs whose graphs are compared with those that TensorFlow 1.15 builds: each is a function of ``tf``.

They run in a graph of their own, here and, by ``tests/oracle/record/graphs.py``, in TensorFlow 1.15.5 (Python 3.7).
"""

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@program
def reference_variables(tf):
    v = tf.Variable(tf.zeros([2, 3]), name="v")
    w = tf.Variable([1.0, 2.0], trainable=False)
    tf.Variable(lambda: tf.ones([2]), name="from_function")
    with tf.device("/gpu:1"):
        tf.Variable(3, name="count")
    tf.Variable(1.0, name="cached", caching_device="/cpu:0")
    changed = v.assign(tf.ones([2, 3]))
    v.assign_add(tf.ones([2, 3]))
    v.assign_sub(changed)
    tf.assign(w, [3.0, 4.0], name="set_w")
    tf.assign_add(w, [3.0, 4.0])
    tf.global_variables_initializer()
    tf.is_variable_initialized(v)
    v.read_value()
    v.scatter_update(tf.IndexedSlices([[1.0, 2.0, 3.0]], [0]))
    tf.scatter_add(v, [1], [[1.0, 2.0, 3.0]])
    (v + 1.0) * 2.0 - v
    v[0]
    tf.matmul(v, v, transpose_b=True)
    with tf.control_dependencies([changed]):
        tf.Variable(1.0, name="later")
        tf.identity(v)


@program
def resource_variables(tf):
    v = tf.Variable(tf.zeros([2, 3]), name="v", use_resource=True)
    with tf.device("/gpu:1"):
        w = tf.Variable([1, 2], name="w", use_resource=True, trainable=False)
    changed = v.assign(tf.ones([2, 3]))
    v.assign_add(tf.ones([2, 3]))
    v.assign_sub(changed)
    tf.global_variables_initializer()
    v + 1.0
    w * 2
    tf.is_variable_initialized(v)
    v[0]
    v.value()
    v.read_value()
    v.is_initialized()
    v.scatter_update(tf.IndexedSlices([[1.0, 2.0, 3.0]], [0]))
    tf.gather(v, [0])
    tf.nn.embedding_lookup(v, [1])
    v.sparse_read([1])
    tf.square(w)


@program
def initialized_values(tf):
    v = tf.Variable(tf.zeros([2]), name="v")
    r = tf.Variable(tf.zeros([2]), name="r", use_resource=True)
    tf.Variable(v.initialized_value() * 2.0, name="w")
    tf.Variable(v + 1.0, name="guarded")
    tf.Variable(r.initialized_value(), name="s")


@program
def uninitialized(tf):
    tf.Variable(tf.zeros([2]), name="v")
    tf.Variable(tf.zeros([2]), name="r", use_resource=True)
    tf.report_uninitialized_variables()


@program
def initializers(tf):
    with tf.variable_scope("scope"):
        tf.get_variable("default", [5, 5, 3, 8])
        tf.get_variable("integers", [3], tf.int32)
        tf.get_variable("zeros", [5], initializer=tf.zeros_initializer())
        tf.get_variable("many_zeros", [300, 500], initializer=tf.zeros_initializer())
        tf.get_variable("ones", [5], initializer=tf.ones_initializer)
        tf.get_variable("constant", [5], initializer=tf.constant_initializer(0.1))
        tf.get_variable("values", [2, 2], initializer=tf.constant_initializer([1.0, 2.0, 3.0, 4.0]))
        tf.get_variable("uniform", [5], initializer=tf.random_uniform_initializer(-1, 1, seed=7))
        tf.get_variable("normal", [5], initializer=tf.random_normal_initializer(stddev=0.5))
        tf.get_variable("truncated", [5], initializer=tf.truncated_normal_initializer(stddev=0.1))
        tf.get_variable("glorot", [5, 4], initializer=tf.glorot_normal_initializer())
        tf.get_variable("he", [5, 4], initializer=tf.initializers.he_uniform())
        tf.get_variable(
            "scaled", [5, 4], initializer=tf.variance_scaling_initializer(2.0, distribution="uniform")
        )
        tf.get_variable("unit", [5, 4], initializer=tf.uniform_unit_scaling_initializer())
        tf.get_variable("orthogonal", [5, 3], initializer=tf.orthogonal_initializer())
        tf.get_variable("identity", [4, 4], initializer=tf.initializers.identity())
        tf.get_variable("tensor", initializer=tf.zeros([3]))
        tf.get_variable("value", initializer=[1, 2])
        tf.get_variable("function", initializer=lambda: tf.ones([2]))


@program
def variable_scopes(tf):
    with tf.variable_scope("conv1") as scope, tf.device("/gpu:1"):
        tf.get_variable("weights", [3, 3, 1, 4])
        with tf.device("/cpu:0"):
            tf.get_variable("biases", [4], initializer=tf.zeros_initializer(), trainable=False)
        tf.get_variable("resource", [4], use_resource=True)
        tf.get_variable("decayed", [4], regularizer=lambda w: tf.multiply(tf.nn.l2_loss(w), 0.1))
        tf.Variable(1.0, name="plain")
    with tf.variable_scope("conv1", reuse=True):
        tf.identity(tf.get_variable("weights"))
    with tf.variable_scope(scope, reuse=tf.AUTO_REUSE):
        tf.get_variable("new", [2])
        tf.add(1, 2)
    with tf.variable_scope(None, default_name="block"):
        tf.get_variable("a", [1])
    with tf.variable_scope(None, default_name="block"):
        tf.get_variable("a", [1])
        with tf.variable_scope("inner", initializer=tf.ones_initializer(), use_resource=True):
            tf.get_variable("a", [1])
            tf.Variable(2.0, name="b")
        with tf.variable_scope("inner"):
            tf.add(1, 2)
    with tf.name_scope("named"):
        tf.get_variable("outside", [1])
        tf.Variable(1.0)


@program
def plain_gradients(tf):
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    y = tf.placeholder(tf.float32, [None, 3], name="y")
    z = tf.reduce_sum(x * y + tf.exp(x))
    tf.gradients(z, [x, y])
    tf.gradients(z, x, grad_ys=tf.constant(2.0), name="given")
    a = x * x
    tf.gradients(a * a, x, stop_gradients=[a])
    with tf.device("/gpu:1"):
        w = tf.sigmoid(x) / 3.0
    tf.gradients([w, a], x, colocate_gradients_with_ops=True)
    v = tf.Variable(tf.zeros([5, 3]), name="v")
    r = tf.Variable(tf.zeros([5, 3]), name="r", use_resource=True)
    rows = tf.gather(v, [1, 2]) + tf.nn.embedding_lookup(r, [1, 2]) + tf.gather(v, [3, 2])
    tf.gradients(rows, [v, r])


@program
def optimizers(tf):
    v = tf.Variable(tf.zeros([3]), name="v")
    r = tf.Variable(tf.zeros([3]), name="r", use_resource=True)
    loss = tf.reduce_sum(tf.square(v) * r)
    tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True).minimize(loss)
    tf.train.AdamOptimizer(0.1).minimize(loss)
    tf.train.RMSPropOptimizer(0.1).minimize(loss)
    tf.train.RMSPropOptimizer(0.1, centered=True, name="Centered").minimize(loss)
    tf.train.AdagradOptimizer(0.1).minimize(loss, global_step=tf.train.get_or_create_global_step())
    with tf.name_scope("train"):
        tf.train.MomentumOptimizer(0.1, 0.9, name="Again").minimize(loss, var_list=[v], name="step")


@program
def sparse_optimizers(tf):
    v = tf.Variable(tf.zeros([5, 3]), name="v")
    r = tf.Variable(tf.zeros([5, 3]), name="r", use_resource=True)
    loss = tf.reduce_sum(tf.gather(v, [1, 2]) * tf.gather(r, [3, 3]))
    tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    tf.train.AdamOptimizer(0.1).minimize(loss)


@program
def convolutional_net(tf):
    x = tf.placeholder(tf.float32, [4, 8, 8, 3])
    y = tf.placeholder(tf.int32, [4])
    with tf.variable_scope("c"):
        w = tf.get_variable("w", [3, 3, 3, 8])
        b = tf.get_variable("b", [8])
    h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME"), b))
    h = tf.nn.lrn(
        tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75
    )
    h = tf.nn.avg_pool(tf.nn.elu(h), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    h = tf.reshape(h, [4, -1])
    weights = tf.get_variable("w2", [32, 10])
    logits = tf.matmul(h, weights)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    loss = tf.reduce_mean(entropy) + 0.1 * tf.nn.l2_loss(weights)
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.1, step, 100, 0.9, staircase=True)
    tf.train.MomentumOptimizer(rate, 0.9).minimize(loss, global_step=step)
    average = tf.train.ExponentialMovingAverage(0.99, step)
    average.apply(tf.trainable_variables())


@program
def two_towers(tf):
    with tf.device("/cpu:0"):
        step = tf.get_variable("step", [], initializer=tf.constant_initializer(0), trainable=False)
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    gradients = []
    with tf.variable_scope(tf.get_variable_scope()):
        for index in range(2):
            with tf.device(f"/gpu:{index}"), tf.name_scope(f"tower_{index}"):
                x = tf.placeholder(tf.float32, [8, 6, 6, 1])
                y = tf.placeholder(tf.float32, [8, 5])
                with tf.variable_scope("conv"):
                    with tf.device("/cpu:0"):
                        w = tf.get_variable("w", [3, 3, 1, 4], initializer=tf.truncated_normal_initializer())
                        b = tf.get_variable("b", [4], initializer=tf.constant_initializer(0.0))
                    h = tf.nn.relu(tf.nn.conv2d(x, w, [1, 1, 1, 1], "VALID") + b)
                with tf.variable_scope("out"), tf.device("/cpu:0"):
                    v = tf.get_variable("w", [64, 5])
                logits = tf.matmul(tf.reshape(h, [8, 64]), v)
                entropy = tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits)
                loss = tf.reduce_mean(entropy, name="loss")
                tf.get_variable_scope().reuse_variables()
                gradients.append(optimizer.compute_gradients(loss))
    averaged = []
    for pairs in zip(*gradients):
        grads = [tf.expand_dims(g, 0) for g, _ in pairs]
        averaged.append((tf.reduce_mean(tf.concat(axis=0, values=grads), 0), pairs[0][1]))
    optimizer.apply_gradients(averaged, global_step=step)


@program
def losses(tf):
    x = tf.placeholder(tf.float32, [4, 3])
    tf.losses.sparse_softmax_cross_entropy(tf.placeholder(tf.int32, [4]), x)
    tf.losses.mean_squared_error(tf.zeros([4, 3]), x)
    tf.losses.softmax_cross_entropy(tf.zeros([4, 3]), x, weights=[1.0, 2.0, 3.0, 4.0])
    tf.losses.sigmoid_cross_entropy(tf.zeros([4, 3]), x, label_smoothing=0.1)
    tf.losses.absolute_difference(tf.zeros([4, 3]), x, reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE)
    tf.losses.huber_loss(tf.zeros([4, 3]), x, reduction=tf.losses.Reduction.MEAN)
    tf.losses.log_loss(tf.zeros([4, 3]), x)
    tf.losses.hinge_loss(tf.zeros([4, 3]), x)
    tf.losses.get_total_loss()


@program
def layers(tf):
    x = tf.placeholder(tf.float32, [4, 8, 8, 3])
    h = tf.layers.conv2d(x, 8, 3, padding="same", activation=tf.nn.relu)
    h = tf.layers.max_pooling2d(h, 2, 2)
    h = tf.layers.batch_normalization(h, training=True)
    h = tf.layers.average_pooling2d(h, (2, 2), 1, padding="same")
    h = tf.layers.flatten(h)
    h = tf.layers.dense(h, 10, activation=tf.nn.relu, kernel_regularizer=lambda w: tf.nn.l2_loss(w))
    h = tf.layers.batch_normalization(h, training=True)
    h = tf.layers.dropout(h, 0.4, training=True)
    h = tf.layers.dense(h, 5, name="logits")
    tf.layers.dropout(h, 0.4)
    tf.layers.batch_normalization(h)
    with tf.device("/gpu:1"):
        tf.layers.dense(tf.ones([4, 5]), 5, name="shared")
        tf.layers.dense(tf.ones([4, 5]), 5, name="shared", reuse=True)


@program
def neural_network_functions(tf):
    x = tf.placeholder(tf.float32, [4, 8, 8, 3])
    m = tf.placeholder(tf.float32, [4, 3])
    tf.nn.dropout(x, 0.5)
    tf.nn.dropout(x, rate=0.25, noise_shape=[4, 1, 1, 3])
    tf.nn.moments(x, [0, 1, 2])
    mean, variance = tf.nn.moments(x, [0], keep_dims=True)
    tf.nn.batch_normalization(x, mean, variance, tf.zeros([3]), tf.ones([3]), 1e-3)
    tf.nn.batch_normalization(x, mean, variance, None, None, 1e-3)
    tf.nn.fused_batch_norm(x, tf.ones([3]), tf.zeros([3]))
    tf.nn.depthwise_conv2d(x, tf.ones([3, 3, 3, 2]), [1, 1, 1, 1], "SAME")
    tf.nn.separable_conv2d(x, tf.ones([3, 3, 3, 2]), tf.ones([1, 1, 6, 5]), [1, 1, 1, 1], "SAME")
    tf.nn.conv2d_transpose(x, tf.ones([3, 3, 5, 3]), [4, 16, 16, 5], [1, 2, 2, 1])
    tf.nn.softmax_cross_entropy_with_logits(labels=tf.ones([4, 3]), logits=m)
    tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.ones([4, 3]), logits=m)
    tf.nn.weighted_cross_entropy_with_logits(labels=tf.ones([4, 3]), logits=m, pos_weight=2.0)
    tf.nn.top_k(m, 2)
    tf.nn.in_top_k(m, [1, 2, 0, 1], 2)
    tf.nn.embedding_lookup(m, [1, 2])
    tf.nn.xw_plus_b(m, tf.ones([3, 2]), tf.zeros([2]))
    tf.nn.relu_layer(m, tf.ones([3, 2]), tf.zeros([2]))
    tf.nn.l2_normalize(m, 1)
    tf.nn.softmax(m)
    tf.nn.log_softmax(m, name="logs")
    tf.nn.leaky_relu(m)
    tf.nn.crelu(m)
    tf.nn.relu6(tf.nn.selu(tf.nn.softplus(tf.nn.softsign(m))))


@program
def activation_gradients(tf):
    m = tf.placeholder(tf.float32, [4, 3])
    functions = [
        tf.nn.relu, tf.nn.relu6, tf.nn.leaky_relu, tf.nn.elu, tf.nn.selu, tf.nn.softplus, tf.nn.softsign,
        tf.nn.softmax, tf.nn.log_softmax,
    ]  # fmt: skip
    for function in functions:
        tf.gradients(function(m), m)
    tf.gradients(tf.nn.top_k(m, 2)[0], m)
    x = tf.placeholder(tf.float32, [4, 8, 8, 3])
    y, _, _ = tf.nn.fused_batch_norm(x, tf.ones([3]), tf.zeros([3]))
    tf.gradients(y, x)
    z, _, _ = tf.nn.fused_batch_norm(
        x, tf.ones([3]), tf.zeros([3]), mean=tf.zeros([3]), variance=tf.ones([3]), is_training=False
    )
    tf.gradients(z, x)
    filters = tf.ones([3, 3, 3, 2])
    tf.gradients(tf.nn.depthwise_conv2d(x, filters, [1, 1, 1, 1], "SAME"), [x, filters])
    tf.gradients(tf.nn.softmax_cross_entropy_with_logits_v2(labels=m, logits=m), m)


@program
def learning_rates(tf):
    step = tf.train.get_or_create_global_step()
    tf.train.exponential_decay(0.1, step, 100, 0.9)
    tf.train.inverse_time_decay(0.1, step, 100, 0.9)
    tf.train.natural_exp_decay(0.1, step, 100, 0.9)
    tf.train.polynomial_decay(0.1, step, 100, power=2.0)
    tf.train.cosine_decay(0.1, step, 100)


@program
def learning_rates_with_waves(tf):
    step = tf.train.get_or_create_global_step()
    tf.train.polynomial_decay(0.1, step, 100, 0.01, cycle=True)
    tf.train.linear_cosine_decay(0.1, step, 100, alpha=0.1)
    tf.train.noisy_linear_cosine_decay(0.1, step, 100, initial_variance=0.5, name="noisy")
    tf.train.cosine_decay_restarts(0.1, step, 100)
    tf.train.cosine_decay_restarts(0.1, step, 100, 1.0, 0.5, 0.1, name="restarts")


@program
def filled_with_sizes_that_are_not_known(tf):
    rows = tf.placeholder(tf.int32, [])
    tf.zeros([rows, 10])
    tf.ones((3, 4, rows, 2), tf.float64, name="many")
    tf.zeros([tf.size(tf.constant([1, 2]))], tf.int32)
    tf.zeros(tf.stack([rows, 10]))
    tf.ones([tf.placeholder(tf.int64, []), 10])


@program
def lists_of_tensors_that_are_cast(tf):
    long, short = tf.placeholder(tf.int64, []), tf.placeholder(tf.int32, [])
    tf.convert_to_tensor([long, 10], tf.float32)
    tf.convert_to_tensor([tf.Variable(1, name="v"), 10], tf.int64)
    tf.reshape(tf.constant([1, 2]), [long, short])
    tf.fill([long, 10], 1.0)
    tf.tile([1, 2], [long])


@program
def printed(tf):
    x = tf.constant([1, 2])
    tf.print("hello", x, {"a": tf.constant(1.5)}, sep=",", end="")
    tf.print(tf.constant("text"), name="p")
    tf.print(tf.SparseTensor([[0, 1]], [1.0], [2, 3]), tf.Variable(1, name="v"))
    tf.print({"b": [x], "a": (tf.constant(2), "text", None)}, 3.5)
    tf.print()
    tf.strings.format("{} and {}", [x, x], name="f")


@program
def batches_of_sparse_tensors(tf):
    sparse = tf.SparseTensor([[0, 1]], [1.0], [2, 3])
    unknown = tf.sparse_placeholder(tf.float32)
    keep = tf.placeholder(tf.bool, [])
    tf.train.batch([sparse, tf.constant(1)], 2)
    tf.train.shuffle_batch(
        {"a": unknown, "b": tf.constant(1)}, 2, 10, 3, seed=1, allow_smaller_final_batch=True
    )
    tf.train.maybe_batch([sparse], keep, 2)
    tf.train.maybe_batch([sparse], keep, 2, enqueue_many=True)
    tf.train.maybe_batch([sparse], tf.placeholder(tf.bool, [None]), 2, enqueue_many=True)
    tf.train.batch_join([[sparse], [tf.SparseTensor([[1, 0]], [2.0], [2, 3])]], 2)


@program
def exits_of_loops_that_nothing_uses(tf):
    x = tf.Variable(tf.ones([2]))
    _, _, r = tf.while_loop(
        lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a * 2.0, b * x), (0, tf.ones([2]), x)
    )
    with tf.device("/gpu:1"):
        y = tf.reduce_sum(r)
    tf.gradients(y, x, colocate_gradients_with_ops=True)


@program
def slices_with_long_and_short_indices(tf):
    with tf.device("/gpu:1"):
        v = tf.Variable(tf.ones([4, 3]), use_resource=True)
        short = tf.gather(v, tf.constant([1, 2]))
        long = tf.nn.embedding_lookup(v, tf.constant([0, 3], tf.int64))
        tf.gradients([short, long], v)


@program
def gradients_of_public_functions(tf):
    with tf.device("/gpu:1"):
        x, y = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.float32, [2, 3])
        batch = tf.placeholder(tf.float32, [None, 3])
        square = tf.placeholder(tf.float32, [None, 3, 3])
        images = tf.placeholder(tf.float32, [None, 5, 4, 2])
        ids = tf.constant([0, 1])
        for function in (
            lambda: tf.reduce_mean(x, 1),
            lambda: tf.reduce_mean(batch, [0], keepdims=True),
            lambda: tf.reduce_prod(x, -1),
            lambda: tf.reduce_max(batch, 1) + tf.reduce_min(batch, 1),
            lambda: tf.mod(x, y),
            lambda: batch % 3.0,
            lambda: tf.atan2(x, y),
            lambda: tf.unsorted_segment_sum(x, ids, 2),
            lambda: tf.unsorted_segment_max(x, ids, 2),
            lambda: tf.unsorted_segment_mean(x, ids, 2),
            lambda: tf.math.unsorted_segment_sqrt_n(x, ids, 2),
            lambda: tf.segment_mean(x, ids),
            lambda: tf.dynamic_partition(x, ids, 2)[1],
            lambda: tf.matrix_determinant(square),
            lambda: tf.cholesky(square),
            lambda: tf.gather(x, [0, 2], axis=1),
            lambda: tf.gather_nd(x, [[0, 1]]),
            lambda: tf.tile(batch, [2, 1]),
            lambda: tf.unstack(x, axis=1)[1],
            lambda: tf.sign(batch),
            lambda: tf.extract_image_patches(images, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID"),
        ):
            tf.gradients(function(), [x, y, batch, square, images])


@program
def meshes_of_lists(tf):
    tf.meshgrid([1, 2], [3, 4, 5])
    tf.meshgrid([1.0, 2.0], tf.constant([3.0]), indexing="ij")
    tf.meshgrid(*[[1, 2], [3]], name="mesh")


@program
def precision_at_k(tf):
    labels = tf.constant([[1], [2]], tf.int64)
    scores = tf.placeholder(tf.float32, [2, 4])
    tf.metrics.average_precision_at_k(labels, scores, 2)
    tf.metrics.precision_at_k(labels, scores, 2)
    tf.metrics.recall_at_k(labels, scores, 2, class_id=1)


@program
def lookups_in_parts_of_resource_variables(tf):
    with tf.device("/gpu:1"):
        parts = tf.get_variable("parts", [6, 3], use_resource=True, partitioner=tf.fixed_size_partitioner(2))
        ids = tf.placeholder(tf.int64, [None])
        rows = tf.nn.embedding_lookup(parts, ids)
        div = tf.nn.embedding_lookup(parts, ids, partition_strategy="div", name="div")
        tf.gradients([rows, div], list(parts))
