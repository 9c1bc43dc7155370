"""Convolutions computed together with what follows: the same numbers as op by op, and errors that name the op."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.ops.nn import fused_conv
from gpuplace.process import PROCESS

RANDOM = np.random.default_rng(8)
IMAGES = RANDOM.standard_normal((6, 13, 12, 5)).astype(np.float32)
FILTER = RANDOM.standard_normal((3, 3, 5, 7)).astype(np.float32)
BIAS = RANDOM.standard_normal(7).astype(np.float32)
NAMES = ["conv", "bias", "relu", "pool"]


def net(x, last, pooling="SAME", dtype=tf.float32):
    """The tensors of a chain up to ``last``."""
    made = [tf.nn.conv2d(x, tf.constant(FILTER, dtype), [1, 1, 1, 1], "SAME")]
    made.append(tf.nn.bias_add(made[-1], tf.constant(BIAS, dtype)))
    made.append(tf.nn.relu(made[-1]))
    made.append(tf.nn.max_pool(made[-1], [1, 3, 2, 1], [1, 2, 2, 1], pooling))
    return made[: NAMES.index(last) + 1]


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.mark.parametrize("pooling", ["SAME", "VALID"])
@pytest.mark.parametrize("last", NAMES)
@pytest.mark.parametrize("size", [1, 6, 0])
def test_as_op_by_op(session, last, pooling, size):
    x = tf.placeholder(tf.float32, [None, None, None, 5])
    tensors = net(x, last, pooling)
    together = session.run(tensors[-1], {x: IMAGES[:size]})
    single = session.run(tensors, {x: IMAGES[:size]})[-1]  # whoever fetches a value sees it
    np.testing.assert_array_equal(together, single)
    assert together.shape[0] == size and together.flags.writeable


@pytest.mark.parametrize("name", ["float64", "float16"])
def test_other_types(session, name):
    dtype = tf.as_dtype(name)
    x = tf.placeholder(dtype, [None, 13, 12, 5])
    tensors = net(x, "pool", dtype=dtype)
    given = IMAGES.astype(name)
    np.testing.assert_array_equal(session.run(tensors[-1], {x: given}), session.run(tensors, {x: given})[-1])


def test_large_images_and_infinite_biases(session):
    wide = RANDOM.standard_normal((2, 300, 310, 5)).astype(np.float32)
    x = tf.placeholder(tf.float32, [None, None, None, 5])
    tensors = net(x, "pool")
    np.testing.assert_array_equal(session.run(tensors[-1], {x: wide}), session.run(tensors, {x: wide})[-1])
    bias = tf.placeholder(tf.float32, [7])
    products = tf.nn.conv2d(x, tf.constant(FILTER), [1, 1, 1, 1], "SAME")
    pooled = tf.nn.max_pool(tf.nn.bias_add(products, bias), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    given = IMAGES.copy()
    given[0, 0, 0, 0] = np.inf
    for value in (-np.inf, np.inf, np.nan):
        feeds = {x: given, bias: np.full(7, value, np.float32)}
        np.testing.assert_array_equal(session.run(pooled, feeds), session.run([pooled, products], feeds)[0])


def test_groups_and_relu_right_behind(session):
    x = tf.placeholder(tf.float32, [6, 13, 12, 5])
    grouped = tf.nn.relu(tf.nn.conv2d(x, tf.constant(FILTER[:, :, :1, :5]), [1, 2, 2, 1], "SAME"))
    products = grouped.op.inputs[0]
    np.testing.assert_array_equal(
        session.run(grouped, {x: IMAGES}), session.run([grouped, products], {x: IMAGES})[0]
    )


@pytest.mark.parametrize("add", [tf.add, lambda x, y: x + y, tf.raw_ops.AddV2])
def test_a_vector_added_along_the_channels_is_a_bias(session, add, monkeypatch):
    x = tf.placeholder(tf.float32, [None, None, None, 5])
    products = tf.nn.conv2d(x, tf.constant(FILTER), [1, 1, 1, 1], "SAME")
    sums = (
        add(x=products, y=tf.constant(BIAS)) if add is tf.raw_ops.AddV2 else add(products, tf.constant(BIAS))
    )
    positive = tf.nn.relu(sums)
    single = session.run([positive, products, sums], {x: IMAGES})[0]
    parts = []
    write = fused_conv.Pending._write
    monkeypatch.setattr(fused_conv.Pending, "_write", lambda *given: parts.append(given) or write(*given))
    np.testing.assert_array_equal(session.run(positive, {x: IMAGES}), single)
    assert parts and all(pending.bias is not None and pending.relu for pending, *_ in parts)


@pytest.mark.parametrize("shape", [[1], [], [12, 7], [1, 7]])
def test_other_sums_are_none(session, shape):
    x = tf.placeholder(tf.float32, [None, 13, 12, 5])
    products = tf.nn.conv2d(x, tf.constant(FILTER), [1, 1, 1, 1], "SAME")
    sums = products + tf.constant(RANDOM.standard_normal(shape).astype(np.float32))
    together = session.run(sums, {x: IMAGES})
    np.testing.assert_array_equal(together, session.run([sums, products], {x: IMAGES})[0])


def test_a_value_that_others_read_is_computed(session):
    x = tf.placeholder(tf.float32, [6, 13, 12, 5])
    products, biased, positive = net(x, "relu")
    found = session.run([positive, tf.reduce_sum(biased)], {x: IMAGES})
    expected = session.run([positive, biased], {x: IMAGES})
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1].sum(), rtol=1e-4)


def test_gradients_through_a_chain(session):
    x = tf.placeholder(tf.float32, [6, 13, 12, 5])
    tensors = net(x, "pool")
    gradients = tf.gradients(tensors[-1], [x])
    first = session.run(gradients, {x: IMAGES})[0]
    np.testing.assert_array_equal(first, session.run([*gradients, *tensors], {x: IMAGES})[0])


def test_the_trace_shows_every_op(session):
    x = tf.placeholder(tf.float32, [6, 13, 12, 5])
    tensors = net(x, "pool")
    metadata = tf.RunMetadata()
    traced = session.run(
        tensors[-1], {x: IMAGES}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata
    )
    np.testing.assert_array_equal(traced, session.run(tensors[-1], {x: IMAGES}))
    names = {node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats}
    assert {tensor.op.name for tensor in tensors} <= names


def test_errors_name_the_op(session):
    x, filter, bias = (tf.placeholder(tf.float32, name=name) for name in ("x", "filter", "bias"))
    biased = tf.nn.bias_add(
        tf.nn.conv2d(x, filter, [1, 1, 1, 1], "VALID", name="conv"), bias, name="bias_add"
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="evenly divisible") as error:
        session.run(biased, {x: IMAGES, filter: FILTER[:, :, :3], bias: BIAS})
    assert error.value.op.name == "conv"
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        session.run(biased, {x: IMAGES[:, :2], filter: FILTER, bias: BIAS})
    assert error.value.op.name == "conv"
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        session.run(biased, {x: IMAGES, filter: FILTER, bias: BIAS[:3]})
    assert error.value.op.name == "bias_add"


def test_the_same_bits_every_time(session, monkeypatch):
    x = tf.placeholder(tf.float32, [None, 64, 64, 5])
    (*_, pooled) = net(x, "pool")
    given = RANDOM.standard_normal((16, 64, 64, 5)).astype(np.float32)
    first = session.run(pooled, {x: given})
    for count in (1, 2, 3):
        monkeypatch.setattr(PROCESS, "intra_op_threads", count)
        for _ in range(10):
            np.testing.assert_array_equal(session.run(pooled, {x: given}), first)
