"""``tf.distributions``: probability distributions that are sampled and asked in the graph.

Source: tensorflow/_api/v1/distributions, release 1.15 (names).
"""

from gpuplace.ops.distributions.bernoulli import Bernoulli
from gpuplace.ops.distributions.beta import Beta
from gpuplace.ops.distributions.categorical import Categorical
from gpuplace.ops.distributions.dirichlet import Dirichlet
from gpuplace.ops.distributions.dirichlet_multinomial import DirichletMultinomial
from gpuplace.ops.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    ReparameterizationType,
)
from gpuplace.ops.distributions.gamma import Exponential, Gamma
from gpuplace.ops.distributions.kullback_leibler import RegisterKL, kl_divergence
from gpuplace.ops.distributions.laplace import Laplace
from gpuplace.ops.distributions.multinomial import Multinomial
from gpuplace.ops.distributions.normal import Normal
from gpuplace.ops.distributions.student_t import StudentT
from gpuplace.ops.distributions.uniform import Uniform

__all__ = [
    "FULLY_REPARAMETERIZED", "NOT_REPARAMETERIZED", "Bernoulli", "Beta", "Categorical", "Dirichlet",
    "DirichletMultinomial", "Distribution", "Exponential", "Gamma", "Laplace", "Multinomial", "Normal", "RegisterKL",
    "ReparameterizationType", "StudentT", "Uniform", "kl_divergence",
]  # fmt: skip
