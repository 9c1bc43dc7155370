"""Updates of variables on a real GPU, as far as a stand-in for CuPy goes: the CPU's values."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.op_def import op_registry
from tests.stand_ins.fixtures import fake  # noqa: F401

UPDATES = {
    "ApplyAdaMax": {},
    "ApplyAdadelta": {},
    "ApplyAdagrad": {"update_slots": True},
    "ApplyAdam": {"use_nesterov": True},
    "ApplyCenteredRMSProp": {},
    "ApplyGradientDescent": {},
    "ApplyMomentum": {"use_nesterov": True},
    "ApplyRMSProp": {},
}
SCALARS = {"lr", "alpha", "rho", "epsilon", "momentum", "beta1", "beta2"}


def build(op_type, dtype, attrs):
    """The operation, its variables and what to feed."""
    random = np.random.default_rng(7)
    arguments, variables, feeds = {}, [], {}
    for arg in op_registry().lookup(op_type).inputs:
        if arg.is_ref:
            start = np.abs(random.standard_normal((3, 4))).astype(dtype) + dtype(0.5)
            variables.append(tf.Variable(start, name=arg.name))
            arguments[arg.name] = variables[-1]._ref()
            continue
        is_number = arg.name in SCALARS or arg.name.endswith("_power")
        value = dtype(0.1) if is_number else random.standard_normal((3, 4)).astype(dtype)
        given = tf.placeholder(dtype, np.shape(value))
        feeds[given] = arguments[arg.name] = None
        feeds[given], arguments[arg.name] = value, given
    return apply_op(op_type, **arguments, **attrs), variables, feeds


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("op_type", sorted(UPDATES))
def test_an_update_on_a_gpu_gives_the_values_of_the_cpu(fake, op_type, dtype):  # noqa: F811
    results = []
    for device in ("/gpu:0", "/cpu:0"):
        with tf.device(device):
            op, variables, feeds = build(op_type, dtype, UPDATES[op_type])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(3):
                session.run(op, feeds)
            results.append(session.run(variables))
    for one, other in zip(*results, strict=True):
        assert one.dtype == dtype
        np.testing.assert_array_equal(one, other)


def test_an_error_is_the_updates_own(fake):  # noqa: F811
    with tf.device("/gpu:0"):
        v = tf.Variable(np.ones((2, 3), np.float32))
        grad = tf.placeholder(tf.float32)
        op = apply_op("ApplyGradientDescent", "descent", var=v._ref(), alpha=0.1, delta=grad)
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="do not have the same shape") as error:
            session.run(op, {grad: np.ones((3, 2), np.float32)})
        assert error.value.op.name == "descent"
        np.testing.assert_array_equal(session.run(v), np.ones((2, 3)))
