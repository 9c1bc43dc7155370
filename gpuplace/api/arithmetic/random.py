"""``tf.random``: random tensors under their shorter names.

Source: tensorflow/_api/v1/random, release 1.15 (names).
"""

from gpuplace.ops.random.random_ops import (
    categorical,
    get_seed,
    multinomial,
    set_random_seed,
    truncated_normal,
)
from gpuplace.ops.random.random_ops import random_normal as normal
from gpuplace.ops.random.random_ops import random_shuffle as shuffle
from gpuplace.ops.random.random_ops import random_uniform as uniform

__all__ = [
    "categorical",
    "get_seed",
    "multinomial",
    "normal",
    "set_random_seed",
    "shuffle",
    "truncated_normal",
    "uniform",
]
