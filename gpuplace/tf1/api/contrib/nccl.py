"""``tf.contrib.nccl``: collective operations across GPUs.

Source: tensorflow/contrib/nccl/__init__.py, release 1.13, and python/ops/nccl_ops.py, release 1.15 (names).
"""

import sys as _sys

from gpuplace.api import missing as _missing
from gpuplace.tf1.contrib.nccl import *
from gpuplace.tf1.contrib.nccl import __all__ as _all

__all__ = list(_all)

_missing.advise("contrib.nccl", _sys.modules[__name__])
