"""The network between machines, and the paths of copies in a cluster.

Each task of a cluster has its own machine, with the links of `gpuplace.device.links`, and a network interface, which
all its sent data share, and all its received data::

    /job:ps/task:0                     /job:worker/task:0
    host memory ── out ──┐         ┌── in ── host memory ── PCIe ── GPU 0
                         └─ switch ┘

A copy from a GPU to a GPU of another task goes through the memory of both hosts, one stage after the other, as
TensorFlow's servers send it over gRPC: the times add up.

>>> [str(Network.parse(text)) for text in ("", "gbit=40 us=20", "gbit=25", "loopback")]
['10GbE', '40GbE us=20', '25GbE', 'loopback']

Sources: IEEE Std 802.3-2018 (line rates, preamble and gap), RFC 791, RFC 9293 and RFC 7323 (headers of IP and TCP,
with timestamps: 1,448 of the 1,538 bytes of a full frame are data). ``loopback`` is the measured time of a
``RecvTensor`` between two servers of TensorFlow 2.21 on one machine with two cores: about 120 microseconds for 1 KB, 80
to 108 milliseconds for 100 MB. The latency of an Ethernet is that of the two programs plus an estimated 30 microseconds
for interfaces, wires and a switch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpuplace.device.links import Link, Links, Route
from gpuplace.errors import InvalidArgumentError

FRAME_SHARE = 1448 / 1538
"""Fraction of an Ethernet's line rate that is available to data in full frames."""
LOOPBACK_US = 120.0
"""Time to send a small tensor to another process of the same machine, in microseconds."""
LATENCY_US = LOOPBACK_US + 30.0
"""Time to send a small tensor to another machine, in microseconds."""
LOOPBACK_GBIT = 10.0
"""Bandwidth between processes of one machine, in Gbit/s."""
ONE_HOST = "loopback"
"""Name of the network between tasks on one machine."""
_ETHERNET = re.compile(r"(1|2\.5|5|10|25|40|50|100|200|400)GbE", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,7}(?:\.\d{1,6})?")


@dataclass(frozen=True, slots=True)
class Network:
    """The network between the tasks of a cluster."""

    gbit: float = 10.0
    """Bandwidth per direction of an interface, in Gbit/s."""
    us: float = LATENCY_US
    """Time from sending a tensor to the arrival of its first byte, including both programs, in microseconds."""
    is_one_host: bool = False
    """Whether all tasks run on one machine and share its cores."""

    @classmethod
    def parse(cls, text: str) -> Network:
        """Parse a network such as ``10GbE``, ``gbit=40 us=20`` or ``loopback``.

        Args:
            text: name of an Ethernet, figures, or both, separated by spaces; the default is 10GbE.

        Raises:
            InvalidArgumentError: a word is invalid; the error lists the valid ones.
        """
        figures: dict[str, float] = {}
        one_host = False
        for word in text.split():
            key, _, value = word.partition("=")
            ethernet = _ETHERNET.fullmatch(word)
            if ethernet is not None:
                figures["gbit"] = float(ethernet[1])
            elif word == ONE_HOST:
                one_host = True
                figures = {"gbit": LOOPBACK_GBIT, "us": LOOPBACK_US} | figures
            elif key in ("gbit", "us") and _NUMBER.fullmatch(value) and (key == "us" or float(value)):
                figures[key] = float(value)
            else:
                raise InvalidArgumentError.of(
                    f"Invalid setting of a cluster's network: '{word[:80]}'.",
                    facts={
                        "allowed": "1GbE, 10GbE, 25GbE, 40GbE, 100GbE, ..., loopback (all tasks on one machine), "
                        "gbit=BANDWIDTH IN GBIT/S, us=LATENCY IN MICROSECONDS"
                    },
                    hint="write, for example, network 10GbE or network gbit=40 us=20",
                )
        return cls(is_one_host=one_host, **figures)

    @property
    def bandwidth(self) -> float:
        """Data bandwidth per direction, in bytes/s."""
        return self.gbit * 1e9 / 8 * (1.0 if self.is_one_host else FRAME_SHARE)

    @property
    def latency(self) -> float:
        """Latency in seconds."""
        return self.us / 1e6

    def __str__(self) -> str:
        usual = LOOPBACK if self.is_one_host else Network()
        ethernet = f"{self.gbit:g}GbE"
        if self.is_one_host:
            words = [ONE_HOST] + [f"gbit={self.gbit:g}"] * (self.gbit != usual.gbit)
        else:
            words = [ethernet if _ETHERNET.fullmatch(ethernet) else f"gbit={self.gbit:g}"]
        return " ".join(words + [f"us={self.us:g}"] * (self.us != usual.us))

    def text(self) -> str:
        """Describe the network, such as ``1.2 GB/s each way, 150 µs``."""
        return f"{self.bandwidth / 1e9:.1f} GB/s each way, {self.us:g} µs"


LOOPBACK = Network(LOOPBACK_GBIT, LOOPBACK_US, is_one_host=True)
"""The network between processes of one machine."""


class ClusterLinks(Links):
    """The links of all machines of a cluster and the network between them.

    Memories are numbered as by `gpuplace.cost.step_flow.Machinery`: GPUs from 0 upward, task by task; the host memory
    of task ``t`` is ``-1 - t``.

    Args:
        names: short task names, such as ``worker/0``.
        machines: links of each task's machine, in the same order.
        network: network between the tasks.
    """

    def __init__(self, names: Sequence[str], machines: Sequence[Links], network: Network) -> None:
        super().__init__([gpu for links in machines for gpu in links.gpus])
        self.names = tuple(names)
        self.machines = tuple(machines)
        self.network = network
        self._task = [task for task, links in enumerate(machines) for _ in links.gpus]
        self._first = [self._task.index(task) if task in self._task else 0 for task in range(len(machines))]

    @property
    def is_one_host(self) -> bool:
        """Whether all tasks run on one machine."""
        return self.network.is_one_host

    def text(self, gpu: int) -> str:
        """Describe the GPU's links within its own machine."""
        task = self._task[gpu]
        return self.machines[task].text(gpu - self._first[task])

    @property
    def board(self) -> tuple[int, ...]:
        """Number of the board of each GPU, across all machines."""
        boards: list[int] = []
        for links in self.machines:
            first = max(boards, default=-1) + 1
            boards += [first + board for board in links.board]
        return tuple(boards)

    def task_of(self, memory: int) -> int:
        """Return the index of the task that owns a memory."""
        return -1 - memory if memory < 0 else self._task[memory]

    def between(self, source: int, target: int, *, pinned: bool = True) -> Route:
        """Return the path from one memory to another.

        Args:
            source: memory that the bytes come from.
            target: memory that they go to.
            pinned: whether host memory is pinned.
        """
        here, there = self.task_of(source), self.task_of(target)
        if here == there:
            return self._within(here, source, target, pinned)
        stages = [] if source < 0 else [self._within(here, source, -1 - here, pinned)]
        stages.append(self._across(here, there))
        if target >= 0:
            stages.append(self._within(there, -1 - there, target, pinned))
        return Route(
            tuple(link for stage in stages for link in stage.links),
            1 / sum(1 / stage.bandwidth for stage in stages),
            sum(stage.latency for stage in stages),
            "network",
            False,
        )

    def _across(self, here: int, there: int) -> Route:
        """Return the path between the hosts of two tasks."""
        rate = self.network.bandwidth
        links = (
            self._link("network", 2 * here, f"network of {self.names[here]}, out", rate),
            self._link("network", 2 * there + 1, f"network of {self.names[there]}, in", rate),
        )
        return Route(links, rate, self.network.latency, "network", False)

    def _within(self, task: int, source: int, target: int, pinned: bool) -> Route:
        """Return the path within a task's machine, in terms of this object's links."""
        links, first = self.machines[task], self._first[task]
        places: list[Any] = [None if memory < 0 else memory - first for memory in (source, target)]
        route = links.route(*places, pinned=pinned)
        numbers = []
        for number in route.links:
            link: Link = links.links[number]
            numbers.append(
                self._link(link.kind, number, f"{link.name} of {self.names[task]}", link.bandwidth)
            )
        return route._replace(links=tuple(numbers))
