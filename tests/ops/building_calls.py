"""Optimizers, losses, metrics, layers and cells whose graphs are compared with those that TensorFlow 1.15.5 builds.

Each is a function of ``tf`` and of ``given``, which makes a placeholder of some sizes: ``given([4, 3])``. Each is built
under ``/gpu:1`` with known shapes, an unknown first dimension, and unknown ranks (``tests/oracle/compare_calls.py``),
here and in Python 3.7.
"""

CALLS = {}


def _add(kind, name, function):
    CALLS[f"{kind}/{name}"] = function


# Optimizers


def _minimized(make):
    def build(tf, given):
        v = tf.get_variable("v", [3, 2])
        b = tf.get_variable("b", [2], use_resource=True)
        make(tf).minimize(tf.reduce_mean(tf.matmul(given([4, 3]), v) + b))

    return build


def _minimized_rows(make):
    def build(tf, given):
        v = tf.get_variable("v", [6, 2])
        r = tf.get_variable("r", [6, 2], use_resource=True)
        ids = given([4], "int32")
        rows = tf.nn.embedding_lookup(v, ids) * tf.nn.embedding_lookup(r, ids)
        make(tf).minimize(tf.reduce_sum(rows), global_step=tf.train.get_or_create_global_step())

    return build


for _name, _make in {
    "GradientDescent": lambda tf: tf.train.GradientDescentOptimizer(0.1),
    "Momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9),
    "Nesterov": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "Adam": lambda tf: tf.train.AdamOptimizer(),
    "Adagrad": lambda tf: tf.train.AdagradOptimizer(0.1),
    "AdagradDA": lambda tf: tf.train.AdagradDAOptimizer(0.1, tf.train.get_or_create_global_step()),
    "Adadelta": lambda tf: tf.train.AdadeltaOptimizer(0.1),
    "RMSProp": lambda tf: tf.train.RMSPropOptimizer(0.1),
    "centered RMSProp": lambda tf: tf.train.RMSPropOptimizer(0.1, centered=True),
    "Ftrl": lambda tf: tf.train.FtrlOptimizer(0.1),
    "shrinking Ftrl": lambda tf: tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.1),
    "ProximalGradientDescent": lambda tf: tf.train.ProximalGradientDescentOptimizer(0.1),
    "ProximalAdagrad": lambda tf: tf.train.ProximalAdagradOptimizer(0.1),
    "learning rate that decays": lambda tf: tf.train.GradientDescentOptimizer(
        tf.train.exponential_decay(0.1, tf.train.get_or_create_global_step(), 10, 0.9)
    ),
}.items():
    _add("optimizers", _name, _minimized(_make))
    _add("optimizers", _name + " of rows", _minimized_rows(_make))

# Losses

for _name in (
    "absolute_difference hinge_loss huber_loss log_loss mean_pairwise_squared_error mean_squared_error"
    " sigmoid_cross_entropy softmax_cross_entropy"
).split():

    def _loss(tf, given, name=_name, weights=False):
        first, second = given([4, 3]), given([4, 3])
        more = {"weights": given([4] if name == "softmax_cross_entropy" else [4, 1])} if weights else {}
        made = getattr(tf.losses, name)(first, second, **more)
        tf.gradients(made, [first, second])

    _add("losses", _name, _loss)
    _add("losses", _name + " with weights", lambda tf, given, f=_loss: f(tf, given, weights=True))

_add(
    "losses",
    "cosine_distance",
    lambda tf, given: tf.losses.cosine_distance(given([4, 3]), given([4, 3]), axis=1),
)
_add(
    "losses",
    "sparse_softmax_cross_entropy",
    lambda tf, given: tf.losses.sparse_softmax_cross_entropy(given([4], "int64"), given([4, 3])),
)
for _name in (
    "SUM",
    "MEAN",
    "NONE",
    "SUM_OVER_BATCH_SIZE",
    "SUM_OVER_NONZERO_WEIGHTS",
    "SUM_BY_NONZERO_WEIGHTS",
):
    _add(
        "losses",
        "reduced by " + _name,
        lambda tf, given, name=_name: tf.losses.mean_squared_error(
            given([4, 3]), given([4, 3]), given([4, 1]), reduction=getattr(tf.losses.Reduction, name)
        ),
    )

# Metrics

for _name in (
    "accuracy mean_absolute_error mean_squared_error root_mean_squared_error false_negatives false_positives"
    " true_negatives true_positives precision recall auc"
).split():
    _add("metrics", _name, lambda tf, given, name=_name: getattr(tf.metrics, name)(given([4]), given([4])))
    _add(
        "metrics",
        _name + " with weights",
        lambda tf, given, name=_name: getattr(tf.metrics, name)(given([4]), given([4]), weights=given([4])),
    )
for _name in (
    "false_negatives_at_thresholds false_positives_at_thresholds true_negatives_at_thresholds"
    " true_positives_at_thresholds precision_at_thresholds recall_at_thresholds"
).split():
    _add(
        "metrics",
        _name,
        lambda tf, given, name=_name: getattr(tf.metrics, name)(given([4]), given([4]), [0.2, 0.7]),
    )
for _name in "average_precision_at_k precision_at_k recall_at_k".split():
    _add(
        "metrics",
        _name,
        lambda tf, given, name=_name: getattr(tf.metrics, name)(given([4, 1], "int64"), given([4, 5]), 2),
    )
_add("metrics", "mean", lambda tf, given: tf.metrics.mean(given([4]), given([4])))
_add("metrics", "mean_tensor", lambda tf, given: tf.metrics.mean_tensor(given([4])))
_add("metrics", "percentage_below", lambda tf, given: tf.metrics.percentage_below(given([4]), 0.5))
_add(
    "metrics", "mean_iou", lambda tf, given: tf.metrics.mean_iou(given([4], "int64"), given([4], "int64"), 3)
)
_add(
    "metrics",
    "mean_per_class_accuracy",
    lambda tf, given: tf.metrics.mean_per_class_accuracy(given([4], "int64"), given([4], "int64"), 3),
)
_add(
    "metrics",
    "mean_relative_error",
    lambda tf, given: tf.metrics.mean_relative_error(given([4]), given([4]), given([4])),
)
_add(
    "metrics",
    "mean_cosine_distance",
    lambda tf, given: tf.metrics.mean_cosine_distance(given([4, 3]), given([4, 3]), 1),
)
_add(
    "metrics",
    "sensitivity_at_specificity",
    lambda tf, given: tf.metrics.sensitivity_at_specificity(given([4]), given([4]), 0.5),
)
_add(
    "metrics",
    "specificity_at_sensitivity",
    lambda tf, given: tf.metrics.specificity_at_sensitivity(given([4]), given([4]), 0.5),
)

# Layers


def _layer(sizes, make):
    def build(tf, given):
        x = given(sizes)
        made = make(tf, x)
        tf.gradients(tf.reduce_sum(made), [x] + tf.trainable_variables())

    return build


for _name, _sizes, _make in (
    ("dense", [4, 3], lambda tf, x: tf.layers.dense(x, 2, tf.nn.relu)),
    ("dense of a sequence", [4, 5, 3], lambda tf, x: tf.layers.dense(x, 2)),
    ("conv1d", [2, 8, 3], lambda tf, x: tf.layers.conv1d(x, 4, 3)),
    ("conv2d", [2, 8, 8, 3], lambda tf, x: tf.layers.conv2d(x, 4, 3, padding="same", activation=tf.nn.elu)),
    ("dilated conv2d", [2, 8, 8, 3], lambda tf, x: tf.layers.conv2d(x, 4, 3, dilation_rate=2)),
    ("conv3d", [2, 4, 4, 4, 3], lambda tf, x: tf.layers.conv3d(x, 4, 2)),
    ("conv2d_transpose", [2, 4, 4, 3], lambda tf, x: tf.layers.conv2d_transpose(x, 4, 3, 2)),
    ("conv3d_transpose", [2, 4, 4, 4, 3], lambda tf, x: tf.layers.conv3d_transpose(x, 4, 2, 2)),
    ("separable_conv1d", [2, 8, 3], lambda tf, x: tf.layers.separable_conv1d(x, 4, 3)),
    ("separable_conv2d", [2, 8, 8, 3], lambda tf, x: tf.layers.separable_conv2d(x, 4, 3)),
    ("average_pooling1d", [2, 8, 3], lambda tf, x: tf.layers.average_pooling1d(x, 2, 2)),
    ("average_pooling2d", [2, 8, 8, 3], lambda tf, x: tf.layers.average_pooling2d(x, 2, 2)),
    ("average_pooling3d", [2, 4, 4, 4, 3], lambda tf, x: tf.layers.average_pooling3d(x, 2, 2)),
    ("max_pooling1d", [2, 8, 3], lambda tf, x: tf.layers.max_pooling1d(x, 2, 2)),
    ("max_pooling2d", [2, 8, 8, 3], lambda tf, x: tf.layers.max_pooling2d(x, 2, 2)),
    ("max_pooling3d", [2, 4, 4, 4, 3], lambda tf, x: tf.layers.max_pooling3d(x, 2, 2)),
    ("batch_normalization", [2, 8, 8, 3], lambda tf, x: tf.layers.batch_normalization(x)),
    (
        "batch_normalization in training",
        [2, 8, 8, 3],
        lambda tf, x: tf.layers.batch_normalization(x, training=True),
    ),
    ("batch_normalization of vectors", [4, 3], lambda tf, x: tf.layers.batch_normalization(x, training=True)),
    ("dropout", [4, 3], lambda tf, x: tf.layers.dropout(x, training=True)),
    ("flatten", [4, 3, 2], lambda tf, x: tf.layers.flatten(x)),
    ("local_response_normalization", [2, 8, 8, 3], lambda tf, x: tf.nn.local_response_normalization(x)),
    ("moments", [4, 3], lambda tf, x: sum(tf.nn.moments(x, [0]))),
    ("l2_normalize", [4, 3], lambda tf, x: tf.nn.l2_normalize(x, 1)),
):
    _add("layers", _name, _layer(_sizes, _make))

# Cells


def _cell(make, run):
    def build(tf, given):
        x = given([4, 5, 3])
        x.set_shape([x.shape[0] if x.shape.ndims else None, 5, 3])
        cell = make(tf)
        if run == "static":
            made, _ = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)
            made = made[-1]
        else:
            made, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
        tf.gradients(tf.reduce_sum(made), [x] + tf.trainable_variables())

    return build


for _name, _make in {
    "BasicRNNCell": lambda tf: tf.nn.rnn_cell.BasicRNNCell(2),
    "BasicLSTMCell": lambda tf: tf.nn.rnn_cell.BasicLSTMCell(2),
    "GRUCell": lambda tf: tf.nn.rnn_cell.GRUCell(2),
    "LSTMCell": lambda tf: tf.nn.rnn_cell.LSTMCell(2),
    "LSTMCell with peepholes": lambda tf: tf.nn.rnn_cell.LSTMCell(
        2, use_peepholes=True, num_proj=3, cell_clip=1.0
    ),
    "MultiRNNCell": lambda tf: tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(2) for _ in range(2)]),
    "DropoutWrapper": lambda tf: tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.GRUCell(2), 0.5, 0.5, 0.5),
    "ResidualWrapper": lambda tf: tf.nn.rnn_cell.ResidualWrapper(tf.nn.rnn_cell.GRUCell(3)),
    "DeviceWrapper": lambda tf: tf.nn.rnn_cell.DeviceWrapper(tf.nn.rnn_cell.GRUCell(2), "/gpu:2"),
}.items():
    for _run in ("static", "dynamic"):
        _add("cells", f"{_name} {_run}", _cell(_make, _run))

# Gradient tapes, whose nodes come in an order of their own


def _dense_on_tape(tf, given):
    w = tf.get_variable("w", [3, 4], use_resource=True)
    b = tf.get_variable("b", [4], use_resource=True)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.nn.relu(tf.matmul(given([2, 3]), w) + b)))
    tape.gradient(loss, [w, b])


def _rows_on_tape(tf, given):
    v = tf.get_variable("v", [5, 3], use_resource=True)
    with tf.GradientTape() as tape:
        rows = tf.nn.embedding_lookup(v, given([2], "int32"))
        loss = tf.reduce_sum(tf.gather(v, [1, 2]) * 2.0) + tf.reduce_sum(rows * rows)
    tape.gradient(loss, v)


def _layers_on_tape(tf, given):
    x = given([8, 8, 8, 3])
    x.set_shape([x.shape[0] if x.shape.ndims else None, 8, 8, 3])
    with tf.variable_scope("s", use_resource=True), tf.GradientTape() as tape:
        hidden = tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu)
        hidden = tf.layers.max_pooling2d(tf.layers.batch_normalization(hidden, training=True), 2, 2)
        logits = tf.layers.dense(tf.layers.flatten(hidden), 10)
        loss = tf.losses.sparse_softmax_cross_entropy(given([8], "int32"), logits)
    tape.gradient(loss, tf.trainable_variables())


def _several_targets_on_tape(tf, given):
    x, z = given([2, 3]), given([2, 3])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, z])
        a = x * z + 2.0 * x
        b = tf.exp(z) - x
        c = tf.maximum(a, 0.5) ** 2.0
    tape.gradient([a, b, c], [x, z])
    tape.gradient([c, b, a], {"x": x, "z": z}, output_gradients=[a, b, c])
    tape.gradient(b, [x, z], unconnected_gradients="zero")


def _many_targets_on_tape(tf, given):
    x = given([3])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        parts = [tf.sin(x * float(i)) for i in range(20)]
        total = tf.add_n(parts)
    tape.gradient(total, x)
    tape.gradient(parts, x)
    tape.gradient(parts[3::4], [x, parts[3]])


def _watched_half_on_tape(tf, given):
    a, b, c, v = given([3, 4]), given([4, 5]), given([3, 5]), tf.get_variable("v", [5])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(a)
        y = tf.matmul(a, b)
        rest = v * y - y / v
        results = [
            tf.matmul(c, y, transpose_b=True),
            tf.squared_difference(y, c),
            tf.minimum(1.0, y) - tf.pow(y, c) + tf.pow(2.0, y) + tf.stop_gradient(y),
            (rest - 1.0) * (1.0 - rest),
            tf.split(y, 5, axis=1)[3] / 2.0,
        ]
    for result in results:
        tape.gradient(result, a)


def _twice_on_tape(tf, given):
    x = given([])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x * tf.sin(x)
        slope = inner.gradient(y, x)
    outer.gradient(slope, x)


def _normalised_twice(tf, given):
    for dtype in ("float32", "float16"):
        for data_format in ("NHWC", "NCHW"):
            for is_training in (True, False):
                x, scale, offset, mean, variance = given([2, 4, 4, 4], dtype), *(given([4]) for _ in range(4))
                statistics = {} if is_training else {"mean": mean, "variance": variance}
                y, _, _ = tf.nn.fused_batch_norm(
                    x, scale, offset, data_format=data_format, is_training=is_training, **statistics
                )
                slopes = tf.gradients(y, [x, scale])
                tf.gradients(slopes, [x, scale])


for _name, _build in {
    "dense": _dense_on_tape,
    "rows": _rows_on_tape,
    "layers": _layers_on_tape,
    "several targets": _several_targets_on_tape,
    "many targets": _many_targets_on_tape,
    "some inputs": _watched_half_on_tape,
    "twice": _twice_on_tape,
    "batch normalization twice": _normalised_twice,
}.items():
    _add("tapes", _name, _build)
