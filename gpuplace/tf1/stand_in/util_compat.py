"""``tensorflow.python.util.compat``: what it has beside the names of ``tf.compat``.

Source: tensorflow/python/util/compat.py, release 1.15 (names).
"""

import collections.abc as collections_abc

__all__ = ["collections_abc"]
