"""What an estimate says in tables: a row for each node, device, copy, memory or type of op."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuplace.cost.step_copies import StepCopy
from gpuplace.cost.step_flow import COPY

TABLES = ("nodes", "devices", "copies", "memory", "ops", "findings")
"""What `StepEstimate.frame` and `StepEstimate.rows` offer."""


class NodeCost(NamedTuple):
    """What a node costs; seconds since the step's begin, and in all its executions."""

    name: str
    """Its name."""
    op: str
    """Its op type."""
    device: str
    """Full name."""
    start: float
    """When it began first, in seconds."""
    time: float
    """Seconds that it took: of a GPU's kernels, of the CPU with what the executor takes."""
    flops: float
    """Operations of all its executions."""
    bytes: float
    """Bytes read and written by all its executions."""
    model: str
    """Which rule found its work."""
    end: float
    """When it was over last, in seconds."""
    host: float
    """Seconds of a thread of the host that starts it."""
    runs: float
    """How often it runs."""
    guessed: str
    """What had to be assumed, or ``""``."""


class DeviceCost(NamedTuple):
    """What a device does in a step."""

    device: str
    """Full name."""
    hardware: str
    """Name of the GPU; ``"CPU"``."""
    nodes: int
    """Nodes that run there."""
    busy: float
    """Seconds in which it computes."""
    share: float
    """The same as a part of the step."""
    copies_in: int
    """Copies to it."""
    bytes_in: float
    """Bytes of these."""
    copies_out: int
    """Copies from it."""
    bytes_out: float
    """Bytes of these."""
    flops: float
    """Operations."""


class CopyCost(NamedTuple):
    """A tensor that a step copies to another device, in all iterations together."""

    tensor: str
    """The tensor: its node, with ``:1`` for another output than the first."""
    source: str
    """Full name of the device it comes from."""
    target: str
    """Full name of the device it goes to."""
    start: float
    """When the first copy begins, in seconds since the step's begin."""
    time: float
    """Seconds of all its copies."""
    wait: float
    """Seconds that copies wait for streams and links after they were sent."""
    bytes: float
    """Bytes of all its copies."""
    way: str
    """``"PCIe"``, ``"NVLink"``, ``"PCIe through the host"``, ``"network"`` or ``"host memory"``; ``""`` where an
    optimizer removes it."""
    runs: int
    """Number of copies: 1, or one for each iteration of the loops around it."""
    use: str
    """``"feed"``, ``"fetch"``, or ``""`` between nodes."""
    removed: bool
    """Whether an optimizer removes it before the step runs, with a folded constant or an unused node."""


class OpCost(NamedTuple):
    """What all nodes of an op type cost on a kind of device."""

    op: str
    """Op type."""
    device_type: str
    """``"CPU"`` or ``"GPU"``."""
    nodes: int
    """How many."""
    time: float
    """Seconds of all of them."""
    share: float
    """The same as a part of all time of kernels."""
    flops: float
    """Operations."""
    bytes: float
    """Bytes read and written."""
    model: str
    """Which rules found their work."""


def node_rows(step: Any) -> list[NodeCost]:
    """A row for each node that runs, in order of their begin.

    Args:
        step: the `StepEstimate`.
    """
    graph, of, works = step.part.graph, step.node_times, step.works
    start, end, time, host = (of[name].tolist() for name in ("start", "end", "time", "host"))
    runs = of["runs"].tolist()
    names, devices = step.device_names, step.part.device.tolist()
    fed = step.part.is_fed.tolist()
    found = []
    for node in step.running:
        work = works[node]
        often = runs[node]
        guessed = "; ".join(work.assumed) or (
            "no model of this op: its bytes at the memory's rate" if work.model == "guess" else ""
        )
        found.append(
            NodeCost(
                graph.names[node],
                graph.op_type(node),
                names[0 if fed[node] else devices[node]],
                start[node],
                time[node],
                work.flops * often,
                work.nbytes * often,
                work.model,
                end[node],
                host[node],
                often,
                guessed,
            )
        )
    return found


def device_rows(step: Any) -> list[DeviceCost]:
    """A row for each device of the machine.

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
    found = []
    for number, name in enumerate(names):
        gpu = step.machinery.models[number]
        busy = step.busy[name]
        found.append(
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
    return found


def copy_costs(step: Any) -> list[tuple[StepCopy, CopyCost]]:
    """Return each copy of a step with what it costs.

    Args:
        step: the `StepEstimate`.
    """
    times = copy_times(step)
    names, graph = step.device_names, step.placement.graph
    found = []
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
        found.append((row, cost))
    return found


def copy_times(step: Any) -> dict[tuple[int, int, int, bool], tuple[float, float, float, str]]:
    """Return begin, seconds, seconds of waiting and way of each copy by the clock.

    Args:
        step: the `StepEstimate`.

    Returns:
        Node in the whole graph, output, receiving device and whether it goes to host memory, to its times.
    """
    flow, items, nodes = step.flow, step.item_times, step.part.nodes
    table, first = flow.copies, flow.first_copy
    found: dict[tuple[int, int, int, bool], tuple[float, float, float, str]] = {}
    for item in np.flatnonzero(items["kind"] == COPY).tolist():
        copy = int(flow.item_node[item]) - first
        if step.times.host_start[item] < 0:
            continue
        key = (int(nodes[table.source[copy]]), table.output[copy], table.receiver[copy], table.to_host[copy])
        start, end = step.times.start[item], step.times.end[item]
        wait = max(start - step.times.host_start[item] - float(flow.host[item]), 0.0)
        before = found.get(key, (start, 0.0, 0.0, ""))
        found[key] = (
            min(before[0], start),
            before[1] + end - start,
            before[2] + wait,
            table.way[copy],
        )
    return found


def op_rows(step: Any) -> list[OpCost]:
    """A row for each type of op and kind of device, what takes most time first.

    Args:
        step: the `StepEstimate`.
    """
    sums: dict[tuple[str, str], list[Any]] = {}
    graph, of = step.part.graph, step.node_times
    time, runs = of["time"].tolist(), of["runs"].tolist()
    gpu = step.machinery.is_gpu[np.where(step.part.is_fed, 0, np.maximum(step.part.device, 0))].tolist()
    on_host = step.flow.on_host.tolist()
    for node in step.running:
        kind = "GPU" if gpu[node] and not on_host[node] else "CPU"
        work = step.works[node]
        row = sums.setdefault((graph.op_type(node), kind), [0, 0.0, 0.0, 0.0, {}])
        row[0] += 1
        row[1] += time[node]
        row[2] += work.flops * runs[node]
        row[3] += work.nbytes * runs[node]
        row[4][work.model] = None
    total = sum(row[1] for row in sums.values()) or 1.0
    found = [
        OpCost(op, kind, row[0], row[1], row[1] / total, row[2], row[3], ", ".join(row[4]))
        for (op, kind), row in sums.items()
    ]
    found.sort(key=lambda row: (-row.time, row.op, row.device_type))
    return found
