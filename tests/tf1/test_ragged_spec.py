"""Specs of ragged tensors, and of arrays of tensors among the legacy structures; as TensorFlow 1.15.5 has them."""

import pytest

import gpuplace as tf
from gpuplace.tf1.ragged_spec import RaggedTensorSpec
from gpuplace.tf1.stand_in.data.kernel_tests.test_base import DatasetTestBase
from gpuplace.tf1.stand_in.data.util import structure
from gpuplace.tf1.stand_in.names import resolve

MESSAGE = (
    "9a03790a449202410803122ba203280a18fa011512020803120b08ffffffffffffffffff01120208020a038002030a0260020a038002091a10"
    "52616767656454656e736f72537065630a3192022e08041219a203160a07fa0104120208020a038002010a0270010a0270011a0f54656e736f"
    "72417272617953706563"
)
ROWS = RaggedTensorSpec([3, None, 2], tf.int32, 1)


def components(*args):
    return [(one.shape.as_list(), one.dtype) for one in RaggedTensorSpec(*args)._component_specs]


def test_tensors_that_such_a_tensor_consists_of():
    assert components([3, None, 2], tf.int32, 1) == [([None, 2], tf.int32), ([4], tf.int64)]
    three = components([3, None, None, 7], tf.int32, 2, tf.int32)
    assert three == [([None, 7], tf.int32), ([4], tf.int32), ([None], tf.int32)]
    assert components([3, 2], tf.float32, 0) == [([3, 2], tf.float32)]
    assert RaggedTensorSpec([3, 2], ragged_rank=0).value_type is tf.Tensor
    flat, ends = RaggedTensorSpec(None, ragged_rank=1)._component_specs
    assert flat.shape.ndims is None and ends.shape.as_list() == [None]
    assert ROWS._flat_tensor_specs == [tf.TensorSpec(None, tf.variant)]


def test_what_no_ragged_tensor_is():
    with pytest.raises(ValueError, match="Must specify ragged_rank or a shape with a known rank."):
        RaggedTensorSpec()
    with pytest.raises(ValueError, match="ragged_rank must be less than rank."):
        RaggedTensorSpec([2, None], ragged_rank=2)
    with pytest.raises(TypeError, match="ragged_rank must be an int"):
        RaggedTensorSpec([2, None], ragged_rank=1.5)


def test_specs_are_compared():
    assert ROWS.is_compatible_with(RaggedTensorSpec([None, None, 2], tf.int32, 1))
    assert not ROWS.is_compatible_with(RaggedTensorSpec([3, None, 2], tf.int32, 2))
    assert (
        RaggedTensorSpec([3, None, 2], tf.int32, 1) == ROWS != RaggedTensorSpec([3, None, 2], ragged_rank=1)
    )
    common = ROWS.most_specific_compatible_type(RaggedTensorSpec([5, None, 2], tf.int32, 1))
    assert common == RaggedTensorSpec([None, None, 2], tf.int32, 1)
    assert ROWS._batch(4) == RaggedTensorSpec([4, 3, None, 2], tf.int32, 2)
    assert ROWS._unbatch() == RaggedTensorSpec([None, 2], tf.int32, 0)


def test_the_message_is_tensorflows():
    coder = resolve("tensorflow.python.saved_model.nested_structure_coder").StructureCoder()
    given = [ROWS, tf.TensorArraySpec([2], tf.float32, True)]
    message = coder.encode_structure(given)
    assert message.SerializeToString().hex() == MESSAGE and coder.decode_proto(message) == given


def test_legacy_structures():
    again = structure.convert_legacy_structure(
        ROWS._to_legacy_output_types(), ROWS._to_legacy_output_shapes(), ROWS._to_legacy_output_classes()
    )
    assert again == ROWS
    array = structure.convert_legacy_structure(tf.int32, tf.TensorShape([None, 1, 2]), tf.TensorArray)
    assert array == tf.TensorArraySpec([2], tf.int32, None, True)
    assert array != tf.TensorArraySpec([2], tf.int32, False, True)


def test_sparse_tensors_are_compared_with_values():
    case = DatasetTestBase("test_session")
    value = tf.SparseTensorValue([[0]], [13], [2])
    with tf.Session().as_default():
        case.assertValuesEqual(value, tf.SparseTensor([[0]], [13], [2]))
        with pytest.raises(AssertionError):
            case.assertValuesEqual(value, tf.SparseTensor([[0]], [13], [3]))
