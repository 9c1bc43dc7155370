"""What is known of tensors without a step: `tf.get_static_value`, `tf.is_tensor`; `tf.init_scope`."""

import numpy as np
import pytest

import gpuplace as tf


def test_values_that_depend_on_nothing_fed():
    one, two = tf.constant([[1, 2]]), tf.constant([[1], [3]])
    assert tf.get_static_value(tf.equal(one, two)).tolist() == [[True, False], [False, False]]
    assert tf.get_static_value(tf.not_equal(one, two)).tolist() == [[False, True], [True, True]]
    array = np.arange(3)
    assert tf.get_static_value(array) is array and tf.get_static_value("text") == "text"
    assert tf.get_static_value(tf.placeholder(tf.int32)) is None is tf.get_static_value(tf.Variable(1))


def test_stacked_tensors_may_be_known_in_part():
    fed = tf.placeholder(tf.int32, [])
    assert list(tf.get_static_value(tf.stack([1, fed, 3]), partial=True)) == [1, None, 3]
    row = np.array([1.0, 2.0], np.float32)
    known = tf.get_static_value(tf.stack([row, tf.placeholder(tf.float32)]), partial=True)
    assert np.array_equal(known[0], row) and known[1] is None
    assert tf.get_static_value(tf.stack([1, fed])) is None
    assert tf.get_static_value(tf.stack([row, tf.placeholder(tf.float32)], axis=1), partial=True) is None
    assert tf.get_static_value(tf.stack([1, 2]), partial=True).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (lambda: tf.constant(1), True),
        (lambda: tf.Variable(1), True),
        (lambda: tf.SparseTensor([[0]], [1], [2]), True),
        (lambda: tf.IndexedSlices(tf.constant([1]), tf.constant([0])), True),
        (lambda: np.zeros(2), False),
        (lambda: tf.constant(1).op, False),
    ],
)
def test_what_is_a_tensor(value, expected):
    assert tf.is_tensor(value()) is expected


def test_init_scope_leaves_conditions_and_keeps_names():
    before = tf.constant(1)
    with tf.name_scope("outer"), tf.control_dependencies([before]):
        with tf.init_scope():
            inside = tf.constant(2, name="x")
        after = tf.constant(3, name="y")
    assert inside.op.name == "outer/x" and not inside.op.control_inputs
    assert after.op.control_inputs == [before.op]


def test_types_of_numbers():
    assert isinstance(3, tf.compat.integral_types) and isinstance(np.int8(3), tf.compat.integral_types)
    assert isinstance(np.float32(3), tf.compat.real_types) and not isinstance(3j, tf.compat.real_types)
    assert isinstance(3j, tf.compat.complex_types) and isinstance("a", tf.compat.bytes_or_text_types)


def test_every_floating_tensor_is_checked():
    x = tf.placeholder(tf.float32, [2], name="x")
    tf.to_int32(tf.log(x, name="log"))
    check = tf.add_check_numerics_ops()
    with tf.Session() as session:
        session.run(check, {x: [1, 2]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="log:0 : Tensor had Inf"):
            session.run(check, {x: [1, 0]})
    tf.cond(x[0] > 0, lambda: x, lambda: x + 1)
    with pytest.raises(ValueError, match="is not compatible with TensorFlow control flow"):
        tf.add_check_numerics_ops()


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (slice(1, None), [28, 3, 5]),
        (slice(None, 2), [None, 28]),
        (slice(-2, None), [3, 5]),
        (slice(None, -1), [None, 28, 3]),
        (slice(None, None, 2), [None, 3]),
        (slice(2, 0, -1), [3, 28]),
        (slice(3, None, -2), [5, 28]),
    ],
)
def test_parts_of_a_shape_of_which_a_size_is_missing(part, expected):
    x = tf.placeholder(tf.float32, [None, 28, 3, 5])
    assert tf.zeros(tf.shape(x)[part]).shape.as_list() == expected
    assert tf.reshape(x, tf.concat([[-1], tf.shape(x)[part]], 0)).shape.as_list() == [None, *expected]


def test_a_part_of_a_shape_that_begins_anywhere():
    x, begin = tf.placeholder(tf.float32, [None, 28, 3]), tf.placeholder(tf.int32, [])
    assert tf.zeros(tf.shape(x)[begin:]).shape.ndims is None
    assert tf.zeros(tf.shape(x)[1:, tf.newaxis][:, 0]).shape.as_list() == [None, None]
