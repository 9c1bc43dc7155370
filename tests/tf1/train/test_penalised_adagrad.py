"""Adagrad with penalties, and the learning rates that wave: against their formulas."""

import math

import numpy as np
import pytest

import gpuplace as tf

START = np.array([1.0, -2.0, 0.5])
STEPS = 3


def pulled(x, by):
    return np.sign(x) * np.maximum(np.abs(x) - by, 0)


def proximal(value, l1, l2):
    squares = 0.1
    for _ in range(STEPS):
        slope = 3 * value**2 + 1
        squares = squares + slope**2
        rate = 0.3 / np.sqrt(squares)
        value = pulled(value - rate * slope, rate * l1) / (1 + l2 * rate)
    return value


def dual(value, l1, l2):
    total, squares = 0.0, 0.1
    for step in range(1, STEPS + 1):
        slope = 3 * value**2 + 1
        total, squares = total + slope, squares + slope**2
        value = -0.3 * pulled(total, l1 * step) / (l2 * step * 0.3 + np.sqrt(squares))
    return value


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.0), (0.4, 0.0), (0.2, 0.1)])
@pytest.mark.parametrize("by_hand", [proximal, dual])
def test_three_steps_of_the_whole_and_of_rows(by_hand, l1, l2, use_resource):
    step = tf.train.get_or_create_global_step()
    whole = tf.Variable(START.astype(np.float32), use_resource=use_resource)
    rows = tf.Variable(np.stack([START, START + 1]).astype(np.float32), use_resource=use_resource)
    first = tf.gather(rows, [0])
    penalties = {"l1_regularization_strength": l1, "l2_regularization_strength": l2}
    if by_hand is proximal:
        optimizer = tf.train.ProximalAdagradOptimizer(0.3, **penalties)
    else:
        optimizer = tf.train.AdagradDAOptimizer(0.3, step, **penalties)
    loss = tf.reduce_sum(whole**3 + whole) + tf.reduce_sum(first**3 + first)
    train = optimizer.minimize(loss, global_step=step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(STEPS):
            session.run(train)
        one, other = session.run([whole, rows])
    wanted = by_hand(START, l1, l2)
    np.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(other, [wanted, START + 1], rtol=1e-4, atol=1e-6)


def test_accumulators_begin_above_zero():
    with pytest.raises(ValueError, match="initial_accumulator_value must be positive: 0"):
        tf.train.ProximalAdagradOptimizer(0.1, initial_accumulator_value=0)
    with pytest.raises(ValueError, match="initial_gradient_squared_accumulator_value must be positive: -1"):
        tf.train.AdagradDAOptimizer(0.1, 0, initial_gradient_squared_accumulator_value=-1)


def restarts(step, first, longer, lower, last):
    begun, length, height = 0, first, 1.0
    while step - begun >= length:
        begun, length, height = begun + length, length * longer, height * lower
    wave = 0.5 * height * (1 + math.cos(math.pi * (step - begun) / length))
    return (1 - last) * wave + last


@pytest.mark.parametrize("step", [0, 3, 10, 29, 50])
def test_rates_that_wave(step):
    at = tf.constant(step)
    line, way = 1 - min(step, 30) / 30, min(step, 30) / 30
    rates = {
        tf.train.cosine_decay_restarts(0.5, at, 7): restarts(step, 7, 2, 1, 0),
        tf.train.cosine_decay_restarts(0.5, at, 8, t_mul=1.0, m_mul=0.5, alpha=0.1): restarts(
            step, 8, 1, 0.5, 0.1
        ),
        tf.train.linear_cosine_decay(0.5, at, 30, num_periods=2.0, alpha=0.1): (line + 0.1)
        * 0.5
        * (1 + math.cos(math.pi * 4 * way))
        + 0.001,
        tf.train.noisy_linear_cosine_decay(0.5, at, 30, initial_variance=0.0): line
        * 0.5
        * (1 + math.cos(math.pi * way))
        + 0.001,
    }
    with tf.Session() as session:
        np.testing.assert_allclose(
            session.run(list(rates)), [0.5 * share for share in rates.values()], rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize(
    "decay", ["cosine_decay_restarts", "linear_cosine_decay", "noisy_linear_cosine_decay"]
)
def test_waves_need_a_step(decay):
    with pytest.raises(ValueError, match="global_step is required for .*cosine"):
        getattr(tf.train, decay)(0.1, None, 10)


def test_noise_on_the_line_is_drawn_anew():
    rate = tf.train.noisy_linear_cosine_decay(1.0, 5, 30)
    with tf.Session() as session:
        assert session.run(rate) != session.run(rate)
