"""Assertions about tensors: at once where the values are known, else when the graph runs."""

from typing import Any

import pytest

import gpuplace as tf
from gpuplace.ops.math.check_ops import assert_shapes

COMPARISONS = [
    (tf.assert_equal, 1.0, 1.0, 2.0, "=="),
    (tf.assert_none_equal, 1.0, 2.0, 1.0, "!="),
    (tf.assert_less, 1.0, 2.0, 1.0, "<"),
    (tf.assert_less_equal, 1.0, 1.0, 0.5, "<="),
    (tf.assert_greater, 2.0, 1.0, 2.0, ">"),
    (tf.assert_greater_equal, 2.0, 2.0, 3.0, ">="),
]


@pytest.mark.parametrize(("check", "x", "good", "bad", "symbol"), COMPARISONS)
def test_known_values_are_compared_at_once(
    check: Any, x: float, good: float, bad: float, symbol: str
) -> None:
    with tf.Session() as session:
        session.run(check(x, good))
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"Condition x {symbol} y did not hold"):
        check(x, bad, message="hear")


@pytest.mark.parametrize(("check", "x", "good", "bad", "symbol"), COMPARISONS)
def test_unknown_values_are_compared_by_a_run(
    check: Any, x: float, good: float, bad: float, symbol: str
) -> None:
    fed = tf.placeholder(tf.float32)
    with tf.control_dependencies([check(x, fed)]):
        result = tf.identity(fed)
    with tf.Session() as session:
        assert session.run(result, {fed: good}) == good
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=f"Condition x {symbol} y did not hold element-wise"
        ):
            session.run(result, {fed: bad})


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (tf.assert_positive, [1.0, 2.0], [1.0, 0.0]),
        (tf.assert_negative, [-1.0], [0.0]),
        (tf.assert_non_negative, [0.0, 1.0], [-1.0]),
        (tf.assert_non_positive, [0.0, -1.0], [1.0]),
    ],
)
def test_signs(check: Any, good: list[float], bad: list[float]) -> None:
    fed = tf.placeholder(tf.float32, [None])
    operation = check(fed)
    with tf.Session() as session:
        session.run(operation, {fed: good})
        with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
            session.run(operation, {fed: bad})


def test_near() -> None:
    fed = tf.placeholder(tf.float32, [None])
    operation = tf.assert_near(fed, [1.0, 2.0], atol=0.1, rtol=0.0)
    with tf.Session() as session:
        session.run(operation, {fed: [1.05, 1.95]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="x and y not equal to tolerance"):
            session.run(operation, {fed: [1.2, 2.0]})


def test_ranks() -> None:
    known, unknown = tf.zeros([2, 3]), tf.placeholder(tf.float32)
    assert tf.assert_rank(known, 2).type == "NoOp"
    assert tf.assert_rank_at_least(known, 1).type == "NoOp"
    assert tf.assert_rank_in(known, [1, 2]).type == "NoOp"
    with pytest.raises(ValueError, match="must have rank 1.  Received rank 2, shape"):
        tf.assert_rank(known, 1)
    with pytest.raises(ValueError, match="must have rank at least 3"):
        tf.assert_rank_at_least(known, 3)
    with pytest.raises(ValueError, match=r"must have rank in \(1, 3\)"):
        tf.assert_rank_in(known, [1, 3])
    checks = [
        tf.assert_rank(unknown, 1),
        tf.assert_rank_at_least(unknown, 1),
        tf.assert_rank_in(unknown, [1, 3]),
    ]
    with tf.Session() as session:
        session.run(checks, {unknown: [1.0]})
        for check in checks:
            with pytest.raises(tf.errors.InvalidArgumentError, match="must have rank"):
                session.run(check, {unknown: 1.0})


def test_types() -> None:
    x = tf.constant([1.0])
    assert tf.assert_type(x, tf.float32).type == "NoOp"
    with pytest.raises(TypeError, match="must be of type"):
        tf.assert_type(x, tf.int32)
    assert tf.assert_integer(tf.constant(1)).type == "NoOp"
    with pytest.raises(TypeError, match='Expected "x" to be integer type'):
        tf.assert_integer(x)
    assert tf.assert_scalar(tf.constant(1.0)).shape == []
    with pytest.raises(ValueError, match="Expected scalar shape"):
        tf.assert_scalar(x)
    with pytest.raises(TypeError, match="proper"):
        tf.assert_proper_iterable("text")
    assert tf.is_numeric_tensor(x) and not tf.is_numeric_tensor(tf.constant("a"))


def test_order() -> None:
    with tf.Session() as session:
        values = [[1, 2, 2], [1, 2, 3], [2, 1], [1]]
        assert [bool(session.run(tf.is_non_decreasing(v))) for v in values] == [True, True, False, True]
        assert [bool(session.run(tf.is_strictly_increasing(v))) for v in values] == [False, True, False, True]


def test_a_check_that_holds_stays_in_the_graph():
    a, b = tf.constant([1, 2], name="a"), tf.constant([1, 2], name="b")
    tf.assert_equal(a, b)
    names = {op.name for op in tf.get_default_graph().get_operations()}
    assert {"assert_equal_1/Equal", "assert_equal_1/All", "assert_equal_1/Assert/Assert/data_3"} <= names
    assert tf.assert_equal(a, a).type == "NoOp"


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (
            lambda: tf.assert_less([1, 2], [1, 3], message="hm"),
            "hm\nCondition x < y did not hold element-wise:\nx (",
        ),
        (lambda: tf.assert_positive([1, 0]), "\nCondition x > 0 did not hold element-wise:\nx ("),
        (lambda: tf.assert_equal([1], [2], data=["mine", tf.constant([5])]), "mine\n[5]"),
    ],
)
def test_known_values_that_fail_are_shown(check: Any, message: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        check()
    assert caught.value.message.startswith(message)


def test_known_values_of_other_shapes():
    with pytest.raises(
        ValueError, match="Dimensions must be equal, but are 3 and 2 for 'assert_equal_1/Equal'"
    ):
        tf.assert_equal([1, 2, 3], [1, 2])


def test_a_rank_is_a_scalar_integer():
    x = tf.placeholder(tf.float32)
    with pytest.raises(TypeError, match="rank:0 must be of type <dtype: 'int32'>"):
        tf.assert_rank(x, 0.5)
    for check in (tf.assert_rank, tf.assert_rank_at_least):
        with pytest.raises(ValueError, match="Rank must be a scalar."):
            check(x, [1, 2])
    with pytest.raises(ValueError, match="Rank must be a scalar."):
        tf.assert_rank_in(x, [1, [2, 1]])
    rank = tf.placeholder(tf.int32)
    with tf.Session() as session:
        session.run(tf.assert_rank_in(x, [3, rank]), {x: [1.0], rank: 1})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Rank must be a scalar. Received rank:"):
            session.run(tf.assert_rank(x, rank), {x: [1.0], rank: [1]})


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            [([[1, 2]], ("N", "N"))],
            "Specified by tensor .* dimension 0.  Tensor .* dimension 1 must have size 1.",
        ),
        (
            [([[1, 2]], ("N", "Q")), ([1], ("Q",))],
            "dimension 0 must have size 2.  Received size 1, shape \\(1,\\)",
        ),
        (
            [([[1, 2]], (1, 3))],
            "hm.  Specified explicitly.  .* dimension 1 must have size 3.  Received size 2",
        ),
        ([([[1, 2]], (1, 2, 3))], "must have rank 3.  Received rank 2"),
        ([([3, 2], (..., 3))], "dimension -1 must have size 3.  Received size 2"),
        (
            [([3, 2], (2, ...))],
            "specified shape index 1.  Symbol `...` or `\\*` .* only allowed as the first",
        ),
        ([([3, 2], 3)], "Specified shape must be an iterable"),
    ],
)
def test_known_shapes_that_are_wrong(shapes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        assert_shapes(shapes, message="hm")


def test_shapes_that_a_run_checks():
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32, [None])
    check = assert_shapes([(x, ("N", None, 2)), (y, "N"), (tf.constant(1), ()), (y, None)])
    with tf.Session() as session:
        session.run(check, {x: [[[1, 2]]], y: [1]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="dimension"):
            session.run(check, {x: [[[1, 2]]], y: [1, 2]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="must have rank"):
            session.run(check, {x: [1], y: [1]})
