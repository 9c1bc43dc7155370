"""What one step measured, per node: time and bytes, from the ``step_stats`` of a ``RunMetadata``.

A node can stand in several places: on its device, where TensorFlow records the launch of its kernel, and on the
device's streams (``.../stream:all``, node name ``MatMul:MatMul``), where the kernel's own time is. The times of one
place are added up (a loop runs a node more than once), and of several places the largest counts.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gpuplace.runtime.plan.schedule.transfers import source_name
from gpuplace.views.tables.palette import device_label
from gpuplace.views.tables.placement_view import PlacementView

_RECEIVE = re.compile(r"(.+) = _(?:Host)?Recv\(")


def devices_of(run_metadata: Any) -> Any:
    """The lists of a ``RunMetadata`` or ``StepStats``; TypeError for anything else."""
    stats = getattr(run_metadata, "step_stats", run_metadata)
    devices = getattr(stats, "dev_stats", None)
    if devices is None:
        raise TypeError(f"run_metadata is a RunMetadata or a StepStats, not {type(run_metadata).__name__}")
    return devices


def measured_us(view: PlacementView, run_metadata: Any) -> np.ndarray:
    """[nodes] microseconds of each node, NaN for those that did not run.

    Raises:
        TypeError: `run_metadata` holds no ``dev_stats``.
        ValueError: it holds none of the graph's nodes.
    """
    found = np.full(len(view), np.nan)
    for device in devices_of(run_metadata):
        here: dict[int, float] = {}
        for stats in device.node_stats:
            node = view.index.get(stats.node_name, view.index.get(stats.node_name.partition(":")[0]))
            if node is not None:
                lasted = stats.all_end_rel_nanos / 1000 or stats.all_end_rel_micros
                here[node] = here.get(node, 0.0) + lasted
        nodes = np.fromiter(here, dtype=np.int64, count=len(here))
        found[nodes] = np.fmax(found[nodes], np.fromiter(here.values(), dtype=float, count=len(here)))
    if len(view) and np.isnan(found).all():
        raise ValueError(
            "The step_stats hold none of this graph's nodes: was trace_level FULL_TRACE, and is it this graph?"
        )
    return found


def measured_bytes(view: PlacementView, run_metadata: Any) -> np.ndarray:
    """[nodes] bytes of each node's outputs, NaN for those that did not run.

    Raises:
        TypeError: `run_metadata` holds no ``dev_stats``.
    """
    found = np.full(len(view), np.nan)
    for device in devices_of(run_metadata):
        for stats in device.node_stats:
            node = view.index.get(stats.node_name)
            if node is not None:
                size = sum(
                    output.tensor_description.allocation_description.requested_bytes
                    for output in stats.output
                )
                found[node] = np.fmax(found[node], size)
    return found


def received_us(run_metadata: Any) -> dict[tuple[str, int, str], float]:
    """Node, output and short name of the device it went to -> microseconds of that copy, where a ``_Recv`` tells.

    Raises:
        TypeError: `run_metadata` holds no ``dev_stats``.
    """
    found = {}
    for device in devices_of(run_metadata):
        for stats in device.node_stats:
            receive = _RECEIVE.match(getattr(stats, "timeline_label", ""))
            name = None if receive is None else source_name(receive[1])
            if name is not None:
                slot = stats.output[0].slot if stats.output else 0
                lasted = stats.all_end_rel_nanos / 1000 or stats.all_end_rel_micros
                found[name, slot, device_label(device.device)] = lasted
    return found
