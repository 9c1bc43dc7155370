"""Programs with metrics and layers of nets, in the form of ``programs``."""

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@program
def metrics_at_thresholds(tf):
    labels, guesses = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])
    share = tf.placeholder(tf.float32, [None])
    column, row = tf.placeholder(tf.float32, [3, 1]), tf.placeholder(tf.int32, [3])
    tf.metrics.auc(labels, guesses)
    tf.metrics.auc(labels, guesses, share, 20, curve="PR", name="pr")
    tf.metrics.auc(
        labels, guesses, None, 20, ["values"], "updates", "PR", summation_method="careful_interpolation"
    )
    tf.metrics.auc(labels, guesses, share, 20, summation_method="minoring")
    tf.metrics.auc(row, column, thresholds=[0.5, 0.1], summation_method="majoring")
    tf.metrics.precision_at_thresholds(labels, guesses, [0.1, 0.5])
    tf.metrics.recall_at_thresholds(labels, guesses, [0.2], share)
    tf.metrics.true_positives_at_thresholds(labels, guesses, [0.5], name="hits")
    tf.metrics.false_positives_at_thresholds(labels, guesses, [0.5, 0.2], share)
    tf.metrics.true_negatives_at_thresholds(labels, guesses, [0.5])
    tf.metrics.false_negatives_at_thresholds(labels, guesses, [0.5])
    tf.metrics.sensitivity_at_specificity(labels, guesses, 0.4)
    tf.metrics.specificity_at_sensitivity(labels, guesses, 0.6, share)


@program
def weights_of_unknown_sizes(tf):
    labels, logits = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None, 5])
    tf.losses.sparse_softmax_cross_entropy(labels, logits, tf.placeholder(tf.float32, [None]))
    tf.losses.mean_squared_error(logits, logits, tf.placeholder(tf.float32, [None, 1]))
    tf.losses.absolute_difference(logits, logits, tf.placeholder(tf.float32))


@program
def sets(tf):
    one, other = tf.placeholder(tf.int64, [3, 4]), tf.placeholder(tf.int64, [None, 2])
    both = tf.sets.intersection(one, other)
    tf.sets.size(both)
    tf.sets.difference(both, one)
    tf.sets.set_union(both, both, validate_indices=False)
    tf.sets.set_difference(one, other, aminusb=False)


@program
def convolutions(tf):
    images, filters = tf.ones([2, 7, 9, 3]), tf.ones([3, 2, 3, 4])
    unknown = tf.placeholder(tf.float32, [None, None, None, 3])
    signals, windows = tf.ones([2, 9, 3]), tf.ones([3, 3, 4])
    made = [
        tf.nn.convolution(images, filters, "SAME"),
        tf.nn.convolution(images, filters, "VALID", strides=[2, 1]),
        tf.nn.convolution(images, filters, "SAME", dilation_rate=[2, 3], name="apart"),
        tf.nn.atrous_conv2d(images, filters, 2, "VALID"),
        tf.nn.atrous_conv2d(unknown, filters, 2, "SAME"),
        tf.nn.depthwise_conv2d(images, filters, [1, 1, 1, 1], "SAME", rate=[2, 2]),
        tf.nn.separable_conv2d(images, filters, tf.ones([1, 1, 12, 2]), [1, 1, 1, 1], "VALID", rate=[2, 1]),
    ]
    tf.gradients(made, [images, filters])
    made = [
        tf.nn.conv1d(signals, windows, 2, "SAME"),
        tf.nn.conv1d(signals, windows, [1], "VALID", name="one"),
        tf.nn.convolution(signals, windows, "SAME", dilation_rate=[2]),
    ]
    tf.gradients(made, [signals, windows])
    tf.nn.conv1d_transpose(made[0], windows, [2, 9, 3], 2)
    blocks = tf.space_to_batch(images, [[0, 1], [1, 0]], 2)
    tf.batch_to_space(blocks, [[0, 1], [1, 0]], 2)


@program
def dilated_layers(tf):
    images, signals = tf.placeholder(tf.float32, [2, 8, 9, 3]), tf.placeholder(tf.float32, [2, 9, 3])
    unknown = tf.placeholder(tf.float32, [None, None, 9, 3])
    turned = tf.transpose(images, [0, 3, 1, 2])
    tf.layers.conv2d(images, 4, 3, dilation_rate=2, padding="same")
    tf.layers.conv2d(unknown, 4, 3, dilation_rate=(1, 2))
    tf.layers.conv1d(signals, 4, 3, dilation_rate=2)
    tf.layers.conv1d(signals, 4, 3, dilation_rate=2, padding="causal", activation=tf.nn.relu)
    tf.layers.conv1d(signals, 4, 3, strides=2)
    tf.layers.conv2d(turned, 4, 3, dilation_rate=2, padding="same", data_format="channels_first")
    tf.layers.separable_conv2d(images, 4, 3, dilation_rate=2)


@program
def metrics_of_the_best_classes(tf):
    labels, scores = tf.placeholder(tf.int64, [3]), tf.placeholder(tf.float32, [3, 4])
    several, share = tf.placeholder(tf.int64, [None, 2]), tf.placeholder(tf.float32, [3])
    classes = tf.constant([[0, 1], [2, 1], [1, 3]])
    tf.metrics.recall_at_k(labels, scores, 2)
    tf.metrics.precision_at_k(labels, scores, 1, weights=share)
    tf.metrics.recall_at_k(several, scores, 2, class_id=1)
    tf.metrics.precision_at_top_k(several, classes, name="given")
    tf.metrics.recall_at_top_k(labels, tf.cast(classes, tf.int64), 2, None, None, "values", ["updates"])
    tf.metrics.precision_at_k(tf.sparse_placeholder(tf.int64, [3, 4]), scores, 2)


@program
def metrics_of_means(tf):
    truth, found = tf.constant([[1.0, 0.0], [0.6, 0.8]]), tf.constant([[0.8, 0.6], [0.0, 1.0]])
    tf.metrics.mean_cosine_distance(truth, found, 1)
    tf.metrics.mean_cosine_distance(
        truth, found, 1, tf.constant([[1.0], [0.5]]), ["values"], ["updates"], "cosine"
    )
    tf.metrics.mean_relative_error(truth, found, tf.constant([[2.0, 0.0], [1.0, 4.0]]))
    tf.metrics.mean_relative_error(truth, found, truth, weights=[[1.0, 0.0]], name="relative")
    tf.metrics.percentage_below(truth, 0.7)
    tf.metrics.percentage_below(truth, 0.7, weights=found, name="below")
    tf.metrics.mean_tensor(truth)
    tf.metrics.mean_tensor(truth, tf.constant([[1.0], [0.0]]), name="each")
    tf.metrics.mean_per_class_accuracy(tf.constant([0, 1, 2, 1]), tf.constant([0, 1, 1, 1]), 3)
    classes = tf.placeholder(tf.int64, [None, 2])
    tf.metrics.mean_per_class_accuracy(classes, classes, 3, weights=tf.ones([3, 2]), name="classes")


@program
def statistics(tf):
    x, weights = tf.constant([[1.0, 2.0], [3.0, 5.0]]), tf.constant([[1.0], [3.0]])
    rows = tf.placeholder(tf.float32, [None, 2])
    tf.nn.normalize_moments(*tf.nn.sufficient_statistics(x, [0], shift=1.0))
    tf.nn.normalize_moments(
        *tf.nn.sufficient_statistics(rows, [0, 1], keep_dims=True, name="sums"), name="moments"
    )
    tf.nn.weighted_moments(x, [0], weights)
    tf.nn.weighted_moments(tf.placeholder(tf.float16, [None, 2]), [0, 1], 2.0, keep_dims=True, name="half")
    tf.nn.log_poisson_loss(x, rows)
    tf.nn.log_poisson_loss(x, rows, compute_full_loss=True, name="poisson")
    channels = [tf.constant([1.0, 2.0]) for _ in range(4)]
    tf.nn.batch_norm_with_global_normalization(tf.ones([1, 2, 2, 2]), *channels, 0.001, True)
    tf.nn.batch_norm_with_global_normalization(tf.ones([1, 2, 2, 2]), *channels, 0.001, False, name="plain")
    tf.lbeta(rows)
    tf.math.reciprocal_no_nan(rows)


@program
def losses_of_vectors(tf):
    x, y = tf.constant([[1.0, 0.0], [0.6, 0.8]]), tf.placeholder(tf.float32, [None, 2])
    tf.losses.cosine_distance(x, y, 1)
    tf.losses.cosine_distance(
        x, y, weights=[[1.0], [0.5]], reduction=tf.losses.Reduction.NONE, scope="cosine", dim=1
    )
    tf.losses.mean_pairwise_squared_error(x, x)
    tf.losses.mean_pairwise_squared_error(
        y, x, tf.constant([[1.0], [0.0]]), scope="pairs", loss_collection="others"
    )


@program
def volumes(tf):
    volume, filters = tf.ones([2, 5, 5, 5, 2]), tf.ones([3, 3, 3, 2, 3])
    unknown = tf.placeholder(tf.float32, [None, 2, None, None, None])
    made = tf.nn.conv3d(volume, filters, [1] * 5, "SAME")
    first = tf.gradients(made, [volume, filters])
    tf.gradients(first, [volume, filters])
    for pool in (tf.nn.max_pool3d, tf.nn.avg_pool3d):
        pooled = pool(volume, 3, [1, 2, 1], "SAME")
        tf.gradients(tf.gradients(pooled, volume), [pooled, volume])
    tf.nn.conv3d_transpose(volume, tf.ones([3, 3, 3, 4, 2]), [2, 10, 10, 10, 4], [1, 2, 2, 2, 1])
    tf.nn.conv3d_backprop_filter(volume, [2, 2, 2, 2, 2], volume, [1] * 5, "SAME")
    tf.layers.conv3d(volume, 4, 3, activation=tf.nn.relu)
    tf.layers.conv3d(volume, 4, 3, dilation_rate=2, padding="same", use_bias=False)
    tf.layers.conv3d(unknown, 4, [1, 2, 3], data_format="channels_first")
    tf.layers.conv3d_transpose(volume, 4, 3, strides=2)
    tf.layers.conv3d_transpose(unknown, 4, 3, strides=2, padding="same", data_format="channels_first")
    tf.layers.max_pooling3d(volume, 2, 2)
    tf.layers.average_pooling3d(volume, 2, (1, 2, 1), padding="same")


@program
def block_cells(tf):
    rnn = tf.contrib.rnn
    for peepholes in (False, True):
        cell = rnn.LSTMBlockCell(4, use_peephole=peepholes, name=f"cell_{peepholes:d}")
        inputs = tf.ones([3, 5]) if peepholes else tf.placeholder(tf.float32, [None, 5])
        state = rnn.LSTMStateTuple(tf.ones([3, 4]), tf.ones([3, 4]))
        output, (memory, _) = cell(inputs, cell(inputs, state)[1])
        tf.gradients(output + memory, [inputs, *cell.trainable_variables, *state])
    tf.nn.dynamic_rnn(rnn.LSTMBlockCell(4, cell_clip=2.0), tf.ones([2, 3, 5]), dtype=tf.float32)
    for kind in (rnn.GRUBlockCell, rnn.GRUBlockCellV2):
        cell, inputs, state = kind(4), tf.ones([3, 5]), tf.ones([3, 4])
        output, _ = cell(inputs, cell(inputs, state)[0])
        tf.gradients(output, [inputs, state, *cell.trainable_variables])
    for number, settings in enumerate(
        ({}, {"layer_norm": False}, {"dropout_keep_prob": 0.5, "norm_gain": 2.0})
    ):
        with tf.variable_scope(f"normalised_{number}"):
            cell = rnn.LayerNormBasicLSTMCell(4, **settings)
            cell(
                tf.ones([3, 5]),
                cell(tf.ones([3, 5]), rnn.LSTMStateTuple(tf.ones([3, 4]), tf.ones([3, 4])))[1],
            )
    one, other = tf.ones([3, 4]), tf.ones([3, 1])
    tf.gradients(tf.squared_difference(one, other), [one, other])


@program
def weighted_statistics(tf):
    values, weights = tf.ones([4, 3, 2]), tf.placeholder(tf.float32, [4, 1, 1])
    for x in (values, tf.placeholder(tf.float32, [None, 3, 2])):
        tf.nn.normalize_moments(*tf.nn.sufficient_statistics(x, [0, 1]))
        tf.nn.normalize_moments(*tf.nn.sufficient_statistics(x, [0], shift=tf.ones([3, 2]), keep_dims=True))
        tf.nn.weighted_moments(x, [0, 1], weights)
        tf.nn.weighted_moments(x, [0, 1], tf.cast(weights, tf.int32), keep_dims=True, name="weighted")
    tf.nn.weighted_moments(tf.ones([3, 4], tf.float16), [0], tf.ones([3, 4]))


@program
def sequences_and_matrices(tf):
    images, window = tf.ones([2, 6, 6, 3]), tf.ones([2, 2, 3])
    ones = [1, 1, 1, 1]
    tf.gradients(tf.nn.dilation2d(images, window, ones, ones, "SAME"), [images, window])
    tf.nn.erosion2d(images, window, ones, ones, "VALID", name="worn")
    labels, logits = tf.SparseTensor([[0, 1]], [1], [2, 3]), tf.placeholder(tf.float32, [5, 2, 4])
    steps = tf.placeholder(tf.int32, [2])
    tf.edit_distance(tf.sparse_placeholder(tf.int32, [2, 3]), labels)
    tf.gradients(tf.nn.ctc_loss(labels, logits, steps), logits)
    tf.nn.ctc_loss(labels, tf.ones([2, 5, 4]), steps, time_major=False)
    tf.nn.ctc_greedy_decoder(logits, steps)
    tf.nn.ctc_beam_search_decoder(logits, steps, top_paths=2)
    matrix = tf.ones([3, 4, 4])
    tf.gradients(list(tf.self_adjoint_eig(matrix)), matrix)
    tf.gradients(tf.self_adjoint_eigvals(matrix, name="values"), matrix)
    tf.svd(matrix)
    tf.svd(tf.cast(matrix, tf.complex64), compute_uv=False, name="singular")
    tf.linalg.qr(matrix)


@program
def layers_by_name(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    names = ["elu", "exponential", "hard_sigmoid", "linear", "relu", "selu", "sigmoid", "softmax", "softplus"]
    for name in [*names, "softsign", "tanh"]:
        tf.layers.dense(x, 2, activation=name)
    tf.layers.dense(tf.ones([2, 4, 3]), 2, activation="softmax")
    initializers = ["zeros", "ones", "constant", "uniform", "random_normal", "truncated_normal", "identity"]
    for name in [*initializers, "orthogonal", "glorot_uniform", "he_normal", "he_uniform", "lecun_normal"]:
        tf.layers.dense(x, 2, kernel_initializer=name, name=name)
    described = {"class_name": "VarianceScaling", "config": {"scale": 2.0, "distribution": "uniform"}}
    tf.layers.conv2d(tf.ones([1, 4, 4, 2]), 3, 2, activation="relu", kernel_initializer=described)
    for name in ("l1", "l2", "l1_l2"):
        tf.layers.dense(x, 2, kernel_regularizer=name, bias_regularizer=name)
    tf.layers.batch_normalization(x, beta_initializer="ones", gamma_regularizer="l2")
    cells = tf.nn.rnn_cell
    cells.BasicRNNCell(2, activation="relu")(x, tf.zeros([1, 2]))
    cells.LSTMCell(2, activation="softsign", initializer="he_normal")(x, (tf.zeros([1, 2]), tf.zeros([1, 2])))


@program
def batches_renormalised(tf):
    images, training = tf.placeholder(tf.float32, [8, 4, 4, 3]), tf.placeholder(tf.bool, [])

    def adjusted(shape):
        return tf.random_uniform(shape[:1], 0.5, 1.5)[:, None, None, None], tf.zeros([])

    layer = tf.layers.batch_normalization
    bounds = {"rmax": 3.0, "rmin": 0.3, "dmax": 5.0}
    for flag in (True, False, training):
        layer(images, training=flag, renorm=True, renorm_clipping=bounds, renorm_momentum=0.9)
        layer(images, axis=1, training=flag, renorm=True, fused=True, renorm_clipping={"rmax": 2.0})
        layer(images, axis=[1, -1], training=flag)
        layer(images, axis=[0], training=flag, scale=False)
        layer(images, training=flag, virtual_batch_size=4)
        layer(images, axis=2, training=flag, virtual_batch_size=2, renorm=True)
        layer(images, training=flag, adjustment=adjusted)
        layer(
            tf.ones([4, 3]),
            training=flag,
            adjustment=lambda shape: (tf.ones(shape), tf.ones(shape)),
            renorm=True,
        )
    with tf.variable_scope("parted", partitioner=tf.fixed_size_partitioner(3)):
        layer(images, training=True)
