"""``tf.sets``: sets along the last axis of tensors.

Source: tensorflow/_api/v1/sets, release 1.15 (names).
"""

from gpuplace.ops.sparse.sets import *
from gpuplace.ops.sparse.sets import (
    set_difference as difference,
)
from gpuplace.ops.sparse.sets import (
    set_intersection as intersection,
)
from gpuplace.ops.sparse.sets import (
    set_size as size,
)
from gpuplace.ops.sparse.sets import (
    set_union as union,
)

__all__ = [
    "difference", "intersection", "set_difference", "set_intersection", "set_size", "set_union", "size", "union",
]  # fmt: skip
