"""Give every node a device, from an outline and the candidates of each kind of group.

Source: tensorflow/core/common_runtime/placer.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpuplace.placer.bindings import Groups
from gpuplace.placer.candidates import Candidates
from gpuplace.placer.outline import FIRST, UNDECIDED, Outline
from gpuplace.placer.placement_graph import PlacementGraph

NOWHERE = -1
"""The device position of a node without a device."""


@dataclass(frozen=True)
class Decisions:
    """The device of every node, and how each group got it."""

    device: np.ndarray
    """[nodes] int64: position in the device set, or `NOWHERE`."""
    outline: Outline
    how_of_label: np.ndarray
    """[labels] int8: `FIRST`, `METADATA`, `IDENTITY`, `GENERATOR` or `UNDECIDED`."""

    @cached_property
    def how(self) -> np.ndarray:
        """[nodes] int8: how the node's group got its device."""
        return self.how_of_label[self.outline.label]

    @property
    def decider(self) -> np.ndarray:
        """[nodes] at each group's root: the first visited node of the group."""
        return self.outline.decider

    def visiting_order(self, graph: PlacementGraph) -> np.ndarray:
        """Return the nodes in the order in which they were decided, which is the order of the log."""
        order = graph.order
        late = self.outline.is_generator[order]
        return np.concatenate((order[~late], order[late]))


def decide(
    outline: Outline,
    groups: Groups,
    candidates: Sequence[Candidates],
    assigned: Mapping[int, int],
    device_types: Sequence[str],
) -> Decisions:
    """Give every node a device, or `NOWHERE` if its group has no candidate.

    Args:
        outline: which group follows which.
        groups: which nodes share a device.
        candidates: the candidates of each of `groups.members`.
        assigned: node -> position of the device assigned before placing.
        device_types: the type of each device of the machine.
    """
    of_kind = groups.of_kind.tolist()
    devices = [candidates[member].first for member in of_kind]
    how = [UNDECIDED if device == NOWHERE else FIRST for device in devices]
    for kind, rule, leaders in outline.followers:
        member = of_kind[kind]
        device, reason = devices[kind], how[kind]
        if rule == FIRST:
            position = assigned[leaders[0]]
            fits = device_types[position] in dict(groups.members[member].supported)
            device, reason = (position, FIRST) if fits else (NOWHERE, UNDECIDED)
        else:
            leader_device = devices[leaders[0]]
            if (
                all(devices[leader] == leader_device for leader in leaders)
                and leader_device in candidates[member].devices
            ):
                device, reason = leader_device, rule
        devices.append(device)
        how.append(reason)
    device_of_node = np.array(devices, dtype=np.int64)[outline.label]
    for node, position in assigned.items():
        device_of_node[node] = position
    return Decisions(device_of_node, outline, np.array(how, dtype=np.int8))
