"""Widths of text."""

import pytest

from gpuplace.views.picture.text_width import fitted, text_width


@pytest.mark.parametrize(
    ("text", "width"), [("", 0), ("MatMul", 32.78), ("图", 10), ("e\u0301", 5.56), ("ü", 6)]
)
def test_widths_at_ten_points(text, width):
    assert text_width(text, 10) == pytest.approx(width, abs=0.01)


def test_bold_is_wider_and_size_counts():
    assert text_width("conv", 11, True) > text_width("conv", 11) > text_width("conv", 9)


def test_texts_are_cut_to_fit():
    assert fitted("short", 100, 9) == "short"
    cut = fitted("a very long name of an operation", 60, 9)
    assert "…" in cut and text_width(cut, 9) <= 60
