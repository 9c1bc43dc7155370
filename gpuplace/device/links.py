"""Interconnects of a machine: PCIe slots and switches, NVLink, the link between sockets, host memory.

A link has a bandwidth per direction, which concurrent copies share. A copy follows a route of links; after a latency,
it runs at the rate of the slowest of them::

                 host memory
                      |
       socket 0 ======QPI====== socket 1
       /       \\                    |
    switch 0    switch 1           ...         the two halves of a K80, or two GPUs of a DGX-1, below a switch
    /     \\     /     \\
  GPU 0  GPU 1 GPU 2  GPU 3                    NVLink, where there is any, goes from GPU to GPU

By default, switches and NVLink are those of the machines in which such GPUs were sold: the two halves of a K80 board
share its switch; SXM2 modules form the hybrid cube mesh of a DGX-1, two per switch; later SXM modules are connected by
NVSwitch. More than two single GPUs of a socket share its 40 lanes through switches.

>>> from gpuplace.device.machine import Machine
>>> links = Machine.parse("4x Tesla K80").links
>>> links.route(0, 1).is_peer, round(links.route(0, 1).bandwidth / 1e9, 1)
(True, 12.1)
>>> [links.links[number].name for number in links.route(None, 2).links]
['host memory, reading', 'socket 1, down', 'switch 1, down', 'PCIe of GPU 2, down']
>>> Machine.parse("4x Tesla K80, links pcie=2x8 switch=4").links.route(None, 2).bandwidth < 4e9
True

Sources: PCI Express Base Specification (line rates); NVIDIA, bandwidthTest and p2pBandwidthLatencyTest of the CUDA
samples on each generation (fraction of the line rate that copies reach, latencies); Tesla K80 board specification
BD-07317-001 (the switch); NVIDIA DGX-1 with Tesla V100 System Architecture, WP-08437-002 (cube mesh, switches); NVIDIA
DGX A100 System Architecture, WP-10083-001 (NVSwitch); Intel, An Introduction to the QuickPath Interconnect, 2009.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from gpuplace.device.physical_gpu import PhysicalGPU
from gpuplace.errors import InvalidArgumentError

LANE_BANDWIDTH: Mapping[int, float] = {1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.969e9, 5: 3.938e9}
"""PCIe generation -> bandwidth per direction of one lane after line coding, in bytes/s."""
PCIE_EFFICIENCY = 0.77
"""Fraction of the PCIe line rate that copies reach: headers of 256-byte packets, acknowledgements, flow control."""
NVLINK_EFFICIENCY = 0.92
"""Fraction of the NVLink line rate that copies reach."""
PAGEABLE_SHARE = 0.5
"""Ratio of the pageable to the pinned rate: the driver copies through its own pinned buffer."""
SOCKET_BANDWIDTH = 15.4e9
"""Bandwidth per direction between two sockets, in bytes/s: QPI of 9.6 GT/s, four fifths of which are data."""
HOST_BANDWIDTH = 55e9
"""Memory bandwidth of a socket, in bytes/s: four channels of DDR4-2133, 68 GB/s, as measured by STREAM."""
PCIE_LATENCY = 10e-6
"""Time from the start of a copy over PCIe to the arrival of its first byte, as a program measures it, in seconds."""
PEER_LATENCY = 8e-6
"""Latency between GPUs with peer access, in seconds."""
NVLINK_LATENCY = 6e-6
"""Latency over NVLink, in seconds."""

NVLINK_FORMS = ("cube", "nvswitch", "bridge", "none")
"""NVLink topologies: a DGX-1's hybrid cube mesh, NVSwitch, pairs of neighbors, none."""

# NVLink lanes between the first four GPUs of a DGX-1; the last four are connected in the same way.
_CUBE: dict[int, dict[tuple[int, int], int]] = {
    4: {(0, 1): 1, (0, 2): 1, (0, 3): 1, (1, 2): 1, (1, 3): 1, (2, 3): 1},
    6: {(0, 1): 1, (0, 2): 1, (0, 3): 2, (1, 2): 2, (1, 3): 1, (2, 3): 2},
}
_ACROSS = {4: (1, 1, 1, 1), 6: (2, 2, 1, 1)}
"""NVLink lanes from each of the first four GPUs to its counterpart among the last four."""
_CUBE_GPUS = 8
_NVLINK_LINE = {(6, 0): 20e9}
"""Compute capability -> bandwidth per direction of one connection, in bytes/s; 25 GB/s since Volta."""
_TEXT = re.compile(r"([1-5])(?:x(1|2|4|8|16))?")


@dataclass(frozen=True, slots=True)
class Wiring:
    """Explicit settings of a machine's links; the rest follows from its GPUs."""

    generation: int = 0
    """PCIe generation of the slots; 0: that of each GPU."""
    lanes: int = 16
    """PCIe lanes per slot."""
    per_switch: int = 0
    """GPUs per PCIe switch; 1: no switches; 0: the default."""
    nvlink: str = ""
    """One of `NVLINK_FORMS`; ``""``: the default."""
    peer: str = ""
    """Whether GPUs have peer access over PCIe, ``"on"`` or ``"off"``; ``""``: the default."""
    host: str = "pinned"
    """``"pinned"``, or ``"pageable"`` if no host memory is ever pinned."""

    @classmethod
    def parse(cls, text: str) -> Wiring:
        """Parse settings such as ``pcie=3x16 switch=2 nvlink=cube peer=off host=pageable``, in any order.

        Args:
            text: settings, separated by spaces.

        Raises:
            InvalidArgumentError: a setting is invalid; the error lists the valid ones.
        """
        settings: dict[str, object] = {}
        for pair in text.split():
            key, _, value = pair.partition("=")
            pcie = _TEXT.fullmatch(value) if key == "pcie" else None
            if pcie is not None:
                settings |= {"generation": int(pcie[1]), "lanes": int(pcie[2] or 16)}
            elif key == "switch" and re.fullmatch(r"[1-9]\d?", value):
                settings["per_switch"] = int(value)
            elif value in {"nvlink": NVLINK_FORMS, "peer": ("on", "off"), "host": ("pinned", "pageable")}.get(
                key, ()
            ):
                settings[key] = value
            else:
                raise InvalidArgumentError.of(
                    f"Invalid setting of a machine's links: '{pair[:80]}'.",
                    facts={
                        "allowed": "pcie=GENERATION or GENERATIONxLANES (3x16), switch=GPUS (below one PCIe switch), "
                        f"nvlink={'|'.join(NVLINK_FORMS)}, peer=on|off, host=pinned|pageable"
                    },
                    hint="write, for example, links pcie=3x16 switch=2",
                )
        return cls(**settings)  # type: ignore[arg-type]

    def __str__(self) -> str:
        pairs = []
        if self.generation:
            pairs.append(f"pcie={self.generation}x{self.lanes}")
        if self.per_switch:
            pairs.append(f"switch={self.per_switch}")
        pairs += [f"{key}={value}" for key in ("nvlink", "peer") if (value := getattr(self, key))]
        if self.host != "pinned":
            pairs.append(f"host={self.host}")
        return " ".join(pairs)


class Link(NamedTuple):
    """One direction of a link."""

    name: str
    """Description of the link and its direction."""
    kind: str
    """``"host memory"``, ``"PCIe"``, ``"switch"``, ``"socket"``, ``"NVLink"`` or ``"network"``."""
    bandwidth: float
    """Bandwidth in bytes/s."""


class Route(NamedTuple):
    """The path of a copy from one memory to another."""

    links: tuple[int, ...]
    """Indices into `Links.links`, in order; empty within one memory."""
    bandwidth: float
    """Rate of a copy without contention, in bytes/s."""
    latency: float
    """Time until the first byte arrives, in seconds."""
    kind: str
    """``"PCIe"``, ``"NVLink"``, ``"PCIe through the host"``, ``"network"`` or ``"memory"``."""
    is_peer: bool
    """Whether the path leads from GPU to GPU without the host."""

    def seconds(self, nbytes: float) -> float:
        """Return the duration of a copy without contention, in seconds."""
        return self.latency + nbytes / self.bandwidth


class Links:
    """The links of one machine.

    Args:
        gpus: GPUs of the machine.
        wiring: explicit settings of the links; None: the defaults.
    """

    def __init__(self, gpus: Sequence[PhysicalGPU], wiring: Wiring | None = None) -> None:
        self.gpus = tuple(gpus)
        self.wiring = wiring or Wiring()
        self.links: list[Link] = []
        self._number: dict[tuple[str, int, str], int] = {}
        self._routes: dict[tuple[int | None, int | None, bool], Route] = {}

    @property
    def is_one_host(self) -> bool:
        """Whether all memories belong to one host."""
        return True

    def pcie_bandwidth(self, gpu: int) -> float:
        """Return the bandwidth per direction that copies reach in a GPU's slot, in bytes/s."""
        own, wiring = self.gpus[gpu].model.pcie_bandwidth, self.wiring
        line = LANE_BANDWIDTH[wiring.generation] * wiring.lanes if wiring.generation else own
        return PCIE_EFFICIENCY * (min(line, own) if own else line or 16 * LANE_BANDWIDTH[3])

    def has_switch(self, gpu: int) -> bool:
        """Return whether a GPU shares a PCIe switch with another GPU."""
        return list(self.switch).count(self.switch[gpu]) > 1

    @cached_property
    def switch(self) -> tuple[int, ...]:
        """Number of the PCIe switch, or of the slot, above each GPU."""
        number = -1
        sockets: dict[tuple[str, int], list[int]] = {}
        for index, gpu in enumerate(self.gpus):
            sockets.setdefault((gpu.pci_bus_id[:4], gpu.numa_node), []).append(index)
        switches: dict[int, int] = {}
        for members in sockets.values():
            size = self.wiring.per_switch
            for position, index in enumerate(members):
                model = self.gpus[index].model
                default = 2 if model.per_board > 1 or "SXM" in model.name or len(members) > 2 else 1
                if position % (size or default) == 0:
                    number += 1
                switches[index] = number
        return tuple(switches[index] for index in range(len(self.gpus)))

    @cached_property
    def board(self) -> tuple[int, ...]:
        """Number of the board of each GPU; GPUs are assigned to boards in the machine's order."""
        boards: list[int] = []
        free: dict[str, list[int]] = {}  # model name -> board numbers, once per free place
        number = -1
        for gpu in self.gpus:
            places = free.setdefault(gpu.model.name, [])
            if not places:
                number += 1
                places += [number] * gpu.model.per_board
            boards.append(places.pop())
        return tuple(boards)

    @cached_property
    def nvlink(self) -> str:
        """NVLink topology, one of `NVLINK_FORMS`."""
        if not any(gpu.model.nvlink_bandwidth for gpu in self.gpus):
            return "none"
        if self.wiring.nvlink:
            return self.wiring.nvlink
        names = {gpu.model.name for gpu in self.gpus}
        if all("SXM2" in name for name in names) and len(self.gpus) <= _CUBE_GPUS:
            return "cube"
        return (
            "bridge"
            if any("PCIE" in name.upper() or "GEFORCE" in name.upper() for name in names)
            else "nvswitch"
        )

    def nvlink_bandwidth(self, first: int, second: int) -> float:
        """Return the NVLink bandwidth per direction between two GPUs, in bytes/s; 0 if they are not connected."""
        models = [self.gpus[gpu].model for gpu in (first, second)]
        both = min(model.nvlink_bandwidth for model in models)
        if not both or self.nvlink == "none" or first == second:
            return 0.0
        if self.nvlink == "nvswitch":
            return NVLINK_EFFICIENCY * both
        if self.nvlink == "bridge":
            return NVLINK_EFFICIENCY * both if first // 2 == second // 2 else 0.0
        line = min(_NVLINK_LINE.get(model.compute_capability, 25e9) for model in models)
        ports = 4 if both / line < 5 else 6
        low, high = sorted((first, second))
        if high >= _CUBE_GPUS:
            return 0.0
        if low // 4 != high // 4:
            lanes = _ACROSS[ports][low] if high == low + 4 else 0
        else:
            lanes = _CUBE[ports][low % 4, high % 4]
        return NVLINK_EFFICIENCY * lanes * line

    def is_peer(self, first: int, second: int) -> bool:
        """Return whether two GPUs can access each other's memory directly."""
        if self.nvlink_bandwidth(first, second):
            return True
        if self.wiring.peer:
            return self.wiring.peer == "on"
        models = [self.gpus[gpu].model for gpu in (first, second)]
        same_socket = self.gpus[first].numa_node == self.gpus[second].numa_node
        return same_socket and all(model.has_peer_access for model in models)

    def route(self, source: int | None, target: int | None, *, pinned: bool = True) -> Route:
        """Return the path from one memory to another.

        Args:
            source: index of the GPU in the machine; None: host memory.
            target: index of the GPU in the machine; None: host memory.
            pinned: whether the host memory is pinned.
        """
        key = source, target, pinned and self.wiring.host == "pinned"
        route = self._routes.get(key)
        if route is None:
            route = self._routes[key] = self._route(*key)
        return route

    def task_of(self, memory: int) -> int:
        """Return the index of the task that owns a memory: 0 on a single machine.

        Args:
            memory: index of a GPU; negative: host memory.
        """
        return 0

    def between(self, source: int, target: int, *, pinned: bool = True) -> Route:
        """Return the path from one memory to another, where negative numbers denote host memory.

        Args:
            source: index of the GPU in the machine; negative: host memory.
            target: index of the GPU in the machine; negative: host memory.
            pinned: whether the host memory is pinned.
        """
        return self.route(None if source < 0 else source, None if target < 0 else target, pinned=pinned)

    def _route(self, source: int | None, target: int | None, pinned: bool) -> Route:
        if source == target:
            rate = HOST_BANDWIDTH / 2 if source is None else self.gpus[source].model.memory_bandwidth / 2
            return Route((), rate or HOST_BANDWIDTH, 0.0, "memory", True)
        if source is not None and target is not None:
            rate = self.nvlink_bandwidth(source, target)
            if rate:
                links: tuple[int, ...]
                if self.nvlink == "nvswitch":
                    links = (
                        self._link("NVLink", -1 - source, f"NVLink of GPU {source}, out", rate),
                        self._link("NVLink", 1000 + target, f"NVLink of GPU {target}, in", rate),
                    )
                else:
                    number = source * len(self.gpus) + target
                    links = (self._link("NVLink", number, f"NVLink of GPU {source} to GPU {target}", rate),)
                return Route(links, rate, NVLINK_LATENCY, "NVLink", True)
            if self.is_peer(source, target):
                links = self._pcie(source, "up", target)[::-1] + self._pcie(target, "down", source)
                return Route(links, self._slowest(links), PEER_LATENCY, "PCIe", True)
            out, into = self.route(source, None), self.route(None, target)
            links = out.links + into.links
            rate = PAGEABLE_SHARE * min(out.bandwidth, into.bandwidth)
            return Route(links, rate, 2 * PCIE_LATENCY, "PCIe through the host", False)
        gpu = source if target is None else target
        assert gpu is not None
        is_down = source is None
        way = "down" if is_down else "up"
        memory = self._link(
            "host memory", int(is_down), f"host memory, {'reading' if is_down else 'writing'}", HOST_BANDWIDTH
        )
        node = self.gpus[gpu].numa_node
        across = (
            (self._link("socket", 2 * node + is_down, f"socket {node}, {way}", SOCKET_BANDWIDTH),)
            if node
            else ()
        )
        links = (memory, *across, *self._pcie(gpu, way))
        if not is_down:
            links = links[::-1]
        rate = self._slowest(links) * (1.0 if pinned else PAGEABLE_SHARE)
        return Route(links, rate, PCIE_LATENCY, "PCIe", False)

    def _pcie(self, gpu: int, way: str, peer: int | None = None) -> tuple[int, ...]:
        """Return the links between a GPU and its socket, the socket's end first.

        With a peer below the same switch, only the links up to that switch.
        """
        rate = self.pcie_bandwidth(gpu)
        own = self._link("PCIe", 2 * gpu + (way == "down"), f"PCIe of GPU {gpu}, {way}", rate)
        switch = self.switch[gpu]
        if not self.has_switch(gpu) or (peer is not None and self.switch[peer] == switch):
            return (own,)
        return (self._link("switch", 2 * switch + (way == "down"), f"switch {switch}, {way}", rate), own)

    def _link(self, kind: str, number: int, name: str, bandwidth: float) -> int:
        key = kind, number, name
        position = self._number.get(key)
        if position is None:
            position = self._number[key] = len(self.links)
            self.links.append(Link(name, kind, bandwidth))
        return position

    def _slowest(self, links: Sequence[int]) -> float:
        return min(self.links[number].bandwidth for number in links)

    def text(self, gpu: int) -> str:
        """Describe a GPU's links, such as ``PCIe 12.1 GB/s, switch 0 with GPU 1; NVLink to 1, 2, 3``."""
        text = f"PCIe {self.pcie_bandwidth(gpu) / 1e9:.1f} GB/s"
        beside = [
            other
            for other in range(len(self.gpus))
            if other != gpu and self.switch[other] == self.switch[gpu]
        ]
        if beside:
            text += f", switch {self.switch[gpu]} with GPU {', '.join(map(str, beside))}"
        others = [other for other in range(len(self.gpus)) if self.nvlink_bandwidth(gpu, other)]
        if others:
            rates = [f"{other}: {self.nvlink_bandwidth(gpu, other) / 1e9:.0f}" for other in others]
            text += f"; NVLink to {', '.join(rates)} GB/s"
        return text
