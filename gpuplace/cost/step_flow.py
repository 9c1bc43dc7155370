"""A step before and after its nodes have devices: what the clock needs, and what it has run, with its copies."""

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
"""What an item of a step is: a kernel of the CPU, of a GPU, or a tensor that crosses."""


@dataclass(frozen=True, eq=False)
class CopyTable:
    """The copies of a step, one for each tensor and memory that needs it."""

    source: list[int]
    """Node whose output is copied."""
    output: list[int]
    """Which output; -1 for a signal."""
    sender: list[int]
    """Device."""
    receiver: list[int]
    """Device."""
    to_host: list[bool]
    """Whether it is needed in host memory."""
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
    """[devices] position of the GPU in the machine; of a CPU its memory, as in ``hosts``."""
    hosts: list[int]
    """[devices] the memory of the host: -1, or ``-1 - t`` on task ``t`` of a cluster."""
    models: list[Any]
    """[devices] the `GPUModel`; None for a CPU."""
    links: Links
    """What connects them."""
    labels: tuple[str, ...]
    """Short names of the devices."""

    @property
    def pools(self) -> int:
        """How many machines have threads of their own."""
        return 1 if self.links.is_one_host else -min(self.hosts, default=-1)

    @property
    def streams(self) -> int:
        """How many streams there are: of each GPU its kernels, and copies to it, to the host and to other GPUs."""
        return 4 * max(len(self.links.gpus), 1)

    @property
    def memories(self) -> dict[int, int]:
        """Number of each memory, by position of the GPU or of the host as in ``hosts``."""
        return {memory: number for number, memory in enumerate(dict.fromkeys([*self.physical, *self.hosts]))}

    def ways(self, pairs: Iterable[tuple[int, int]], is_fed: bool) -> tuple[Ways, list[str]]:
        """What copies go through, in lists, and what each way is called.

        Args:
            pairs: devices that copies go from and to.
            is_fed: whether there are copies out of memory that the client filled.
        """
        memories, count = self.memories, len(self.memories)
        ends = dict.fromkeys(
            (begin, end)
            for sender, receiver in pairs
            for begin in (self.physical[sender], self.hosts[sender])
            for end in (self.physical[receiver], self.hosts[receiver])
        )
        ways = Ways([-1] * (2 * count * count), [], [], [], [], [], [], [0], [], [])
        kinds: list[str] = []
        for begin, end in ends:
            place = 2 * (memories[begin] * count + memories[end])
            for fed in range(1 + is_fed):
                if fed and begin >= 0:
                    ways.number[place + 1] = ways.number[place]
                    continue
                ways.number[place + fed] = len(kinds)
                kinds.append(self._add_way(ways, begin, end, not fed))
        return ways, kinds

    def _add_way(self, ways: Ways, begin: int, end: int, is_pinned: bool) -> str:
        """Adds the way from one memory to another, and says what it is called."""
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
        """The stream that copies are queued on; TensorFlow's servers send what there is at the same time."""
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
    """Of arrays; bytes of tensors are not filled in."""
    times: ItemTimes
    """What times it, be it by another model."""
    machinery: Machinery
    """The machine."""
    is_fed: np.ndarray
    """[nodes] bool: comes from the client, and from the first device."""
    ends: int
    """How many tensors are fetched: for each there is a node more, which takes it to the first device."""
    nbytes: Callable[[int, int], int]
    """Bytes of an output of a node."""
    folded: np.ndarray
    """[nodes] bool: constants, not run."""
    dead: np.ndarray
    """[nodes] bool: in a branch that is not taken, or needed by nothing that runs."""
    assumed: tuple[str, ...]

    @cached_property
    def edge_sources(self) -> np.ndarray:
        """[edges of items] the item that each comes from."""
        return np.repeat(np.arange(len(self.graph.node)), np.diff(self.graph.first))

    def settled(self, device: np.ndarray) -> np.ndarray:
        """[nodes and ends] the device of each.

        Args:
            device: [nodes] positions in the device set; -1: the first.
        """
        on_first = np.zeros(self.ends, dtype=np.int64)
        return np.concatenate((np.where(self.is_fed, 0, np.maximum(device, 0)), on_first))

    def crossing(self, device: np.ndarray) -> np.ndarray:
        """[edges of items] bool: what is carried to another memory.

        Args:
            device: as `settled` has it.
        """
        graph = self.graph
        source, target = device[graph.node[self.edge_sources]], device[graph.node[graph.after]]
        return crosses(source, target, graph.is_turned == 1, graph.gpu >= 0)


@dataclass(frozen=True, eq=False)
class StepFlow:
    """What was run: the items of a step, copies after the others in the order in which they were started."""

    step: UnplacedStep
    """The step."""
    kind: np.ndarray
    """[items] `ON_CPU`, `ON_GPU` or `COPY`."""
    host: np.ndarray
    """[items] seconds of a thread of the executor."""
    kernel: np.ndarray
    """[items] seconds of the kernel."""
    held: np.ndarray
    """[items] seconds of a kernel of the CPU for which it has all threads of the intra-op pool."""
    nbytes: np.ndarray
    """[items] bytes of a copy."""
    way: np.ndarray
    """[items] of a copy: its way among ``ways``."""
    stream: np.ndarray
    """[items] of a kernel of a GPU: its stream."""
    ways: Ways
    """What copies go through."""
    item_node: np.ndarray
    """[items] node; ``nodes + f`` for what takes fetch ``f`` to the client, and ``first_copy + c`` for copy ``c``."""
    item_weight: np.ndarray
    """[items] float64: how many executions it stands for."""
    copies: CopyTable
    device: np.ndarray
    """[items] device; of a copy the receiving one."""
    on_host: np.ndarray
    """[nodes] bool: nodes of GPUs whose kernels run on the host."""
    computed_by: np.ndarray
    """[nodes] int: the node whose kernel computes it, too; -1: it has one of its own."""
    first_copy: int
    """What ``item_node`` is for the first copy."""

    def path(self, times: Times) -> list[tuple[int, bool, float, float]]:
        """What the step waited for; see `gpuplace.cost.clock.path`.

        Args:
            times: of the step.
        """
        return path(times, self.host, self.stream, len(self.kind) - int((self.kind == COPY).sum()))
