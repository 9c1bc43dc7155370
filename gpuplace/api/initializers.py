"""``tf.initializers``: what gives variables their first values."""

from gpuplace.ops.initializers import *
