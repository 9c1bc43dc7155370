"""Tables of an estimate: a row for each node, device, copy, memory or op type."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuplace.cost.step_copies import StepCopy
from gpuplace.cost.step_flow import COPY

TABLES = ("nodes", "devices", "copies", "memory", "ops", "findings")
"""Tables of `StepEstimate.frame` and `StepEstimate.rows`."""


class NodeCost(NamedTuple):
    """Cost of a node in all its executions; times are seconds since the start of the step."""

    name: str
    """Node name."""
    op: str
    """Op type."""
    device: str
    """Full device name."""
    start: float
    """First start, in seconds."""
    time: float
    """Seconds of the kernels; on a CPU, executor time included."""
    flops: float
    """Operations of all its executions."""
    bytes: float
    """Bytes read and written by all its executions."""
    model: str
    """Rule that computed its work."""
    end: float
    """Last end, in seconds."""
    host: float
    """Seconds of the host thread that starts it."""
    runs: float
    """Number of executions."""
    guessed: str
    """Assumptions, or ``""``."""


class DeviceCost(NamedTuple):
    """Load of a device in a step."""

    device: str
    """Full device name."""
    hardware: str
    """Name of the GPU, or ``"CPU"``."""
    nodes: int
    """Number of nodes that run on it."""
    busy: float
    """Seconds in which it computes."""
    share: float
    """``busy`` as a fraction of the step."""
    copies_in: int
    """Number of copies to it."""
    bytes_in: float
    """Bytes of these copies."""
    copies_out: int
    """Number of copies from it."""
    bytes_out: float
    """Bytes of these copies."""
    flops: float
    """Operations."""


class CopyCost(NamedTuple):
    """Cost of a tensor that a step copies to another device, in all iterations together."""

    tensor: str
    """The tensor: its node, with ``:1`` for an output other than the first."""
    source: str
    """Full name of the sending device."""
    target: str
    """Full name of the receiving device."""
    start: float
    """Start of the first copy, in seconds since the start of the step."""
    time: float
    """Seconds of all its copies."""
    wait: float
    """Seconds that the copies wait for streams and links after they were sent."""
    bytes: float
    """Bytes of all its copies."""
    way: str
    """``"PCIe"``, ``"NVLink"``, ``"PCIe through the host"``, ``"network"`` or ``"host memory"``; ``""`` if an optimizer
    removes the copy.
    """
    runs: int
    """Number of copies: 1, or one for each iteration of the loops around it."""
    use: str
    """``"feed"``, ``"fetch"``, or ``""`` between nodes."""
    removed: bool
    """Whether an optimizer removes it before the step runs, with a folded constant or an unused node."""


class OpCost(NamedTuple):
    """Cost of all nodes of an op type on a device type."""

    op: str
    """Op type."""
    device_type: str
    """``"CPU"`` or ``"GPU"``."""
    nodes: int
    """Number of nodes."""
    time: float
    """Seconds of all of them."""
    share: float
    """``time`` as a fraction of all kernel time."""
    flops: float
    """Operations."""
    bytes: float
    """Bytes read and written."""
    model: str
    """Rules that computed their work."""


def node_rows(step: Any) -> list[NodeCost]:
    """Return a row for each node that runs, in order of start.

    Args:
        step: the `StepEstimate`.
    """
    graph, times, works = step.part.graph, step.node_times, step.works
    start, end, time, host = (times[name].tolist() for name in ("start", "end", "time", "host"))
    runs = times["runs"].tolist()
    names, devices = step.device_names, step.part.device.tolist()
    fed = step.part.is_fed.tolist()
    rows = []
    for node in step.running:
        work = works[node]
        executions = runs[node]
        guessed = "; ".join(work.assumed) or (
            "no model of this op: its bytes divided by the memory bandwidth" if work.model == "guess" else ""
        )
        rows.append(
            NodeCost(
                graph.names[node],
                graph.op_type(node),
                names[0 if fed[node] else devices[node]],
                start[node],
                time[node],
                work.flops * executions,
                work.nbytes * executions,
                work.model,
                end[node],
                host[node],
                executions,
                guessed,
            )
        )
    return rows


def device_rows(step: Any) -> list[DeviceCost]:
    """Return a row for each device of the machine.

    Args:
        step: the `StepEstimate`.
    """
    names, total = step.device_names, step.step_time
    counts = np.zeros(len(names), dtype=np.int64)
    flops = np.zeros(len(names))
    runs = step.node_times["runs"].tolist()
    devices, fed = step.part.device.tolist(), step.part.is_fed.tolist()
    for node in step.running:
        where = 0 if fed[node] else devices[node]
        counts[where] += 1
        flops[where] += step.works[node].flops * runs[node]
    into = {name: [0, 0.0] for name in names}
    out = {name: [0, 0.0] for name in names}
    for copy in step.copies:
        into[copy.target][0] += copy.runs
        into[copy.target][1] += copy.bytes
        out[copy.source][0] += copy.runs
        out[copy.source][1] += copy.bytes
    rows = []
    for number, name in enumerate(names):
        gpu = step.machinery.models[number]
        busy = step.busy[name]
        rows.append(
            DeviceCost(
                name,
                "CPU" if gpu is None else gpu.name,
                int(counts[number]),
                busy,
                busy / total if total else 0.0,
                int(into[name][0]),
                into[name][1],
                int(out[name][0]),
                out[name][1],
                float(flops[number]),
            )
        )
    return rows


def copy_costs(step: Any) -> list[tuple[StepCopy, CopyCost]]:
    """Return each copy of a step with its cost.

    Args:
        step: the `StepEstimate`.
    """
    times = copy_times(step)
    names, graph = step.device_names, step.placement.graph
    costs = []
    for row in step.step_copies.rows:
        start, time, wait, way = times.get(
            (row.node, row.output, row.target, row.to_host), (0.0, 0.0, 0.0, "")
        )
        name = graph.names[row.node]
        cost = CopyCost(
            f"{name}:{row.output}" if row.output else name,
            names[row.source],
            names[row.target],
            start,
            time,
            wait,
            float(step.bytes_of(row.node, row.output) * row.runs),
            way,
            row.runs,
            row.use,
            not way,
        )
        costs.append((row, cost))
    return costs


def copy_times(step: Any) -> dict[tuple[int, int, int, bool], tuple[float, float, float, str]]:
    """Return begin, seconds, waiting seconds and route of each copy that the clock ran.

    Args:
        step: the `StepEstimate`.

    Returns:
        Node in the whole graph, output, receiving device and whether it goes to host memory, to its times.
    """
    flow, items, nodes = step.flow, step.item_times, step.part.nodes
    table, first = flow.copies, flow.first_copy
    times_of_copy: dict[tuple[int, int, int, bool], tuple[float, float, float, str]] = {}
    for item in np.flatnonzero(items["kind"] == COPY).tolist():
        copy = int(flow.item_node[item]) - first
        if step.times.host_start[item] < 0:
            continue
        key = (int(nodes[table.source[copy]]), table.output[copy], table.receiver[copy], table.to_host[copy])
        start, end = step.times.start[item], step.times.end[item]
        wait = max(start - step.times.host_start[item] - float(flow.host[item]), 0.0)
        before = times_of_copy.get(key, (start, 0.0, 0.0, ""))
        times_of_copy[key] = (
            min(before[0], start),
            before[1] + end - start,
            before[2] + wait,
            table.way[copy],
        )
    return times_of_copy


def op_rows(step: Any) -> list[OpCost]:
    """Return a row for each op type and device type, longest time first.

    Args:
        step: the `StepEstimate`.
    """
    sums: dict[tuple[str, str], list[Any]] = {}
    graph, times = step.part.graph, step.node_times
    time, runs = times["time"].tolist(), times["runs"].tolist()
    gpu = step.machinery.is_gpu[np.where(step.part.is_fed, 0, np.maximum(step.part.device, 0))].tolist()
    on_host = step.flow.on_host.tolist()
    for node in step.running:
        device_type = "GPU" if gpu[node] and not on_host[node] else "CPU"
        work = step.works[node]
        row = sums.setdefault((graph.op_type(node), device_type), [0, 0.0, 0.0, 0.0, {}])
        row[0] += 1
        row[1] += time[node]
        row[2] += work.flops * runs[node]
        row[3] += work.nbytes * runs[node]
        row[4][work.model] = None
    total = sum(row[1] for row in sums.values()) or 1.0
    rows = [
        OpCost(op, device_type, row[0], row[1], row[1] / total, row[2], row[3], ", ".join(row[4]))
        for (op, device_type), row in sums.items()
    ]
    rows.sort(key=lambda row: (-row.time, row.op, row.device_type))
    return rows
