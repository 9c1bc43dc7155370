"""Partly known vectors of sizes: which elements stay known through ops, seen in the shape that they describe."""

import pytest

import gpuplace as tf
from gpuplace.graph.apply_op import apply_op
from tests.support.inferred_shapes import inferred


def described(build):
    """The inferred sizes of a tensor whose shape is the vector that ``build`` returns for an unknown size."""
    with tf.Graph().as_default() as graph:
        count = tf.shape(tf.placeholder(tf.float32, [None, 3]), name="sizes")[0]
        filled = apply_op("Fill", dims=build(count), value=0.0)
        found = inferred(graph.as_graph_def(), "1.15")
    return found.sizes[found.graph.index[filled.name]][0]


def op(op_type, **inputs):
    return apply_op(op_type, **inputs).outputs


def sizes_of(*sizes):
    return tf.shape(tf.placeholder(tf.float32, sizes))


@pytest.mark.parametrize(
    ("build", "sizes"),
    [
        (lambda n: tf.stack([n, 7]), (None, 7)),
        (lambda n: tf.stack([7, n, 5])[:2], (7, None)),
        (lambda n: tf.stack([7, n, 5])[::2], (7, 5)),
        (lambda n: tf.concat([[4], tf.stack([n, 7])], 0), (4, None, 7)),
        (lambda n: tf.gather(tf.stack([n, 7]), [1, 0, 1]), (7, None, 7)),
        (lambda n: tf.slice(tf.stack([n, 7, 5]), [1], [2]), (7, 5)),
        (lambda n: tf.reverse(tf.stack([n, 7]), [0]), (7, None)),
        (lambda n: tf.tile(tf.stack([n, 7]), [2]), (None, 7, None, 7)),
        (lambda n: tf.reshape(tf.stack([[n, 7]]), [-1]), (None, 7)),
        (lambda n: tf.unstack(tf.stack([[n, 7], [5, n]]), axis=1)[0], (None, 5)),
        (lambda n: tf.split(tf.stack([n, 7, 5, 4]), 2)[1], (5, 4)),
        (lambda n: tf.cast(tf.cast(tf.stack([n, 7]), tf.int64), tf.int32), (None, 7)),
        (lambda n: op("ConcatV2", values=[tf.stack([n]), [7]], axis=0)[0], (None, 7)),
    ],
)
def test_moved_elements_take_their_knowledge_along(build, sizes):
    assert described(build) == sizes


@pytest.mark.parametrize(
    ("build", "sizes"),
    [
        (lambda n: tf.stack([n, 7]) + 1, (None, 8)),
        (lambda n: tf.stack([n, 7]) * tf.stack([2, n]), (None, None)),
        (lambda n: tf.maximum(tf.stack([n, 7]), 9), (None, 9)),
        (lambda n: tf.stack([tf.reduce_sum(tf.stack([n, 7])), 3]), (None, 3)),
        (lambda n: tf.reduce_prod(tf.stack([[n, 7], [2, 5]]), axis=1), (None, 10)),
        (lambda n: tf.stack([tf.reduce_max([4, 9]), n]), (9, None)),
    ],
)
def test_what_is_computed_from_an_unknown_element_is_unknown(build, sizes):
    assert described(build) == sizes


@pytest.mark.parametrize(
    ("build", "sizes"),
    [
        (lambda n: tf.stack([tf.minimum(10, tf.maximum(10, n))]), (10,)),
        (lambda n: tf.stack([tf.minimum(tf.maximum(n, 12), 10)]), (10,)),
        (lambda n: tf.stack([tf.maximum(10, tf.minimum(10, n))]), (10,)),
        (lambda n: tf.stack([tf.minimum(10, tf.maximum(9, n))]), (None,)),
        (lambda n: tf.stack([tf.maximum(10, tf.minimum(11, n))]), (None,)),
        (lambda n: tf.stack([tf.minimum(10, tf.minimum(10, n))]), (None,)),
    ],
)
def test_a_value_between_equal_bounds_is_known(build, sizes):
    assert described(build) == sizes


@pytest.mark.parametrize(
    ("build", "sizes"),
    [
        (lambda n: sizes_of(4, None, 5), (4, None, 5)),
        (lambda n: op("ShapeN", input=[tf.zeros([2]), tf.zeros([3, 4])])[1], (3, 4)),
        (lambda n: tf.stack([tf.size(tf.placeholder(tf.float32, [2, 3]))]), (6,)),
        (lambda n: tf.stack([tf.size(tf.placeholder(tf.float32, [2, None]))]), (None,)),
        (lambda n: tf.stack([tf.rank(tf.placeholder(tf.float32, [2, None]))]), (2,)),
        (lambda n: op("BroadcastArgs", s0=[4, 1], s1=[5])[0], (4, 5)),
    ],
)
def test_sizes_of_shapes(build, sizes):
    assert described(build) == sizes


def test_a_conditional_knows_what_both_branches_agree_on():
    def build(n):
        return tf.cond(tf.placeholder(tf.bool, []), lambda: tf.constant([4, 7]), lambda: tf.constant([4, 9]))

    assert described(build) == (4, None)


def test_a_conditional_with_a_default_predicate_knows_its_branch():
    def build(n):
        flag = tf.placeholder_with_default(False, [])
        return tf.cond(flag, lambda: tf.constant([4, 7]), lambda: tf.constant([4, 9]))

    assert described(build) == (4, 9)


def test_an_array_of_tensors_knows_its_length():
    def build(n):
        return tf.stack([tf.TensorArray(tf.float32, 6).size(), tf.TensorArray(tf.float32, n).size()])

    assert described(build) == (6, None)
