"""The placer's result: a device for every node, and the arrays from which explanations are derived.

Source: tensorflow/core/common_runtime/placer.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpuplace.device.device_set import DeviceSet
from gpuplace.placer.bindings import Groups, NodeMembers
from gpuplace.placer.candidates import DeviceChooser
from gpuplace.placer.decide import NOWHERE, Decisions
from gpuplace.placer.faults import Fault
from gpuplace.placer.member import Member
from gpuplace.placer.node_facts import NodeFacts, SupportedTypes
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.placer.placer import Placer


class Placed:
    """The result of one placement.

    Attributes:
        graph: the placed graph.
        device_set: the machine's devices.
        soft: whether soft placement was allowed.
        placer: the placer that was used; it can place again.
        release: the release whose error messages are used.
        facts: [signatures] the placement properties of each signature on this machine.
        chooser: finds the devices that satisfy constraints.
        assigned: node position -> device assigned before placing.
        partition: which nodes share a device; None if the placer stopped before.
        decisions: how each group got its device; None if the placer stopped before.
        single: the constraints of each node before merging.
        host_causes: the nodes that keep their groups on the CPU because of the data they read (2.x).
        faults: the faults; the first is TensorFlow's error.
    """

    def __init__(
        self,
        *,
        graph: PlacementGraph,
        device_set: DeviceSet,
        soft: bool,
        placer: Placer,
        facts: tuple[NodeFacts, ...],
        chooser: DeviceChooser,
        assigned: dict[int, str],
        partition: Groups | None,
        decisions: Decisions | None,
        single: NodeMembers | None,
        host_causes: tuple[int, ...],
        faults: tuple[AnyFault, ...],
    ) -> None:
        self.graph = graph
        self.device_set = device_set
        self.soft = soft
        self.placer = placer
        self.release = placer.release
        self.facts = facts
        self.chooser = chooser
        self.assigned = assigned
        self.partition = partition
        self.decisions = decisions
        self.single = single
        self.host_causes = host_causes
        self.faults = faults

    @cached_property
    def devices(self) -> np.ndarray:
        """[nodes] position of each node's device in `device_set`; -1 without one."""
        if self.decisions is None:
            return np.full(len(self.graph), NOWHERE, dtype=np.int64)
        return self.decisions.device

    def device_of(self, node: int) -> str:
        """Return the full name of a node's device; "" without one."""
        device = int(self.devices[node])
        return "" if device == NOWHERE else self.device_set.names[device]

    @cached_property
    def device_labels(self) -> tuple[str, ...]:
        """Short names of the devices (`GPU:0`); full names if the machine has several tasks."""
        tasks = {device.parsed[:3] for device in self.device_set}
        return tuple(
            device.name if len(tasks) > 1 else f"{device.parsed.type}:{device.id}"
            for device in self.device_set
        )

    def facts_of(self, node: int) -> NodeFacts:
        """Return the facts of a node's signature."""
        return self.facts[self.graph.signature[node]]

    def constraints(self, node: int) -> Member:
        """Return the constraints of a node's group."""
        if self.partition is None:
            assert self.single is not None
            return self.single(node)
        return self.partition.constraints(node)

    def group_supported(self, node: int) -> SupportedTypes:
        """Return the device types that support all nodes of a node's group."""
        return self.constraints(node).supported

    @cached_property
    def _by_root(self) -> tuple[np.ndarray, np.ndarray]:
        assert self.partition is not None
        order = np.argsort(self.partition.root, kind="stable")
        return order, self.partition.root[order]

    def group_of(self, node: int) -> list[int]:
        """Return the positions of the nodes that must share a node's device, including itself, in graph order."""
        if self.partition is None:
            return [node]
        order, roots = self._by_root
        root = self.partition.root[node]
        first, last = np.searchsorted(roots, root), np.searchsorted(roots, root, side="right")
        return sorted(order[first:last].tolist(), key=lambda member: self.graph.rank[member])

    def first_visited(self, node: int) -> int:
        """Return the member of a node's group that is visited first and determines the group's device."""
        if self.partition is None or self.decisions is None:
            return node
        return int(self.decisions.decider[self.partition.root[node]])


@dataclass(frozen=True)
class InFunction:
    """The function of a call that returns resources cannot be placed."""

    node: int
    """The call."""
    body: Placed
    """The function's body, placed as far as possible."""
    fault: AnyFault
    """The fault in the body."""


AnyFault = Fault | InFunction
