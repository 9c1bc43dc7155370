"""``tf.distributions``: probability distributions.

Source: tensorflow/_api/v1/distributions, release 1.15 (names).
"""

from gpuplace.tf1.distributions.bernoulli import Bernoulli
from gpuplace.tf1.distributions.beta import Beta
from gpuplace.tf1.distributions.categorical import Categorical
from gpuplace.tf1.distributions.dirichlet import Dirichlet
from gpuplace.tf1.distributions.dirichlet_multinomial import DirichletMultinomial
from gpuplace.tf1.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    ReparameterizationType,
)
from gpuplace.tf1.distributions.gamma import Exponential, Gamma
from gpuplace.tf1.distributions.kullback_leibler import RegisterKL, kl_divergence
from gpuplace.tf1.distributions.laplace import Laplace
from gpuplace.tf1.distributions.multinomial import Multinomial
from gpuplace.tf1.distributions.normal import Normal
from gpuplace.tf1.distributions.student_t import StudentT
from gpuplace.tf1.distributions.uniform import Uniform

__all__ = [
    "FULLY_REPARAMETERIZED", "NOT_REPARAMETERIZED", "Bernoulli", "Beta", "Categorical", "Dirichlet",
    "DirichletMultinomial", "Distribution", "Exponential", "Gamma", "Laplace", "Multinomial", "Normal", "RegisterKL",
    "ReparameterizationType", "StudentT", "Uniform", "kl_divergence",
]  # fmt: skip
