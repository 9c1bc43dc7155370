"""Shapes of what is kept outside of edges: elements of tensor arrays, lists of tensors, stacks and queues."""

import pytest

import gpuplace as tf
from gpuplace.graph.apply_op import apply_op
from tests.support.inferred_shapes import inferred

F32 = tf.float32


def shape_of(build):
    """The inferred sizes of the outputs of the op ``build`` returns, in a graph whose own shapes are unknown."""
    with tf.Graph().as_default() as graph:
        op = build()
        op = getattr(op, "op", op)
        found = inferred(graph.as_graph_def(), "1.15")
    return list(found.sizes[found.graph.index[op.name]])


def open_rows(*sizes):
    return tf.placeholder(F32, sizes)


def array(count=4, element_shape=None):
    return tf.TensorArray(F32, count, element_shape=element_shape, infer_shape=False, clear_after_read=False)


@pytest.mark.parametrize(
    ("build", "sizes"),
    [
        (lambda: array().write(0, open_rows(2, 3)).read(0), [(2, 3)]),
        (lambda: array(element_shape=[2, 3]).read(0), [(2, 3)]),
        (lambda: array().read(0), [None]),
        (lambda: array().write(0, open_rows(2, 3)).write(1, open_rows(2, 4)).read(0), [(2, None)]),
        (lambda: array().write(0, open_rows(2)).write(1, open_rows(2, 4)).read(0), [None]),
        (lambda: array().unstack(open_rows(4, 5)).read(1), [(5,)]),
        (lambda: array().write(0, open_rows(2, 3)).gather([0, 1, 2]), [(3, 2, 3)]),
        (lambda: array().write(0, open_rows(2, 3)).stack(), [(4, 2, 3)]),
        (lambda: array().gather([0]), [None]),
        (lambda: array(3).write(0, open_rows(2, 5)).concat(), [(6, 5), (3,)]),
        (lambda: array(3).write(0, open_rows(None, 5)).concat(), [(None, 5), (3,)]),
        (lambda: array(3).concat(), [None, (3,)]),
        (lambda: array(2).split(open_rows(6, 5), [3, 3]).read(0), [(3, 5)]),
        (lambda: array(2).split(open_rows(6, 5), [2, 4]).read(0), [(None, 5)]),
    ],
)
def test_elements_of_tensor_arrays_have_the_shapes_that_are_written(build, sizes):
    assert shape_of(build) == sizes


def reserved(shape=-1, count=4):
    return apply_op("TensorListReserve", element_shape=shape, num_elements=count, element_dtype=F32).outputs[
        0
    ]


def set_item(handle, item, at=0):
    return apply_op("TensorListSetItem", input_handle=handle, index=at, item=item).outputs[0]


def of_list(op_type, handle, shape=-1, **inputs):
    return apply_op(op_type, input_handle=handle, element_shape=shape, element_dtype=F32, **inputs)


@pytest.mark.parametrize(
    ("build", "sizes"),
    [
        (lambda: of_list("TensorListGetItem", set_item(reserved(), open_rows(2, 3)), index=0), [(2, 3)]),
        (lambda: of_list("TensorListGetItem", reserved([2, 3]), index=0), [(2, 3)]),
        (lambda: of_list("TensorListGetItem", reserved(), [7], index=0), [(7,)]),
        (lambda: of_list("TensorListGetItem", reserved(), index=0), [None]),
        (lambda: of_list("TensorListStack", set_item(reserved(), open_rows(2, 3))), [(4, 2, 3)]),
        (lambda: of_list("TensorListStack", reserved([5], 4), num_elements=6), [(6, 5)]),
        (lambda: of_list("TensorListGather", reserved([5]), indices=[0, 2]), [(2, 5)]),
        (lambda: of_list("TensorListPopBack", reserved([5])), [(), (5,)]),
    ],
)
def test_elements_of_lists_have_the_shapes_that_are_set(build, sizes):
    assert shape_of(build) == sizes


def from_tensor(*sizes):
    return apply_op("TensorListFromTensor", tensor=open_rows(*sizes), element_shape=-1).outputs[0]


def pushed(handle, *sizes):
    return apply_op("TensorListPushBack", input_handle=handle, tensor=open_rows(*sizes)).outputs[0]


def test_a_list_of_a_tensor_has_its_rows_and_their_number_until_one_is_pushed():
    assert shape_of(lambda: of_list("TensorListStack", from_tensor(6, 2))) == [(6, 2)]
    assert shape_of(lambda: of_list("TensorListStack", from_tensor(None, 2))) == [(None, 2)]
    assert shape_of(lambda: of_list("TensorListStack", pushed(from_tensor(6, 2), 2))) == [(None, 2)]
    assert shape_of(lambda: of_list("TensorListStack", pushed(from_tensor(6, 2), 3))) == [(None, None)]


def test_a_stack_returns_the_shape_that_is_pushed():
    def build(is_pushed=True):
        handle = apply_op("StackV2", max_size=10, elem_type=F32).outputs[0]
        waits = [apply_op("StackPushV2", handle=handle, elem=open_rows(2, 3))] if is_pushed else []
        with tf.control_dependencies(waits):
            return apply_op("StackPopV2", handle=handle, elem_type=F32)

    assert shape_of(build) == [(2, 3)]
    assert shape_of(lambda: build(is_pushed=False)) == [None]


def queue(enqueue, dequeue, **options):
    def build():
        made = tf.FIFOQueue(10, [F32, tf.int32], **options)
        with tf.control_dependencies([enqueue(made)] if enqueue else []):
            return dequeue(made)[0].op

    return build


def one(made):
    return made.enqueue([open_rows(2, 3), tf.placeholder(tf.int32, [])])


def many(made):
    return made.enqueue_many([open_rows(7, 2, 3), tf.placeholder(tf.int32, [7])])


@pytest.mark.parametrize(
    ("build", "sizes"),
    [
        (queue(one, lambda made: made.dequeue()), [(2, 3), ()]),
        (queue(many, lambda made: made.dequeue()), [(2, 3), ()]),
        (queue(None, lambda made: made.dequeue()), [None, None]),
        (queue(None, lambda made: made.dequeue(), shapes=[[4], []]), [(4,), ()]),
        (queue(None, lambda made: made.dequeue_many(5), shapes=[[4], []]), [(5, 4), (5,)]),
        (queue(None, lambda made: made.dequeue_up_to(5), shapes=[[4], []]), [(None, 4), (None,)]),
    ],
)
def test_elements_of_queues_have_the_shapes_that_are_declared_or_enqueued(build, sizes):
    assert shape_of(build) == sizes
