"""Values with one component per replica or device.

Source: tensorflow/python/distribute/values.py, release 1.15.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpuplace.graph.convert import convert_to_tensor, register_tensor_conversion_function
from gpuplace.graph.operation import Tensor
from gpuplace.ops.distribute.contexts import component
from gpuplace.typing import DTypeLike

__all__ = ["DistributedValues", "Mirrored", "PerReplica"]


class DistributedValues:
    """Components on several devices.

    Args:
        devices: the device of each component.
        values: the components.
    """

    def __init__(self, devices: Sequence[str], values: Sequence[Any]) -> None:
        self.devices, self.values = tuple(devices), tuple(values)

    def get(self, device: str | None = None) -> Any:
        """Return the component of a device or of the current replica.

        Args:
            device: the device; None: the current replica's.

        Raises:
            ValueError: the device has no component, or there is no current replica.
        """
        if device is not None:
            if device not in self.devices:
                raise ValueError(
                    f"Device {device} not found in {list(self.devices)} (current device {device})"
                )
            return self.values[self.devices.index(device)]
        index = component()
        if index is None or index >= len(self.values):
            raise ValueError(
                "A value with one component per replica was used outside of a replica: take the components with "
                "strategy.experimental_local_results(value), or combine them with strategy.reduce"
            )
        return self.values[index]

    @property
    def primary(self) -> Any:
        """The first component."""
        return self.values[0]

    def __repr__(self) -> str:
        rows = [
            f"  {number} {device}: {value!r}"
            for number, (device, value) in enumerate(zip(self.devices, self.values, strict=True))
        ]
        return f"{type(self).__name__}:{{\n" + ",\n".join(rows) + "\n}"


class PerReplica(DistributedValues):
    """Components that differ between replicas."""


class Mirrored(DistributedValues):
    """Equal components."""

    def get(self, device: str | None = None) -> Any:
        """Return the component of a device or of the current replica; otherwise the first."""
        return self.primary if device is None and component() is None else super().get(device)

    @property
    def dtype(self) -> Any:
        """Element type."""
        return self.get().dtype

    @property
    def shape(self) -> Any:
        """Known shape."""
        return self.get().shape

    @property
    def op(self) -> Any:
        """The operation that computes the component of the current replica."""
        return self.get().op

    @property
    def name(self) -> str:
        """Name of the component of the current replica."""
        name: str = self.get().name
        return name

    @property
    def graph(self) -> Any:
        """The graph of the components."""
        return self.get().graph

    def _as_graph_element(self) -> Tensor:
        value = self.get()
        return value if isinstance(value, Tensor) else value._as_graph_element()


def _to_tensor(
    value: Mirrored, dtype: DTypeLike | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    return convert_to_tensor(value.get(), dtype, name=name)


register_tensor_conversion_function(Mirrored, _to_tensor)


def map_parallel(function: Callable[..., Any], structures: Sequence[Any]) -> Any:
    """Apply a function to the corresponding leaves of equal structures."""
    first = structures[0]
    if isinstance(first, Mapping):
        mapped = {key: map_parallel(function, [structure[key] for structure in structures]) for key in first}
        kind: Any = type(first)
        return mapped if kind is dict else kind(mapped)
    if isinstance(first, list | tuple):
        if any(len(structure) != len(first) for structure in structures):
            raise ValueError(
                f"The replicas return different numbers of values: {[len(structure) for structure in structures]}"
            )
        parts = [map_parallel(function, parts) for parts in zip(*structures, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    return function(*structures)


def regrouped(devices: Sequence[str], structures: Sequence[Any], kind: type = PerReplica) -> Any:
    """Merge the structures of all replicas into one with distributed values as its leaves.

    Args:
        devices: devices of the replicas.
        structures: one structure per replica, all alike.
        kind: class of the leaves; an object or variable that all replicas share is not wrapped.
    """

    def leaf(*values: Any) -> Any:
        distributed = getattr(values[0], "_distributed", None)
        if distributed is not None and all(map(operator.is_, values, distributed.values)):
            return distributed
        return values[0] if all(value is values[0] for value in values) else kind(devices, values)

    return map_parallel(leaf, structures)


def selected(number: int, structure: Any) -> Any:
    """Return the structure with one component of each distributed value."""

    def leaf(value: Any) -> Any:
        return value.values[number] if isinstance(value, DistributedValues) else value

    return map_parallel(leaf, [structure])
