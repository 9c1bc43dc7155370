"""What lists of tensors refuse; the sentences are those of TensorFlow 1.15.5."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.clusters.wire import packed, unpacked
from gpuplace.dtypes import float32
from gpuplace.kernels.tensor_lists import TensorList
from gpuplace.shapes import TensorShape
from gpuplace.tf1.flow import tensor_lists as lists


def error_of(fetch):
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(fetch)
    return caught.value.message


def test_what_is_refused_when_it_runs():
    empty = lists.empty_tensor_list([None], tf.float32, max_num_elements=1)
    full = lists.tensor_list_push_back(empty, [1.0])
    unset = lists.tensor_list_reserve(None, 2, tf.float32)
    unknown = tf.placeholder_with_default([1.0, 2.0], None)
    assert "Tried to push item into a full list" in error_of(lists.tensor_list_push_back(full, [2.0]))
    assert "Trying to pop from an empty list." in error_of(lists.tensor_list_pop_back(empty, tf.float32))
    assert "Trying to modify element 3 in a list with 1 elements." in error_of(
        lists.tensor_list_set_item(full, 3, [1.0])
    )
    assert "Tried to stack elements of an empty list with non-fully-defined element_shape: [?]" in error_of(
        lists.tensor_list_stack(empty, tf.float32)
    )
    assert "Trying to read an uninitialized tensor but element_shape is not fully defined" in error_of(
        lists.tensor_list_get_item(unset, 0, tf.float32)
    )
    assert "Tried to append a tensor with incompatible shape to a list." in error_of(
        lists.tensor_list_push_back(lists.empty_tensor_list([3], tf.float32), unknown)
    )
    assert "Indices in TensorListScatter must all be non-negative." in error_of(
        lists.tensor_list_scatter(tf.constant([1.0, 2.0]), [-1, 0], [])
    )
    assert "Unused values in tensor. Length of tensor: 2 Values used: 1" in error_of(
        lists.tensor_list_split([1.0, 2.0], [None], [1])
    )
    assert "Input handle is not a list." in error_of(
        lists.list_length(tf.data.Dataset.range(2)._variant_tensor)
    )


def test_what_is_known_beforehand():
    handle = lists.tensor_list_from_tensor(tf.zeros([2, 3]), element_shape=[None])
    assert lists.tensor_list_stack(handle, tf.float32, 2, [3]).shape.as_list() == [2, 3]
    assert lists.tensor_list_get_item(handle, 0, tf.float32).shape.as_list() == [None]
    with pytest.raises(ValueError, match="Shapes must be equal rank, but are 1 and 2"):
        lists.tensor_list_from_tensor(tf.zeros([2, 3]), element_shape=[1, 3])


def test_lists_in_loops_and_branches():
    def one_more(i, handle):
        return i + 1, tf.cond(i > 1, lambda: lists.tensor_list_push_back(handle, x * 2.0), lambda: handle)

    x = tf.constant(3.0)
    _, handle = tf.while_loop(lambda i, _: i < 4, one_more, [0, lists.empty_tensor_list([], tf.float32)])
    with tf.Session() as session:
        assert session.run(lists.tensor_list_stack(handle, tf.float32)).tolist() == [6.0, 6.0]


def test_lists_that_go_to_another_task():
    inner = TensorList([np.float32([1, 2]), None], float32, TensorShape([None]), 5)
    again = unpacked(packed(inner))
    assert again.elements[0].tolist() == [1.0, 2.0] and again.elements[1] is None
    assert again.element_shape.as_list() == [None] and again.max_num_elements == 5
    batch = np.empty(2, object)
    batch[:] = [inner, inner]
    assert [len(one.elements) for one in unpacked(packed(batch))] == [2, 2]


def test_lists_that_functions_return():
    @tf.function
    def filled():
        return lists.tensor_list_push_back(lists.empty_tensor_list([2], tf.float32), [1.0, 2.0])

    assert lists.tensor_list_stack(filled(), tf.float32).shape.as_list() == [None, 2]


def test_gradients_that_are_lists():
    x = tf.constant(1.0)
    handle = lists.tensor_list_push_back(lists.empty_tensor_list([], tf.float32), x)
    given = lists.tensor_list_push_back(handle, 5.0)
    with tf.Session() as session:
        assert session.run(tf.gradients(handle, x, grad_ys=given)) == [5.0]
    with pytest.raises(TypeError, match="must be variant"):
        tf.gradients(handle, x, grad_ys=x)
