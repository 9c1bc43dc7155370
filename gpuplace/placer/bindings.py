"""The groups of nodes that must share a device, and the constraints of each group.

Bindings come from edges whose consumer declares a reference or resource input, from edges between two datasets, and
from `_class`. Edges are merged first::

    v (VariableV2) ══ref══> Assign          x ──> read (Identity, _class=[loc:@v])
                              ▲                                      │
                            zeros                     colocated with v, Assign

Almost all groups are *easy*: at most one device is requested, no kernel has a priority, and some device type supports
all nodes. The order of merging does not matter for them, so they are formed by arrays: connected components, an
intersection of bit masks, one table lookup. All other groups go through `Grouping`, merge by merge, in TensorFlow's
order.

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
"""Maximum number of nodes searched to list the groups of conflicts; later conflicts list two nodes only."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A binding that cannot be satisfied."""

    binding: Binding
    first: int
    """The source of the edge, or the node with the `_class` entry."""
    second: int
    """The destination of the edge, or the first node of the colocation group."""
    message: str
    is_whole: bool
    """Whether `message` is TensorFlow's complete sentence."""
    group: tuple[int, ...]
    """The nodes of both groups; only the two nodes if there are very many conflicts."""


class Bindings:
    """All bindings of a graph, as pairs of nodes in the order in which TensorFlow merges them.

    Attributes:
        kind: [pairs] kind of the consumer's input (`REF`, `RESOURCE`, `VARIANT`), or -1 for `_class`.
        first, second: [pairs] source and destination of the edge; or the node with the entry and the first node of its
            group.
        calls: the calls that return resources, in the order in which TensorFlow inspects them.
        component: [nodes] the smallest node connected to each node by any chain of bindings.
        bound: the nodes with at least one binding, ascending.
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
        """Return kind, source and destination of the binding edges; edges between datasets bind in 2.x only."""
        kinds = [
            mapped(fact.input_kinds, lambda input_kind: input_kind if input_kind == VARIANT else 0)
            if fact.is_exempt
            else fact.input_kinds
            for fact in facts
        ]
        empty = np.zeros(0, dtype=np.int64)
        different = [different_items(of_inputs) for of_inputs in kinds]
        if not any(any(flags) for flags in different):
            return empty, empty, empty
        may_bind = np.array([any(flags) for flags in different])
        dst_signature = graph.signature[graph.dst]
        edges = np.flatnonzero(may_bind[dst_signature] & (graph.dst_input != CONTROL))
        input_kind = pick(kinds, dst_signature[edges], graph.dst_input[edges])
        is_dataset = np.array([fact.is_dataset and rules == "2.21" for fact in facts])
        both = is_dataset[dst_signature[edges]] & is_dataset[graph.signature[graph.src[edges]]]
        keep = (input_kind == REF) | (input_kind == RESOURCE) | ((input_kind == VARIANT) & both)
        if graph.inspections:
            calls = np.array(list(graph.inspections), dtype=np.int64)
            keep &= ~np.isin(graph.dst[edges], calls) & ~np.isin(graph.src[edges], calls)
        edges, input_kind = edges[keep], input_kind[keep]
        rank = graph.rank
        src, dst = graph.src[edges], graph.dst[edges]
        # TensorFlow adds edges with their consumers, and edges that close a loop after all others.
        if graph.edge_turn is not None:
            order = np.argsort(graph.edge_turn[edges], kind="stable")
        else:
            order = np.lexsort((rank[dst], rank[src] > rank[dst]))
        return input_kind[order], src[order], dst[order]

    @staticmethod
    def _classes(graph: PlacementGraph, rules: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the node and the first node of its group for each `_class` entry and each node that names a group.

        In 1.15 a node that names other groups is not in the group of its own name: with `b` colocated with `a` and `c`
        with `b`, `c` is not tied to any node. In 2.x all three are one group.
        """
        named = np.flatnonzero(graph.group_node >= 0)
        if rules == "1.15":
            named = named[~np.isin(graph.group_node[named], graph.class_node)]
        node = np.concatenate((graph.class_node, graph.group_node[named]))
        group = np.concatenate((graph.class_group, named))
        # A node is also in the group of its own name, after the groups that it names.
        is_own = np.arange(len(node)) >= len(graph.class_node)
        order = np.lexsort((is_own, graph.rank[node]))
        node, group = node[order], group[order]
        _, first = np.unique(group, return_index=True)
        root_of_group = np.full(len(graph.groups), -1, dtype=np.int64)
        root_of_group[group[first]] = node[first]
        root = root_of_group[group]
        keep = node != root
        return node[keep], root[keep]

    def binding(self, pair: int) -> Binding:
        """Return why the two nodes of a pair are bound."""
        kind = int(self.kind[pair])
        return Binding.COLOCATION if kind == _COLOCATION_KIND else _BINDING_OF_KIND[kind]

    @cached_property
    def _by_component(self) -> tuple[np.ndarray, np.ndarray]:
        label = self.component[self.first]
        order = np.argsort(label, kind="stable")
        return order, label[order]

    def pairs_of(self, component: int) -> np.ndarray:
        """Return the positions of a component's pairs, in order."""
        order, labels = self._by_component
        return order[np.searchsorted(labels, component) : np.searchsorted(labels, component, side="right")]

    @cached_property
    def _calls_by_component(self) -> dict[int, list[Call]]:
        calls: dict[int, list[Call]] = {}
        for call in self.calls:
            calls.setdefault(int(self.component[call.nodes[0]]), []).append(call)
        return calls

    def _calls_of(self, component: int) -> Sequence[Call]:
        return self._calls_by_component.get(component, ())

    def ties_of(self, node: int, inside: Mapping[int, Inside]) -> Iterator[tuple[Binding, int, int]]:
        """Yield all ties within a node's component; `inside` as in `Groups`."""
        component = int(self.component[node])
        for pair in self.pairs_of(component).tolist():
            yield self.binding(pair), int(self.first[pair]), int(self.second[pair])
        for call in self._calls_of(component):
            if call.node in inside:
                yield from call.ties(inside[call.node])

    def limits_of(
        self, node: int, inside: Mapping[int, Inside], group: Collection[int]
    ) -> Iterator[tuple[int, Member]]:
        """Yield the calls next to a group of a node's component, with their functions' constraints on the group."""
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
        """Merge nodes in TensorFlow's order: by edges, then by called functions, then by `_class`.

        Args:
            grouping: the partition that is changed.
            pairs: positions of the pairs, in order.
            calls: the calls between those nodes.
            soft: whether soft placement is allowed, which ignores a `_class` that cannot be satisfied.
            on_conflict: called with each binding that fails and must not be ignored.
            look_inside: returns the result of inspecting a call's function; None if the function itself
                cannot be placed.
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
        """Merge one component; `inside` holds the results of inspecting functions, by call."""
        calls = self._calls_of(component)
        self.replay(grouping, self.pairs_of(component), calls, soft, on_conflict, inside.get)

    def _listed(self, pairs: np.ndarray) -> Iterator[tuple[int, int, int]]:
        """Return kind, first and second node of pairs."""
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
        """Merge the neighbors of a call as its function's body requires, and apply the function's constraints."""
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
        """Return the nodes of a component, in graph order."""
        pairs = self.pairs_of(component)
        neighbors = [node for call in self._calls_of(component) for node in call.nodes]
        if not len(pairs) and not neighbors:
            return [component]
        tied = np.array(neighbors, dtype=np.int64)
        return numbered(np.concatenate((self.first[pairs], self.second[pairs], tied)))[0].tolist()


@dataclass(frozen=True)
class Groups:
    """The partition of a graph's nodes into groups, with the constraints of each group."""

    root: np.ndarray
    """[nodes] the node that represents the group."""
    kind: np.ndarray
    """[nodes] kind of the group; groups of one kind have the same constraints on every machine."""
    of_kind: np.ndarray
    """[kinds] index into `members`."""
    members: list[Member]
    """The distinct constraints."""
    inside: Mapping[int, Inside] = field(default_factory=dict)
    """The results of inspecting functions, for the calls that return resources."""

    @cached_property
    def member(self) -> np.ndarray:
        """[nodes] index into `members`."""
        return self.of_kind[self.kind]

    def constraints(self, node: int) -> Member:
        """Return the constraints of a node's group."""
        return self.members[self.of_kind[self.kind[node]]]


@dataclass(frozen=True)
class NodeMembers:
    """The constraints of single nodes before merging."""

    graph: PlacementGraph
    facts: Sequence[NodeFacts]
    requests: Sequence[ParsedName]
    """Parsed device name of each of the graph's distinct requests; malformed ones request nothing."""
    assigned: dict[int, ParsedName]
    """Device of each node that was assigned before placing."""

    def __call__(self, node: int) -> Member:
        fact = self.facts[self.graph.signature[node]]
        assigned_name = self.assigned.get(node)
        if assigned_name is not None:
            return Member(fact.supported, requested=assigned_name, assigned=assigned_name)
        request = self.requests[self.graph.device[node]]
        if request == ANY:
            return Member(fact.supported)
        return Member(fact.supported, requested=request, resource=request if fact.makes_state else ANY)


def without_xla(supported: SupportedTypes, name: ParsedName) -> SupportedTypes:
    """Remove XLA's own device types, unless one of them is requested or nothing else is left."""
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
    """Partition the nodes into groups and compute the constraints of each group.

    Args:
        bindings: the pairs of nodes that must share a device.
        kinds: the components, grouped by kind.
        single: the constraints of each node.
        type_priority: device type -> priority.
        soft: whether soft placement is allowed.
        on_conflict: called with each binding that cannot be satisfied; it may raise.
        look_inside: returns the result of inspecting the function of a call that returns resources; None if the
            function itself cannot be placed.
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

    # `Grouping` numbers the nodes of hard components from scratch; their kinds come after the easy ones.
    def look(call: int) -> Inside | None:
        result = look_inside(call) if look_inside is not None else None
        if result is not None:
            inside[call] = result
        return result

    bindings.replay(grouping, pairs, bindings.calls, soft, on_conflict, look)
    number_of: dict[Member, int] = {}
    for node in np.flatnonzero(np.isin(component, hard)).tolist():
        root[node] = grouping.find(node)
        constraints = grouping.constraints(node)
        kind[node] = len(of_kind) + number_of.setdefault(constraints, len(number_of))
    of_kind = np.concatenate((of_kind, np.arange(len(members), len(members) + len(number_of))))
    members += [
        replace(constraints, supported=without_xla(constraints.supported, constraints.requested))
        for constraints in number_of
    ]
    return Groups(root, kind, of_kind, members, inside)


class _Entries:
    """The signatures and requests of each kind, for one machine.

    Attributes:
        types: device types with priorities -> number.
        type: [entries] number of each entry's device types.
        names: the distinct requests; the first is empty.
        name: [entries] number of each entry's request.
        makes_state: [entries] whether the request is binding for all consumers of the node.
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
        """Return [kinds] whether something might clash, so that the component is merged in TensorFlow's order."""
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
        """Return [kinds] index of each kind's constraints, and the constraints; they are unused for hard kinds."""
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
        distinct, inverse = np.unique(code, return_inverse=True)
        types = tuple(self.types)
        members = []
        for value in distinct.tolist():
            (type_number, name_number), resource = divmod(value // 2, len(self.names)), value % 2
            name = self.names[name_number]
            supported = without_xla(types[type_number], name)
            members.append(Member(supported, requested=name, resource=name if resource else ANY))
        return inverse, members

    def _common(self) -> np.ndarray:
        """Return [kinds] a bit mask of the device types that all entries of a kind support."""
        common = np.full(len(self.kinds), -1, dtype=np.int64)
        np.bitwise_and.at(common, self.kinds.kind, self._masks()[self.type])
        return common

    def _device_types(self) -> list[str]:
        return list(dict.fromkeys(device_type for supported in self.types for device_type, _ in supported))

    def _masks(self) -> np.ndarray:
        """Return a bit mask for each list of device types.

        Raises:
            InvalidArgumentError: there are more than 62 device types, which does not occur in practice.
        """
        device_types = self._device_types()
        if len(device_types) > 62:
            raise InvalidArgumentError.of(
                f"The machine has {len(device_types)} device types; at most 62 are supported"
            )
        bit = {device_type: 1 << i for i, device_type in enumerate(device_types)}
        masks = [sum(bit[device_type] for device_type, _ in supported) for supported in self.types]
        return np.array(masks, dtype=np.int64)

    def _types_of_masks(self, common: np.ndarray) -> np.ndarray:
        """Return the numbers of the device-type lists that masks represent, without priorities."""
        device_types = self._device_types()
        of_mask = {
            mask: number
            for (supported, number), mask in zip(self.types.items(), self._masks().tolist(), strict=True)
            if not any(priority for _, priority in supported)
        }
        values, inverse = np.unique(common, return_inverse=True)
        numbers = []
        for value in values.tolist():
            if value not in of_mask:
                supported = tuple(
                    (device_type, 0) for i, device_type in enumerate(device_types) if value >> i & 1
                )
                of_mask[value] = self.types.setdefault(supported, len(self.types))
            numbers.append(of_mask[value])
        return np.array(numbers, dtype=np.int64)[inverse]
