"""Values rounded to those of a few bits, in training."""

import pytest

import gpuplace as tf


@pytest.mark.parametrize("each", [False, True])
def test_bounds_are_trained_with_what_is_outside_of_them(each):
    x = tf.constant([[-2.0, 0.25], [0.5, 9.0]])
    low, high = ([-1.0, -1.0], [1.0, 2.0]) if each else (-1.0, 2.0)
    low, high = tf.constant(low), tf.constant(high)
    op = tf.fake_quant_with_min_max_vars_per_channel if each else tf.quantization.fake_quant_with_min_max_vars
    y = op(x, low, high, num_bits=4)
    of_x, of_low, of_high = tf.Session().run(tf.gradients(y, [x, low, high]))
    assert of_x.tolist() == [[0, 1], [1, 0]]
    assert of_low.tolist() == ([1, 0] if each else 1)
    assert of_high.tolist() == ([0, 1] if each else 1)


def test_rounding_lets_gradients_through_within_the_range():
    x = tf.constant([-9.0, 0.1, 5.99, 6.1])  # the range is from -8 to 4, so that zero is in it
    y = tf.fake_quant_with_min_max_args(x, num_bits=2)
    values, slope = tf.Session().run([y, tf.gradients(y, x)[0]])
    assert values.tolist() == [-8, 0, 4, 4]
    assert slope.tolist() == [0, 1, 0, 0]


def test_bits_and_bounds_are_checked():
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="num_bits must be between 2 and 16"):
            session.run(tf.fake_quant_with_min_max_args([1.0], num_bits=1))
        with pytest.raises(tf.errors.InvalidArgumentError, match="min has to be smaller than max"):
            session.run(tf.fake_quant_with_min_max_args([1.0], 2, 1))
        with pytest.raises(tf.errors.InvalidArgumentError, match="min has incorrect size, expected 1 was 2"):
            session.run(
                tf.fake_quant_with_min_max_vars_per_channel(
                    [1.0], tf.placeholder_with_default([1.0, 2.0], None), [3.0]
                )
            )
