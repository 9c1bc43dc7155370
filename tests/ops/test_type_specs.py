"""Specs of sparse tensors and of slices; those of tensors are in ``test_tensor_specs``."""

import pickle

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.ops.type_spec import type_spec_from_value

SPARSE = [
    tf.SparseTensorSpec(),
    tf.SparseTensorSpec([None, 3], tf.int32),
    tf.SparseTensorSpec([2, 3], tf.int32),
]
SLICES = [
    tf.IndexedSlicesSpec(),
    tf.IndexedSlicesSpec([5, 3], tf.int32, tf.int32),
    tf.IndexedSlicesSpec([5, 3], tf.int32, tf.int32, tf.int64, [4]),
]


def sparse(kind=np.int32, shape=(2, 3)):
    return tf.SparseTensor([[0, 1], [1, 2]], kind([5, 7]), shape)


@pytest.mark.parametrize("spec", [*SPARSE, *SLICES], ids=repr)
def test_a_spec_equals_its_copy_alone(spec):
    copy = pickle.loads(pickle.dumps(spec))
    assert copy == spec and hash(copy) == hash(spec)
    assert [one for one in (*SPARSE, *SLICES, tf.TensorSpec([2, 3])) if one == spec] == [spec]


def test_what_fits_and_what_is_known_of_both():
    unknown, rows, fixed = SPARSE
    assert rows.is_compatible_with(fixed) and not unknown.is_compatible_with(fixed)
    assert fixed.is_compatible_with(sparse()) and not fixed.is_compatible_with(sparse(shape=(2, 4)))
    assert not fixed.is_compatible_with(np.zeros((2, 3), np.int32))
    common = fixed.most_specific_compatible_type(tf.SparseTensorSpec([4, 3], tf.int32))
    assert common == rows
    assert common.most_specific_compatible_type(tf.SparseTensorSpec([3], tf.int32)) == tf.SparseTensorSpec(
        None, tf.int32
    )
    for other in (unknown, tf.TensorSpec([2, 3], tf.int32)):
        with pytest.raises(ValueError, match="compatible"):
            fixed.most_specific_compatible_type(other)
    with pytest.raises(TypeError, match="Could not build a TypeSpec"):
        fixed.is_compatible_with(object())


def test_values_come_apart_into_tensors_and_together_again():
    spec = tf.SparseTensorSpec([2, None], tf.int32)
    slices = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([3, 0]), tf.constant([4, 1]))
    of_slices = type_spec_from_value(slices)
    assert of_slices.is_compatible_with(tf.IndexedSlicesSpec([4, 1], tf.float32, tf.int32, tf.int32))
    packed = spec._to_tensor_list(sparse())
    assert spec._flat_tensor_specs[0].is_compatible_with(packed[0])
    with tf.Session() as session:
        for found in (spec._from_components(spec._to_components(sparse())), spec._from_tensor_list(packed)):
            value = session.run(found)
            assert value.indices.tolist() == [[0, 1], [1, 2]] and value.values.tolist() == [5, 7]
            assert value.dense_shape.tolist() == [2, 3]
        together = of_slices._from_components(of_slices._to_components(slices))
        assert session.run(tf.convert_to_tensor(together)).tolist() == [[2.0], [0.0], [0.0], [1.0]]
    arrays = [np.array([[0, 1]]), np.array([5]), np.array([2, 3])]
    assert isinstance(spec._from_components(arrays), tf.SparseTensorValue)
    with pytest.raises(ValueError, match="wrong number of tensors"):
        spec._from_tensor_list([])
    with pytest.raises(ValueError, match="is incompatible with"):
        spec._from_tensor_list([tf.constant(1)])


def test_components_have_the_sizes_that_are_known():
    assert SPARSE[1]._component_specs[0] == tf.TensorSpec([None, 2], tf.int64)
    assert SLICES[1]._component_specs == (
        tf.TensorSpec([None, 3], tf.int32),
        tf.TensorSpec([None], tf.int32),
    )
    assert SLICES[2]._component_specs[0] == tf.TensorSpec([4, 3], tf.int32)
    assert SLICES[2]._component_specs[2] == tf.TensorSpec([2], tf.int64)


def test_conversion_keeps_sparse_what_is_sparse():
    tensor = sparse()
    assert tf.convert_to_tensor_or_sparse_tensor(tensor) is tensor
    value = tf.SparseTensorValue([[0]], [1.5], [3])
    assert isinstance(tf.convert_to_tensor_or_sparse_tensor(value), tf.SparseTensor)
    assert isinstance(tf.convert_to_tensor_or_sparse_tensor([1, 2]), tf.Tensor)
    with pytest.raises(RuntimeError, match="Sparse dtype: requested = float32, actual = int32"):
        tf.convert_to_tensor_or_sparse_tensor(tensor, tf.float32)


def test_padding_sparse_elements_is_refused():
    dataset = tf.data.Dataset.from_tensors(sparse())
    with pytest.raises(TypeError, match="Batching of padded sparse tensors is not currently supported"):
        dataset.padded_batch(2, [None, None])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: tf.serialize_many_sparse(tf.SparseTensor([[0]], [1], [3])),
            "should be > 1, but saw rank: 1",
        ),
        (
            lambda: tf.serialize_many_sparse(tf.SparseTensor([[5, 0]], [1], [2, 3])),
            r"\[5,0\] is out of bounds",
        ),
        (
            lambda: tf.deserialize_many_sparse([tf.serialize_sparse(sparse())], tf.float32),
            "Requested SparseTensor of type float",
        ),
        (
            lambda: tf.deserialize_many_sparse(
                [tf.serialize_sparse(sparse()), tf.serialize_sparse(tf.SparseTensor([[0]], [1], [3]))],
                tf.int32,
            ),
            r"rank prior to SparseTensor\[1\] was: 2 but rank of SparseTensor\[1\] is: 1",
        ),
    ],
)
def test_what_cannot_be_packed_or_unpacked(make, message):
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(make())
