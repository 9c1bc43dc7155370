"""A predicted step as TensorFlow's ``RunMetadata``, so that every view of measured steps can show it.

Every node is in its device's list with the time of its kernel. As in session traces, a copy between devices is a
``_Send`` and a ``_Recv``, both from its start to its end; a copy that an optimizer removes is at the start and takes no
time. Signals, and copies between the two memories of a GPU, are not listed. ``_SOURCE`` and ``_SINK`` mark the start
and end of the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuplace.cost.shapes.engine import sizes_of
from gpuplace.cost.step_copies import CLIENT, host_arguments
from gpuplace.cost.step_flow import COPY
from gpuplace.cost.step_graph import NOTHING
from gpuplace.placer.placement_graph import CONTROL
from gpuplace.typing import RunMetadata

_MOST_EXECUTIONS = 100_000


def step_metadata(step: Any) -> RunMetadata:
    """Return the step as a message.

    Args:
        step: an estimate.
    """
    from gpuplace.graphdef.messages import RunMetadata as Message

    message = Message()
    writer = _Writer(step, message.step_stats)
    writer.write()
    return message


class _Writer:
    def __init__(self, step: Any, stats: Any) -> None:
        self.step, self.stats = step, stats
        self.names = step.device_names
        self.devices: dict[int, Any] = {}
        self.graph = step.part.graph
        self.first_copy = step.flow.first_copy
        catalogue = step.placement.placer.catalogue
        kinds = [device.device_type for device in step.placement.device_set]
        self.gpus = {number for number, kind in enumerate(kinds) if kind == "GPU"}
        used = np.arange(len(self.graph.signatures))
        self.host_inputs = [inputs for inputs, _ in host_arguments(self.graph, catalogue, used)]
        self.is_idle = step.flow.step.graph.row == NOTHING
        table = step.flow.copies
        self.received = {
            (table.source[copy], table.output[copy], table.receiver[copy], table.to_host[copy]): copy
            for copy in range(len(table))
            if table.sender[copy] != table.receiver[copy]
        }
        removed = [row for row, cost in step.costs_of_copies if cost.removed]
        nodes = np.searchsorted(step.part.nodes, [row.node for row in removed]).tolist()
        self.removed = [
            (number, node, row)
            for number, (node, row) in enumerate(zip(nodes, removed, strict=True), len(table))
        ]
        """Number, producing node and record of each copy that an optimizer removes before the step runs."""
        for number, node, row in self.removed:
            self.received[node, row.output, row.target, row.to_host] = number

    def device(self, number: int) -> Any:
        stats = self.devices.get(number)
        if stats is None:
            stats = self.devices[number] = self.stats.dev_stats.add(device=self.names[number])
        return stats

    def write(self) -> None:
        step, flow = self.step, self.step.flow
        items = step.item_times
        count = len(self.graph)
        kinds, nodes, devices = items["kind"].tolist(), flow.item_node.tolist(), flow.device.tolist()
        starts, ends = items["start"].tolist(), items["end"].tolist()
        ready = items["host_start"].tolist()
        order = sorted(range(len(kinds)), key=lambda item: (starts[item], item))
        table = flow.copies
        for name, at in (("_SOURCE", 0.0), ("_SINK", step.step_time)):
            self.add(CLIENT, name, f"{name} = NoOp()", at, at, at)
        for number, node, row in self.removed:
            self.transfer(number, node, row.output, row.source, row.target, (0.0, 0.0, 0.0))
        for item in order[:_MOST_EXECUTIONS]:
            if ready[item] < 0:
                continue
            node = nodes[item]
            if kinds[item] == COPY:
                copy = node - self.first_copy
                source, output = table.source[copy], table.output[copy]
                sender, receiver = table.sender[copy], table.receiver[copy]
                if output != CONTROL and sender != receiver:
                    self.transfer(
                        copy, source, output, sender, receiver, (starts[item], ends[item], ready[item])
                    )
            elif node < count:
                self.node(node, devices[item], starts[item], ends[item], ready[item])

    def node(self, node: int, device: int, start: float, end: float, ready: float) -> None:
        graph, shapes = self.graph, self.step.shapes
        number = int(graph.signature[node])
        inputs: list[str] = []
        is_folded = bool(self.step.flow.step.folded[node])
        for edge in () if is_folded else graph.in_edges(node):
            source, port = int(graph.src[edge]), int(graph.src_output[edge])
            if self.is_idle[node]:  # Grappler replaces the node by one that only waits
                port = CONTROL
            name = graph.names[source]
            on_host = device not in self.gpus or int(graph.dst_input[edge]) in self.host_inputs[number]
            copy = None if port == CONTROL else self.received.get((source, port, device, on_host))
            if copy is not None:
                name = f"{name}/_{2 * copy + 1}"
            elif port > 0:
                name = f"{name}:{port}"
            inputs.append(f"^{name}" if port == CONTROL else name)
        name = graph.names[node]
        op_type = "Const" if is_folded else graph.op_type(node)
        stats = self.add(device, name, f"{name} = {op_type}({', '.join(inputs)})", start, end, ready)
        for output, dtype in enumerate(shapes.dtypes(node)):
            sizes = sizes_of(shapes.sizes[node], output)
            self.output(stats, output, dtype, sizes, shapes.nbytes(node, output) if sizes is not None else 0)

    def transfer(
        self, number: int, source: int, port: int, sender: int, receiver: int, times: Sequence[float]
    ) -> None:
        """Add a ``_Send`` and a ``_Recv``; ``times`` are begin, end and ready time in seconds."""
        name, shapes = self.graph.names[source], self.step.shapes
        edge = f"edge_{2 * number}_{name}"
        sent, received = f"{name}/_{2 * number}", f"{name}/_{2 * number + 1}"
        self.add(sender, sent, f"{sent} = _Send({edge} @{self.names[receiver]})", *times)
        stats = self.add(receiver, received, f"{received} = _Recv({edge} @{self.names[sender]})", *times)
        self.output(
            stats,
            port,
            shapes.kinds[source].dtype(port),
            sizes_of(shapes.sizes[source], port),
            shapes.nbytes(source, port),
        )

    def add(self, device: int, name: str, label: str, start: float, end: float, ready: float) -> Any:
        begin, lasted = round(start * 1e9), max(round((end - start) * 1e9), 0)
        scheduled = min(round(ready * 1e9), begin)
        return self.device(device).node_stats.add(
            node_name=name,
            timeline_label=label,
            scheduled_micros=scheduled // 1000,
            scheduled_nanos=scheduled,
            all_start_micros=begin // 1000,
            all_start_nanos=begin,
            op_end_rel_micros=(begin + lasted) // 1000 - begin // 1000,
            all_end_rel_micros=(begin + lasted) // 1000 - begin // 1000,
            op_end_rel_nanos=lasted,
            all_end_rel_nanos=lasted,
        )

    @staticmethod
    def output(stats: Any, output: int, dtype: Any, sizes: Any, nbytes: int) -> None:
        description = stats.output.add(slot=output).tensor_description
        description.dtype = dtype.as_datatype_enum
        description.shape.SetInParent()
        for size in sizes or ():
            description.shape.dim.add(size=-1 if size is None else size)
        description.allocation_description.requested_bytes = nbytes
