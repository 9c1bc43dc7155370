"""Silence about floating point errors while a step runs, and only then."""

import warnings

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.backends import float_errors


@pytest.mark.parametrize(
    "pair",
    [float_errors._with_errstate(), float_errors._chosen(), (float_errors.silence, float_errors.restore)],
)
def test_both_ways_do_the_same(pair):
    silence, restore = pair
    with np.errstate(divide="raise", over="warn"):
        before = np.geterr()
        token = silence()
        assert set(np.geterr().values()) == {"ignore"}
        assert np.isinf(np.divide(np.ones(1), 0.0)).all()
        restore(token)
        assert np.geterr() == before


def test_another_numpy_is_served_too(monkeypatch):
    monkeypatch.delattr(np._core.umath, "_make_extobj")
    silence, restore = float_errors._chosen()
    token = silence()
    assert np.geterr()["invalid"] == "ignore"
    restore(token)


def test_steps_are_silent_and_callers_are_not():
    x = np.zeros([2], np.float32)
    with tf.Graph().as_default(), tf.Session() as session, warnings.catch_warnings():
        warnings.simplefilter("error")
        fed = tf.placeholder(tf.float32, [2])
        with np.errstate(all="raise"):
            assert np.isnan(session.run(tf.divide(fed, fed), {fed: x})).all()
            assert np.isinf(session.run(tf.divide(tf.constant(1.0), tf.constant(0.0))))
            with pytest.raises(FloatingPointError):
                np.divide(x, x)
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(tf.check_numerics(tf.divide(fed, fed), "message"), {fed: x})
            with pytest.raises(FloatingPointError):
                np.divide(x, x)
