"""Dependency traces: everything an op depends on, or everything that depends on it, over data and control edges.

::

    a ──> b ──> c ──> d       trace of c by "inputs":    a, b, c      (e is not part of it)
          └──> e              trace of b by "consumers": b, c, d, e
                              trace of c by "both":      a, b, c, d

>>> from gpuplace.views.tables.placement_view import PlacementView
>>> view = PlacementView.of_columns(
...     [("a", "Const", "", "/device:CPU:0"), ("b", "Neg", "", "/device:GPU:0"), ("c", "Neg", "", "/device:GPU:0")],
...     [("a", 0, "b", 0), ("b", 0, "c", 0)],
... )
>>> trace = trace_of(view, "b")
>>> trace.names, trace.text
(('a', 'b'), 'what b depends on: 1 node on CPU:0; 1 copy between devices, of unknown size')
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gpuplace.display import above, notebook_view, with_safe_text
from gpuplace.typing import DataFrame
from gpuplace.views.tables.placement_view import CopyRow, PlacementView, view_of
from gpuplace.views.tables.scopes import scope_tree
from gpuplace.views.tables.text import copies_text, counted, shortened
from gpuplace.web.rules import RULES
from gpuplace.why.names import UnknownNameError, named_by

TRACES = ("inputs", "consumers", "both")
"""Directions of a trace: against the edges, along them, or both."""
_NARROW = 64
"""A level with at most this many nodes is expanded node by node instead of by arrays."""
_WORDS: dict[str, str] = RULES["lights"]["told"]
_NAME_LETTERS: int = RULES["text"]["lit_letters"]


@dataclass(frozen=True, eq=False)
class Trace:
    """The nodes reached from an op, or from all ops of a name scope."""

    view: PlacementView = field(repr=False)
    of: str
    """Name of the op or the scope."""
    direction: str
    """One of `TRACES`."""
    starts: np.ndarray
    """Positions of the starting nodes."""
    nodes: np.ndarray
    """[nodes] bool: the reached nodes and the starting nodes."""
    edges: np.ndarray
    """[edges] bool: the traversed edges."""

    def __len__(self) -> int:
        return int(np.count_nonzero(self.nodes))

    def __contains__(self, name: object) -> bool:
        node = self.view.index.get(name) if isinstance(name, str) else None
        return node is not None and bool(self.nodes[node])

    @with_safe_text
    def __repr__(self) -> str:
        return f"<Trace: {self.text}>"

    _repr_mimebundle_ = notebook_view

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all nodes of the trace, in graph order."""
        return tuple(self.view.names[node] for node in np.flatnonzero(self.nodes).tolist())

    @cached_property
    def counts(self) -> dict[str, int]:
        """Short device name -> number of reached nodes, without the starting nodes; in the machine's order."""
        reached = self.nodes.copy()
        reached[self.starts] = False
        by_label: dict[str, int] = {}
        totals = np.bincount(self.view.device[reached] + 1, minlength=len(self.view.devices) + 1).tolist()
        for label, total in zip(self.view.labels, [*totals[1:], totals[0]], strict=True):
            if total:
                by_label[label] = by_label.get(label, 0) + total
        return by_label

    @cached_property
    def copies(self) -> tuple[CopyRow, ...]:
        """The tensors that are copied to another device along the trace."""
        return tuple(self.view.copies_along(self.edges))

    @cached_property
    def nbytes(self) -> int | None:
        """Total size in bytes of the copies with known size; None if none is known."""
        facts = [(copy, self.view.tensor_of(copy.node, copy.output).nbytes) for copy in self.copies]
        sizes = [size * copy.runs for copy, size in facts if size is not None]
        return sum(sizes) if sizes or not facts else None

    @property
    def text(self) -> str:
        """The number of nodes, their devices, and the copies along the trace, in words."""
        total = sum(self.counts.values())
        if not total:
            where = "nothing"
        elif len(self.counts) == 1:
            where = f"{counted(total, 'node')} on {next(iter(self.counts))}"
        else:
            shares = ", ".join(f"{label} {number:,}" for label, number in self.counts.items())
            where = f"{counted(total, 'node')} ({shares})"
        copies = copies_text(self.view, self.copies) if self.copies else "no copy between devices"
        subject = _WORDS[self.direction].format(name=shortened(self.of, _NAME_LETTERS))
        return f"{subject}: {where}" + (f"; {copies}" if total else "")

    def frame(self, table: str = "nodes") -> DataFrame:
        """Return the rows of ``"nodes"``, ``"edges"`` or ``"copies"``; see ``jupyter.frames.placement_frames``.

        Raises:
            ValueError: there is no such table.
        """
        return above("gpuplace.jupyter.frames.placement_frames", "trace_frame")(self, table)


def trace_of(placement: Any, of: Any, direction: str = "inputs") -> Trace:
    """Trace the nodes that an op depends on, or the nodes that depend on it.

    Args:
        placement: a `Placement` or a `PlacementView`.
        of: the name of an op or of a name scope, or an `Operation` or `Tensor`.
        direction: one of `TRACES`.

    Raises:
        KeyError: there is no such op or scope; the message lists similar names.
        ValueError: the direction is unknown, or the placement is a log, which has no edges.
    """
    view = view_of(placement)
    name = of if isinstance(of, str) else getattr(of, "op", of).name
    if name not in view.index and ":" in name and name.rpartition(":")[0] in view.index:
        name = name.rpartition(":")[0]
    node = view.index.get(name)
    tree = scope_tree(view)
    if node is not None:
        starts = np.array([node], dtype=np.int64)
    elif name and name in tree.index:
        starts = np.flatnonzero(tree.is_inside(tree.index[name]))
    else:
        starts = np.array(named_by(name, view.names), dtype=np.int64)
        if not len(starts):
            raise UnknownNameError.among(name, view.names, "no node and no name scope")
    return trace_from(view, starts, direction, name)


def trace_from(view: PlacementView, starts: np.ndarray, direction: str, of: str) -> Trace:
    """Trace from some nodes; see `trace_of`."""
    if direction not in TRACES:
        raise ValueError(f"Unknown trace direction {direction!r}: choose one of {', '.join(TRACES)}")
    if not view.knows_edges:
        raise ValueError(
            "A log contains no edges, so it cannot be traced. Trace a placement of the graph instead."
        )
    nodes = np.zeros(len(view), dtype=bool)
    nodes[starts] = True
    edges = np.zeros(len(view.src), dtype=bool)
    if direction != "consumers":
        visited = reached(view, starts, upwards=True)
        nodes |= visited
        edges |= visited[view.dst]
    if direction != "inputs":
        visited = reached(view, starts, upwards=False)
        nodes |= visited
        edges |= visited[view.src]
    return Trace(view, of, direction, starts, nodes, edges)


def reached(view: PlacementView, starts: np.ndarray, *, upwards: bool) -> np.ndarray:
    """Return which nodes are reached against the edges (upwards) or along them, [nodes] bool.

    The starting nodes are included. Levels with many nodes are expanded by arrays. Levels with few nodes are expanded
    node by node, because a chain of 100,000 nodes has as many levels.
    """
    first, other, first_list, other_list = _neighbors(view, upwards)
    flags = bytearray(len(view))
    seen = np.frombuffer(flags, dtype=np.uint8)
    frontier = starts.tolist()
    for node in frontier:
        flags[node] = 1
    while frontier:
        if len(frontier) <= _NARROW:
            after = []
            for node in frontier:
                for neighbor in other_list[first_list[node] : first_list[node + 1]]:
                    if not flags[neighbor]:
                        flags[neighbor] = 1
                        after.append(neighbor)
            frontier = after
            continue
        here = np.array(frontier, dtype=np.int64)
        begins, numbers = first[here], first[here + 1] - first[here]
        skipped = np.repeat(begins - np.cumsum(numbers) + numbers, numbers)
        neighbors = other[skipped + np.arange(len(skipped))]
        fresh = np.unique(neighbors[seen[neighbors] == 0])
        seen[fresh] = 1
        frontier = fresh.tolist()
    return seen.astype(bool)


_Neighbors = tuple[np.ndarray, np.ndarray, list[int], list[int]]
_CACHE: list[tuple[np.ndarray, bool, _Neighbors]] = []


def _neighbors(view: PlacementView, upwards: bool) -> _Neighbors:
    """Return where each node's neighbors begin, and the neighbors; cached for other placements of the same graph."""
    key = view.src
    for cached_key, cached_direction, neighbors in _CACHE:
        if cached_key is key and cached_direction is upwards:
            return neighbors
    ends, others = (view.dst, view.src) if upwards else (view.src, view.dst)
    order = np.argsort(ends, kind="stable")
    first = np.searchsorted(ends[order], np.arange(len(view) + 1))
    other = others[order]
    neighbors = (first, other, first.tolist(), other.tolist())
    _CACHE[:] = [(key, upwards, neighbors), *_CACHE[:7]]
    return neighbors
