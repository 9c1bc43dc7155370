"""Images for ``tf.summary.image``; TensorFlow's Python, to record its answers, reads this module too."""

import numpy as np


def images():
    """Name -> batch of images."""
    wave = np.sin(np.arange(2 * 4 * 5 * 3, dtype=np.float64)).reshape(2, 4, 5, 3)
    holes = (np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4, 1) - 5).astype(np.float32)
    holes[0, 1, 2, 0], holes[1, 0, 0, 0], holes[1, 2, 3, 0] = np.nan, np.inf, -np.inf
    colours = np.abs(wave).astype(np.float32)
    colours[0, 0, 0, 1] = np.nan
    return {
        "bytes": (np.arange(2 * 3 * 4 * 4) * 3 % 256).astype(np.uint8).reshape(2, 3, 4, 4),
        "grey bytes": np.array([[[[0], [127], [255]]]], np.uint8),
        "positive": np.arange(2 * 4 * 5, dtype=np.float32).reshape(2, 4, 5, 1) * 0.37,
        "both signs": wave.astype(np.float32),
        "double": wave * 1e-3,
        "half": (wave * 100).astype(np.float16),
        "transparent": np.linspace(0, 2, 32, dtype=np.float32).reshape(1, 2, 4, 4),
        "grey with holes": holes,
        "colours with holes": colours,
        "nothing finite": np.full([1, 2, 2, 3], np.nan, np.float32),
        "black": np.full([1, 2, 2, 1], 1e-7, np.float32),
        "negative": np.full([1, 2, 2, 1], -3, np.float32),
        "one": np.full([1, 1, 1, 1], 0.5, np.float32),
    }
