"""``tf.manip``: rearranging tensors.

Source: tensorflow/_api/v1/manip, release 1.15 (names).
"""

from gpuplace.ops.array.gather import gather_nd, scatter_nd
from gpuplace.ops.array.padding import tile
from gpuplace.ops.array.reshaping import reshape
from gpuplace.ops.array.sequence import reverse, roll

__all__ = ["gather_nd", "reshape", "reverse", "roll", "scatter_nd", "tile"]
