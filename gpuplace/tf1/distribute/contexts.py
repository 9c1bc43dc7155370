"""What a function that runs for a replica is given.

Source: tensorflow/python/distribute/distribution_strategy_context.py and distribute_lib.py, release 1.15.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from gpuplace.dtypes import int32
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import constant
from gpuplace.ops.distribute.contexts import Context, current, entered, has_strategy
from gpuplace.ops.gradients.custom_gradient import custom_gradient
from gpuplace.ops.nest import flatten, pack_sequence_as

__all__ = ["ReplicaContext"]


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
