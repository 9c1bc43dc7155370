"""Arrays as PNG and WAV files, for summaries.

>>> import numpy as np
>>> shades(np.float32([[[0.0], [0.5], [2.0]]]), np.uint8([255]))[0, :, 0].tolist()
[0, 63, 255]
>>> wav_file(np.float32([[0.0], [1.0]]), 8000.0)[-4:]
b'\\x00\\x00\\xff\\x7f'

Source: tensorflow/core/kernels/summary_image_op.cc, tensorflow/core/lib/wav/wav_io.cc, release 1.15.
"""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np

IMAGE_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
"""Number of channels that an image may have -> Pillow's name."""

_NOT_ZERO = 1e-6
"""Images whose values are all smaller are black."""


def shades(image: np.ndarray[Any, Any], bad_colour: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An image of floats as uint8: 0 is black where nothing is negative, else grey, and the largest value is full.

    As in TensorFlow everything is computed in the image's own type.

    Args:
        image: ``[height, width, channels]``.
        bad_colour: ``[channels]``, what pixels with values that are not finite get.
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


def png_file(pixels: np.ndarray[Any, Any]) -> bytes:
    """An image as a PNG file.

    Args:
        pixels: uint8, ``[height, width, channels]``.
    """
    from PIL import Image

    written = io.BytesIO()
    shaped = pixels[..., 0] if pixels.shape[-1] == 1 else pixels
    Image.fromarray(np.ascontiguousarray(shaped)).save(written, "PNG")
    return written.getvalue()


def wav_file(frames: np.ndarray[Any, Any], sample_rate: float) -> bytes:
    """A sound as a WAV file of 16 bits.

    Args:
        frames: float32, ``[frames, channels]``, from -1 to 1; what is beyond is cut off.
        sample_rate: frames a second, in Hz.
    """
    scaled = frames * np.float32(32768)
    rounded = np.copysign(np.floor(np.abs(scaled) + np.float32(0.5)), scaled)  # halves away from zero
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(frames.shape[1])
        file.setsampwidth(2)
        file.setframerate(max(1, round(sample_rate)))
        file.writeframes(np.nan_to_num(np.clip(rounded, -32768, 32767)).astype("<i2").tobytes())
    return written.getvalue()
