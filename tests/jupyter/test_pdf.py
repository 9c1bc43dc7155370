"""PDF pages around a JPEG."""

import re

import pytest

from gpuplace.jupyter.pdf import jpeg_size, pdf_of_jpeg

JPEG = bytes.fromhex("ffd8ffe00004aabbffc2001108012002000301220002110103110100ffd9")


def test_sizes():
    assert jpeg_size(JPEG) == (512, 288, 3)


@pytest.mark.parametrize("data", [b"", b"\x89PNG\r\n", b"\xff\xd8\xff\xd9", JPEG[:10]])
def test_what_is_no_jpeg(data):
    with pytest.raises(ValueError, match="not a JPEG"):
        pdf_of_jpeg(data, dots_per_inch=96)


def test_a_page_holds_the_picture_and_its_table_is_right():
    page = pdf_of_jpeg(JPEG, dots_per_inch=144)
    assert b"/MediaBox [0 0 256.00 144.00]" in page and JPEG in page
    start = int(re.search(rb"startxref\n(\d+)", page)[1])
    assert page[start : start + 4] == b"xref"
    for number, place in enumerate(re.findall(rb"(\d{10}) 00000 n", page), 1):
        assert page[int(place) :].startswith(b"%d 0 obj" % number)
