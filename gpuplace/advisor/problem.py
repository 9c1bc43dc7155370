"""A placement problem in numbers, independent of its source: costs of nodes on devices, and of the edges between them.

All times of a problem have one unit, and so do all sizes. The output of a node is one tensor. It costs its ``transfer``
times the ``link`` of a device whenever it leaves that device (once for all consumers elsewhere) and whenever it enters
one (once for all consumers there). For the time of a step, ``Problem.links`` gives the time of each copy instead, and
``Problem.tensors`` states which edges carry which of several outputs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuplace.cost.step_clock import StepClock
from gpuplace.errors import InvalidArgumentError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Device:
    """A device of a problem."""

    name: str
    """Displayed name."""
    kind: int
    """Column of ``Problem.seconds``; devices of one kind, link and memory are interchangeable."""
    memory: float = float("inf")
    """Memory, in the unit of ``Problem.sizes``."""
    link: float = 1.0
    """Cost factor of a transfer relative to ``Problem.transfer``; 0 if it is free, as for the host."""
    is_pool: bool = False
    """Whether it has enough workers to run each node as soon as its inputs are available; otherwise its nodes run in
    blocks, which start when all their inputs are available and send when all their nodes are done. For the time of a
    step, a pool is the host.
    """
    workers: int = 1
    """Number of threads of a pool, for the time of a step; they run its nodes, and start those of all other devices."""


@dataclass(frozen=True)
class Links:
    """Routes of copies between devices, for the time of a step."""

    per_unit: Floats
    """``[devices, devices]``, from and to: time per unit of ``Problem.transfer``."""
    latency: Floats
    """``[devices, devices]``: time until the first unit arrives."""
    channel: Ints
    """``[devices, devices]``: copies on one channel run one at a time, in the order of their starts; -1 if the copy
    takes no time, as within host memory.
    """
    shared: Ints | None = None
    """``[devices, devices, links of a route]``: links that copies of several channels share, such as those of a PCIe
    switch; each copy waits until earlier copies have left the link; -1 for no more. None if there are no such links.
    """
    pace: Floats | None = None
    """``[links]``: time per unit on each of the ``shared`` links."""
    start: float = 0.0
    """Time of a host worker to start a copy."""
    notice: float = 0.0
    """Time from the end of a copy until the host notices."""


@dataclass(frozen=True, eq=False)
class ExactStep:
    """The step of an estimate, and the mapping of its nodes to those of a problem."""

    clock: StepClock
    """Clock of the step."""
    node: Ints
    """``[nodes of the step's graph]`` problem node that each is placed with; -1 if it is fixed."""
    fixed: Ints
    """``[nodes of the step's graph]`` device of the fixed nodes, as a device of the step."""
    devices: tuple[int, ...]
    """Device of the step for each of the problem's devices."""
    barriers: Ints
    """Nodes of the step's graph that only wait, and are placed with the nodes that they wait for."""
    barrier_homes: Ints
    """``[barriers]`` device of the step to use if these nodes are on several devices."""
    barrier_start: Ints
    """``[barriers + 1]`` start of each barrier's nodes in ``awaited``."""
    awaited: Ints
    """Nodes of the problem; -1 minus a device of the step for a fixed node."""


@dataclass(frozen=True)
class Problem:
    """Nodes, their edges and the devices; node axes of arrays are in the order of ``ids``."""

    ids: tuple[Hashable, ...]
    """Name of each node."""
    seconds: Floats
    """``[nodes, kinds]``: time on a device of each kind; infinite if it cannot run there."""
    sizes: Floats
    """``[nodes]``: memory on a device."""
    transfer: Floats
    """``[nodes]``: time of the output on a link of cost factor 1."""
    groups: Ints
    """``[nodes]``: nodes of one group stay on one device; groups are numbered from 0 without gaps."""
    sources: Ints
    """``[edges]``: producing node."""
    readers: Ints
    """``[edges]``: consuming node."""
    devices: tuple[Device, ...]
    """The devices."""
    links: Links | None = None
    """Routes of copies, for the time of a step; None: a unit takes the larger ``Device.link`` of both ends, and each
    device
    sends one copy at a time.
    """
    starts: Floats | None = None
    """``[nodes, kinds]``: time of a host worker to start a node, for the time of a step; None for no time."""
    is_inline: NDArray[np.bool_] | None = None
    """``[nodes]``: whether the node is cheap, so the host runs it on the worker that made it ready; None if none is."""
    tensors: Ints | None = None
    """``[edges]``: the number of the tensor that each carries; -1: none, only a signal that the source is done. None:
    each node has one tensor, with its number.
    """
    tensor_transfer: Floats | None = None
    """``[tensors]``: transfer time of each tensor, if there are ``tensors``; ``transfer`` then contains the sums."""
    host_reads: NDArray[np.bool_] | None = None
    """``[edges]``: whether the consumer reads host memory wherever it runs, for the time of a step."""
    host_made: NDArray[np.bool_] | None = None
    """``[tensors]``: whether the tensor is in host memory wherever its node runs, for the time of a step."""
    held: Floats | None = None
    """``[nodes]``: time for which a node on a pool occupies all cores, for the time of a step; only one such node
    computes
    at a time. None if no node does.
    """
    is_backward: NDArray[np.bool_] | None = None
    """``[nodes]``: whether the node belongs to the backward pass; None if that is unknown."""
    exact: ExactStep | None = None
    """The step that determines the time; the fields above then only guide the search. None if there is none."""

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return len(self.ids)

    @property
    def carried(self) -> tuple[Ints, Floats]:
        """The tensor of every edge, or -1, and the transfer time of every tensor."""
        if self.tensors is None or self.tensor_transfer is None:
            return self.sources, self.transfer
        return self.tensors, self.tensor_transfer

    @property
    def copy_links(self) -> Links:
        """Routes of copies; without ``links``, by each device's ``link``, one copy at a time from each device."""
        if self.links is not None:
            return self.links
        cost = np.array([device.link for device in self.devices], float)
        per_unit = np.maximum(cost[:, None], cost[None, :])
        channel = np.repeat(np.arange(len(cost))[:, None], len(cost), axis=1)
        return Links(per_unit, np.zeros_like(per_unit), np.where(per_unit > 0, channel, -1))

    @property
    def group_count(self) -> int:
        """Number of groups, including those of one node."""
        return int(self.groups.max()) + 1 if len(self.groups) else 0


def checked(problem: Problem) -> Problem:
    """Return the problem if it can be searched.

    Args:
        problem: problem to check.

    Raises:
        InvalidArgumentError: There is no device; a number is negative or NaN; edges form a cycle; a group can run on no
            device, or fits on none; or all groups together do not fit, with the missing memory.
    """
    if not problem.devices:
        raise InvalidArgumentError.of("The problem has no devices.", hint="add at least one device")
    for name in ("seconds", "sizes", "transfer"):
        values = getattr(problem, name)
        is_wrong = np.isnan(values) | (values < 0)
        if name != "seconds":
            is_wrong |= np.isinf(values)
        if is_wrong.any():
            at = np.argwhere(is_wrong)[0]
            raise InvalidArgumentError.of(
                f"'{name}' of node {problem.ids[at[0]]} is {values[tuple(at)]}; it must not be negative"
            )
    topological_order(problem)
    _check_room(problem)
    return problem


def topological_order(problem: Problem) -> Ints:
    """Return the nodes in topological order; ties keep the problem's order.

    Args:
        problem: nodes and edges.

    Raises:
        InvalidArgumentError: The edges form a cycle, whose nodes are named.
    """
    count = problem.node_count
    order = ready_order(problem.sources, problem.readers, range(count))
    if len(order) < count:
        unordered = sorted(set(range(count)).difference(order))
        cycle = [str(problem.ids[node]) for node in _a_cycle(problem, unordered)]
        shown = " -> ".join(cycle if len(cycle) <= 12 else [*cycle[:6], "...", *cycle[-5:]])
        raise InvalidArgumentError.of(
            f"The edges form a cycle of {len(cycle) - 1} nodes: {shown}",
            hint="remove back edges, such as those of a loop's NextIteration",
        )
    return np.array(order, np.int64)


def ready_order(sources: Ints, readers: Ints, nodes: Sequence[int], is_deep: bool = False) -> list[int]:
    """Return the nodes, each after its predecessors; nodes on a cycle are left out.

    Args:
        sources, readers: ``[edges]``: producer and consumer of each.
        nodes: all nodes; those without predecessors start in this order.
        is_deep: whether a node that has just become ready comes next (depth first); otherwise it comes last.
    """
    starts, ends = (array.tolist() for array in adjacency(sources, readers, len(nodes)))
    waits = np.bincount(readers, minlength=len(nodes)).tolist()
    ready = deque([node for node in nodes if not waits[node]])
    if is_deep:
        ready.reverse()
    order = []
    while ready:
        node = ready.pop() if is_deep else ready.popleft()
        order.append(node)
        for reader in ends[starts[node] : starts[node + 1]]:
            waits[reader] -= 1
            if not waits[reader]:
                ready.append(reader)
    return order


def adjacency(sources: Ints, ends: Ints, count: int) -> tuple[Ints, Ints]:
    """Return edges grouped by their source: ``ends[starts[n]:starts[n + 1]]`` are those of node n.

    Args:
        sources: ``[edges]``, the node that each belongs to.
        ends: ``[edges]``, the other node.
        count: number of nodes.
    """
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=count), out=starts[1:])
    return starts, ends[np.argsort(sources, kind="stable")]


def _a_cycle(problem: Problem, unordered: list[int]) -> list[int]:
    """Return a cycle that repeats its first node at its end; each node in `unordered` has an edge from another one."""
    among = set(unordered)
    predecessor = {
        reader: source
        for source, reader in zip(problem.sources.tolist(), problem.readers.tolist())
        if source in among and reader in among
    }
    node, seen = unordered[0], dict[int, int]()
    path: list[int] = []
    while node not in seen:
        seen[node] = len(path)
        path.append(node)
        node = predecessor[node]
    return [node, *reversed(path[seen[node] :])]


def _check_room(problem: Problem) -> None:
    count = problem.group_count
    sizes = np.bincount(problem.groups, problem.sizes, count)
    runs = group_seconds(problem)
    kinds = [device.kind for device in problem.devices]
    for group in np.flatnonzero(np.isinf(runs[:, kinds]).all(axis=1)).tolist():
        members = _members(problem, group)
        together = ", which must stay on one device," if "," in members else ""
        raise InvalidArgumentError.of(
            f"No device can run {members}{together}",
            facts={"devices": ", ".join(device.name for device in problem.devices)},
            hint="add a device that can run them, or require fewer nodes to stay together",
        )
    room = np.array([device.memory for device in problem.devices])
    for group in range(count):
        possible = room[~np.isinf(runs[group, kinds])]
        if sizes[group] > possible.max():
            raise InvalidArgumentError.of(
                f"{_members(problem, group)} needs {sizes[group]:g} units of memory, "
                f"{sizes[group] - possible.max():g} more than any suitable device has",
                hint="add a device with more memory, or require fewer nodes to stay together",
            )
    if sizes.sum() > room.sum():
        raise InvalidArgumentError.of(
            f"Together, the nodes need {sizes.sum():g} units of memory, {sizes.sum() - room.sum():g} more than the "
            "devices have",
            hint="add devices, or devices with more memory",
        )


def group_seconds(problem: Problem) -> Floats:
    """Return ``[groups, kinds]``: total time of the nodes of each group.

    Args:
        problem: nodes and groups.
    """
    result = np.zeros((problem.group_count, problem.seconds.shape[1]))
    np.add.at(result, problem.groups, problem.seconds)
    return result


def _members(problem: Problem, group: int) -> str:
    names: list[Any] = [problem.ids[node] for node in np.flatnonzero(problem.groups == group)]
    if len(names) == 1:
        return f"node {names[0]}"
    shown = ", ".join(map(str, names[:8]))
    return f"nodes {shown}" + (f" and {len(names) - 8} more" if len(names) > 8 else "")
