"""Training with half precision, as far as it shows in a program: the loss is scaled.

TensorFlow computes some ops in float16 on GPUs with tensor cores, by a rewrite of the graph once it is placed. Here all
ops are computed in the types of the graph; nodes, names and placement are those of TensorFlow before that rewrite.

Source: tensorflow/python/training/experimental/mixed_precision.py, release 1.15 (names, sentences).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.scopes import attr_scope
from gpuplace.ops.train.optimizer import Optimizer
from gpuplace.tf1.train.loss_scale_optimizer import MixedPrecisionLossScaleOptimizer

__all__ = [
    "auto_mixed_precision_scope",
    "disable_mixed_precision_graph_rewrite",
    "enable_mixed_precision_graph_rewrite",
]


def enable_mixed_precision_graph_rewrite(opt: Optimizer, loss_scale: Any = "dynamic") -> Optimizer:
    """An optimizer that scales the loss, as training with half precision needs it; ops stay in their types.

    >>> import gpuplace as tf
    >>> opt = enable_mixed_precision_graph_rewrite(tf.train.GradientDescentOptimizer(0.1), 128.0)
    >>> type(opt).__name__
    'MixedPrecisionLossScaleOptimizer'

    Args:
        opt: the optimizer.
        loss_scale: a ``LossScale``, a number, or ``"dynamic"``.

    Returns:
        An optimizer whose ``compute_gradients``, ``apply_gradients`` and ``minimize`` take its place.

    Raises:
        ValueError: ``opt`` scales the loss already, or is no optimizer.
    """
    if isinstance(opt, MixedPrecisionLossScaleOptimizer):
        raise ValueError(
            '"opt" must not already be an instance of a MixedPrecisionLossScaleOptimizer. '
            "`enable_mixed_precision_graph_rewrite` will automatically wrap the optimizer with a "
            "MixedPrecisionLossScaleOptimizer."
        )
    if not isinstance(opt, Optimizer):
        raise ValueError(
            '"opt" must be an instance of a tf.train.Optimizer or a tf.keras.optimizers.Optimizer, but got: '
            f"{opt}"
        )
    return MixedPrecisionLossScaleOptimizer(opt, loss_scale)


def disable_mixed_precision_graph_rewrite() -> None:
    """Ends what ``enable_mixed_precision_graph_rewrite`` began for sessions made from now on: nothing, here."""


@contextmanager
def auto_mixed_precision_scope(select: bool = True) -> Iterator[None]:
    """Marks the nodes made in a block for the rewrite to half precision, or keeps them from it.

    >>> import gpuplace as tf
    >>> with auto_mixed_precision_scope(False):
    ...     kept = tf.ones([2]) + 1.0
    >>> kept.op.get_attr("_AutoMixedPrecisionScopeInclude")
    False

    Args:
        select: whether they may be rewritten.
    """
    with attr_scope(get_default_graph(), {"_AutoMixedPrecisionScopeInclude": bool(select)}):
        yield
