"""``tf.contrib.tensorboard``: what TensorBoard's plugins read.

Source: tensorflow/contrib/tensorboard, release 1.15 (names).
"""

from gpuplace.api.contrib.tensorboard import plugins

__all__ = ["plugins"]
