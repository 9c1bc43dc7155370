"""Training with half precision, as far as it shows in a program; the answers are those of TensorFlow 1.15.5."""

import pytest

import gpuplace as tf

enable = tf.train.experimental.enable_mixed_precision_graph_rewrite


def test_the_loss_is_scaled_and_the_step_is_not():
    weights = tf.Variable([1.0, 2.0])
    opt = enable(tf.train.GradientDescentOptimizer(0.5), 128.0)
    step = opt.minimize(tf.reduce_sum(weights * [2.0, 4.0]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(weights).tolist() == [0, 0]
        assert session.run(opt._loss_scale()) == 128
    tf.train.experimental.disable_mixed_precision_graph_rewrite()


def test_what_cannot_be_wrapped():
    with pytest.raises(ValueError, match='"opt" must be an instance of a tf.train.Optimizer or a tf.keras'):
        enable(1)
    opt = enable(tf.train.GradientDescentOptimizer(1.0))
    assert isinstance(opt._loss_scale, tf.train.experimental.DynamicLossScale)
    with pytest.raises(
        ValueError, match="must not already be an instance of a MixedPrecisionLossScaleOptimizer"
    ):
        enable(opt)


def test_nodes_are_marked_for_the_rewrite():
    with tf.train.experimental.auto_mixed_precision_scope():
        first = tf.ones([2]) + 1.0
        with tf.train.experimental.auto_mixed_precision_scope(False):
            second = first + 1.0
    marks = {
        node.name: node.attr["_AutoMixedPrecisionScopeInclude"].b
        for node in tf.get_default_graph().as_graph_def().node
    }
    assert marks[first.op.name] and not marks[second.op.name]
    assert "_AutoMixedPrecisionScopeInclude" in second.op.node_def.attr
    assert "_AutoMixedPrecisionScopeInclude" not in (second + 1.0).op.node_def.attr
