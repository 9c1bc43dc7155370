"""Name scopes as a tree, with what each holds: how many nodes, on which devices.

A node ``tower_0/conv/weights`` lies in the scope ``tower_0/conv``. Where a node and a scope have one name, as with a
variable and the ops made under it, the node lies inside::

    conv/weights                      scope conv
    conv/weights/read           ->      scope weights: (weights), read, Assign
    conv/weights/Assign               scope ...

>>> tree = ScopeTree(["a", "t/x", "t/y", "t/u/z"])
>>> tree.paths
('', 't', 't/u')
>>> tree.size(1), tree.direct[1]
(3, (1, 2))
>>> tree.auto_open(cap=2)
frozenset({0})
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np

from gpuplace.tables.placement_view import PlacementView

__all__ = ["ROOT", "ScopeTree", "scope_tree"]

ROOT = 0
"""Position of the outermost scope."""

_SUFFIX = re.compile(r"_\d+(?=/|$)")
_NUMBER = re.compile(r"\d+")


class ScopeTree:
    """The scopes of a graph; parents come before their children.

    Attributes:
        paths: full path of each scope, ``""`` for the outermost.
        parent: position of each scope's parent; the outermost is its own.
        children: positions of the scopes directly inside each scope, in graph order.
        direct: positions of the nodes directly inside each scope, in graph order.
        scope_of: [nodes] innermost scope of each node.
    """

    def __init__(self, names: Sequence[str]) -> None:
        index: dict[str, int] = {"": ROOT}
        parents = [ROOT]
        children: list[list[int]] = [[]]

        def scope(path: str) -> int:
            found = index.get(path)
            if found is not None:
                return found
            end, ends = len(path), []
            while (above := index.get(path[:end])) is None:
                ends.append(end)
                end = max(path.rfind("/", 0, end), 0)
            for end in reversed(ends):  # a name may have thousands of parts, deeper than Python calls itself
                found = index[path[:end]] = len(parents)
                parents.append(above)
                children.append([])
                children[above].append(found)
                above = found
            return above

        prefixes = [name.rpartition("/")[0] for name in names]
        scope_of = [scope(prefix) if prefix else ROOT for prefix in prefixes]
        for node, name in enumerate(names):
            if name in index and name:
                scope_of[node] = index[name]
        direct: list[list[int]] = [[] for _ in parents]
        for node, where in enumerate(scope_of):
            direct[where].append(node)
        self.names = names
        self.index = index
        self.paths = tuple(index)
        self.parent = np.array(parents, dtype=np.int64)
        self.children = tuple(map(tuple, children))
        self.direct = tuple(map(tuple, direct))
        self.scope_of = np.array(scope_of, dtype=np.int64)
        self._structures: tuple[np.ndarray, dict[int, int]] | None = None

    def __len__(self) -> int:
        return len(self.paths)

    def name(self, scope: int) -> str:
        """Last part of a scope's path."""
        return self.paths[scope].rpartition("/")[2]

    def local_name(self, node: int) -> str:
        """A node's name inside its scope; in brackets where the scope has the node's own name."""
        name, path = self.names[node], self.paths[self.scope_of[node]]
        last = name.rpartition("/")[2]
        return f"({last})" if path and name == path else last

    @cached_property
    def depth(self) -> np.ndarray:
        """[scopes] 0 for the outermost."""
        depth = np.zeros(len(self), dtype=np.int64)
        for scope in range(1, len(self)):
            depth[scope] = depth[self.parent[scope]] + 1
        return depth

    def sums(self, columns: np.ndarray) -> np.ndarray:
        """[scopes, ...] sums over all nodes inside each scope of ``columns`` [nodes, ...]."""
        total = np.zeros((len(self), *columns.shape[1:]), dtype=np.int64)
        np.add.at(total, self.scope_of, columns)
        for scope in range(len(self) - 1, 0, -1):
            total[self.parent[scope]] += total[scope]
        return total

    @cached_property
    def sizes(self) -> np.ndarray:
        """[scopes] nodes inside each scope, at any depth."""
        return self.sums(np.ones(len(self.scope_of), dtype=np.int64))

    def size(self, scope: int) -> int:
        """Nodes inside a scope, at any depth."""
        return int(self.sizes[scope])

    def is_inside(self, scope: int) -> np.ndarray:
        """[nodes] bool: whether a node lies in a scope, at any depth."""
        inside = np.zeros(len(self), dtype=bool)
        inside[scope] = True
        for below in range(scope + 1, len(self)):
            inside[below] = inside[self.parent[below]]
        return inside[self.scope_of]

    def width(self, scope: int) -> int:
        """Boxes that a scope shows when it is open and everything inside is closed."""
        return len(self.children[scope]) + len(self.direct[scope])

    def shares(self, device: np.ndarray, count: int) -> np.ndarray:
        """[scopes, count + 1] nodes of each scope by device; the last column counts those without one.

        Args:
            device: [nodes] device of each node, -1 for none.
            count: how many devices there are.
        """
        one_hot = np.zeros((len(device), count + 1), dtype=np.int64)
        one_hot[np.arange(len(device)), device] = 1
        return self.sums(one_hot)

    def auto_open(self, cap: int) -> frozenset[int]:
        """The scopes to open so that no more than ``cap`` boxes show, level by level, the outermost always.

        Scopes of one level whose names differ in numbers alone (towers, layers) are opened together or not at all.
        """
        opened = {ROOT}
        boxes = self.width(ROOT)
        level = list(self.children[ROOT])
        while level:
            alike: dict[str, list[int]] = {}
            for scope in level:
                alike.setdefault(_stem(self.paths[scope]), []).append(scope)
            level = []
            more = {stem: sum(self.width(scope) - 1 for scope in scopes) for stem, scopes in alike.items()}
            for stem in sorted(alike, key=more.__getitem__):
                if boxes + more[stem] <= cap:
                    boxes += more[stem]
                    opened.update(alike[stem])
                    level += [child for scope in alike[stem] for child in self.children[scope]]
        return frozenset(opened)

    def open_around(self, wanted: np.ndarray, cap: int) -> frozenset[int]:
        """The scopes to open so that nodes are seen, level by level, as long as no more than ``cap`` boxes show.

        Args:
            wanted: [nodes] bool.
            cap: boxes.
        """
        inside = self.sums(wanted.astype(np.int64))

        def width(scope: int) -> int:
            """Boxes where what is alike and holds nothing wanted is drawn as one."""
            names = [self.name(child) for child in self.children[scope] if not inside[child]]
            names += [self.local_name(node) for node in self.direct[scope] if not wanted[node]]
            return len(set(map(_stem, names))) + self.width(scope) - len(names)

        opened = {ROOT}
        boxes = width(ROOT)
        level = [ROOT]
        while level:
            below = [child for scope in level for child in self.children[scope] if inside[child]]
            level = []
            for more, scope in sorted((width(scope) - 1, scope) for scope in below):
                if boxes + more <= cap:
                    boxes += more
                    opened.add(scope)
                    level.append(scope)
        return frozenset(opened)

    def with_parents(self, scopes: Sequence[int]) -> frozenset[int]:
        """The scopes and all around them: what must be open for these to be seen open."""
        found = {ROOT}
        for scope in scopes:
            while scope not in found:
                found.add(scope)
                scope = int(self.parent[scope])
        return frozenset(found)

    def representative(self, opened: frozenset[int]) -> tuple[np.ndarray, np.ndarray]:
        """Where each node is seen: ``(scope, is_closed)``, both [nodes].

        ``scope`` is the outermost closed scope around a node, or else its own, open, scope.
        """
        shown = np.zeros(len(self), dtype=np.int64)
        closed = np.zeros(len(self), dtype=bool)
        parent = self.parent.tolist()
        for scope in range(1, len(self)):
            above = parent[scope]
            if closed[above]:
                shown[scope], closed[scope] = shown[above], True
            else:
                shown[scope], closed[scope] = scope, scope not in opened
        return shown[self.scope_of], closed[self.scope_of]

    def structure(self, scope: int, op_type: np.ndarray) -> int:
        """A number that is equal for scopes with the same op types under the same names, but for numbers in names."""
        if self._structures is None or not np.array_equal(self._structures[0], op_type):
            self._structures = (op_type, {})
        return self._structure(scope, *self._structures)

    def _structure(self, scope: int, op_type: np.ndarray, known: dict[int, int]) -> int:
        waiting = [scope]
        while waiting:
            asked = waiting[-1]
            if asked in known:
                waiting.pop()
            elif unknown := [child for child in self.children[asked] if child not in known]:
                waiting += unknown
            else:
                waiting.pop()
                parts = [(_stem(self.name(child)), known[child]) for child in self.children[asked]]
                own = _stem(self.name(asked))
                for node in self.direct[asked]:
                    last = _stem(self.names[node].rpartition("/")[2])
                    parts.append(("()" if last == own else last, int(op_type[node])))
                known[asked] = hash(tuple(sorted(parts)))
        return known[scope]

    def repeats(self, scope: int, op_type: np.ndarray, least: int = 3) -> list[tuple[int, ...]]:
        """Children of a scope that are copies of one another (towers, layers), in runs of at least ``least``."""
        runs: dict[tuple[str, int], list[int]] = {}
        by_stem: dict[str, list[int]] = {}
        for child in self.children[scope]:
            by_stem.setdefault(_stem(self.name(child)), []).append(child)
        for stem, members in by_stem.items():
            if len(members) >= least:
                for child in members:
                    runs.setdefault((stem, self.structure(child, op_type)), []).append(child)
        return [tuple(members) for members in runs.values() if len(members) >= least]


@lru_cache(maxsize=50_000)
def _stem(name: str) -> str:
    """A name without its numbers: copies ``layer``, ``layer_1``, ``layer_2`` have one stem."""
    return _NUMBER.sub("#", _SUFFIX.sub("", name))


_TREES: list[tuple[Sequence[str], ScopeTree]] = []
"""The last few trees, each with the list of names that it is of."""


def scope_tree(view: PlacementView) -> ScopeTree:
    """The scopes of a view; made once, also for other placements of the same graph."""
    names = view.names
    known = next((entry for entry in _TREES if entry[0] is names), None) or (names, ScopeTree(names))
    _TREES[:] = [known, *(entry for entry in _TREES if entry is not known)][:4]
    return known[1]
