"""Lists of strings and handles stay on the CPU (2.x): what a variant carries decides where its readers may be.

A variant's element type stands only at the ops that made or changed the list. For each node with a variant input the
producers are searched backwards along variant edges; the list op found last in that search tells the element type::

    EmptyTensorList(string) ──variant──> Identity ──variant──> TensorListLength    ->  CPU only, though it
    has a GPU kernel

Source: tensorflow/core/common_runtime/colocation_graph.cc, release 2.21; 1.15 has no such rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gpuplace.errors import ResourceExhaustedError
from gpuplace.placer.bindings import Groups
from gpuplace.placer.node_facts import VARIANT, NodeFacts
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph

_LIST_OPS = frozenset(
    """
    EmptyTensorList TensorListConcat TensorListConcatLists TensorListConcatV2 TensorListFromTensor TensorListGather
    TensorListGetItem TensorListPopBack TensorListPushBack TensorListPushBackBatch TensorListReserve TensorListScatter
    TensorListScatterIntoExistingList TensorListScatterV2 TensorListSetItem TensorListSplit TensorListStack
    """.split()
)
_MAX_VISITS = 1 << 23
"""Nodes that are visited for all nodes together, each search counting anew."""

_HOST_TYPES = frozenset({"string", "resource"})


def limit_to_host(
    graph: PlacementGraph, facts: Sequence[NodeFacts], groups: Groups
) -> tuple[Groups, tuple[int, ...]]:
    """The groups with those that read lists of host data limited to the CPU, and the nodes that caused it."""
    elements = [
        fact.attrs["element_dtype"].name if fact.signature.op_type in _LIST_OPS else None for fact in facts
    ]
    if not _HOST_TYPES.intersection(filter(None, elements)):
        return groups, ()
    reads = np.array([VARIANT in fact.input_kinds for fact in facts])
    suspects = np.flatnonzero(reads[graph.signature])
    search = _Search(graph, facts, elements)
    causes = []
    limited: set[int] = set()
    for node in suspects[np.argsort(graph.rank[suspects])].tolist():
        root = int(groups.root[node])
        if root in limited or all(kind == "CPU" for kind, _ in groups.constraints(root).supported):
            continue
        if search.element_type(node) in _HOST_TYPES:
            causes.append(node)
            limited.add(root)
    return _limited(groups, limited), tuple(causes)


def _limited(groups: Groups, roots: set[int]) -> Groups:
    """The groups with those of some roots on the CPU only."""
    if not roots:
        return groups
    is_limited = np.isin(groups.root, list(roots))
    kinds, place = np.unique(groups.kind[is_limited], return_inverse=True)
    kind = groups.kind.copy()
    kind[is_limited] = len(groups.of_kind) + place
    members = list(groups.members)
    for number in groups.of_kind[kinds].tolist():
        host = tuple(item for item in members[number].supported if item[0] == "CPU")
        members.append(replace(members[number], supported=host))
    of_kind = np.concatenate((groups.of_kind, np.arange(len(groups.members), len(members))))
    return replace(groups, kind=kind, of_kind=of_kind, members=members)


class _Search:
    """Element types of what the variant inputs of nodes carry.

    A node that only hands one variant on carries what its producer carries, so that a chain is walked once.
    """

    def __init__(self, graph: PlacementGraph, facts: Sequence[NodeFacts], elements: list[str | None]) -> None:
        self.graph = graph
        self.facts = facts
        self.elements = elements
        self.known: dict[int, str | None] = {}
        self.visits = 0

    def element_type(self, node: int) -> str | None:
        """Element type of what a node's variant inputs carry, None if unknown."""
        path: dict[int, None] = {}
        while node not in self.known and node not in path and self._element(node) is None:
            path[node] = None
            producers = dict.fromkeys(self._producers(node))
            if len(producers) != 1:
                break
            node = next(iter(producers))
        if node not in self.known:
            self.known[node] = self._searched(node)
        found = self.known[node]
        self.known.update(dict.fromkeys(path, found))
        return found

    def _element(self, node: int) -> str | None:
        """What a list op says; None for other ops and for a list of variants."""
        element = self.elements[self.graph.signature[node]]
        return None if element == "variant" else element

    def _producers(self, node: int) -> list[int]:
        graph, producers = self.graph, []
        for edge in graph.in_edges(node):
            source, output = int(graph.src[edge]), int(graph.src_output[edge])
            if (
                output != CONTROL
                and self.facts[graph.signature[source]].output_types[output].name == "variant"
            ):
                producers.append(source)
        return producers

    def _searched(self, node: int) -> str | None:
        found: str | None = None
        stack, visited = [node], set()
        while stack:
            current = stack.pop()
            if current in visited:
                continue
            visited.add(current)
            element = self._element(current)
            if element is not None:
                found = element
            if found is None:
                stack.extend(source for source in self._producers(current) if source not in visited)
        self.visits += len(visited)
        if self.visits > _MAX_VISITS:
            raise ResourceExhaustedError(
                None,
                None,
                "Too many ways lead to the ops that say what lists hold",
                facts={"reached at": self.graph.names[node], "nodes visited": str(self.visits)},
                hint="do variants go through many nodes that merge several of them?",
            )
        return found
