"""Functions of elements as messages: a graph that was written and read again runs its pipelines."""

import pytest

import gpuplace as tf
from gpuplace.graphdef.function_def import body_of


def drained(session, tensor):
    found = []
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        while True:
            found.append(int(session.run(tensor)))
    return found


def test_a_pipeline_runs_from_its_graph_def():
    ten = tf.constant(10, tf.int64)
    dataset = tf.data.Dataset.range(3).flat_map(lambda x: tf.data.Dataset.range(2).map(lambda y: x * ten + y))
    element = dataset.make_one_shot_iterator().get_next()
    message = tf.get_default_graph().as_graph_def()
    expected = [0, 1, 10, 11, 20, 21]
    with tf.Session() as session:
        assert drained(session, element) == expected
    with tf.Graph().as_default() as graph:
        (read,) = tf.import_graph_def(message, return_elements=[element.name], name="")
        assert not graph.function_bodies
        with tf.Session() as session:
            assert drained(session, read) == expected


def test_an_error_in_a_function_leaves_the_elements_after_it():
    dataset = tf.data.Dataset.from_tensor_slices([1.0, 0.0, 2.0]).map(
        lambda x: tf.check_numerics(1 / x, "bad")
    )
    element = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert session.run(element) == 1.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad : Tensor had Inf values"):
            session.run(element)
        assert session.run(element) == 0.5


def test_a_function_that_is_not_there_is_named():
    with pytest.raises(tf.errors.NotFoundError, match="Function square is not defined"):
        body_of(tf.get_default_graph(), "square")
