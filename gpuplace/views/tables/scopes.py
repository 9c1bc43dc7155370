"""Name scopes as a tree, with the number of nodes in each scope by device.

A node ``tower_0/conv/weights`` is in the scope ``tower_0/conv``. If a node and a scope have the same name, as with a
variable and the ops created under it, the node is inside the scope::

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
"""Position of the root scope."""

_SUFFIX = re.compile(r"_\d+(?=/|$)")
_NUMBER = re.compile(r"\d+")


class ScopeTree:
    """The scopes of a graph; parents come before their children.

    Attributes:
        paths: full path of each scope; ``""`` for the root.
        parent: position of each scope's parent; the root is its own parent.
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
            parent = index[path]
            for path in reversed(waiting):
                parents.append(parent)
                parent = index[path] = len(index)
            return parent

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
        """Build a tree whose scopes do not follow from the names alone.

        Args:
            names: [nodes] node names.
            paths: [scopes] a unique text for each scope, parents first; ``""`` for the root.
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
        """Return the last part of a scope's path."""
        return self.paths[scope].rpartition("/")[2]

    def local_name(self, node: int) -> str:
        """Return a node's name inside its scope; in parentheses if the scope has the node's own name."""
        last = self.names[node].rpartition("/")[2]
        return f"({last})" if self.has_scopes_name(node) else last

    def has_scopes_name(self, node: int) -> bool:
        """Return whether a node has the name of its scope."""
        path = self.paths[self.scope_of[node]]
        return bool(path) and self.names[node] == path

    @cached_property
    def depth(self) -> np.ndarray:
        """[scopes] depth of each scope; 0 for the root."""
        depth = np.zeros(len(self), dtype=np.int64)
        for scope in range(1, len(self)):
            depth[scope] = depth[self.parent[scope]] + 1
        return depth

    def sums(self, columns: np.ndarray) -> np.ndarray:
        """Return the sums of ``columns`` [nodes, ...] over all nodes inside each scope, [scopes, ...]."""
        total = np.zeros((len(self), *columns.shape[1:]), dtype=np.int64)
        np.add.at(total, self.scope_of, columns)
        for scope in range(len(self) - 1, 0, -1):
            total[self.parent[scope]] += total[scope]
        return total

    @cached_property
    def sizes(self) -> np.ndarray:
        """[scopes] number of nodes inside each scope, at any depth."""
        return self.sums(np.ones(len(self.scope_of), dtype=np.int64))

    def size(self, scope: int) -> int:
        """Return the number of nodes inside a scope, at any depth."""
        return int(self.sizes[scope])

    def is_inside(self, scope: int) -> np.ndarray:
        """Return whether each node is inside a scope, at any depth, [nodes] bool."""
        inside: np.ndarray = self.is_below(scope)[self.scope_of]
        return inside

    def is_below(self, scope: int) -> np.ndarray:
        """Return whether each scope is the given scope or inside it, [scopes] bool."""
        below = np.zeros(len(self), dtype=bool)
        below[scope] = True
        parent = self.parent.tolist()
        for other in range(scope + 1, len(self)):
            below[other] = below[parent[other]]
        return below

    def width(self, scope: int) -> int:
        """Return the number of boxes of an open scope whose inner scopes are all closed."""
        return len(self.children[scope]) + len(self.direct[scope])

    def shares(self, device: np.ndarray, count: int) -> np.ndarray:
        """Return the number of nodes of each scope by device, [scopes, count + 1].

        The last column counts nodes without a device.

        Args:
            device: [nodes] device of each node, -1 for none.
            count: the number of devices.
        """
        one_hot = np.zeros((len(device), count + 1), dtype=np.int64)
        one_hot[np.arange(len(device)), device] = 1
        return self.sums(one_hot)

    def open_around(self, wanted: np.ndarray, cap: int) -> frozenset[int]:
        """Return the scopes to open so that nodes become visible, level by level, without exceeding ``cap`` boxes.

        Args:
            wanted: [nodes] bool: the nodes to show.
            cap: the maximum number of boxes.
        """
        inside = self.sums(wanted.astype(np.int64))

        def width(scope: int) -> int:
            """Return the number of boxes, with equal parts that contain none of the nodes drawn as one box."""
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
        """Return the scopes with all their ancestors, which must be open to show them."""
        opened = {ROOT}
        for scope in scopes:
            while scope not in opened:
                opened.add(scope)
                scope = int(self.parent[scope])
        return frozenset(opened)

    def representative(self, opened: frozenset[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return where each node is visible: ``(scope, is_closed)``, both [nodes].

        ``scope`` is the outermost closed scope around a node, or its own scope if all are open.
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
        """Return a number that is equal for scopes with the same op types and names, apart from numbers in names."""
        cached_op_type = None if self._structures is None else self._structures[0]
        if cached_op_type is not op_type:  # compare the contents once per array, not per scope
            same = cached_op_type is not None and np.array_equal(cached_op_type, op_type)
            self._structures = (op_type, self._structures[1] if same and self._structures else {})
        assert self._structures is not None
        return self._structure(scope, *self._structures)

    def _structure(self, scope: int, op_type: np.ndarray, hashes: dict[int, int]) -> int:
        waiting = [scope]
        while waiting:
            current = waiting[-1]
            if current in hashes:
                waiting.pop()
            elif unknown := [child for child in self.children[current] if child not in hashes]:
                waiting += unknown
            else:
                waiting.pop()
                parts = [(_stem(self.name(child)), hashes[child]) for child in self.children[current]]
                own = _stem(self.name(current))
                for node in self.direct[current]:
                    last = _stem(self.names[node].rpartition("/")[2])
                    parts.append(("()" if last == own else last, int(op_type[node])))
                hashes[current] = hash(tuple(sorted(parts)))
        return hashes[scope]

    def repeats(self, scope: int, op_type: np.ndarray, least: int = 3) -> list[tuple[int, ...]]:
        """Return runs of at least ``least`` children of a scope that are copies of each other (towers, layers)."""
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
    """Return a name without its numbers; ``layer``, ``layer_1`` and ``layer_2`` have the same stem."""
    return _NUMBER.sub("#", _SUFFIX.sub("", name))


def scope_tree(view: PlacementView) -> ScopeTree:
    """Return the scopes of a view; cached for all placements of the same graph."""
    if "scope tree" not in view.attached:
        view.attached["scope tree"] = ScopeTree(view.names)
    tree: ScopeTree = view.attached["scope tree"]
    return tree
