"""Images that Pillow would warn of or refuse, because they are large, are decoded as TensorFlow decodes them."""

import struct
import warnings
import zlib

import numpy as np
import pytest

import gpuplace as tf


def png_of_rows(width, height, row, colour=0, depth=8):
    """A PNG of equal rows."""
    packer = zlib.compressobj(1)
    packed = b"".join(packer.compress(b"\0" + row) for _ in range(height)) + packer.flush()

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def test_an_image_of_182_megapixels():
    size = 13_500
    row = np.arange(size, dtype=np.uint8)
    contents = png_of_rows(size, size, row.tobytes())
    with warnings.catch_warnings(), tf.Session() as session:
        warnings.simplefilter("error")
        pixels = session.run(tf.image.decode_png(contents))
    assert pixels.shape == (size, size, 1)
    assert (pixels[:, :, 0] == row).all()


@pytest.mark.parametrize(("colour", "channels"), [(0, 1), (2, 3), (4, 2), (6, 4)])
def test_bands_are_put_together(colour, channels):
    row = np.random.default_rng(0).integers(0, 256, [3000, channels], np.uint8)
    contents = png_of_rows(3000, 3001, row.tobytes(), colour)
    with tf.Session() as session:
        pixels = session.run(tf.image.decode_png(contents))
    assert pixels.shape == (3001, 3000, channels) and (pixels == row).all()


def test_more_pixels_than_tensorflow_decodes():
    contents = png_of_rows(30_000, 0, b"").replace(
        struct.pack(">II", 30_000, 0), struct.pack(">II", 30_000, 30_000)
    )
    contents = contents[:29] + struct.pack(">I", zlib.crc32(contents[12:29])) + contents[33:]
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(tf.image.decode_png(contents))
    assert "PNG size too large for int: 30000 by 30000" in caught.value.message


def test_a_png_that_unpacks_to_more_than_its_pixels():
    """It takes the memory of its pixels."""
    contents = png_of_rows(4, 4, bytes(4 * 6) + bytes(10 << 20), colour=2, depth=16)
    with tf.Session() as session:
        assert session.run(tf.image.decode_png(contents, dtype=tf.uint16)).shape == (4, 4, 3)
