"""``tf.contrib.tensorboard.plugins``: the TensorBoard plugins that programs configure.

Source: tensorflow/contrib/tensorboard/plugins, release 1.15 (names).
"""

from gpuplace.tf1.api.contrib.tensorboard.plugins import projector

__all__ = ["projector"]
