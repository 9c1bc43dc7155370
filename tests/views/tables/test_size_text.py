"""Sizes as text: the unit changes at 1,024 of the one before."""

import pytest

from gpuplace.views.tables.size_text import bytes_text


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1 << 20, "1.0 MiB"),
        ((1 << 20) - 1, "1024.0 KiB"),
        (5 << 30, "5.0 GiB"),
        (3 << 40, "3.0 TiB"),
        (-2048, "-2.0 KiB"),
        (None, "unknown size"),
    ],
)
def test_bytes(nbytes, text):
    assert bytes_text(nbytes) == text
