"""Gradients through conditionals and loops, against those of the same program without them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpuplace as tf


@pytest.fixture
def x():
    return tf.placeholder(tf.float32, [], name="x")


def run(fetches, feed=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


STEPS = {
    "square": lambda v, w: v * v * 0.5,
    "sine": lambda v, w: tf.sin(v) * w,
    "sum": lambda v, w: v + tf.reduce_sum(w),
    "tanh": lambda v, w: tf.tanh(v + w) * w[0],
    "cond": lambda v, w: tf.cond(tf.reduce_sum(v) > 1.0, lambda: v * w, lambda: v - w),
    "inner": lambda v, w: tf.while_loop(lambda j, u: j < 2, lambda j, u: (j + 1, u * w + v), [0, v])[1],
    "part": lambda v, w: tf.cond(tf.reduce_sum(w) > 0.5, lambda: tf.identity(v), lambda: tf.zeros([2])),
}


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=3),
    st.integers(0, 4),
    st.lists(st.floats(-1, 1, width=16), min_size=4, max_size=4),
    st.booleans(),
)
def test_gradients_are_those_of_the_loop_written_out(names, times, values, is_on_gpu):
    tf.reset_runtime()
    tf.use_machine("1x Tesla K40c" if is_on_gpu else "cpu")

    def step(v, w):
        for name in names:
            v = STEPS[name](v, w)
        return v

    results = []
    for has_loop in (True, False):
        with tf.Graph().as_default():
            v, w = tf.constant(values[:2], tf.float32), tf.constant(values[2:], tf.float32)
            if has_loop:
                total = tf.while_loop(lambda i, v: i < times, lambda i, v, w=w: (i + 1, step(v, w)), [0, v])[
                    1
                ]
            else:
                total = v
                for _ in range(times):
                    total = step(total, w)
            dv, dw = tf.gradients(total, [v, w], unconnected_gradients="zero")
            results.append(run([total, dv, dw]))
    for looped, written_out in zip(*results, strict=True):
        np.testing.assert_allclose(looped, written_out, rtol=1e-5, atol=1e-6)


def test_rows_of_a_table_that_are_looked_up_in_a_loop():
    table = tf.Variable(np.arange(12, dtype=np.float32).reshape(4, 3) / 10, use_resource=False)
    rows = tf.constant([1, 3, 1])
    start = tf.constant(np.ones(3, np.float32))
    total = tf.while_loop(
        lambda i, v: i < 3,
        lambda i, v: (i + 1, v * tf.reshape(tf.gather(table, rows[i : i + 1]), [3])),
        [0, start],
    )[1]
    other = start
    for i in range(3):
        other = other * tf.reshape(tf.gather(table, rows[i : i + 1]), [3])
    gradient, expected = (tf.gradients(one, table)[0] for one in (total, other))
    assert isinstance(gradient, tf.IndexedSlices)
    found, wanted = run([tf.convert_to_tensor(gradient), tf.convert_to_tensor(expected)])
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_slices_through_a_conditional(x):
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0]], use_resource=False)
    result = tf.cond(x > 0, lambda: tf.gather(table, [1]) * x, lambda: table[:1] * 2.0)
    gradient = tf.convert_to_tensor(tf.gradients(result, table)[0])
    with tf.Session() as session:
        session.run(table.initializer)
        np.testing.assert_array_equal(session.run(gradient, {x: 3.0}), [[0, 0], [3, 3]])
        np.testing.assert_array_equal(session.run(gradient, {x: -3.0}), [[2, 2], [0, 0]])


def test_an_optimizer_learns_through_a_loop():
    w = tf.Variable(0.1, use_resource=True)
    total = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * w), [0, tf.constant(1.0)])[1]
    train = tf.train.GradientDescentOptimizer(0.05).minimize(tf.square(total - 0.5))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(400):
            session.run(train)
        assert session.run(total) == pytest.approx(0.5, abs=1e-2)


def test_outputs_that_nothing_uses_have_gradients_of_zero(x):
    result = tf.while_loop(lambda i, v, u: i < 3, lambda i, v, u: (i + 1, v * u, u + v), [0, x, x])
    used, unused = tf.gradients(result[1], x)[0], tf.gradients(result[1:], x)[0]
    h = 1e-3

    def value(at):
        v = u = at
        for _ in range(3):
            v, u = v * u, u + v
        return v, v + u

    got = run([used, unused], {x: 1.1})
    for index, found in enumerate(got):
        assert found == pytest.approx((value(1.1 + h)[index] - value(1.1 - h)[index]) / (2 * h), rel=1e-3)


def test_loops_without_gradients(x):
    stopped = tf.while_loop(lambda v: v < 10.0, lambda v: v * x, [x], back_prop=False)
    assert tf.gradients(stopped, x) == [None]
    twice = tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, v * x), [0, x])[1]
    first = tf.gradients(twice, x)[0]
    with pytest.raises(TypeError, match="Second-order gradient for while loops not supported."):
        tf.gradients(first, x)


def test_an_imported_loop_has_no_gradient(x):
    tf.while_loop(lambda v: v < 10.0, lambda v: v * v, [x])
    message = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        x, result = tf.import_graph_def(message, return_elements=["x:0", "while/Exit:0"], name="")
        with pytest.raises(ValueError, match="Failed to call gradients on a while loop without"):
            tf.gradients(result, x)
        assert run(result, {x: 3.0}) == 81.0


def test_a_stack_that_is_empty_says_so():
    from gpuplace.graph.apply_op import apply_op

    stack = apply_op("StackV2", max_size=1, elem_type=tf.float32).outputs[0]
    popped = apply_op("StackPopV2", handle=stack, elem_type=tf.float32).outputs[0]
    with tf.control_dependencies([apply_op("StackPushV2", handle=stack, elem=1.0)]):
        second = apply_op("StackPushV2", handle=stack, elem=2.0).outputs[0]
    with tf.Session() as session:
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"Stack\[.*\] is empty when calling Pop\(\)."
        ):
            session.run(popped)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"overflowed its max_size \(1\)"):
            session.run(second)
