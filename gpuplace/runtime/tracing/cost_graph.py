"""Cost graph of a ``RunMetadata``: all nodes of the partitions with their measured costs.

It is filled in if the config sets ``graph_options.build_cost_model``: a number n above 0 measures every n-th step with
the same fetches and feeds, after the first ``build_cost_model_after`` ones, whatever the ``trace_level``; the cost of a
node is its longest time so far. A partition of three nodes::

    id  name       control_input       input_info   output_info              compute_cost
    0   _SOURCE
    1   _SINK      0, 0, 4 (the ends)
    2   _arg_x_0   0                                shape, dtype             3 µs
    3   MatMul                         2, 2         64 bytes, shape, dtype   27 µs
    4   _retval_0                      3

In 1.15 the numbers start at 0 in each partition, in 2.21 they continue. Outputs that were not measured, such as those
of a ``_Recv``, have size -1 and an unknown rank.

Source: tensorflow/core/graph/costmodel.cc and core/common_runtime/direct_session.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuplace.graph.op_sets import RECEIVES, SENDS, TRANSFERS
from gpuplace.runtime.plan.schedule.partition import Schedule

_ONE_OUTPUT = RECEIVES | {"Const", "Identity"}
"""Ops with one output that the schedule does not contain."""
_REF = 100
"""Difference between the numbers of a data type and of references to it."""
_REFERENCE = -2
"""Stands for the address of a variable."""


@dataclass
class CostModel:
    """Schedule of the measurements of one signature, and the longest times so far."""

    every: int
    """``build_cost_model``."""
    after: int = 0
    """``build_cost_model_after``."""
    runs: int = 0
    """Number of steps so far."""
    longest: dict[str, int] = field(default_factory=dict)
    """Longest time in microseconds, by node."""

    def is_due(self) -> bool:
        """Count a step and return whether to measure it.

        >>> costs = CostModel(every=3, after=1)
        >>> [costs.is_due() for _ in range(8)]
        [False, False, False, True, False, False, True, False]
        """
        measured = self.runs - self.after
        self.runs += 1
        return measured >= 0 and (measured + 1) % self.every == 0


def fill_cost_graph(
    cost_graph: Any, graphs: Any, step_stats: Any, schedule: Schedule, model: CostModel, rules: str
) -> None:
    """Write the costs of a measured step to a ``CostGraphDef`` message.

    Args:
        cost_graph: the message.
        graphs: ``GraphDef`` of each partition.
        step_stats: ``StepStats`` of the step.
        schedule: the executed schedule.
        model: longest times so far, which are updated.
        rules: ``"1.15"`` or ``"2.21"``.
    """
    stats: dict[str, Any] = {}
    for device in step_stats.dev_stats:
        if device.device.startswith("/job:"):  # other devices are those of tracers
            stats.update((node.node_name, node) for node in device.node_stats)
    for name, node in stats.items():
        model.longest[name] = max(model.longest.get(name, 0), node.op_end_rel_micros)
    outputs = {
        step.name: [slot.is_ref for slot in step.outputs] for step in schedule.steps if step.op is not None
    }
    for graph in graphs:
        first = 0 if rules == "1.15" else len(cost_graph.node)
        _add_partition(cost_graph, graph, first, stats, outputs, model.longest)


def _add_partition(
    cost_graph: Any,
    graph: Any,
    first: int,
    stats: Mapping[str, Any],
    outputs: Mapping[str, list[bool]],
    longest: Mapping[str, int],
) -> None:
    number = {node.name: first + 2 + position for position, node in enumerate(graph.node)}
    used = {name.lstrip("^").partition(":")[0] for node in graph.node for name in node.input}
    cost_graph.node.add(name="_SOURCE", id=first)
    ends = [number[node.name] for node in graph.node if node.name not in used]
    cost_graph.node.add(name="_SINK", id=first + 1, control_input=[first, first, *ends])
    for node in graph.node:
        cost_node = cost_graph.node.add(name=node.name, device=node.device, id=number[node.name])
        pointers = []
        for text in node.input:
            if text.startswith("^"):
                cost_node.control_input.append(number[text[1:]])
                continue
            source, _, port = text.partition(":")
            cost_node.input_info.add(preceding_node=number[source], preceding_port=int(port or 0))
            is_ref = outputs.get(source, [False] * (1 + int(port or 0)))[int(port or 0)]
            pointers.append(_REFERENCE if is_ref else _pointer(stats.get(source), int(port or 0)))
        if not node.input:
            cost_node.control_input.append(first)
        cost_node.is_final = node.op in SENDS
        measured = stats.get(node.name)
        if measured is None or node.op in TRANSFERS:
            unknown = 1 if node.op in _ONE_OUTPUT else 0
            for _ in outputs.get(node.name, [False] * unknown):
                output = cost_node.output_info.add(size=-1, alias_input_port=-1)
                output.shape.unknown_rank = True
            continue
        cost_node.compute_cost = longest[node.name]
        cost_node.persistent_memory_size = measured.memory_stats.persistent_memory_size
        _add_outputs(cost_node, measured, outputs.get(node.name, [False] * len(measured.output)), pointers)


def _add_outputs(cost_node: Any, measured: Any, are_refs: list[bool], pointers: list[int]) -> None:
    """Add the outputs of a measured node, with the sizes of their memory."""
    descriptions = {output.slot: output.tensor_description for output in measured.output}
    for position, is_ref in enumerate(are_refs):
        description = descriptions.get(position)
        output = cost_node.output_info.add(alias_input_port=-1)
        if description is None:
            output.size = -1
            output.shape.unknown_rank = True
            continue
        memory = description.allocation_description
        output.size = memory.requested_bytes if is_ref else memory.allocated_bytes
        output.shape.CopyFrom(description.shape)
        output.dtype = description.dtype + (_REF if is_ref else 0)
        pointer = _REFERENCE if is_ref else memory.ptr
        if pointer and pointer in pointers:
            output.alias_input_port = pointers.index(pointer)


def _pointer(stats: Any, port: int) -> int:
    """Return the address of a measured output; -1 if unknown."""
    for output in stats.output if stats is not None else ():
        if output.slot == port:
            return output.tensor_description.allocation_description.ptr or -1
    return -1
