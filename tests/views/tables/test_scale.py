"""Steps of bytes and times: round bounds, never too many, everything inside."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplace.views.tables.scale import MOST_STEPS, bytes_scale, time_scale, time_text

NUMBERS = st.lists(st.floats(0.001, 1e12), min_size=1, max_size=30)


@pytest.mark.parametrize("scale_of", [bytes_scale, time_scale])
@given(values=NUMBERS)
def test_steps_hold_every_value_and_are_of_equal_ratio(scale_of, values):
    known = np.maximum(np.array(values), 1.0)
    scale = scale_of(known)
    steps = len(scale.bounds) - 1
    assert 1 <= steps <= MOST_STEPS
    assert scale.bounds[0] <= known.min() and known.max() <= scale.bounds[-1]
    assert list(scale.bounds) == sorted(scale.bounds)
    ratios = np.diff(np.log(scale.bounds))
    assert ratios.max() / ratios.min() < 2.1


def test_nothing_known_has_no_steps():
    assert bytes_scale(np.array([0.0, np.nan])).bounds == ()
    assert time_scale(np.array([])).bounds == ()


def test_one_value_is_one_step():
    scale = bytes_scale(np.array([16.0]))
    assert [scale.step_text(0)] == ["16–32 B"]


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [(0, "0 µs"), (0.0123, "12.3 ns"), (12, "12 µs"), (1.2e3, "1.2 ms"), (3e7, "30 s")],
)
def test_times_in_words(microseconds, text):
    assert time_text(microseconds) == text
