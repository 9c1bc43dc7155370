"""Sorting with positions: as a stable sort, whatever the numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from gpuplace.numerics.order import ordered_keys, positions

SHAPES = nps.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=20)
FLOATS = st.one_of(
    st.floats(width=32, allow_nan=False), st.sampled_from([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, 1e-45])
)


@given(
    st.one_of(
        nps.arrays(np.float32, SHAPES, elements=FLOATS),
        nps.arrays(np.int32, SHAPES, elements=st.sampled_from([-(2**31), -1, 0, 1, 2**31 - 1])),
        nps.arrays(np.uint32, SHAPES, elements=st.sampled_from([0, 1, 2**31, 2**32 - 1])),
    )
)
def test_as_a_stable_sort(x):
    found = positions(np.sort(ordered_keys(x), axis=-1))
    np.testing.assert_array_equal(found, np.argsort(x, axis=-1, kind="stable"))
    backwards = positions(np.sort(ordered_keys(x, descending=True), axis=-1))
    values = np.take_along_axis(x, backwards, -1)
    np.testing.assert_array_equal(values, np.sort(x, axis=-1)[..., ::-1])
    equal = values[..., 1:] == values[..., :-1]
    assert (backwards[..., 1:] > backwards[..., :-1])[equal].all()


@pytest.mark.parametrize(
    "x", [np.float32([1, np.nan]), np.float64([1, 2]), np.int64([1]), np.array(["a"], object)]
)
def test_others_have_no_keys(x):
    assert ordered_keys(x) is None
