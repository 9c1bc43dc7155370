"""``tf.contrib.tensorboard``: configuration of TensorBoard plugins.

Source: tensorflow/contrib/tensorboard, release 1.15 (names).
"""

import sys as _sys

from gpuplace.api import missing as _missing
from gpuplace.tf1.api.contrib.tensorboard import plugins

__all__ = ["plugins"]


_missing.advise("contrib.tensorboard", _sys.modules[__name__])
