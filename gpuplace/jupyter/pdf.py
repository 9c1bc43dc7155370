"""A PDF page with a JPEG picture, for layout programs that do not write PDF.

>>> jpeg = bytes.fromhex("ffd8ffc0000b080002000301011100ffd9")  # three dots wide, two high, no data
>>> page = pdf_of_jpeg(jpeg, dots_per_inch=72)
>>> page[:8], b"/MediaBox [0 0 3.00 2.00]" in page
(b'%PDF-1.4', True)

Source: Adobe, PDF Reference 1.4, sections 3.4 (file structure) and 4.8 (images); ITU-T T.81, B.2.2 (frame header).
"""

from __future__ import annotations

_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Second bytes of the markers that start a frame header."""
_COLOURS = {1: "/DeviceGray", 3: "/DeviceRGB", 4: "/DeviceCMYK"}


def jpeg_size(data: bytes) -> tuple[int, int, int]:
    """Return the width and height in pixels, and the number of colour components.

    Raises:
        ValueError: the data are not a JPEG.
    """
    at = 2
    while data[:2] == b"\xff\xd8" and at + 9 < len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if marker in _FRAMES:
            height, width = (int.from_bytes(data[at + k : at + k + 2], "big") for k in (5, 7))
            return width, height, data[at + 9]
        at += 2 + length
    raise ValueError("This is not a JPEG picture")


def pdf_of_jpeg(data: bytes, *, dots_per_inch: float) -> bytes:
    """Return a PDF with one page of the picture's size.

    Args:
        data: content of a JPEG file.
        dots_per_inch: the resolution.

    Raises:
        ValueError: `data` is not a JPEG.
    """
    columns, rows, components = jpeg_size(data)
    width, height = columns * 72 / dots_per_inch, rows * 72 / dots_per_inch
    content = f"q {width:.2f} 0 0 {height:.2f} 0 0 cm /Picture Do Q".encode()
    image = (
        f"<< /Type /XObject /Subtype /Image /Width {columns} /Height {rows} /ColorSpace {_COLOURS[components]}"
        f" /BitsPerComponent 8 /Filter /DCTDecode /Length {len(data)} >>"
    ).encode()
    page = (
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.2f} {height:.2f}] /Contents 4 0 R"
        " /Resources << /XObject << /Picture 5 0 R >> >> >>"
    ).encode()
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        page,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"%s\nstream\n%s\nendstream" % (image, data),
    ]
    file = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, body in enumerate(bodies, 1):
        places.append(len(file))
        file += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(file)
    file += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    file += b"".join(b"%010d 00000 n \n" % place for place in places)
    file += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(bodies) + 1, start)
    return bytes(file)
