"""Tensors in host memory while a step runs, by the foretold times."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.cost.shapes.step_shapes import bytes_of
from gpuplace.graph.op_sets import PASSING_ON, VARIABLE_OPS


def host_memory(step: Any) -> tuple[int, str]:
    """Most bytes of tensors in host memory at a time, by the foretold times, and the CPU's name.

    What a node of a CPU gives out is there from its begin to the end of the last that takes it; variables stay.

    Args:
        step: the `StepEstimate`.
    """
    cpus = np.flatnonzero(~step.machinery.is_gpu)
    name = step.device_names[int(cpus[0])] if len(cpus) else ""
    graph, shapes, of = step.part.graph, step.shapes, step.node_times
    device = np.where(step.part.is_fed, 0, np.maximum(step.part.device, 0))
    on_cpu = ~step.machinery.is_gpu[device] & np.isfinite(of["start"])
    until = of["end"].copy()
    is_variable = np.array([s.op_type in VARIABLE_OPS for s in graph.signatures] or [False])[graph.signature]
    own = np.array([s.op_type not in PASSING_ON for s in graph.signatures] or [False])[graph.signature]
    ends = np.where(np.isfinite(of["end"][graph.dst]), of["end"][graph.dst], 0.0)
    np.maximum.at(until, graph.src, ends)
    first = step.flow.first_copy
    item_copy = step.flow.item_node - first
    chosen = item_copy >= 0
    if chosen.any():
        sources = np.array(step.flow.copies.source)[item_copy[chosen]]
        np.maximum.at(until, sources, step.item_times["end"][chosen])
    total = 0
    changes: list[tuple[float, int]] = []
    for node in np.flatnonzero(on_cpu).tolist():
        if not own[node]:
            continue
        nbytes = sum(map(bytes_of, shapes.sizes[node], shapes.kinds[node].dtypes))
        if is_variable[node]:
            total += nbytes
        elif nbytes:
            changes += [(float(of["start"][node]), nbytes), (float(until[node]), -nbytes)]
    changes.sort()
    in_use = most = total
    for _, change in changes:
        in_use += change
        most = max(most, in_use)
    return int(most), name
