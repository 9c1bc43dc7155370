"""Time and bytes of each node in one step, measured or predicted, from the ``step_stats`` of a ``RunMetadata``.

A node can occur in several lists: its device's, where TensorFlow records the launch of its kernel, and those of the
device's streams (``.../stream:all``, node name ``MatMul:MatMul``), with the kernel's own time. Times in one list are
summed (a loop runs a node several times); over several lists the largest sum counts.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gpuplace.runtime.plan.schedule.transfers import source_name
from gpuplace.typing import RunMetadata
from gpuplace.views.tables.palette import device_label
from gpuplace.views.tables.placement_view import PlacementView

_RECEIVE = re.compile(r"(.+) = _(?:Host)?Recv\(")


def devices_of(run_metadata: RunMetadata) -> Any:
    """Return the device lists of a ``RunMetadata`` or ``StepStats``.

    Raises:
        TypeError: the argument has another type.
    """
    devices = getattr(getattr(run_metadata, "step_stats", run_metadata), "dev_stats", None)
    if devices is None:
        raise TypeError(
            f"run_metadata must be a RunMetadata or a StepStats, not {type(run_metadata).__name__}"
        )
    return devices


def is_predicted(run_metadata: RunMetadata) -> bool:
    """Return whether a step was predicted: only a prediction records the end of the step, as ``_SINK``.

    Raises:
        TypeError: `run_metadata` has no ``dev_stats``.
    """
    return any(
        stats.node_name == "_SINK" for device in devices_of(run_metadata) for stats in device.node_stats
    )


def measured_us(view: PlacementView, run_metadata: RunMetadata) -> np.ndarray:
    """Return the time of each node in microseconds, [nodes]; NaN for nodes that did not run.

    Raises:
        TypeError: `run_metadata` has no ``dev_stats``.
        ValueError: it contains none of the graph's nodes.
    """
    times = np.full(len(view), np.nan)
    for device in devices_of(run_metadata):
        sums: dict[int, float] = {}
        for stats in device.node_stats:
            node = view.index.get(stats.node_name, view.index.get(stats.node_name.partition(":")[0]))
            if node is not None:
                duration = stats.all_end_rel_nanos / 1000 or stats.all_end_rel_micros
                sums[node] = sums.get(node, 0.0) + duration
        nodes = np.fromiter(sums, dtype=np.int64, count=len(sums))
        times[nodes] = np.fmax(times[nodes], np.fromiter(sums.values(), dtype=float, count=len(sums)))
    if len(view) and np.isnan(times).all():
        raise ValueError(
            "The step_stats contain none of this graph's nodes. Check that this graph ran, with trace_level FULL_TRACE."
        )
    return times


def measured_bytes(view: PlacementView, run_metadata: RunMetadata) -> np.ndarray:
    """Return the bytes of each node's outputs, [nodes]; NaN for nodes that did not run.

    Raises:
        TypeError: `run_metadata` has no ``dev_stats``.
    """
    sizes = np.full(len(view), np.nan)
    for device in devices_of(run_metadata):
        for stats in device.node_stats:
            node = view.index.get(stats.node_name)
            if node is not None:
                size = sum(
                    output.tensor_description.allocation_description.requested_bytes
                    for output in stats.output
                )
                sizes[node] = np.fmax(sizes[node], size)
    return sizes


def received_us(run_metadata: RunMetadata) -> dict[tuple[str, int, str], float]:
    """Return (node, output, short name of the destination device) -> microseconds of the copy, from ``_Recv`` records.

    Raises:
        TypeError: `run_metadata` has no ``dev_stats``.
    """
    times = {}
    for device in devices_of(run_metadata):
        for stats in device.node_stats:
            receive = _RECEIVE.match(getattr(stats, "timeline_label", ""))
            name = None if receive is None else source_name(receive[1])
            if name is not None:
                slot = stats.output[0].slot if stats.output else 0
                duration = stats.all_end_rel_nanos / 1000 or stats.all_end_rel_micros
                times[name, slot, device_label(device.device)] = duration
    return times
