"""Partial shapes."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpuplace as tf
from gpuplace.shapes import Dimension, TensorShape, as_shape, broadcast_shapes, unknown_shape

SIZES = st.none() | st.lists(st.none() | st.integers(0, 5), max_size=4)
PARTIAL = SIZES.map(TensorShape)


def test_making_and_showing():
    assert str(TensorShape(None)) == "<unknown>"
    assert str(TensorShape([2, None])) == "(2, ?)"
    assert str(TensorShape(3)) == "(3,)"
    assert repr(TensorShape([2])) == "TensorShape([Dimension(2)])"
    assert TensorShape([Dimension(2), np.int64(3)]).as_list() == [2, 3]
    assert [d.value for d in TensorShape([1, None])] == [1, None]
    assert TensorShape([1, 2, 3])[1:] == [2, 3]
    assert TensorShape([1, 2, 3])[-1].value == 3
    assert TensorShape(None)[0].value is None
    assert not TensorShape(None)
    assert TensorShape([])


@pytest.mark.parametrize("bad", ["ab", [-1], ["a"], [1.5], object()])
def test_refused(bad):
    with pytest.raises((TypeError, ValueError)):
        TensorShape(bad)


def test_whole_numbers_and_digits_are_sizes():
    assert Dimension("12") == 12 == Dimension(12.0) == Dimension(b"12")
    assert TensorShape(["3", 4.0]).as_list() == [3, 4]
    for value, error in (("_", ValueError), (1.5, ValueError), ([1], TypeError), (tf.float32, TypeError)):
        with pytest.raises(error):
            Dimension(value)
    for division in (lambda: Dimension(6) / 2, lambda: 6 / Dimension(2), lambda: Dimension(6) / Dimension(2)):
        with pytest.raises(
            TypeError, match=r"unsupported operand type\(s\) for /: .*, please use // instead"
        ):
            division()


@pytest.mark.parametrize("sizes", [None, [], [2, None], [0, 5]])
def test_shapes_become_messages_and_are_pickled(sizes):
    shape = TensorShape(sizes)
    assert TensorShape(shape.as_proto()).sizes == shape.sizes == pickle.loads(pickle.dumps(shape)).sizes
    assert shape.as_proto().unknown_rank == (sizes is None)
    for size in shape.dims or []:
        assert pickle.loads(pickle.dumps(size)).value == size.value


def test_sizes_of_single_dimensions():
    shape = TensorShape([2, None])
    assert [tf.compat.dimension_value(one) for one in (shape[0], shape[1], 3, None)] == [2, None, 3, None]
    assert tf.compat.dimension_at_index(shape, -2).value == 2
    assert tf.compat.dimension_at_index(TensorShape(None), 7).value is None


def test_unknown_rank_has_no_list():
    for ask in (TensorShape(None).as_list, lambda: len(TensorShape(None)), lambda: list(TensorShape(None))):
        with pytest.raises(ValueError, match="unknown"):
            ask()
    with pytest.raises(ValueError, match="is not fully defined"):
        TensorShape([None]).assert_is_fully_defined()
    with pytest.raises(ValueError, match="must have rank 2"):
        TensorShape([1]).with_rank(2)
    assert TensorShape(None).with_rank(2) == [None, None]


def test_dimensions():
    assert (Dimension(2) == Dimension(None)) is None
    assert Dimension(2) == 2
    assert Dimension(2) + None is not None
    assert (Dimension(2) * 3).value == 6
    assert (7 // Dimension(2)).value == 3
    assert (Dimension(None) + 1).value is None
    assert (Dimension(1) < 2) is True
    with pytest.raises(ValueError, match="are not compatible"):
        Dimension(1).merge_with(2)
    assert int(Dimension(3)) == 3
    assert list(range(Dimension(2))) == [0, 1]


@given(PARTIAL, PARTIAL)
def test_merging_agrees_with_compatibility(a, b):
    if a.is_compatible_with(b):
        merged = a.merge_with(b)
        assert merged == b.merge_with(a)
        assert merged.is_compatible_with(a)
        assert merged.is_compatible_with(b)
    else:
        with pytest.raises(ValueError, match="not compatible"):
            a.merge_with(b)


@given(st.lists(st.integers(0, 3), max_size=4), st.lists(st.integers(0, 3), max_size=4))
def test_broadcasting_agrees_with_numpy(a, b):
    try:
        expected = np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
            broadcast_shapes(as_shape(a), as_shape(b))
    else:
        assert broadcast_shapes(as_shape(a), as_shape(b)) == expected


@given(st.lists(st.integers(0, 3), max_size=4), st.lists(st.integers(0, 3), max_size=4), st.data())
def test_broadcasting_with_unknown_sizes_allows_what_may_happen(a, b, data):
    try:
        expected = as_shape(np.broadcast_shapes(tuple(a), tuple(b)))
    except ValueError:
        return
    hidden = [None if data.draw(st.booleans()) else size for size in a]
    assert broadcast_shapes(as_shape(hidden), as_shape(b)).is_compatible_with(expected)
    assert broadcast_shapes(unknown_shape(), as_shape(b)).ndims is None
