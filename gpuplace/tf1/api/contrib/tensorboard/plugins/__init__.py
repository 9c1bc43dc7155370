"""``tf.contrib.tensorboard.plugins``: TensorBoard's plugins that programs set up.

Source: tensorflow/contrib/tensorboard/plugins, release 1.15 (names).
"""

from gpuplace.tf1.api.contrib.tensorboard.plugins import projector

__all__ = ["projector"]
