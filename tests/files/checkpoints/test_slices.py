"""Parts of tensors: their texts, keys and intersections, and whole tensors from them."""

import itertools

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.files.checkpoints.slices import (
    FULL,
    assembled,
    check_slices,
    full_slice,
    indices,
    intersection,
    is_whole,
    parse_shape_and_slice,
    resolved,
    slice_key,
    slice_text,
)

INVALID, INTERNAL = tf.errors.InvalidArgumentError, tf.errors.InternalError


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("4 6 0,2:-", ((4, 6), ((0, 2), FULL), (2, 6))),
        ("4 1,3", ((4,), ((1, 3),), (3,))),
        (" 5 - ", ((5,), (FULL,), (5,))),
        ("4 6 -:5,1", ((4, 6), (FULL, (5, 1)), (4, 1))),
    ],
)
def test_a_specification_has_the_shape_the_slice_and_its_shape(text, parsed):
    assert parse_shape_and_slice(text) == parsed
    assert slice_text(parsed[1]) == text.strip().rpartition(" ")[2]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("4", INVALID, "two elements"),
        ("x 0,1", INVALID, "Non numerical"),
        ("4 0", INVALID, "pair of numbers"),
        ("4 a,1", INVALID, "pair of numbers"),
        ("4 0,-1", INVALID, "pair of numbers"),
        ("4 0,0", INVALID, "positive length"),
        ("4 0,1:-", INTERNAL, "Mismatching ranks"),
        ("4 2,3", INTERNAL, "dimension 0 out of bounds"),
        ("4 4 -:4,1", INTERNAL, "dimension 1 out of bounds"),
    ],
)
def test_other_specifications_are_refused(text, error, message):
    with pytest.raises(error, match=message):
        parse_shape_and_slice(text)


def test_full_slices():
    assert full_slice(2) == (FULL, FULL) and is_whole(full_slice(2)) and is_whole(())
    assert not is_whole((FULL, (0, 3)))
    assert resolved((FULL, (1, 2)), (5, 4)) == ((0, 5), (1, 2))


@pytest.mark.parametrize(
    ("first", "second", "common"),
    [
        (((0, 3),), ((1, 5),), ((1, 2),)),
        (((2, 3),), ((0, 3),), ((2, 1),)),
        (((0, 3),), ((3, 2),), None),
        (((0, 9),), ((4, 2),), ((4, 2),)),
        (((0, 3), (0, 2)), ((1, 3), (2, 2)), None),
        (((0, 3), (0, 3)), ((1, 3), (2, 2)), ((1, 2), (2, 1))),
    ],
)
def test_intersections(first, second, common):
    assert intersection(first, second) == intersection(second, first) == common


def test_the_index_of_a_slice_in_an_array_that_holds_another():
    whole = np.arange(20).reshape(4, 5)
    part = whole[indices(((1, 2), (2, 3)), ((0, 4), (0, 5)))]
    assert (part == whole[1:3, 2:5]).all()
    assert (part[indices(((2, 1), (3, 2)), ((1, 2), (2, 3)))] == whole[2:3, 3:5]).all()


WHOLE = np.arange(24).reshape(4, 6)
QUARTERS = tuple(itertools.product(((0, 1), (1, 3)), ((0, 4), (4, 2))))


def saved(extents):
    (row, rows), (column, columns) = resolved(extents, WHOLE.shape)
    return WHOLE[row : row + rows, column : column + columns]


@pytest.mark.parametrize("wanted", [full_slice(2), ((0, 2), FULL), ((1, 2), (3, 2)), ((3, 1), (5, 1))])
@pytest.mark.parametrize("stored", [QUARTERS, QUARTERS[::-1], (full_slice(2),)])
def test_slices_are_assembled_from_those_that_are_saved(wanted, stored):
    result = assembled("w", wanted, WHOLE.shape, np.int64, stored, saved)
    assert (result == saved(wanted)).all() and result.dtype == np.int64


@pytest.mark.parametrize("missing", range(4))
def test_a_gap_is_an_error_that_lists_what_is_saved(missing):
    stored = [extents for number, extents in enumerate(QUARTERS) if number != missing]
    with pytest.raises(INVALID, match="sufficient slices for partitioned tensor w") as caught:
        assembled("w", full_slice(2), WHOLE.shape, np.int64, stored, saved)
    assert slice_text(stored[0]) in str(caught.value)
    assert (assembled("w", QUARTERS[missing - 1], WHOLE.shape, np.int64, stored, saved) >= 0).all()


def test_values_of_another_shape_are_damage():
    with pytest.raises(tf.errors.DataLossError, match="has shape"):
        assembled("w", full_slice(2), WHOLE.shape, np.int64, QUARTERS, lambda extents: saved(extents)[:, :1])


def test_empty_tensors():
    assert assembled("w", full_slice(1), (0,), np.float32, [], None).shape == (0,)


@pytest.mark.parametrize(
    ("shape", "stored", "message"),
    [
        ((4, -1), [], "Invalid tensor shape"),
        ((1 << 62, 2), [], "Invalid tensor shape"),
        ((4, 6), [((0, 4),)], "Invalid slice"),
        ((4, 6), [((0, 5), FULL)], "Invalid slice"),
        ((4, 6), [(FULL, (-1, 2))], "Invalid slice"),
    ],
)
def test_impossible_descriptions_are_damage(shape, stored, message):
    with pytest.raises(tf.errors.DataLossError, match=message):
        check_slices("w", shape, stored)
    check_slices("w", (4, 6), [full_slice(2), ((0, 4), (4, 2))])


def test_keys_sort_like_names_then_extents():
    names = ["a", "a\x00b", "b", "b\xff"]
    extents = [((start, length),) for start in (0, 1, 63, 64, 8191, 8192, 1 << 40) for length in (-1, 1, 200)]
    keys = [slice_key(name, slice_) for name in names for slice_ in extents]
    assert keys == sorted(keys) and len(set(keys)) == len(keys)
    assert slice_key("w", ((0, 2),)) == b"\x00w\x00\x01\x01\x01\x80\x82"
    assert slice_key("", ()) == b"\x00\x00\x01\x00"
