"""Constants as messages."""

import numpy as np
import pytest

import gpuplace as tf


@pytest.mark.parametrize(
    ("value", "shape", "dtype", "expected"),
    [
        (10.0, [1, 3], None, "0801120812020801120208032a0400002041"),
        ([1.0, 2.0], [2, 3], None, "0801120812020802120208032a080000803f00000040"),
        ([[1], [2]], [2, 2], None, "0803120812020802120208023a020102"),
        (np.array([1, 2]), [5], None, "080912041202080552020102"),
        (True, [4], None, "080a1204120208045a0101"),
        ("a", [2], None, "0807120412020802420161"),
        (1 + 2j, [2], None, "08121204120208026210000000000000f03f0000000000000040"),
        (2.0, [3], tf.float16, "08131204120208036a03808001"),
        ([True, False], [3], None, "080a1204120208035a020100"),
    ],
)
def test_a_value_that_is_continued_is_written_once(value, shape, dtype, expected):
    """The bytes are those of TensorFlow 1.15.5."""
    assert tf.make_tensor_proto(value, dtype, shape).SerializeToString().hex() == expected
    constant = tf.constant(value, dtype, shape)
    assert constant.op.node_def.attr["value"].tensor.SerializeToString().hex() == expected
    assert tf.make_ndarray(tf.make_tensor_proto(value, dtype, shape)).shape == tuple(shape)


def test_a_large_constant_of_one_value_is_small_in_a_graph():
    assert tf.constant(0.0, shape=[1000, 1000]).op.node_def.ByteSize() < 100
