"""Variables with a copy on each device of a strategy.

Source: tensorflow/python/distribute/values.py and mirrored_strategy.py, release 1.15 (names, order of nodes, messages).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.graph.convert import get_default_graph, register_tensor_conversion_function
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import reshaping
from gpuplace.ops.distribute.contexts import ReduceOp, component, current
from gpuplace.ops.variables.resource_variables import ResourceVariable
from gpuplace.ops.variables.variables import VariableAggregation, VariableSynchronization
from gpuplace.typing import DTypeLike

_REDUCTIONS = {VariableAggregation.SUM: ReduceOp.SUM, VariableAggregation.MEAN: ReduceOp.MEAN}


class DistributedVariable(ResourceVariable):
    """Resource variables, one on each device of a strategy, that act as one variable.

    Reads and new nodes use the copy of the current replica or, outside replicas, the first copy.

    Args:
        strategy: the strategy.
        copies: the variables, in the order of the devices.
        aggregation: how to combine values that replicas assign.
    """

    def __init__(self, strategy: Any, copies: Sequence[Any], aggregation: VariableAggregation) -> None:
        self._strategy, self.values = strategy, tuple(copies)
        self._aggregation = aggregation
        for copy in copies:
            copy._distributed = self

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices of the copies."""
        return tuple(copy.device for copy in self.values)

    @property
    def primary(self) -> Any:
        """The first copy."""
        return self.values[0]

    def get(self, device: str | None = None) -> Any:
        """Return the copy on a device, or the copy for the current code.

        Args:
            device: the device; None: that of the current replica, or the first one outside replicas.

        Raises:
            ValueError: there is no copy on the device.
        """
        if device is not None:
            return self.values[self.devices.index(device)]
        return self.values[component() or 0]

    @property
    def _distribute_strategy(self) -> Any:
        return self._strategy

    def _assigned(self, method: str, args: Any, kwargs: Any) -> Any:
        """Return the result of an assignment to all copies."""

        def assign(copy: Any, *values: Any, **named: Any) -> Any:
            return getattr(copy, method)(*values, **named)

        context = current()
        if context is not None and context.copy is not None:
            return assign(self.values[context.copy], *args, **kwargs)
        if context is None or context.replica is None:
            with _scope(self._strategy):
                return self._strategy.extended.update(self, assign, args=args, kwargs=kwargs)
        if self._aggregation is VariableAggregation.NONE:
            raise ValueError(
                f"You must specify an aggregation method to update a {type(self).__name__} in Replica Context. "
                "You can do so by passing an explicit value for argument `aggregation` to tf.Variable(..)."
            )

        def merge(strategy: Any, value: Any, *values: Any, **named: Any) -> Any:
            if self._aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
                value = strategy.extended.broadcast_to(strategy.experimental_local_results(value)[0], self)
            else:
                value = strategy.extended.reduce_to(_REDUCTIONS[self._aggregation], value, self)
            return strategy.extended.update(self, assign, args=(value, *values), kwargs=named)

        return context.replica.merge_call(merge, args, kwargs)

    def assign(self, *args: Any, **kwargs: Any) -> Any:
        """Assign to all copies; in a replica, the aggregate of the replicas' values."""
        return self._assigned("assign", args, kwargs)

    def assign_add(self, *args: Any, **kwargs: Any) -> Any:
        """Add to all copies; in a replica, the aggregate of the replicas' values."""
        return self._assigned("assign_add", args, kwargs)

    def assign_sub(self, *args: Any, **kwargs: Any) -> Any:
        """Subtract from all copies; in a replica, the aggregate of the replicas' values."""
        return self._assigned("assign_sub", args, kwargs)

    def value(self) -> Tensor:
        """Return the current value of the current replica's copy."""
        context = current()
        if context is not None and context.replica is None and context.copy is None:
            return reshaping.identity(self.primary)
        return self.get().value()

    def read_value(self) -> Tensor:
        """Return the current value of the current replica's copy, read by a separate operation."""
        context = current()
        for_all = context is not None and context.replica is None and context.copy is None
        return reshaping.identity(self.value() if for_all else self.get())

    @property
    def initializer(self) -> Any:
        """An operation that initializes all copies."""
        return self._strategy.extended.group_once(self)

    def __repr__(self) -> str:
        rows = [f"  {number} {copy.device}: {copy!r}" for number, copy in enumerate(self.values)]
        return f"{type(self).__name__}:{{\n" + ",\n".join(rows) + "\n}"


def _of_copy(name: str) -> property:
    def get(variable: DistributedVariable) -> Any:
        return getattr(variable.get(), name)

    return property(get)


for _name in (
    *("_handle", "_dtype", "_shape", "_graph_element", "_cached_value", "_initializer_op", "_initial_value"),
    *("_trainable", "_synchronization", "_constraint", "_caching_device"),
):
    setattr(DistributedVariable, _name, _of_copy(_name))


class MirroredVariable(DistributedVariable):
    """Copies that are kept equal: every update applies to all of them."""


class SyncOnReadVariable(DistributedVariable):
    """Copies that each replica changes independently; a read outside replicas combines them."""

    def _assigned(self, method: str, args: Any, kwargs: Any) -> Any:
        context = current()
        if context is not None and context.replica is not None:
            return getattr(self.get(), method)(*args, **kwargs)
        if method != "assign":
            raise ValueError(
                f"SyncOnReadVariable does not support `{method}` in cross-replica context when aggregation is set to "
                "`tf.VariableAggregation.SUM`."
                if self._aggregation is VariableAggregation.SUM
                else "Replica-local variables may only be assigned in a replica context."
            )
        value = args[0]
        if self._aggregation is VariableAggregation.SUM:
            value = value / len(self.values)
        with _scope(self._strategy):
            result = self._strategy.extended.update(
                self, lambda copy, *new: copy.assign(*new, **kwargs), args=(value, *args[1:]), group=False
            )
            return self._strategy.group(result)

    def value(self) -> Tensor:
        """Return the value of this replica's copy or, outside replicas, the combined value."""
        context = current()
        if context is not None and (context.replica is not None or context.copy is not None):
            return self.get().value()
        if self._aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            return reshaping.identity(self.primary)
        with _scope(self._strategy):
            return self._strategy.extended.read_var(self)

    def read_value(self) -> Tensor:
        """Return the value as ``value``."""
        return self.value()

    def _as_graph_element(self) -> Tensor:
        return self.value()


def _to_tensor(
    variable: DistributedVariable,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    as_ref: bool = False,
) -> Any:
    value = variable.value()
    return value if dtype is None or value.dtype.is_compatible_with(dtype) else NotImplemented


register_tensor_conversion_function(SyncOnReadVariable, _to_tensor, 50)


def _scope(strategy: Any) -> Any:
    """Return the strategy's scope, which may already be in force."""
    return strategy._entered_or_same()


def created(
    strategy: Any, devices: Sequence[str], make: Callable[..., Any], kwargs: dict[str, Any]
) -> DistributedVariable:
    """Return a variable with a copy on each device.

    Args:
        strategy: the strategy.
        devices: the devices.
        make: function that makes a single variable from the arguments of ``tf.Variable``.
        kwargs: these arguments.

    Raises:
        ValueError: the synchronization and aggregation are incompatible.
    """
    synchronization = kwargs.get("synchronization", VariableSynchronization.AUTO)
    aggregation = kwargs.get("aggregation") or VariableAggregation.NONE
    if synchronization is VariableSynchronization.NONE:
        raise ValueError(
            "`NONE` variable synchronization mode is not supported with `Mirrored` distribution strategy. Please "
            f"change the `synchronization` for variable: {kwargs['name']}"
        )
    is_local = synchronization is VariableSynchronization.ON_READ
    if is_local and kwargs.get("trainable"):
        raise ValueError(
            "Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable variables. You "
            "have specified trainable=True and synchronization=VariableSynchronization.ON_READ."
        )
    kwargs = {**kwargs, "use_resource": True}
    collections = kwargs.get("collections")
    collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
    trainable = kwargs.get("trainable")
    if is_local:
        trainable = kwargs["trainable"] = False
    kwargs["collections"] = []
    graph = get_default_graph()
    copies: list[Any] = []
    initial = kwargs["initial_value"]
    for number, device in enumerate(devices):
        with graph.device(device):
            if number:
                first = copies[0]
                kwargs["name"] = f"{first.op.name}/replica_{number}/"
                kwargs["initial_value"] = lambda first=first, device=device: _same(first, device)
            else:
                kwargs["initial_value"] = initial
            copies.append(make(**kwargs))
    for copy in copies:  # the distributed variable represents them
        for name in (GraphKeys.TRAINABLE_VARIABLES,):
            collected = graph.get_collection_ref(name)
            collected[:] = [item for item in collected if item is not copy]
    variable = (SyncOnReadVariable if is_local else MirroredVariable)(strategy, copies, aggregation)
    if trainable is None or trainable:
        collections.append(GraphKeys.TRAINABLE_VARIABLES)
    graph.add_to_collections(list(dict.fromkeys(collections)), variable)
    return variable


def _same(first: Any, device: str) -> Tensor:
    """Return the initial value of the first copy, on a device."""
    with get_default_graph().device(device):
        return reshaping.identity(first._initial_value)
