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
    from gpuplace.tf1.nn.sampling import (
        all_candidate_sampler,
        log_uniform_candidate_sampler,
        uniform_candidate_sampler,
    )
    from gpuplace.tf1.random.gamma_and_poisson import random_gamma as gamma
    from gpuplace.tf1.random.gamma_and_poisson import random_poisson as poisson
    from gpuplace.tf1.random.stateless import (
        stateless_categorical,
        stateless_multinomial,
        stateless_truncated_normal,
    )
    from gpuplace.tf1.random.stateless import stateless_random_normal as stateless_normal
    from gpuplace.tf1.random.stateless import stateless_random_uniform as stateless_uniform
    from gpuplace.tf1.random.unigrams import (
        fixed_unigram_candidate_sampler,
        learned_unigram_candidate_sampler,
    )
else:  # imported on first use
    __getattr__ = _lazy_names(
        __name__,
        {
            "gpuplace.tf1.nn.sampling": "all_candidate_sampler log_uniform_candidate_sampler uniform_candidate_sampler",
            "gpuplace.tf1.random.gamma_and_poisson": "random_gamma as gamma random_poisson as poisson",
            "gpuplace.tf1.random.stateless": (
                "stateless_categorical stateless_multinomial stateless_truncated_normal"
                " stateless_random_normal as stateless_normal stateless_random_uniform as stateless_uniform"
            ),
            "gpuplace.tf1.random.unigrams": "fixed_unigram_candidate_sampler learned_unigram_candidate_sampler",
        },
    )

__all__ = [
    "all_candidate_sampler",
    "categorical",
    "fixed_unigram_candidate_sampler",
    "gamma",
    "get_seed",
    "learned_unigram_candidate_sampler",
    "log_uniform_candidate_sampler",
    "multinomial",
    "normal",
    "poisson",
    "set_random_seed",
    "shuffle",
    "stateless_categorical",
    "stateless_multinomial",
    "stateless_normal",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
    "uniform_candidate_sampler",
]
