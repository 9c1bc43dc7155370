"""Convolutions and their gradients against sums written out, in one piece and in many, and the same bits every time."""

import itertools

import numpy as np
import pytest

from gpuplace.dtypes import bfloat16
from gpuplace.numerics import pieces
from gpuplace.ops.nn.conv_arithmetic import convolve, filter_gradient, images_gradient
from gpuplace.ops.nn.windows import Window
from gpuplace.process import PROCESS

WINDOWS = [
    Window(3, 3, (1, 1), padding="SAME"),
    Window(3, 2, (2, 1), padding="SAME"),
    Window(2, 3, (3, 2), padding="VALID"),
    Window(3, 3, (1, 1), (2, 1), padding="SAME"),
    Window(3, 3, (2, 2), (1, 3), padding="VALID"),
    Window(3, 3, (1, 1), padding="EXPLICIT", explicit=((4, 0), (1, 3))),
    Window(1, 1, (1, 1), padding="VALID"),
    Window(1, 1, (2, 2), padding="VALID"),
    Window(2, 2, (1, 1), padding="EXPLICIT", explicit=((3, 3), (0, 5))),
    Window(5, 1, (1, 1), padding="SAME"),
]


def padded_sums(images, window):
    """The images with their border, and for each tap of the window the pixels that it sees, as slices."""
    _, height, width, _ = images.shape
    out_height, out_width, ((top, bottom), (left, right)) = window.geometry(height, width)
    wide = np.pad(images, ((0, 0), (top, bottom), (left, right), (0, 0)))
    taps = {}
    for row, column in itertools.product(range(window.rows), range(window.columns)):
        down, along = row * window.dilations[0], column * window.dilations[1]
        taps[row, column] = (
            slice(None),
            slice(down, down + (out_height - 1) * window.strides[0] + 1, window.strides[0]),
            slice(along, along + (out_width - 1) * window.strides[1] + 1, window.strides[1]),
        )
    return (
        wide,
        taps,
        (out_height, out_width),
        (slice(None), slice(top, top + height), slice(left, left + width)),
    )


def expected(images, filter, grad, window):
    """Result and both gradients, in double precision, one tap and one group at a time."""
    images, filter, grad = (x.astype(np.float64) for x in (images, filter, grad))
    wide, taps, sizes, inner = padded_sums(images, window)
    deep, filters = filter.shape[2:]
    groups = images.shape[3] // deep
    each = filters // groups
    out = np.zeros((len(images), *sizes, filters))
    of_images, of_filter = np.zeros_like(wide), np.zeros_like(filter)
    for (tap, where), group in itertools.product(taps.items(), range(groups)):
        inputs, outputs = slice(group * deep, (group + 1) * deep), slice(group * each, (group + 1) * each)
        seen = wide[where][..., inputs]
        out[..., outputs] += seen @ filter[tap][:, outputs]
        of_images[where][..., inputs] += grad[..., outputs] @ filter[tap][:, outputs].T
        of_filter[tap][:, outputs] += np.einsum("nhwc,nhwo->co", seen, grad[..., outputs])
    return out, of_images[inner], of_filter


def arrays(window, shape=(5, 9, 11, 6), filters=8, groups=1, dtype="float32"):
    random = np.random.default_rng(3)
    height, width, _ = window.geometry(shape[1], shape[2])
    images = random.standard_normal(shape).astype(dtype)
    filter = random.standard_normal((window.rows, window.columns, shape[3] // groups, filters)).astype(dtype)
    return images, filter, random.standard_normal((shape[0], height, width, filters)).astype(dtype)


def computed(images, filter, grad, window):
    return (
        convolve(np, images, filter, window),
        images_gradient(np, images.shape, filter, grad, window),
        filter_gradient(np, images, filter.shape, grad, window),
    )


def check(window, tolerance, **options):
    given = arrays(window, **options)
    for found, wanted in zip(computed(*given, window), expected(*given, window), strict=True):
        assert found.dtype == given[0].dtype and found.shape == wanted.shape
        scale = max(1.0, np.abs(wanted).max(initial=0))
        np.testing.assert_allclose(found.astype(np.float64) / scale, wanted / scale, atol=tolerance)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("cut", [None, 300, 4000], ids=["whole", "lines", "images"])
@pytest.mark.parametrize("small", [True, False], ids=["small products", "BLAS alone"])
def test_equal_to_sums_written_out(window, cut, small, monkeypatch):
    monkeypatch.setattr(pieces, "_has_small_products", lambda: small)
    monkeypatch.setattr(pieces, "_PRODUCT_TERMS", 8 * 54 * 8 * 3)
    if cut:
        monkeypatch.setattr(pieces, "PIECE_BYTES", cut)
        monkeypatch.setattr(pieces, "WHOLE_BYTES", cut)
    check(window, 3e-6)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("channels", [1, 3])
def test_few_channels(window, channels):
    check(window, 3e-6, shape=(5, 9, 11, channels), filters=12)


@pytest.mark.parametrize("window", WINDOWS[:6], ids=str)
@pytest.mark.parametrize("groups", [2, 3, 6])
def test_groups(window, groups):
    check(window, 3e-6, filters=12, groups=groups)


@pytest.mark.parametrize(
    "dtype, tolerance",
    [("float64", 1e-14), ("float16", 2e-3), (bfloat16.as_numpy_dtype, 1e-2)],
    ids=["double", "half", "bfloat16"],
)
@pytest.mark.parametrize("window", WINDOWS[:3], ids=str)
def test_types(window, dtype, tolerance):
    check(window, tolerance, dtype=dtype)


@pytest.mark.parametrize("window", WINDOWS[:3], ids=str)
def test_no_images(window):
    check(window, 0, shape=(0, 9, 11, 6))


def test_images_seen_from_channels_first():
    window = WINDOWS[0]
    images, filter, grad = arrays(window)
    turned = np.ascontiguousarray(images.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1)
    for found, wanted in zip(
        computed(turned, filter, grad, window), computed(images, filter, grad, window), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


def test_large_ones_give_the_same_bits_with_any_number_of_threads(monkeypatch):
    window = Window(3, 3, (1, 1), padding="SAME")
    given = arrays(window, (16, 30, 31, 24), 40)
    found = []
    for count in (1, 2, 3, 2):
        monkeypatch.setattr(PROCESS, "intra_op_threads", count)
        found.append(computed(*given, window))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)
    for one, wanted in zip(found[0], expected(*given, window), strict=True):
        np.testing.assert_allclose(one / np.abs(wanted).max(), wanted / np.abs(wanted).max(), atol=3e-6)
