"""Values with a component for each replica or device.

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
    """Components on devices.

    Args:
        devices: the device of each component.
        values: the components.
    """

    def __init__(self, devices: Sequence[str], values: Sequence[Any]) -> None:
        self.devices, self.values = tuple(devices), tuple(values)

    def get(self, device: str | None = None) -> Any:
        """The component of a device, or for the code that is running now.

        Args:
            device: its device; None: that of the current replica.

        Raises:
            ValueError: no component is there, or nodes are not built for one replica.
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
                "A value with a component for each replica is used outside of a replica: take them by "
                "strategy.experimental_local_results(value), or bring them together by strategy.reduce"
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
    """Another component for each replica."""


class Mirrored(DistributedValues):
    """Equal components."""

    def get(self, device: str | None = None) -> Any:
        """The component of a device, or for the code that is running now; of no replica's, the first."""
        return self.primary if device is None and component() is None else super().get(device)

    @property
    def dtype(self) -> Any:
        """Element type."""
        return self.get().dtype

    @property
    def shape(self) -> Any:
        """What is known of the shape."""
        return self.get().shape

    @property
    def op(self) -> Any:
        """The operation that makes the component for the code that is running now."""
        return self.get().op

    @property
    def name(self) -> str:
        """Name of the component for the code that is running now."""
        found: str = self.get().name
        return found

    @property
    def graph(self) -> Any:
        """The graph that holds it."""
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
    """A structure like equal ones, of what a function makes of the leaves at one place."""
    first = structures[0]
    if isinstance(first, Mapping):
        made = {key: map_parallel(function, [one[key] for one in structures]) for key in first}
        kind: Any = type(first)
        return made if kind is dict else kind(made)
    if isinstance(first, list | tuple):
        if any(len(one) != len(first) for one in structures):
            raise ValueError(
                f"The replicas give another number of values: {[len(one) for one in structures]}"
            )
        parts = [map_parallel(function, parts) for parts in zip(*structures, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    return function(*structures)


def regrouped(devices: Sequence[str], structures: Sequence[Any], kind: type = PerReplica) -> Any:
    """One structure of what each replica gave, with distributed values as its leaves.

    Args:
        devices: of the replicas.
        structures: of the replicas, all alike.
        kind: class of the leaves. Where all replicas have the same object, or the copies of one variable, it is that.
    """

    def leaf(*values: Any) -> Any:
        whole = getattr(values[0], "_distributed", None)
        if whole is not None and all(map(operator.is_, values, whole.values)):
            return whole
        return values[0] if all(value is values[0] for value in values) else kind(devices, values)

    return map_parallel(leaf, structures)


def selected(number: int, structure: Any) -> Any:
    """The structure with one component of each distributed value."""

    def leaf(value: Any) -> Any:
        return value.values[number] if isinstance(value, DistributedValues) else value

    return map_parallel(leaf, [structure])
