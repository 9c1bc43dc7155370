"""Masks: the same elements as NumPy's `where`, bit by bit, for every type, layout and size."""

import numpy as np
import pytest

from gpuplace.dtypes import bfloat16
from gpuplace.numerics.masks import chosen, kept
from gpuplace.process import PROCESS

TYPES = [
    "float32",
    "float64",
    "float16",
    bfloat16.as_numpy_dtype,
    "int8",
    "uint16",
    "int64",
    "bool",
    "complex64",
]
TYPES += ["complex128", object]


def numbers(seed, shape, dtype):
    random = np.random.default_rng(seed)
    found = np.asarray(random.standard_normal(shape) * 5)
    if np.dtype(dtype).kind == "f":
        found[random.random(shape) < 0.1] = np.nan
        found[random.random(shape) < 0.1] = -np.inf
        found[random.random(shape) < 0.1] = -0.0
    with np.errstate(invalid="ignore"):
        return np.asarray(found.astype(dtype))


def is_same(found, wanted):
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    return (
        found.tolist() == wanted.tolist() if wanted.dtype.hasobject else found.tobytes() == wanted.tobytes()
    )


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("shape", [(), (0,), (7,), (40, 60), (3, 50, 40)], ids=str)
@pytest.mark.parametrize("turned", [False, True])
def test_as_numpy_chooses(dtype, shape, turned):
    x, y = numbers(1, shape, dtype), numbers(2, shape, dtype)
    mask = np.asarray(np.random.default_rng(3).random(shape) < 0.5)
    if turned:
        x, mask = (array.copy("F") for array in (x, mask))
    assert is_same(chosen(np, mask, x, y), np.where(mask, x, y))
    wanted = np.where(mask, x, np.zeros((), dtype))
    out = numbers(4, shape, dtype)
    assert is_same(kept(np, x, mask), wanted)
    assert kept(np, x, mask, out) is out and is_same(out, wanted)


def test_shapes_broadcast():
    x, y = numbers(1, (2000, 3), "float32"), numbers(2, (1, 3), "float32")
    mask = np.arange(2000)[:, None] % 3 == 0
    assert is_same(chosen(np, mask, x, y), np.where(mask, x, y))
    assert is_same(kept(np, x, mask), np.where(mask, x, np.float32(0)))
    assert is_same(kept(np, y, mask), np.where(mask, y, np.float32(0)))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_large_ones_in_pieces(count, monkeypatch):
    monkeypatch.setattr(PROCESS, "intra_op_threads", count)
    x, y = numbers(1, 900_001, "float32"), numbers(2, 900_001, "float32")
    mask = y > x
    assert is_same(chosen(np, mask, x, y), np.where(mask, x, y))
    assert is_same(kept(np, x, mask), np.where(mask, x, np.float32(0)))
