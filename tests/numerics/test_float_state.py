"""Silence about floating point errors while a step runs, and only then."""

import warnings

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.numerics import float_state


@pytest.mark.parametrize(
    "pair",
    [float_state._errors_with_errstate(), float_state._errors(), (float_state.enter, float_state.leave)],
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
    silence, restore = float_state._errors()
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


TINY = np.finfo(np.float32).tiny
needs_flushing = pytest.mark.skipif(
    float_state._denormals() is None, reason="the C library offers no way to it"
)
COMPUTING = {
    "times one": lambda x: x * 1.0,
    "sum of two": lambda x: x + x,
    "relu": tf.nn.relu,
    "above zero": lambda x: x > 0,
    "another precision": lambda x: tf.cast(x, tf.float64),
    "sum of all": tf.reduce_sum,
    "product": lambda x: tf.matmul(x, tf.ones([4, 4])),
    "exponential": lambda x: tf.exp(-90.0 + x),
    "square root": tf.sqrt,
    "Python": lambda x: tf.py_func(lambda value: value * np.float32(0.5), [x], tf.float32),
}
HANDING_ON = {
    "itself": tf.identity,
    "negative": tf.negative,
    "absolute": tf.abs,
    "joined": lambda x: tf.concat([x, x], 0),
    "rows": lambda x: tf.gather(x, [0]),
    "chosen": lambda x: tf.where(x > -1.0, x, x),
}
"""As TensorFlow 1.15.5 and 2.21 do: what computes takes denormal numbers for 0, what hands on keeps them."""


@needs_flushing
@pytest.mark.parametrize("make", COMPUTING.values(), ids=COMPUTING)
def test_what_computes_takes_denormal_numbers_for_zeros(make):
    x = tf.placeholder(tf.float32, [4, 4])
    with tf.Session() as session:
        assert not session.run(make(x), {x: np.full([4, 4], TINY / 4)}).any()
    assert TINY / np.float32(4) > 0, "the program computes as before"


@pytest.mark.parametrize("make", HANDING_ON.values(), ids=HANDING_ON)
def test_what_hands_on_keeps_denormal_numbers(make):
    x = tf.placeholder(tf.float32, [4, 4])
    with tf.Session() as session:
        assert session.run(make(x), {x: np.full([4, 4], TINY / 4)}).all()


@needs_flushing
def test_folded_constants_are_computed_alike():
    with tf.Session() as session:
        assert session.run(tf.constant(TINY) * 0.25) == 0.0


@needs_flushing
def test_all_threads_of_a_kernel_compute_alike():
    """Elementwise and products, so large that several threads share them."""
    x, y = tf.placeholder(tf.float32, [1 << 22]), tf.placeholder(tf.float32, [512, 512])
    with tf.Session() as session:
        assert not session.run(tf.tanh(x) * 0.5, {x: np.full(1 << 22, TINY)}).any()
        assert not session.run(tf.matmul(y, y), {y: np.full([512, 512], 1e-21, np.float32)}).any()


@needs_flushing
def test_lanes_compute_alike():
    x, parts = tf.placeholder(tf.float32, [400, 400]), []
    tf.use_machine("2x Tesla K80")
    for gpu in range(2):
        with tf.device(f"/gpu:{gpu}"):
            part = x
            for _ in range(4):
                part = tf.matmul(part, tf.eye(400) * 0.25)
            parts.append(part)
    with tf.Session() as session:
        for _ in range(4):  # the first steps are timed, and decide about lanes
            assert not any(part.any() for part in session.run(parts, {x: np.full([400, 400], TINY)}))


@needs_flushing
def test_who_has_chosen_zeros_keeps_them():
    """As with ``torch.set_flush_denormal(True)``: a step ends in the state in which it began."""
    outer = float_state.enter()
    try:
        with float_state.as_kernels_do(), tf.Session() as session:
            session.run(tf.constant(1.0) + 1.0)
        assert float_state.flushes_denormals()
    finally:
        float_state.leave(outer)
    assert not float_state.flushes_denormals()
