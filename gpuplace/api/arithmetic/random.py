"""``tf.random``: random tensors under their shorter names.

Source: tensorflow/_api/v1/random, release 1.15 (names).
"""

from typing import TYPE_CHECKING

from gpuplace.lazy import lazy_names as _lazy_names
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

if TYPE_CHECKING:
    from gpuplace.ops.nn.sampling import (
        all_candidate_sampler,
        log_uniform_candidate_sampler,
        uniform_candidate_sampler,
    )
    from gpuplace.ops.random.unigrams import (
        fixed_unigram_candidate_sampler,
        learned_unigram_candidate_sampler,
    )
else:  # loaded when they are first asked for
    __getattr__ = _lazy_names(
        __name__,
        {
            "gpuplace.ops.nn.sampling": "all_candidate_sampler log_uniform_candidate_sampler uniform_candidate_sampler",
            "gpuplace.ops.random.unigrams": "fixed_unigram_candidate_sampler learned_unigram_candidate_sampler",
        },
    )

__all__ = [
    "all_candidate_sampler",
    "categorical",
    "fixed_unigram_candidate_sampler",
    "get_seed",
    "learned_unigram_candidate_sampler",
    "log_uniform_candidate_sampler",
    "multinomial",
    "normal",
    "set_random_seed",
    "shuffle",
    "truncated_normal",
    "uniform",
    "uniform_candidate_sampler",
]
