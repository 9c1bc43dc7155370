"""Optimizers, learning rates, moving averages, losses and layers: what they compute in a session."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.ops.train.global_step import global_step_read, increment_global_step
from gpuplace.ops.train.moving_averages import assign_moving_average, weighted_moving_average

MACHINE = pytest.mark.parametrize(
    "machine",
    [
        pytest.param("cpu", id="numpy"),
        pytest.param("2x Tesla K40c", id="simulated"),
        pytest.param("local", id="cupy", marks=pytest.mark.gpu),
    ],
)
BOTH = pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
OPTIMIZERS = {
    "descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda: tf.train.AdamOptimizer(0.1, epsilon=1e-3),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5, epsilon=1e-3),
    "centered": lambda: tf.train.RMSPropOptimizer(0.1, epsilon=1e-3, centered=True),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
}


def use(machine):
    tf.use_machine(tf.Machine.local() if machine == "local" else machine)


def by_hand(name, value, gradient_of, steps):
    """The value after some steps, from the formulas of the optimizers' papers."""
    accum, mean, square, velocity = np.zeros(3), np.zeros(3), np.ones(3), np.zeros(3)
    if name == "adagrad":
        square = np.full(3, 0.1)
    if name == "adam":
        square = np.zeros(3)
    for step in range(1, steps + 1):
        g = gradient_of(value)
        if name == "descent":
            value = value - 0.1 * g
        elif name in ("momentum", "nesterov"):
            accum = 0.9 * accum + g
            value = value - 0.1 * (g + 0.9 * accum if name == "nesterov" else accum)
        elif name == "adam":
            mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g * g
            rate = 0.1 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            value = value - rate * mean / (np.sqrt(square) + 1e-3)
        elif name == "adagrad":
            square = square + g * g
            value = value - 0.1 * g / np.sqrt(square)
        else:
            square, mean = 0.9 * square + 0.1 * g * g, 0.9 * mean + 0.1 * g
            centre = mean**2 if name == "centered" else 0.0
            velocity = (0.5 if name == "rmsprop" else 0.0) * velocity + 0.1 * g / np.sqrt(
                square - centre + 1e-3
            )
            value = value - velocity
    return value


@MACHINE
@BOTH
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_three_steps(name, use_resource, machine):
    use(machine)
    start = np.array([1.0, -2.0, 0.5])
    v = tf.Variable(start.astype(np.float32), use_resource=use_resource)
    step = tf.train.get_or_create_global_step()
    train = OPTIMIZERS[name]().minimize(tf.reduce_sum(v * v * v + v), global_step=step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        np.testing.assert_allclose(
            session.run(v), by_hand(name, start, lambda x: 3 * x * x + 1, 3), rtol=1e-4
        )
        assert tf.train.global_step(session, step) == 3


@BOTH
@pytest.mark.parametrize("name", ["descent", "momentum", "adam", "adagrad", "rmsprop"])
def test_rows_of_a_table_learn_like_the_whole(name, use_resource):
    """The first step from gathered rows moves them as a step of the dense table does, and leaves the others."""
    table = np.arange(15, dtype=np.float32).reshape(5, 3)
    sparse = tf.Variable(table, use_resource=use_resource)
    dense = tf.Variable(table, use_resource=use_resource)
    target = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    rows = tf.nn.embedding_lookup(sparse, [3, 1, 3])
    first = OPTIMIZERS[name]().minimize(tf.reduce_sum(rows * target))
    weights = np.zeros([5, 3], np.float32)
    weights[3], weights[1] = [8, 10, 12], [4, 5, 6]
    second = OPTIMIZERS[name]().minimize(tf.reduce_sum(dense * weights), var_list=[dense])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([first, second])
        one, other = session.run([sparse, dense])
    np.testing.assert_allclose(one[[1, 3]], other[[1, 3]], rtol=1e-5)
    np.testing.assert_array_equal(one[[0, 2, 4]], table[[0, 2, 4]])


def test_slots_are_beside_their_variable():
    with tf.device("/gpu:1"):
        v = tf.get_variable("v", [3])
    optimizer = tf.train.AdamOptimizer()
    optimizer.minimize(tf.reduce_sum(v * v))
    assert optimizer.get_slot_names() == ["m", "v"]
    assert optimizer.get_slot(v, "m").name == "v/Adam:0"
    assert [x.name for x in optimizer.variables()] == [
        "beta1_power:0",
        "beta2_power:0",
        "v/Adam:0",
        "v/Adam_1:0",
    ]
    placement = tf.place(tf.get_default_graph(), machine="2x Tesla K40c")
    for name in ("v/Adam", "Adam/update_v/ApplyAdam", "beta1_power"):
        assert placement[name].endswith("GPU:1")


def test_a_constraint_is_applied_after_the_update():
    v = tf.get_variable("v", [2], initializer=tf.ones_initializer(), constraint=lambda x: tf.maximum(x, 0.0))
    train = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(v * [3.0, 0.5]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_array_equal(session.run(v), [0, 0.5])


def test_variables_are_taken_from_dictionaries_and_their_views():
    weights = {"a": tf.Variable(1.0), "b": [tf.Variable(2.0), tf.Variable(3.0)]}
    loss = weights["a"] * weights["b"][0] * weights["b"][1]
    for given in (weights, weights.values()):
        pairs = tf.train.GradientDescentOptimizer(0.1).compute_gradients(loss, given)
        assert [variable for _, variable in pairs] == [weights["a"], *weights["b"]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda o, v: o.minimize(tf.constant(1.0), var_list=[]), ValueError, "No variables to optimize."),
        (
            lambda o, v: o.minimize(tf.constant(1.0)),
            ValueError,
            "No gradients provided for any variable, check",
        ),
        (lambda o, v: o.minimize(tf.constant(1)), ValueError, "Invalid type tf.int32 for Const"),
        (lambda o, v: o.apply_gradients([]), ValueError, "No variables provided."),
        (lambda o, v: o.apply_gradients([(None, v)]), ValueError, "No gradients provided for any variable: "),
        (lambda o, v: o.compute_gradients(v, gate_gradients=7), ValueError, "gate_gradients must be one of"),
    ],
)
def test_optimizers_refuse(call, error, message):
    v = tf.Variable(1.0)
    with pytest.raises(error, match=message):
        call(tf.train.GradientDescentOptimizer(0.1), v)


def test_learning_rates():
    step = tf.placeholder(tf.int64, [])
    rates = [
        tf.train.exponential_decay(1.0, step, 10, 0.5),
        tf.train.exponential_decay(1.0, step, 10, 0.5, staircase=True),
        tf.train.natural_exp_decay(1.0, step, 10, 0.5),
        tf.train.inverse_time_decay(1.0, step, 10, 0.5),
        tf.train.polynomial_decay(1.0, step, 10, 0.1, power=2.0),
        tf.train.cosine_decay(1.0, step, 30, alpha=0.1),
        tf.train.polynomial_decay(1.0, step, 10, 0.1, cycle=True),
        tf.train.linear_cosine_decay(1.0, step, 30, alpha=0.1),
        tf.train.cosine_decay_restarts(1.0, step, 10, m_mul=0.5),
        tf.train.cosine_decay_restarts(1.0, step, 10, t_mul=1.0, alpha=0.2),
    ]
    with tf.Session() as session:
        found = session.run(rates, {step: 15})
    expected = [0.5**1.5, 0.5, np.exp(-0.75), 1 / 1.75, 0.1, 0.55, 0.325, 0.301]
    expected += [0.25 * (1 + np.cos(np.pi / 4)), 0.6]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_global_step_is_counted_after_it_was_read():
    with pytest.raises(ValueError, match="There is no global step"):
        increment_global_step(1)
    tf.train.create_global_step()
    count = increment_global_step(3)
    with tf.train.MonitoredTrainingSession() as session:
        assert [int(session.run([global_step_read(), count])[0]) for _ in range(3)] == [0, 3, 6]


def test_moving_averages():
    v = tf.Variable([1.0])
    average = tf.train.ExponentialMovingAverage(0.9)
    move = average.apply([v])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(v.assign([2.0]))
        session.run(move)
        np.testing.assert_allclose(session.run(average.average(v)), [1.1], rtol=1e-6)
    assert average.average_name(v) == "Variable/ExponentialMovingAverage"
    assert average.variables_to_restore() == {"Variable/ExponentialMovingAverage": v}


def test_assigned_averages_begin_at_zero_unless_that_is_refused():
    x = tf.placeholder(tf.float32, [2])
    with tf.variable_scope("net"):
        average, plain = tf.get_variable("average", [2]), tf.Variable(tf.zeros([2]))
        moves = [
            assign_moving_average(average, x, 0.75),
            assign_moving_average(plain, x, 0.75, zero_debias=False),
        ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(moves, {x: [1.0, 2.0]})
        found = session.run(moves, {x: [3.0, 6.0]})
    total = np.array([0.75 * 0.25 + 0.75, 0.75 * 0.5 + 1.5])
    np.testing.assert_allclose(found, [total / (1 - 0.75**2), total], rtol=1e-6)
    names = {variable.op.name for variable in tf.global_variables()}
    assert {"net/net/average/biased", "net/net/average/local_step"} <= names


@pytest.mark.parametrize("is_true_division", [True, False])
def test_averages_of_values_with_weights(is_true_division):
    value, weight = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    average = weighted_moving_average(value, 0.5, weight, is_true_division, ["kept"], "mean")
    assert average.op.name == "mean/mean"
    assert [one.op.name for one in tf.get_collection("kept")] == ["mean/value_x_weight", "mean/weight"]
    with tf.Session() as session:
        session.run(tf.variables_initializer(tf.get_collection("kept")))
        assert session.run(average, {value: 3.0, weight: 4.0}) == 3.0
        assert session.run(average, {value: 12.0, weight: 1.0}) == pytest.approx(6.0)


LOGITS = np.array([[2.0, -1.0, 0.5], [0.0, 1.0, -2.0]])
TRUTH = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])


def test_moving_averages_of_tensors_begin_at_zero():
    x = tf.placeholder(tf.float32, [2])
    total = tf.reduce_sum(x, name="total")
    plain, unbiased = (
        tf.train.ExponentialMovingAverage(0.75, name="plain"),
        tf.train.ExponentialMovingAverage(0.75, zero_debias=True),
    )
    moves = [plain.apply([total, x]), unbiased.apply([total, x])]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value in ([1.0, 2.0], [3.0, 1.0]):
            session.run(moves, {x: value})
        fetched = session.run(
            [plain.average(total), unbiased.average(total), plain.average(x), unbiased.average(x)]
        )
    first, second = 0.25 * 3.0, 0.75 * 0.25 * 3.0 + 0.25 * 4.0
    weight = 1 - 0.75**2
    assert first < second
    np.testing.assert_allclose(fetched[0], second, rtol=1e-6)
    np.testing.assert_allclose(fetched[1], second / weight, rtol=1e-6)
    expected = 0.75 * 0.25 * np.array([1.0, 2.0]) + 0.25 * np.array([3.0, 1.0])
    np.testing.assert_allclose(fetched[2], expected, rtol=1e-6)
    np.testing.assert_allclose(fetched[3], expected / weight, rtol=1e-6)
    assert plain.average_name(total) == "total/plain" and tf.moving_average_variables() == []
    with pytest.raises(TypeError, match="must be half, float, or double: "):
        plain.apply([tf.constant(1, name="whole")])


def log_softmax(x):
    return x - np.log(np.exp(x).sum(1, keepdims=True))


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (lambda x, y: tf.losses.mean_squared_error(y, x), ((LOGITS - TRUTH) ** 2).mean()),
        (
            lambda x, y: tf.losses.mean_squared_error(y, x, weights=[[0.0], [2.0]]),
            2 * ((LOGITS - TRUTH) ** 2)[1].mean(),
        ),
        (lambda x, y: tf.losses.absolute_difference(y, x), np.abs(LOGITS - TRUTH).mean()),
        (lambda x, y: tf.losses.softmax_cross_entropy(y, x), -(TRUTH * log_softmax(LOGITS)).sum(1).mean()),
        (
            lambda x, y: tf.losses.sparse_softmax_cross_entropy([1, 0], x),
            -(TRUTH * log_softmax(LOGITS)).sum(1).mean(),
        ),
        (
            lambda x, y: tf.losses.sigmoid_cross_entropy(y, x),
            np.mean(np.log1p(np.exp(-np.abs(LOGITS))) + np.maximum(LOGITS, 0) - LOGITS * TRUTH),
        ),
        (lambda x, y: tf.losses.hinge_loss(y, x), np.maximum(0, 1 - (2 * TRUTH - 1) * LOGITS).mean()),
        (
            lambda x, y: tf.losses.huber_loss(y, x, delta=1.0),
            np.where(
                np.abs(LOGITS - TRUTH) < 1, (LOGITS - TRUTH) ** 2 / 2, np.abs(LOGITS - TRUTH) - 0.5
            ).mean(),
        ),
        (
            lambda x, y: tf.losses.absolute_difference(y, x, reduction=tf.losses.Reduction.SUM),
            np.abs(LOGITS - TRUTH).sum(),
        ),
    ],
)
def test_losses(loss, expected):
    value = loss(tf.constant(LOGITS, tf.float32), tf.constant(TRUTH, tf.float32))
    assert tf.losses.get_losses() == [value]
    with tf.Session() as session:
        assert session.run(tf.losses.get_total_loss()) == pytest.approx(expected, rel=1e-5)


def test_weights_of_a_loss_have_to_broadcast():
    with pytest.raises(
        ValueError, match="weights can not be broadcast to values. values.rank=2. weights.rank=1."
    ):
        tf.losses.mean_squared_error(tf.zeros([2, 3]), tf.zeros([2, 3]), weights=[1.0, 2.0])


@MACHINE
def test_layers_share_variables_and_compute(machine):
    use(machine)
    x = np.linspace(-1, 1, 2 * 6 * 6 * 1).reshape(2, 6, 6, 1).astype(np.float32)

    def net(reuse):
        h = tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu, name="conv", reuse=reuse)
        h = tf.layers.max_pooling2d(h, 2, 2)
        return tf.layers.dense(tf.layers.flatten(h), 5, name="out", reuse=reuse)

    first, second = net(None), net(True)
    assert [v.name for v in tf.trainable_variables()] == [
        "conv/kernel:0",
        "conv/bias:0",
        "out/kernel:0",
        "out/bias:0",
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        one, other = session.run([first, second])
    assert one.shape == (2, 5)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("shape", [[8, 3], [4, 2, 2, 3]])
def test_batch_normalization_trains_its_averages(shape):
    x = np.random.RandomState(0).normal(3.0, 2.0, shape).astype(np.float32)
    y = tf.layers.batch_normalization(x, momentum=0.5, training=True, name="norm")
    z = tf.layers.batch_normalization(x, training=False, name="norm", reuse=True)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    axes = tuple(range(len(shape) - 1))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        normal, _ = session.run([y, updates])
        mean = session.run(tf.global_variables()[2])
        still = session.run(z)
    np.testing.assert_allclose(normal.mean(axes), 0, atol=1e-5)
    np.testing.assert_allclose(normal.std(axes), 1, atol=1e-2)
    np.testing.assert_allclose(mean, x.mean(axes) / 2, rtol=1e-4)
    assert not np.allclose(still, normal, atol=0.1)


def test_dropout_keeps_the_mean():
    x = np.ones([100, 100], np.float32)
    y = tf.nn.dropout(x, rate=0.25, seed=1)
    with tf.Session() as session:
        value = session.run(y)
        assert session.run(tf.layers.dropout(x)).min() == 1
    assert set(np.unique(value)) == {0, np.float32(1 / 0.75)}
    assert value.mean() == pytest.approx(1, abs=0.03)
    with pytest.raises(
        ValueError, match=r"rate must be a scalar tensor or a float in the range \[0, 1\), got 1"
    ):
        tf.nn.dropout(x, rate=1)


def test_convolutions_refuse_shapes_that_do_not_fit():
    x = tf.placeholder(tf.float32, [1, 5, 5, 3])
    with pytest.raises(
        ValueError,
        match=r"Depth of input \(3\) is not a multiple of input depth of filter \(4\) for 'Conv2D'",
    ):
        tf.nn.conv2d(x, tf.ones([2, 2, 4, 8]), [1, 1, 1, 1], "SAME")
    with pytest.raises(ValueError, match="Negative dimension size caused by subtracting 6 from 5"):
        tf.nn.conv2d(x, tf.ones([6, 2, 3, 8]), [1, 1, 1, 1], "VALID")
    with pytest.raises(ValueError, match="Shape must be rank 4 but is rank 2"):
        tf.nn.max_pool(tf.ones([2, 3]), 2, 2, "SAME")


def test_channels_first_needs_a_gpu():
    x = np.ones([1, 3, 4, 4], np.float32)
    with tf.device("/cpu:0"):
        y = tf.nn.conv2d(x, tf.ones([2, 2, 3, 1]), 1, "VALID", data_format="NCHW")
    z = tf.nn.conv2d(x, tf.ones([2, 2, 3, 1]), 1, "VALID", data_format="NCHW")
    tf.use_machine("1x Tesla K40c")
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(z), np.full([1, 1, 3, 3], 12))
        with pytest.raises(
            tf.errors.UnimplementedError, match="only supports the NHWC tensor format on the CPU"
        ):
            session.run(y)


def test_a_step_may_be_a_vector_of_one():
    step = tf.Variable([17], name="global_step")
    with tf.Session() as session:
        session.run(step.initializer)
        assert tf.train.global_step(session, step) == 17
