"""Nodes that stay on the CPU because of the data in their variants (2.x): lists of strings and handles, datasets,
locks.

Only the ops that create or change a list state a variant's element type. For each node with a variant input, its
producers are searched backwards along variant edges; the last list op found gives the element type::

    EmptyTensorList(string) ──variant──> Identity ──variant──> TensorListLength    ->  CPU only, although it
    has a GPU kernel

Datasets, locks, and lists, optionals and ragged tensors of strings also keep function calls on the CPU, and nodes
that pass variants through unchanged (Identity, Switch, Merge, Enter, ...) and take their type from their input; a
control edge is enough. Other readers are placed by their kernels::

    RangeDataset ──variant──> Identity ──variant──> Switch    ->  CPU only, both

Source: tensorflow/core/common_runtime/colocation_graph.cc, release 2.21; 1.15 has no such rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gpuplace.dtypes import DType, string
from gpuplace.errors import ResourceExhaustedError
from gpuplace.graph.op_sets import CALL_OPS
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
_LIST_MAKERS = frozenset(
    """
    EmptyTensorList TensorListConcatLists TensorListFromTensor TensorListPushBack TensorListPushBackBatch
    TensorListReserve TensorListScatter TensorListScatterIntoExistingList TensorListScatterV2 TensorListSetItem
    TensorListSplit
    """.split()
)
"""List ops whose result states its element type."""
_MAX_VISITS = 1 << 23
"""Maximum number of nodes that all searches visit."""

_HOST_TYPES = frozenset({"string", "resource"})
_FORWARDING_OPS = frozenset({"Enter", "Exit", "Identity", "Merge", "NextIteration", "Switch"})
_ENDING_OPS = CALL_OPS | {"_DeviceRetval", "_Retval", "_SwitchN"}
"""Ops that run where such data are, as functions of the graph do, but do not pass this on to their readers."""
_TYPES_OF = {
    "IteratorGetNextAsOptional": "output_types",
    "OptionalFromValue": "Toutput_types",
    "RaggedTensorToVariant": "Tvalues",
}
"""Op -> attribute with the types of the data in its variant."""
_UNTYPED_OPS = frozenset({"FilterByLastComponentDataset", "SaveDatasetV2"})
"""Dataset ops whose output does not state that it is a dataset."""
_MAKERS_BY_ANOTHER_NAME = frozenset(
    {"MutexLock", "SnapshotDatasetReader", "SnapshotNestedDatasetReader", "WindowOp"}
)
"""Lock ops, and dataset ops whose name does not end in "Dataset"."""


def what_is_read(op_type: str) -> str:
    """Describe the data read by a node that `limit_to_host` limits to the CPU."""
    if op_type in _FORWARDING_OPS:
        return "passes through a dataset, a lock, or strings or handles inside a variant"
    return "reads a list of strings or handles"


def limit_to_host(
    graph: PlacementGraph, facts: Sequence[NodeFacts], groups: Groups
) -> tuple[Groups, tuple[int, ...]]:
    """Limit the groups that read host data to the CPU; return the groups and the nodes that caused it."""
    causes = []
    limited: set[int] = set()
    for node in host_readers(graph, facts):
        root = int(groups.root[node])
        if root not in limited and any(
            device_type != "CPU" for device_type, _ in groups.constraints(root).supported
        ):
            causes.append(node)
            limited.add(root)
    return _limited(groups, limited), tuple(causes)


def host_readers(graph: PlacementGraph, facts: Sequence[NodeFacts]) -> list[int]:
    """Return the nodes whose groups stay on the CPU because of the data they read, whatever kernels they have."""
    readers = _forwarding_nodes(graph, facts)
    elements = [_element_type(fact) if fact.signature.op_type in _LIST_OPS else None for fact in facts]
    if _HOST_TYPES.intersection(filter(None, elements)):
        reads = np.array([VARIANT in fact.input_kinds for fact in facts])
        suspects = np.flatnonzero(reads[graph.signature])
        search = _Search(graph, facts, elements)
        readers += [
            node
            for node in suspects[np.argsort(graph.rank[suspects])].tolist()
            if search.element_type(node) in _HOST_TYPES
        ]
    return readers


def _element_type(fact: NodeFacts) -> str | None:
    """Return the element type of a list op's lists; None if the node does not state it."""
    dtype = fact.attrs.get("element_dtype")
    return dtype.name if isinstance(dtype, DType) else None


def _limited(groups: Groups, roots: set[int]) -> Groups:
    """Return the groups, with those of the given roots limited to the CPU."""
    if not roots:
        return groups
    is_limited = np.isin(groups.root, list(roots))
    kinds, inverse = np.unique(groups.kind[is_limited], return_inverse=True)
    kind = groups.kind.copy()
    kind[is_limited] = len(groups.of_kind) + inverse
    members = list(groups.members)
    for number in groups.of_kind[kinds].tolist():
        host = tuple(item for item in members[number].supported if item[0] == "CPU")
        members.append(replace(members[number], supported=host))
    of_kind = np.concatenate((groups.of_kind, np.arange(len(groups.members), len(members))))
    return replace(groups, kind=kind, of_kind=of_kind, members=members)


def _forwarding_nodes(graph: PlacementGraph, facts: Sequence[NodeFacts]) -> list[int]:
    """Return the nodes that read variants and have an edge, or a control edge, from data that stay on the CPU."""
    makes = np.array([_makes_host_data(fact) for fact in facts], dtype=bool)
    follows = np.array([VARIANT in fact.input_kinds and _follows(fact) for fact in facts], dtype=bool)
    ends = np.array([fact.signature.op_type not in _FORWARDING_OPS for fact in facts], dtype=bool)
    if not makes.any() or not follows.any():
        return []
    may_follow, is_end = follows[graph.signature], ends[graph.signature]
    waiting = np.flatnonzero(makes[graph.signature]).tolist()
    typed: set[int] = set(waiting)
    readers: set[int] = set()
    while waiting:
        source = waiting.pop()
        for edge in graph.out_edges(source):
            reader = int(graph.dst[edge])
            if not may_follow[reader]:
                continue
            readers.add(reader)
            # Only a data edge determines the reader's type; a control edge does not.
            if int(graph.src_output[edge]) != CONTROL and not is_end[reader] and reader not in typed:
                typed.add(reader)
                waiting.append(reader)
    return sorted(readers, key=lambda node: int(graph.rank[node]))


def _follows(fact: NodeFacts) -> bool:
    """Return whether a node runs on the CPU if its input stays there."""
    return fact.is_function or fact.signature.op_type in _FORWARDING_OPS | _ENDING_OPS


def _makes_host_data(fact: NodeFacts) -> bool:
    """Return whether a node's variant is of a type that stays on the CPU."""
    op_type = fact.signature.op_type
    if op_type in _TYPES_OF:
        types = fact.attrs.get(_TYPES_OF[op_type])
        return any(dtype is string for dtype in (types if isinstance(types, tuple) else (types,)))
    if op_type in _LIST_MAKERS:
        return _element_type(fact) == "string"
    return (fact.is_dataset and op_type not in _UNTYPED_OPS) or op_type in _MAKERS_BY_ANOTHER_NAME


class _Search:
    """Finds the element types of the data in nodes' variant inputs.

    A node that only passes one variant through has its producer's element type, so a chain is walked once.
    """

    def __init__(self, graph: PlacementGraph, facts: Sequence[NodeFacts], elements: list[str | None]) -> None:
        self.graph = graph
        self.facts = facts
        self.elements = elements
        self.cache: dict[int, str | None] = {}
        self.visits = 0

    def element_type(self, node: int) -> str | None:
        """Return the element type of the data in a node's variant inputs; None if unknown."""
        path: dict[int, None] = {}
        while node not in self.cache and node not in path and self._element(node) is None:
            path[node] = None
            producers = dict.fromkeys(self._producers(node))
            if len(producers) != 1:
                break
            node = next(iter(producers))
        if node not in self.cache:
            self.cache[node] = self._searched(node)
        element = self.cache[node]
        self.cache.update(dict.fromkeys(path, element))
        return element

    def _element(self, node: int) -> str | None:
        """Return the element type that a list op states; None for other ops and for a list of variants."""
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
        result: str | None = None
        stack, visited = [node], set()
        while stack:
            current = stack.pop()
            if current in visited:
                continue
            visited.add(current)
            element = self._element(current)
            if element is not None:
                result = element
            if result is None:
                stack.extend(source for source in self._producers(current) if source not in visited)
        self.visits += len(visited)
        if self.visits > _MAX_VISITS:
            raise ResourceExhaustedError.of(
                "Cannot determine the element types of tensor lists: the search visits too many nodes",
                facts={"reached at": self.graph.names[node], "nodes visited": str(self.visits)},
                hint="check for variants that pass through many nodes with several variant inputs",
            )
        return result
