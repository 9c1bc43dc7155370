"""Nodes whose explanations are equal except for names, so that one explanation serves them all.

The layers of a deep model, and the towers of a distributed one, repeat each other. A node's explanation follows from
its component (`Bindings`: the nodes tied to each other by colocation, references and resources). If the component
follows its input or its consumers, it also follows from their components. Components that agree in all this are twins:
a name in one explanation stands for the node at the same position in the other::

    conv1/w ══ conv1/Assign        "conv1/Assign, tied to it, asks for '/gpu:0'"
    conv2/w ══ conv2/Assign        "{member 1}, tied to it, asks for '/gpu:0'"

A component with properties that this module does not handle (calls, conflicts) has no twins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from gpuplace.placer.host_data import host_readers
from gpuplace.why.placement import Placement
from gpuplace.why.verdict import verdicts_of

Text = str | tuple[str | int, ...]
"""A text, or its pieces, in which an integer stands for a node's name, as an index into `Twins.names`."""

_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
"""Pattern of TensorFlow's node names."""
_MOST_FOLLOWED = 16
"""Maximum number of components that a component with twins may follow."""
_DEEPEST = 50
"""Maximum length of a chain of components that follow each other and have twins."""


class Twins:
    """The classes of a placement's nodes with equal explanations.

    Args:
        placement: a `Placement`.
    """

    def __init__(self, placement: Placement) -> None:
        self.placement, self.graph = placement, placement.graph
        self.bindings = placement.placer.bindings
        self.component = self.bindings.component
        self.members: dict[int, list[int]] = {}
        for node, component in enumerate(self.component.tolist()):
            self.members.setdefault(component, []).append(node)
        self._op_types = set(self.graph.op_types)
        self._with_calls = set(self.bindings.inspected.tolist())
        self._classes: dict[int, int] = {}
        self._numbers: dict[tuple[object, ...], int] = {}
        self._related: dict[int, tuple[int, ...]] = {}
        self._names: dict[int, list[str]] = {}
        if self.is_comparable:
            self._facts = _facts(placement)
            self._culprit = verdicts_of(placement).culprit.tolist()

    @property
    def is_comparable(self) -> bool:
        """Whether nodes of the placement can have twins."""
        placement = self.placement
        complete = placement.partition is not None and placement.decisions is not None
        return complete and not placement.faults

    def class_of(self, node: int) -> tuple[int, int] | None:
        """Return a value that is equal for twins, or None for a node that needs its own explanation.

        Args:
            node: position of the node.
        """
        if not self.is_comparable:
            return None
        component = int(self.component[node])
        number = self._class(component, 0)
        return None if number < 0 else (number, self.members[component].index(node))

    def names(self, node: int) -> list[str]:
        """Return the names that the explanation of a node may contain; those of its twins are in the same order.

        Args:
            node: position of a node that has a class.
        """
        component = int(self.component[node])
        if component not in self._names:
            self._names[component] = [self.graph.names[related] for related in self._related[component]]
        return self._names[component]

    def pieces(self, text: str, places: dict[str, int]) -> Text | None:
        """Split a text of an explanation at the names in it; None if a name could also be a word.

        Args:
            text: text to split.
            places: name of each node that the text may contain -> its index in `names`.
        """
        pieces: list[str | int] = []
        end = 0
        for match in _NAME.finditer(text):
            name = match[0]
            if name not in self.graph.index or (name not in places and name in self._op_types):
                continue
            if name not in places or not ("/" in name or ("_" in name and name[-1].isdigit())):
                return None
            pieces += [text[end : match.start()], places[name]]
            end = match.end()
        return (*pieces, text[end:]) if pieces else text

    def _class(self, component: int, depth: int) -> int:
        """Return the class number of a component; -1 for a component without twins."""
        if component not in self._classes:
            self._classes[
                component
            ] = -1  # also during the computation: for components that follow each other
            key = self._key(component, depth)
            if key is not None:
                self._classes[component] = self._numbers.setdefault(key, len(self._numbers))
        return self._classes[component]

    def _key(self, component: int, depth: int) -> tuple[object, ...] | None:
        """Return everything that determines the explanations in a component, without names."""
        graph, bindings, members = self.graph, self.bindings, self.members[component]
        partition, decisions = self.placement.partition, self.placement.decisions
        assert partition is not None and decisions is not None
        place = {member: number for number, member in enumerate(members)}
        root = int(partition.root[members[0]])
        is_split = len(members) > 1 and bool((partition.root[members] != root).any())
        if component in self._with_calls or is_split or depth > _DEEPEST:
            return None
        followed = self._followed(int(decisions.decider[root]), place, depth)
        if followed is None:
            return None
        related = dict.fromkeys(members)
        for neighbor in followed[1]:
            related |= dict.fromkeys(self._related[int(self.component[neighbor])])
        self._related[component] = tuple(related)
        culprits = tuple(place.get(self._culprit[member], -1) for member in members)
        outside = {self._culprit[member] for member in members} - place.keys()
        if not outside <= set(followed[1]):
            return None
        facts = tuple(self._facts[member] for member in members)
        if len(members) == 1:
            return facts, culprits, followed[0], self._labels(members, place)
        pairs = bindings.pairs_of(component)
        return (
            facts,
            culprits,
            followed[0],
            self._labels(members, place),
            tuple(np.argsort(graph.rank[members]).tolist()),
            place[int(decisions.decider[root])],
            tuple(bindings.kind[pairs].tolist()),
            tuple(place[node] for node in bindings.first[pairs].tolist()),
            tuple(place[node] for node in bindings.second[pairs].tolist()),
        )

    def _labels(self, members: Sequence[int], place: dict[int, int]) -> tuple[tuple[int | str, ...], ...]:
        """Return the `_class` entries of members: places of members, names of other nodes."""
        index = self.graph.index
        return tuple(
            tuple(place.get(index.get(name, -1), name) for name in self.graph.colocation(member))
            for member in members
        )

    def _followed(
        self, decider: int, place: dict[int, int], depth: int
    ) -> tuple[tuple[object, ...], list[int]] | None:
        """Return the key and positions of outside nodes that the deciding node might follow; None for too many."""
        graph, decisions = self.graph, self.placement.decisions
        assert decisions is not None
        late, fact = decisions.outline.is_generator, self.placement.facts_of(decider)
        into, out = graph.in_edges(decider), graph.out_edges(decider)
        if late[decider]:
            neighbors = [int(graph.dst[edge]) for edge in out]
        elif fact.is_metadata or fact.is_identity:
            first = graph.first_edge.get(decider, into[0]) if len(into) else -1
            neighbors = [int(graph.src[edge]) for edge in (*into[:1], first) if edge >= 0]
            neighbors += [int(graph.dst[edge]) for edge in out[:1]]
        else:
            return (), []
        outside = list(dict.fromkeys(neighbor for neighbor in neighbors if neighbor not in place))
        if len(outside) > _MOST_FOLLOWED:
            return None
        key: list[object] = [len(into), len(out)]
        key.append(graph.leads_to_sink is not None and bool(graph.leads_to_sink[decider]))
        for neighbor in neighbors:
            if neighbor in place:
                key.append(place[neighbor])
                continue
            component = int(self.component[neighbor])
            number = self._class(component, depth + 1)
            if number < 0:
                return None
            is_later = bool(graph.rank[neighbor] > graph.rank[decider])
            key.append((number, self.members[component].index(neighbor), outside.index(neighbor), is_later))
        return tuple(key), outside


def _facts(placement: Placement) -> list[int]:
    """Return [nodes] a number that is equal for nodes with equal facts about the node itself."""
    graph, partition, decisions = placement.graph, placement.partition, placement.decisions
    assert partition is not None and decisions is not None
    given = np.zeros(len(graph), dtype=np.int64)
    numbers: dict[str, int] = {}
    for node, device in placement.assigned.items():
        given[node] = numbers.setdefault(device, len(numbers) + 1)
    on_host = np.zeros(len(graph), dtype=np.int64)
    if placement.placer.rules == "2.21":
        on_host[list(host_readers(graph, placement.facts))] = 1
    codes = np.zeros(len(graph), dtype=np.int64)
    for column in (
        *(graph.signature, graph.device, given, on_host, placement.devices, partition.kind),
        *(decisions.how, decisions.outline.is_generator, verdicts_of(placement).rule),
    ):
        values = np.asarray(column, dtype=np.int64)
        codes = np.unique(codes * (int(values.max(initial=0)) + 2) + values + 1, return_inverse=True)[1]
    return codes.tolist()
