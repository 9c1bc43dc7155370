"""Distribution contexts: the current strategy, and whether nodes are for all replicas, one replica or one device.

A thread keeps a stack of contexts for its graph. ``strategy.scope()`` and merge functions are *cross-replica* contexts.
A
function that runs once per replica is in that *replica's* context; a function that updates a variable is on the
*device* of one
of its copies. Without a strategy there is one replica, which is both.

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
    """How to reduce the values of replicas."""

    SUM = "SUM"
    MEAN = "MEAN"


class Context(NamedTuple):
    """The replicas or device for which a block builds nodes."""

    strategy: Any
    replica: Any
    """A ``ReplicaContext``; None: all replicas."""
    copy: int | None = None
    """The index of the variable copy to update; None outside updates."""


LOSS_REDUCTION = "reduction of the last loss"
"""Key under which a graph keeps the reduction of its last loss, which determines how replica losses are combined."""


def current() -> Context | None:
    """Return the current context of this thread; None without a strategy."""
    contexts = get_default_graph().scopes.of_thread.distribution
    return contexts[-1] if contexts else None


def component() -> int | None:
    """Return the component that the current code runs for; None for several or none."""
    context = current()
    if context is None:
        return None
    if context.replica is not None:
        return context.replica.number
    return context.copy


@contextlib.contextmanager
def entered(context: Context) -> Iterator[None]:
    """Make a context the current one in the ``with`` block."""
    thread = get_default_graph().scopes.of_thread
    outer = thread.distribution
    thread.distribution = (*outer, context)
    try:
        yield
    finally:
        thread.distribution = outer


def has_strategy() -> bool:
    """Return whether a strategy other than the default one is in force.

    Returns:
        A Python bool.
    """
    return current() is not None


def scaled_loss(loss: Any) -> Any:
    """Scale a loss for an estimator's strategy, so that the replicas' losses combine to the whole batch's mean.

    Args:
        loss: loss of one replica.
    """
    context = current()
    if context is None or not context.strategy.extended.scales_loss:
        return loss
    count = context.strategy.num_replicas_in_sync
    is_sum = get_default_graph().attached.get(LOSS_REDUCTION) == "weighted_sum"
    return loss if count == 1 or is_sum else loss * (1.0 / count)


def beside(variable: Any) -> Any:
    """Return a ``with`` block that creates variables on the devices of a variable or of each of its copies.

    Args:
        variable: the variable.
    """
    context = current()
    if context is not None:
        return context.strategy.extended.colocate_vars_with(variable)
    return get_default_graph().colocate_with(variable.op)
