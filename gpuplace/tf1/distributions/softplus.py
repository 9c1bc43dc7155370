"""Distributions whose parameters ``softplus`` makes positive.

Source: the classes of these names in tensorflow/python/ops/distributions, release 1.15.
"""

from __future__ import annotations

from gpuplace.graph.convert import name_scope
from gpuplace.ops.math.unary import abs as magnitude
from gpuplace.ops.math.unary import floor
from gpuplace.ops.nn.activation import softplus
from gpuplace.tf1.distributions.beta import Beta
from gpuplace.tf1.distributions.gamma import Exponential, Gamma
from gpuplace.tf1.distributions.laplace import Laplace
from gpuplace.tf1.distributions.normal import Normal
from gpuplace.tf1.distributions.student_t import StudentT
from gpuplace.typing import TensorLike


class NormalWithSoftplusScale(Normal):
    """Normal distributions with the standard deviation ``softplus(scale)``.

    Args:
        loc: means, floating.
        scale: standard deviations before ``softplus``.
        validate_args: whether to check parameters at run time.
        allow_nan_stats: whether an undefined statistic is NaN rather than an error.
        name: name of its scope.
    """

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NormalWithSoftplusScale",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[scale]) as scope:
            positive = softplus(scale, name="softplus_scale")
            super().__init__(loc, positive, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class LaplaceWithSoftplusScale(Laplace):
    """Laplace distributions with the scale ``softplus(scale)``.

    Args:
        loc: means, floating.
        scale: scales before ``softplus``.
        validate_args: whether to check parameters at run time.
        allow_nan_stats: whether an undefined statistic is NaN rather than an error.
        name: name of its scope.
    """

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "LaplaceWithSoftplusScale",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[loc, scale]) as scope:
            positive = softplus(scale, name="softplus_scale")
            super().__init__(loc, positive, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class StudentTWithAbsDfSoftplusScale(StudentT):
    """Student's t distributions with ``floor(abs(df))`` degrees of freedom and the scale ``softplus(scale)``.

    Args:
        df: degrees of freedom before ``floor(abs(df))``.
        loc: the center.
        scale: scales before ``softplus``.
        validate_args: whether to check parameters at run time.
        allow_nan_stats: whether an undefined statistic is NaN rather than an error.
        name: name of its scope.
    """

    def __init__(
        self,
        df: TensorLike,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentTWithAbsDfSoftplusScale",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[df, scale]) as scope:
            whole = floor(magnitude(df))
            positive = softplus(scale, name="softplus_scale")
            super().__init__(whole, loc, positive, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class ExponentialWithSoftplusRate(Exponential):
    """Exponential distributions with the rate ``softplus(rate)``.

    Args:
        rate: rates before ``softplus``.
        validate_args: whether to check parameters at run time.
        allow_nan_stats: whether an undefined statistic is NaN rather than an error.
        name: name of its scope.
    """

    def __init__(
        self,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExponentialWithSoftplusRate",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[rate]) as scope:
            positive = softplus(rate, name="softplus_rate")
            super().__init__(positive, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class GammaWithSoftplusConcentrationRate(Gamma):
    """Gamma distributions with the parameters ``softplus(concentration)`` and ``softplus(rate)``.

    Args:
        concentration: shape parameters before ``softplus``.
        rate: rates before ``softplus``.
        validate_args: whether to check parameters at run time.
        allow_nan_stats: whether an undefined statistic is NaN rather than an error.
        name: name of its scope.
    """

    def __init__(
        self,
        concentration: TensorLike,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "GammaWithSoftplusConcentrationRate",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[concentration, rate]) as scope:
            positive = softplus(concentration, name="softplus_concentration")
            positive_rate = softplus(rate, name="softplus_rate")
            super().__init__(positive, positive_rate, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class BetaWithSoftplusConcentration(Beta):
    """Beta distributions with the parameters ``softplus(concentration1)`` and ``softplus(concentration0)``.

    Args:
        concentration1: the parameters that pull towards 1, before ``softplus``.
        concentration0: the parameters that pull towards 0, before ``softplus``.
        validate_args: whether to check parameters at run time.
        allow_nan_stats: whether an undefined statistic is NaN rather than an error.
        name: name of its scope.
    """

    def __init__(
        self,
        concentration1: TensorLike,
        concentration0: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "BetaWithSoftplusConcentration",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[concentration1, concentration0]) as scope:
            towards1 = softplus(concentration1, name="softplus_concentration1")
            towards0 = softplus(concentration0, name="softplus_concentration0")
            super().__init__(towards1, towards0, validate_args, allow_nan_stats, scope)
        self._parameters = parameters
