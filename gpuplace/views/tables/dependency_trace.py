"""All that an op depends on, and all that depends on it: a trace through data and control edges, loops included.

::

    a ──> b ──> c ──> d       trace of c by "inputs":    a, b, c      (e is not part of it)
          └──> e              trace of b by "consumers": b, c, d, e
                              trace of c by "both":      a, b, c, d

>>> from gpuplace.views.tables.placement_view import PlacementView
>>> view = PlacementView.of_columns(
...     [("a", "Const", "", "/device:CPU:0"), ("b", "Neg", "", "/device:GPU:0"), ("c", "Neg", "", "/device:GPU:0")],
...     [("a", 0, "b", 0), ("b", 0, "c", 0)],
... )
>>> found = trace_of(view, "b")
>>> found.names, found.text
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
"""Ways to go from an op: against the edges, along them, or either."""
_NARROW = 64
"""Nodes up to which a step is taken one by one, and not by arrays."""
_WORDS: dict[str, str] = RULES["lights"]["told"]
_NAME_LETTERS: int = RULES["text"]["lit_letters"]


@dataclass(frozen=True, eq=False)
class Trace:
    """What is reached from an op, or from all ops of a name scope."""

    view: PlacementView = field(repr=False)
    of: str
    """Name of the op or the scope."""
    direction: str
    """One of `TRACES`."""
    starts: np.ndarray
    """Positions of the nodes that it begins at."""
    nodes: np.ndarray
    """[nodes] bool: what is reached, and where it begins."""
    edges: np.ndarray
    """[edges] bool: the edges that were gone along."""

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
        """Of all nodes in it, in graph order."""
        return tuple(self.view.names[node] for node in np.flatnonzero(self.nodes).tolist())

    @cached_property
    def counts(self) -> dict[str, int]:
        """Short device name -> nodes reached, without those it begins at; in the machine's order."""
        reached = self.nodes.copy()
        reached[self.starts] = False
        found: dict[str, int] = {}
        totals = np.bincount(self.view.device[reached] + 1, minlength=len(self.view.devices) + 1).tolist()
        for label, total in zip(self.view.labels, [*totals[1:], totals[0]], strict=True):
            if total:
                found[label] = found.get(label, 0) + total
        return found

    @cached_property
    def copies(self) -> tuple[CopyRow, ...]:
        """Each tensor that is copied to another device on the way."""
        return tuple(self.view.copies_along(self.edges))

    @cached_property
    def nbytes(self) -> int | None:
        """Bytes of the copies whose size is known; None if none is."""
        facts = [(copy, self.view.tensor_of(copy.node, copy.output).nbytes) for copy in self.copies]
        known = [size * copy.runs for copy, size in facts if size is not None]
        return sum(known) if known or not facts else None

    @property
    def text(self) -> str:
        """How many nodes, on which devices, and what is copied on the way, in words."""
        total = sum(self.counts.values())
        if not total:
            where = "nothing"
        elif len(self.counts) == 1:
            where = f"{counted(total, 'node')} on {next(iter(self.counts))}"
        else:
            shares = ", ".join(f"{label} {number:,}" for label, number in self.counts.items())
            where = f"{counted(total, 'node')} ({shares})"
        copies = copies_text(self.view, self.copies) if self.copies else "no copy between devices"
        told = _WORDS[self.direction].format(name=shortened(self.of, _NAME_LETTERS))
        return f"{told}: {where}" + (f"; {copies}" if total else "")

    def frame(self, table: str = "nodes") -> DataFrame:
        """The rows of ``"nodes"``, ``"edges"`` or ``"copies"``; see ``gpuplace.jupyter.frames.placement_frames``.

        Raises:
            ValueError: there is no such table.
        """
        trace_frame = above("gpuplace.jupyter.frames.placement_frames", "trace_frame")

        return trace_frame(self, table)


def trace_of(placement: Any, of: Any, direction: str = "inputs") -> Trace:
    """What an op depends on, or what depends on it.

    Args:
        placement: a `Placement` or a `PlacementView`.
        of: name of an op or of a name scope, or an `Operation` or `Tensor`.
        direction: one of `TRACES`.

    Raises:
        KeyError: there is no such op or scope; says which names are like it.
        ValueError: an unknown direction, or a log, which names no edges.
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
    """What is reached from some nodes; see `trace_of`."""
    if direction not in TRACES:
        raise ValueError(f"Unknown direction {direction!r} of a trace: choose one of {', '.join(TRACES)}")
    if not view.knows_edges:
        raise ValueError("A log names no edges: what an op depends on is known of a graph, not of a log")
    nodes = np.zeros(len(view), dtype=bool)
    nodes[starts] = True
    edges = np.zeros(len(view.src), dtype=bool)
    if direction != "consumers":
        found = reached(view, starts, upwards=True)
        nodes |= found
        edges |= found[view.dst]
    if direction != "inputs":
        found = reached(view, starts, upwards=False)
        nodes |= found
        edges |= found[view.src]
    return Trace(view, of, direction, starts, nodes, edges)


def reached(view: PlacementView, starts: np.ndarray, *, upwards: bool) -> np.ndarray:
    """[nodes] bool: what is reached from some nodes against the edges (upwards) or along them, and they themselves.

    A step from many nodes is one by arrays, a step from few goes node by node: a chain of 100,000 has as many steps.
    """
    first, other, first_list, other_list = _neighbours(view, upwards)
    flags = bytearray(len(view))
    seen = np.frombuffer(flags, dtype=np.uint8)
    frontier = starts.tolist()
    for node in frontier:
        flags[node] = 1
    while frontier:
        if len(frontier) <= _NARROW:
            after = []
            for node in frontier:
                for neighbour in other_list[first_list[node] : first_list[node + 1]]:
                    if not flags[neighbour]:
                        flags[neighbour] = 1
                        after.append(neighbour)
            frontier = after
            continue
        here = np.array(frontier, dtype=np.int64)
        begins, numbers = first[here], first[here + 1] - first[here]
        skipped = np.repeat(begins - np.cumsum(numbers) + numbers, numbers)
        neighbours = other[skipped + np.arange(len(skipped))]
        fresh = np.unique(neighbours[seen[neighbours] == 0])
        seen[fresh] = 1
        frontier = fresh.tolist()
    return seen.astype(bool)


_Neighbours = tuple[np.ndarray, np.ndarray, list[int], list[int]]
_KNOWN: list[tuple[np.ndarray, bool, _Neighbours]] = []


def _neighbours(view: PlacementView, upwards: bool) -> _Neighbours:
    """Where each node's neighbours begin, and the neighbours; kept for other placements of the same graph."""
    key = view.src
    for known, way, found in _KNOWN:
        if known is key and way is upwards:
            return found
    ends, others = (view.dst, view.src) if upwards else (view.src, view.dst)
    order = np.argsort(ends, kind="stable")
    first = np.searchsorted(ends[order], np.arange(len(view) + 1))
    other = others[order]
    found = (first, other, first.tolist(), other.tolist())
    _KNOWN[:] = [(key, upwards, found), *_KNOWN[:7]]
    return found
