"""``tf.manip``: rearranging tensors.

Source: tensorflow/_api/v1/manip, release 1.15 (names).
"""

from gpuplace.ops.array.batches import batch_to_space_nd, space_to_batch_nd
from gpuplace.ops.array.gather import gather_nd, scatter_nd
from gpuplace.ops.array.padding import tile
from gpuplace.ops.array.reshaping import reshape
from gpuplace.ops.array.sequence import reverse, roll

__all__ = [
    "batch_to_space_nd", "gather_nd", "reshape", "reverse", "roll", "scatter_nd", "space_to_batch_nd", "tile",
]  # fmt: skip
