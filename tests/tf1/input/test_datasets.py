"""Datasets that something is wrong with, and iterators of another graph, as in TensorFlow 1.15.5."""

import pytest

import gpuplace as tf
from gpuplace.tf1.data import iterators


def test_a_one_shot_iterator_copies_the_dataset(caplog):
    dataset = tf.data.Dataset.range(3)
    with tf.Graph().as_default() as graph:
        value = dataset.make_one_shot_iterator().get_next()
        assert value.graph is graph
        with tf.Session() as session:
            assert [session.run(value) for _ in range(3)] == [0, 1, 2]
    assert "all datasets in the pipeline are created in the same graph as the iterator" in caplog.text


def test_functions_are_not_copied_with_it(caplog):
    dataset = tf.data.Dataset.range(3).map(lambda x: x * 2)
    with tf.Graph().as_default():
        value = dataset.make_one_shot_iterator().get_next()
        with tf.Session() as session, pytest.raises(tf.errors.OpError, match="__inference_Dataset_map"):
            session.run(value)
        with pytest.raises(ValueError, match="must be from the same graph"):
            dataset.make_initializable_iterator()
    assert caplog.text.count("is different from the graph") == 4


def test_many_calls_of_get_next():
    iterator = tf.data.Dataset.range(3).make_one_shot_iterator()
    for _ in range(iterators.GET_NEXT_CALL_WARNING_THRESHOLD):
        iterator.get_next()
    with pytest.warns(UserWarning, match="An unusually high number of `Iterator.get_next"):
        iterator.get_next()


@pytest.mark.parametrize(("returned", "count"), [((), 0), ((1, 2), 2)])
def test_reducing_to_another_number_of_parts(returned, count):
    reduced = tf.data.Dataset.range(5).reduce(0, lambda state, element: returned)
    message = (
        rf"initial state and the reduce function output does not match. \(initial_state=1, output={count}\)"
    )
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(reduced)
