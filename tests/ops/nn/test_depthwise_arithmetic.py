"""Depthwise convolutions and their gradients against sums written out, and the same bits every time."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpuplace.numerics import pieces
from gpuplace.ops.nn import depthwise_arithmetic as module
from gpuplace.ops.nn.depthwise_arithmetic import (
    depthwise,
    depthwise_filter_gradient,
    depthwise_images_gradient,
)
from gpuplace.ops.nn.windows import Window
from gpuplace.process import PROCESS
from tests.ops.nn.test_conv_arithmetic import padded_sums


def expected(images, filter, grad, window):
    """Result and both gradients, in double precision, one position of the window at a time."""
    images, filter, grad = (x.astype(np.float64) for x in (images, filter, grad))
    wide, taps, sizes, inner = padded_sums(images, window)
    channels, multiplier = filter.shape[2:]
    out = np.zeros((len(images), *sizes, channels, multiplier))
    grad = grad.reshape(out.shape)
    of_images, of_filter = np.zeros_like(wide), np.zeros_like(filter)
    for tap, where in taps.items():
        out += wide[where][..., None] * filter[tap]
        of_images[where] += (grad * filter[tap]).sum(axis=4)
        of_filter[tap] += (wide[where][..., None] * grad).sum(axis=(0, 1, 2))
    return out.reshape(len(images), *sizes, channels * multiplier), of_images[inner], of_filter


def arrays(window, shape, multiplier, dtype="float32"):
    random = np.random.default_rng(3)
    height, width, _ = window.geometry(shape[1], shape[2])
    images = random.standard_normal(shape).astype(dtype)
    filter = random.standard_normal((window.rows, window.columns, shape[3], multiplier)).astype(dtype)
    return (
        images,
        filter,
        random.standard_normal((shape[0], height, width, shape[3] * multiplier)).astype(dtype),
    )


def computed(images, filter, grad, window):
    return (
        depthwise(np, images, filter, window),
        depthwise_images_gradient(np, images.shape, filter, grad, window),
        depthwise_filter_gradient(np, images, filter.shape, grad, window),
    )


def check(given_arrays, window, tolerance):
    for found, wanted in zip(computed(*given_arrays, window), expected(*given_arrays, window), strict=True):
        assert found.dtype == given_arrays[0].dtype and found.shape == wanted.shape
        scale = max(1.0, np.abs(wanted).max(initial=0))
        np.testing.assert_allclose(found.astype(np.float64) / scale, wanted / scale, atol=tolerance)


few = st.integers(1, 4)
pads = st.one_of(st.just((0, 0)), st.tuples(st.integers(0, 4), st.integers(0, 4)))


@settings(max_examples=300, deadline=None)
@given(
    sizes=st.tuples(st.integers(0, 3), st.integers(1, 9), st.integers(1, 9), st.integers(1, 3)),
    multiplier=st.integers(1, 3),
    taps=st.tuples(few, few),
    strides=st.tuples(few, few),
    dilations=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    padding=st.sampled_from(["SAME", "VALID", "EXPLICIT"]),
    explicit=st.tuples(pads, pads),
    summed=st.sampled_from([1, 4, 512]),
)
def test_any_window(sizes, multiplier, taps, strides, dilations, padding, explicit, summed):
    window = Window(*taps, strides, dilations, padding, explicit)
    try:
        window.geometry(sizes[1], sizes[2])
    except ValueError:
        assume(False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SUMMED_LINES", summed)
        patch.setattr(pieces, "PIECE_BYTES", 200)
        patch.setattr(pieces, "WHOLE_BYTES", 200)
        check(arrays(window, sizes, multiplier), window, 3e-6)


@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-14), ("float16", 2e-3)])
@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (3, 1)], ids=str)
def test_types(dtype, tolerance, strides):
    window = Window(3, 3, strides, padding="SAME")
    check(arrays(window, (2, 9, 8, 3), 2, dtype), window, tolerance)


def test_images_seen_from_channels_first():
    window = Window(3, 2, (2, 1), padding="VALID")
    images, filter, grad = arrays(window, (2, 9, 8, 3), 2)
    turned, turned_grad = (
        np.ascontiguousarray(array.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1) for array in (images, grad)
    )
    found = computed(turned, filter, turned_grad, window)
    for one, wanted in zip(found, computed(images, filter, grad, window), strict=True):
        np.testing.assert_array_equal(one, wanted)


@pytest.mark.parametrize("strides", [(1, 1), (2, 2)], ids=str)
def test_large_ones_give_the_same_bits_with_any_number_of_threads(strides, monkeypatch):
    window = Window(3, 3, strides, padding="SAME")
    arguments = arrays(window, (16, 30, 31, 24), 2)
    found = []
    for count in (1, 2, 3, 2):
        monkeypatch.setattr(PROCESS, "intra_op_threads", count)
        found.append(computed(*arguments, window))
    for other, which in itertools.product(found[1:], range(3)):
        np.testing.assert_array_equal(other[which], found[0][which])
    check(arguments, window, 3e-6)
