"""Tensors in host memory while a step runs, by the foretold times."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.cost.shapes.step_shapes import bytes_of
from gpuplace.graph.op_sets import PASSING_ON, VARIABLE_OPS


def host_memory(step: Any) -> dict[str, int]:
    """Return the full name of each device that is no GPU to the most bytes of its tensors at a time.

    What a node of a CPU gives out is there from its begin to the end of the last that takes it, by the predicted times;
    variables stay.

    Args:
        step: the `StepEstimate`.
    """
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
    names = step.device_names
    kept = {names[number]: 0 for number in np.flatnonzero(~step.machinery.is_gpu).tolist()}
    changes: dict[str, list[tuple[float, int]]] = {name: [] for name in kept}
    for node in np.flatnonzero(on_cpu).tolist():
        if not own[node]:
            continue
        nbytes = sum(map(bytes_of, shapes.sizes[node], shapes.kinds[node].dtypes))
        name = names[device[node]]
        if is_variable[node]:
            kept[name] += nbytes
        elif nbytes:
            changes[name] += [(float(of["start"][node]), nbytes), (float(until[node]), -nbytes)]
    return {name: _most(kept[name], changes[name]) for name in kept}


def _most(in_use: int, changes: list[tuple[float, int]]) -> int:
    """The most bytes in use, of those at first and what changes them, by time."""
    most = in_use
    for _, change in sorted(changes):
        in_use += change
        most = max(most, in_use)
    return int(most)
