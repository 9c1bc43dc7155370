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
    causes = []
    limited: set[int] = set()
    for node in suspects[np.argsort(graph.rank[suspects])].tolist():
        root = int(groups.root[node])
        if root in limited or all(kind == "CPU" for kind, _ in groups.constraints(root).supported):
            continue
        if _element_type(graph, facts, elements, node) in _HOST_TYPES:
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


def _element_type(
    graph: PlacementGraph, facts: Sequence[NodeFacts], elements: list[str | None], node: int
) -> str | None:
    """Element type of what a node's variant inputs carry, None if unknown."""
    found: str | None = None
    stack, visited = [node], set()
    while stack:
        current = stack.pop()
        if current in visited:
            continue
        visited.add(current)
        element = elements[graph.signature[current]]
        if element is not None and element != "variant":
            found = element
        if found is not None:
            continue
        for edge in graph.in_edges(current):
            output = int(graph.src_output[edge])
            source = int(graph.src[edge])
            if output == CONTROL or source in visited:
                continue
            if facts[graph.signature[source]].output_types[output].name == "variant":
                stack.append(source)
    return found
