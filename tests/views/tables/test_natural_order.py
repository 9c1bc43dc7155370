"""Names in the order a reader expects, the same as when sorted one by one."""

import random
import re
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplace.views.tables import natural_order
from gpuplace.views.tables.natural_order import natural_ranks


def in_order(texts):
    """Sorted as plain lists of text and numbers."""
    return sorted(
        texts, key=lambda text: [(int(p), p) if p.isdigit() else (0, p) for p in re.split(r"(\d+)", text)]
    )


def by_ranks(texts):
    return [texts[i] for i in np.argsort(natural_ranks(texts), kind="stable")]


@given(st.lists(st.text("ab/-_.019 ", max_size=9), max_size=40))
def test_as_one_by_one(texts):
    assert by_ranks(texts) == in_order(texts)


def test_scopes_and_what_is_in_them():
    names = ["a/b10", "a-b", "a", "a/b9/x", "a/b9", "a/b/c", "a/9", "a/10"]
    assert by_ranks(names) == ["a", "a-b", "a/9", "a/10", "a/b9", "a/b9/x", "a/b10", "a/b/c"]


def test_equal_texts_have_equal_ranks():
    assert natural_ranks(["b", "a", "b", ""]).tolist() == [2, 1, 2, 0]
    assert natural_ranks([]).tolist() == []


@pytest.mark.parametrize("digits", [5_000, 100_000])
def test_numbers_longer_than_python_reads(digits):
    names = ["x" + "9" * digits, "x" + "1" * digits, "x" + "0" * digits + "7", "x12"]
    assert by_ranks(names) == [names[2], names[3], names[1], names[0]]


def test_names_of_very_many_parts(monkeypatch):
    random.seed(3)
    names = ["/".join(random.choices(string.ascii_lowercase + "0123456789", k=9)) for _ in range(200)]
    expected = by_ranks(names)
    monkeypatch.setattr(natural_order, "_MAX_CELLS", 100)
    assert by_ranks(names) == expected
