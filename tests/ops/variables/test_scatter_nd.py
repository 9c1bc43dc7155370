"""Updates at index vectors of variables."""

import numpy as np
import pytest

import gpuplace as tf

START = np.arange(12, dtype=np.float32).reshape(3, 4)

CASES = [
    ([[0, 1], [2, 3]], [10.0, 20.0]),
    ([[0, 1], [0, 1]], [10.0, 20.0]),
    ([[2], [0]], [[1.0, 2, 3, 4], [5, 6, 7, 8]]),
    ([[[1, 1]], [[2, 0]]], [[3.0], [4.0]]),
    (np.zeros([0, 2], np.int64), np.zeros([0], np.float32)),
]


def expected(how, indices, updates):
    result = START.copy()
    indices = np.asarray(indices)
    flat = indices.reshape(-1, indices.shape[-1])
    for index, update in zip(
        flat, np.reshape(updates, (len(flat), *result.shape[indices.shape[-1] :])), strict=True
    ):
        at = tuple(index)
        if how == "update":
            result[at] = update
        else:
            result[at] += update if how == "add" else -update
    return result


@pytest.mark.parametrize("machine", ["cpu", "1x Tesla K40c"])
@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("how", ["update", "add", "sub"])
@pytest.mark.parametrize("number", range(len(CASES)))
def test_index_vectors_of_a_variable(number, how, use_resource, machine):
    tf.use_machine(machine)
    indices, updates = CASES[number]
    v = tf.Variable(START, use_resource=use_resource)
    before = v.read_value()
    with tf.control_dependencies([before]):
        changed = getattr(tf, f"scatter_nd_{how}")(v, np.asarray(indices, np.int32), np.float32(updates))
    with tf.Session() as session:
        session.run(v.initializer)
        np.testing.assert_allclose(session.run(changed), expected(how, indices, updates))
        np.testing.assert_allclose(session.run(v), expected(how, indices, updates))


def test_ops_and_what_does_not_fit():
    v, r = tf.Variable(START), tf.Variable(START, use_resource=True)
    assert tf.scatter_nd_add(v, [[0]], [[1.0] * 4]).op.type == "ScatterNdAdd"
    assert tf.scatter_nd_update(r, [[0]], [[1.0] * 4]).op.type == "ResourceScatterNdUpdate"
    with pytest.raises(ValueError, match="The inner 1 dimensions of input.shape"):
        tf.scatter_nd_add(v, [[0]], [1.0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be <= output rank; saw: 3 vs. 2"):
            session.run(tf.scatter_nd_add(v, [[0, 0, 0]], [1.0]))
        for variable in (v, r):
            with pytest.raises(tf.errors.InvalidArgumentError, match="does not index into shape"):
                session.run(tf.scatter_nd_add(variable, [[3, 0]], [1.0]))
            np.testing.assert_array_equal(session.run(variable), START)


def test_one_vector_of_indices_has_a_number_for_each_update():
    for use_resource in (False, True):
        variable = tf.Variable(tf.zeros([3, 2]), use_resource=use_resource)
        indices = tf.placeholder(tf.int32)
        with tf.Session() as session:
            session.run(variable.initializer)
            update = tf.scatter_nd_add(variable, indices, tf.placeholder_with_default([[5.0, 6.0]], None))
            session.run(update.op, {indices: [1]})
            assert session.run(variable).tolist() == [[0, 0], [5, 6], [0, 0]]
            with pytest.raises(tf.errors.InvalidArgumentError, match="updates"):
                session.run(update.op, {indices: [1, 0]})
    with pytest.raises(ValueError, match="Shape must be at least rank 1 but is rank 0"):
        tf.scatter_nd_add(tf.Variable(tf.zeros([3])), [1], 5.0)
