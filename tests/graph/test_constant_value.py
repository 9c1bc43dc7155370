"""Values that are known while a graph is built, and the shapes that vectors of sizes describe."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import ShapeValueError, constant_value, constant_value_as_shape


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def op(op_type, **inputs):
    return apply_op(op_type, **inputs).outputs[0]


def const(value, dtype=None):
    return tf.constant(value, dtype)


def reduced(op_type, keep=False):
    return op(op_type, input=const([[1, 5], [3, 2]]), reduction_indices=const([1]), keep_dims=keep)


@pytest.mark.parametrize(
    ("build", "value"),
    [
        (lambda: const([1, 2]), [1, 2]),
        (lambda: tf.shape(tf.placeholder(tf.float32, [2, 3])), [2, 3]),
        (lambda: tf.size(tf.placeholder(tf.float32, [2, 3])), 6),
        (lambda: tf.rank(tf.placeholder(tf.float32, [None, 3])), 2),
        (lambda: op("Range", start=1, limit=9, delta=3), [1, 4, 7]),
        (lambda: op("BroadcastArgs", s0=[2, 1], s1=[3]), [2, 3]),
        (lambda: const([5, 6, 7, 8])[1:3], [6, 7]),
        (lambda: const([5, 6, 7, 8])[:-1], [5, 6, 7]),
        (lambda: const([5, 6, 7, 8])[::-2], [8, 6]),
        (lambda: const([[5, 6], [7, 8]])[1, 0], 7),
        (lambda: op("ExpandDims", input=const([1, 2]), dim=1), [[1], [2]]),
        (lambda: op("ExpandDims", input=const([1, 2]), dim=-2), [[1, 2]]),
        (lambda: op("Squeeze", input=const([[1, 2]])), [1, 2]),
        (lambda: op("Cast", x=const([1.7, -1.7]), DstT=tf.int32), [1, -1]),
        (lambda: tf.stack([const(1), const(2)]), [1, 2]),
        (lambda: tf.stack([const([1, 2]), const([3, 4])], 1), [[1, 3], [2, 4]]),
        (lambda: tf.concat([const([1]), const([2, 3])], 0), [1, 2, 3]),
        (lambda: op("Fill", dims=[3], value=7), [7, 7, 7]),
        (lambda: reduced("Prod"), [5, 6]),
        (lambda: reduced("Sum"), [6, 5]),
        (lambda: reduced("Max"), [5, 3]),
        (lambda: reduced("Min"), [1, 2]),
        (lambda: reduced("Sum", keep=True), [[6], [5]]),
        (lambda: op("Add", x=const([1, 2]), y=const(3)), [4, 5]),
        (lambda: op("Sub", x=const([1, 2]), y=const(3)), [-2, -1]),
        (lambda: op("Mul", x=const([1, 2]), y=const(3)), [3, 6]),
        (lambda: op("Maximum", x=const([1, 5]), y=const(3)), [3, 5]),
        (lambda: op("Equal", x=const([1, 3]), y=const(3)), [False, True]),
        (lambda: op("NotEqual", x=const([1, 3]), y=const(3)), [True, False]),
        (lambda: op("FloorDiv", x=const([-7, 7]), y=const(2)), [-4, 3]),
        (lambda: op("FloorMod", x=const([-7, 7]), y=const(4)), [1, 3]),
        (lambda: op("FloorDiv", x=const([-7, 7]), y=const(0)), [-7, 7]),  # the step reports the division
    ],
)
def test_values_that_need_no_step(build, value):
    np.testing.assert_array_equal(constant_value(build()), value)


@pytest.mark.parametrize(
    "build",
    [
        lambda: tf.placeholder(tf.int32, [2]),
        lambda: tf.shape(tf.placeholder(tf.float32, [None, 3])),
        lambda: tf.size(tf.placeholder(tf.float32, [None, 3])),
        lambda: tf.rank(tf.placeholder(tf.float32)),
        lambda: tf.placeholder(tf.int32, []) + 1,
        lambda: tf.stack([tf.placeholder(tf.int32, []), const(1)]),
        lambda: const([5, 6])[tf.placeholder(tf.int32, []) :],
        lambda: op("Fill", dims=[100_000], value=7),
        lambda: tf.zeros([100_000]),
        lambda: tf.Variable(3),
    ],
)
def test_values_that_depend_on_feeds_or_state_or_are_large_are_unknown(build):
    tensor = build()
    assert constant_value(getattr(tensor, "_ref", lambda: tensor)()) is None


def test_each_output_of_unstack_has_its_part():
    first, second = tf.unstack(const([[1, 2], [3, 4]]), axis=1)
    assert (constant_value(first).tolist(), constant_value(second).tolist()) == ([1, 3], [2, 4])


def test_the_search_ends_after_a_hundred_ops():
    near = far = const(1)
    for step in range(120):
        far = tf.add(far, 1)
        near = far if step == 90 else near
    assert constant_value(near) == 92
    assert constant_value(far) is None


def unknown_size():
    return tf.placeholder(tf.int32, [])


@pytest.mark.parametrize(
    ("build", "sizes"),
    [
        (lambda: const([2, -1, 3]), [2, None, 3]),
        (lambda: const(-1), None),
        (lambda: tf.shape(tf.placeholder(tf.float32, [None, 3])), [None, 3]),
        (lambda: tf.shape(tf.placeholder(tf.float32)), None),
        (lambda: tf.stack([unknown_size(), const(4), const(-1)]), [None, 4, None]),
        (lambda: tf.concat([const([2]), tf.stack([unknown_size()])], 0), [2, None]),
        (lambda: tf.concat([const([2]), tf.placeholder(tf.int32)], 0), None),
        (lambda: tf.shape(tf.placeholder(tf.float32, [None, 3, 4]))[1:], [3, 4]),
        (lambda: tf.shape(tf.placeholder(tf.float32, [None, 3, 4]))[:-1], [None, 3]),
        (lambda: tf.shape(tf.placeholder(tf.float32, [None, 3, 4]))[::2], [None, 4]),
        (lambda: tf.placeholder(tf.int32, [2]), [None, None]),
        (lambda: tf.placeholder(tf.int32, [5000]), None),
    ],
)
def test_the_known_part_of_a_shape(build, sizes):
    shape = constant_value_as_shape(build())
    assert (None if shape.ndims is None else shape.as_list()) == sizes


def test_what_describes_no_shape_is_refused():
    with pytest.raises(ShapeValueError, match="-2"):
        constant_value_as_shape(const([3, -2]))
    with pytest.raises(ValueError, match="scalar"):
        constant_value_as_shape(const(3))
    with pytest.raises(ValueError, match="rank 2"):
        constant_value_as_shape(const([[3]]))
