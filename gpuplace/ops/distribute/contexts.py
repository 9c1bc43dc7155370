"""Which strategy is in force, and for whom code builds nodes: for all replicas together, for one, or for one device.

A thread's contexts are a stack of its graph's. ``strategy.scope()`` and merge functions are *cross-replica* contexts;
a function that runs once for each replica is in that *replica's* context; one that updates a variable, on the
*device* of one of its copies. Without any strategy there is one replica, which is both.

Source: tensorflow/python/distribute/distribution_strategy_context.py and distribute_lib.py, release 1.15.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from typing import Any, NamedTuple

from gpuplace.graph.convert import get_default_graph

__all__ = ["ReduceOp", "has_strategy"]


class ReduceOp(enum.Enum):
    """How values of replicas are brought together."""

    SUM = "SUM"
    MEAN = "MEAN"


class Context(NamedTuple):
    """What the code of a block builds nodes for."""

    strategy: Any
    replica: Any
    """A ``ReplicaContext``; None: for all of them."""
    copy: int | None = None
    """Which copy of a variable is updated; None outside of updates."""


LOSS_REDUCTION = "reduction of the last loss"
"""Key of what a graph keeps: how the loss that was made last was reduced, which says how losses of replicas add up."""


def current() -> Context | None:
    """The context that this thread is in; None without a strategy."""
    contexts = get_default_graph().scopes.of_thread.distribution
    return contexts[-1] if contexts else None


def component() -> int | None:
    """Which component counts for the code that is running now; None: for no single one."""
    context = current()
    if context is None:
        return None
    if context.replica is not None:
        return context.replica.number
    return context.copy


@contextlib.contextmanager
def entered(context: Context) -> Iterator[None]:
    """Makes a context the current one for the ``with`` block."""
    thread = get_default_graph().scopes.of_thread
    outer = thread.distribution
    thread.distribution = (*outer, context)
    try:
        yield
    finally:
        thread.distribution = outer


def has_strategy() -> bool:
    """Whether a strategy other than the default one is in force.

    Returns:
        A Python bool.
    """
    return current() is not None


def scaled_loss(loss: Any) -> Any:
    """A loss as an estimator's strategy needs it: the mean of the replicas' losses is that of the whole batch.

    Args:
        loss: of one replica.
    """
    context = current()
    if context is None or not context.strategy.extended.scales_loss:
        return loss
    count = context.strategy.num_replicas_in_sync
    is_sum = get_default_graph().attached.get(LOSS_REDUCTION) == "weighted_sum"
    return loss if count == 1 or is_sum else loss * (1.0 / count)


def beside(variable: Any) -> Any:
    """A ``with`` block whose variables are where a variable, or each of its copies, is.

    Args:
        variable: the variable.
    """
    context = current()
    if context is not None:
        return context.strategy.extended.colocate_vars_with(variable)
    return get_default_graph().colocate_with(variable.op)
