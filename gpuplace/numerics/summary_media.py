"""Encode arrays as PNG and WAV files.

>>> import numpy as np
>>> shades(np.float32([[[0.0], [0.5], [2.0]]]), np.uint8([255]))[0, :, 0].tolist()
[0, 63, 255]
>>> wav_file(np.float32([[0.0], [1.0]]), 8000.0)[-4:]
b'\\x00\\x00\\xff\\x7f'

Source: tensorflow/core/kernels/summary_image_op.cc, tensorflow/core/lib/wav/wav_io.cc, release 1.15; the PNG
specification, chapters 9 and 11 (filters, chunks).
"""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np

IMAGE_CHANNELS = (1, 3, 4)
"""Valid numbers of channels of a summary image."""
_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}
"""Number of channels -> PNG colour type: gray, gray and alpha, colour, colour and alpha."""
_UP = 2
"""PNG filter type that stores a row as the difference to the row above."""

_NOT_ZERO = 1e-6
"""Images whose values are all smaller are black."""


def shades(image: np.ndarray[Any, Any], bad_colour: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a float image as uint8, scaled so that the largest magnitude is full intensity.

    Black is 0 if no value is negative; otherwise 0 is gray. As in TensorFlow, all arithmetic is done in the image's
    type.

    Args:
        image: ``[height, width, channels]``.
        bad_colour: ``[channels]``, colour of pixels with values that are not finite.
    """
    good = np.isfinite(image).all(axis=-1, keepdims=True)
    finite = image[good[..., 0]].astype(np.float32)
    low, high = (finite.min(), finite.max()) if finite.size else (np.float32(0), np.float32(0))
    if low < 0:
        reach, middle, largest = np.float32(127), 128, max(abs(low), abs(high))
    else:
        reach, middle, largest = np.float32(255), 0, high
    kind = image.dtype.type
    with np.errstate(all="ignore"):
        scale = kind(0) if largest < _NOT_ZERO else kind(reach / largest)
        pixels = (np.where(good, image, kind(0)) * scale + kind(middle)).astype(np.uint8)
    return np.where(good, pixels, bad_colour)


def png_file(pixels: np.ndarray[Any, Any], compression: int = -1) -> bytes:
    """Encode an image as PNG with a single compressed chunk.

    Args:
        pixels: uint8 or uint16, ``[height, width, channels]``, with 1 to 4 channels.
        compression: zlib level, 0 to 9; -1: zlib's default.
    """
    height, width, channels = pixels.shape
    header = struct.pack(
        ">IIBBBBB", width, height, 8 * pixels.dtype.itemsize, _COLOUR_TYPES[channels], 0, 0, 0
    )
    in_order = np.ascontiguousarray(pixels.astype(pixels.dtype.newbyteorder(">")))
    rows = in_order.view(np.uint8).reshape(height, -1)
    filtered = np.empty((height, rows.shape[1] + 1), np.uint8)
    filtered[:, 0] = _UP
    filtered[0, 1:], filtered[1:, 1:] = rows[0], rows[1:] - rows[:-1]
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(filtered.tobytes(), compression)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def wav_file(frames: np.ndarray[Any, Any], sample_rate: float) -> bytes:
    """Encode a sound as a WAV file with 16 bits per sample.

    Args:
        frames: float32, ``[frames, channels]``, clipped to -1 to 1.
        sample_rate: frames per second, in Hz.
    """
    scaled = frames * np.float32(32768)
    rounded = np.copysign(np.floor(np.abs(scaled) + np.float32(0.5)), scaled)  # halves away from zero
    written = io.BytesIO()
    import wave  # imported on first use

    with wave.Wave_write(written) as file:
        file.setnchannels(frames.shape[1])
        file.setsampwidth(2)
        file.setframerate(max(1, round(sample_rate)))
        file.writeframes(np.nan_to_num(np.clip(rounded, -32768, 32767)).astype("<i2").tobytes())
    return written.getvalue()
