"""Bookkeeping nodes: initializers, savers, summaries, input queues and step counters.

In most training graphs they outnumber the model's nodes, and no data flows from them into the model. A step does not
run them, and a picture groups them apart::

    w ── read ──────────────> MatMul        w, read, MatMul: the network
    │                                       zeros, Assign:   initializers
    └─ Assign <── zeros  Assign_1 <── Restore   Restore, Assign_1: saver

The search starts from op types that are always bookkeeping. A node joins them if all its consumers are bookkeeping, or
if all its inputs are bookkeeping or constants. A node that computes with the model's data stays, even if only a summary
or a saver consumes it, because a loss may have no other use in the graph.

>>> from gpuplace.views.tables.placement_view import PlacementView
>>> rows = [("w", "VariableV2"), ("zeros", "Const"), ("w/Assign", "Assign"), ("x", "Neg"), ("s", "ScalarSummary")]
>>> view = PlacementView.of_columns(
...     [(name, kind, "", "") for name, kind in rows],
...     [("w", 0, "w/Assign", 0), ("zeros", 0, "w/Assign", 1), ("w", 0, "x", 0), ("x", 0, "s", 1)],
... )
>>> [SHELVES[k] if k >= 0 else "" for k in bookkeeping(view).tolist()]
['', 'initializers', 'initializers', '', 'summaries']
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gpuplace.graph.op_sets import ASSIGNMENTS, CONSTANT_OPS, PLACEHOLDERS, SWITCHES, VARIABLE_OPS
from gpuplace.placer.placement_graph import PlacementGraph

SHELVES = ("initializers", "saver", "summaries", "input queues", "global step")
"""The bookkeeping purposes; `bookkeeping` returns indices into them."""
_INITIALIZERS, _SAVER, _SUMMARIES, _QUEUES, _STEP = range(len(SHELVES))

_SEEDS: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(r"(Save|Restore)(V2|Slices?)?|MergeV2Checkpoints|ShardedFile(name|spec)"), _SAVER),
    (re.compile(r".*Summary(V2)?|Write\w*Summary|CreateSummary\w*|\w*SummaryWriter"), _SUMMARIES),
    (
        re.compile(r"Queue(Enqueue(Many)?|Close|Size|IsClosed)(V2)?|MakeIterator|IteratorToStringHandle"),
        _QUEUES,
    ),
    (
        re.compile(r"InitializeTable\w*|LookupTableImport\w*|IsVariableInitialized|VarIsInitializedOp"),
        _INITIALIZERS,
    ),
)
"""Op types that are always bookkeeping."""
_LIVE = re.compile(r".*(Queue|Iterator|Reader|Dataset|Recv|Stage|Barrier).*|_Arg")
"""Op types, besides variables and placeholders, whose results are unknown when a graph is built."""
_WITH_DATA = frozenset({_INITIALIZERS, _QUEUES})
"""Purposes that include even nodes that compute with data, if only these purposes use them."""
_READS = frozenset({"Identity", "ReadVariableOp"})
_STEPS = re.compile(r"(?:^|/)global_step(?:/|$)")
_LOGGED: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(r"(?:^|/)save(_\d+)?/"), _SAVER),
    (
        re.compile(r"/Initializer/|(?:^|/)init(_\d+)?$|/(Is|VarIs)\w*Initialized\w*$|[^/]/Assign$"),
        _INITIALIZERS,
    ),
)
"""Node names in a log, which has no edges."""


class NodeColumns(Protocol):
    """A graph as columns, for example a `PlacementView`."""

    @property
    def names(self) -> Sequence[str]:
        """[nodes] node names."""

    @property
    def op_types(self) -> Sequence[str]:
        """The distinct op types."""

    @property
    def op_type(self) -> np.ndarray:
        """[nodes] index into `op_types`."""

    @property
    def src(self) -> np.ndarray:
        """[edges] producing node."""

    @property
    def dst(self) -> np.ndarray:
        """[edges] consuming node."""

    @property
    def knows_edges(self) -> bool:
        """False for a log, which lists nodes only."""

    def __len__(self) -> int:
        """Return the number of nodes."""


@dataclass(frozen=True, eq=False)
class GraphColumns:
    """A `PlacementGraph` as columns."""

    graph: PlacementGraph
    knows_edges: bool = True

    @property
    def names(self) -> Sequence[str]:
        """[nodes] node names."""
        return self.graph.names

    @property
    def op_types(self) -> Sequence[str]:
        """[signatures] op types; an op type may occur several times."""
        return self.graph.op_types

    @property
    def op_type(self) -> np.ndarray:
        """[nodes] index into `op_types`."""
        return self.graph.signature

    @property
    def src(self) -> np.ndarray:
        """[edges] producing node."""
        return self.graph.src

    @property
    def dst(self) -> np.ndarray:
        """[edges] consuming node."""
        return self.graph.dst

    def __len__(self) -> int:
        return len(self.graph)


def bookkeeping(view: NodeColumns) -> np.ndarray:
    """Return the bookkeeping purpose of every node: [nodes] int64 index into `SHELVES`, -1 for a node of the model.

    Args:
        view: the graph.
    """
    purposes = np.full(len(view), -1, dtype=np.int64)
    purpose_of_type = np.array([_purpose(_SEEDS, op_type) for op_type in view.op_types] or [-1])
    purposes[:] = purpose_of_type[view.op_type]
    purposes[[node for node, name in enumerate(view.names) if _STEPS.search(name)]] = _STEP
    if not view.knows_edges:
        for node in np.flatnonzero(purposes < 0).tolist():
            purposes[node] = _purpose(_LOGGED, view.names[node], whole=False)
        return purposes
    graph = _Edges(view)
    is_state = _of_types(view, lambda op_type: op_type in VARIABLE_OPS or op_type in PLACEHOLDERS)
    is_live = _reached(
        graph, is_state | _of_types(view, lambda op_type: _LIVE.fullmatch(op_type) is not None)
    )
    for node in np.flatnonzero(_of_types(view, ASSIGNMENTS.__contains__) & (purposes < 0)).tolist():
        if _is_first_value(view, graph, node, is_live, purposes):
            purposes[node] = _INITIALIZERS
    for node in np.flatnonzero(_of_types(view, _READS.__contains__) & (purposes < 0)).tolist():
        if not graph.consumers[node] and any(is_state[source] for source in graph.inputs[node]):
            purposes[node] = _INITIALIZERS
    _spread(view, graph, purposes, is_state, is_live)
    return purposes


def _purpose(table: Sequence[tuple[re.Pattern[str], int]], text: str, *, whole: bool = True) -> int:
    """Return the purpose of the first pattern in a table that matches a text; -1 if none does."""
    return next(
        (purpose for pattern, purpose in table if (pattern.fullmatch if whole else pattern.search)(text)), -1
    )


def _of_types(view: NodeColumns, test: Callable[[str], bool]) -> np.ndarray:
    """Return which nodes' op types pass a test, [nodes] bool."""
    passed: np.ndarray = np.array([*map(test, view.op_types), False], dtype=bool)[view.op_type]
    return passed


class _Edges:
    """The nodes before and after each node, by data and control edges."""

    def __init__(self, view: NodeColumns) -> None:
        self.inputs = neighbors(view.dst, view.src, len(view))
        self.consumers = neighbors(view.src, view.dst, len(view))


def neighbors(of: np.ndarray, other: np.ndarray, count: int) -> list[list[int]]:
    """Return, for each node, the nodes at the other ends of its edges, in edge order.

    Args:
        of: [edges] the node under which an edge is listed.
        other: [edges] the other end.
        count: the number of nodes.
    """
    order = np.argsort(of, kind="stable")
    ends = np.searchsorted(of[order], np.arange(count + 1)).tolist()
    ordered = other[order].tolist()
    return [ordered[start:end] for start, end in zip(ends, ends[1:], strict=False)]


def _reached(graph: _Edges, starts: np.ndarray) -> np.ndarray:
    """Return which nodes depend on the given nodes, including these, [nodes] bool."""
    seen = starts.copy()
    waiting = np.flatnonzero(starts).tolist()
    while waiting:
        for after in graph.consumers[waiting.pop()]:
            if not seen[after]:
                seen[after] = True
                waiting.append(after)
    return seen


def _is_first_value(
    view: NodeColumns, graph: _Edges, node: int, is_live: np.ndarray, purposes: np.ndarray
) -> bool:
    """Return whether an assignment initializes a variable.

    It does if it has the usual name, or if its value is known when the graph is built.
    """
    variable, *values = graph.inputs[node] or [-1]
    if any(purposes[value] == _SAVER for value in values):
        return False
    if variable >= 0 and view.names[node] == f"{view.names[variable]}/Assign":
        return True
    return bool(values) and not any(is_live[value] for value in values)


def _spread(
    view: NodeColumns, graph: _Edges, purposes: np.ndarray, state_nodes: np.ndarray, live_nodes: np.ndarray
) -> None:
    """Add the nodes that only bookkeeping uses, and the nodes that use only bookkeeping and constants."""
    purpose_of, is_kept, is_live = purposes.tolist(), state_nodes.tolist(), live_nodes.tolist()
    assigns = _of_types(view, ASSIGNMENTS.__contains__).tolist()
    constant = _of_types(view, CONSTANT_OPS.__contains__).tolist()
    is_switch = _of_types(view, SWITCHES.__contains__).tolist()
    # Unused outputs of conditionals: pivots that no node waits for.
    unused = [
        not after and len(before) == 1 and is_switch[before[0]]
        for before, after in zip(graph.inputs, graph.consumers, strict=True)
    ]
    waiting = [node for node, purpose in enumerate(purpose_of) if purpose >= 0]
    while waiting:
        node = waiting.pop()
        for before in graph.inputs[node]:
            if (
                purpose_of[before] >= 0
                or is_kept[before]
                or (is_live[before] and purpose_of[node] not in _WITH_DATA)
            ):
                continue
            if all(purpose_of[n] >= 0 or unused[n] for n in graph.consumers[before]):
                purpose_of[before] = purpose_of[node]
                waiting.append(before)
        if constant[node]:
            continue
        for after in graph.consumers[node]:
            if purpose_of[after] >= 0:
                continue
            inputs = graph.inputs[after]
            if assigns[after]:
                joins = node in inputs[1:]
            else:
                joins = all(purpose_of[n] >= 0 or not is_live[n] for n in inputs)
            if joins:
                purpose_of[after] = purpose_of[node]
                waiting.append(after)
    purposes[:] = purpose_of
