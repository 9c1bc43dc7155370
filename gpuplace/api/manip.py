"""``tf.manip``: rearranging tensors."""

from gpuplace.ops.array import reshape
from gpuplace.ops.gather import gather_nd, scatter_nd
from gpuplace.ops.padding import tile
from gpuplace.ops.sequence import reverse, roll

__all__ = ["gather_nd", "reshape", "reverse", "roll", "scatter_nd", "tile"]
