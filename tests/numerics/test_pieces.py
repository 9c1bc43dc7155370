"""Pieces: what they cover, products in blocks, sums per channel."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplace.numerics import channels, pieces
from gpuplace.process import PROCESS


@given(st.integers(0, 500), st.integers(0, 1 << 24))
def test_cuts_cover_all_items_once(count, nbytes):
    parts = pieces.cuts(count, nbytes)
    assert [index for part in parts for index in range(part.start, part.stop)] == list(range(count))
    assert all(part.start < part.stop for part in parts)


def test_cuts_are_of_one_size_and_small_work_is_whole():
    assert pieces.cuts(100, 10) == [slice(0, 100)]
    assert pieces.cuts(64, 1 << 16) == [slice(0, 32), slice(32, 64)]


@pytest.mark.parametrize(
    "rows, depth, columns", [(1000, 27, 32), (17, 300, 300), (0, 3, 3), (5, 0, 3), (9, 4, 1)]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("terms", [1, 8 * 27 * 32, 1_000_000])
def test_products(rows, depth, columns, dtype, terms, monkeypatch):
    monkeypatch.setattr(pieces, "_has_small_products", lambda: True)
    monkeypatch.setattr(pieces, "_PRODUCT_TERMS", terms)
    random = np.random.default_rng(0)
    a, b = (
        random.standard_normal((rows, depth)).astype(dtype),
        random.standard_normal((depth, columns)).astype(dtype),
    )
    out, turned = np.full((rows, columns), np.nan, dtype), np.full((rows, columns), np.nan, dtype)
    pieces.product(np, a, b, out)
    pieces.product(np, np.ascontiguousarray(a.T).T, b, turned)
    np.testing.assert_allclose(out, a @ b, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(turned, a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "rows, depth, columns", [(128, 512, 700), (700, 130, 100), (50, 90_000, 60), (3, 0, 5), (4, 4, 4)]
)
@pytest.mark.parametrize("turned", [False, True])
def test_large_products_are_the_same_with_any_number_of_threads(rows, depth, columns, turned, monkeypatch):
    random = np.random.default_rng(0)
    a = random.standard_normal((rows, depth)).astype(np.float32)
    b = random.standard_normal((depth, columns)).astype(np.float32)
    if turned:
        a, b = np.asfortranarray(a), np.asfortranarray(b)
    found = []
    for number in (1, 2, 3):
        monkeypatch.setattr(PROCESS, "intra_op_threads", number)
        found.append(pieces.multiply(a, b))
    np.testing.assert_allclose(
        found[0], a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4, atol=1e-5 * max(1, depth)
    )
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


@pytest.mark.parametrize("shape", [(64, 33, 7, 32), (5000, 37), (4, 4), (3, 100_001), (1 << 17,)])
@pytest.mark.parametrize("other", ["number", "vector"])
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_by_element(shape, other, layout):
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    x = np.asfortranarray(x) if layout == "columns" else x
    y = np.float32(0.5) if other == "number" else np.linspace(-1, 1, shape[-1], dtype=np.float32)
    wanted = x + y
    np.testing.assert_array_equal(pieces.by_element(np, np.add, x, y, None), wanted)
    assert pieces.by_element(np, np.add, x, y, x) is x
    np.testing.assert_array_equal(x, wanted)


@pytest.mark.parametrize("shape", [(64, 33, 7, 32), (0, 5), (5000, 37), (4, 4), (3, 100_001), (7, 3000, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_channel_sums(shape, dtype):
    x = (np.random.default_rng(1).standard_normal(shape) * 9).astype(dtype)
    axes = tuple(range(len(shape) - 1))
    wanted = x.sum(axis=axes, dtype=np.float64 if dtype is not np.int32 else np.int32)
    for found in (channels.channel_sums(np, x), channels.channel_sums(np, np.asfortranarray(x))):
        assert found.dtype == dtype and found.shape == shape[-1:]
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=2e-2 if dtype is np.float32 else 1e-9)


def test_scratch_is_taken_again_and_threads_have_their_own():
    first = pieces.scratch(np, "some", (3, 4), np.dtype(np.float32))
    again = pieces.scratch(np, "some", (2, 2), np.dtype(np.float64))
    other = pieces.scratch(np, "other", (3, 4), np.dtype(np.float32))
    assert np.shares_memory(first, again) and not np.shares_memory(first, other)
    assert first.shape == (3, 4) and again.dtype == np.float64
