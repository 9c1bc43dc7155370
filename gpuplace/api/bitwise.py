"""``tf.bitwise``: operations on the bits of integers."""

from gpuplace.ops.math.comparison import bitwise_and, bitwise_or, bitwise_xor, left_shift, right_shift
from gpuplace.ops.math.unary import invert

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"]
