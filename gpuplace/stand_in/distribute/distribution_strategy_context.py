"""``tensorflow.python.distribute.distribution_strategy_context``: the strategy where a program chose none, one copy.

Code that is written for any strategy asks for the current one and runs its step with it; without a choice of its own
that is one copy of the step, in the default graph, with nothing to bring together.

>>> from gpuplace.ops.array.constant import constant
>>> strategy = get_strategy()
>>> strategy.experimental_run_v2(lambda x: x, (3,)), strategy.num_replicas_in_sync, has_strategy()
(3, 1, False)

Source: tensorflow/python/distribute/distribution_strategy_context.py and distribute_lib.py, release 1.15 (names,
sentences).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from gpuplace.graph.convert import convert_to_tensor
from gpuplace.ops import nest
from gpuplace.ops.math.reduction import reduce_mean, reduce_sum


def _all_of(value: Any, reduce_op: Any, axis: int | None) -> Any:
    """A value of the only copy, added up or averaged along an axis."""
    if axis is None:
        return value
    name = str(getattr(reduce_op, "value", reduce_op)).upper()
    reduce = {"SUM": reduce_sum, "MEAN": reduce_mean}[name]
    return nest.map_structure(lambda one: reduce(convert_to_tensor(one), axis=axis), value)


class ReplicaContext:
    """Where the code of the only copy runs."""

    replica_id_in_sync_group = 0
    num_replicas_in_sync = 1

    @property
    def strategy(self) -> DefaultStrategy:
        """The strategy."""
        return _STRATEGY

    def merge_call(
        self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Calls a function that brings all copies together: here there is one.

        Args:
            merge_fn: takes the strategy, then the arguments.
            args: its further arguments.
            kwargs: its arguments by name.
        """
        return merge_fn(_STRATEGY, *args, **(kwargs or {}))

    def all_reduce(self, reduce_op: Any, value: Any) -> Any:
        """The sum or the mean of a value over all copies: the value.

        Args:
            reduce_op: ``"SUM"`` or ``"MEAN"``.
            value: a tensor, or a structure of them.
        """
        return value


class DefaultStrategy:
    """One copy of everything, where a program chose no strategy."""

    num_replicas_in_sync = 1

    @property
    def extended(self) -> DefaultStrategy:
        """What strategies have besides: the same object has it."""
        return self

    @contextmanager
    def scope(self) -> Iterator[DefaultStrategy]:
        """A block in which this is the strategy."""
        yield self

    def experimental_run_v2(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Runs a function once for each copy: once.

        Args:
            fn: the function.
            args: its arguments.
            kwargs: its arguments by name.
        """
        return fn(*args, **(kwargs or {}))

    call_for_each_replica = experimental_run_v2

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """Runs a function of the next element of an iterator.

        Args:
            fn: the function; without an iterator it takes nothing.
            input_iterator: the iterator; None: there is none.
        """
        return fn() if input_iterator is None else fn(input_iterator.get_next())

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """The sum or the mean of what the copies gave.

        Args:
            reduce_op: ``"SUM"`` or ``"MEAN"``.
            value: what ``experimental_run_v2`` gave.
            axis: along which each copy's value is added up or averaged, too; None: it is not.
        """
        return _all_of(value, reduce_op, axis)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """What each copy gave.

        Args:
            value: what ``experimental_run_v2`` gave.
        """
        return (value,)

    unwrap = experimental_local_results

    def experimental_distribute_dataset(self, dataset: Any) -> Any:
        """The dataset of the copies: all of it.

        Args:
            dataset: the dataset.
        """
        return dataset

    def make_dataset_iterator(self, dataset: Any) -> Any:
        """An iterator of a dataset, which has to be initialised.

        Args:
            dataset: the dataset.
        """
        return dataset.make_initializable_iterator()

    def __deepcopy__(self, memo: dict[int, Any]) -> DefaultStrategy:
        raise RuntimeError("Should only create a single instance of _DefaultDistributionStrategy")


_STRATEGY, _CONTEXT = DefaultStrategy(), ReplicaContext()


def get_strategy() -> DefaultStrategy:
    """The current strategy: that of one copy."""
    return _STRATEGY


def has_strategy() -> bool:
    """Whether a program chose a strategy: it cannot."""
    return False


def in_cross_replica_context() -> bool:
    """Whether this code speaks of all copies at once, and not of one."""
    return False


def get_cross_replica_context() -> None:
    """The strategy, where code speaks of all copies at once; here it never does."""


def get_replica_context() -> ReplicaContext:
    """Where the code of a copy runs."""
    return _CONTEXT
