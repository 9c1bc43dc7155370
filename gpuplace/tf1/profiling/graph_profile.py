"""All data about a graph's nodes, from its definition, logs of its operations and measured steps.

Source: tensorflow/core/profiler/internal/tfprof_stats.cc, release 1.15 (counted nodes, stored data).
"""

from __future__ import annotations

import sys
from typing import Any

from gpuplace.tf1.profiling.messages import ProfileProto
from gpuplace.tf1.profiling.nodes import NodeProfile, is_accelerator_stream
from gpuplace.typing import GraphDef

__all__ = ["GraphProfile"]

_NO_NODES = ("RecvTensor", "_SOURCE")

_NO_STREAM = (
    "\n\nFound accelerator operation but misses accelerator stream stats!\n\n"
    "It's likely a gpu tracing issue rather than tf-profiler issue.\n"
    "If you found your operation missing accelerator time, consider to post to discuss@tensorflow.org!\n\n"
)


class GraphProfile:
    """The nodes of a graph, with all data about them.

    Args:
        graph_def: a ``GraphDef`` with ``_output_shapes``.
        op_log: an ``OpLogProto``.
        run_meta: a ``RunMetadata``, which becomes step 0, or None.
    """

    def __init__(self, graph_def: GraphDef, op_log: Any, run_meta: Any = None) -> None:
        print("Parsing Inputs...")
        self._nodes: dict[str, NodeProfile] = {}
        self.texts: dict[int, str] = {}
        """The strings of traces by their numbers."""
        self.steps: set[int] = set()
        self.has_traces = False
        self._no_stream = False
        self.add_graph(graph_def)
        if run_meta is not None and run_meta.HasField("step_stats"):
            self.add_step(0, run_meta)
        self.add_op_log(op_log)

    @property
    def nodes(self) -> dict[str, NodeProfile]:
        """Name -> node, by name."""
        return dict(sorted(self._nodes.items()))

    def add_graph(self, graph_def: GraphDef) -> None:
        """Add new nodes.

        Args:
            graph_def: a ``GraphDef`` with ``_output_shapes``.
        """
        for node in graph_def.node:
            if node.name not in self._nodes:
                self._nodes[node.name] = NodeProfile.of(node, len(self._nodes))

    def add_op_log(self, op_log: Any) -> None:
        """Add the entries of a log to known nodes.

        Args:
            op_log: an ``OpLogProto``.
        """
        for number, text in op_log.id_to_string.items():
            self.texts.setdefault(number, text)
        for entry in op_log.log_entries:
            node = self._nodes.get(entry.name)
            if node is None:
                continue
            node.types.update(entry.types)
            node.float_ops = entry.float_ops or node.float_ops
            if entry.HasField("code_def"):
                self.has_traces = True
                node.trace = node.trace or entry.code_def

    def add_step(self, step: int, run_meta: Any) -> None:
        """Add the measurements of a step.

        Args:
            step: the step's number.
            run_meta: a ``RunMetadata``.
        """
        if not run_meta.HasField("step_stats"):
            print(f"Invalid RunMetadata for step {step}", file=sys.stderr)
            return
        self.steps.add(step)
        devices = [dev_stat.device.lower() for dev_stat in run_meta.step_stats.dev_stats]
        if any("gpu" in one for one in devices) and not any(map(is_accelerator_stream, devices)):
            self._no_stream = True
        for device in run_meta.step_stats.dev_stats:
            for stats in device.node_stats:
                name = stats.node_name.partition(":")[0]
                if name not in self._nodes:
                    if name in _NO_NODES or "MEMCPY" in name:
                        continue
                    self._nodes[name] = NodeProfile(name, name, len(self._nodes), types={name})
                self._nodes[name].add_execution(step, device.device, stats)

    @property
    def missing_times(self) -> str:
        """The message above a profile without GPU times, or ""."""
        return _NO_STREAM if self._no_stream else ""

    def input_shapes(self, node: NodeProfile) -> dict[int, list[int]]:
        """Return the sizes of each input by its index; unknown shapes are left out.

        Args:
            node: the node.
        """
        shapes: dict[int, list[int]] = {}
        for index, name in enumerate(node.inputs):
            source = self._nodes.get(name)
            at = node.output_index[name]
            has_shape = source is not None and at < len(source.output_shapes)
            shapes[index] = source.output_shapes[at] if source is not None and has_shape else []
        return shapes

    def proto(self) -> Any:
        """Return the profile as a ``ProfileProto``."""
        profile = ProfileProto(
            has_trace=self.has_traces,
            miss_accelerator_stream=self._no_stream,
            steps=sorted(self.steps),
            id_to_string=self.texts,
        )
        for node in self._nodes.values():
            message = profile.nodes[node.id]
            message.id, message.name, message.op, message.float_ops = (
                node.id,
                node.name,
                node.op,
                node.float_ops,
            )
            message.shape.extend(node.shape)
            message.op_types.extend(sorted(node.types))
            message.canonical_device = node.device
            message.host_device = _host_of(node.device)
            for name, value in node.attrs.items():
                message.attrs[name].CopyFrom(value)
            for index, sizes in enumerate(node.output_shapes):
                message.output_shapes[index].int64_values.extend(sizes)
            for index, name in enumerate(node.inputs):
                if name in self._nodes:
                    message.inputs[index] = self._nodes[name].id
                    message.src_output_index[self._nodes[name].id] = node.output_index[name]
            for step, executed in node.steps.items():
                message.execs[step].CopyFrom(executed)
            if node.trace is not None:
                message.trace.CopyFrom(node.trace)
        return profile


def _host_of(device: str) -> str:
    """Return the CPU of a GPU's machine; other devices are returned unchanged."""
    before, gpu, _ = device.rpartition("gpu:")
    return f"{before}cpu:0" if gpu else device
