"""``tensorflow.python.util.compat``: its names in addition to those of ``tf.compat``.

Source: tensorflow/python/util/compat.py, release 1.15 (names).
"""

import collections.abc as collections_abc

__all__ = ["collections_abc"]
