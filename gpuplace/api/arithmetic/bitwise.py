"""``tf.bitwise``: operations on the bits of integers.

Source: tensorflow/_api/v1/bitwise, release 1.15 (names).
"""

from gpuplace.ops.math.comparison import bitwise_and, bitwise_or, bitwise_xor, left_shift, right_shift
from gpuplace.ops.math.unary import invert

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"]
