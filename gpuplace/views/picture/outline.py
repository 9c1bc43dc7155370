"""The foldable parts of a picture: a tree of scopes from the structure of the graph.

Graphs with few nodes, and logs, which contain no edges, are drawn by their name scopes alone.

>>> from gpuplace.views.tables.placement_view import PlacementView
>>> names = [f"op_{i}" for i in range(60)]
>>> chain = [(a, 0, b, 0) for a, b in zip(names, names[1:])]
>>> tree = outline(PlacementView.of_columns([(name, "Neg", "", "") for name in names], chain))
>>> tree.width(0) <= 16, len(outline(PlacementView.of_columns([("a/x", "Neg", "", "")])))
(True, 2)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from heapq import heappop, heappush
from typing import Self

import numpy as np

from gpuplace.model.structure.division import NORM
from gpuplace.model.structure.roles import AVERAGING, BACKWARD, BOOKKEEPING, UPDATE
from gpuplace.model.structure.scopes import stem
from gpuplace.model.structure.structure import Structure, structure_of
from gpuplace.model.subject.bookkeeping import SHELVES, bookkeeping
from gpuplace.views.tables.placement_view import PlacementView
from gpuplace.views.tables.scopes import ROOT, ScopeTree
from gpuplace.views.tables.text import shortened
from gpuplace.web.rules import RULES

_KEY = "outline"
_FOLDING = RULES["folding"]
_LETTERS, _MOST_LINES = 20, 6
"""Maximum number of characters in a line of layer names, and of lines."""
_NAME_LETTERS = 23
"""Maximum number of characters in a name on its own line."""
_FEW_LINES = 2
"""Maximum number of lines of layer names in a group's box."""
_FEW_TOWERS = 4
"""Maximum number of towers side by side whose boxes list layer names."""
STRUCTURED_FROM: int = _FOLDING["structured_from"]
"""Number of nodes above which a picture shows the model instead of single nodes."""
_FEW: int = _FOLDING["few"]
"""Number of boxes below which a view is too sparse."""
_LEAST_LAYERS = 2
"""Smallest number of layers that make opening a part informative."""
_OPS = 0.01
"""Weight factor of parts that consist of ops."""
STRIPS = ("forward", "backward", "update")
"""Contents of a box's strips, in the order of `Outline.strip`."""


class Outline(ScopeTree):
    """The scopes that a picture can fold.

    Attributes:
        model: structure that the scopes are parts of; None if they are name scopes only.
        labels: [scopes] names.
        scope_names: [scopes] full name if the scope is a name scope, otherwise ``""``.
        shelves: positions of the shelves, which are drawn apart.
        strip: [nodes] part of a box's bar to which a node belongs: index into `STRIPS`.
        is_training: [nodes] bool: gradients, their averaging and clipping, and updates.
    """

    model: Structure | None = None
    labels: tuple[str, ...]
    scope_names: tuple[str, ...]
    shelves: tuple[int, ...]
    strip: np.ndarray
    is_training: np.ndarray

    @classmethod
    def of_names(cls, view: PlacementView) -> Self:
        """Return the name scopes of a view; with many nodes, bookkeeping is on shelves.

        Args:
            view: view of the nodes.
        """
        names: Sequence[str] = view.names
        if len(names) > _FOLDING["shelved_from"]:
            kinds = bookkeeping(view).tolist()
            if min(kinds) < 0 <= max(kinds):
                names = [
                    f"({SHELVES[kind]})/{name}" if kind >= 0 else name
                    for kind, name in zip(kinds, names, strict=True)
                ]
        tree = cls(names)
        tree.names = view.names
        tree.shelves = tuple(tree.index[f"({name})"] for name in SHELVES if f"({name})" in tree.index)
        starts = [f"({name})" for name in SHELVES]
        tree.labels = tuple(path.rpartition("/")[2] for path in tree.paths)
        tree.scope_names = tuple(
            "" if path in starts else path.partition(")/")[2] if path.startswith(tuple(starts)) else path
            for path in tree.paths
        )
        tree.strip = np.zeros(len(names), dtype=np.int64)
        tree.is_training = np.zeros(len(names), dtype=bool)
        return tree

    @classmethod
    def of_structure(cls, view: PlacementView, structure: Structure) -> Self:
        """Return the parts of a model as scopes.

        Args:
            view: view of the graph.
            structure: structure of the graph.
        """
        parts = structure.parts
        paths = [part.path for part in parts]
        tree = cls.of_scopes(view.names, paths, [part.parent for part in parts], structure.part_of.tolist())
        tree.model = structure
        tree.labels = tuple(
            f"{part.label}, {part.times} times"
            if part.times > 1
            else f"{part.label} ⟳ loop"
            if part.is_loop
            else f"{part.label} ◇ conditional"
            if part.is_conditional
            else part.label
            for part in parts
        )
        tree.scope_names = tuple(
            part.path.partition(")/")[2] or part.path if part.kind == "scope" else "" for part in parts
        )
        tree.shelves = tuple(position for position, part in enumerate(parts) if part.kind == "shelf")
        role = structure.role
        tree.strip = np.select([np.isin(role, (BACKWARD, AVERAGING)), role == UPDATE], [1, 2], 0)
        tree.is_training = np.isin(role, (BACKWARD, AVERAGING, UPDATE)) | (role == BOOKKEEPING)
        return tree

    def name(self, scope: int) -> str:
        """Return the name of a scope."""
        return self.labels[scope]

    @cached_property
    def named_scope(self) -> list[int]:
        """[scopes] nearest name scope: the scope itself or an ancestor."""
        named = list(range(len(self)))
        for scope in range(1, len(self)):
            if not self.scope_names[scope]:
                named[scope] = named[self.parent[scope]]
        return named

    def has_scopes_name(self, node: int) -> bool:
        """Return whether a node has the name of the scope that contains it."""
        return bool(self.scope_names[self.scope_of[node]] == self.names[node])

    @cached_property
    def shelf_of(self) -> np.ndarray:
        """[scopes] the shelf that contains or is a scope, `ROOT` for scopes of the model."""
        shelf_of = np.zeros(len(self), dtype=np.int64)
        shelf_of[list(self.shelves)] = self.shelves
        for scope in range(1, len(self)):
            shelf_of[scope] = shelf_of[scope] or shelf_of[self.parent[scope]]
        return shelf_of

    @cached_property
    def _by_name(self) -> dict[str, int]:
        """Full name of each name scope -> the scope that shows it."""
        scope_of_name = {} if self.model is None else dict(self.model.transparent)
        for scope in range(len(self) - 1, 0, -1):
            if self.scope_names[scope]:
                scope_of_name[self.scope_names[scope]] = scope
        return scope_of_name

    def position(self, path: str) -> int | None:
        """Return the position of a scope by its path or full name; None for an unknown scope."""
        scope = self.index.get(path)
        return self._by_name.get(path) if scope is None else scope

    def is_outside(self, scope: int) -> bool:
        """Whether a scope is outside of layers, such as the root and gradient averaging."""
        while scope != ROOT and not self.is_layer[scope]:
            scope = int(self.parent[scope])
        return scope == ROOT

    def alike(self, scopes: Sequence[int]) -> list[tuple[int, ...]]:
        """Group scopes whose paths differ only in numbers, such as towers and blocks."""
        groups: dict[str, list[int]] = {}
        for scope in scopes:
            groups.setdefault(stem(self.paths[scope]), []).append(scope)
        return list(map(tuple, groups.values()))

    def first_view(self, most: int) -> frozenset[int]:
        """Return the open scopes of a first view of at most `most` boxes."""
        return frozenset({ROOT}.union(*self.steps(most)))

    def steps(self, most: int) -> list[tuple[int, ...]]:
        """Return the scopes to open for a first view in order, largest first.

        Each step opens scopes that are alike, after all steps before it, if the result has no more than `most` boxes;
        otherwise the step is skipped. Shelves and nodes that serve layers stay closed.
        """
        weight = self._weights()
        boxes = self.width(ROOT)
        steps: list[tuple[int, ...]] = []
        ready: list[tuple[float, int, tuple[int, ...]]] = []

        def offer(scopes: Sequence[int]) -> None:
            for alike in self.alike([scope for scope in scopes if weight[scope]]):
                total = sum(weight[scope] for scope in alike)
                heappush(ready, (-total, alike[0], alike))

        offer(self.children[ROOT])
        while ready:
            _, _, alike = heappop(ready)
            more = sum(self.width(scope) - 1 for scope in alike)
            if boxes >= _FEW and not self._says_more(alike[0]):
                continue
            if boxes + more <= most:
                boxes += more
                steps.append(alike)
                # scopes in towers open in all towers
                offer([child for scope in alike for child in self.children[scope]])
        return steps

    def _weights(self) -> list[float]:
        """Return [scopes] weights: nodes, discounted by depth; 0 for scopes that stay closed."""
        weights = (self.sizes * 0.6 ** np.minimum(self.depth, 60)).tolist()
        for scope in range(1, len(self)):
            if self.shelf_of[scope] or (self.has_layers and not self._may_open_first(scope)):
                weights[scope] = 0.0
            elif not self._says_more(scope):
                weights[scope] *= _OPS
        return weights

    def _may_open_first(self, scope: int) -> bool:
        """Whether a first view may open a part of a model."""
        assert self.model is not None
        part = self.model.parts[scope]
        return (
            bool(self.is_layer[scope])
            and part.kind != "shared"
            and not ((part.is_loop or part.is_conditional) and not self._is_most(scope))
        )

    def _says_more(self, scope: int) -> bool:
        """Whether opening a scope is informative: it shows layers rather than ops."""
        if self.model is None:
            return True
        parts = self.model.parts
        return self._has_parts(scope) and (
            parts[scope].has_variables in (True, parts[ROOT].has_variables) or self._is_most(scope)
        )

    def _has_parts(self, scope: int) -> bool:
        """Whether a part consists of several layers rather than of ops, or is most of the model."""
        assert self.model is not None
        parts = self.model.parts
        layers = [child for child in self.children[scope] if self.is_layer[child]]
        # A layer called from a part of its own name is not another layer, such as ``dense/Tensordot`` and ``dense``.
        with_variables = sum(
            parts[layer].has_variables is parts[ROOT].has_variables
            and parts[layer].label != parts[scope].label
            for layer in layers
        )
        is_several = with_variables >= _LEAST_LAYERS and len(layers) >= len(self.direct[scope])
        return is_several or self._is_most(scope)

    def _is_most(self, scope: int) -> bool:
        """Return whether a part contains most of the model."""
        return 2 * self.size(scope) > self._model_size

    @cached_property
    def _model_size(self) -> int:
        """Number of nodes outside of shelves."""
        return self.size(ROOT) - sum(map(self.size, self.shelves))

    @property
    def has_layers(self) -> bool:
        """Whether scopes are parts of a model."""
        return self.model is not None

    @cached_property
    def towers(self) -> tuple[int, ...]:
        """Positions of the towers, which are side by side."""
        parts = () if self.model is None else self.model.parts
        return tuple(scope for scope, part in enumerate(parts) if part.is_tower)

    @property
    def has_room(self) -> bool:
        """Whether few towers are side by side, so that boxes can be wider than their texts."""
        beside = Counter(int(self.parent[tower]) for tower in self.towers)
        return max(beside.values(), default=0) <= _FEW_TOWERS

    @cached_property
    def contents(self) -> dict[int, tuple[str, ...]]:
        """Scope -> lines of layer names, for groups and towers (for many towers, the part with their variables)."""
        if self.model is None:
            return {}
        towers = self.towers
        if not self.has_room:
            towers = tuple(scope for scope, part in enumerate(self.model.parts) if part.kind == "shared")
        contents = {scope: _lines(self._layer_names(scope, _MOST_LINES), _MOST_LINES) for scope in towers}
        for scope, part in enumerate(self.model.parts):
            layers = (
                self._layer_names(scope, _FEW_LINES)
                if part.kind == "group" and part.has_variables and self.is_layer[scope]
                else []
            )
            if len(layers) > 1:
                contents[scope] = _lines(layers, _FEW_LINES)
        return contents

    def _layer_names(self, scope: int, lines: int) -> list[str]:
        """Return the layer names of a scope; if they need too many lines, only layers with variables."""
        assert self.model is not None
        layers = [self.model.parts[child] for child in self.children[scope] if self.is_layer[child]]
        if len(_lines([part.label for part in layers], 99)) > lines:
            layers = [part for part in layers if part.has_variables] or layers
            layers = [part for part in layers if not NORM.search(part.label)] or layers
        return [part.label for part in layers]

    @cached_property
    def is_layer(self) -> list[bool]:
        """[scopes] whether a scope is a layer or group of the model, not a shelf or a role part."""
        if self.model is None:
            return [False] * len(self)
        return [
            part.kind not in ("root", "role", "shelf") and not self.shelf_of[scope]
            for scope, part in enumerate(self.model.parts)
        ]


def _lines(names: Sequence[str], most: int) -> tuple[str, ...]:
    """Return names in a few lines, with an ellipsis in the middle if there are many.

    >>> _lines(["conv1", "conv2", "local3", "softmax"], 6)
    ('conv1 → conv2 →', 'local3 → softmax')
    """
    lines = [""]
    for number, name in enumerate(names):
        text = shortened(name, _NAME_LETTERS) + (" →" if number + 1 < len(names) else "")
        if lines[-1] and len(lines[-1]) + 1 + len(text) > _LETTERS:
            lines.append("")
        lines[-1] = f"{lines[-1]} {text}".lstrip()
    half = most // 2
    if len(lines) <= most:
        return tuple(lines)
    if most <= 2:
        return (lines[0], f"… → {shortened(names[-1], _NAME_LETTERS)}")
    return (*lines[:half], "…", *lines[-half:])


def outline(view: PlacementView) -> Outline:
    """Return the scopes of a view that pictures fold; all placements of the graph share them."""
    if _KEY not in view.attached:
        view.attached[_KEY] = _outline(view)
    tree: Outline = view.attached[_KEY]
    return tree


def _outline(view: PlacementView) -> Outline:
    if len(view) < STRUCTURED_FROM or not view.knows_edges or not len(view.src):
        return Outline.of_names(view)
    return Outline.of_structure(view, structure_of(view))
