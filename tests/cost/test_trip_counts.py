"""Numbers of trips of loops, beside those that a session takes."""

import numpy as np
import pytest

import gpuplace as tf
from tests.support.inferred_shapes import inferred


def trips_of(condition, body, start):
    """The predicted number of trips of a loop with one variable, and the number that a step takes."""
    with tf.Graph().as_default() as graph:
        result = tf.while_loop(
            lambda count, value: condition(value), lambda count, value: (count + 1, body(value)), [0, start]
        )
        trips = inferred(graph.as_graph_def(), "1.15").trips
        with tf.Session() as session:
            return trips["while/while_context"], session.run(result[0])


@pytest.mark.parametrize(
    ("condition", "body", "start"),
    [
        (lambda i: i < 7, lambda i: i + 1, 0),
        (lambda i: i <= 7, lambda i: i + 1, 0),
        (lambda i: i < 7, lambda i: i + 2, 0),
        (lambda i: i <= 8, lambda i: i + 2, 0),
        (lambda i: i < 7, lambda i: i + 3, -4),
        (lambda i: i < 7, lambda i: 1 + i, 9),
        (lambda i: tf.less(tf.constant(3), i), lambda i: i - 1, 8),
        (lambda i: i > 3, lambda i: i - 2, 8),
        (lambda i: i >= 3, lambda i: i - 1, 8),
        (lambda i: tf.not_equal(i, 6), lambda i: i + 2, 0),
        (lambda i: tf.logical_not(tf.equal(i, 5)), lambda i: i + 1, 0),
        (lambda i: tf.logical_and(i < 9, i < 4), lambda i: i + 1, 0),
        (lambda i: tf.logical_or(i < 2, i < 4), lambda i: i + 1, 0),
        (lambda i: i < 100, lambda i: i * 2, 1),
        (lambda i: i * i < 50, lambda i: i + 1, 0),
        (lambda i: i + 1 < 6, lambda i: i + 1, 0),
        (lambda x: x < 1.0, lambda x: x + 0.25, 0.0),
        (lambda x: x > 0.1, lambda x: x / 2, 1.0),
        (lambda i: tf.reduce_sum(i) < 10, lambda i: i + [1, 2], np.array([0, 0])),
    ],
)
def test_trips_are_those_of_a_step(condition, body, start):
    predicted, counted = trips_of(condition, body, start)
    assert predicted == counted


def test_a_condition_that_also_depends_on_data_runs_to_its_bound():
    with tf.Graph().as_default() as graph:
        rows = tf.placeholder(tf.float32, [4])
        tf.while_loop(
            lambda i, x: tf.logical_and(i < 6, tf.reduce_max(x) < 9), lambda i, x: (i + 1, x + 1), [0, rows]
        )
        assert inferred(graph.as_graph_def(), "1.15").trips == {"while/while_context": 6}


def test_an_inner_loop_that_runs_to_the_outer_counter_takes_its_mean():
    def inner(outer):
        return tf.while_loop(lambda j: j < outer, lambda j: j + 1, [0], name="inner")

    with tf.Graph().as_default() as graph:
        tf.while_loop(
            lambda i, total: i < 5, lambda i, total: (i + 1, total + inner(i)), [0, 0], name="outer"
        )
        trips = inferred(graph.as_graph_def(), "1.15").trips
    assert trips["outer/while_context"] == 5
    assert trips["outer/inner/while_context"] == pytest.approx(2)


def test_the_gradient_of_a_loop_goes_back_as_often():
    with tf.Graph().as_default() as graph:
        start = tf.Variable(1.0)
        result = tf.while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, tf.sin(x)), [0, start._ref()])[1]
        tf.gradients(result, start)
        trips = inferred(graph.as_graph_def(), "1.15").trips
    assert trips == {"while/while_context": 4, "gradients/while/while_context": 4}
