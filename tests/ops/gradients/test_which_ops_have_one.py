"""Ops without a gradient refuse it, or stop it, as TensorFlow 1.15 does."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.ops.support import new


@pytest.mark.parametrize(
    "build",
    [
        lambda x: new("AdjustContrastv2", images=x, contrast_factor=2.0),
        lambda x: new("AdjustHue", images=x, delta=0.2),
        lambda x: new("AdjustSaturation", images=x, scale=0.2),
        lambda x: new("ResizeArea", images=x, size=[3, 3]),
        lambda x: tf.bitcast(x, tf.float32),
        lambda x: tf.random_shuffle(x),
        lambda x: tf.unique(tf.reshape(x, [-1])).y,
        lambda x: tf.bincount([1, 1], tf.reshape(x, [-1])[:2]),
    ],
)
def test_ops_without_a_gradient(build):
    x = tf.ones([1, 4, 4, 3])
    with pytest.raises(LookupError, match="No gradient defined for operation"):
        tf.gradients(build(x), [x])


def test_gradients_that_are_not_implemented():
    values = tf.ones([1])
    sparse = tf.SparseTensor([[0]], values, [2])
    added = new(
        "SparseDenseCwiseAdd", sp_indices=np.zeros([1, 1]), sp_values=values, sp_shape=[2], dense=[1.0]
    )
    for made, error in (  # release 1.15 stumbles over the second in its own function
        (added, NotImplementedError),
        (tf.sparse.maximum(sparse, sparse).values, TypeError),
    ):
        with pytest.raises(error, match=r"Gradient for Sparse\w+ is not implemented"):
            tf.gradients(made, [values])


def test_gradient_of_hue_saturation_and_value_is_the_slope():
    tf.set_release("2.21")  # release 1.15 takes float32 alone
    colours = np.random.default_rng(3).uniform(0.1, 0.9, [4, 5, 3])
    with tf.Session() as session:
        x = tf.placeholder(tf.float64, [4, 5, 3])
        y = tf.image.rgb_to_hsv(x)
        weights = np.random.default_rng(4).normal(size=[4, 5, 3])
        (found,) = session.run(tf.gradients(y, [x], [tf.constant(weights)]), {x: colours})
        slopes = np.empty_like(colours)
        for place in np.ndindex(colours.shape):
            step = np.zeros_like(colours)
            step[place] = 1e-6
            high, low = (session.run(y, {x: colours + sign * step}) for sign in (1, -1))
            slopes[place] = ((high - low) * weights).sum() / 2e-6
    np.testing.assert_allclose(found, slopes, rtol=1e-6, atol=1e-6)
