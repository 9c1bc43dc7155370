"""Poolings and their gradients against loops over the windows."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpuplace.numerics import pieces
from gpuplace.ops.nn.pool_arithmetic import at_largest, largest, largest_gradient, means, means_gradient
from gpuplace.ops.nn.windows import Window
from gpuplace.process import PROCESS


def expected(images, grad, values, window):
    """Largest elements, their gradient, the values there, means and their gradient, window by window."""
    batch, height, width, channels = images.shape
    out_height, out_width, ((top, _), (left, _)) = window.geometry(height, width)
    shape = (batch, out_height, out_width, channels)
    of_largest, of_values, of_means = (np.zeros(shape) for _ in range(3))
    back, back_means = np.zeros(images.shape), np.zeros(images.shape)
    for n, y, x, c in itertools.product(*map(range, shape)):
        first = y * window.strides[0] - top, x * window.strides[1] - left
        pixels = [
            (n, row, column, c)
            for row in range(max(0, first[0]), min(height, first[0] + window.rows))
            for column in range(max(0, first[1]), min(width, first[1] + window.columns))
        ]
        seen = [float(images[pixel]) for pixel in pixels]
        has_nan = any(np.isnan(seen))
        best = next(i for i, value in enumerate(seen) if (np.isnan(value) if has_nan else value == max(seen)))
        of_largest[n, y, x, c], of_values[n, y, x, c] = seen[best], values[pixels[best]]
        of_means[n, y, x, c] = sum(seen) / len(seen)
        back[pixels[best]] += grad[n, y, x, c]
        for pixel in pixels:
            back_means[pixel] += grad[n, y, x, c] / len(seen)
    return of_largest, back, of_values, of_means, back_means


def computed(images, grad, values, window):
    pooled = largest(np, images, window)
    return (
        pooled,
        largest_gradient(np, images, pooled, grad, window),
        at_largest(np, images, pooled, values, window),
        means(np, images, window),
        means_gradient(np, images.shape, grad, window),
    )


def arrays(sizes, window, levels, dtype="float32"):
    random = np.random.default_rng(5)
    height, width, _ = window.geometry(sizes[1], sizes[2])
    images = random.integers(0, levels, sizes).astype(dtype)  # with many equal ones
    grad = random.standard_normal((sizes[0], height, width, sizes[3])).astype(dtype)
    return images, grad, random.standard_normal(sizes).astype(dtype)


few = st.integers(1, 4)


@settings(max_examples=150, deadline=None)
@given(
    sizes=st.tuples(st.integers(0, 3), st.integers(1, 7), st.integers(1, 7), st.integers(1, 3)),
    taps=st.tuples(few, few),
    strides=st.tuples(few, few),
    padding=st.sampled_from(["SAME", "VALID"]),
    has_nan=st.booleans(),
)
def test_any_window(sizes, taps, strides, padding, has_nan):
    window = Window(*taps, strides, padding=padding)
    try:
        window.geometry(sizes[1], sizes[2])
    except ValueError:
        assume(False)
    images, grad, values = arrays(sizes, window, 3)
    if has_nan and images.size:
        images[0, 0, 0, 0] = images[-1, -1, -1, -1] = np.nan
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "PIECE_BYTES", 100)
        patch.setattr(pieces, "WHOLE_BYTES", 100)
        found = computed(images, grad, values, window)
    for one, wanted in zip(found, expected(images, grad, values, window), strict=True):
        assert one.dtype == images.dtype
        np.testing.assert_allclose(one, wanted, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32"])
def test_types(dtype):
    window = Window(3, 2, (2, 2), padding="SAME")
    images, grad, values = arrays((2, 7, 6, 3), window, 50, dtype)
    found = largest(np, images, window), at_largest(np, images, largest(np, images, window), values, window)
    wanted = expected(images, grad, values, window)
    for one, other in zip(found, (wanted[0], wanted[2]), strict=True):
        assert one.dtype == dtype
        np.testing.assert_array_equal(one, other)
    if dtype != "int32":
        for one, other in zip(computed(images, grad, values, window), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-3 if dtype == "float16" else 1e-12, atol=1e-3)


def test_large_ones_give_the_same_bits_with_any_number_of_threads(monkeypatch):
    window = Window(2, 2, (2, 2), padding="SAME")
    given = arrays((32, 31, 32, 24), window, 1000)
    found = []
    for count in (1, 2, 3):
        monkeypatch.setattr(PROCESS, "intra_op_threads", count)
        found.append(computed(*given, window))
    for other, which in itertools.product(found[1:], range(5)):
        np.testing.assert_array_equal(other[which], found[0][which])
