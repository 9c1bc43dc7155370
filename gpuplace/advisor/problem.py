"""A placement problem in numbers, wherever it comes from: what each node costs where, and what goes between them.

Times have one unit, which is the problem's own; so have sizes. The output of a node is one tensor. It costs its
``transfer`` times the ``link`` of a device whenever it leaves that device, once for all that read it elsewhere, and
whenever it enters one, once for all that read it there. For the time of a step, ``Problem.links`` says instead what
each copy takes, and ``Problem.tensors`` which edges carry which of several outputs.
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
    """One device that nodes are put on."""

    name: str
    """As it is shown."""
    kind: int
    """Which column of ``Problem.seconds`` it goes by; devices of one kind, link and memory are alike."""
    memory: float = float("inf")
    """How much it holds, in the unit of ``Problem.sizes``."""
    link: float = 1.0
    """What a transfer costs it, as a multiple of ``Problem.transfer``; 0: nothing, as for the host."""
    is_pool: bool = False
    """Whether it has workers enough to run each node as soon as what it reads is there; else its nodes run as blocks,
    which start when all that they read is there, and send when all are done. For the time of a step it is the host.
    """
    workers: int = 1
    """Of a pool, for the time of a step: how many threads run its nodes, and start those of all other devices."""


@dataclass(frozen=True)
class Links:
    """How copies get from device to device, for the time of a step."""

    per_unit: Floats
    """``[devices, devices]``, from and to: time that a unit of ``Problem.transfer`` takes."""
    latency: Floats
    """``[devices, devices]``: time before the first unit is there."""
    channel: Ints
    """``[devices, devices]``: copies of one channel go one at a time, in the order in which they were started; -1: the
    copy takes no time, as within the host's memory.
    """
    shared: Ints | None = None
    """``[devices, devices, at most so many]``: links, such as those of a PCIe switch, that copies of several channels
    share: each waits until those that began before have left it; -1: no more. None: there are none.
    """
    pace: Floats | None = None
    """``[links]``: for how long a unit keeps each of the ``shared`` busy."""
    start: float = 0.0
    """Time of a worker of the host to start a copy."""
    notice: float = 0.0
    """Time from the end of a copy until the host knows of it."""


@dataclass(frozen=True, eq=False)
class ExactStep:
    """An estimate's step, and which of its nodes have the devices of a problem's."""

    clock: StepClock
    """Of the step."""
    node: Ints
    """``[nodes of the step's graph]`` the node of the problem that each is with; -1: none."""
    fixed: Ints
    """The same: the device of those that are with none, by the step's devices."""
    devices: tuple[int, ...]
    """The step's device for each of the problem's."""
    gates: Ints
    """Nodes of the step's graph that are where all are that they wait for."""
    gate_homes: Ints
    """``[gates]`` devices of the step, for where those are on several."""
    gate_start: Ints
    """``[gates + 1]`` where those begin in ``awaited``."""
    awaited: Ints
    """Nodes of the problem; -1 less a device of the step for what is with none."""


@dataclass(frozen=True)
class Problem:
    """Nodes, their edges and the devices; an array's axis of nodes is in the order of ``ids``."""

    ids: tuple[Hashable, ...]
    """What each node is called."""
    seconds: Floats
    """``[nodes, kinds]``: time on a device of each kind; infinite where it cannot run."""
    sizes: Floats
    """``[nodes]``: memory on a device."""
    transfer: Floats
    """``[nodes]``: time for the output to cross a link of 1."""
    groups: Ints
    """``[nodes]``: nodes of one number stay on one device; the numbers are 0, 1, ... without a gap."""
    sources: Ints
    """``[edges]``: index of the node that makes the tensor."""
    readers: Ints
    """``[edges]``: index of the node that reads it."""
    devices: tuple[Device, ...]
    """What there is to put them on."""
    links: Links | None = None
    """How copies go, for the time of a step; None: a unit takes the larger ``Device.link`` of both ends, from every
    device one copy at a time.
    """
    starts: Floats | None = None
    """``[nodes, kinds]``: time of a worker of the host to start a node, for the time of a step; None: none."""
    is_inline: NDArray[np.bool_] | None = None
    """``[nodes]``: whether the host runs it on the worker that made it ready, as it is cheap; None: none is."""
    tensors: Ints | None = None
    """``[edges]``: the number of the tensor that each carries; -1: none, only that the source is done. None: each node
    has one tensor, with its number.
    """
    tensor_transfer: Floats | None = None
    """``[tensors]``: what ``transfer`` is for nodes, for each of the ``tensors``; ``transfer`` is then their sums."""
    host_reads: NDArray[np.bool_] | None = None
    """``[edges]``: whether the reader needs it in the host's memory wherever it runs, for the time of a step."""
    host_made: NDArray[np.bool_] | None = None
    """``[tensors]``: whether it is made in the host's memory wherever its node runs, for the time of a step."""
    held: Floats | None = None
    """``[nodes]``: for how long a node on a pool has all cores, for the time of a step: of such nodes one computes at a
    time. None: none has.
    """
    is_backward: NDArray[np.bool_] | None = None
    """``[nodes]``: whether it is of the backward pass; None: that is not known."""
    exact: ExactStep | None = None
    """What the time of a step goes by instead of by all above, which then only leads the search; None: nothing."""

    @property
    def node_count(self) -> int:
        """How many nodes there are."""
        return len(self.ids)

    @property
    def carried(self) -> tuple[Ints, Floats]:
        """The tensor of every edge, or -1, and the transfer of every tensor."""
        if self.tensors is None or self.tensor_transfer is None:
            return self.sources, self.transfer
        return self.tensors, self.tensor_transfer

    @property
    def copy_links(self) -> Links:
        """How copies go; where that is not said, as a device's ``link`` has it, from each device one at a time."""
        if self.links is not None:
            return self.links
        cost = np.array([device.link for device in self.devices], float)
        per_unit = np.maximum(cost[:, None], cost[None, :])
        channel = np.repeat(np.arange(len(cost))[:, None], len(cost), axis=1)
        return Links(per_unit, np.zeros_like(per_unit), np.where(per_unit > 0, channel, -1))

    @property
    def group_count(self) -> int:
        """How many groups there are, those of one node included."""
        return int(self.groups.max()) + 1 if len(self.groups) else 0


def checked(problem: Problem) -> Problem:
    """The problem, if it can be searched.

    Args:
        problem: as its maker left it.

    Raises:
        InvalidArgumentError: there is no device; a number is negative or not a number; edges form a cycle; a group
            can run on no device, or fits on none; or all groups together do not fit, with how much is missing.
    """
    if not problem.devices:
        raise InvalidArgumentError.of("There is no device to put nodes on", hint="at least one device")
    for name in ("seconds", "sizes", "transfer"):
        values = getattr(problem, name)
        is_wrong = np.isnan(values) | (values < 0)
        if name != "seconds":
            is_wrong |= np.isinf(values)
        if is_wrong.any():
            at = np.argwhere(is_wrong)[0]
            raise InvalidArgumentError.of(
                f"Node {problem.ids[at[0]]} has {values[tuple(at)]} in '{name}', which must be a number from 0 on"
            )
    topological_order(problem)
    _check_room(problem)
    return problem


def topological_order(problem: Problem) -> Ints:
    """The nodes so that each comes after those it reads; what can be chosen freely stays in the problem's order.

    Args:
        problem: nodes and edges.

    Raises:
        InvalidArgumentError: edges form a cycle, whose nodes are named.
    """
    count = problem.node_count
    order = ready_order(problem.sources, problem.readers, range(count))
    if len(order) < count:
        left = sorted(set(range(count)).difference(order))
        cycle = [str(problem.ids[node]) for node in _a_cycle(problem, left)]
        shown = " -> ".join(cycle if len(cycle) <= 12 else [*cycle[:6], "...", *cycle[-5:]])
        raise InvalidArgumentError.of(
            f"The edges form a cycle of {len(cycle) - 1} nodes: {shown}",
            hint="leave out the edges that go back, as those of a loop's NextIteration",
        )
    return np.array(order, np.int64)


def ready_order(sources: Ints, readers: Ints, nodes: Sequence[int], is_deep: bool = False) -> list[int]:
    """Nodes, each after those with an edge to it; those that wait for each other are left out.

    Args:
        sources, readers: ``[edges]``: the ends of each.
        nodes: all nodes, in the order in which those begin that wait for none.
        is_deep: whether what has just become ready comes next, as in a walk to depth; otherwise last.
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
    """Edges by their source: ``ends[starts[n]:starts[n + 1]]`` are those of node n.

    Args:
        sources: ``[edges]``, the node that each belongs to.
        ends: ``[edges]``, the other node.
        count: how many nodes there are.
    """
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=count), out=starts[1:])
    return starts, ends[np.argsort(sources, kind="stable")]


def _a_cycle(problem: Problem, left: list[int]) -> list[int]:
    """A cycle, its first node again at its end; each of `left` has an edge from another of them."""
    among = set(left)
    before = {
        reader: source
        for source, reader in zip(problem.sources.tolist(), problem.readers.tolist())
        if source in among and reader in among
    }
    node, seen = left[0], dict[int, int]()
    path: list[int] = []
    while node not in seen:
        seen[node] = len(path)
        path.append(node)
        node = before[node]
    return [node, *reversed(path[seen[node] :])]


def _check_room(problem: Problem) -> None:
    count = problem.group_count
    sizes = np.bincount(problem.groups, problem.sizes, count)
    runs = group_seconds(problem)
    kinds = [device.kind for device in problem.devices]
    for group in np.flatnonzero(np.isinf(runs[:, kinds]).all(axis=1)).tolist():
        members = _members(problem, group)
        together = ", which must be on one device," if "," in members else ""
        raise InvalidArgumentError.of(
            f"No device runs {members}{together}",
            facts={"devices": ", ".join(device.name for device in problem.devices)},
            hint="another device, or fewer nodes that must be together",
        )
    room = np.array([device.memory for device in problem.devices])
    for group in range(count):
        possible = room[~np.isinf(runs[group, kinds])]
        if sizes[group] > possible.max():
            raise InvalidArgumentError.of(
                f"{_members(problem, group)} needs {sizes[group]:g} of memory, {sizes[group] - possible.max():g} more "
                "than any device that can run it has",
                hint="a device with more memory, or fewer nodes that must be together",
            )
    if sizes.sum() > room.sum():
        raise InvalidArgumentError.of(
            f"All nodes together need {sizes.sum():g} of memory, {sizes.sum() - room.sum():g} more than there is",
            hint="more devices, or devices with more memory",
        )


def group_seconds(problem: Problem) -> Floats:
    """``[groups, kinds]``: what the nodes of each group take together.

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
