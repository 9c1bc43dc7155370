"""Python functions, in sessions."""

import numpy as np
import pytest

import gpuplace as tf


def test_python_functions() -> None:
    x = tf.placeholder(tf.float32, [2])
    double = tf.py_func(lambda value: value * 2, [x], tf.float32)
    both = tf.py_func(lambda value: (value.sum(), np.int64(3)), [x], [tf.float32, tf.int64], stateful=False)
    assert double.op.type == "PyFunc" and both[0].op.type == "PyFuncStateless"
    with tf.Session() as session:
        assert session.run(double, {x: [1, 2]}).tolist() == [2, 4]
        assert session.run(both, {x: [1, 2]}) == [3.0, 3]


def test_python_function_of_another_type_is_refused() -> None:
    wrong = tf.py_func(lambda: np.float64(1), [], tf.float32)
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="0-th value returned by pyfunc_"),
    ):
        session.run(wrong)


def test_python_function_that_raises_is_named() -> None:
    def broken(value: np.ndarray) -> np.ndarray:
        raise ValueError("no such luck")

    with tf.Session() as session, pytest.raises(tf.errors.OpError, match="no such luck"):
        session.run(tf.py_func(broken, [tf.constant(1.0)], tf.float32))


def test_python_numbers_are_what_numpy_makes_of_them():
    made = tf.py_func(
        lambda: (42.0, 7, True, 1j, "a"), [], [tf.float64, tf.int64, tf.bool, tf.complex128, tf.string]
    )
    with tf.Session() as session:
        assert session.run(made) == [42.0, 7, True, 1j, b"a"]
        with pytest.raises(tf.errors.InvalidArgumentError, match="is double, but expects float"):
            session.run(tf.py_func(lambda: 42.0, [], tf.float32))


def test_a_function_without_results_is_an_operation_only_where_it_is_stateful():
    assert isinstance(tf.py_func(lambda: None, [], []), tf.Operation)
    assert tf.py_func(lambda: None, [], [], stateful=False) == []
