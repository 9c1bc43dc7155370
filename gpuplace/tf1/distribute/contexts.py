"""The context of a function that runs for one replica.

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
    """Context of one replica while a strategy runs a function for it.

    Args:
        strategy: the strategy.
        replica_id: index of the replica: a Python number, or a constant of the graph.
    """

    def __init__(self, strategy: Any, replica_id: int | Tensor) -> None:
        self._strategy, self._replica_id = strategy, replica_id
        self.number = replica_id if isinstance(replica_id, int) else 0

    @property
    def strategy(self) -> Any:
        """The strategy of the replica."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """Number of replicas."""
        return self._strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> Tensor:
        """Index of the replica, an int32 scalar."""
        if not isinstance(self._replica_id, Tensor):
            self._replica_id = constant(self._replica_id, int32)
        return self._replica_id

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices of the replica."""
        return self._strategy.extended.worker_devices[:1]

    def merge_call(self, merge_fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Call a function once for all replicas, with the arguments of each of them.

        Args:
            merge_fn: takes the strategy and, for each argument, a value with one component per replica.
            args: this replica's arguments.
            kwargs: this replica's keyword arguments, or None.

        Returns:
            This replica's component of the function's results.

        Raises:
            RuntimeError: the replicas make different numbers of merge calls.
        """
        require_replica_context(self)
        with entered(Context(self._strategy, None)) if has_strategy() else contextlib.nullcontext():
            return merge_fn(self._strategy, *args, **(kwargs or {}))

    def all_reduce(self, reduce_op: Any, value: Any) -> Any:
        """Return the sum or mean of the replicas' values to each replica.

        Args:
            reduce_op: a ``tf.distribute.ReduceOp``, or its name.
            value: this replica's tensors, in any structure.

        Returns:
            Tensors, in the structure of ``value``.
        """

        def merge(strategy: Any, *values: Any) -> list[Any]:
            pairs = [(value, value.device if isinstance(value, Tensor) else value) for value in values]
            return strategy.extended.batch_reduce_to(reduce_op, pairs)

        @custom_gradient
        def reduced(*tensors: Tensor) -> Any:
            # The gradient of a sum over all replicas is a sum over all replicas.
            return self.merge_call(merge, tensors), lambda *grads: self.all_reduce(reduce_op, grads)

        return pack_sequence_as(value, flatten(reduced(*flatten(value))))


def require_replica_context(context: ReplicaContext) -> None:
    """Raise RuntimeError unless the code runs in a replica context."""
    now = current()
    if now is not None and now.replica is not context:
        raise RuntimeError("Need to be inside `call_for_each_replica()`")
