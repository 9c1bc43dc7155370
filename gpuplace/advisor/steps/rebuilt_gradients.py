"""Nodes that `gradients` builds differently when a program's own lines run within other devices.

Sums of a tensor's gradients: summands that request one device are summed there, in one colocation group with the first
of them; then the sums of the devices are summed, in no group. There can therefore be more sums, and later ones get
other numbers::

    before          gradients/AddN       of a, b, c, all on one device
                    gradients/AddN_1     of d, e
    a, b on GPU:0   gradients/AddN       of a, b              on GPU:0, with a
    c on GPU:1      gradients/AddN_1     of AddN and c        where it is requested
                    gradients/AddN_2     of d, e

Nodes created in a group with a sum, such as those after its barrier, go with the sum.

Barriers are the NoOps by which an op's gradients wait for each other. They request the device that all nodes they wait
for request, or none if there are several; no ``tf.device`` function is called for them.

Nor is one called for nodes created within ``tf.device(None)``, or for the value of a resource variable that is cached
for a loop; without a request, these uncontrolled nodes are where the placer puts them.

Source: tensorflow/python/ops/gradients_util.py (_MultiDeviceAddN, and the barriers within ``tf.device(None)``),
control_flow_ops.py (group), resource_variable_ops.py (cached values within ``colocate_with(None)``), release 1.15.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.candidates import Candidates
from gpuplace.graph.graph import Graph
from gpuplace.graph.op_sets import VARIABLE_OPS
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_SUM = re.compile(r"((?:.*/)?gradients(?:_\d+)?/AddN)(?:_\d+)?")
_CACHED = "/Read/Identity"
_GATE = re.compile(r"(.*/)?gradients(_\d+)?/.*_grad/tuple/group_deps")


def sums_of_gradients(graph: PlacementGraph) -> dict[int, tuple[str, list[int]]]:
    """Return each sum of a tensor's gradients with its unnumbered name and its summands, in the graph's order."""
    sums = {}
    for node in np.flatnonzero(graph.of_types({"AddN"})).tolist():
        name = _SUM.fullmatch(graph.names[node])
        if name:
            edges = [edge for edge in graph.in_edges(node) if graph.dst_input[edge] != CONTROL]
            sums[node] = name[1], [int(graph.src[edge]) for edge in edges]
    return sums


def gradient_barriers(graph: PlacementGraph) -> dict[int, list[int]]:
    """Return each barrier with the nodes that it waits for."""
    return {
        node: [int(graph.src[edge]) for edge in graph.in_edges(node)]
        for node in np.flatnonzero(graph.of_types({"NoOp"})).tolist()
        if _GATE.fullmatch(graph.names[node])
    }


def uncontrolled_nodes(graph: PlacementGraph) -> list[int]:
    """Return nodes without a request for which no device function is called: cached values, and nodes within
    ``tf.device(None)``.

    The latter can be recognized only in a `Graph`.
    """
    nodes = [
        node
        for node, name in enumerate(graph.names)
        if name.endswith(_CACHED) and graph.op_type(node) == "Identity" and not graph.requested_device(node)
    ]
    if isinstance(graph.source, Graph):
        nodes += [
            graph.index[op.name]
            for op in graph.source.get_operations()
            if any(scope.stops for scope in op.device_scopes) and not op.device and op.name in graph.index
        ]
    return nodes


def with_uncontrolled_nodes(candidates: Candidates, devices: Ints, chosen: Bools) -> Ints:
    """Return [nodes] devices, with barriers and uncontrolled nodes where a program that requests the other devices has
    them.

    Args:
        candidates: candidate devices of the graph.
        devices: [nodes] devices.
        chosen: [nodes] nodes whose device must not change.
    """
    result = devices.copy()
    is_alone = np.bincount(candidates.group)[candidates.group] == 1
    for node in uncontrolled_nodes(candidates.placement.graph):
        if is_alone[node] and not chosen[node]:
            result[node] = candidates.default[candidates.group[node]]
    for barrier, waits in gradient_barriers(candidates.placement.graph).items():
        group = int(candidates.group[barrier])
        if chosen[barrier] or not waits:
            continue
        awaited_devices = set(result[waits].tolist())
        device = awaited_devices.pop() if len(awaited_devices) == 1 else int(candidates.default[group])
        if candidates.allowed[group, device]:
            result[barrier] = device
    return result


class Rebuilt(NamedTuple):
    """A program that is built within a device function."""

    requests: list[str]
    """[nodes] requested devices."""
    graph: PlacementGraph
    """Its nodes in their new colocation groups."""
    names: dict[int, str]
    """Sum of gradients from several devices to its new name."""


class Rebuilding:
    """A program that can be built within device functions.

    Args:
        graph: unchanged program.
        own: [nodes] whether the node is in the program.
    """

    def __init__(self, graph: PlacementGraph, own: Sequence[bool]) -> None:
        self.graph, self.own = graph, own
        self.sums, self.barriers = sums_of_gradients(graph), gradient_barriers(graph)
        self.uncontrolled = uncontrolled_nodes(graph)
        self._requests = [graph.requested_device(node) for node in range(len(graph))]
        self._in_group = frozenset(graph.class_node.tolist())
        self._leaders = _leaders(graph)
        self._with_sums = _made_with_sums(graph, self._leaders, self.sums)
        is_variable = graph.of_types(VARIABLE_OPS)
        self._follows = [
            (node, leader, bool(is_variable[node]))
            for node, leader in (self._leaders | self._with_sums).items()
            if node not in self.sums
        ]

    def by(self, device_function: Callable[[str], str | None]) -> Rebuilt:
        """Return requests and colocation groups of the nodes when the program is built within a device function.

        Args:
            device_function: device function by name; None or ``""`` keeps the program's request.
        """
        graph, requests, sums = self.graph, self._requests, self.sums
        new_requests = [
            (device_function(name) or request) if is_own else request
            for name, request, is_own in zip(graph.names, requests, self.own, strict=True)
        ]
        for node in self.uncontrolled:
            new_requests[node] = requests[node]
        leader_of = [
            (node, leader)
            for node, leader, is_variable in self._follows
            if not (is_variable and new_requests[node])
        ]
        names: dict[int, str] = {}
        # Iterate to a fixpoint: a sum may have sums as summands, and members of its group request the same.
        for _ in range(len(sums) + 2):
            before, names = list(new_requests), {}
            for node, leader in leader_of:
                new_requests[node] = new_requests[leader]
            sum_count: Counter[str] = Counter()
            for node, (stem, summands) in sums.items():
                device = _shared(new_requests, summands)
                if device is None:
                    devices = Counter([new_requests[other] for other in summands])
                    sum_count[stem] += sum(count > 1 for count in devices.values())
                    names[node] = f"{stem}_{sum_count[stem]}" if sum_count[stem] else stem
                    device = device_function(names[node]) or self._by_itself(node)
                new_requests[node] = device
                sum_count[stem] += 1
            for barrier, waits in self.barriers.items():
                new_requests[barrier] = _shared(new_requests, waits) or ""
            if new_requests == before:
                break
        return Rebuilt(new_requests, _grouped(graph, self._roots(names)), names)

    def _by_itself(self, node: int) -> str:
        """Return the request of a sum without a matching rule: none, unless it was in a colocation group."""
        return "" if node in self._in_group else self._requests[node]

    def _roots(self, names: Mapping[int, str]) -> dict[int, int]:
        """Map each sum, and each node created with one, to the node whose group it is in; to itself for none.

        Args:
            names: names of the sums of gradients from several devices.
        """
        root = dict(self._leaders)
        chosen = sorted({*self.sums, *self._with_sums})  # sums come first, because they are created first
        for node in chosen:
            if node in self.sums:
                first = self.sums[node][1][0]
                root[node] = node if node in names else root.get(first, first)
            else:
                root[node] = root[self._with_sums[node]]
        return {node: root[node] for node in chosen}


def _shared(requests: Sequence[str], nodes: Sequence[int]) -> str | None:
    """Return the common request of some nodes; None if they differ."""
    if not nodes:
        return None
    first = requests[nodes[0]]
    for node in nodes:
        if requests[node] != first:
            return None
    return first


def _leaders(graph: PlacementGraph) -> dict[int, int]:
    """Map each node in another node's group to that node."""
    leaders = {}
    for node, group in zip(graph.class_node.tolist(), graph.class_group.tolist(), strict=True):
        leader = int(graph.group_node[group])
        if leader >= 0 and leader != node:
            leaders[node] = leader
    return leaders


def _made_with_sums(
    graph: PlacementGraph, leaders: Mapping[int, int], sums: Mapping[int, Any]
) -> dict[int, int]:
    """Return nodes with the sum in whose group they were created, even if the group has the name of another node."""
    has_sum = {leaders.get(node, node) for node in sums}
    sum_of: dict[int, int] = {}
    for node in sorted(leaders):
        if node in sums or leaders[node] not in has_sum:
            continue
        for edge in graph.in_edges(node):
            source = int(graph.src[edge])
            of_sum = source if source in sums else sum_of.get(source)
            is_together = leaders[node] in (source, leaders.get(source))
            if graph.dst_input[edge] != CONTROL and of_sum is not None and is_together:
                sum_of[node] = of_sum
                break
    return sum_of


def _grouped(graph: PlacementGraph, root: Mapping[int, int]) -> PlacementGraph:
    """Return the graph with some nodes in the groups of other nodes, or in none if the other node is itself."""
    names, leader = list(graph.groups), graph.group_node.tolist()
    number = {node: group for group, node in enumerate(leader) if node >= 0}
    entries = [
        entry
        for entry in zip(graph.class_node.tolist(), graph.class_group.tolist(), strict=True)
        if entry[0] not in root
    ]
    for node, other in root.items():
        if node == other:
            continue
        if other not in number:
            number[other] = len(names)
            names.append(graph.names[other])
            leader.append(other)
        entries.append((node, number[other]))
    entries.sort(key=lambda entry: entry[0])
    nodes, groups = [node for node, _ in entries], [group for _, group in entries]
    return graph.changed(
        groups=tuple(names),
        group_node=np.array(leader, dtype=np.int32),
        class_node=np.array(nodes, dtype=np.int32),
        class_group=np.array(groups, dtype=np.int32),
    )


@dataclass(frozen=True, eq=False)
class Barriers:
    """Barriers of a step that may be on any device."""

    groups: Ints
    """[barriers] group of each, without other nodes."""
    homes: Ints
    """[barriers] device to use if the nodes that it waits for are on several devices."""
    first: Ints
    """[barriers] start of each barrier's groups in `awaited`."""
    awaited: Ints
    """Groups that the barriers wait for."""

    def place_barriers(self, homes: Ints) -> Ints:
        """Put barriers on the device of the nodes that they wait for.

        Args:
            homes: [groups] devices; changed, and returned.
        """
        if len(self.groups):
            where = homes[self.awaited]
            least, most = np.minimum.reduceat(where, self.first), np.maximum.reduceat(where, self.first)
            homes[self.groups] = np.where(least == most, least, self.homes)
        return homes


def barrier_groups(candidates: Candidates, runs: Bools, kept: Collection[int]) -> tuple[Barriers, Ints]:
    """Return the barriers that run, and the groups of uncontrolled nodes.

    Args:
        candidates: candidate devices of the graph.
        runs: [groups] whether the step runs the group.
        kept: nodes whose device must not be chosen.
    """
    graph, group = candidates.placement.graph, candidates.group
    is_alone = np.bincount(group, minlength=len(runs)) == 1
    uncontrolled = [
        int(group[node]) for node in uncontrolled_nodes(graph) if node not in kept and is_alone[group[node]]
    ]
    chosen: list[int] = []
    first: list[int] = []
    awaited: list[int] = []
    for barrier, waits in gradient_barriers(graph).items():
        own = int(group[barrier])
        if waits and barrier not in kept and runs[own] and is_alone[own] and candidates.allowed[own].all():
            chosen.append(own)
            first.append(len(awaited))
            awaited.extend(group[waits].tolist())
    groups = np.array(chosen, dtype=np.int64)
    barriers = Barriers(
        groups, candidates.default[groups], np.array(first, dtype=np.int64), np.array(awaited, dtype=np.int64)
    )
    return barriers, np.array(uncontrolled, dtype=np.int64)
