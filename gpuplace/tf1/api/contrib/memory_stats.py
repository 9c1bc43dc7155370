"""``tf.contrib.memory_stats``: memory use of a device.

Source: tensorflow/contrib/memory_stats/__init__.py, release 1.15 (names).
"""

import sys as _sys

from gpuplace.api import missing as _missing
from gpuplace.tf1.contrib.memory_stats import BytesInUse, BytesLimit, MaxBytesInUse

__all__ = ["BytesInUse", "BytesLimit", "MaxBytesInUse"]

_missing.advise("contrib.memory_stats", _sys.modules[__name__])
