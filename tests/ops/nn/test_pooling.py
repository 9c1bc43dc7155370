"""``tf.nn.pool``; its graphs are compared in ``test_contrib_graphs``."""

import numpy as np
import pytest

import gpuplace as tf


def test_windows_of_signals_and_with_holes():
    signal = tf.constant(np.array([3.0, 1, 4, 1, 5, 9, 2, 6], np.float32).reshape(1, 8, 1))
    made = [
        tf.nn.pool(signal, [3], "MAX", "VALID", strides=[2]),
        tf.nn.pool(signal, [2], "AVG", "VALID", dilation_rate=[3]),
        tf.nn.pool(tf.transpose(signal, [0, 2, 1]), [2], "MAX", "SAME", data_format="NCW"),
    ]
    with tf.Session() as session:
        found = session.run(made)
    assert found[0].ravel().tolist() == [4, 5, 9]
    assert found[1].ravel().tolist() == [2, 3, 6.5, 1.5, 5.5]
    assert found[2].shape == (1, 1, 8) and found[2].ravel().tolist() == [3, 4, 4, 5, 9, 9, 6, 6]


@pytest.mark.parametrize(
    "window, kind, more, sentence",
    [
        ([2, 2, 2, 2], "MAX", {}, "1 <= num_spatial_dims <= 3"),
        ([2, 2], "MIN", {}, "there are AVG and MAX"),
        ([2, 2], "MAX", {"strides": [3, 1]}, "strides > window_shape not supported"),
        ([2, 2], "MAX", {"strides": [2, 2], "dilations": [2, 2]}, "not supported in conjunction"),
        ([2, 2], "MAX", {"padding": "SAME", "dilations": [2, 2]}, "SAME padding is not implemented"),
        ([2, 2], "MAX", {"strides": [2]}, r"len\(strides\)=1 but should be 2"),
    ],
)
def test_what_cannot_be_pooled(window, kind, more, sentence):
    with pytest.raises(ValueError, match=sentence):
        tf.nn.pool(tf.zeros([1, 8, 8, 1]), window, kind, **{"padding": "VALID", **more})
