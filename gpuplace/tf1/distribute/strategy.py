"""Strategies: on which devices a model has copies, and how these stay equal.

    strategy.scope()                 variables made here have a copy on each device
      experimental_run_v2(step)      step runs once for each replica, with its part of the input
        optimizer.minimize(loss)     gradients of all replicas are added up, and each copy is updated
    reduce(MEAN, losses)             one value of those of the replicas

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
    """A device's name with replica and task, and number.

    >>> full_device("/gpu:1")
    '/replica:0/task:0/device:GPU:1'

    Raises:
        ValueError: the name is not that of a device.
    """
    spec = DeviceSpec.from_string(device)
    if spec.device_type is None:
        raise ValueError(f"A strategy needs names of devices, such as /gpu:0, not {device!r}")
    index = 0 if spec.device_index is None else spec.device_index
    return DeviceSpec(replica=0, task=0).make_merged_spec(spec.replace(device_index=index)).to_string()


class Strategy:
    """Copies of a model on several devices; see ``tf.distribute.MirroredStrategy``.

    Args:
        extended: what it does.
    """

    def __init__(self, extended: StrategyExtended) -> None:
        self._extended = extended
        extended._strategy = self

    @property
    def extended(self) -> StrategyExtended:
        """What libraries use of a strategy."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return len(self._extended.worker_devices)

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """A ``with`` block in which variables are the strategy's.

        Raises:
            RuntimeError: another strategy is in force, or a function of a replica runs.
        """
        now = current()
        if now is not None and (now.strategy is not self or now.replica is not None):
            raise RuntimeError(
                "Already inside a `tf.distribute.Strategy` scope: leave it before another strategy, or a scope in a "
                "function of a replica, begins"
            )
        with entered(Context(self, None)), variable_creator_scope(self._extended._create):
            yield self

    def _entered_or_same(self) -> Any:
        """The scope, unless it is in force."""
        now = current()
        return contextlib.nullcontext() if now is not None and now.strategy is self else self.scope()

    def experimental_run_v2(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Runs a function once for each replica.

        Args:
            fn: the function.
            args: its arguments; of values with a component for each replica, a replica gets its own.
            kwargs: its keyword arguments; None: none.

        Returns:
            What it returns, with a component for each replica.
        """
        with self._entered_or_same():
            return self._extended.call_for_each_replica(fn, args=args, kwargs=kwargs)

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """Runs a function once for each replica, with the next element of an iterator.

        Args:
            fn: the function.
            input_iterator: what ``make_dataset_iterator`` gave; None: the function takes nothing.

        Returns:
            What it returns, with a component for each replica.
        """
        args = () if input_iterator is None else (input_iterator.get_next(),)
        return self.experimental_run_v2(fn, args=args)

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """One value of those of the replicas.

        Args:
            reduce_op: a ``tf.distribute.ReduceOp``, or its name.
            value: a value with a component for each replica.
            axis: a dimension that is reduced too, such as that of a batch; None: none.

        Returns:
            A tensor.

        Raises:
            ValueError: the kind of reduction is unknown.
        """
        op = reduce_op_of(reduce_op)
        if axis is None:
            return self._extended._reduce(op, value)
        if op is ReduceOp.SUM:
            summed = self.experimental_run_v2(lambda one: reduction.reduce_sum(one, axis=axis), args=(value,))
            return self._extended._reduce(op, summed)

        def parts(one: Any) -> tuple[Tensor, Tensor]:
            tensor = convert_to_tensor(one)
            return reduction.reduce_sum(tensor, axis=axis), reshaping.shape(tensor, out_type=int64)[axis]

        total, count = self.experimental_run_v2(parts, args=(value,))
        total = self._extended._reduce(ReduceOp.SUM, total)
        count = self._extended._reduce(ReduceOp.SUM, count)
        return division.truediv(total, cast.cast(count, total.dtype))

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The components of a value.

        Args:
            value: what ``experimental_run_v2`` gave, or a variable.

        Returns:
            A tuple, of one component where all replicas have the same.
        """
        is_distributed = isinstance(value, DistributedValues | DistributedVariable)
        return tuple(value.values) if is_distributed else (value,)

    unwrap = experimental_local_results

    def group(self, value: Any, name: str | None = None) -> Operation:
        """An operation that is done when all components are.

        Args:
            value: tensors and operations, with a component for each replica.
            name: name of the operation.
        """
        flat = [one for item in flatten(value) for one in self.experimental_local_results(item)]
        if len(flat) != 1 or name is not None:
            return control.group(*flat, name=name)
        only = flat[0]
        return only if isinstance(only, Operation) else getattr(only, "op", only)

    def make_dataset_iterator(self, dataset: Any) -> Any:
        """An iterator that cuts each batch of a dataset into parts for the replicas.

        Args:
            dataset: a dataset of batches.

        Returns:
            An iterator with ``initialize()`` and ``get_next()``.

        Raises:
            ValueError: a batch cannot be cut into equal parts.
        """
        return DatasetIterator(dataset, self, self.num_replicas_in_sync)

    def make_input_fn_iterator(self, input_fn: Callable[[Any], Any], replication_mode: Any = None) -> Any:
        """An iterator over what a function gives for a worker; each replica takes elements of its own.

        Args:
            input_fn: takes an ``InputContext`` and returns a dataset.
            replication_mode: ignored: there is one worker.

        Returns:
            An iterator with ``initialize()`` and ``get_next()``.
        """
        return DatasetIterator(input_fn(InputContext(1, 0, self.num_replicas_in_sync)), self, 1)

    def experimental_distribute_dataset(self, dataset: Any) -> Any:
        """A dataset whose batches are cut into parts for the replicas.

        Args:
            dataset: a dataset of batches.

        Returns:
            Something with ``make_initializable_iterator()`` and ``make_one_shot_iterator()``.
        """
        return DistributedDataset(dataset, self, self.num_replicas_in_sync)

    def experimental_distribute_datasets_from_function(self, dataset_fn: Callable[[Any], Any]) -> Any:
        """A dataset that a function makes for a worker; each replica takes elements of its own.

        Args:
            dataset_fn: takes an ``InputContext`` and returns a dataset.

        Returns:
            Something with ``make_initializable_iterator()`` and ``make_one_shot_iterator()``.
        """
        return DistributedDataset(dataset_fn(InputContext(1, 0, self.num_replicas_in_sync)), self, 1)

    def update_config_proto(self, config_proto: Any) -> Any:
        """A configuration of sessions for the strategy: a copy, as on one machine nothing has to be changed.

        Args:
            config_proto: a ``ConfigProto``.
        """
        copied = type(config_proto)()
        copied.CopyFrom(config_proto)
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Strategy:
        return self  # variables refer to it


class StrategyExtended:
    """What a strategy does, for libraries.

    Args:
        devices: of the replicas.
        cross_device_ops: brings values together; None: on the device where they are needed.
    """

    _strategy: Strategy
    scales_loss = False
    """Whether optimizers take the mean of the replicas' losses, as an estimator's do."""

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
        """Makes a variable in the scope."""
        return created(self._strategy, self._devices, next_creator, kwargs)

    def call_for_each_replica(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Runs a function once for each replica; see ``Strategy.experimental_run_v2``."""
        return call_for_each(self._strategy, self._devices, fn, args, kwargs or {})

    @contextlib.contextmanager
    def colocate_vars_with(self, colocate_with_variable: Any) -> Iterator[None]:
        """A ``with`` block whose variables have copies where those of a variable are.

        Args:
            colocate_with_variable: a variable of the strategy.

        Raises:
            ValueError: a variable that was made outside of the strategy's scope.
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
        """Runs a function for each copy of a variable, on its device.

        Args:
            var: the variable.
            fn: takes a copy and the arguments.
            args: its arguments; of values with components, those of the copy's device.
            kwargs: its keyword arguments; None: none.
            group: whether the result is done only when all copies are updated.

        Returns:
            What it returns, with a component for each copy; without ``group`` a list of the components.
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
        """Runs a function on each device, for what belongs to no variable.

        Args:
            colocate_with: the devices, from ``non_slot_devices``.
            fn: takes the arguments.
            args: its arguments; of values with components, those of the device.
            kwargs: its keyword arguments; None: none.
            group: whether the result is done only when all are.

        Returns:
            As ``update``.
        """
        devices = (colocate_with,) if isinstance(colocate_with, str) else tuple(colocate_with)
        return self._on_each(devices, [()] * len(devices), fn, args, kwargs, group)

    def non_slot_devices(self, var_list: Any) -> tuple[str, ...]:
        """The devices of what belongs to an optimizer and to no variable.

        Args:
            var_list: the variables of the optimizer.
        """
        return self._devices

    def _on_each(
        self, devices: Sequence[str], first: Sequence[Any], fn: Any, args: Any, kwargs: Any, group: bool
    ) -> Any:
        graph, made = get_default_graph(), []
        for number, device in enumerate(devices):
            given, named = selected(number, (list(args), dict(kwargs or {})))
            with (
                graph.device(device),
                entered(Context(self._strategy, None, number)),
                graph.name_scope(f"update_{number}"),
            ):
                made.append(fn(*first[number], *given, **named))
        if not group:
            whole = regrouped(devices, made, Mirrored)
            return map_structure(lambda one: list(self._strategy.experimental_local_results(one)), whole)
        return map_structure(lambda one: self._grouped(one), regrouped(devices, made, Mirrored))

    def _grouped(self, value: Any) -> Any:
        """A value whose components are there only when all are."""
        if not isinstance(value, DistributedValues | DistributedVariable):
            return value
        operation = self.group_once(value)
        if isinstance(value.values[0], Operation):
            return operation
        graph, found = get_default_graph(), []
        devices = tuple(one.device for one in value.values)
        for device, one in zip(devices, value.values, strict=True):
            with graph.device(device), graph.control_dependencies([operation]):
                found.append(reshaping.identity(one))
        return Mirrored(devices, found)

    def group_once(self, value: Any) -> Operation:
        """An operation that is done when all components, or the initializers of all copies, are."""
        if isinstance(value, DistributedVariable):
            return control.group(*[copy.initializer for copy in value.values])
        return self._strategy.group(value)

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        """One value of those of the replicas, where it is needed.

        Args:
            reduce_op: a ``ReduceOp``, or its name.
            value: a value with a component for each replica.
            destinations: a variable, distributed values, a tensor or a device's name.

        Returns:
            A tensor, or ``Mirrored`` for several devices.

        Raises:
            ValueError: a value that no replica has of its own cannot be added up so often.
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
        """One value each of several.

        Args:
            reduce_op: a ``ReduceOp``, or its name.
            value_destination_pairs: pairs as the arguments of ``reduce_to``.

        Returns:
            A list of what ``reduce_to`` gives.
        """
        return self._cross_device_ops.batch_reduce(reduce_op, value_destination_pairs)

    def broadcast_to(self, tensor: TensorLike, destinations: Any) -> Any:
        """A tensor on several devices.

        Args:
            tensor: the tensor.
            destinations: a variable, distributed values, a tensor or a device's name.

        Returns:
            A tensor, or ``Mirrored`` for several devices.
        """
        return self._cross_device_ops.broadcast(tensor, destinations)

    def read_var(self, v: Any) -> Tensor:
        """The value of a variable, outside of replicas.

        Args:
            v: the variable; of one that replicas change for themselves, the copies are brought together.
        """
        if not isinstance(v, SyncOnReadVariable):
            return reshaping.identity(v.primary if isinstance(v, DistributedVariable) else v)
        op = ReduceOp.MEAN if v._aggregation.name == "MEAN" else ReduceOp.SUM
        values = Mirrored(v.devices, [copy.value() for copy in v.values])
        return self._reduce(op, values)

    def _reduce(self, op: ReduceOp, value: Any) -> Any:
        return map_structure(lambda one: self._reduced_here(op, one), value)

    def _reduced_here(self, op: ReduceOp, value: Any) -> Any:
        found = self.reduce_to(op, value, CPU)
        return self._strategy.experimental_local_results(found)[0]


class _DefaultExtended(StrategyExtended):
    """Without a strategy: one replica, on whatever devices."""

    def __init__(self) -> None:
        super().__init__(("",))

    def call_for_each_replica(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Calls the function."""
        return fn(*args, **(kwargs or {}))

    def _create(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        return next_creator(**kwargs)

    def update(
        self, var: Any, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, group: bool = True
    ) -> Any:
        """Calls the function beside the variable."""
        with get_default_graph().colocate_with(var.op):
            made = fn(var, *args, **(kwargs or {}))
        return made if group else [made]

    def batch_reduce_to(
        self, reduce_op: Any, value_destination_pairs: Sequence[tuple[Any, Any]]
    ) -> list[Any]:
        """The values: there is one of each."""
        return [value for value, _ in value_destination_pairs]

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        """The value: there is one."""
        return value

    def _reduce(self, op: ReduceOp, value: Any) -> Any:
        return value


class _DefaultStrategy(Strategy):
    def __init__(self) -> None:
        super().__init__(_DefaultExtended())

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """A ``with`` block in which nothing is different."""
        yield self

    def _entered_or_same(self) -> Any:
        return contextlib.nullcontext()

    def make_dataset_iterator(self, dataset: Any) -> Any:
        """An iterator over the dataset as it is.

        Args:
            dataset: the dataset.
        """
        return dataset.make_initializable_iterator()

    def make_input_fn_iterator(self, input_fn: Callable[[Any], Any], replication_mode: Any = None) -> Any:
        """An iterator over the dataset that a function gives.

        Args:
            input_fn: takes an ``InputContext`` and returns a dataset.
            replication_mode: ignored: there is one worker.
        """
        return input_fn(InputContext()).make_initializable_iterator()

    def experimental_distribute_dataset(self, dataset: Any) -> Any:
        """The dataset.

        Args:
            dataset: the dataset.
        """
        return dataset

    def experimental_distribute_datasets_from_function(self, dataset_fn: Callable[[Any], Any]) -> Any:
        """The dataset that a function gives.

        Args:
            dataset_fn: takes an ``InputContext`` and returns a dataset.
        """
        return dataset_fn(InputContext())

    def __deepcopy__(self, memo: dict[int, Any]) -> Strategy:
        raise RuntimeError("Should only create a single instance of _DefaultDistributionStrategy")


DEFAULT = _DefaultStrategy()
"""The strategy of code outside of every scope."""
