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
        ([2, 2], "MIN", {}, "use AVG or MAX"),
        ([2, 2], "MAX", {"strides": [3, 1]}, "strides > window_shape not supported"),
        ([2, 2], "MAX", {"strides": [2, 2], "dilations": [2, 2]}, "not supported in conjunction"),
        ([2, 2], "MAX", {"padding": "SAME", "dilations": [2, 2]}, "SAME padding is not implemented"),
        ([2, 2], "MAX", {"strides": [2]}, r"len\(strides\)=1 but should be 2"),
    ],
)
def test_what_cannot_be_pooled(window, kind, more, sentence):
    with pytest.raises(ValueError, match=sentence):
        tf.nn.pool(tf.zeros([1, 8, 8, 1]), window, kind, **{"padding": "VALID", **more})


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_functions_of_any_rank_are_those_of_the_rank(rank):
    images = np.random.default_rng(rank).normal(size=[2, *(6,) * (rank - 2), 3]).astype(np.float32)
    filters = np.ones([*(2,) * (rank - 2), 4, 3], np.float32)
    one = {3: "1d", 4: "2d", 5: "3d"}[rank]
    shape = [2, *(12,) * (rank - 2), 4]
    with tf.Session() as session:
        for name in ("avg_pool", "max_pool"):
            found = session.run(getattr(tf.nn, f"{name}_v2")(images, 2, 2, "SAME"))
            assert np.array_equal(found, session.run(getattr(tf.nn, name + one)(images, 2, 2, "SAME")))
        found = tf.nn.conv_transpose(images, filters, shape, 2, name="up")
        strides = 2 if rank < 5 else [1, 2, 2, 2, 1]
        assert np.allclose(
            *session.run([found, getattr(tf.nn, f"conv{one}_transpose")(images, filters, shape, strides)])
        )


def test_other_ranks_are_refused():
    for pool in (tf.nn.max_pool_v2, tf.nn.avg_pool_v2):
        with pytest.raises(ValueError, match="must be of rank 3, 4 or 5 but was 2"):
            pool(np.ones([2, 3], np.float32), 2, 2, "SAME")
    for shape, text in (
        ([2, 3], "must be of length 3, 4 or 5 but was 2"),
        (None, "tensor or sized collection"),
    ):
        with pytest.raises(ValueError, match=text):
            tf.nn.conv_transpose(np.ones([2, 3], np.float32), 2, shape, "SAME")
