"""What is read of a reference variable is its own memory: what is assigned afterwards shows in it, as in TensorFlow.

The answers are TensorFlow 1.15.5's.
"""

import numpy as np
import pytest

import gpuplace as tf


def read_after_assignment():
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.assign(5.0)]):
        return v + 1


def read_through_identities():
    v = tf.Variable(1.0)
    read = tf.stop_gradient(tf.identity(v))
    with tf.control_dependencies([v.assign(5.0)]):
        return read + 1


def computed_before():
    v = tf.Variable(1.0)
    before = v + 0.0
    with tf.control_dependencies([before]):
        assigned = v.assign(5.0)
    with tf.control_dependencies([assigned]):
        return [before + 1, v + 1]


def in_a_branch():
    v = tf.Variable(1.0)
    taken = tf.cond(tf.constant(True), lambda: v.assign_add(2.0), lambda: v + 0.0)
    with tf.control_dependencies([taken]):
        return v + 1


def squared_in_a_loop():
    v = tf.Variable(2.0)

    def body(i):
        with tf.control_dependencies([tf.assign(v, v * v)]):
            return i + 1

    loop = tf.while_loop(lambda i: i < 4, body, [0])
    with tf.control_dependencies([loop]):
        return v.read_value()


def a_loop_variable_that_becomes_a_reference():
    v = tf.Variable(2.0)
    return tf.while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, tf.assign(v, v * v)), [0, tf.constant(0.0)])


def a_loop_that_ends_by_the_variable():
    v = tf.Variable(0)

    def body(i):
        with tf.control_dependencies([tf.assign_add(v, 1)]):
            return i + 1

    return tf.while_loop(lambda i: v < 5, body, [tf.constant(0)])


def read_in_every_iteration():
    v = tf.Variable(0)

    def body(x):
        with tf.control_dependencies([v.assign_add(1)]):
            return tf.identity(v)

    return tf.while_loop(lambda x: x < 5, body, [tf.constant(0)])


def a_branch_in_a_loop():
    v = tf.Variable(1.0)

    def body(i):
        add = tf.cond(tf.equal(i % 2, 0), lambda: v.assign_add(2.0), lambda: v.assign_add(3.0))
        with tf.control_dependencies([add]):
            return i + 1

    with tf.control_dependencies([tf.while_loop(lambda i: i < 4, body, [0])]):
        return [v.read_value(), v + 0.0]


ANSWERS = [
    (read_after_assignment, 6.0),
    (read_through_identities, 6.0),
    (computed_before, [2.0, 6.0]),
    (in_a_branch, 4.0),
    (squared_in_a_loop, 65536.0),
    (a_loop_variable_that_becomes_a_reference, (4, 65536.0)),
    (a_loop_that_ends_by_the_variable, 5),
    (read_in_every_iteration, 5),
    (a_branch_in_a_loop, [11.0, 11.0]),
]


@pytest.mark.parametrize("machine", ["cpu", "1x Tesla K40c"])
@pytest.mark.parametrize(("program", "answer"), ANSWERS, ids=[program.__name__ for program, _ in ANSWERS])
def test_what_is_assigned_shows(program, answer, machine):
    tf.use_machine(machine)
    fetches = program()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(fetches, options=tf.RunOptions(timeout_in_ms=20_000)) == answer


def test_a_step_of_training_reads_before_it_updates():
    v = tf.Variable(np.float32([1, 2]))
    other = tf.reduce_sum(v * v)
    step = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(v * v))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([other, step])[0] == 5.0
        assert session.run([other, step])[0] == 0.0
