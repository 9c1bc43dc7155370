"""``tf.contrib.distributions.bijectors``: invertible functions.

Source: tensorflow/contrib/distributions/python/ops/bijectors, release 1.15 (names).
"""

from gpuplace.tf1.distributions.bijector import Bijector, Identity

__all__ = ["Bijector", "Identity"]
