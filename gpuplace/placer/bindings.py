"""Which nodes must share a device, and what binds each such group.

Bindings come from edges whose consumer declares a reference or resource input, from edges between two datasets, and
from `_class`; edges count first::

    v (VariableV2) ══ref══> Assign          x ──> read (Identity, _class=[loc:@v])
                              ▲                                      │
                            zeros                     colocated with v, Assign

Almost all groups are *easy*: their nodes ask for one device, or for none, their kernels have no priorities and some
device type serves all. For those the order of merging does not matter, and arrays do: connected components, an
intersection of bit masks, one table look-up. The rest go through `Grouping`, merge by merge, in TensorFlow's order.

Source: tensorflow/core/common_runtime/colocation_graph.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from gpuplace.device.parsed_name import ANY, ParsedName
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.long_list import different_items, mapped, pick
from gpuplace.placer.calls import Call, Inside, calls_of
from gpuplace.placer.components import components
from gpuplace.placer.grouping import Binding, Grouping, MergeConflict
from gpuplace.placer.kinds import Kinds, numbered
from gpuplace.placer.member import Member
from gpuplace.placer.node_facts import REF, RESOURCE, VARIANT, NodeFacts, SupportedTypes
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph

_BINDING_OF_KIND = {REF: Binding.REFERENCE, RESOURCE: Binding.RESOURCE, VARIANT: Binding.DATASET}
_COLOCATION_KIND = -1

_MAX_SEARCHED = 1 << 20
"""Nodes that are looked at to tell the groups of conflicts; after that a conflict names its two nodes only."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A binding that cannot be kept."""

    binding: Binding
    first: int
    """The source of the edge, or the node with the `_class` entry."""
    second: int
    """The destination of the edge, or the first node of the colocation group."""
    message: str
    is_whole: bool
    """Whether `message` is TensorFlow's whole sentence."""
    group: tuple[int, ...]
    """The nodes of both groups; where very many conflicts are kept, of the later ones only the two."""


class Bindings:
    """All bindings of a graph, as pairs of nodes in the order in which TensorFlow merges them.

    Attributes:
        kind: [pairs] kind of the consumer's input (`REF`, `RESOURCE`, `VARIANT`), or -1 for `_class`.
        first, second: [pairs] source and destination of the edge; node with the entry and first node of its group.
        calls: the calls that give back resources, in the order in which TensorFlow looks into them.
        component: [nodes] the smallest node that is tied to each node, by any chain of bindings.
        bound: the nodes that are tied to another, ascending.
    """

    def __init__(self, graph: PlacementGraph, facts: Sequence[NodeFacts], rules: str) -> None:
        self.graph = graph
        self.rules = rules
        kind, src, dst = self._edges(graph, facts, rules)
        node, root = self._classes(graph, rules)
        self.kind = np.concatenate((kind, np.full(len(node), _COLOCATION_KIND, dtype=np.int64)))
        self.first = np.concatenate((src, node)).astype(np.int64)
        self.second = np.concatenate((dst, root)).astype(np.int64)
        self.calls = calls_of(graph, facts, rules)
        ties = [(call.nodes[0], other) for call in self.calls for other in call.nodes[1:]]
        extra = np.array(ties, dtype=np.int64).reshape(-1, 2)
        self.component = components(
            len(graph), np.concatenate((self.first, extra[:, 0])), np.concatenate((self.second, extra[:, 1]))
        )
        inspected = np.array([node for call in self.calls for node in call.nodes], dtype=np.int64)
        is_bound = np.zeros(len(graph), dtype=bool)
        is_bound[self.first] = True
        is_bound[self.second] = True
        is_bound[inspected] = True
        self.bound = np.flatnonzero(is_bound)
        self.inspected = numbered(self.component[inspected])[0]

    @staticmethod
    def _edges(
        graph: PlacementGraph, facts: Sequence[NodeFacts], rules: str
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Kind, source and destination of the binding edges; edges between datasets bind in 2.x only."""
        kinds = [
            mapped(fact.input_kinds, lambda kind: kind if kind == VARIANT else 0)
            if fact.is_exempt
            else fact.input_kinds
            for fact in facts
        ]
        empty = np.zeros(0, dtype=np.int64)
        different = [different_items(of_inputs) for of_inputs in kinds]
        if not any(any(found) for found in different):
            return empty, empty, empty
        may_bind = np.array([any(found) for found in different])
        dst_signature = graph.signature[graph.dst]
        edges = np.flatnonzero(may_bind[dst_signature] & (graph.dst_input != CONTROL))
        kind = pick(kinds, dst_signature[edges], graph.dst_input[edges])
        is_dataset = np.array([fact.is_dataset and rules == "2.21" for fact in facts])
        both = is_dataset[dst_signature[edges]] & is_dataset[graph.signature[graph.src[edges]]]
        keep = (kind == REF) | (kind == RESOURCE) | ((kind == VARIANT) & both)
        if graph.inspections:
            calls = np.array(list(graph.inspections), dtype=np.int64)
            keep &= ~np.isin(graph.dst[edges], calls) & ~np.isin(graph.src[edges], calls)
        edges, kind = edges[keep], kind[keep]
        rank = graph.rank
        src, dst = graph.src[edges], graph.dst[edges]
        # Edges come into being with their consumer, those that close a loop after all others.
        if graph.edge_turn is not None:
            turn = np.argsort(graph.edge_turn[edges], kind="stable")
        else:
            turn = np.lexsort((rank[dst], rank[src] > rank[dst]))
        return kind[turn], src[turn], dst[turn]

    @staticmethod
    def _classes(graph: PlacementGraph, rules: str) -> tuple[np.ndarray, np.ndarray]:
        """Node and first node of its group, for each `_class` entry and each node that gives a group its name.

        In 1.15 a node that names other groups is not in the group that bears its own name: with `b` colocated with `a`
        and `c` with `b`, `c` is tied to nobody. In 2.x all three are one group.
        """
        named = np.flatnonzero(graph.group_node >= 0)
        if rules == "1.15":
            named = named[~np.isin(graph.group_node[named], graph.class_node)]
        node = np.concatenate((graph.class_node, graph.group_node[named]))
        group = np.concatenate((graph.class_group, named))
        # A node stands in its own group too, after those that it names.
        is_own = np.arange(len(node)) >= len(graph.class_node)
        turn = np.lexsort((is_own, graph.rank[node]))
        node, group = node[turn], group[turn]
        _, first = np.unique(group, return_index=True)
        root_of_group = np.full(len(graph.groups), -1, dtype=np.int64)
        root_of_group[group[first]] = node[first]
        root = root_of_group[group]
        keep = node != root
        return node[keep], root[keep]

    def binding(self, pair: int) -> Binding:
        """Why the two nodes of a pair are bound."""
        kind = int(self.kind[pair])
        return Binding.COLOCATION if kind == _COLOCATION_KIND else _BINDING_OF_KIND[kind]

    @cached_property
    def _by_component(self) -> tuple[np.ndarray, np.ndarray]:
        label = self.component[self.first]
        order = np.argsort(label, kind="stable")
        return order, label[order]

    def pairs_of(self, component: int) -> np.ndarray:
        """Positions of the pairs of a component, in order."""
        order, labels = self._by_component
        return order[np.searchsorted(labels, component) : np.searchsorted(labels, component, side="right")]

    @cached_property
    def _calls_by_component(self) -> dict[int, list[Call]]:
        found: dict[int, list[Call]] = {}
        for call in self.calls:
            found.setdefault(int(self.component[call.nodes[0]]), []).append(call)
        return found

    def _calls_of(self, component: int) -> Sequence[Call]:
        return self._calls_by_component.get(component, ())

    def ties_of(self, node: int, inside: Mapping[int, Inside]) -> Iterator[tuple[Binding, int, int]]:
        """Everything that ties nodes of a node's component; `inside` as in `Groups`."""
        component = int(self.component[node])
        for pair in self.pairs_of(component).tolist():
            yield self.binding(pair), int(self.first[pair]), int(self.second[pair])
        for call in self._calls_of(component):
            if call.node in inside:
                yield from call.ties(inside[call.node])

    def limits_of(
        self, node: int, inside: Mapping[int, Inside], group: Collection[int]
    ) -> Iterator[tuple[int, Member]]:
        """The calls next to a group of a node's component, and what their functions limit the group to."""
        for call in self._calls_of(int(self.component[node])):
            if call.node in inside:
                for number, ((first, _), *_) in call.groups(inside[call.node]).items():
                    if first in group:
                        yield call.node, inside[call.node].members[number]

    def replay(
        self,
        grouping: Grouping,
        pairs: np.ndarray,
        calls: Iterable[Call],
        soft: bool,
        on_conflict: Callable[[Conflict], None],
        look_inside: Callable[[int], Inside | None],
    ) -> None:
        """Merges nodes in TensorFlow's order: by edges, by what called functions say, by `_class`.

        Args:
            grouping: what is merged.
            pairs: positions of the pairs, in order.
            calls: the calls between those nodes.
            soft: whether soft placement is allowed, which ignores a `_class` that cannot be.
            on_conflict: hears of each binding that fails and must not be ignored.
            look_inside: what the body of a called function says; None where it cannot be placed itself.
        """
        is_edge = self.kind[pairs] != _COLOCATION_KIND
        for kind, first, second in self._listed(pairs[is_edge]):
            if grouping.find(first) != grouping.find(second):
                self._bind_edge(grouping, _BINDING_OF_KIND[kind], first, second, on_conflict)
        for call in calls:
            inside = look_inside(call.node)
            if inside is not None:
                self._bind_call(grouping, call, inside, on_conflict)
        for _, first, second in self._listed(pairs[~is_edge]):
            if grouping.find(first) == grouping.find(second):
                continue
            try:
                grouping.colocate(first, second)
            except MergeConflict as conflict:
                if not soft:
                    on_conflict(self._conflict(grouping, Binding.COLOCATION, first, second, conflict))

    def replay_component(
        self,
        grouping: Grouping,
        component: int,
        soft: bool,
        on_conflict: Callable[[Conflict], None],
        inside: Mapping[int, Inside],
    ) -> None:
        """Merges one component; `inside` is what was found in the functions of the graph's calls, by call."""
        calls = self._calls_of(component)
        self.replay(grouping, self.pairs_of(component), calls, soft, on_conflict, inside.get)

    def _listed(self, pairs: np.ndarray) -> Iterator[tuple[int, int, int]]:
        """Kind, first and second of pairs."""
        columns = (self.kind[pairs], self.first[pairs], self.second[pairs])
        return zip(*(column.tolist() for column in columns), strict=True)

    def _bind_edge(
        self,
        grouping: Grouping,
        why: Binding,
        src: int,
        dst: int,
        on_conflict: Callable[[Conflict], None],
    ) -> None:
        names, op_type = self.graph.names, self.graph.op_type
        ends = names[src], names[dst]
        if self.rules == "2.21":
            ends = f"name='{ends[0]}' (op='{op_type(src)}')", f"name='{ends[1]}' (op='{op_type(dst)}')"
        try:
            grouping.bind_edge(why, src, dst, ends)
        except MergeConflict as conflict:
            on_conflict(self._conflict(grouping, why, src, dst, conflict))

    def _bind_call(
        self, grouping: Grouping, call: Call, inside: Inside, on_conflict: Callable[[Conflict], None]
    ) -> None:
        """Merges the neighbours of a call as its function's body says, and limits them to what it asks for."""
        for why, first, other in call.ties(inside):
            if grouping.find(first) == grouping.find(other):
                continue
            if why is Binding.RESOURCE:
                self._bind_edge(grouping, why, first, other, on_conflict)
                continue
            try:
                grouping.colocate(first, other, why)
            except MergeConflict as conflict:
                on_conflict(self._conflict(grouping, why, first, other, conflict))
        for group, ((first, _), *_) in call.groups(inside).items():
            try:
                grouping.limit(first, inside.members[group])
            except MergeConflict as conflict:
                on_conflict(self._conflict(grouping, Binding.CALL, first, call.node, conflict))

    def _conflict(
        self, grouping: Grouping, why: Binding, first: int, second: int, conflict: MergeConflict
    ) -> Conflict:
        group: tuple[int, ...] = tuple(sorted({first, second}))
        if grouping.searched < _MAX_SEARCHED:
            nodes = self.nodes_of(int(self.component[first]))
            grouping.searched += len(nodes)
            roots = {grouping.find(first), grouping.find(second)}
            group = tuple(node for node in nodes if grouping.find(node) in roots)
        return Conflict(why, first, second, conflict.message, conflict.is_whole, group)

    def nodes_of(self, component: int) -> list[int]:
        """The nodes of a component, in order of the graph."""
        pairs = self.pairs_of(component)
        around = [node for call in self._calls_of(component) for node in call.nodes]
        if not len(pairs) and not around:
            return [component]
        tied = np.array(around, dtype=np.int64)
        return numbered(np.concatenate((self.first[pairs], self.second[pairs], tied)))[0].tolist()


@dataclass(frozen=True)
class Groups:
    """The partition of a graph's nodes with the constraints of each part."""

    root: np.ndarray
    """[nodes] a node that stands for the group."""
    kind: np.ndarray
    """[nodes] kind of the group: groups of one kind have the same constraints on every machine."""
    of_kind: np.ndarray
    """[kinds] index into `members`."""
    members: list[Member]
    """The distinct constraints."""
    inside: Mapping[int, Inside] = field(default_factory=dict)
    """What was found in the functions of calls that give back resources, by call."""

    @cached_property
    def member(self) -> np.ndarray:
        """[nodes] index into `members`."""
        return self.of_kind[self.kind]

    def constraints(self, node: int) -> Member:
        """Constraints of a node's group."""
        return self.members[self.of_kind[self.kind[node]]]


@dataclass(frozen=True)
class NodeMembers:
    """The constraints of single nodes, before any merging."""

    graph: PlacementGraph
    facts: Sequence[NodeFacts]
    requests: Sequence[ParsedName]
    """Parsed device name of each of the graph's devices; malformed ones ask for nothing."""
    assigned: dict[int, ParsedName]
    """Device of the nodes that already have one."""

    def __call__(self, node: int) -> Member:
        fact = self.facts[self.graph.signature[node]]
        given = self.assigned.get(node)
        if given is not None:
            return Member(fact.supported, requested=given, assigned=given)
        request = self.requests[self.graph.device[node]]
        if request == ANY:
            return Member(fact.supported)
        return Member(fact.supported, requested=request, resource=request if fact.makes_state else ANY)


def without_xla(supported: SupportedTypes, name: ParsedName) -> SupportedTypes:
    """Device types without XLA's own, unless one of them was asked for or nothing else is left."""
    if name.type is not None and name.type.startswith("XLA_"):
        return supported
    others = tuple(item for item in supported if not item[0].startswith("XLA_"))
    return others or supported


def form_groups(
    bindings: Bindings,
    kinds: Kinds,
    single: NodeMembers,
    type_priority: dict[str, int],
    *,
    soft: bool,
    on_conflict: Callable[[Conflict], None],
    look_inside: Callable[[int], Inside | None] | None = None,
) -> Groups:
    """Partitions the nodes and finds the constraints of each part.

    Args:
        bindings: the pairs of nodes that belong together.
        kinds: which components are alike.
        single: the constraints of each node.
        type_priority: device type -> priority.
        soft: whether soft placement is allowed.
        on_conflict: hears of each binding that cannot be kept, and may raise.
        look_inside: what the body of a called function says, for calls that give back resources; None where it cannot
            be placed itself.
    """
    entries = _Entries(kinds, single)
    is_hard = entries.hard()
    of_kind, members = entries.members(is_hard)
    component = bindings.component
    hard: np.ndarray = component[list(single.assigned)]
    if is_hard.any():
        hard = np.concatenate((hard, component[is_hard[kinds.of_node]]))
    hard = np.concatenate((hard, bindings.inspected))
    if not len(hard):
        return Groups(component, kinds.of_node, of_kind, members)
    hard = numbered(hard)[0]
    root, kind = component.copy(), kinds.of_node.copy()
    grouping = Grouping(single, type_priority, soft=soft, rules=bindings.rules)
    pairs = np.flatnonzero(np.isin(component[bindings.first], hard))
    inside: dict[int, Inside] = {}

    def look(call: int) -> Inside | None:
        found = look_inside(call) if look_inside is not None else None
        if found is not None:
            inside[call] = found
        return found

    bindings.replay(grouping, pairs, bindings.calls, soft, on_conflict, look)
    known: dict[Member, int] = {}
    for node in np.flatnonzero(np.isin(component, hard)).tolist():
        root[node] = grouping.find(node)
        constraints = grouping.constraints(node)
        kind[node] = len(of_kind) + known.setdefault(constraints, len(known))
    of_kind = np.concatenate((of_kind, np.arange(len(members), len(members) + len(known))))
    members += [
        replace(constraints, supported=without_xla(constraints.supported, constraints.requested))
        for constraints in known
    ]
    return Groups(root, kind, of_kind, members, inside)


class _Entries:
    """What a machine makes of the signatures and requests of each kind.

    Attributes:
        types: device types with priorities -> number.
        type: [entries] number of each entry's device types.
        names: the distinct requests; the first asks for nothing.
        name: [entries] number of each entry's request.
        makes_state: [entries] the request binds whoever uses the node.
    """

    def __init__(self, kinds: Kinds, single: NodeMembers) -> None:
        self.kinds = kinds
        self.types: dict[SupportedTypes, int] = {}
        type_id = [self.types.setdefault(fact.supported, len(self.types)) for fact in single.facts]
        names: dict[ParsedName, int] = {ANY: 0}
        name_id = [names.setdefault(name, len(names)) for name in single.requests]
        makes_state = np.array([fact.makes_state for fact in single.facts], dtype=bool)
        self.type = np.array(type_id, dtype=np.int64)[kinds.signature]
        self.names = tuple(names)
        self.name = np.array(name_id, dtype=np.int64)[kinds.device]
        self.makes_state = makes_state[kinds.signature] & (self.name > 0)

    def hard(self) -> np.ndarray:
        """[kinds] whether something might clash: components that have to be merged in TensorFlow's order."""
        kind, size = self.kinds.kind, len(self.kinds)
        largest = np.zeros(size, dtype=np.int64)
        np.maximum.at(largest, kind, self.name)
        clash = (self.name > 0) & (self.name != largest[kind])
        prioritized = [any(priority for _, priority in supported) for supported in self.types]
        clash |= np.array(prioritized, dtype=bool)[self.type]
        common = self._common()
        is_hard = common == 0
        is_hard[kind[clash]] = True
        return is_hard & self.kinds.is_bound

    def members(self, is_hard: np.ndarray) -> tuple[np.ndarray, list[Member]]:
        """[kinds] number of the constraints of each kind, and the constraints; of hard ones they mean nothing."""
        kinds = self.kinds
        size = len(kinds)
        type_of, name_of = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        is_state = np.zeros(size, dtype=bool)
        np.maximum.at(name_of, kinds.kind, self.name)
        np.logical_or.at(is_state, kinds.kind, self.makes_state)
        type_of[kinds.kind] = self.type
        easy = np.flatnonzero(kinds.is_bound & ~is_hard)
        if len(easy):
            type_of[easy] = self._types_of_masks(self._common()[easy])
        code = (type_of * len(self.names) + name_of) * 2 + is_state
        distinct, place = np.unique(code, return_inverse=True)
        types = tuple(self.types)
        members = []
        for value in distinct.tolist():
            (type_number, name_number), resource = divmod(value // 2, len(self.names)), value % 2
            name = self.names[name_number]
            supported = without_xla(types[type_number], name)
            members.append(Member(supported, requested=name, resource=name if resource else ANY))
        return place, members

    def _common(self) -> np.ndarray:
        """[kinds] a bit for each device type that all of a kind's entries have."""
        common = np.full(len(self.kinds), -1, dtype=np.int64)
        np.bitwise_and.at(common, self.kinds.kind, self._masks()[self.type])
        return common

    def _device_types(self) -> list[str]:
        return list(dict.fromkeys(kind for supported in self.types for kind, _ in supported))

    def _masks(self) -> np.ndarray:
        """A bit per device type; more than 62 types are never reached in practice, so they are refused."""
        kinds = self._device_types()
        if len(kinds) > 62:
            raise InvalidArgumentError.of(f"{len(kinds)} device types: at most 62 can be distinguished")
        bit = {kind: 1 << i for i, kind in enumerate(kinds)}
        masks = [sum(bit[kind] for kind, _ in supported) for supported in self.types]
        return np.array(masks, dtype=np.int64)

    def _types_of_masks(self, common: np.ndarray) -> np.ndarray:
        """Numbers of the device types that stand for masks, without priorities."""
        device_types = self._device_types()
        of_mask = {
            mask: number
            for (supported, number), mask in zip(self.types.items(), self._masks().tolist(), strict=True)
            if not any(priority for _, priority in supported)
        }
        values, place = np.unique(common, return_inverse=True)
        numbers = []
        for value in values.tolist():
            if value not in of_mask:
                supported = tuple((kind, 0) for i, kind in enumerate(device_types) if value >> i & 1)
                of_mask[value] = self.types.setdefault(supported, len(self.types))
            numbers.append(of_mask[value])
        return np.array(numbers, dtype=np.int64)[place]
