"""Bytes in use over the time of a predicted step.

Memory is predicted in the order of the session's plan, time in the order of the executor, and the two differ. The
allocations of a node are shown at the node's start, moved as little as the plan's order requires (isotonic
regression).

>>> in_order([1.0, 4.0, 2.0, 5.0])
[1.0, 3.0, 3.0, 5.0]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuplace.cost.shapes.step_shapes import bytes_of
from gpuplace.graph.op_sets import PASSING_ON, VARIABLE_OPS


def memory_curve(step: Any, device: str) -> list[tuple[float, int]]:
    """Return the changes of memory: seconds since the start of the step, and bytes in use from then on.

    Args:
        step: the `StepEstimate`.
        device: full device name.

    Returns:
        The changes; empty for a device without an allocator.
    """
    use = next((use for use in step.memory.devices if use.device == device), None)
    if use is None:
        return []
    begins = step.begins
    timed = [number for number, (node, _) in enumerate(use.timeline) if node in begins]
    times = dict(zip(timed, in_order([begins[use.timeline[number][0]] for number in timed]), strict=True))
    now = 0.0
    curve = [(0.0, use.before)]
    for number, (_, nbytes) in enumerate(use.timeline):
        now = times.get(number, now)
        curve.append((now, nbytes))
    curve.append((max(now, step.step_time), curve[-1][1]))
    return curve


def in_order(values: Sequence[float]) -> list[float]:
    """Return the ascending sequence with the smallest squared distance from the values.

    Source: Barlow, Bartholomew, Bremner and Brunk, Statistical inference under order restrictions, 1972
    (adjacent violators are pooled).
    """
    pools: list[tuple[float, int]] = []
    for value in values:
        mean, count = value, 1
        while pools and pools[-1][0] > mean:
            before, size = pools.pop()
            mean, count = (mean * count + before * size) / (count + size), count + size
        pools.append((mean, count))
    return [mean for mean, count in pools for _ in range(count)]


def host_memory(step: Any) -> dict[str, int]:
    """Return the peak bytes of tensors on each device that is not a GPU, by full device name.

    An output of a CPU node is alive from the node's start to the end of its last consumer, by the predicted times;
    variables stay.

    Args:
        step: the `StepEstimate`.
    """
    graph, shapes, times = step.part.graph, step.shapes, step.node_times
    device = np.where(step.part.is_fed, 0, np.maximum(step.part.device, 0))
    on_cpu = ~step.machinery.is_gpu[device] & np.isfinite(times["start"])
    until = times["end"].copy()
    is_variable, has_memory = graph.of_types(VARIABLE_OPS), ~graph.of_types(PASSING_ON)
    ends = np.where(np.isfinite(times["end"][graph.dst]), times["end"][graph.dst], 0.0)
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
        if not has_memory[node]:
            continue
        nbytes = sum(map(bytes_of, shapes.sizes[node], shapes.kinds[node].dtypes))
        name = names[device[node]]
        if is_variable[node]:
            kept[name] += nbytes
        elif nbytes:
            changes[name] += [(float(times["start"][node]), nbytes), (float(until[node]), -nbytes)]
    return {name: _most(kept[name], changes[name]) for name in kept}


def _most(in_use: int, changes: list[tuple[float, int]]) -> int:
    """Return the peak of the bytes in use, given the initial bytes and the changes by time."""
    most = in_use
    for _, change in sorted(changes):
        in_use += change
        most = max(most, in_use)
    return int(most)
