"""``variable[slice].assign``: a part of a variable gets a value. The answers are TensorFlow 1.15.5's."""

import numpy as np
import pytest

import gpuplace as tf

START = np.arange(12, dtype=np.float32).reshape(3, 4)

KEYS = [
    (slice(0, 2), [[1, 1, 1, 1], [2, 2, 2, 2]]),
    (1, [9, 8, 7, 6]),
    ((1, 2), 5),
    ((slice(None), slice(None, None, 2)), np.full([3, 2], -1)),
    ((slice(None, None, -1), 0), [1, 2, 3]),
    ((Ellipsis, 3), [1, 2, 3]),
    ((tf.newaxis, 0, slice(1, 3)), [[4, 5]]),
    (slice(2, 2), np.zeros([0, 4])),
    (slice(0, 2), 3.0),
]


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("number", range(len(KEYS)))
def test_a_part_is_assigned(number, use_resource):
    key, value = KEYS[number]
    v = tf.Variable(START, use_resource=use_resource)
    assigned = v[key].assign(np.float32(value))
    plain = tuple(key) if isinstance(key, tuple) else key
    expected = START.copy()
    expected[plain] = value
    with tf.Session() as session:
        session.run(v.initializer)
        np.testing.assert_array_equal(session.run(assigned), expected)
        np.testing.assert_array_equal(session.run(v), expected)


def test_the_ops_are_those_of_tensorflow():
    reference, resource = tf.Variable([1, 2, 3]), tf.Variable([1, 2, 3], use_resource=True)
    assigned = reference[0:2].assign([5, 6])
    assert assigned.op.type == "StridedSliceAssign"
    assert assigned.op.name == "strided_slice/_assign"
    assert assigned.op.colocation_groups() == [b"loc:@Variable"]
    assert resource[0:2].assign([5, 6], name="q").op.type == "ResourceStridedSliceAssign"


def test_a_value_that_was_read_stays():
    v = tf.Variable([1, 2, 3])
    before = v + 0
    with tf.control_dependencies([before]):
        assigned = v[0].assign(9)
    with tf.Session() as session:
        session.run(v.initializer)
        found = session.run([before, assigned])
    assert [one.tolist() for one in found] == [[1, 2, 3], [9, 2, 3]]


def test_only_variables_can_be_assigned_to():
    assert not hasattr(tf.constant([1, 2]), "assign")
    with pytest.raises(ValueError, match="Sliced assignment is only supported for variables"):
        tf.constant([1, 2])[0].assign(3)


def test_another_shape_is_an_error_of_the_run():
    v = tf.Variable([1, 2, 3])
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="slice"):
            session.run(v[0:2].assign([1, 2, 3]))
