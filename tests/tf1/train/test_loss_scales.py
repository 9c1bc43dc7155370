"""Loss scales, and the optimizer that uses them; graphs are compared in ``test_training_graphs.py``.

The numbers of scales and steps are TensorFlow 1.15.5's.
"""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.tf1.train import loss_scale as loss_scales

scales = tf.train.experimental


def test_a_dynamic_scale_follows_the_gradients():
    scale = scales.DynamicLossScale(initial_loss_scale=4, increment_period=2, multiplier=3.0)
    grad = tf.placeholder(tf.float32, [2])
    update, is_good = scale.update([grad, None, {"other": grad}])
    found = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value in (1.0, 1.0, 1.0, np.inf, 1.0, 1.0, np.nan, np.nan, np.nan, 1.0):
            good, _ = session.run([is_good, update], {grad: [1.0, value]})
            assert good == np.isfinite(value)
            found.append(float(session.run(scale())))
    np.testing.assert_allclose(found, [4, 12, 12, 4, 4, 12, 4, 4 / 3, 1, 1])
    assert [v.name for v in loss_scales.get_loss_scale_weights(scale)] == [
        "current_loss_scale:0",
        "good_steps:0",
    ]


def test_a_scale_stays_finite():
    scale = scales.DynamicLossScale(
        initial_loss_scale=np.finfo(np.float32).max / 2, increment_period=1, multiplier=4
    )
    update, _ = scale.update([tf.constant(1.0)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update)
        assert session.run(scale()) == np.float32(np.finfo(np.float32).max / 2)


def test_fixed_scales_and_what_names_one():
    fixed = loss_scales.get(8)
    update, is_good = fixed.update([tf.constant(np.inf)])
    assert is_good is True and update.type == "NoOp" and repr(fixed) == "FixedLossScale(8.0)"
    assert loss_scales.get(None) is None and loss_scales.get(fixed) is fixed
    dynamic = loss_scales.get("dynamic")
    assert (
        repr(dynamic) == "DynamicLossScale(initial_loss_scale=32768.0, increment_period=2000, multiplier=2.0)"
    )
    for one in (fixed, scales.DynamicLossScale(2, 3, 4)):
        again = type(one).from_config(one.get_config())
        assert again.get_config() == one.get_config() and again is not one
    with pytest.raises(ValueError, match="Could not interpret loss scale identifier: other"):
        loss_scales.get("other")
    with pytest.raises(ValueError, match="must be at least 1"):
        scales.FixedLossScale(0.5)
    with pytest.raises(ValueError, match="must be a Python int or float"):
        scales.FixedLossScale("8")


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_step_with_a_gradient_that_is_not_finite_changes_the_scale_alone(use_resource):
    v = tf.Variable([1.0, 2.0], use_resource=use_resource)
    factor = tf.placeholder(tf.float32, [])
    step = tf.train.get_or_create_global_step()
    inner = tf.train.MomentumOptimizer(0.5, 0.9)
    optimizer = scales.MixedPrecisionLossScaleOptimizer(inner, scales.DynamicLossScale(16, 100))
    train = optimizer.minimize(tf.reduce_sum(v) * factor, global_step=step)
    plain = tf.Variable([1.0, 2.0])
    plainly = tf.train.MomentumOptimizer(0.5, 0.9).minimize(tf.reduce_sum(plain) * factor, var_list=[plain])
    assert train.name == "Momentum" and optimizer.get_name() == "Momentum"
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value in (1.0, 3.0):
            session.run([train, plainly], {factor: value})
        assert session.run(v).tolist() == session.run(plain).tolist()
        session.run(train, {factor: np.inf})
        assert session.run(v).tolist() == session.run(plain).tolist()
        assert session.run([step, optimizer._loss_scale()]) == [2, 8.0]


def test_small_gradients_are_not_lost_in_half():
    v = tf.Variable(1.0)
    loss = tf.cast(tf.cast(v, tf.float16), tf.float32) * 1e-8
    plainly = tf.train.GradientDescentOptimizer(1.0)
    optimizer = scales.MixedPrecisionLossScaleOptimizer(plainly, 2.0**12)
    ((lost, _),) = plainly.compute_gradients(loss)
    ((kept, _),) = optimizer.compute_gradients(lambda: loss, [v])
    table = tf.Variable([1.0, 2.0], name="table")
    ((rows, _),) = optimizer.compute_gradients(tf.reduce_sum(tf.gather(table, [1])), [table])
    assert isinstance(rows, tf.IndexedSlices)
    with pytest.raises(ValueError, match='"opt" must be an instance of Optimizer'):
        scales.MixedPrecisionLossScaleOptimizer(3, 1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(lost) == 0.0
        np.testing.assert_allclose(session.run(kept), 1e-8, rtol=1e-3)
        assert session.run(rows).values.tolist() == [1.0]


def test_scales_are_saved_with_the_optimizer(tmp_path):
    def objects():
        v = tf.Variable(1.0)
        scale = scales.DynamicLossScale(16, 1)
        optimizer = scales.MixedPrecisionLossScaleOptimizer(tf.train.AdamOptimizer(), scale)
        return tf.train.Checkpoint(optimizer=optimizer, v=v), optimizer.minimize(v * v), scale

    with tf.Graph().as_default(), tf.Session() as session:
        checkpoint, train, scale = objects()
        session.run(tf.global_variables_initializer())
        session.run(train)
        path = checkpoint.save(tmp_path / "model")
    names = dict(tf.train.list_variables(path))
    assert "optimizer/loss_scale/current_loss_scale/.ATTRIBUTES/VARIABLE_VALUE" in names
    assert "optimizer/base_optimizer/beta1_power/.ATTRIBUTES/VARIABLE_VALUE" in names
    with tf.Graph().as_default(), tf.Session() as session:
        checkpoint, _, scale = objects()
        checkpoint.restore(path).assert_consumed().run_restore_ops()
        assert session.run(scale()) == 32.0
