"""Workloads as JSON, in the published format of a paper on device placement, and their splits.

A workload has ``maxFPGAs`` accelerators of ``maxSizePerFPGA`` bytes each, ``maxCPUs`` processors with unlimited memory,
``nodes`` (``id``, ``supportedOnFpga``, ``cpuLatency``, ``fpgaLatency``, ``isBackwardNode``, ``size``, and
``colorClass`` for nodes that stay together) and ``edges`` (``sourceId``, ``destId``, ``cost``: transfer time of the
source's output between an accelerator and host memory). A split is ``{"fpgas": [{"nodes": [...]}], "cpus": [...]}``.

Source: "Efficient Algorithms for Device Placement of DNN Graph Operators" (NeurIPS 2020), sections 3 and 4; the
README of its repository, msr-fiddle/dnn-partitioning (format).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpuplace.advisor.problem import Device, Problem, checked
from gpuplace.errors import InvalidArgumentError

OBJECTIVES = ("throughput", "latency")
"""Objectives of a workload: the largest load of a device, or the time of one sample."""

ACCELERATOR, CPU = 0, 1


def read_workload(text: str | bytes, objective: str) -> Problem:
    """Parse a workload.

    Args:
        text: JSON, UTF-8 if it is bytes.
        objective: "throughput": each processor is a separate device; "latency": all processors are one pool.

    Raises:
        InvalidArgumentError: The text is not JSON, a field is missing or has the wrong type, an id is unknown or occurs
            twice, a source has two costs, or `checked` rejects the problem.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError.of(f"The workload is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise InvalidArgumentError.of(f"The workload is {_a(data)}, not an object with 'nodes' and 'edges'")
    nodes, edges = _list(data, "nodes"), _list(data, "edges")
    if not nodes:
        raise InvalidArgumentError.of("The workload has no nodes")
    ids = [_integer(node, "id", f"nodes[{at}]") for at, node in enumerate(nodes)]
    index = {name: at for at, name in enumerate(ids)}
    if len(index) < len(ids):
        twice = next(name for at, name in enumerate(ids) if index[name] != at)
        raise InvalidArgumentError.of(f"Two nodes have the id {twice}")
    seconds = np.empty((len(nodes), 2))
    sizes = np.zeros(len(nodes))
    classes: dict[Any, int] = {}
    groups = np.empty(len(nodes), np.int64)
    backward = np.zeros(len(nodes), bool)
    for at, (name, node) in enumerate(zip(ids, nodes)):
        where = f"node {name}"
        supported = _flag(node, "supportedOnFpga", where)
        seconds[at] = (
            _number(node, "fpgaLatency", where) if supported else math.inf,
            _number(node, "cpuLatency", where),
        )
        sizes[at] = _number(node, "size", where) if "size" in node else 0.0
        backward[at] = _flag(node, "isBackwardNode", where) if "isBackwardNode" in node else False
        has_class = node.get("colorClass") is not None
        key = _integer(node, "colorClass", where) if has_class else ("alone", name)
        groups[at] = classes.setdefault(key, len(classes))
    sources, readers, transfer = _edges(edges, index)
    if (backward[sources] & ~backward[readers]).any():
        at = int(np.flatnonzero(backward[sources] & ~backward[readers])[0])
        raise InvalidArgumentError.of(
            f"edges[{at}] goes from backward node {ids[sources[at]]} to forward node {ids[readers[at]]}"
        )
    if objective == "latency" and backward.any():
        raise InvalidArgumentError.of(
            f"Node {ids[int(np.flatnonzero(backward)[0])]} is a backward node, but the objective latency "
            "is for inference only",
            hint="--objective throughput",
        )
    devices = _devices(data, objective)
    problem = Problem(tuple(ids), seconds, sizes, transfer, groups, sources, readers, devices)
    return checked(replace(problem, is_backward=backward))


def split_of(problem: Problem, device_of: Sequence[int]) -> dict[str, list[dict[str, list[Any]]]]:
    """Return a split in the format of the workloads: the nodes of each device, by accelerators and processors.

    Args:
        problem: problem of a workload.
        device_of: ``[nodes]``: device of each node.
    """
    nodes_of: list[list[Any]] = [[] for _ in problem.devices]
    for name, device in zip(problem.ids, device_of):
        nodes_of[device].append(name)
    return {
        title: [{"nodes": nodes_of[at]} for at, device in enumerate(problem.devices) if device.kind == kind]
        for title, kind in (("fpgas", ACCELERATOR), ("cpus", CPU))
    }


def _devices(data: dict[str, Any], objective: str) -> tuple[Device, ...]:
    memory = _number(data, "maxSizePerFPGA", "the workload")
    accelerators, processors = (_integer(data, name, "the workload") for name in ("maxFPGAs", "maxCPUs"))
    if accelerators < 0 or processors < 0:
        raise InvalidArgumentError.of("'maxFPGAs' and 'maxCPUs' of the workload must not be negative")
    if accelerators + processors > 1024:
        raise InvalidArgumentError.of(
            f"The workload has {accelerators + processors} devices; the maximum is 1024"
        )
    devices = [Device(f"fpga {number}", ACCELERATOR, memory) for number in range(accelerators)]
    if objective == "latency":
        devices += [Device("cpus", CPU, link=0.0, is_pool=True)] if processors else []
    else:
        devices += [Device(f"cpu {number}", CPU, link=0.0) for number in range(processors)]
    return tuple(devices)


def _edges(edges: list[Any], index: dict[int, int]) -> tuple[Any, Any, Any]:
    sources, readers = np.empty(len(edges), np.int64), np.empty(len(edges), np.int64)
    cost: dict[int, float] = {}
    for at, edge in enumerate(edges):
        where = f"edges[{at}]"
        ends = [_integer(edge, name, where) for name in ("sourceId", "destId")]
        for name in ends:
            if name not in index:
                raise InvalidArgumentError.of(f"{where} names node {name}, which is not in 'nodes'")
        sources[at], readers[at] = (index[name] for name in ends)
        price = _number(edge, "cost", where)
        if abs(cost.setdefault(ends[0], price) - price) > 1e-6:
            raise InvalidArgumentError.of(
                f"The edges from node {ends[0]} have different costs, {cost[ends[0]]:g} and {price:g}, but a node "
                "has one output",
                hint="split the node into one node per output",
            )
    transfer = np.zeros(len(index))
    for name, price in cost.items():
        transfer[index[name]] = price
    return sources, readers, transfer


def _field(owner: Any, name: str, where: str) -> Any:
    if not isinstance(owner, dict):
        raise InvalidArgumentError.of(f"{where} is {_a(owner)}, not an object")
    if name not in owner:
        raise InvalidArgumentError.of(f"{where} has no '{name}'")
    return owner[name]


def _number(owner: Any, name: str, where: str) -> float:
    value = _field(owner, name, where)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidArgumentError.of(f"'{name}' of {where} is {_a(value)}, not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not 0 <= number < math.inf:
        raise InvalidArgumentError.of(f"'{name}' of {where} is {number}; it must be finite and not negative")
    return number


def _integer(owner: Any, name: str, where: str) -> int:
    value = _field(owner, name, where)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidArgumentError.of(f"'{name}' of {where} is {_a(value)}, not an integer")
    return value


def _flag(owner: Any, name: str, where: str) -> bool:
    value = _field(owner, name, where)
    if value not in (0, 1):
        raise InvalidArgumentError.of(f"'{name}' of {where} is {_a(value)}, not true, false, 0 or 1")
    return bool(value)


def _list(owner: Any, name: str) -> list[Any]:
    value = _field(owner, name, "the JSON")
    if not isinstance(value, list):
        raise InvalidArgumentError.of(f"'{name}' is {_a(value)}, not an array")
    return value


def _a(value: object) -> str:
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    return "an object" if isinstance(value, dict) else "an array"
