"""The cost graph of a ``RunMetadata``: every node of the partitions with what it took, as far as it was measured.

Filled in where the config has ``graph_options.build_cost_model``: a number n above 0 measures every n-th run of the
same fetches and feeds, after the first ``build_cost_model_after`` ones, whatever the ``trace_level``; of a node's times
the longest so far counts. A partition of three nodes::

    id  name       control_input       input_info   output_info              compute_cost
    0   _SOURCE
    1   _SINK      0, 0, 4 (the ends)
    2   _arg_x_0   0                                shape, dtype             3 µs
    3   MatMul                         2, 2         64 bytes, shape, dtype   27 µs
    4   _retval_0                      3

In 1.15 the numbers begin at 0 in every partition, in 2.21 they go on. What was not measured, as what a ``_Recv``
gives out, has size -1 and an unknown rank.

Source: tensorflow/core/graph/costmodel.cc and core/common_runtime/direct_session.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuplace.graph.op_sets import RECEIVES, SENDS, TRANSFERS
from gpuplace.runtime.plan.schedule.partition import Schedule

_GIVING_ONE = RECEIVES | {"Const", "Identity"}
"""Ops that have one output where the partition graph does not say how many there are."""
_REF = 100
"""What is added to the number of a data type for references to it."""
_REFERENCE = -2
"""Stands for where a variable lies."""


@dataclass
class CostModel:
    """When the runs of one signature are measured, and the longest times so far."""

    every: int
    """``build_cost_model``."""
    after: int = 0
    """``build_cost_model_after``."""
    runs: int = 0
    """How many there were."""
    longest: dict[str, int] = field(default_factory=dict)
    """Node -> microseconds."""

    def is_due(self) -> bool:
        """Counts a run and says whether it is measured.

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
    """Writes the costs of a measured step to a ``CostGraphDef`` message.

    Args:
        cost_graph: the message.
        graphs: ``GraphDef`` of every partition.
        step_stats: the step's ``StepStats``.
        schedule: what was run.
        model: takes the longest times, and gives them.
        rules: ``"1.15"`` or ``"2.21"``.
    """
    stats: dict[str, Any] = {}
    for device in step_stats.dev_stats:
        if device.device.startswith("/job:"):  # the others are the tracers' lists
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
        made = cost_graph.node.add(name=node.name, device=node.device, id=number[node.name])
        pointers = []
        for text in node.input:
            if text.startswith("^"):
                made.control_input.append(number[text[1:]])
                continue
            source, _, port = text.partition(":")
            made.input_info.add(preceding_node=number[source], preceding_port=int(port or 0))
            is_ref = outputs.get(source, [False] * (1 + int(port or 0)))[int(port or 0)]
            pointers.append(_REFERENCE if is_ref else _pointer(stats.get(source), int(port or 0)))
        if not node.input:
            made.control_input.append(first)
        made.is_final = node.op in SENDS
        measured = stats.get(node.name)
        if measured is None or node.op in TRANSFERS:
            unknown = 1 if node.op in _GIVING_ONE else 0
            for _ in outputs.get(node.name, [False] * unknown):
                output = made.output_info.add(size=-1, alias_input_port=-1)
                output.shape.unknown_rank = True
            continue
        made.compute_cost = longest[node.name]
        made.persistent_memory_size = measured.memory_stats.persistent_memory_size
        _add_outputs(made, measured, outputs.get(node.name, [False] * len(measured.output)), pointers)


def _add_outputs(made: Any, measured: Any, are_refs: list[bool], pointers: list[int]) -> None:
    """Adds what a measured node gave out; sizes are those of memory that was taken for it."""
    known = {output.slot: output.tensor_description for output in measured.output}
    for position, is_ref in enumerate(are_refs):
        description = known.get(position)
        output = made.output_info.add(alias_input_port=-1)
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
    """Where a measured output lies; -1 where unknown."""
    for output in stats.output if stats is not None else ():
        if output.slot == port:
            return output.tensor_description.allocation_description.ptr or -1
    return -1
