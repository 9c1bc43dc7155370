"""Sparse tensors and slices in branches and loops, and in functions of one tensor."""

import numpy as np
import pytest

import gpuplace as tf

SPARSE = [[0, 1], [1, 2]], [1.0, -4.0], [2, 3]
DENSE = np.array([[0, 1, 0], [0, 0, -4.0]])


def sparse():
    return tf.SparseTensor(*SPARSE)


def test_a_branch_gives_a_sparse_tensor():
    pred, x = tf.placeholder(tf.bool, []), sparse()
    doubled = tf.cond(pred, lambda: tf.SparseTensor(x.indices, x.values * 2, x.dense_shape), lambda: x)
    assert isinstance(doubled, tf.SparseTensor)
    with tf.Session() as session:
        dense = tf.sparse_tensor_to_dense(doubled)
        np.testing.assert_array_equal(session.run(dense, {pred: True}), 2 * DENSE)
        np.testing.assert_array_equal(session.run(dense, {pred: False}), DENSE)


def test_a_loop_may_change_how_many_values_a_sparse_tensor_has():
    def body(i, x):
        more = tf.SparseTensor(tf.cast([[0, i]], tf.int64), [1.0], [2, 3])
        return i + 1, tf.sparse_add(x, more)

    _, result = tf.while_loop(lambda i, x: i < 3, body, [0, sparse()])
    assert result.indices.shape.as_list() == [None, 2] and result.values.shape.as_list() == [None]
    _, same = tf.while_loop(
        lambda i, x: i < 3, body, [0, sparse()], [tf.TensorShape([]), tf.TensorShape([2])]
    )
    expected = DENSE + [[1, 1, 1], [0, 0, 0]]
    with tf.Session() as session:
        for one in (result, same):
            np.testing.assert_array_equal(session.run(tf.sparse_tensor_to_dense(one)), expected)


def test_a_loop_keeps_the_rank_of_a_sparse_tensor():
    start = [0, sparse()]
    for shape, message in (
        ([3], "is not compatible with the initial shape"),
        ([2, 3], "Expected a shape with 1"),
    ):
        with pytest.raises(ValueError, match=message):
            tf.while_loop(
                lambda i, x: i < 3,
                lambda i, x: (i + 1, x),
                start,
                [tf.TensorShape([]), tf.TensorShape(shape)],
            )


def test_gradients_through_loops_of_sparse_tensors():
    weight = tf.constant(2.0)
    _, x = tf.while_loop(
        lambda i, x: i < 3,
        lambda i, x: (i + 1, tf.SparseTensor(x.indices, x.values * weight, x.dense_shape)),
        [0, sparse()],
    )
    (slope,) = tf.gradients(x.values, weight)
    with tf.Session() as session:
        assert session.run(slope) == pytest.approx(3 * 4 * -3)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (tf.abs, np.abs),
        (tf.negative, np.negative),
        (tf.sign, np.sign),
        (tf.square, np.square),
        (tf.tanh, np.tanh),
        (lambda x: tf.sqrt(tf.square(x), name="root"), np.abs),
        (tf.identity, np.positive),
        (lambda x: tf.erf(tf.identity(x)), None),
        (lambda x: tf.cast(x, tf.int32), lambda x: x.astype(np.int32)),
    ],
    ids=range(9),
)
def test_functions_of_the_values(function, expected):
    result = function(sparse())
    assert isinstance(result, tf.SparseTensor)
    with tf.Session() as session:
        indices, values, shape = session.run(result)
    assert (indices.tolist(), shape.tolist()) == (SPARSE[0], SPARSE[2])
    if expected is not None:
        np.testing.assert_allclose(values, expected(np.array(SPARSE[1], np.float32)), rtol=1e-6)


def test_slices_stay_slices():
    slices = tf.IndexedSlices(tf.constant([[1.5], [2.5]]), tf.constant([3, 0]), tf.constant([4, 1]))
    for result, rows in (tf.identity(slices), [[1.5], [2.5]]), (tf.cast(slices, tf.int32), [[1], [2]]):
        assert isinstance(result, tf.IndexedSlices)
        with tf.Session() as session:
            assert session.run([result.values, result.indices])[0].tolist() == rows


def test_tensors_in_lists_are_cast_where_a_type_is_asked_for():
    x = tf.constant(3)
    packed = tf.convert_to_tensor([[x, 1.0], [2, x]], tf.float64)
    assert packed.dtype == tf.float64
    with tf.Session() as session:
        assert session.run(packed).tolist() == [[3, 1], [2, 3]]
        joined = tf.concat([tf.constant([[1]], tf.int64), [[x]]], 0)
        assert session.run(joined).tolist() == [[1], [3]]
    with pytest.raises(TypeError, match="Cannot convert a list containing a tensor of dtype"):
        tf.convert_to_tensor([x, tf.constant(1.0)])
