"""Partition graphs of a step, one per device: its nodes, with sends and receives for edges between devices.

A tensor that is copied has a ``_Send`` on its device and one ``_Recv`` on the other device, however many consumers it
has there. A control edge between devices sends an empty tensor::

    a ──> a/_2 = Const ──> a/_3 = _Send        a/_4 = _Recv ──> a/_5 = Identity ──> nodes that wait for a

Source: tensorflow/core/graph/graph_partition.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype
from gpuplace.graph.attr_value import TensorValue
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.runtime.plan.schedule.partition import Schedule, Slot, Step, retval_name
from gpuplace.runtime.plan.schedule.pruning import arg_name
from gpuplace.runtime.plan.schedule.transfers import control_numbers, transfer_names
from gpuplace.shapes import TensorShape


@dataclass(frozen=True, slots=True)
class Ends:
    """Names of the nodes for the feeds and fetches of a step in its traces."""

    feed: Callable[[Tensor, int], str] = arg_name
    """Returns the name of the node that provides a feed."""
    fetch: Callable[[Tensor, int], str] = retval_name
    """Returns the name of the node that consumes a fetch."""
    tensor_of: Callable[[Tensor], str] | None = None
    """Returns a tensor's name in the client, if that is another process; None in the same process. The nodes are sends
    and receives then, and not in the statistics."""


IN_PROCESS = Ends()
"""Names of a session in one process."""


def end_names(slots: Iterable[Slot], name: Callable[[Tensor, int], str]) -> dict[Slot, str]:
    """Return the names of the nodes for feeds or fetches; TensorFlow numbers them in the order of their names."""
    ordered = sorted(slots, key=lambda slot: slot.tensor.name)
    return {slot: name(slot.tensor, position) for position, slot in enumerate(ordered)}


def transfer_ops(step: Step) -> tuple[str, str]:
    """Return the op types of the two nodes of a copy; those that use host memory of a GPU have other types."""
    source, target = step.inputs[0].location, step.outputs[0].location
    return (
        "_HostSend" if source.on_host and "CPU" not in source.device.rpartition("/")[2] else "_Send",
        "_HostRecv" if target.on_host and "CPU" not in target.device.rpartition("/")[2] else "_Recv",
    )


def fill_partition_graphs(
    graphs: Any,
    schedule: Schedule,
    graph: Graph,
    first_transfer: int,
    rules: str = "2.21",
    ends: Ends = IN_PROCESS,
) -> None:
    """Append a ``GraphDef`` per device: its nodes, with sends and receives for edges between devices, control edges
    included.

    Args:
        graphs: list to append to.
        schedule: the executed schedule.
        graph: the whole graph.
        first_transfer: number of the first copy's nodes.
        rules: ``"1.15"`` or ``"2.21"``: determines the attributes of sends and receives.
        ends: names of the nodes for feeds and fetches.
    """
    _Partitions(graphs, schedule, graph, first_transfer, rules, ends).fill()


class _Partitions:
    """Partition graphs under construction."""

    def __init__(
        self, graphs: Any, schedule: Schedule, graph: Graph, first_transfer: int, rules: str, ends: Ends
    ) -> None:
        from gpuplace.graphdef.export import version_def

        self.graphs, self.schedule, self.rules, self.ends = graphs, schedule, rules, ends
        self.versions = version_def(graph)
        self.edges = transfer_names(schedule, first_transfer)
        self.numbers = control_numbers(schedule, first_transfer)
        self.feeds = end_names(schedule.feeds, ends.feed)
        self.devices = {step.op: step.device for step in schedule.steps if step.op is not None}
        self.by_device: dict[str, Any] = {}
        self.sent: set[tuple[Operation, str]] = set()
        """Control edges between devices that have been added: operation and receiving device."""
        self.readers: dict[Slot, str] = {}
        """First consumer of each value."""
        for step in schedule.steps:
            for slot in step.inputs:
                self.readers.setdefault(slot, step.name)
        self.fetches = end_names(schedule.fetches, ends.fetch)
        for slot, name in self.fetches.items():
            self.readers.setdefault(slot, name)

    def add(
        self,
        device: str,
        name: str,
        op_type: str,
        inputs: Iterable[str],
        attrs: Mapping[str, Any],
        of: str = "",
    ) -> None:
        from gpuplace.graphdef.attr_values import encode_attr

        proto = self.partition(device).node.add(name=name, op=op_type, device=device, input=inputs)
        for key, value in attrs.items():
            encode_attr(value, proto.attr[key])
        if self.rules == "1.15":
            proto.experimental_debug_info.original_node_names.append(of or name)

    def partition(self, device: str) -> Any:
        if device not in self.by_device:
            self.by_device[device] = self.graphs.add(versions=self.versions)
        return self.by_device[device]

    def fill(self) -> None:
        from gpuplace.graphdef.attr_values import encode_attr
        from gpuplace.graphdef.export import node_def

        schedule = self.schedule
        for slot, name in self.feeds.items():
            self.add_end(slot, name, ("_Arg", "_Recv"), ())
        for step in schedule.steps:
            if step.op is None:
                self.add_copy(step)
                continue
            controls = self.control_inputs(step)
            proto = node_def(step.op, self.partition(step.device).node.add())
            proto.device = step.device
            del proto.input[:]
            if step.folded is not None:
                proto.name, proto.op = step.name, "Const"
                proto.attr.clear()
                for key, value in step.folded.attrs.items():
                    encode_attr(value, proto.attr[key])
            proto.input.extend(value_name(slot, self.edges, self.feeds) for slot in step.inputs)
            proto.input.extend(controls)
            if self.rules == "1.15":
                proto.experimental_debug_info.original_node_names.append(step.name)
        for slot, name in self.fetches.items():
            self.add_end(slot, name, ("_Retval", "_Send"), [value_name(slot, self.edges, self.feeds)])

    def add_end(self, slot: Slot, name: str, op_types: tuple[str, str], inputs: Iterable[str]) -> None:
        """Add the node of a feed or fetch: of the first op type, or of the second with a client in another process."""
        device, dtype = slot.location.device, slot.tensor.dtype.base_dtype
        if self.ends.tensor_of is None:
            attrs = {"T": dtype, "index": int(name.rpartition("_")[2])}
            self.add(device, name, op_types[0], inputs, attrs)
            return
        tensor = self.ends.tensor_of(slot.tensor)
        attrs = {**self.transfer_attrs(device, device, tensor, "", ""), "client_terminated": True}
        attrs.pop("_src", None), attrs.pop("_dst", None)
        self.add(device, name, op_types[1], inputs, {"T" if inputs else "tensor_type": dtype, **attrs})

    def add_copy(self, step: Step) -> None:
        send, receive, tensor = self.edges[step.outputs[0]]
        sender, receiver = step.inputs[0].location.device, step.outputs[0].location.device
        source = value_name(step.inputs[0], self.edges, self.feeds)
        dtype = step.inputs[0].tensor.dtype.base_dtype
        ends = (sender, receiver, tensor, step.name, self.readers[step.outputs[0]])
        send_op, receive_op = transfer_ops(step)
        self.add(sender, send, send_op, [source], {"T": dtype, **self.transfer_attrs(*ends)}, step.name)
        attrs = {"tensor_type": dtype, **self.transfer_attrs(*ends)}
        self.add(receiver, receive, receive_op, (), attrs, step.name)

    def transfer_attrs(
        self, sender: str, receiver: str, tensor: str, source: str, consumer: str
    ) -> dict[str, Any]:
        attrs: dict[str, Any] = {
            "client_terminated": False,
            "recv_device": receiver.encode(),
            "send_device": sender.encode(),
            "send_device_incarnation": 1,
            "tensor_name": tensor.encode(),
        }
        if self.rules == "2.21":
            attrs |= {"_src": source.encode(), "_dst": consumer.encode()}
        return attrs

    def control_inputs(self, step: Step) -> list[str]:
        """Return the control inputs of a node; those on other devices via an empty tensor."""
        controls, device = [], step.device
        for control in step.control_inputs:
            if control not in self.devices:
                continue
            if self.devices[control] == device:
                controls.append(f"^{control.name}")
                continue
            number = self.numbers[control, device]
            if (control, device) not in self.sent:
                self.sent.add((control, device))
                self.send_control(control, device, number, step.name)
            controls.append(f"^{control.name}/_{number + 3}")
        return controls

    def send_control(self, control: Operation, device: str, first: int, consumer: str) -> None:
        """Add the four nodes of a control edge between devices, numbered from `first` on."""
        source = control.name
        empty = f"{source}/_{first}" if self.rules == "1.15" else f"{source}/ctrl/_{first}"
        send, receive, last = (f"{source}/_{first + i}" for i in (1, 2, 3))
        dtype, sender = as_dtype("float32"), self.devices[control]
        attrs = self.transfer_attrs(sender, device, f"edge_{first + 1}_{source}", source, consumer)
        value = TensorValue(dtype, TensorShape([0]), np.zeros(0, np.float32))
        self.add(sender, empty, "Const", [f"^{source}"], {"dtype": dtype, "value": value}, source)
        self.add(sender, send, "_Send", [empty], {"T": dtype, **attrs}, source)
        self.add(device, receive, "_Recv", (), {"tensor_type": dtype, **attrs}, source)
        self.add(device, last, "Identity", [receive], {"T": dtype}, source)


def value_name(slot: Slot, edges: Mapping[Slot, tuple[str, str, str]], feeds: Mapping[Slot, str]) -> str:
    if slot in edges:
        return edges[slot][1]
    if slot in feeds:
        return feeds[slot]
    return slot.name
