"""Shape functions against the shapes NumPy gives, for shapes known in whole and in part."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gpuplace as tf
from gpuplace.ops.support import new

SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def placeholder(shape: Any, dtype: Any = tf.float32) -> tf.Tensor:
    return tf.placeholder(dtype, shape)


@st.composite
def partly_known(draw: Any, shape: tuple[int, ...]) -> list[int | None] | None:
    """The shape with some sizes, or its rank, forgotten."""
    if draw(st.booleans()) and draw(st.booleans()):
        return None
    return [None if draw(st.booleans()) else size for size in shape]


def check(build: Any, expected: tuple[int, ...] | None, *shapes: tuple[int, ...], data: Any) -> None:
    """``build`` of known shapes has the expected shape; of partly known ones, one that is compatible with it."""
    with tf.Graph().as_default():
        if expected is None:
            with pytest.raises(ValueError):
                build(*[placeholder(shape) for shape in shapes])
            return
        known = build(*[placeholder(shape) for shape in shapes])
        assert known.shape.as_list() == list(expected)
        partial = build(*[placeholder(data.draw(partly_known(shape))) for shape in shapes])
        assert partial.shape.is_compatible_with(expected)


@given(SHAPES, SHAPES, st.data())
def test_broadcast(a: tuple[int, ...], b: tuple[int, ...], data: Any) -> None:
    try:
        expected: Any = np.broadcast_shapes(a, b)
    except ValueError:
        expected = None
    check(lambda x, y: x + y, expected, a, b, data=data)


@given(st.data())
def test_broadcastable(data: Any) -> None:
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=4))
    c, x, y = shapes.input_shapes
    check(lambda a, b, q: tf.where_v2(a > 0.0, b, q), shapes.result_shape, c, x, y, data=data)


@given(SHAPES, st.booleans(), st.data())
def test_reductions(shape: tuple[int, ...], keep: bool, data: Any) -> None:
    axes = data.draw(st.lists(st.integers(-len(shape), len(shape) - 1), max_size=3) if shape else st.just([]))
    axes = list({axis % len(shape): axis for axis in axes}.values()) if shape else []
    expected = np.sum(np.zeros(shape), axis=tuple(axes), keepdims=keep).shape
    check(lambda x: tf.reduce_sum(x, axes, keepdims=keep), expected, shape, data=data)


@st.composite
def index(draw: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Something to index with: integers, slices, None, and at most one ellipsis."""
    parts: list[Any] = []
    for size in shape:
        kind = draw(st.sampled_from(["int", "slice", "slice", "all", "stop"]))
        if kind == "stop":
            break
        if kind == "int" and size:
            parts.append(draw(st.integers(-size, size - 1)))
        elif kind == "slice":
            bound = st.none() | st.integers(-6, 6)
            parts.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, -1, -2]))))
        else:
            parts.append(slice(None))
        if draw(st.booleans()) and draw(st.booleans()):
            parts.append(None)
    if draw(st.booleans()) and len(parts) == len(shape):
        parts.append(Ellipsis)
    return tuple(parts)


@given(SHAPES, st.data())
def test_strided_slices(shape: tuple[int, ...], data: Any) -> None:
    key = data.draw(index(shape))
    array = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    check(lambda x: x[key], array[key].shape, shape, data=data)
    with tf.Graph().as_default(), tf.Session() as session:
        assert np.array_equal(session.run(tf.constant(array)[key]), array[key])


@given(SHAPES, st.integers(-5, 4), st.data())
def test_concat(shape: tuple[int, ...], axis: int, data: Any) -> None:
    other = list(shape)
    if -len(shape) <= axis < len(shape):
        other[axis] = data.draw(st.integers(0, 3))
        expected: Any = np.concatenate([np.zeros(shape), np.zeros(other)], axis).shape
    else:
        expected = None
    check(lambda x, y: tf.concat([x, y], axis), expected, shape, tuple(other), data=data)


@given(SHAPES, st.integers(-5, 4), st.data())
def test_stack_unstack_and_expand(shape: tuple[int, ...], axis: int, data: Any) -> None:
    fits = -len(shape) - 1 <= axis <= len(shape)
    stacked = np.stack([np.zeros(shape)] * 2, axis).shape if fits else None
    check(lambda x, y: new("Pack", values=[x, y], axis=axis), stacked, shape, shape, data=data)
    check(
        lambda x: tf.expand_dims(x, axis),
        np.expand_dims(np.zeros(shape), axis).shape if fits else None,
        shape,
        data=data,
    )
    if stacked is not None:
        check(lambda x: tf.unstack(x, num=2, axis=axis)[0], shape, stacked, data=data)


@given(SHAPES, st.data())
def test_transpose_tile_and_pad(shape: tuple[int, ...], data: Any) -> None:
    perm = data.draw(st.permutations(range(len(shape))))
    check(lambda x: tf.transpose(x, list(perm)), np.zeros(shape).transpose(perm).shape, shape, data=data)
    counts = data.draw(st.tuples(*[st.integers(0, 3)] * len(shape)))
    tiled = tuple(size * count for size, count in zip(shape, counts, strict=True))
    check(lambda x: tf.tile(x, np.array(counts, np.int32)), tiled, shape, data=data)
    if shape:
        pairs = [(count, 1) for count in counts]
        check(lambda x: tf.pad(x, pairs), np.pad(np.zeros(shape), pairs).shape, shape, data=data)


@given(hnp.array_shapes(min_dims=1, max_dims=4, max_side=4), st.data())
def test_reshape_and_squeeze(shape: tuple[int, ...], data: Any) -> None:
    count = int(np.prod(shape))
    first = data.draw(st.sampled_from([n for n in range(1, count + 1) if count % n == 0]))
    check(lambda x: tf.reshape(x, [first, -1]), (first, count // first), shape, data=data)
    check(lambda x: tf.squeeze(x), np.squeeze(np.zeros(shape)).shape, shape, data=data)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Cannot reshape a tensor with"):
        tf.reshape(placeholder(shape), [count + 1])


@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.booleans(), st.booleans(), st.data())
def test_matmul(m: int, k: int, n: int, swap_a: bool, swap_b: bool, data: Any) -> None:
    a, b = (k, m) if swap_a else (m, k), (n, k) if swap_b else (k, n)
    check(lambda x, y: tf.matmul(x, y, swap_a, swap_b), (m, n), a, b, data=data)
    wrong = (n, k + 1) if swap_b else (k + 1, n)
    check(lambda x, y: tf.matmul(x, y, swap_a, swap_b), None, a, wrong, data=data)


@given(st.data())
def test_gather(data: Any) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=3))
    indices = data.draw(
        hnp.arrays(np.int32, hnp.array_shapes(min_dims=0, max_dims=2, max_side=3), elements=st.just(0))
    )
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    expected = np.take(np.zeros(shape), indices, axis).shape
    check(lambda x: tf.gather(x, indices, axis=axis), expected, shape, data=data)


ERRORS = [
    (lambda: placeholder([2]) + placeholder([3]),
     "Dimensions must be equal, but are 2 and 3 for 'add' (op: 'AddV2') with input shapes: [2], [3]."),
    (lambda: tf.matmul(placeholder([2, 3]), placeholder([2, 3])),
     "Dimensions must be equal, but are 3 and 2 for 'MatMul' (op: 'MatMul') with input shapes: [2,3], [2,3]."),
    (lambda: tf.matmul(placeholder([2]), placeholder([2, 3])),
     "Shape must be rank 2 but is rank 1 for 'MatMul' (op: 'MatMul') with input shapes: [2], [2,3]."),
    (lambda: tf.reshape(placeholder([6]), [4]), "Cannot reshape a tensor with 6 elements to shape [4] (4 elements)"),
    (lambda: tf.reduce_sum(placeholder([2]), 1), "Invalid reduction dimension 1 for input with 1 dimensions."),
    (lambda: placeholder([2])[0, 0], "Index out of range using input dim 1; input has only 1 dims"),
    (lambda: placeholder([2])[5], "slice index 5 of dimension 0 out of bounds."),
    (lambda: tf.unstack(placeholder([None])), "Cannot infer num from shape (?,)"),
    (lambda: tf.expand_dims(placeholder([2]), 4), "dim 4 not in the interval [-2, 1]."),
    (lambda: tf.squeeze(placeholder([2]), [0]), "Can not squeeze dim[0], expected a dimension of 1, got 2"),
    (lambda: tf.split(placeholder([3]), 2), "Dimension size must be evenly divisible by 2 but is 3"),
    (lambda: tf.concat([placeholder([2, 3]), placeholder([2])], 0), "Shape must be rank 1 but is rank 2"),
    (lambda: tf.transpose(placeholder([2, 3]), [0]), "Dimension must be 2 but is 1"),
    (lambda: tf.scatter_nd([[0], [1]], placeholder([3, 2]), [5, 2]),
     "The outer 1 dimensions of indices.shape=[2,1] must match the outer 1 dimensions of updates.shape=[3,2]:"
     " Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are [2] and [3]. for 'ScatterNd'"),
    (lambda: tf.scatter_nd([[0], [1]], placeholder([2, 3]), [5, 2]),
     "The inner 1 dimensions of output.shape=[5,2] must match the inner 1 dimensions of updates.shape=[2,3]"),
    (lambda: tf.scatter_nd([[0], [1]], placeholder([2, 3]), [0, 3]), "Indices and updates specified for empty output"),
    (lambda: tf.scatter_nd(0, placeholder([2]), [5]), "Shape must be at least rank 1 but is rank 0"),
    (lambda: tf.scatter_nd_update(tf.Variable([1.0]), [[0], [0]], [2.0]), "The outer 1 dimensions of indices.shape"),
    (lambda: tf.scatter_nd_add(tf.Variable([1.0], use_resource=True), [[0]], [[2.0]]), "The inner 0 dimensions"),
    (lambda: tf.tensor_scatter_add(placeholder([5, 2]), [[0]], placeholder([1, 3])), "The inner 1 dimensions"),
    (lambda: tf.dynamic_stitch([[0], [1, 2]], [[1], [2]]), "Dimensions must be equal, but are 1 and 2"),
    (lambda: tf.dynamic_stitch([[0], [1]], [[[1]], [[2, 3]]]), "Dimension 0 in both shapes must be equal, but are 1"),
    (lambda: tf.dynamic_stitch([[0], [1]], [[[1]], [2]]), "Shapes must be equal rank, but are 1 and 0"),
    (lambda: tf.pad(placeholder([2, 3]), placeholder([2, 3], tf.int32)), "Dimension must be 2 but is 3"),
    (lambda: tf.pad(placeholder(None), placeholder([2], tf.int32)),
     "Shape must be rank 2 but is rank 1 for 'Pad' (op: 'Pad') with input shapes: ?, [2]."),
    (lambda: tf.pad(placeholder([2, 3]), placeholder([3, 2], tf.int32)), "Shape must be rank 3 but is rank 2"),
    (lambda: tf.concat([placeholder(None), placeholder([])], placeholder([], tf.int32)), "Can't concatenate scalars"),
    (lambda: tf.concat([placeholder([2, 3])] * 2, -3), "Shape must be at least rank 3 but is rank 2"),
    (lambda: tf.concat([placeholder([2, 3])] * 2, [0]), "Shape must be rank 0 but is rank 1"),
    (lambda: tf.reverse(placeholder([2, 3]), [0, -2]), "axis 0 specified more than once."),
    (lambda: tf.reverse(placeholder([2, 3]), [2]), "'axis'[0] = 2 is out of valid range [0, 1"),
    (lambda: tf.reduce_sum(placeholder([2, 3]), [[0], [1]]), "Shape must be at most rank 1 but is rank 2"),
    (lambda: tf.reverse_sequence(placeholder([2, 3]), [1, 1], seq_axis=0, batch_axis=3),
     "batch_dim must be < input rank: 3 vs. 2"),
    (lambda: tf.reverse_sequence(placeholder([2, 3]), [1] * 4, seq_axis=1, batch_axis=0),
     "Dimensions must be equal, but are 2 and 4"),
    (lambda: tf.unsorted_segment_sum(placeholder([2, 3]), [0] * 3, 4), "Dimensions must be equal, but are 2 and 3"),
    (lambda: tf.unsorted_segment_sum(placeholder([2, 3]), [0, 0], [4]), "Shape must be rank 0 but is rank 1"),
    (lambda: tf.unsorted_segment_sum(placeholder([2, 3]), [0, 0], -1),
     "Dimension size, given by scalar input 2, must be non-negative but is -1"),
    (lambda: tf.sparse_segment_sum(placeholder([2]), [0], [0], num_segments=-1),
     "Cannot specify a negative value for num_segments"),
    (lambda: tf.split(placeholder([4]), 2, axis=[0, 0]), "Input must be scalar but has rank 1"),
    (lambda: tf.gather([1, 2, 3], [0], axis=-5), "Shape must be at least rank 5 but is rank 1"),
    (lambda: tf.matrix_set_diag(placeholder([1, 1]), placeholder([])), "Shape must be at least rank 1 but is rank 0"),
    (lambda: tf.diag_part(placeholder([2, 3])), "Dimensions must be equal, but are 2 and 3"),
    (lambda: tf.nn.top_k(placeholder([3]), -1), "given by scalar input 1, must be non-negative but is -1"),
    (lambda: tf.one_hot([0], 2, axis=3), "axis must be >= -1 and <= 1, got 3"),
    (lambda: tf.range(0, 3, 0), "Requires delta != 0"),
    (lambda: tf.norm(placeholder([2]), ord="max"), "'ord' must be a supported vector norm"),
    (lambda: tf.tensordot(placeholder([2]), placeholder([2]), 3),
     "'axes' must not be larger than the number of dimensions"),
    (lambda: tf.einsum("ij,jk", placeholder([2, 2])), 'Got 1 arguments for equation "ij,jk", expecting 2'),
    (lambda: tf.boolean_mask(placeholder([2]), tf.constant(True)), "mask cannot be scalar."),
    (lambda: tf.add_n([]), "inputs must be a list of at least one Tensor"),
    (lambda: tf.random_uniform([2], dtype=tf.int32), "Must specify maxval for integer dtype"),
    (lambda: tf.assert_rank(placeholder([2]), 2), "must have rank 2.  Received rank 1"),
    (lambda: tf.where(tf.constant([True]), placeholder([1])), "x and y must both be non-None or both be None."),
]  # fmt: skip


@pytest.mark.parametrize(("build", "sentence"), ERRORS, ids=range(len(ERRORS)))
def test_what_is_said_when_the_graph_is_built(build: Any, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        build()
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("build", "sizes"),
    [
        (
            lambda: tf.dynamic_stitch(
                [placeholder([], tf.int32), [1]], [placeholder([3]), placeholder(None)]
            ),
            [None, 3],
        ),
        (lambda: tf.pad(placeholder([2, 3]), tf.stack([[1, 2], placeholder([2], tf.int32)])), [5, None]),
        (lambda: tf.tile(placeholder([None, 1]), tf.stack([placeholder([], tf.int32), 7])), [None, 7]),
        (lambda: tf.transpose(placeholder(None), placeholder([1], tf.int32)), None),
        (lambda: tf.sequence_mask([1, 3, 2]), [3, 3]),
        (lambda: tf.reverse_sequence(placeholder([None, 3]), placeholder([4], tf.int64), 1, 0), [4, 3]),
    ],
    ids=range(6),
)
def test_shapes_that_follow_from_values_known_in_part(build: Any, sizes: Any) -> None:
    shape = build().shape
    assert (None if shape.ndims is None else shape.as_list()) == sizes


@pytest.mark.parametrize("op", ["MutexV2", "Timestamp"])
def test_ops_that_are_only_placed_have_shapes_when_they_are_made(op: str) -> None:
    with tf.Graph().as_default():
        assert new(op).shape.as_list() == []


def test_a_long_vector_is_not_taken_for_a_shape():
    x = tf.placeholder(tf.float32, [1 << 31])
    tracemalloc.start()
    y = x - 1.0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert y.shape == [1 << 31] and peak < 10e6


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("1.15", ["(?, ?)", "(?, ?, ?)", "(?, 12)", "(?, 2)", "(?, ?)", "(?,)"]),
        ("2.21", ["(?, 12)", "(?, 3, 4)", "(?, 12)", "(3, 2)", "(?, 3)", "(3,)"]),
    ],
)
def test_single_sizes_of_a_shape_that_is_known_in_part(release: str, expected: list[str]) -> None:
    """TensorFlow 1.15.5 knows none of them while it builds a graph; 2.21 does."""
    tf.set_release(release)
    x = tf.placeholder(tf.float32, [None, 3, 4])
    sizes = tf.shape(x)
    made = [
        tf.reshape(x, [-1, sizes[1] * sizes[2]]),
        tf.reshape(x, [-1, sizes[1], sizes[2]]),
        tf.reshape(x, [sizes[0], 12]),
        tf.fill([sizes[1], 2], 0.0),
        tf.zeros([sizes[0], sizes[1]]),
        tf.range(sizes[-2]),
    ]
    assert [str(tensor.shape) for tensor in made] == expected
