"""A foretold step as TensorFlow's ``RunMetadata``, so that all that shows measured steps shows it too.

Every node is in its device's list with the time of its kernel; a copy is a ``_Send`` and a ``_Recv``, as in our own
traces, from its begin to its end.
"""

from __future__ import annotations

from typing import Any

from gpuplace.cost.step_flow import COPY
from gpuplace.placer.placement_graph import CONTROL
from gpuplace.typing import RunMetadata

_MOST_EXECUTIONS = 100_000


def step_metadata(step: Any) -> RunMetadata:
    """The message.

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
        table = step.flow.copies
        self.received = {
            (table.source[copy], table.output[copy], table.receiver[copy], table.to_host[copy]): copy
            for copy in range(len(table))
        }

    def device(self, number: int) -> Any:
        found = self.devices.get(number)
        if found is None:
            found = self.devices[number] = self.stats.dev_stats.add(device=self.names[number])
        return found

    def write(self) -> None:
        step, flow = self.step, self.step.flow
        items = step.item_times
        count = len(self.graph)
        kinds, nodes, devices = items["kind"].tolist(), flow.item_node.tolist(), flow.device.tolist()
        starts, ends = items["start"].tolist(), items["end"].tolist()
        ready = items["host_start"].tolist()
        order = sorted(range(len(kinds)), key=lambda item: (starts[item], item))
        for item in order[:_MOST_EXECUTIONS]:
            if ready[item] < 0:
                continue
            node = nodes[item]
            if kinds[item] == COPY:
                self.copy(node - self.first_copy, starts[item], ends[item], ready[item])
            elif node < count:
                self.node(node, devices[item], starts[item], ends[item], ready[item])

    def node(self, node: int, device: int, start: float, end: float, ready: float) -> None:
        graph, shapes = self.graph, self.step.shapes
        inputs = []
        for edge in graph.in_edges(node):
            source, port = int(graph.src[edge]), int(graph.src_output[edge])
            name = graph.names[source]
            copy = self.received.get(
                (source, port, device, False), self.received.get((source, port, device, True))
            )
            if copy is not None:
                name = f"{name}/_{2 * copy + 1}"
            elif port > 0:
                name = f"{name}:{port}"
            inputs.append(f"^{name}" if port == CONTROL else name)
        name = graph.names[node]
        made = self.add(
            device, name, f"{name} = {graph.op_type(node)}({', '.join(inputs)})", start, end, ready
        )
        for output, dtype in enumerate(shapes.dtypes(node)):
            sizes = shapes.sizes[node][output] if output < len(shapes.sizes[node]) else None
            self.output(made, output, dtype, sizes, shapes.nbytes(node, output) if sizes is not None else 0)

    def copy(self, copy: int, start: float, end: float, ready: float) -> None:
        table, graph = self.step.flow.copies, self.graph
        source, port = table.source[copy], table.output[copy]
        name = graph.names[source]
        edge = f"edge_{2 * copy}_{name}"
        sender, receiver = table.sender[copy], table.receiver[copy]
        sent, received = f"{name}/_{2 * copy}", f"{name}/_{2 * copy + 1}"
        self.add(sender, sent, f"{sent} = _Send({edge} @{self.names[receiver]})", start, end, ready)
        made = self.add(
            receiver, received, f"{received} = _Recv({edge} @{self.names[sender]})", start, end, ready
        )
        if port != CONTROL:
            shapes = self.step.shapes
            self.output(
                made, port, shapes.dtypes(source)[port], shapes.sizes[source][port], table.nbytes[copy]
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
