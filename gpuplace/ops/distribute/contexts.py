"""Which strategy is in force, and for whom code builds nodes: for all replicas together, for one, or for one device.

A thread's contexts are a stack of its graph's. ``strategy.scope()`` and merge functions are *cross-replica* contexts;
a function that runs once for each replica is in that *replica's* context; one that updates a variable, on the
*device* of one of its copies. Without any strategy there is one replica, which is both.

Source: tensorflow/python/distribute/distribution_strategy_context.py and distribute_lib.py, release 1.15.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gpuplace.dtypes import int32
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import constant

__all__ = [
    "ReplicaContext",
    "get_cross_replica_context",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]


class Context(NamedTuple):
    """What the code of a block builds nodes for."""

    strategy: Any
    replica: ReplicaContext | None
    """None: for all of them."""
    copy: int | None = None
    """Which copy of a variable is updated; None outside of updates."""


LOSS_REDUCTION = "reduction of the last loss"
"""Key of what a graph keeps: how the loss that was made last was reduced, which says how losses of replicas add up."""
default_strategies: list[Any] = []
"""The strategy of code outside of every scope, which `gpuplace.ops.distribute.strategy` makes."""


def current() -> Context | None:
    """The context that this thread is in; None without a strategy."""
    contexts = get_default_graph()._of_thread.distribution
    return contexts[-1] if contexts else None


@contextlib.contextmanager
def entered(context: Context) -> Iterator[None]:
    """Makes a context the current one for the ``with`` block."""
    thread = get_default_graph()._of_thread
    outer = thread.distribution
    thread.distribution = (*outer, context)
    try:
        yield
    finally:
        thread.distribution = outer


def get_strategy() -> Any:
    """The strategy in force; outside of every ``strategy.scope()`` the default one, with a single replica.

    Returns:
        A ``tf.distribute.Strategy``.
    """
    context = current()
    if context is not None:
        return context.strategy
    return default_strategies[0]


def has_strategy() -> bool:
    """Whether a strategy other than the default one is in force.

    Returns:
        A Python bool.
    """
    return current() is not None


def in_cross_replica_context() -> bool:
    """Whether nodes are built for all replicas together.

    Returns:
        A Python bool: True in ``strategy.scope()`` and in merge functions, False in functions of a replica and without
        a strategy.
    """
    context = current()
    return context is not None and context.replica is None


def get_cross_replica_context() -> Any:
    """The strategy, where nodes are built for all replicas together.

    Returns:
        A ``tf.distribute.Strategy``; None in functions of a replica and without a strategy.
    """
    context = current()
    return context.strategy if context is not None and context.replica is None else None


def get_replica_context() -> ReplicaContext | None:
    """The replica that nodes are built for.

    Returns:
        A ``tf.distribute.ReplicaContext``; None in a cross-replica context. Without a strategy, that of the only one.
    """
    context = current()
    return ReplicaContext(get_strategy(), 0) if context is None else context.replica


class ReplicaContext:
    """One of the replicas that a strategy runs a function for.

    Args:
        strategy: the strategy.
        replica_id: the replica's number: a Python number, or a constant of the graph.
    """

    def __init__(self, strategy: Any, replica_id: int | Tensor) -> None:
        self._strategy, self._replica_id = strategy, replica_id
        self.number = replica_id if isinstance(replica_id, int) else 0

    @property
    def strategy(self) -> Any:
        """The strategy whose replica it is."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return self._strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> Tensor:
        """The replica's number, an int32 scalar."""
        if not isinstance(self._replica_id, Tensor):
            self._replica_id = constant(self._replica_id, int32)
        return self._replica_id

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices of the replica."""
        return self._strategy.extended.worker_devices[:1]

    def merge_call(self, merge_fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Calls a function once for all replicas, with what each of them gives.

        Args:
            merge_fn: takes the strategy and, for each argument, a value with one component for each replica.
            args: this replica's arguments.
            kwargs: this replica's keyword arguments; None: none.

        Returns:
            This replica's component of what the function returned.

        Raises:
            RuntimeError: the replicas call it a different number of times.
        """
        require_replica_context(self)
        with entered(Context(self._strategy, None)) if has_strategy() else contextlib.nullcontext():
            return merge_fn(self._strategy, *args, **(kwargs or {}))

    def all_reduce(self, reduce_op: Any, value: Any) -> Any:
        """The sum or mean of the replicas' values, for each of them.

        Args:
            reduce_op: a ``tf.distribute.ReduceOp``, or its name.
            value: this replica's tensors, nested as one likes.

        Returns:
            Tensors, nested like ``value``.
        """
        from gpuplace.ops.gradients.custom_gradient import custom_gradient
        from gpuplace.ops.nest import flatten, pack_sequence_as

        def merge(strategy: Any, *values: Any) -> list[Any]:
            pairs = [(one, one.device if isinstance(one, Tensor) else one) for one in values]
            return strategy.extended.batch_reduce_to(reduce_op, pairs)

        @custom_gradient
        def reduced(*tensors: Tensor) -> Any:
            # The gradient of a sum of all replicas is a sum of all replicas.
            return self.merge_call(merge, tensors), lambda *grads: self.all_reduce(reduce_op, grads)

        return pack_sequence_as(value, flatten(reduced(*flatten(value))))


def require_replica_context(context: ReplicaContext) -> None:
    """Raises RuntimeError unless nodes are built for a replica."""
    now = current()
    if now is not None and now.replica is not context:
        raise RuntimeError("Need to be inside `call_for_each_replica()`")


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
    if has_strategy():
        return get_strategy().extended.colocate_vars_with(variable)
    return get_default_graph().colocate_with(variable.op)
