"""The structure of a graph's model: a tree of layers, blocks, towers and series, with the nodes that serve each.

::

    names, edges ──> Roles ──> ForwardScopes ──> divided() ──> parts of the forward nodes
                                                                    │  a variable: with the layer that reads it
                                                                    │  a gradient: with the layer that it differentiates
                                                                    ▼  an update: with its variable
                                                               Structure: the part of every node

>>> from gpuplace.views.tables.placement_view import PlacementView
>>> rows = [("x", "Placeholder"), ("fc/w", "VariableV2"), ("fc/w/read", "Identity"), ("fc/MatMul", "MatMul")]
>>> edges = [("fc/w", 0, "fc/w/read", 0), ("x", 0, "fc/MatMul", 0), ("fc/w/read", 0, "fc/MatMul", 1)]
>>> found = structure_of(PlacementView.of_columns([(*row, "", "") for row in rows], edges))
>>> [(part.label, part.kind) for part in found.parts], found.part_of.tolist()
([('', 'root'), ('fc', 'scope')], [0, 1, 1, 1])
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gpuplace.model.structure.forward_parts import ForwardParts
from gpuplace.model.structure.part_tree import Part, PartTree
from gpuplace.model.structure.roles import (
    AVERAGING,
    BACKWARD,
    BOOKKEEPING,
    UPDATE,
    VARIABLE,
    Columns,
    Roles,
    forward_op,
)
from gpuplace.model.structure.scopes import ROOT, ForwardScopes
from gpuplace.model.subject.bookkeeping import SHELVES, GraphColumns, bookkeeping, neighbors

__all__ = ["ROOT", "GraphModel", "Part", "Structure", "structure_of"]

_KEY = "structure"
_ASIDE = (*SHELVES, "metrics", "optimizer", "unused")
"""Labels of the shelves."""
_METRICS, _OPTIMIZER, _UNUSED = _ASIDE[-3:]
_CLIPPING = re.compile(r"clip|norm", re.IGNORECASE)
_FEW_READERS = 64
"""Maximum number of a variable's readers that are considered."""


@dataclass(frozen=True, eq=False)
class Structure:
    """The parts of a model; each node belongs to one."""

    parts: tuple[Part, ...]
    """The parts, parents before their children; the first is the whole graph."""
    part_of: np.ndarray
    """[nodes] innermost part of each node."""
    role: np.ndarray
    """[nodes] index into `ROLES`."""
    layers: tuple[str, ...]
    """Layer names in graph order, whatever groups contain the layers."""
    layer_of: np.ndarray
    """[nodes] layer of each forward node; -1 for other nodes."""
    transparent: dict[str, int]
    """Transparent name scopes -> the part that shows their contents."""
    differentiated: np.ndarray
    """[nodes] the op whose gradient a node computes, -1 for other nodes."""

    @cached_property
    def tower_of(self) -> np.ndarray:
        """[nodes] position of the tower that contains each node; -1 outside of towers."""
        tower = [-1] * len(self.parts)
        for position, part in enumerate(self.parts[1:], 1):
            tower[position] = position if part.is_tower else tower[part.parent]
        return np.array(tower, dtype=np.int64)[self.part_of]


@dataclass(frozen=True, eq=False)
class GraphModel(GraphColumns):
    """Adapter of a `PlacementGraph` for `structure_of`; views of the graph share its results."""

    @cached_property
    def op_types(self) -> Sequence[str]:
        """The distinct op types."""
        return list(dict.fromkeys(self.graph.op_types))

    @cached_property
    def op_type(self) -> np.ndarray:
        """[nodes] index into `op_types`."""
        number = {op_type: position for position, op_type in enumerate(self.op_types)}
        of_signature = np.array([number[op_type] for op_type in self.graph.op_types], dtype=np.int64)
        return of_signature[self.graph.signature]

    @property
    def src_output(self) -> np.ndarray:
        """[edges] output of the producing node, -1 for a control edge."""
        return self.graph.src_output

    @property
    def attached(self) -> dict[str, Any]:
        """Results that modules store with the graph."""
        attached: dict[str, Any] = self.graph.__dict__.setdefault("_attached", {})
        return attached


def structure_of(view: Columns) -> Structure:
    """Return the structure of a graph; all placements of the graph share it.

    Args:
        view: graph with its edges.
    """
    if _KEY not in view.attached:
        view.attached[_KEY] = _Builder(view).structure()
    structure: Structure = view.attached[_KEY]
    return structure


class _Builder:
    """Build the tree of parts, starting from the forward nodes."""

    def __init__(self, view: Columns) -> None:
        self.view = view
        self.shelf = bookkeeping(view)
        self.roles = Roles(view, self.shelf)
        self.scopes = ForwardScopes(self.roles)
        self.tree = PartTree(len(view))
        self.forward = ForwardParts(self.tree, self.roles, self.scopes)
        self.differentiated = [-1] * len(view)
        self.home: dict[int, int] = {}
        roles = self.roles
        self.updated = {
            roles.variable_of[before]
            for node in np.flatnonzero(roles.is_update).tolist()
            for before in roles.inputs[node][:1]
        }
        self.homes_by_name: dict[str, int] | None = None
        self.inner_layers: dict[int, list[int]] | None = None

    def structure(self) -> Structure:
        """Assign all nodes, and return the result."""
        self._variables()
        self._gradients()
        self._updates()
        self._shelves()
        self._rest()
        at = self.tree.finish(self.forward.is_reading)
        scopes = self.scopes
        return Structure(
            tuple(self.tree.parts),
            np.array(self.tree.part_of, dtype=np.int64),
            self.roles.role,
            self.forward.layers,
            self.forward.layer_of,
            {
                scopes.paths[scope]: at[self._shown_by(scopes.parent[scope])]
                for scope in range(1, len(scopes))
                if scopes.is_transparent[scope]
            },
            np.array(self.differentiated, dtype=np.int64),
        )

    def _shown_by(self, scope: int) -> int:
        """Return the part that shows a scope, or the part around it if the flow enters the scope repeatedly."""
        while scope not in self.forward.of_scope:
            scope = self.scopes.parent[scope]
        return self.forward.of_scope[scope]

    def _variables(self) -> None:
        """Assign variables and their reads to the layer that reads them; variables of several towers are shared."""
        roles = self.roles
        readers: dict[int, list[int]] = {}
        for node, scope in enumerate(self.scopes.scope_of):
            if scope >= 0 and self.forward.is_reading[node]:
                for before in roles.inputs[node]:
                    if (variable := roles.variable_of[before]) >= 0:
                        readers.setdefault(variable, []).append(self.tree.part_of[node])
        for variable, parts in readers.items():
            self.home[variable] = self._common(variable, list(dict.fromkeys(parts))[:_FEW_READERS])
        for node, variable in enumerate(roles.variable_of):
            if variable in self.home and roles.role[node] == VARIABLE and self.shelf[node] < 0:
                self.tree.part_of[node] = self.home[variable]

    def _common(self, variable: int, parts: Sequence[int]) -> int:
        """Return the part of a variable that several parts read: shared variables, the first layer, or their parent.

        Weights that several layers share are in the first of them. A variable that training leaves alone holds data,
        such as a batch of images; in one layer, the data would seem to come from that layer.
        """
        ways = [self.tree.way(part) for part in parts]
        depth = 0
        while all(len(way) > depth for way in ways) and len({way[depth] for way in ways}) == 1:
            depth += 1
        around = ways[0][depth - 1]
        if any(self.tree.parts[way[depth]].is_tower for way in ways if len(way) > depth):
            shared = self.tree.serving(around, "shared variables", "shared")
            scope = self.view.names[variable].rpartition("/")[0]
            return self.tree.named_in(shared, scope) if scope else shared
        if self.updated and variable not in self.updated:
            return around
        return next((part for part, way in zip(parts, ways, strict=True) if len(way) > depth), around)

    def _gradients(self) -> None:
        """Assign gradients to the layer of the differentiated op."""
        roles, view = self.roles, self.view
        index = {name: node for node, name in enumerate(view.names)}
        layer_of_scope: dict[str, tuple[int, int]] = {}
        late = []
        for node in roles.order:
            if roles.role[node] != BACKWARD:
                continue
            name = view.names[node]
            scope, mark, _ = name.rpartition("_grad")
            key = scope if mark else name.rpartition("/")[0]
            if key not in layer_of_scope:
                op = forward_op(name, index)
                layer_of_scope[key] = op, self._differentiated_layer(name, op)
            self.differentiated[node], layer = layer_of_scope[key]
            if layer <= ROOT:
                layer = self._layer_near(roles.inputs[node])
            if layer <= ROOT:
                late.append(node)
            else:
                self.tree.part_of[node] = self.tree.serving(layer, "backward")
        for node in reversed(late):
            layer = self._layer_near(roles.consumers[node])
            self.tree.part_of[node] = self.tree.serving(max(layer, ROOT), "backward")

    def _differentiated_layer(self, name: str, op: int) -> int:
        """Return the layer of a gradient by its name and its differentiated op; -1 if unknown."""
        if op >= 0 and self.tree.part_of[op] >= 0:
            return self.tree.layer_of_part(self.tree.part_of[op])
        scope = name.partition("gradient_tape/")[2].rpartition("/")[0]
        while scope:
            if (layer := self.forward.of_scope.get(self.scopes.index.get(scope, -1), -1)) >= 0:
                return layer
            scope = scope.rpartition("/")[0]
        return -1

    def _layer_near(self, nodes: Iterable[int]) -> int:
        """Return the first layer of some nodes, forward nodes first; -1 for none."""
        parts = [self.tree.part_of[node] for node in nodes if self.scopes.is_model[node]] + [
            self.tree.part_of[node] for node in nodes if self.roles.role[node] == BACKWARD
        ]
        return next((self.tree.layer_of_part(part) for part in parts if part > ROOT), -1)

    def _updates(self) -> None:
        """Assign updates to the part of their variable, and slots to the part of the variable updated with them."""
        roles, view = self.roles, self.view
        averaging = [node for node in range(len(view)) if roles.role[node] == AVERAGING]
        if averaging:
            clipping = sum(_CLIPPING.search(view.names[node]) is not None for node in averaging)
            has_towers = any(part.is_tower for part in self.tree.parts)
            name = (
                "gradient averaging" if has_towers and 2 * clipping < len(averaging) else "gradient clipping"
            )
            part = self.tree.serving(ROOT, name)
            for node in averaging:
                self.tree.part_of[node] = part
        layer_of: dict[int, set[int]] = {}
        for node in range(len(view)):
            if roles.role[node] != UPDATE or not roles.is_update[node]:
                continue
            variables = [v for v in (roles.variable_of[before] for before in roles.inputs[node]) if v >= 0]
            home = next((self.home[variable] for variable in variables if variable in self.home), -1)
            if home < 0:
                home = self._slot_home(variables[0]) if variables else -1
            if home < 0:
                continue
            self.tree.part_of[node] = self.tree.serving(home, "update")
            for variable in variables:
                if variable not in self.home:
                    self.home[variable] = home
        for node, variable in enumerate(roles.variable_of):
            if variable in self.home and self.tree.part_of[node] < 0 and self.shelf[node] < 0:
                self.tree.part_of[node] = self.tree.serving(self.home[variable], "update")
        for node in reversed(roles.order):
            if roles.role[node] != UPDATE or self.tree.part_of[node] >= 0:
                continue
            taken = {
                part
                for after in roles.consumers[node]
                for part in layer_of.get(after, {self.tree.part_of[after]})
            }
            layer_of[node] = taken
            if len(taken) == 1 and -1 not in taken:
                self.tree.part_of[node] = min(taken)

    def _slot_home(self, variable: int) -> int:
        """Return the part of a variable that no layer reads, by its related variable; -1 for none.

        A moment's name extends the name of its variable; a moving average is beside the variables of its layer.
        """
        if self.homes_by_name is None:
            self.homes_by_name = {}
            for variable_node, home in self.home.items():
                name = self.view.names[variable_node]
                self.homes_by_name[name] = home
                self.homes_by_name.setdefault(name.rpartition("/")[0], home)
        scope = self.view.names[variable]
        while scope:
            if scope in self.homes_by_name:
                return self.homes_by_name[scope]
            if (part := self.forward.of_scope.get(self.scopes.index.get(scope, -1), -1)) > 0:
                return part
            scope = scope.rpartition("/")[0]
        return -1

    def _shelves(self) -> None:
        """Build the shelves in order, each with the name scopes of its nodes."""
        roles, shelf = self.roles, self.shelf
        purpose: dict[str, list[int]] = {}
        for node in range(len(self.view)):
            if shelf[node] >= 0:
                purpose.setdefault(SHELVES[shelf[node]], []).append(node)
            elif roles.role[node] == BOOKKEEPING:
                purpose.setdefault(_METRICS, []).append(node)
            elif roles.role[node] == UPDATE and self.tree.part_of[node] < 0:
                purpose.setdefault(_OPTIMIZER, []).append(node)
        self.purpose = purpose
        for label in _ASIDE:
            self._shelve(label, purpose.get(label, ()))

    def _shelve(self, label: str, nodes: Sequence[int]) -> None:
        """Put nodes on a shelf, inside their name scopes."""
        part_of_scope: dict[str, int] = {}
        for node in nodes:
            scope = self.view.names[node].rpartition("/")[0]
            if scope not in part_of_scope:
                self._shelve_scope(label, scope, part_of_scope)
            self.tree.part_of[node] = part_of_scope[scope]

    def _shelve_scope(self, label: str, scope: str, part_of_scope: dict[str, int]) -> None:
        """Create the parts of a name scope and its parents on a shelf."""
        if not part_of_scope:
            part_of_scope[""] = self._shelf(label)
        waiting = []
        while scope not in part_of_scope:
            waiting.append(scope)
            scope = scope.rpartition("/")[0]
        part = part_of_scope[scope]
        for path in reversed(waiting):
            name = path.rpartition("/")[2]
            part = part_of_scope[path] = self.tree.part(f"({label})/{path}", name, part, "scope")

    def _shelf(self, label: str) -> int:
        if (ROOT, f"({label})") not in self.tree.served:
            self.tree.served[ROOT, f"({label})"] = self.tree.part(f"({label})", f"({label})", ROOT, "shelf")
        return self.tree.served[ROOT, f"({label})"]

    def _rest(self) -> None:
        """Assign constants, sizes, plumbing and unread variables to consumers, producers or name scopes."""
        roles, view, part_of, place = self.roles, self.view, self.tree.part_of, self.forward.place
        left = [node for node in roles.order if part_of[node] < 0]
        # Of several layers, the one that is complete first: an edge back to it would draw the flow as a circle.
        end = [0] * len(self.tree.parts)
        for node, part in enumerate(part_of):
            if part >= 0 and self.scopes.is_model[node]:
                end[part] = max(end[part], place[node])
        for part in range(len(end) - 1, 0, -1):
            parent = self.tree.parts[part].parent
            end[parent] = max(end[parent], end[part])
        for node in reversed(left):  # nodes that serve a layer, whatever their names
            if roles.is_constant[node] or roles.is_size[node]:
                taken = {part_of[after]: None for after in roles.consumers[node] if part_of[after] >= 0}
                if len(taken) > 1:
                    taken = {self.tree.layer_of_part(part): None for part in taken}
                part_of[node] = min(taken, key=lambda part: end[part] or len(view), default=-1)

        def completed(node: int) -> tuple[int, int]:
            """Return the place in the flow where a node's box is complete; an op beside layers is a box of its own."""
            part = part_of[node]
            is_box = part >= 0 and self.scopes.is_model[node] and bool(self._inner_layers(part))
            return -1 if part < 0 else place[node] if is_box else end[part], place[node]

        for node in left:  # a node that passes a result on is shown with the op that computes it
            if roles.is_passing[node] and part_of[node] < 0 and roles.inputs[node]:
                maker = max(roles.inputs[node], key=completed)
                part = part_of[maker]
                if part > ROOT and self._inner_layers(part) and self.scopes.is_model[maker]:
                    label = view.names[maker].rpartition("/")[2]
                    end.append(end[part])
                    part = part_of[maker] = self.tree.part(self.tree.path(part, label), label, part, "group")
                part_of[node] = part if part >= 0 and not self._inner_layers(part) else -1
        for node in reversed(left):
            if roles.is_passing[node] and part_of[node] < 0:
                # With its first consumer, sizes last: they are computed early for layers that may come late.
                consumers = sorted(
                    roles.consumers[node], key=lambda after: (roles.is_size[after], place[after])
                )
                taken = dict.fromkeys(part_of[after] for after in consumers if part_of[after] > 0)
                part_of[node] = next((part for part in taken if not self._inner_layers(part)), -1)
        for node in left:
            if part_of[node] >= 0:
                continue
            scope = view.names[node].rpartition("/")[0]
            if roles.role[node] not in (BACKWARD, AVERAGING, UPDATE):
                while scope and part_of[node] < 0:
                    part = self.forward.of_scope.get(self.scopes.index.get(scope, -1), -1)
                    part_of[node] = part if part > 0 else -1
                    scope = scope.rpartition("/")[0]
            while part_of[node] > 0 and (inner := self._inner_layers(part_of[node])):
                part_of[node] = inner[0]  # not beside layers, where it would be a box
        every = (neighbors(view.src, view.dst, len(view)), neighbors(view.dst, view.src, len(view)))
        for others, nodes in (
            (roles.consumers, left[::-1]),
            (roles.inputs, left),
            (every[1], left),
            (every[0], left[::-1]),
        ):
            for node in nodes:
                if part_of[node] < 0:
                    parts = (part_of[other] for other in others[node])
                    part_of[node] = next((part for part in parts if part >= 0), -1)
        self._shelve(_UNUSED, [node for node in left if part_of[node] < 0])

    def _inner_layers(self, part: int) -> list[int]:
        """Return the layers directly inside a part."""
        if self.inner_layers is None:
            self.inner_layers = {}
            for position, inner in enumerate(self.tree.parts[1:], 1):
                if inner.kind not in ("role", "shelf", "shared"):
                    self.inner_layers.setdefault(inner.parent, []).append(position)
        return self.inner_layers.get(part, [])
