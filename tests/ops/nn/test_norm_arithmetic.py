"""Batch normalisation, large enough to be cut, against the formulas written out."""

import numpy as np
import pytest

import gpuplace as tf

X = np.random.default_rng(5).standard_normal((16, 40, 30, 12)).astype(np.float32) * 3 + 100
SCALE, OFFSET = np.linspace(0.5, 2, 12, dtype=np.float32), np.linspace(-1, 1, 12, dtype=np.float32)


@pytest.mark.parametrize("training", [True, False])
def test_images_and_gradients(training):
    mean, variance = X.astype(np.float64).mean((0, 1, 2)), X.astype(np.float64).var((0, 1, 2))
    if not training:
        mean, variance = mean + 0.5, variance * 2
    inverse = 1 / np.sqrt(variance + 0.001)
    normal = (X - mean) * inverse
    weights = np.cos(np.arange(X.size)).reshape(X.shape)
    grad = weights * SCALE
    if training:
        grad = grad - grad.mean((0, 1, 2)) - normal * (grad * normal).mean((0, 1, 2))
    with tf.Graph().as_default(), tf.device("/cpu:0"), tf.Session() as session:
        x, scale, offset = tf.placeholder(tf.float32, X.shape), tf.constant(SCALE), tf.constant(OFFSET)
        given = {} if training else {"mean": mean.astype(np.float32), "variance": variance.astype(np.float32)}
        y, found_mean, _ = tf.nn.fused_batch_norm(x, scale, offset, is_training=training, **given)
        loss = tf.reduce_sum(y * tf.constant(weights.astype(np.float32)))
        found = session.run([y, found_mean, *tf.gradients(loss, [x, scale, offset])], {x: X})
    wanted = [
        normal * SCALE + OFFSET, mean, grad * inverse,
        (weights * normal).sum((0, 1, 2)), weights.sum((0, 1, 2)),
    ]  # fmt: skip
    for one, other, tolerance in zip(found, wanted, (1e-4, 1e-4, 1e-4, 5e-2, 5e-2), strict=True):
        np.testing.assert_allclose(one, other, atol=tolerance)
