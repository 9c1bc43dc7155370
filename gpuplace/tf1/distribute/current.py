"""The current strategy, and the replica for which nodes are being built.

Source: tensorflow/python/distribute/distribution_strategy_context.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.ops.distribute.contexts import current, has_strategy
from gpuplace.tf1.distribute.contexts import ReplicaContext
from gpuplace.tf1.distribute.strategy import DEFAULT

__all__ = [
    "get_cross_replica_context",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]


def get_strategy() -> Any:
    """Return the current strategy; outside of every ``strategy.scope()`` the default one, with a single replica.

    Returns:
        A ``tf.distribute.Strategy``.
    """
    context = current()
    if context is not None:
        return context.strategy
    return DEFAULT


def in_cross_replica_context() -> bool:
    """Return whether nodes are being built for all replicas together.

    Returns:
        A Python bool: True in ``strategy.scope()`` and in merge functions, False in replica functions and without a
        strategy.
    """
    context = current()
    return context is not None and context.replica is None


def get_cross_replica_context() -> Any:
    """Return the strategy if nodes are being built for all replicas together.

    Returns:
        A ``tf.distribute.Strategy``; None in replica functions and without a strategy.
    """
    context = current()
    return context.strategy if context is not None and context.replica is None else None


def get_replica_context() -> ReplicaContext | None:
    """Return the context of the replica for which nodes are being built.

    Returns:
        A ``tf.distribute.ReplicaContext``; None in a cross-replica context. Without a strategy, the default replica's.
    """
    context = current()
    return ReplicaContext(get_strategy(), 0) if context is None else context.replica
