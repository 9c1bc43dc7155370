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


def _of_an_old_graph(inputs, attrs):
    """The op in a graph of a release that had it: it is gone from version 9 of GraphDefs on."""
    graph_def = tf.GraphDef(versions={"producer": 8})
    node = graph_def.node.add(name="old", op="BatchNormWithGlobalNormalization", input=inputs)
    node.attr["T"].type = tf.float32.as_datatype_enum
    node.attr["variance_epsilon"].f = attrs["variance_epsilon"]
    node.attr["scale_after_normalization"].b = attrs["scale_after_normalization"]
    for name in inputs:
        one = graph_def.node.add(name=name, op="Placeholder")
        one.attr["dtype"].type = tf.float32.as_datatype_enum
    return tf.import_graph_def(graph_def, {f"{name}:0": one for name, one in inputs.items()}, ["old:0"])[0]


@pytest.mark.parametrize("scales", [True, False])
def test_the_op_of_old_models(scales):
    t = np.arange(24, dtype=np.float32).reshape(1, 2, 4, 3) / 10
    mean, variance, beta, gamma = map(np.float32, ([0.1, 0.2, 0.3], [1, 2, 0.5], [0, 1, -1], [2, 0.5, 1]))
    weights = np.cos(t)
    attrs = {"variance_epsilon": 0.25, "scale_after_normalization": scales}
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.constant(value) for value in (t, mean, variance, beta, gamma)]
        names = ("t", "m", "v", "beta", "gamma")
        old = _of_an_old_graph(dict(zip(names, inputs, strict=True)), attrs)
        new = tf.nn.batch_normalization(*inputs[:4], inputs[4] if scales else None, 0.25)
        np.testing.assert_allclose(*session.run([old, new]), rtol=1e-5, atol=1e-6)
        wanted = tf.gradients(new, inputs if scales else inputs[:4], weights)
        found = tf.gradients(old, inputs, weights)
        assert found[0].op.type == "BatchNormWithGlobalNormalizationGrad"
        *values, of_gamma = session.run(found)
        if scales:
            values.append(of_gamma)
        else:
            assert not of_gamma.any()
        for value, expected in zip(values, session.run(wanted), strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)
