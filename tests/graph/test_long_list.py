"""Lists kept as short as they were written."""

import numpy as np
import pytest

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.long_list import LongList, different_items, joined, listed, mapped, pick, repeated
from gpuplace.graph.op_def import make_op_def


def test_a_long_list_reads_like_the_tuple_it_stands_for():
    plain = ("a",) + ("b", "c") * 40 + ("d",) * 100
    long = LongList([(("a",), 1), (("b", "c"), 40), (("d",), 100), ((), 7)])
    assert len(long) == len(plain) and tuple(long) == plain
    assert [long[i] for i in range(len(plain))] == list(plain)
    assert long[-1] == "d" and long[-181] == "a" and long[75:83] == plain[75:83]
    assert "c" in long and "e" not in long
    assert tuple(mapped(long, str.upper)) == tuple(item.upper() for item in plain)
    assert different_items(long) == different_items(plain) == set("abcd")
    with pytest.raises(IndexError):
        long[len(plain)]


def test_short_lists_are_tuples():
    assert repeated(7, 64) == (7,) * 64 and joined([(1, 2), (3,)]) == (1, 2, 3)
    assert isinstance(repeated(7, 65), LongList)
    only = tuple(range(100))
    assert joined([only]) is only


def test_more_than_tensorflow_counts():
    assert len(repeated(0, (1 << 31) - 1)) == (1 << 31) - 1
    with pytest.raises(InvalidArgumentError, match="Number of outputs is too big: 2147483648"):
        repeated(0, 1 << 31)
    with pytest.raises(InvalidArgumentError, match="Number of outputs is too big: 4294967294"):
        joined([repeated(0, (1 << 31) - 1)] * 2)
    with pytest.raises(InvalidArgumentError, match="Value for number_attr.. -3 < 0"):
        repeated(0, -3)


def test_picks_from_short_and_long_lists():
    lists = [(1, 2), repeated(5, 1000), (), joined([repeated(8, 100), (9,)])]
    which, at = np.array([3, 0, 1, 3, 0]), np.array([100, 1, 999, 0, 0])
    assert pick(lists, which, at).tolist() == [9, 2, 5, 8, 1]
    assert pick([], np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []


def test_a_text_of_many_items_ends():
    assert listed(repeated("x", 3_000_000_00), str, 3) == "x, x, x, ... (300000000)"


def test_types_of_many_arguments_that_share_a_list():
    arguments = [f"x{i}: Ref(T)" for i in range(100)]
    op = make_op_def("Many", arguments, [], ["T: list(type)"])
    from gpuplace.dtypes import float32, int32

    types = op.input_types({"T": (float32, int32)})
    assert len(types) == 200 and types[199] is int32._as_ref
    assert len(types.different) == 1
