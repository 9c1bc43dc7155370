"""A step before and after its nodes have devices: the input of the clock, and the items that it ran."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gpuplace.cost.clock import path
from gpuplace.cost.item_times import ItemTimes
from gpuplace.cost.step_copies import crosses
from gpuplace.cost.step_graph import NO_QUEUE, NO_STREAM, StepGraph, Times, Ways
from gpuplace.device.links import Links

ON_CPU, ON_GPU, COPY = range(3)
"""Kinds of items: a CPU kernel, a GPU kernel, a copy."""


@dataclass(frozen=True, eq=False)
class CopyTable:
    """Copies of a step, one for each tensor and memory that needs it."""

    source: list[int]
    """Node whose output is copied."""
    output: list[int]
    """Output of the node; -1 for a signal."""
    sender: list[int]
    """Sending device."""
    receiver: list[int]
    """Receiving device."""
    to_host: list[bool]
    """Whether it goes to host memory."""
    nbytes: list[int]
    """Bytes."""
    way: list[str]
    """``"PCIe"``, ``"NVLink"``, ``"PCIe through the host"``, ``"network"``, ``"host memory"`` or ``"signal"``."""

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, eq=False)
class Machinery:
    """The machine as the executor sees it."""

    is_gpu: np.ndarray
    """[devices] bool."""
    physical: list[int]
    """[devices] position of the GPU in the machine; for a CPU, its memory as in ``hosts``."""
    hosts: list[int]
    """[devices] memory of the host: -1, or ``-1 - t`` on task ``t`` of a cluster."""
    models: list[Any]
    """[devices] the `GPUModel`; None for a CPU."""
    links: Links
    """The links between memories."""
    labels: tuple[str, ...]
    """Short names of the devices."""

    @property
    def pools(self) -> int:
        """Number of machines with their own intra-op pool."""
        return 1 if self.links.is_one_host else -min(self.hosts, default=-1)

    @property
    def streams(self) -> int:
        """Number of streams: for each GPU its kernels, and copies to it, to the host and to other GPUs."""
        return 4 * max(len(self.links.gpus), 1)

    @property
    def memories(self) -> dict[int, int]:
        """Number of each memory, by position of the GPU, or of the host as in ``hosts``."""
        return {memory: number for number, memory in enumerate(dict.fromkeys([*self.physical, *self.hosts]))}

    def ways(self, pairs: Iterable[tuple[int, int]], is_fed: bool) -> tuple[Ways, list[str]]:
        """Return the routes of copies, as lists, and the label of each.

        Args:
            pairs: sending and receiving devices.
            is_fed: whether there are copies from memory that the client filled.
        """
        memories, count = self.memories, len(self.memories)
        ends = dict.fromkeys(
            (begin, end)
            for sender, receiver in pairs
            for begin in (self.physical[sender], self.hosts[sender])
            for end in (self.physical[receiver], self.hosts[receiver])
        )
        ways = Ways([-1] * (2 * count * count), [], [], [], [], [], [], [0], [], [])
        labels: list[str] = []
        for begin, end in ends:
            slot = 2 * (memories[begin] * count + memories[end])
            for fed in range(1 + is_fed):
                # Fed tensors are in host memory that is not pinned; a route from a GPU does not depend on that.
                if fed and begin >= 0:
                    ways.number[slot + 1] = ways.number[slot]
                    continue
                ways.number[slot + fed] = len(labels)
                labels.append(self._add_way(ways, begin, end, not fed))
        return ways, labels

    def _add_way(self, ways: Ways, begin: int, end: int, is_pinned: bool) -> str:
        """Add the route from one memory to another, and return its label."""
        route = None if begin < 0 and begin == end else self.links.between(begin, end, pinned=is_pinned)
        ways.stream.append(NO_STREAM if route is None else self._stream(begin, end))
        gpus = sorted({memory for memory in (begin, end) if memory >= 0})
        ways.source.append(gpus[0] if gpus else -1)
        ways.target.append(gpus[1] if len(gpus) > 1 else -1)
        ways.bandwidth.append(1.0 if route is None else route.bandwidth)
        ways.latency.append(0.0 if route is None else route.latency)
        ways.blocks.append(int(route is not None and not is_pinned and begin < 0 and route.kind != "network"))
        if route is not None:
            ways.link.extend(route.links)
            ways.rate.extend(self.links.links[number].bandwidth for number in route.links)
        ways.first_link.append(len(ways.link))
        return "host memory" if route is None else route.kind

    def _stream(self, begin: int, end: int) -> int:
        """Return the stream that copies are queued on; copies between tasks overlap."""
        if self.links.task_of(begin) != self.links.task_of(end):
            return NO_QUEUE
        gpus = max(len(self.links.gpus), 1)
        if begin < 0:
            return gpus + end
        return (2 if end < 0 else 3) * gpus + begin


@dataclass(frozen=True, eq=False)
class UnplacedStep:
    """A step whose nodes may be on any devices."""

    graph: StepGraph
    """The step as arrays, without the bytes of tensors."""
    times: ItemTimes
    """Input of the cost model."""
    machinery: Machinery
    """The machine."""
    is_fed: np.ndarray
    """[nodes] bool: fed by the client, and hence on the first device."""
    ends: int
    """Number of fetched tensors; each has an extra node that carries it to the first device."""
    nbytes: Callable[[int, int], int]
    """Bytes of a node's output."""
    folded: np.ndarray
    """[nodes] bool: folded into constants, not run."""
    dead: np.ndarray
    """[nodes] bool: in a branch that is not taken, or unused."""
    assumed: tuple[str, ...]

    @cached_property
    def edge_sources(self) -> np.ndarray:
        """[edges of items] source item of each edge."""
        return np.repeat(np.arange(len(self.graph.node)), np.diff(self.graph.first))

    def settled(self, device: np.ndarray) -> np.ndarray:
        """Return [nodes and fetches] the device of each.

        Args:
            device: [nodes] positions in the device set; -1 stands for the first.
        """
        on_first = np.zeros(self.ends, dtype=np.int64)
        return np.concatenate((np.where(self.is_fed, 0, np.maximum(device, 0)), on_first))

    def crossing(self, device: np.ndarray) -> np.ndarray:
        """Return [edges of items] bool: whether the edge leads to another memory.

        Args:
            device: devices, as `settled` returns them.
        """
        graph = self.graph
        source, target = device[graph.node[self.edge_sources]], device[graph.node[graph.after]]
        return crosses(source, target, graph.changes_memory == 1, graph.gpu >= 0)


@dataclass(frozen=True, eq=False)
class StepFlow:
    """Items that a step ran: first the nodes' executions, then the copies in the order in which they were started."""

    step: UnplacedStep
    """The step."""
    kind: np.ndarray
    """[items] `ON_CPU`, `ON_GPU` or `COPY`."""
    host: np.ndarray
    """[items] seconds of an executor thread."""
    kernel: np.ndarray
    """[items] seconds of the kernel."""
    held: np.ndarray
    """[items] seconds for which a CPU kernel occupies all threads of the intra-op pool."""
    nbytes: np.ndarray
    """[items] bytes of a copy."""
    way: np.ndarray
    """[items] route of a copy, as a position in ``ways``."""
    stream: np.ndarray
    """[items] stream of a GPU kernel."""
    ways: Ways
    """Routes of the copies."""
    item_node: np.ndarray
    """[items] node; ``nodes + f`` for the node of fetch ``f``, and ``first_copy + c`` for copy ``c``."""
    item_weight: np.ndarray
    """[items] float64: number of executions that the item stands for."""
    copies: CopyTable
    device: np.ndarray
    """[items] device; for a copy, the receiver."""
    on_host: np.ndarray
    """[nodes] bool: GPU nodes whose kernels run on the host."""
    computed_by: np.ndarray
    """[nodes] int: the node whose fused kernel computes it; -1 if it has its own kernel."""
    first_copy: int
    """The ``item_node`` of the first copy."""

    def path(self, times: Times) -> list[tuple[int, bool, float, float]]:
        """Return the critical path of the step; see `gpuplace.cost.clock.path`.

        Args:
            times: times of the items.
        """
        return path(times, self.host, self.stream, len(self.kind) - int((self.kind == COPY).sum()))
