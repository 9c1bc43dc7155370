"""Gradients that nobody takes do not run; what somebody waits for, asks for or looks at does."""

import numpy as np
import pytest

import gpuplace as tf


@pytest.fixture(autouse=True)
def one_processor():
    tf.use_machine("cpu")


def dense():
    """A layer over fed values: its gradients, and the step that trains it."""
    x = tf.placeholder(tf.float32, [4, 3])
    kernel = tf.Variable(tf.ones([3, 2]))
    loss = tf.reduce_sum(tf.square(tf.matmul(x, kernel)))
    return x, kernel, tf.train.GradientDescentOptimizer(0.1).minimize(loss)


def types_of(session):
    plans = [plan for plan in session._plans.values() if len(plan.schedule.feeds) == 1]
    return [step.op_type for plan in plans for step in plan.schedule.steps]


def trained(config=None):
    x, kernel, step = dense()
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        session.run(step, {x: np.eye(4, 3)})
        return session.run(kernel), types_of(session).count("MatMul")


def test_the_gradient_of_what_is_fed_is_not_computed():
    off = tf.ConfigProto()
    off.graph_options.rewrite_options.dependency_optimization = 2
    (value, products), (other, all_products) = trained(), trained(off)
    assert (products, all_products) == (2, 3)
    assert value.tobytes() == other.tobytes()


def test_what_is_asked_for_runs():
    x, kernel, step = dense()
    gradient = next(
        op for op in tf.get_default_graph().get_operations() if op.name == "gradients/MatMul_grad/MatMul"
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([step, gradient], {x: np.eye(4, 3)})
        assert types_of(session).count("MatMul") == 3
        session.run([step, gradient.outputs[0]], {x: np.eye(4, 3)})
        assert types_of(session).count("MatMul") == 6


def test_traced_steps_show_every_node():
    x, kernel, step = dense()
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(step, {x: np.eye(4, 3)}, options, metadata)
    names = {node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats}
    assert "gradients/MatMul_grad/MatMul" in names


def test_control_dependencies_that_somebody_wrote_run():
    x = tf.placeholder(tf.float32, [4, 4])
    with tf.control_dependencies([tf.matmul(x, x)]):
        after = tf.no_op()
    with tf.Session() as session:
        session.run(after, {x: np.eye(4)})
        assert types_of(session).count("MatMul") == 1


def test_values_of_a_tuple_that_nobody_takes_and_what_is_made_for_them():
    x = tf.placeholder(tf.float32, [4, 4])
    first, _ = tf.tuple([x + 1.0, tf.matmul(tf.tanh(x), x)])
    with tf.Session() as session:
        assert session.run(first, {x: np.zeros((4, 4))}).max() == 1
        assert not {"MatMul", "Tanh"} & set(types_of(session))
