"""``tf.contrib.slim.nets``: models for images.

Source: tensorflow/contrib/slim/nets.py, release 1.15 (names).
"""

from gpuplace.tf1.contrib.nets import alexnet, inception, overfeat, resnet_utils, resnet_v1, resnet_v2, vgg

__all__ = ["alexnet", "inception", "overfeat", "resnet_utils", "resnet_v1", "resnet_v2", "vgg"]
