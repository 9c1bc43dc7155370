"""Test tools for placements: toy ops and kernels, fake machines, short graphs.

A test in the style of TensorFlow's own, with devices and ops that exist only in the test:

>>> catalogue = Catalogue()
>>> _ = catalogue.register_op("TestInput", outputs=["a: float", "b: float"])
>>> _ = catalogue.register_op("TestRelu", inputs=["i: float"], outputs=["o: float"])
>>> _ = catalogue.register_kernel("TestInput", "FakeCPU")
>>> _ = catalogue.register_kernel("TestRelu", "FakeCPU"), catalogue.register_kernel("TestRelu", "FakeGPU")
>>> machine = fake_machine(FakeCPU=1, FakeGPU=2)
>>> graph = ToyGraph(catalogue)
>>> _ = graph.add("in", "TestInput").add("relu", "TestRelu", "in")
>>> graph.add("second", "TestRelu", "in:1", device="/device:FakeGPU:1")
<ToyGraph of 3 nodes>
>>> where(place(graph, machine, catalogue=catalogue))
{'in': 'FakeCPU:0', 'relu': 'FakeGPU:0', 'second': 'FakeGPU:1'}

`register_op` and `register_kernel` of this module add to the process's own catalogue instead, so that the ops can be
used in any graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.device.machine import Machine
from gpuplace.dtypes import as_dtype
from gpuplace.kernels.registry import Catalogue, default_catalogue, register_kernel, register_op
from gpuplace.placer.graph_builder import PlacementGraphBuilder
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.runtime.session.place import place
from gpuplace.why.placement import Placement

__all__ = [
    "Catalogue",
    "DeviceAttributes",
    "DeviceSet",
    "Machine",
    "ToyGraph",
    "default_catalogue",
    "devices_in_error",
    "fake_machine",
    "place",
    "register_kernel",
    "register_op",
    "where",
]

LOCAL = "/job:localhost/replica:0/task:0"


class ToyGraph:
    """A graph built node by node; an argument of `place`.

    Args:
        catalogue: ops of the nodes; None: the process's own catalogue.
    """

    def __init__(self, catalogue: Catalogue | None = None) -> None:
        self._catalogue = catalogue or default_catalogue()
        self._builder = PlacementGraphBuilder(self._catalogue)
        self._attrs: list[dict[str, Any]] = []

    def add(
        self,
        name: str,
        op_type: str,
        *inputs: str,
        device: str = "",
        colocate_with: str | Iterable[str] = (),
        control_inputs: Iterable[str] = (),
        **attrs: Any,
    ) -> ToyGraph:
        """Add a node and return the graph.

        Args:
            name: name of the node.
            op_type: op of the catalogue; unknown ops are reported when the graph is placed.
            *inputs: tensor names (`"a"`, `"a:1"`), also of nodes that are added later.
            device: requested device name; empty: no request.
            colocate_with: names of nodes or colocation groups.
            control_inputs: names of nodes.
            **attrs: attribute values; types may be written as names.

        Returns:
            This graph, for chained calls.
        """
        op_def = self._catalogue.ops.get(op_type)
        attr_defs = {} if op_def is None else op_def.attr_defs
        values = {}
        for key, value in attrs.items():
            if key in attr_defs and attr_defs[key].element_type == "type":
                value = tuple(map(as_dtype, value)) if isinstance(value, (list, tuple)) else as_dtype(value)
            values[key] = value.encode() if isinstance(value, str) else value
        groups = (colocate_with,) if isinstance(colocate_with, str) else tuple(colocate_with)
        if groups:
            values["_class"] = tuple(f"loc:@{group}".encode() for group in groups)
        self._builder.add_node(name, op_type, values, inputs, control_inputs, device)
        self._attrs.append(values)
        return self

    @property
    def graph(self) -> PlacementGraph:
        """Return the graph in the form that the placer takes."""
        attrs = list(self._attrs)
        return self._builder.build(node_attrs=attrs.__getitem__)

    def __repr__(self) -> str:
        return f"<ToyGraph of {len(self._attrs)} nodes>"


def fake_machine(type_priority: Mapping[str, int] | None = None, job: str = LOCAL, **counts: int) -> Machine:
    """Return a machine of one task with the given number of devices of each type.

    Args:
        type_priority: device type -> priority, higher is preferred; by default types are in reverse order of the
            arguments,
            so that `FakeCPU=1, FakeGPU=2` prefers the GPU.
        job: task name, `/job:.../replica:.../task:...`.
        **counts: device type -> number of devices; the first device is the client device.

    Returns:
        The machine.
    """
    names = [f"{job}/device:{kind}:{i}" for kind, count in counts.items() for i in range(count)]
    priority = dict(type_priority or {kind: 10 * (i + 1) for i, kind in enumerate(counts)})
    return Machine.from_devices(names, type_priority=priority)


def where(placement: Placement) -> dict[str, str]:
    """Return the device of each node without job and task (`GPU:0`), or in full if the machine has several tasks.

    Args:
        placement: result of `place`; nodes without a device are omitted.

    Returns:
        Node name -> device, in the order of the nodes.
    """
    labels = placement.device_labels
    placed = zip(placement.graph.names, placement.devices.tolist(), strict=True)
    return {name: labels[device] for name, device in placed if device >= 0}


def devices_in_error(error: Exception) -> list[str]:
    """Return the available devices that an error of `place` lists.

    Args:
        error: the error.

    Returns:
        Full device names; empty if the error lists none.
    """
    listed: str = getattr(error, "facts", {}).get("available devices", "")
    return listed.split(", ") if listed else []
