"""Marks of a picture: search matches, the critical path, moved nodes, a trace.

>>> from gpuplace.views.tables.placement_view import PlacementView
>>> view = PlacementView.of_columns(
...     [("a", "Const", "", "/device:CPU:0"), ("n", "Neg", "", "/device:GPU:0")], [("a", 0, "n", 0)]
... )
>>> find(view, "^n").tolist(), critical_path(view).text
([False, True], '2 ops, the longest chain')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gpuplace.graph.op_sets import NEXT_ITERATIONS
from gpuplace.typing import PlacementLike, RunMetadata
from gpuplace.views.tables.dependency_trace import Trace
from gpuplace.views.tables.placement_view import PlacementView, view_of
from gpuplace.views.tables.scale import time_text
from gpuplace.views.tables.size_text import bytes_text
from gpuplace.views.tables.step_times import measured_us, received_us
from gpuplace.views.tables.text import counted, searcher
from gpuplace.why.placement import Placement
from gpuplace.why.rules import RULES

PATH_WEIGHTS = ("time", "bytes", "ops")
"""Measures of the longest chain."""


@dataclass(frozen=True, eq=False)
class CriticalPath:
    """The longest chain of a graph, from a node without inputs."""

    nodes: tuple[int, ...]
    """Nodes of the chain, in execution order."""
    weight: str
    """One of `PATH_WEIGHTS`."""
    total: float
    """Microseconds, bytes copied between devices, or ops."""
    count: int
    """Number of nodes in the graph."""

    @cached_property
    def is_on(self) -> np.ndarray:
        """[nodes] bool."""
        is_on = np.zeros(self.count, dtype=bool)
        is_on[list(self.nodes)] = True
        return is_on

    @property
    def text(self) -> str:
        """Length and measure as text."""
        ops = counted(len(self.nodes), "op")
        if self.weight == "time":
            return f"{ops}, {time_text(self.total)}, the longest chain by measured time"
        if self.weight == "bytes":
            return f"{ops}, the chain with the most bytes copied between devices, {bytes_text(round(self.total))}"
        return f"{ops}, the longest chain"


@dataclass(frozen=True, eq=False)
class Moves:
    """Nodes whose device differs from an earlier placement."""

    labels: tuple[str, ...]
    """Short names of devices."""
    before: np.ndarray
    """[nodes] index into `labels` of the earlier device; -1 for a node that did not exist."""
    is_moved: np.ndarray
    """[nodes] bool."""
    rules: np.ndarray
    """[nodes] position in `gpuplace.why.rules.RULES` of the cause of the move; -1 for none or unknown."""
    notes: Mapping[int, str]
    """Node -> detail of the rule, if any."""
    added: int
    """Number of nodes only in the later placement."""
    removed: int
    """Number of nodes only in the earlier placement."""

    def was(self, node: int) -> str:
        """Return the short name of a node's earlier device."""
        return self.labels[self.before[node]]

    @property
    def text(self) -> str:
        """Description of the numbers."""
        moved = counted(int(self.is_moved.sum()), "node") + " moved"
        more = [f"{self.added:,} new"] if self.added else []
        more += [f"{self.removed:,} gone"] if self.removed else []
        return "; ".join([moved, *more])


@dataclass(frozen=True, eq=False)
class Marks:
    """Marks of a picture."""

    found: np.ndarray | None = None
    """[nodes] bool: matches of `pattern`."""
    pattern: str = ""
    path: CriticalPath | None = None
    moves: Moves | None = None
    trace: Trace | None = None
    """Nodes and edges that are not dimmed."""

    def __bool__(self) -> bool:
        """Whether there is any mark."""
        return any(mark is not None for mark in (self.found, self.path, self.moves, self.trace))


NO_MARKS = Marks()
"""No marks."""


def find(view: PlacementView, pattern: str) -> np.ndarray:
    """Return [nodes] whether the name matches; see `gpuplace.views.tables.text.searcher`."""
    search = searcher(pattern)
    return np.fromiter((search(name) is not None for name in view.names), dtype=bool, count=len(view))


def critical_path(
    placement: PlacementLike, weight: str | None = None, run_metadata: RunMetadata | None = None
) -> CriticalPath:
    """Return the longest chain of nodes that wait for each other.

    Args:
        placement: a `Placement` or a `PlacementView`.
        weight: ``"time"`` sums measured times, including copies, ``"bytes"`` sums the sizes of copies between devices,
            ``"ops"`` counts ops. None: ``"time"`` if `run_metadata` is passed, otherwise ``"ops"``. Among chains of
            equal weight, the one with more ops wins.
        run_metadata: ``RunMetadata`` or ``StepStats`` of a step.

    Raises:
        ValueError: the weight is unknown, or ``"time"`` without a step.
    """
    view = view_of(placement)
    weight = weight or ("time" if run_metadata is not None else "ops")
    if weight not in PATH_WEIGHTS:
        raise ValueError(
            f"Unknown weight {weight!r} of a critical path: choose one of {', '.join(PATH_WEIGHTS)}"
        )
    if weight == "time" and run_metadata is None:
        raise ValueError("A critical path by time needs run_metadata of a step")
    own = np.ones(len(view))
    if weight == "time":
        own = np.nan_to_num(measured_us(view, run_metadata))
    elif weight == "bytes":
        own = np.zeros(len(view))
    on_edge = np.zeros(len(view.src))
    if weight == "bytes":
        for edge in np.flatnonzero(view.is_copy).tolist():
            on_edge[edge] = view.tensor_of(int(view.src[edge]), int(view.src_output[edge])).nbytes or 0
    elif weight == "time":
        on_edge = _copy_times(view, run_metadata)
    # Each op counts a little, so that the longer of two equal chains is taken.
    small = 1e-6 if weight != "ops" else 0.0
    chain = _longest(view, (own + small).tolist(), on_edge.tolist())
    chosen = set(zip(chain, chain[1:], strict=False))
    heaviest: dict[tuple[int, int], float] = {}
    for edge in np.flatnonzero(on_edge).tolist():
        pair = (int(view.src[edge]), int(view.dst[edge]))
        if pair in chosen:
            heaviest[pair] = max(heaviest.get(pair, 0.0), float(on_edge[edge]))
    total = float(own[chain].sum()) + sum(heaviest.values())
    return CriticalPath(tuple(chain), weight, total, len(view))


def _copy_times(view: PlacementView, run_metadata: RunMetadata) -> np.ndarray:
    """Return [edges] microseconds of each tensor's copy, if a step measured it."""
    lasted = received_us(run_metadata)
    times = np.zeros(len(view.src))
    for edge in np.flatnonzero(view.is_copy).tolist() if lasted else ():
        node, target = int(view.src[edge]), view.labels[view.device[view.dst[edge]]]
        times[edge] = lasted.get((view.names[node], int(view.src_output[edge]), target), 0.0)
    return times


def _longest(view: PlacementView, own: Sequence[float], on_edge: Sequence[float]) -> list[int]:
    """Return the chain with the largest weight, without the back edges of loops."""
    count = len(view)
    if not count:
        return []
    is_next = np.array([op_type in NEXT_ITERATIONS for op_type in view.op_types])[view.op_type]
    edges = np.flatnonzero(~is_next[view.src])
    edges = edges[np.argsort(view.src[edges], kind="stable")]
    start = np.searchsorted(view.src[edges], np.arange(count + 1)).tolist()
    dst, order = view.dst[edges].tolist(), edges.tolist()
    pending = np.bincount(view.dst[edges], minlength=count).tolist()
    best = list(own)
    came: list[int] = [-1] * count
    ready = [node for node, number in enumerate(pending) if not number]
    while ready:
        node = ready.pop()
        here = best[node]
        for k in range(start[node], start[node + 1]):
            after = dst[k]
            reached = here + on_edge[order[k]] + own[after]
            if reached > best[after]:
                best[after], came[after] = reached, node
            pending[after] -= 1
            if not pending[after]:
                ready.append(after)
    node = max(range(count), key=best.__getitem__)
    chain = []
    while node >= 0:
        chain.append(node)
        node = came[node]
    return chain[::-1]


def compare(placement: Placement, against: Any) -> Moves:
    """Return the moves from `against` to `placement` (`Placement` or `PlacementView`), compared by node name."""
    view, other = view_of(placement), view_of(against)
    labels = tuple(dict.fromkeys([*view.labels, *other.labels]))
    place = {label: i for i, label in enumerate(labels)}
    now = np.array([place[label] for label in view.labels], dtype=np.int64)[view.device]
    then = np.array([place[label] for label in other.labels], dtype=np.int64)[other.device]
    if list(view.names) == list(other.names):
        before = then
        removed = 0
    else:
        before = np.array(
            [then[other.index[name]] if name in other.index else -1 for name in view.names], dtype=np.int64
        )
        removed = sum(name not in view.index for name in other.names)
    is_moved = (before >= 0) & (before != now)
    rules = np.full(len(view), -1, dtype=np.int64)
    notes: dict[int, str] = {}
    if isinstance(placement, Placement) and isinstance(against, Placement):
        for move in against.diff(placement):
            node = view.index[move.node]
            rules[node] = RULES.index(move.cause)
            notes[node] = move.note
    return Moves(labels, before, is_moved, rules, notes, int((before < 0).sum()), removed)
