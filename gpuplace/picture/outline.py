"""The scopes of a graph as a picture folds them: bookkeeping on shelves, and wide scopes in stretches.

The name scopes that the program made are all there, under their own names. Two kinds are added in larger graphs:

- A *shelf* for each kind of bookkeeping (`gpuplace.subject.bookkeeping`), with the scopes of its nodes in it:
  ``(saver)/save/RestoreV2``. Shelves have no lines to the rest.
- A *stretch* of a scope with more boxes than a look takes in: neighbours in the order in which they run, cut where the
  fewest lines cross, so that blocks and layers stay whole: ``conv1 … pool2``.

>>> from gpuplace.tables.placement_view import PlacementView
>>> names = [f"op_{i}" for i in range(60)]
>>> chain = [(a, 0, b, 0) for a, b in zip(names, names[1:])]
>>> tree = outline(PlacementView.of_columns([(name, "Neg", "", "") for name in names], chain))
>>> tree.width(0), tree.paths[1]
(12, 'op_0 … op_4')
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from heapq import heapify, heappop, heappush

import numpy as np

from gpuplace.graph.op_sets import CONSTANT_OPS
from gpuplace.subject.bookkeeping import SHELVES, bookkeeping
from gpuplace.tables.placement_view import PlacementView
from gpuplace.tables.scopes import ROOT, ScopeTree
from gpuplace.tables.text import shortened
from gpuplace.web.rules import RULES

_FOLDING = RULES["folding"]
SHELVED_FROM: int = _FOLDING["shelved_from"]
"""Nodes from which bookkeeping is set aside."""
WIDEST: int = _FOLDING["widest"]
"""Boxes that an open scope shows at most before they become stretches."""
STRETCHES = 12
"""Stretches of a wide scope."""
_LABEL = 14
"""Letters of a name in a stretch's label."""
_BACKWARD = ("gradients", "_grad", "train", "optimizer", "Adam", "GradientDescent", "Momentum", "RMSProp")
"""Names of what trains a network: opened after the network itself."""

Item = tuple[bool, int]
"""Whether it is a scope, and its position or a node's."""


class Outline(ScopeTree):
    """Scopes as a picture folds them; the paths of shelves and stretches hold characters that no node's name has.

    Attributes:
        shelves: positions of the shelves, in the order of `SHELVES`.
        is_added: [scopes] bool: whether a scope is a shelf or a stretch, and so no part of its nodes' names.
    """

    shelves: tuple[int, ...] = ()
    is_added: np.ndarray

    @cached_property
    def named_scope(self) -> list[int]:
        """[scopes] the scope itself, or for a stretch the one that it is part of."""
        found = list(range(len(self)))
        for scope in np.flatnonzero(self.is_added).tolist():
            if scope not in self.shelves:
                found[scope] = found[self.parent[scope]]
        return found

    def has_scopes_name(self, node: int) -> bool:
        """Whether a node has the name of the scope that it lies in."""
        scope = self.named_scope[self.scope_of[node]]
        return scope != ROOT and bool(self.names[node] == self.paths[scope])

    @cached_property
    def shelf_of(self) -> np.ndarray:
        """[scopes] the shelf that a scope is or lies on, `ROOT` for the network's."""
        found = np.zeros(len(self), dtype=np.int64)
        found[list(self.shelves)] = self.shelves
        for scope in range(1, len(self)):
            found[scope] = found[scope] or found[self.parent[scope]]
        return found

    def first_view(self, most: int) -> frozenset[int]:
        """The scopes that are open in a first view of no more than `most` boxes."""
        return frozenset({ROOT}.union(*self.steps(most)))

    def position(self, path: str) -> int | None:
        """Position of a scope by its path, on whatever shelf it lies; None where there is none."""
        found = self.index.get(path)
        if found is None:
            paths = (f"{self.paths[shelf]}/{path}" for shelf in self.shelves)
            found = next((self.index[path] for path in paths if path in self.index), None)
        return found

    def steps(self, most: int) -> list[tuple[int, ...]]:
        """The scopes to open one after the other for a first view, those of the network first.

        Each step opens scopes that are alike, where all steps before it were taken to no more than `most` boxes; one
        that would lead to more is left out. Shelves stay closed.
        """
        weight = self._weights()
        boxes = self.width(ROOT)
        found: list[tuple[int, ...]] = []
        ready: list[tuple[float, int, tuple[int, ...]]] = []

        def offer(scopes: Sequence[int]) -> None:
            for alike in self.alike(scopes):
                total = sum(weight[scope] for scope in alike)
                heappush(ready, (-total, alike[0], alike))

        offer([scope for scope in self.children[ROOT] if scope not in self.shelves])
        while ready:
            _, _, alike = heappop(ready)
            more = sum(self.width(scope) - 1 for scope in alike)
            if boxes + more <= most:
                boxes += more
                found.append(alike)
                for scope in alike:
                    offer(self.children[scope])
        return found

    def _weights(self) -> list[float]:
        """[scopes] how much there is to see: nodes, less the deeper they lie, and less in what only trains."""
        share = [1.0] * len(self)
        for scope, parent in enumerate(self.parent.tolist()):
            trains = any(word in self.name(scope) for word in _BACKWARD)
            share[scope] = min(share[parent], 0.05 if trains else 1.0)
        found: list[float] = (self.sizes * share * 0.6 ** np.minimum(self.depth, 60)).tolist()
        return found


_OUTLINES: list[tuple[PlacementView, Outline]] = []
"""The last few, each with the view that it is of."""


def outline(view: PlacementView) -> Outline:
    """The scopes of a view as pictures fold them; made once, also for other placements of the same graph."""
    known = next((entry for entry in _OUTLINES if _is_same_graph(entry[0], view)), None)
    known = known or (view, _outline(view))
    _OUTLINES[:] = [known, *(entry for entry in _OUTLINES if entry is not known)][:4]
    return known[1]


def _is_same_graph(one: PlacementView, other: PlacementView) -> bool:
    return one is other or (
        one.names is other.names
        and one.knows_edges == other.knows_edges
        and np.array_equal(one.src, other.src)
    )


def _outline(view: PlacementView) -> Outline:
    names: Sequence[str] = view.names
    if len(names) > SHELVED_FROM:
        kinds = bookkeeping(view).tolist()
        if min(kinds) < 0 <= max(kinds):
            names = [
                f"({SHELVES[kind]})/{name}" if kind >= 0 else name
                for kind, name in zip(kinds, names, strict=True)
            ]
    return _Stretched(ScopeTree(names), view).result()


class _Stretched:
    """A tree of scopes with stretches put between wide scopes and what they hold."""

    def __init__(self, tree: ScopeTree, view: PlacementView) -> None:
        self.tree, self.view = tree, view
        self.paths: list[str] = [""]
        self.parents: list[int] = [ROOT]
        self.added: list[bool] = [False]
        self.taken: dict[str, int] = {}
        self.scope_of = [ROOT] * len(view)
        self.links = self._links_within()

    def result(self) -> Outline:
        tree = self.tree
        shelf_paths = {f"({name})" for name in SHELVES}
        todo: list[tuple[int, int, list[Item]]] = [(ROOT, ROOT, self._items(ROOT))]
        while todo:
            place, scope, items = todo.pop()
            for label, part in self._parts(scope, items):
                if label:
                    self._add(
                        self._free_path(f"{self.paths[place]}/{label}".lstrip("/")), place, is_added=True
                    )
                    todo.append((len(self.paths) - 1, scope, part))
                    continue
                for is_scope, position in part:
                    if is_scope:
                        path = tree.paths[position]
                        self._add(path, place, is_added=path in shelf_paths)
                        todo.append((len(self.paths) - 1, position, self._items(position)))
                    else:
                        self.scope_of[position] = place
        found = Outline.of_scopes(tree.names, self.paths, self.parents, self.scope_of)
        found.is_added = np.array(self.added)
        found.shelves = tuple(
            found.index[f"({name})"]
            for name in SHELVES
            if f"({name})" in found.index and f"({name})" in tree.index
        )
        return found

    def _free_path(self, path: str) -> str:
        """The path, with a number where another stretch has it."""
        self.taken[path] = self.taken.get(path, 0) + 1
        return path if self.taken[path] == 1 else f"{path} ({self.taken[path]})"

    def _add(self, path: str, parent: int, *, is_added: bool) -> None:
        self.paths.append(path)
        self.parents.append(parent)
        self.added.append(is_added)

    def _items(self, scope: int) -> list[Item]:
        """What lies directly in a scope, shelves last, else in graph order."""
        found = [(True, child) for child in self.tree.children[scope]]
        found += [(False, node) for node in self.tree.direct[scope]]
        return found

    def _links_within(self) -> dict[int, list[tuple[Item, Item]]]:
        """Wide scope -> the pairs of things in it between which an edge goes."""
        tree, view = self.tree, self.view
        wide = [scope for scope in range(len(tree)) if tree.width(scope) > WIDEST]
        if not wide or not len(view.src):
            return {}
        # Both ends climb to where their ways meet; what they came from last is what the edge ties there.
        at = [tree.scope_of[view.src], tree.scope_of[view.dst]]
        via = [-1 - view.src, -1 - view.dst]  # a node, until it has climbed
        depth = tree.depth
        for _ in range(2 * int(depth.max(initial=0)) + 1):
            apart = at[0] != at[1]
            if not apart.any():
                break
            deeper = depth[at[0]] >= depth[at[1]]
            for side, moves in ((0, apart & deeper), (1, apart & ~deeper)):
                via[side] = np.where(moves, at[side], via[side])
                at[side] = np.where(moves, tree.parent[at[side]], at[side])
        chosen = np.isin(at[0], wide) & (via[0] != via[1])
        rows = np.unique(np.stack([at[0][chosen], via[0][chosen], via[1][chosen]], axis=1), axis=0)
        found: dict[int, list[tuple[Item, Item]]] = {}
        for scope, one, other in rows.tolist():
            found.setdefault(scope, []).append((_item(one), _item(other)))
        return found

    def _parts(self, scope: int, items: list[Item]) -> list[tuple[str, list[Item]]]:
        """The stretches of a wide scope with their labels; a stretch of one thing has none.

        Things that nothing ties, as in a log, stay as they are: no order tells which of them are neighbours.
        """
        if len(items) <= WIDEST or scope not in self.links:
            return [("", items)]
        shelves = [
            item for item in items if scope == ROOT and item[0] and self.tree.paths[item[1]][:1] == "("
        ]
        items = [item for item in items if item not in shelves]
        ordered, links = self._in_order(scope, items)
        crossing = np.zeros(len(ordered) + 1, dtype=np.int64)
        np.add.at(crossing, links[:, 0] + 1, 1)
        np.add.at(crossing, links[:, 1] + 1, -1)
        crossing = np.cumsum(crossing)  # [i]: lines that pass the cut before item i
        parts = []
        start = 0
        for end in _cuts(crossing, min(STRETCHES, math.ceil(len(ordered) / 2))):
            part = ordered[start:end]
            parts.append((self._label(part) if len(part) > 1 else "", part))
            start = end
        return [*parts, ("", shelves)] if shelves else parts

    def _in_order(self, scope: int, items: list[Item]) -> tuple[list[Item], np.ndarray]:
        """The items in the order in which they run, of equal ones as the program made them; links as positions."""
        made = [self._first(item) for item in items]
        number = {item: i for i, item in enumerate(items)}
        pairs = [
            (number[one], number[other])
            for one, other in self.links[scope]
            if one in number and other in number
        ]
        after: list[list[int]] = [[] for _ in items]
        missing = [0] * len(items)
        for one, other in pairs:
            after[one].append(other)
            missing[other] += 1
        ready = [(made[i], i) for i, count in enumerate(missing) if not count]
        heapify(ready)
        left = sorted(range(len(items)), key=lambda i: -made[i])
        done = [False] * len(items)
        order: list[int] = []
        while len(order) < len(items):
            if not ready:  # a circle: its first thing is taken although it waits
                while done[left[-1]]:
                    left.pop()
                ready.append((made[left[-1]], left[-1]))
            _, i = heappop(ready)
            if done[i]:
                continue
            done[i] = True
            order.append(i)
            for other in after[i]:
                missing[other] -= 1
                if not missing[other] and not done[other]:
                    heappush(ready, (made[other], other))
        place = np.empty(len(items), dtype=np.int64)
        place[order] = np.arange(len(items))
        links = np.sort(place[np.array(pairs, dtype=np.int64).reshape(-1, 2)], axis=1)
        return [items[i] for i in order], links

    def _first(self, item: Item) -> int:
        """The first node of a thing."""
        is_scope, position = item
        while is_scope:
            direct = self.tree.direct[position]
            if direct:
                return direct[0]
            position = self.tree.children[position][0]
        return position

    def _label(self, items: list[Item]) -> str:
        """``conv1 … pool2``: the first and the last thing that is no constant."""
        view, tree = self.view, self.tree
        names = [
            tree.name(position) if is_scope else tree.local_name(position) for is_scope, position in items
        ]
        telling = [
            name
            for name, (is_scope, position) in zip(names, items, strict=True)
            if is_scope or view.op_type_of(position) not in CONSTANT_OPS
        ]
        first, *rest = map(_begun, telling or names)
        return f"{first} … {rest[-1]}" if rest and rest[-1] != first else f"{first} …"


def _begun(name: str) -> str:
    """A long name up to where a part of it ends.

    >>> _begun("conv2_block1_out_1"), _begun("SparseSoftmaxCrossEntropy")
    ('conv2_block1', 'SparseS…ntropy')
    """
    end = name.rfind("_", 1, _LABEL + 1)
    return name if len(name) <= _LABEL else name[:end] if end > 0 else shortened(name, _LABEL)


def _item(code: int) -> Item:
    return (True, code) if code >= 0 else (False, -1 - code)


def _cuts(crossing: np.ndarray, parts: int) -> list[int]:
    """Where to cut items into parts: near equal lengths, where the fewest lines cross; the end of each part."""
    count = len(crossing) - 1
    length = count / parts
    ends: list[int] = []
    last = 0
    for k in range(1, parts):
        ideal = k * length
        low, high = (
            max(last + 1, math.ceil(ideal - length / 2)),
            min(count - 1, math.floor(ideal + length / 2)),
        )
        if low > high:
            continue
        where = np.arange(low, high + 1)
        best = np.lexsort((np.abs(where - ideal), crossing[low : high + 1]))[0]
        last = int(where[best])
        ends.append(last)
    return [*ends, count]
