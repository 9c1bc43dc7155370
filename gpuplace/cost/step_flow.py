"""The flow of a step with what its items are of: nodes, and copies between devices; and the machine that it runs on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuplace.cost.events import CopyWay, Flow
from gpuplace.cost.item_times import ItemTimes
from gpuplace.device.links import Links


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

    def working(self, busy: Collection[int]) -> list[Any]:
        """[devices] the `GPUModel` at the clock that a step leaves it, None for a CPU.

        Args:
            busy: devices that the step computes on.
        """
        boards = Counter(self.links.board[gpu] for gpu in {self.physical[one] for one in busy} if gpu >= 0)
        return [
            model if model is None or boards[self.links.board[gpu]] < model.per_board else model.on_busy_board
            for model, gpu in zip(self.models, self.physical, strict=True)
        ]

    def way(self, begin: int, end: int, pinned: bool) -> tuple[str, CopyWay]:
        """How copies go from one memory to another, and what that is called.

        Args:
            begin: position of the GPU that they come from; below 0: the host, as in ``hosts``.
            end: likewise, that they go to.
            pinned: whether memory of the host is pinned.
        """
        if begin < 0 and begin == end:
            return "host memory", CopyWay(-1, (), (), (), 1.0, 0.0, False)
        links = self.links
        route = links.between(begin, end, pinned=pinned)
        return route.kind, CopyWay(
            self.stream(begin, end),
            tuple(sorted({gpu for gpu in (begin, end) if gpu >= 0})),
            route.links,
            tuple(links.links[number].bandwidth for number in route.links),
            route.bandwidth,
            route.latency,
            not pinned and begin < 0 and route.kind != "network",
        )

    @property
    def streams(self) -> int:
        """How many streams there are, but for those of copies over the network, of which each has one of its own."""
        return 4 * max(len(self.links.gpus), 1)

    def stream(self, begin: int, end: int) -> int:
        """The stream that copies are queued on, by the memories that they go from and to.

        Args:
            begin, end: as of ``way``.

        Returns:
            Its number; from ``streams`` on one for each pair of tasks.
        """
        gpus, tasks = max(len(self.links.gpus), 1), -min(self.hosts, default=-1)
        here, there = self.links.task_of(begin), self.links.task_of(end)
        if here != there:
            return self.streams + here * tasks + there
        if begin < 0:
            return gpus + end
        return (2 if end < 0 else 3) * gpus + begin


@dataclass(frozen=True, eq=False)
class StepFlow:
    """A flow, and what its items are of."""

    flow: Flow
    times: ItemTimes
    """What times it, be it by another model."""
    item_node: np.ndarray
    """[items] node; ``nodes + c`` for copy ``c``, and what is fetched from then on."""
    item_weight: np.ndarray
    """[items] float64: how many executions it stands for."""
    copies: CopyTable
    folded: np.ndarray
    """[nodes] bool: constants, not run."""
    dead: np.ndarray
    """[nodes] bool: in a branch that is not taken, or needed by nothing that runs."""
    device: np.ndarray
    """[items] device; of a copy the receiving one."""
    on_host: np.ndarray
    """[nodes] bool: nodes of GPUs whose kernels run on the host."""
    computed_by: np.ndarray
    """[nodes] int: the node whose kernel computes it, too; -1: it has one of its own."""
    first_copy: int
    """What ``item_node`` is for the first copy."""
    assumed: tuple[str, ...]
