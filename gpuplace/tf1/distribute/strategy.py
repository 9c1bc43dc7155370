"""Strategies: which devices have copies of a model, and how the copies stay equal.

    strategy.scope()                 variables made here have a copy on each device
      experimental_run_v2(step)      step runs once for each replica, with its part of the input
        optimizer.minimize(loss)     gradients of all replicas are summed, and each copy is updated
    reduce(MEAN, losses)             the mean of the replicas' values

Source: tensorflow/python/distribute/distribute_lib.py, release 1.15 (names, order of nodes, messages).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gpuplace.device.spec import DeviceSpec
from gpuplace.dtypes import int64
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array import reshaping
from gpuplace.ops.distribute.contexts import Context, ReduceOp, current, entered
from gpuplace.ops.distribute.variables import DistributedVariable, SyncOnReadVariable, created
from gpuplace.ops.flow import control
from gpuplace.ops.math import cast, division, reduction
from gpuplace.ops.nest import flatten, map_structure
from gpuplace.ops.variables.variable_scope import variable_creator_scope
from gpuplace.tf1.distribute.cross_device import (
    CrossDeviceOps,
    ReductionToOneDevice,
    reduce_op_of,
)
from gpuplace.tf1.distribute.inputs import DatasetIterator, DistributedDataset, InputContext
from gpuplace.tf1.distribute.replicas import call_for_each
from gpuplace.tf1.distribute.values import DistributedValues, Mirrored, regrouped, selected
from gpuplace.typing import TensorLike

__all__ = ["Strategy", "StrategyExtended"]

CPU = "/replica:0/task:0/device:CPU:0"


def full_device(device: str) -> str:
    """Return the full name of a device, with replica, task and index.

    >>> full_device("/gpu:1")
    '/replica:0/task:0/device:GPU:1'

    Raises:
        ValueError: it is not a device name.
    """
    spec = DeviceSpec.from_string(device)
    if spec.device_type is None:
        raise ValueError(f"A strategy needs device names such as /gpu:0, not {device!r}")
    index = 0 if spec.device_index is None else spec.device_index
    return DeviceSpec(replica=0, task=0).make_merged_spec(spec.replace(device_index=index)).to_string()


class Strategy:
    """Copies of a model on several devices; see ``tf.distribute.MirroredStrategy``.

    Args:
        extended: the implementation.
    """

    def __init__(self, extended: StrategyExtended) -> None:
        self._extended = extended
        extended._strategy = self

    @property
    def extended(self) -> StrategyExtended:
        """The part of the strategy with the methods that libraries call."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """Number of replicas."""
        return len(self._extended.worker_devices)

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Open a ``with`` block that creates variables of the strategy.

        Raises:
            RuntimeError: another strategy is current, or a replica function is running.
        """
        now = current()
        if now is not None and (now.strategy is not self or now.replica is not None):
            raise RuntimeError(
                "Already inside a `tf.distribute.Strategy` scope: exit it before entering "
                "another one, and do not enter a scope in a replica function"
            )
        with entered(Context(self, None)), variable_creator_scope(self._extended._create):
            yield self

    def _entered_or_same(self) -> Any:
        """Return the scope, or a block without effect inside it."""
        now = current()
        return contextlib.nullcontext() if now is not None and now.strategy is self else self.scope()

    def experimental_run_v2(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Run a function once for each replica.

        Args:
            fn: the function.
            args: its arguments; a replica gets its own component of values with one component per replica.
            kwargs: its keyword arguments, or None.

        Returns:
            The function's results, with one component per replica.
        """
        with self._entered_or_same():
            return self._extended.call_for_each_replica(fn, args=args, kwargs=kwargs)

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """Run a function once for each replica, with the next element of an iterator.

        Args:
            fn: the function.
            input_iterator: the result of ``make_dataset_iterator``; None: the function takes no arguments.

        Returns:
            The function's results, with one component per replica.
        """
        args = () if input_iterator is None else (input_iterator.get_next(),)
        return self.experimental_run_v2(fn, args=args)

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """Reduce the replicas' values to one.

        Args:
            reduce_op: a ``tf.distribute.ReduceOp``, or its name.
            value: a value with one component per replica.
            axis: a dimension to reduce as well, such as the batch, or None.

        Returns:
            A tensor.

        Raises:
            ValueError: the reduction is unknown.
        """
        op = reduce_op_of(reduce_op)
        if axis is None:
            return self._extended._reduce(op, value)
        if op is ReduceOp.SUM:
            summed = self.experimental_run_v2(lambda x: reduction.reduce_sum(x, axis=axis), args=(value,))
            return self._extended._reduce(op, summed)

        def parts(component: Any) -> tuple[Tensor, Tensor]:
            tensor = convert_to_tensor(component)
            return reduction.reduce_sum(tensor, axis=axis), reshaping.shape(tensor, out_type=int64)[axis]

        total, count = self.experimental_run_v2(parts, args=(value,))
        total = self._extended._reduce(ReduceOp.SUM, total)
        count = self._extended._reduce(ReduceOp.SUM, count)
        return division.truediv(total, cast.cast(count, total.dtype))

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """Return the components of a value.

        Args:
            value: a result of ``experimental_run_v2``, or a variable.

        Returns:
            A tuple, with one component if all replicas have the same value.
        """
        is_distributed = isinstance(value, DistributedValues | DistributedVariable)
        return tuple(value.values) if is_distributed else (value,)

    unwrap = experimental_local_results

    def group(self, value: Any, name: str | None = None) -> Operation:
        """Return an operation that waits for all components.

        Args:
            value: tensors and operations, with one component per replica.
            name: name of the operation.
        """
        flat = [part for item in flatten(value) for part in self.experimental_local_results(item)]
        if len(flat) != 1 or name is not None:
            return control.group(*flat, name=name)
        only = flat[0]
        return only if isinstance(only, Operation) else getattr(only, "op", only)

    def make_dataset_iterator(self, dataset: Any) -> Any:
        """Return an iterator that splits each batch of a dataset into parts for the replicas.

        Args:
            dataset: a dataset of batches.

        Returns:
            An iterator with ``initialize()`` and ``get_next()``.

        Raises:
            ValueError: a batch cannot be split into equal parts.
        """
        return DatasetIterator(dataset, self, self.num_replicas_in_sync)

    def make_input_fn_iterator(self, input_fn: Callable[[Any], Any], replication_mode: Any = None) -> Any:
        """Return an iterator over a worker's dataset; each replica gets different elements.

        Args:
            input_fn: takes an ``InputContext`` and returns a dataset.
            replication_mode: ignored: there is one worker.

        Returns:
            An iterator with ``initialize()`` and ``get_next()``.
        """
        return DatasetIterator(input_fn(InputContext(1, 0, self.num_replicas_in_sync)), self, 1)

    def experimental_distribute_dataset(self, dataset: Any) -> Any:
        """Return a dataset whose batches are split into parts for the replicas.

        Args:
            dataset: a dataset of batches.

        Returns:
            An object with ``make_initializable_iterator()`` and ``make_one_shot_iterator()``.
        """
        return DistributedDataset(dataset, self, self.num_replicas_in_sync)

    def experimental_distribute_datasets_from_function(self, dataset_fn: Callable[[Any], Any]) -> Any:
        """Return a worker's dataset, created by a function; each replica gets different elements.

        Args:
            dataset_fn: takes an ``InputContext`` and returns a dataset.

        Returns:
            An object with ``make_initializable_iterator()`` and ``make_one_shot_iterator()``.
        """
        return DistributedDataset(dataset_fn(InputContext(1, 0, self.num_replicas_in_sync)), self, 1)

    def update_config_proto(self, config_proto: Any) -> Any:
        """Return a session configuration for the strategy: an unchanged copy, because there is one machine.

        Args:
            config_proto: a ``ConfigProto``.
        """
        copied = type(config_proto)()
        copied.CopyFrom(config_proto)
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Strategy:
        return self  # variables refer to it


class StrategyExtended:
    """The implementation of a strategy, for libraries.

    Args:
        devices: devices of the replicas.
        cross_device_ops: combines values of several devices; None: on the destination device.
    """

    _strategy: Strategy
    scales_loss = False
    """Whether optimizers average the replicas' losses, as those of an estimator do."""

    def __init__(self, devices: Sequence[str], cross_device_ops: CrossDeviceOps | None = None) -> None:
        self._devices = tuple(devices)
        self._cross_device_ops = cross_device_ops or ReductionToOneDevice()

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices of the replicas."""
        return self._devices

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices of the variables."""
        return self._devices

    def _create(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        """Create a variable in the scope."""
        return created(self._strategy, self._devices, next_creator, kwargs)

    def call_for_each_replica(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Run a function once for each replica; see ``Strategy.experimental_run_v2``."""
        return call_for_each(self._strategy, self._devices, fn, args, kwargs or {})

    @contextlib.contextmanager
    def colocate_vars_with(self, colocate_with_variable: Any) -> Iterator[None]:
        """Open a ``with`` block that creates variables with copies on the devices of another variable.

        Args:
            colocate_with_variable: a variable of the strategy.

        Raises:
            ValueError: the variable was created outside of the strategy's scope.
        """
        if getattr(colocate_with_variable, "_distribute_strategy", self._strategy) is not self._strategy:
            raise ValueError(
                "`colocate_vars_with` must be passed a variable created in this tf.distribute.Strategy.scope(), not "
                f"{colocate_with_variable!r}"
            )
        yield

    def update(
        self, var: Any, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, group: bool = True
    ) -> Any:
        """Run a function for each copy of a variable, on its device.

        Args:
            var: the variable.
            fn: takes a copy and the arguments.
            args: its arguments; of values with components, the component of the copy's device.
            kwargs: its keyword arguments, or None.
            group: whether the result waits for the updates of all copies.

        Returns:
            The function's results, with one component per copy; without ``group`` a list of the components.
        """
        copies = self._strategy.experimental_local_results(var)
        devices = tuple(copy.device for copy in copies)
        return self._on_each(devices, [(copy,) for copy in copies], fn, args, kwargs, group)

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Any = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """Run a function on each device, for state that belongs to no variable.

        Args:
            colocate_with: the devices, from ``non_slot_devices``.
            fn: takes the arguments.
            args: its arguments; of values with components, the component of the device.
            kwargs: its keyword arguments, or None.
            group: whether the result waits for all devices.

        Returns:
            As for ``update``.
        """
        devices = (colocate_with,) if isinstance(colocate_with, str) else tuple(colocate_with)
        return self._on_each(devices, [()] * len(devices), fn, args, kwargs, group)

    def non_slot_devices(self, var_list: Any) -> tuple[str, ...]:
        """Return the devices of an optimizer's state that belongs to no variable.

        Args:
            var_list: the variables of the optimizer.
        """
        return self._devices

    def _on_each(
        self, devices: Sequence[str], first: Sequence[Any], fn: Any, args: Any, kwargs: Any, group: bool
    ) -> Any:
        graph, results = get_default_graph(), []
        for number, device in enumerate(devices):
            positional, named = selected(number, (list(args), dict(kwargs or {})))
            with (
                graph.device(device),
                entered(Context(self._strategy, None, number)),
                graph.name_scope(f"update_{number}"),
            ):
                results.append(fn(*first[number], *positional, **named))
        if not group:
            result = regrouped(devices, results, Mirrored)
            return map_structure(lambda part: list(self._strategy.experimental_local_results(part)), result)
        return map_structure(lambda part: self._grouped(part), regrouped(devices, results, Mirrored))

    def _grouped(self, value: Any) -> Any:
        """Return a value whose components wait for each other."""
        if not isinstance(value, DistributedValues | DistributedVariable):
            return value
        operation = self.group_once(value)
        if isinstance(value.values[0], Operation):
            return operation
        graph, grouped = get_default_graph(), []
        devices = tuple(component.device for component in value.values)
        for device, one in zip(devices, value.values, strict=True):
            with graph.device(device), graph.control_dependencies([operation]):
                grouped.append(reshaping.identity(one))
        return Mirrored(devices, grouped)

    def group_once(self, value: Any) -> Operation:
        """Return an operation that waits for all components, or for the initializers of all copies."""
        if isinstance(value, DistributedVariable):
            return control.group(*[copy.initializer for copy in value.values])
        return self._strategy.group(value)

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        """Reduce the replicas' values to one, at its destinations.

        Args:
            reduce_op: a ``ReduceOp``, or its name.
            value: a value with one component per replica.
            destinations: a variable, distributed values, a tensor or a device name.

        Returns:
            A tensor, or ``Mirrored`` for several devices.

        Raises:
            ValueError: the value is not a value of the replicas, and cannot be summed.
        """
        op = reduce_op_of(reduce_op)
        if isinstance(value, DistributedValues):
            is_equal = isinstance(value, Mirrored) and op is ReduceOp.MEAN
            return value if is_equal else self._cross_device_ops.reduce(op, value, destinations)
        if op is ReduceOp.MEAN or (isinstance(value, int | float) and value == 0):
            return value
        if len(self._devices) > 1:
            raise ValueError(
                f"A non-DistributedValues value {value} cannot be reduced with the given reduce op {op}."
            )
        return self.broadcast_to(convert_to_tensor(value), destinations)

    def batch_reduce_to(
        self, reduce_op: Any, value_destination_pairs: Sequence[tuple[Any, Any]]
    ) -> list[Any]:
        """Reduce several values at once.

        Args:
            reduce_op: a ``ReduceOp``, or its name.
            value_destination_pairs: pairs of value and destinations, as for ``reduce_to``.

        Returns:
            A list of the results of ``reduce_to``.
        """
        return self._cross_device_ops.batch_reduce(reduce_op, value_destination_pairs)

    def broadcast_to(self, tensor: TensorLike, destinations: Any) -> Any:
        """Copy a tensor to several devices.

        Args:
            tensor: the tensor.
            destinations: a variable, distributed values, a tensor or a device name.

        Returns:
            A tensor, or ``Mirrored`` for several devices.
        """
        return self._cross_device_ops.broadcast(tensor, destinations)

    def read_var(self, v: Any) -> Tensor:
        """Return the value of a variable, outside of replicas.

        Args:
            v: the variable; copies that differ between replicas are aggregated.
        """
        if not isinstance(v, SyncOnReadVariable):
            return reshaping.identity(v.primary if isinstance(v, DistributedVariable) else v)
        op = ReduceOp.MEAN if v._aggregation.name == "MEAN" else ReduceOp.SUM
        values = Mirrored(v.devices, [copy.value() for copy in v.values])
        return self._reduce(op, values)

    def _reduce(self, op: ReduceOp, value: Any) -> Any:
        return map_structure(lambda component: self._reduced_here(op, component), value)

    def _reduced_here(self, op: ReduceOp, value: Any) -> Any:
        total = self.reduce_to(op, value, CPU)
        return self._strategy.experimental_local_results(total)[0]


class _DefaultExtended(StrategyExtended):
    """The default when no strategy is set: one replica, on any devices."""

    def __init__(self) -> None:
        super().__init__(("",))

    def call_for_each_replica(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Call the function."""
        return fn(*args, **(kwargs or {}))

    def _create(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        return next_creator(**kwargs)

    def update(
        self, var: Any, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, group: bool = True
    ) -> Any:
        """Call the function, colocated with the variable."""
        with get_default_graph().colocate_with(var.op):
            result = fn(var, *args, **(kwargs or {}))
        return result if group else [result]

    def batch_reduce_to(
        self, reduce_op: Any, value_destination_pairs: Sequence[tuple[Any, Any]]
    ) -> list[Any]:
        """Return the values: there is one of each."""
        return [value for value, _ in value_destination_pairs]

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        """Return the value: there is only one."""
        return value

    def _reduce(self, op: ReduceOp, value: Any) -> Any:
        return value


class _DefaultStrategy(Strategy):
    def __init__(self) -> None:
        super().__init__(_DefaultExtended())

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Open a ``with`` block that has no effect."""
        yield self

    def _entered_or_same(self) -> Any:
        return contextlib.nullcontext()

    def make_dataset_iterator(self, dataset: Any) -> Any:
        """Return an iterator over the unchanged dataset.

        Args:
            dataset: the dataset.
        """
        return dataset.make_initializable_iterator()

    def make_input_fn_iterator(self, input_fn: Callable[[Any], Any], replication_mode: Any = None) -> Any:
        """Return an iterator over the dataset that a function returns.

        Args:
            input_fn: takes an ``InputContext`` and returns a dataset.
            replication_mode: ignored: there is one worker.
        """
        return input_fn(InputContext()).make_initializable_iterator()

    def experimental_distribute_dataset(self, dataset: Any) -> Any:
        """Return the dataset.

        Args:
            dataset: the dataset.
        """
        return dataset

    def experimental_distribute_datasets_from_function(self, dataset_fn: Callable[[Any], Any]) -> Any:
        """Return the result of the function.

        Args:
            dataset_fn: takes an ``InputContext`` and returns a dataset.
        """
        return dataset_fn(InputContext())

    def __deepcopy__(self, memo: dict[int, Any]) -> Strategy:
        raise RuntimeError("Should only create a single instance of _DefaultDistributionStrategy")


DEFAULT = _DefaultStrategy()
"""The strategy of code outside of every scope."""
