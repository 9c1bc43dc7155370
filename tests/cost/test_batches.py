"""Batch sizes: which dimension of the feeds is the batch, and the largest batch that fits."""

import pytest

import gpuplace as tf
from gpuplace.cost.batches import LARGEST, MOST, batch_feeds, batch_of, check_batch, largest


@pytest.mark.parametrize(
    ("feeds", "placeholders", "resized"),
    [
        ({"x": (None, 4)}, None, {"x": (32, 4)}),
        ({"x": (-1, 4), "y": (8,)}, None, {"x": (32, 4), "y": (8,)}),
        ({"x": (8, 4), "y": (8,), "rate": ()}, None, {"x": (32, 4), "y": (32,), "rate": ()}),
        ({}, {"x": (None, 4), "rate": (), "table": (9, 2)}, {"x": (32, 4)}),
        ({"x": (8, 4), "y": (9,)}, {"z": (None,)}, {"x": (8, 4), "y": (9,), "z": (32,)}),
        ({"x": (8, 4)}, {"z": (-1, 2)}, {"x": (32, 4), "z": (32, 2)}),
    ],
)
def test_the_batch_is_the_open_dimension_or_the_one_that_all_feeds_share(feeds, placeholders, resized):
    assert batch_feeds(feeds, 32, placeholders) == resized


@pytest.mark.parametrize(
    ("feeds", "text"),
    [
        ({}, "no batch dimension"),
        ({"x": (8, 4), "y": (9,)}, "which dimension is the batch"),
        ({"rate": ()}, "which dimension is the batch"),
    ],
)
def test_no_batch_dimension_is_an_error(feeds, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        batch_feeds(feeds, 32)


def test_the_hint_names_an_open_placeholder_before_a_feed():
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        batch_feeds({"x": (8, 4), "y": (9,)}, 32, {"image": (3, 3)})
    assert "--feed image=?" in str(caught.value)
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        batch_feeds({"x": (8, 4), "y": (9,)}, 32)
    assert "--feed x=?" in str(caught.value)


def test_possible_batches():
    check_batch(1)
    check_batch(LARGEST)
    for batch in (0, -1, LARGEST + 1):
        with pytest.raises(tf.errors.InvalidArgumentError):
            check_batch(batch)
    with pytest.raises(TypeError):
        check_batch(2.5)


def test_the_batch_of_feeds_that_share_their_first_dimension():
    assert batch_of({"x": (7, 2), "y": (7,), "rate": ()}) == 7
    assert batch_of({"x": (7, 2), "y": (8,)}) is None
    assert batch_of({"rate": ()}) is None


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 63, 64, 65, 1000, MOST - 1, MOST])
@pytest.mark.parametrize("start", [1, 64, 5000])
def test_the_largest_number_is_found_from_any_start(limit, start):
    asked = []

    def fits(number):
        asked.append(number)
        return number <= limit

    assert largest(fits, start) == (limit, None)
    assert len(asked) == len(set(asked)) <= 45 and all(1 <= number <= MOST for number in asked)


def test_where_the_answer_is_unknown_the_next_number_is_told():
    assert largest(lambda number: True if number <= 5 else None) == (5, 6)
    assert largest(lambda number: None) == (0, 1)
    assert largest(lambda number: number <= 5 if number <= 6 else None, most=100) == (5, None)
    assert largest(lambda number: True, most=9) == (9, None)
