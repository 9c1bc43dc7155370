"""Mixed precision training, as a program sees it: the loss is scaled.

On GPUs with tensor cores, TensorFlow rewrites the placed graph so that some ops run in float16. Here all ops
keep the dtypes of the graph; nodes, names and placement are those of TensorFlow before that rewrite.

Source: tensorflow/python/training/experimental/mixed_precision.py, release 1.15 (names, messages).
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
    """Return an optimizer that scales the loss, as mixed precision training needs it; ops keep their dtypes.

    >>> import gpuplace as tf
    >>> opt = enable_mixed_precision_graph_rewrite(tf.train.GradientDescentOptimizer(0.1), 128.0)
    >>> type(opt).__name__
    'MixedPrecisionLossScaleOptimizer'

    Args:
        opt: the optimizer.
        loss_scale: a ``LossScale``, a number, or ``"dynamic"``.

    Returns:
        An optimizer that replaces ``opt``.

    Raises:
        ValueError: ``opt`` already scales the loss, or is not an optimizer.
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
    """Do nothing, because there is no graph rewrite to disable."""


@contextmanager
def auto_mixed_precision_scope(select: bool = True) -> Iterator[None]:
    """Mark the nodes created in a block as allowed, or not allowed, in the rewrite to half precision.

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
