"""Fractional pools: where windows lie is drawn at random; what they are like is known."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.tf1.random.fractional import fractional_avg_pool_v2, fractional_max_pool_v2

IMAGES = np.random.default_rng(1).random([1, 13, 10, 2])


@pytest.mark.parametrize("pseudo_random", [False, True])
@pytest.mark.parametrize("pool", [tf.nn.fractional_max_pool, tf.nn.fractional_avg_pool])
def test_windows_of_two_sizes(pool, pseudo_random):
    found = pool(IMAGES, [1.0, 1.44, 1.73, 1.0], pseudo_random=pseudo_random)
    for _ in range(10):
        with tf.Session() as session:
            pooled, rows, columns = session.run(found)
        assert pooled.shape == (1, 9, 5, 2) == tuple(found.output.shape.as_list())
        for starts, end, size in ((rows, 13, 1), (columns, 10, 2)):
            assert (starts[0], starts[-1]) == (0, end)
            assert set(np.diff(starts)) <= {size, size + 1}
        reduce = np.max if pool is tf.nn.fractional_max_pool else np.mean
        window = IMAGES[0, rows[2] : rows[3], columns[1] : columns[2], 1]
        assert pooled[0, 2, 1, 1] == pytest.approx(reduce(window))


def test_a_seed_draws_the_windows_once():
    pools = [
        fractional_max_pool_v2(IMAGES, 1.44, seed=5),
        fractional_avg_pool_v2(IMAGES, [1.44, 1.44], seed=5),
    ]
    with tf.Session() as session:
        first, again = session.run(pools), session.run(pools)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.row_pooling_sequence, other.row_pooling_sequence)
    wrong = tf.nn.fractional_max_pool(IMAGES, [1.0, 1.44, 1.44, 1.0], seed=5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="should be 0 if deterministic is false"):
        tf.Session().run(wrong)
