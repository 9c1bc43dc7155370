"""Numbers in strings, as TensorFlow's kernels parse them."""

import math

import pytest

import gpuplace as tf
from gpuplace.kernels.number_texts import number_of


@pytest.mark.parametrize(
    ("text", "dtype", "number"),
    [
        (b"12", tf.int32, 12),
        (b" -12\n", tf.int32, -12),
        (b"2147483647", tf.int32, 2**31 - 1),
        (b"-2147483648", tf.int32, -(2**31)),
        (b"9223372036854775807", tf.int64, 2**63 - 1),
        (b"1e3", tf.float32, 1000.0),
        (b"+1.5", tf.float64, 1.5),
        (b"0x10", tf.float32, 16.0),
        (b"-0X1f", tf.float32, -31.0),
        (b"inf", tf.float32, math.inf),
        (b"-INF", tf.float32, -math.inf),
    ],
)
def test_numbers(text, dtype, number):
    parsed = number_of(text, dtype)
    assert parsed == number and type(parsed) is type(number)


def test_no_number_is_a_number_of_its_own():
    assert math.isnan(number_of(b"nan", tf.float32))


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        (b"", tf.int32),
        (b"1.5", tf.int32),
        (b"+1", tf.int32),
        (b"0x10", tf.int32),
        (b"1_000", tf.int32),
        (b"1_0.5", tf.float32),
        (b"2147483648", tf.int32),
        (b"-2147483649", tf.int32),
        (b"infinity", tf.float32),
        (b"-Infinity", tf.float32),
        (b"0x", tf.float32),
        (b"0x1.8", tf.float32),
        (b"one", tf.float32),
    ],
)
def test_other_texts_are_refused(text, dtype):
    with pytest.raises(ValueError):
        number_of(text, dtype)
