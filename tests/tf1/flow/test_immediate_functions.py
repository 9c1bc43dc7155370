"""Python functions of tensors that have values while they run. The expected values are those of TensorFlow 1.15.5."""

import numpy as np
import pytest

import gpuplace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def log_huber(x, m):
    if tf.abs(x) <= m:
        return x**2
    return m**2 * (1 - 2 * tf.log(m) + tf.log(x**2))


def test_a_function_with_branches_and_its_gradient():
    x, m = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    y = tf.py_function(log_huber, [x, m], tf.float32)
    assert y.op.type == "EagerPyFunc" and y.shape.ndims is None
    fetches = [y, *tf.gradients(y, [x, m])]
    with tf.Session() as session:
        assert session.run(fetches, {x: 1.0, m: 2.0}) == [1.0, 2.0, 0.0]
        np.testing.assert_allclose(
            session.run(fetches, {x: 3.0, m: 2.0}), [7.243721, 2.6666667, 3.243721], rtol=1e-6
        )


def test_what_runs_in_a_call_runs_once():
    def both(x):
        drawn = tf.random_uniform([])
        value = drawn.numpy()
        return [drawn - value, tf.constant(np.array(x) + x.numpy())]

    found = tf.py_function(both, [tf.constant([1.0, 2.0])], [tf.float32, tf.float32])
    difference, doubled = tf.Session().run(found)
    assert difference == 0 and doubled.tolist() == [2.0, 4.0]


def test_texts_no_results_and_functions_in_pipelines():
    seen = []
    nothing = tf.py_function(lambda x: seen.append(x.numpy()), [3], [])
    texts = tf.data.Dataset.range(3).map(lambda x: tf.py_function(lambda v: f"<{v.numpy()}>", [x], tf.string))
    following = texts.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert session.run(nothing) is None and seen == [3]
        assert [session.run(following) for _ in range(3)] == [b"<0>", b"<1>", b"<2>"]


def test_errors():
    with pytest.raises(ValueError, match="Expected func to be callable"):
        tf.py_function(3, [1.0], tf.float32)
    for function, error in (
        (lambda x: 1 / 0, tf.errors.UnknownError),
        (lambda x: [], tf.errors.InvalidArgumentError),
    ):
        with pytest.raises(error), tf.Session() as session:
            session.run(tf.py_function(function, [1.0], tf.float32))
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'numpy'"):
        tf.constant(1.0).numpy()


def test_functions_of_arrays():
    doubled = tf.numpy_function(lambda x: x * 2, [tf.constant([1.0, 2.0])], tf.float32)
    assert doubled.op.type == "PyFunc" and tf.Session().run(doubled).tolist() == [2.0, 4.0]
