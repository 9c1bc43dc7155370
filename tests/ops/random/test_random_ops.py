"""Random ops in sessions: seeds, streams from run to run, and distributions."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.ops.random import philox
from gpuplace.ops.random.random_ops import get_seed

UNIFORM = [
    [0.38692939281463623, 0.3600262403488159, 0.9768795967102051],
    [0.9421699047088623, 0.5801160335540771, 0.36421120166778564],
]
NORMAL = [[0.8021454811096191, 0.5056790113449097], [1.8120126724243164, -0.03189123049378395]]
SHUFFLED = [2, 1, 4, 3, 0]


def run_twice(tensor: tf.Tensor) -> list[np.ndarray]:
    with tf.Session(graph=tensor.graph) as session:
        return [session.run(tensor), session.run(tensor)]


def test_seeds_are_those_of_tensorflow() -> None:
    with tf.Graph().as_default():
        assert get_seed(None) == (None, None)
        assert get_seed(7) == (87654321, 7)
        tf.set_random_seed(5)
        assert get_seed(None) == (5, 0)
        tf.constant(1)
        assert get_seed(None) == (5, 1)
        assert get_seed(2**31 - 1) == (5, 0)
        tf.set_random_seed(0)
        assert get_seed(0) == (0, 2**31 - 1)


def test_the_same_seed_gives_the_same_numbers_in_every_session() -> None:
    x = tf.random_uniform([4], seed=3)
    first, second = run_twice(x), run_twice(x)
    assert np.array_equal(first, second)
    assert not np.array_equal(first[0], first[1])


def test_without_seed_sessions_differ() -> None:
    x = tf.random_normal([8])
    assert not np.array_equal(run_twice(x), run_twice(x))


def test_numbers_of_the_second_run_are_tensorflows() -> None:
    """Recorded from TensorFlow 1.15.5: random_uniform([3], seed=3) run twice in one session."""
    first, second = run_twice(tf.random_uniform([3], seed=3))
    np.testing.assert_array_equal(first, np.float32(UNIFORM[0]))
    np.testing.assert_array_equal(second, np.float32(UNIFORM[1]))


def test_graph_seed_and_op_number() -> None:
    """Recorded from TensorFlow 1.15.5: set_random_seed(42); random_normal([2, 2]); random_shuffle(range(5))."""
    tf.set_random_seed(42)
    normal, shuffled = tf.random_normal([2, 2]), tf.random_shuffle(tf.range(5))
    with tf.Session() as session:
        one, other = session.run([normal, shuffled])
    np.testing.assert_allclose(one, NORMAL, rtol=1e-6)
    assert other.tolist() == SHUFFLED


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
def test_distributions(dtype: tf.DType) -> None:
    with tf.Session() as session:
        uniform, normal, cut = session.run(
            [
                tf.random_uniform([20000], -1, 3, dtype, seed=1),
                tf.random_normal([20000], 1, 2, dtype, seed=2),
                tf.truncated_normal([20000], 0, 1, dtype, seed=3),
            ]
        )
    for values in (uniform, normal, cut):
        assert values.dtype == dtype.as_numpy_dtype
    assert -1 <= uniform.min() and uniform.max() <= 3
    assert abs(float(uniform.astype(np.float64).mean()) - 1) < 0.05
    assert abs(float(normal.astype(np.float64).mean()) - 1) < 0.05
    assert abs(float(normal.astype(np.float64).std()) - 2) < 0.05
    assert np.abs(cut).max() <= 2


def test_any_part_of_a_stream_can_be_had() -> None:
    stream = philox.Philox(3, 4).reserve(1, 1)
    words = stream.words(np, 8)
    assert np.array_equal(stream.skip(5).words(np, 3), words[5:])
    assert np.array_equal(stream.words(np, 2, np.array([6, 1], np.uint64)), words[[6, 1]])
    near_carry = philox.Stream((1, 2), 2**64 - 1)
    assert np.array_equal(near_carry.words(np, 2)[1], philox.Stream((1, 2), 2**64).words(np, 1)[0])


def test_categories_follow_their_probabilities() -> None:
    logits = np.log([[0.7, 0.2, 0.1]]).astype(np.float32)
    with tf.Session() as session:
        drawn = session.run(tf.multinomial(logits, 5000, seed=1))
    shares = np.bincount(drawn[0], minlength=3) / 5000
    np.testing.assert_allclose(shares, [0.7, 0.2, 0.1], atol=0.03)


def test_crop() -> None:
    image = np.arange(24, dtype=np.float32).reshape(4, 6)
    with tf.Session() as session:
        part = session.run(tf.random_crop(image, [2, 3], seed=1))
    assert part.shape == (2, 3)
    assert part[0, 1] == part[0, 0] + 1 and part[1, 0] == part[0, 0] + 6
