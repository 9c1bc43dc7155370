"""The names of ``tf.data.experimental``.

Source: tensorflow/_api/v1/data/experimental, release 1.15.
"""

from gpuplace.ops.data.experimental import *
from gpuplace.ops.data.experimental import __all__ as _all
from gpuplace.ops.data.prefetching import copy_to_device, prefetch_to_device

__all__ = [*_all, "copy_to_device", "prefetch_to_device"]
