"""What `gradients` makes anew of some nodes when a program's own lines run within other devices.

Sums of a tensor's gradients: what asks for one device is summed there, in one group with the first of them; then the
sums of the devices, in no group. So there can be more of them, and those that follow have other numbers::

    before          gradients/AddN       of a, b, c, all on one device
                    gradients/AddN_1     of d, e
    a, b on GPU:0   gradients/AddN       of a, b              on GPU:0, with a
    c on GPU:1      gradients/AddN_1     of AddN and c        where it is told to be
                    gradients/AddN_2     of d, e

What is made in a group with a sum, as what follows its gate, goes with the sum.

Gates, the NoOps by which an op's gradients wait for each other: they ask for the device that all of what they wait for
asks for, for none if those are several, and no function of ``tf.device`` is asked about them.

Nor is one about what is made within ``tf.device(None)``, or is the value of a resource variable that is cached for a
loop; what asks for nothing there is where the placer puts it.

Source: tensorflow/python/ops/gradients_util.py (_MultiDeviceAddN, and the gates within ``tf.device(None)``),
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

from gpuplace.advisor.steps.freedom import Freedom
from gpuplace.graph.graph import Graph
from gpuplace.graph.op_sets import VARIABLE_OPS
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_SUM = re.compile(r"((?:.*/)?gradients(?:_\d+)?/AddN)(?:_\d+)?")
_CACHED = "/Read/Identity"
_GATE = re.compile(r"(.*/)?gradients(_\d+)?/.*_grad/tuple/group_deps")


def sums_of_gradients(graph: PlacementGraph) -> dict[int, tuple[str, list[int]]]:
    """Sum of a tensor's gradients -> its name without a number, and the nodes that it sums; in the graph's order."""
    found = {}
    for node in np.flatnonzero(graph.of_types({"AddN"})).tolist():
        name = _SUM.fullmatch(graph.names[node])
        if name:
            edges = [edge for edge in graph.in_edges(node) if graph.dst_input[edge] != CONTROL]
            found[node] = name[1], [int(graph.src[edge]) for edge in edges]
    return found


def gates_of_gradients(graph: PlacementGraph) -> dict[int, list[int]]:
    """Gate -> the nodes that it waits for."""
    return {
        node: [int(graph.src[edge]) for edge in graph.in_edges(node)]
        for node in np.flatnonzero(graph.of_types({"NoOp"})).tolist()
        if _GATE.fullmatch(graph.names[node])
    }


def untold_nodes(graph: PlacementGraph) -> list[int]:
    """Nodes that ask for nothing, made where no function is asked: cached values, and within ``tf.device(None)``.

    The latter are known of a `Graph` alone.
    """
    found = [
        node
        for node, name in enumerate(graph.names)
        if name.endswith(_CACHED) and graph.op_type(node) == "Identity" and not graph.requested_device(node)
    ]
    if isinstance(graph.source, Graph):
        found += [
            graph.index[op.name]
            for op in graph.source.get_operations()
            if any(scope.stops for scope in op.device_scopes) and not op.device and op.name in graph.index
        ]
    return found


def with_the_untold(freedom: Freedom, devices: Ints, chosen: Bools) -> Ints:
    """[nodes] devices, with gates and what nothing can be told where a program that asks for the others has them.

    Args:
        freedom: what may be chosen.
        devices: [nodes] devices.
        chosen: [nodes] what is not to be changed.
    """
    found = devices.copy()
    is_alone = np.bincount(freedom.group)[freedom.group] == 1
    for node in untold_nodes(freedom.placement.graph):
        if is_alone[node] and not chosen[node]:
            found[node] = freedom.default[freedom.group[node]]
    for gate, waits in gates_of_gradients(freedom.placement.graph).items():
        group = int(freedom.group[gate])
        if chosen[gate] or not waits:
            continue
        wanted = set(found[waits].tolist())
        device = wanted.pop() if len(wanted) == 1 else int(freedom.default[group])
        if freedom.allowed[group, device]:
            found[gate] = device
    return found


class Rebuilt(NamedTuple):
    """A program as it is when it is built within a function of devices."""

    requests: list[str]
    """[nodes] what each asks for."""
    graph: PlacementGraph
    """Its nodes in the groups that they are in then."""
    names: dict[int, str]
    """Sum of what several devices have -> its name then."""


class Rebuilding:
    """A program, ready to be built within functions of devices.

    Args:
        graph: of the program as it is.
        own: [nodes] whether it is of the program.
    """

    def __init__(self, graph: PlacementGraph, own: Sequence[bool]) -> None:
        self.graph, self.own = graph, own
        self.sums, self.gates = sums_of_gradients(graph), gates_of_gradients(graph)
        self.untold = untold_nodes(graph)
        self._asked = [graph.requested_device(node) for node in range(len(graph))]
        self._in_group = frozenset(graph.class_node.tolist())
        self._leaders = _leaders(graph)
        self._with_sums = _made_with_sums(graph, self._leaders, self.sums)
        is_variable = graph.of_types(VARIABLE_OPS)
        self._follows = [
            (node, leader, bool(is_variable[node]))
            for node, leader in (self._leaders | self._with_sums).items()
            if node not in self.sums
        ]

    def by(self, told: Callable[[str], str | None]) -> Rebuilt:
        """What nodes ask for, and what they are in one group with, when the program is built within a function.

        Args:
            told: what the function gives for a name; None or ``""``: what the program asks for.
        """
        graph, asked, sums = self.graph, self._asked, self.sums
        found = [
            (told(name) or request) if is_own else request
            for name, request, is_own in zip(graph.names, asked, self.own, strict=True)
        ]
        for node in self.untold:
            found[node] = asked[node]
        leader_of = [
            (node, leader) for node, leader, is_variable in self._follows if not (is_variable and found[node])
        ]
        names: dict[int, str] = {}
        for _ in range(
            len(sums) + 2
        ):  # a sum may be of sums, and what is in a group with one asks for the same
            before, names = list(found), {}
            for node, leader in leader_of:
                found[node] = found[leader]
            made: Counter[str] = Counter()
            for node, (stem, summands) in sums.items():
                device = _shared(found, summands)
                if device is None:
                    devices = Counter([found[other] for other in summands])
                    made[stem] += sum(count > 1 for count in devices.values())
                    names[node] = f"{stem}_{made[stem]}" if made[stem] else stem
                    device = told(names[node]) or self._by_itself(node)
                found[node] = device
                made[stem] += 1
            for gate, waits in self.gates.items():
                found[gate] = _shared(found, waits) or ""
            if found == before:
                break
        return Rebuilt(found, _grouped(graph, self._roots(names)), names)

    def _by_itself(self, node: int) -> str:
        """What a sum asks for by itself: a program that says nothing of it has it in no group, with no device."""
        return "" if node in self._in_group else self._asked[node]

    def _roots(self, names: Mapping[int, str]) -> dict[int, int]:
        """Sum, or what is made with one -> the node in whose group it is; itself for none.

        Args:
            names: of the sums of what several devices have.
        """
        root = dict(self._leaders)
        chosen = sorted({*self.sums, *self._with_sums})  # sums first, as they are made first
        for node in chosen:
            if node in self.sums:
                first = self.sums[node][1][0]
                root[node] = node if node in names else root.get(first, first)
            else:
                root[node] = root[self._with_sums[node]]
        return {node: root[node] for node in chosen}


def _shared(asked: Sequence[str], nodes: Sequence[int]) -> str | None:
    """What all of some nodes ask for; None where that is not one thing."""
    if not nodes:
        return None
    first = asked[nodes[0]]
    for node in nodes:
        if asked[node] != first:
            return None
    return first


def _leaders(graph: PlacementGraph) -> dict[int, int]:
    """Node -> the other node whose group it is in."""
    found = {}
    for node, group in zip(graph.class_node.tolist(), graph.class_group.tolist(), strict=True):
        leader = int(graph.group_node[group])
        if leader >= 0 and leader != node:
            found[node] = leader
    return found


def _made_with_sums(
    graph: PlacementGraph, leaders: Mapping[int, int], sums: Mapping[int, Any]
) -> dict[int, int]:
    """Node -> the sum in whose group it was made, though that has another's name while all is on one device."""
    has_sum = {leaders.get(node, node) for node in sums}
    found: dict[int, int] = {}
    for node in sorted(leaders):
        if node in sums or leaders[node] not in has_sum:
            continue
        for edge in graph.in_edges(node):
            source = int(graph.src[edge])
            of_sum = source if source in sums else found.get(source)
            is_together = leaders[node] in (source, leaders.get(source))
            if graph.dst_input[edge] != CONTROL and of_sum is not None and is_together:
                found[node] = of_sum
                break
    return found


def _grouped(graph: PlacementGraph, root: Mapping[int, int]) -> PlacementGraph:
    """The graph with some nodes in other groups: each in that of another node, or in none where that is itself."""
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
class Gates:
    """The gates of a step that may be on any device."""

    groups: Ints
    """[gates] group of each, which holds nothing else."""
    homes: Ints
    """[gates] the device of each where what it waits for is apart."""
    first: Ints
    """[gates] where its own begin among `awaited`."""
    awaited: Ints
    """Groups that gates wait for."""

    def shut(self, homes: Ints) -> Ints:
        """Puts gates where what they wait for is.

        Args:
            homes: [groups] devices; changed, and returned.
        """
        if len(self.groups):
            where = homes[self.awaited]
            least, most = np.minimum.reduceat(where, self.first), np.maximum.reduceat(where, self.first)
            homes[self.groups] = np.where(least == most, least, self.homes)
        return homes


def gate_groups(freedom: Freedom, runs: Bools, kept: Collection[int]) -> tuple[Gates, Ints]:
    """The gates that run, and the groups of what cannot be told a device.

    Args:
        freedom: what may be chosen.
        runs: [groups] whether the step runs any of it.
        kept: nodes whose device is not to be chosen.
    """
    graph, group = freedom.placement.graph, freedom.group
    is_alone = np.bincount(group, minlength=len(runs)) == 1
    untold = [int(group[node]) for node in untold_nodes(graph) if node not in kept and is_alone[group[node]]]
    chosen: list[int] = []
    first: list[int] = []
    awaited: list[int] = []
    for gate, waits in gates_of_gradients(graph).items():
        own = int(group[gate])
        if waits and gate not in kept and runs[own] and is_alone[own] and freedom.allowed[own].all():
            chosen.append(own)
            first.append(len(awaited))
            awaited.extend(group[waits].tolist())
    groups = np.array(chosen, dtype=np.int64)
    gates = Gates(
        groups, freedom.default[groups], np.array(first, dtype=np.int64), np.array(awaited, dtype=np.int64)
    )
    return gates, np.array(untold, dtype=np.int64)
