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
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Self

import numpy as np

from gpuplace.views.tables.placement_view import PlacementView

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

        def scope(path: str) -> int:
            waiting = []
            while path not in index:
                waiting.append(path)
                path = path.rpartition("/")[0]
            found = index[path]
            for path in reversed(waiting):
                parents.append(found)
                found = index[path] = len(index)
            return found

        prefixes = [name.rpartition("/")[0] for name in names]
        scope_of = [scope(prefix) if prefix else ROOT for prefix in prefixes]
        for node, name in enumerate(names):
            if name in index and name:
                scope_of[node] = index[name]
        self._set(names, list(index), parents, scope_of)

    @classmethod
    def of_scopes(
        cls, names: Sequence[str], paths: Sequence[str], parents: Sequence[int], scope_of: Sequence[int]
    ) -> Self:
        """A tree whose scopes are not those of the names alone.

        Args:
            names: [nodes] names.
            paths: [scopes] a text for each that no other has, parents first, the outermost ``""``.
            parents: [scopes] position of each scope's parent.
            scope_of: [nodes] position of each node's scope.
        """
        tree = cls.__new__(cls)
        tree._set(names, paths, parents, scope_of)
        return tree

    def _set(
        self, names: Sequence[str], paths: Sequence[str], parents: Sequence[int], scope_of: Sequence[int]
    ) -> None:
        children: list[list[int]] = [[] for _ in parents]
        for position, parent in enumerate(parents[1:], 1):
            children[parent].append(position)
        direct: list[list[int]] = [[] for _ in parents]
        for node, where in enumerate(scope_of):
            direct[where].append(node)
        self.names = names
        self.index = {path: position for position, path in enumerate(paths)}
        self.paths = tuple(paths)
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
        last = self.names[node].rpartition("/")[2]
        return f"({last})" if self.has_scopes_name(node) else last

    def has_scopes_name(self, node: int) -> bool:
        """Whether a node has the name of the scope that it lies in."""
        path = self.paths[self.scope_of[node]]
        return bool(path) and self.names[node] == path

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
        found: np.ndarray = self.is_below(scope)[self.scope_of]
        return found

    def is_below(self, scope: int) -> np.ndarray:
        """[scopes] bool: whether a scope is, or lies in, another."""
        below = np.zeros(len(self), dtype=bool)
        below[scope] = True
        parent = self.parent.tolist()
        for other in range(scope + 1, len(self)):
            below[other] = below[parent[other]]
        return below

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
        known = None if self._structures is None else self._structures[0]
        if known is not op_type:  # compared once for each array, not for each scope
            same = known is not None and np.array_equal(known, op_type)
            self._structures = (op_type, self._structures[1] if same and self._structures else {})
        assert self._structures is not None
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


def scope_tree(view: PlacementView) -> ScopeTree:
    """The scopes of a view; made once, also for other placements of the same graph."""
    if "scope tree" not in view.attached:
        view.attached["scope tree"] = ScopeTree(view.names)
    found: ScopeTree = view.attached["scope tree"]
    return found
