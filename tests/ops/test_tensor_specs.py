"""What is known of tensors: shapes, types, bounds."""

import pickle

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.tf1.data.bounded_spec import BoundedTensorSpec
from gpuplace.tf1.metrics.metrics import remove_squeezable_dimensions


def test_specs_of_tensors_and_other_specs():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    spec = tf.TensorSpec.from_tensor(x)
    assert (spec.shape.as_list(), spec.dtype, spec.name) == ([None, 2], tf.float32, "x")
    assert tf.TensorSpec.from_spec(spec, "y") == tf.TensorSpec([None, 2], tf.float32, "y")
    assert spec.is_compatible_with(tf.zeros([3, 2]))
    assert not spec.is_compatible_with(tf.zeros([3, 2], tf.int32))
    assert not spec.is_compatible_with(np.zeros([3, 2], np.float32))
    with pytest.raises(ValueError, match="should be a tf.Tensor"):
        tf.TensorSpec.from_tensor(3)


def test_bounds():
    spec = BoundedTensorSpec([3, 2], tf.int32, 0, [4, 5], "s")
    assert spec.maximum.tolist() == [4, 5]
    with pytest.raises(ValueError, match="read-only"):
        spec.maximum[0] = 9
    assert spec == pickle.loads(pickle.dumps(spec)) == BoundedTensorSpec.from_spec(spec)
    assert spec != BoundedTensorSpec([3, 2], tf.int32, 0, 5, "s")
    assert spec != tf.TensorSpec([3, 2], tf.int32, "s")
    assert BoundedTensorSpec.from_spec(tf.TensorSpec([], tf.uint8)).maximum == 255
    with pytest.raises(ValueError, match="minimum is not compatible with shape"):
        BoundedTensorSpec([3, 2], tf.int32, [1, 2, 3], 5)
    with pytest.raises(ValueError, match="must be provided"):
        BoundedTensorSpec([], tf.int32, None, 5)


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize(
    ("labels", "predictions", "difference", "ranks"),
    [
        ([4], [4, 1], 0, (1, 1)),
        ([4, 1], [4, 3], 1, (1, 2)),
        ([4], [4, 1, 1], 1, (1, 2)),
    ],
)
def test_axes_too_many_are_left_out(labels, predictions, difference, ranks, is_known):
    arrays = [np.ones(shape) for shape in (labels, predictions)]
    holders = [tf.placeholder(tf.float32, shape if is_known else None) for shape in (labels, predictions)]
    made = remove_squeezable_dimensions(*holders, expected_rank_diff=difference)
    found = tf.Session().run(made, dict(zip(holders, arrays, strict=True)))
    assert tuple(one.ndim for one in found) == ranks


def test_an_axis_of_another_size_is_an_error():
    with pytest.raises(ValueError, match=r"Can not squeeze dim\[1\], expected a dimension of 1, got 3"):
        remove_squeezable_dimensions(tf.zeros([4]), tf.zeros([4, 3]))
