"""Kullback-Leibler divergences, which are looked up by the classes of the two distributions.

Source: tensorflow/python/ops/distributions/kullback_leibler.py, release 1.15.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from gpuplace.graph.convert import get_default_graph, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.reshaping import identity
from gpuplace.ops.flow.assert_and_print import Assert
from gpuplace.ops.math.comparison import logical_not
from gpuplace.ops.math.reduction import reduce_any
from gpuplace.ops.math.unary import is_nan

Divergence = Callable[..., Any]
"""``(a, b, name=None) -> Tensor``."""

DIVERGENCES: dict[tuple[type, type], Divergence] = {}
"""Registered functions, by the two classes."""


def registered_kl(type_a: type, type_b: type) -> Divergence | None:
    """Return the function for two classes, or for their nearest base classes, or None.

    Args:
        type_a: class of the first distribution.
        type_b: class of the second distribution.
    """
    candidates = [
        (steps_a + steps_b, DIVERGENCES[above_a, above_b])
        for steps_a, above_a in enumerate(inspect.getmro(type_a))
        for steps_b, above_b in enumerate(inspect.getmro(type_b))
        if (above_a, above_b) in DIVERGENCES
    ]
    return min(candidates, key=lambda row: row[0])[1] if candidates else None


def kl_divergence(
    distribution_a: Any, distribution_b: Any, allow_nan_stats: bool = True, name: str | None = None
) -> Tensor:
    """Return the Kullback-Leibler divergence from one distribution to another.

    >>> import gpuplace as tf
    >>> here, there = tf.distributions.Normal(0.0, 1.0), tf.distributions.Normal(1.0, 1.0)
    >>> float(tf.Session().run(tf.distributions.kl_divergence(here, there)))
    0.5

    Args:
        distribution_a: the distribution of the expectation.
        distribution_b: the other distribution.
        allow_nan_stats: whether the result may be NaN rather than an error at run time.
        name: name of the scope.

    Returns:
        A tensor with the broadcast batch shape.

    Raises:
        NotImplementedError: no divergence is registered for the two classes.
    """
    function = registered_kl(type(distribution_a), type(distribution_b))
    if function is None:
        raise NotImplementedError(
            "No KL(distribution_a || distribution_b) registered for distribution_a type "
            f"{type(distribution_a).__name__} and distribution_b type {type(distribution_b).__name__}"
        )
    with name_scope("KullbackLeibler"):
        divergence: Tensor = function(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return divergence
        divergence = identity(divergence, name="kl")
        message = (
            f"KL calculation between {distribution_a.name} and {distribution_b.name} returned NaN values (and was "
            "called with allow_nan_stats=False). Values:"
        )
        check = Assert(logical_not(reduce_any(is_nan(divergence))), [message, divergence])
        with get_default_graph().control_dependencies([check]):
            return identity(divergence, name="checked_kl")


def cross_entropy(ref: Any, other: Any, allow_nan_stats: bool = True, name: str | None = None) -> Tensor:
    """Return the cross entropy of two distributions: the entropy of the first plus their divergence.

    Args:
        ref: the distribution of the expectation.
        other: the other distribution.
        allow_nan_stats: whether the result may be NaN rather than an error at run time.
        name: name of the scope.

    Raises:
        NotImplementedError: no divergence is registered for the two classes.
    """
    with name_scope(name, "cross_entropy"):
        return ref.entropy() + kl_divergence(ref, other, allow_nan_stats=allow_nan_stats)


class RegisterKL:
    """A decorator that registers the divergence of two classes of distributions.

    Args:
        dist_cls_a: class of the first distribution.
        dist_cls_b: class of the second distribution.
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = dist_cls_a, dist_cls_b

    def __call__(self, kl_fn: Divergence) -> Divergence:
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in DIVERGENCES:
            first, second = (one.__name__ for one in self._key)
            raise ValueError(
                f"KL({first} || {second}) has already been registered to: {DIVERGENCES[self._key]}"
            )
        DIVERGENCES[self._key] = kl_fn
        return kl_fn
