"""The model that a graph holds, as a tree of parts: layers, blocks, towers and series, with what serves each of them.

::

    names, edges ──> Roles ──> ForwardScopes ──> divided() ──> parts of the forward nodes
                                                                    │  a variable: with the layer that reads it
                                                                    │  a gradient: with the layer that it differentiates
                                                                    ▼  an update: with its variable
                                                               Structure: the part of every node

>>> from gpuplace.tables.placement_view import PlacementView
>>> rows = [("x", "Placeholder"), ("fc/w", "VariableV2"), ("fc/w/read", "Identity"), ("fc/MatMul", "MatMul")]
>>> edges = [("fc/w", 0, "fc/w/read", 0), ("x", 0, "fc/MatMul", 0), ("fc/w/read", 0, "fc/MatMul", 1)]
>>> found = structure_of(PlacementView.of_columns([(*row, "", "") for row in rows], edges))
>>> [(part.label, part.kind) for part in found.parts], found.part_of.tolist()
([('', 'root'), ('fc', 'scope')], [0, 1, 1, 1])
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpuplace.graph.op_sets import IDENTITY_OPS
from gpuplace.structure.division import Item, Links, divided
from gpuplace.structure.roles import (
    AVERAGING,
    BACKWARD,
    BOOKKEEPING,
    FORWARD,
    INPUT,
    LOSS,
    UPDATE,
    VARIABLE,
    Columns,
    Roles,
    forward_op,
)
from gpuplace.structure.scopes import ROOT, ForwardScopes, stem
from gpuplace.structure.visits import circles, visits
from gpuplace.subject.bookkeeping import SHELVES, bookkeeping, neighbours

__all__ = ["ROOT", "Part", "Structure", "structure_of"]

_ASIDE = (*SHELVES, "metrics", "optimizer", "unused")
"""What is set aside on shelves."""
_METRICS, _OPTIMIZER, _UNUSED = _ASIDE[-3:]
_UNNAMED = re.compile(r"(variable|kernel|weights?|bias(es)?|w|b|const)(_\d+)?", re.IGNORECASE)
"""Names of variables that say nothing of their layer."""
_CLIPPING = re.compile(r"clip|norm", re.IGNORECASE)
_FEW_INPUTS = 3
"""Inputs that are boxes of their own."""
_FEW_READERS = 64
"""Readers of a variable that are looked at."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a model."""

    path: str
    """A text that no other part has: of a name scope its full name."""
    label: str
    """Its name."""
    parent: int
    """Position of the part around it."""
    kind: str
    """``"root"``, ``"scope"``, ``"group"``, ``"series"``, ``"shared"``, ``"shelf"``, or ``"role"`` (serves a layer)."""
    times: int = 1
    """How many equal parts a series consists of."""
    is_tower: bool = False
    """Whether it is one of several copies of the model that share their variables."""
    is_loop: bool = False
    """Whether most of it is a loop."""
    has_variables: bool = False
    """Whether ops of the model in it read variables."""


@dataclass(frozen=True, eq=False)
class Structure:
    """The parts of a model; every node lies in one."""

    parts: tuple[Part, ...]
    """Parents before their children, the first is the whole."""
    part_of: np.ndarray
    """[nodes] innermost part of each."""
    role: np.ndarray
    """[nodes] index into `ROLES`."""
    layers: tuple[str, ...]
    """Names of the layers in the order of the graph, however they are grouped."""
    layer_of: np.ndarray
    """[nodes] the layer that a forward node belongs to, -1 for other nodes."""
    transparent: dict[str, int]
    """Name scopes whose contents are drawn in their place, to the part that shows them."""


def structure_of(view: Columns) -> Structure:
    """Return the structure of a graph.

    Args:
        view: the graph, with its edges.
    """
    return _Builder(view).structure()


class _Builder:
    """Builds the tree of parts from the forward nodes outwards."""

    def __init__(self, view: Columns) -> None:
        self.view = view
        self.shelf = bookkeeping(view)
        self.roles = Roles(view, self.shelf)
        self.scopes = ForwardScopes(self.roles)
        count = len(view)
        self.place = [0] * count  # in the flow
        for number, node in enumerate(self.roles.order):
            self.place[node] = number
        self.parts = [Part("", "", ROOT, "root")]
        self.taken: dict[str, int] = {}
        self.part_of = [-1] * count
        self.of_scope: dict[int, int] = {ROOT: ROOT}
        self.served: dict[tuple[int, str], int] = {}
        self.home: dict[int, int] = {}
        self.homes_by_name: dict[str, int] | None = None
        self.is_trained = bool((self.roles.role == BACKWARD).any())
        self.links = self._links()
        self.results = self._results()
        self._measure_items()

    def structure(self) -> Structure:
        """Assign all nodes, and return the result."""
        self._fill(ROOT, ROOT)
        self._variables()
        self._gradients()
        self._updates()
        self._shelves()
        self._rest()
        self._finish_parts()
        layers, layer_of = self._layers()
        return Structure(
            tuple(self.parts),
            np.array(self.part_of, dtype=np.int64),
            self.roles.role,
            layers,
            layer_of,
            {
                self.scopes.paths[scope]: self.of_scope[self.scopes.parent[scope]]
                for scope in range(1, len(self.scopes))
                if self.scopes.is_transparent[scope]
            },
        )

    # ------------------------------------------------------------------------------------------------- forward nodes

    def _links(self) -> dict[int, set[tuple[int, int]]]:
        """Scope -> pairs of keys of what lies directly in it between which data flows; see `Item.key`."""
        roles, scopes = self.roles, self.scopes
        self.pairs: list[tuple[int, int]] = []
        through: list[Sequence[int]] = [()] * len(self.view)
        pairs: list[tuple[int, int]] = []
        for node in roles.order:
            sources = [
                source
                for before in roles.inputs[node]
                for source in (through[before] if not scopes.is_model[before] else (before,))
            ]
            if scopes.is_model[node]:
                pairs += [(source, node) for source in sources]
            elif roles.is_passing[node]:
                through[node] = sources[:1]
        self.pairs = pairs
        if not pairs:
            return {}
        ends = np.array(pairs, dtype=np.int64)
        scope_of, parent = np.array(scopes.scope_of), np.array(scopes.parent)
        depth = np.zeros(len(scopes), dtype=np.int64)
        for scope in range(1, len(scopes)):
            depth[scope] = depth[parent[scope]] + 1
        # Both ends climb to where their ways meet; what they came from last is what the edge ties there.
        at = [scope_of[ends[:, 0]], scope_of[ends[:, 1]]]
        via = [-1 - ends[:, 0], -1 - ends[:, 1]]
        for _ in range(2 * int(depth.max(initial=0)) + 1):
            apart = at[0] != at[1]
            if not apart.any():
                break
            deeper = depth[at[0]] >= depth[at[1]]
            for side, moves in ((0, apart & deeper), (1, apart & ~deeper)):
                via[side] = np.where(moves, at[side], via[side])
                at[side] = np.where(moves, parent[at[side]], at[side])
        rows = np.unique(np.stack([at[0], via[0], via[1]], axis=1)[via[0] != via[1]], axis=0)
        found: dict[int, set[tuple[int, int]]] = {}
        for scope, one, other in rows.tolist():
            found.setdefault(scope, set()).add((one, other))
        return found

    def _results(self) -> dict[int, dict[int, str]]:
        """Scope -> key of what lies directly in it -> the name that a program gives its result by an identity."""
        roles, scopes, view = self.roles, self.scopes, self.view
        is_identity = [name in IDENTITY_OPS for name in view.op_types]
        found: dict[int, dict[int, str]] = {}
        for node in roles.order:
            if not is_identity[view.op_type[node]] or roles.role[node] != FORWARD or not roles.inputs[node]:
                continue
            path, _, name = view.names[node].rpartition("/")
            around, before = scopes.index.get(path, -1), roles.inputs[node][0]
            while roles.is_passing[before] and roles.inputs[before]:
                before = roles.inputs[before][0]
            if around < 0 or scopes.scope_of[before] < 0 or name.startswith("Identity"):
                continue
            around = scopes.around[around]
            key, scope = -1 - before, scopes.scope_of[before]
            while scope not in (around, ROOT):
                key, scope = scope, scopes.parent[scope]
            if scope == around:
                found.setdefault(around, {})[key] = name
        return found

    def _measure_items(self) -> None:
        """Gives scopes the place of their first node, a number for their ops, and what lies directly in them."""
        roles, scopes = self.roles, self.scopes
        self.op_type = self.view.op_type.tolist()
        self.direct: list[list[int]] = [[] for _ in range(len(scopes))]
        for node, scope in enumerate(scopes.scope_of):
            if scope >= 0:
                self.direct[scope].append(node)
        self.first = [
            min((self.place[node] for node in nodes), default=len(self.place)) for nodes in self.direct
        ]
        self.signature = [0] * len(scopes)
        self.has_loss_alone = [True] * len(scopes)
        for scope in range(len(scopes) - 1, -1, -1):
            own = sorted(self.op_type[node] for node in self.direct[scope])
            inner = sorted(self.signature[child] for child in scopes.children[scope])
            self.signature[scope] = hash((tuple(own), tuple(inner)))
            self.has_loss_alone[scope] = all(
                roles.role[node] == LOSS or not roles.consumers[node] for node in self.direct[scope]
            ) and all(self.has_loss_alone[child] for child in scopes.children[scope])
            for child in scopes.children[scope]:
                self.first[scope] = min(self.first[scope], self.first[child])
        self.reads = [
            any(roles.variable_of[before] >= 0 for before in roles.inputs[node])
            if scopes.scope_of[node] >= 0
            else False
            for node in range(len(self.view))
        ]

    def _fill(self, scope: int, part: int) -> None:
        """Divide what lies directly in a scope into parts of a part."""
        scopes = self.scopes
        items = [
            Item(
                scopes.labels[child],
                child,
                self.first[child],
                self.signature[child],
                bool(scopes.variables[child]),
                size=scopes.weight[child],
            )
            for child in scopes.children[scope]
        ]
        items += map(self._op_item, self.direct[scope])
        for key, name in self.results.get(scope, {}).items():
            for item in items:
                if item.key == key:
                    item.result = name
        items.sort(key=lambda item: item.first)
        towers = self._towers(scope)
        for item in items:
            item.is_alone = item.key in towers
        at = {item.key: position for position, item in enumerate(items)}
        links: Links = {
            (at[one], at[other]) for one, other in self.links.get(scope, ()) if one in at and other in at
        }
        items, links = self._passed_once(scope, items, links)
        inputs = [item for item in items if item.key < 0 and self.roles.role[-1 - item.key] == INPUT]
        losses = [item for item in items if self._is_loss(item)]
        chosen = {id(item) for item in (*inputs, *(losses if len(losses) < len(items) else ()))}
        rest = [position for position, item in enumerate(items) if id(item) not in chosen]
        place = {position: number for number, position in enumerate(rest)}
        links = {(place[one], place[other]) for one, other in links if one in place and other in place}
        entries = divided([items[position] for position in rest], links)
        for label, group, few in (("inputs", inputs, _FEW_INPUTS), ("loss", losses, 1)):
            if chosen & {id(item) for item in group}:
                entries += [Item(label, 0, group[0].first, 0, False, group)] if len(group) > few else group
        self._add(sorted(entries, key=lambda item: item.first), part, towers)

    def _op_item(self, node: int) -> Item:
        return Item(self._op_label(node), -1 - node, self.place[node], self.op_type[node], self.reads[node])

    def _passed_once(self, scope: int, items: list[Item], links: Links) -> tuple[list[Item], Links]:
        """Parts that the flow passes once in place of scopes that it enters again and again."""
        groups = circles(len(items), links)
        if not groups:
            return items, links
        at = {item.key: position for position, item in enumerate(items)}
        item_of: dict[int, Item] = {}
        for node, inner in enumerate(self.scopes.scope_of):
            key = -1 - node
            while inner > scope:
                key, inner = inner, self.scopes.parent[inner]
            if inner == scope:
                item_of[node] = items[at[key]]
        gone: set[int] = set()
        for group in groups:
            circle = {id(items[position]) for position in group}
            nodes = {node: at[item.key] for node, item in item_of.items() if id(item) in circle}
            order = sorted(nodes, key=self.place.__getitem__)
            edges = [pair for pair in self.pairs if pair[0] in nodes and pair[1] in nodes]
            for (home, _), members in visits(nodes, order, edges).items():
                gone.update(group)
                visit = self._visit(items[home].label, members, edges)
                item_of.update(dict.fromkeys(members, visit))
        if not gone:
            return items, links
        found = sorted({id(item): item for item in item_of.values()}.values(), key=lambda item: item.first)
        place = {id(item): position for position, item in enumerate(found)}
        ends = (
            (place[id(item_of[one])], place[id(item_of[other])])
            for one, other in self.pairs
            if one in item_of and other in item_of
        )
        return found, {(one, other) for one, other in ends if one != other}

    def _visit(self, label: str, nodes: list[int], edges: Sequence[tuple[int, int]]) -> Item:
        """A part of the ops that the flow passes in one visit of a scope."""
        ops = [self._op_item(node) for node in nodes]
        if len(ops) == 1:
            return ops[0]
        at = {node: position for position, node in enumerate(nodes)}
        links = {(at[one], at[other]) for one, other in edges if one in at and other in at}
        signature = hash(tuple(sorted(op.signature for op in ops)))
        heavy = any(op.is_heavy for op in ops)
        return Item(label, 0, ops[0].first, signature, heavy, divided(ops, links))

    def _op_label(self, node: int) -> str:
        """The name of an op; if it says no more than the op type does, that of the variable that it reads."""
        view, roles = self.view, self.roles
        label = view.names[node].rpartition("/")[2]
        if not self.reads[node] or stem(label).lower() not in view.op_types[self.op_type[node]].lower():
            return label
        variable = next(v for v in (roles.variable_of[before] for before in roles.inputs[node]) if v >= 0)
        *around, name = view.names[variable].split("/")
        if _UNNAMED.fullmatch(name) and around:
            name = around[-1]
        return label if _UNNAMED.fullmatch(name) else name

    def _is_loss(self, item: Item) -> bool:
        """Whether an item holds the loss alone."""
        if item.key < 0:
            return bool(self.roles.role[-1 - item.key] == LOSS)
        return self.has_loss_alone[item.key]

    def _add(self, items: Sequence[Item], part: int, towers: frozenset[int]) -> None:
        scopes = self.scopes
        # What serves an op of its own is shown with it.
        has_layers = any(item.key >= 0 for item in items) or (part == ROOT and self.is_trained)
        for item in items:
            if item.members:
                kind = "series" if item.times > 1 else "group"
                inner = self._part(self._path(part, item.label), item.label, part, kind, item.times)
                self._add(item.members, inner, towers)
            elif item.key < 0:
                is_layer = has_layers and self.roles.role[-1 - item.key] != INPUT
                inner = (
                    self._part(self._path(part, item.label), item.label, part, "group") if is_layer else part
                )
                self.part_of[-1 - item.key] = inner
                self._add(item.guests, inner, towers)
            else:
                path = scopes.paths[item.key]
                loop = any(inside in self._within(item.key) for inside in scopes.loops)
                inner = self._part(path, item.label, part, "scope", 1, item.key in towers, loop)
                self.of_scope[item.key] = inner
                self._add(item.guests, inner, towers)
                self._fill(item.key, inner)

    def _within(self, scope: int) -> set[int]:
        return {scope, *self.scopes.children[scope]}

    def _towers(self, scope: int) -> frozenset[int]:
        """Scopes that are copies of the model: alike by name, and reading the same variables."""
        scopes = self.scopes
        alike: dict[str, list[int]] = {}
        for child in scopes.children[scope]:
            if scopes.variables[child]:
                alike.setdefault(stem(scopes.labels[child]), []).append(child)
        found: set[int] = set()
        for members in alike.values():
            first = scopes.variables[members[0]]
            if len(members) > 1 and all(
                2 * len(scopes.variables[member] & first) > len(first) for member in members[1:]
            ):
                linked = self.links.get(scope, set())
                if not any((one, other) in linked for one in members for other in members):
                    found.update(members)
        return frozenset(found)

    # ------------------------------------------------------------------------------------------------------ new parts

    def _part(
        self,
        path: str,
        label: str,
        parent: int,
        kind: str,
        times: int = 1,
        is_tower: bool = False,
        is_loop: bool = False,
    ) -> int:
        self.parts.append(Part(path, label, parent, kind, times, is_tower, is_loop))
        return len(self.parts) - 1

    def _path(self, part: int, label: str) -> str:
        """A text for a part that is no name scope, with a number where another part has it."""
        path = f"{self.parts[part].path}/({label})".lstrip("/")
        self.taken[path] = self.taken.get(path, 0) + 1
        return path if self.taken[path] == 1 else f"{path} ({self.taken[path]})"

    def _serving(self, part: int, label: str, kind: str = "role") -> int:
        """The part of a part that holds what serves it, such as its gradients."""
        if (part, label) not in self.served:
            self.served[part, label] = self._part(self._path(part, label), label, part, kind)
        return self.served[part, label]

    def _layer_of_part(self, part: int) -> int:
        """The part that another part serves, or the part itself."""
        while self.parts[part].kind == "role":
            part = self.parts[part].parent
        return part

    # ----------------------------------------------------------------------------------------------- what serves layers

    def _variables(self) -> None:
        """Variables and their reads: with the layer that reads them, with all others where towers share them."""
        roles = self.roles
        readers: dict[int, list[int]] = {}
        for node, scope in enumerate(self.scopes.scope_of):
            if scope >= 0 and self.reads[node]:
                for before in roles.inputs[node]:
                    if (variable := roles.variable_of[before]) >= 0:
                        readers.setdefault(variable, []).append(self.part_of[node])
        for variable, parts in readers.items():
            self.home[variable] = self._common(variable, list(dict.fromkeys(parts))[:_FEW_READERS])
        for node, variable in enumerate(roles.variable_of):
            if variable in self.home and roles.role[node] == VARIABLE and self.shelf[node] < 0:
                self.part_of[node] = self.home[variable]

    def _common(self, variable: int, parts: Sequence[int]) -> int:
        """The innermost part around all readers of a variable; the first reader's where that is no layer."""
        ways = [self._way(part) for part in parts]
        depth = 0
        while all(len(way) > depth for way in ways) and len({way[depth] for way in ways}) == 1:
            depth += 1
        around = ways[0][depth - 1]
        if any(self.parts[way[depth]].is_tower for way in ways if len(way) > depth):
            shared = self._serving(around, "shared variables", "shared")
            scope = self.view.names[variable].rpartition("/")[0]
            return self._named_in(shared, scope) if scope else shared
        return parts[0] if self.parts[around].kind in ("root", "group", "series") else around

    def _way(self, part: int) -> list[int]:
        found = [part]
        while found[-1] != ROOT:
            found.append(self.parts[found[-1]].parent)
        return found[::-1]

    def _named_in(self, part: int, scope: str) -> int:
        """The part for a name scope inside another part; made where there is none."""
        for piece in scope.split("/"):
            if (part, piece) not in self.served:
                path = self._path(part, piece)
                self.served[part, piece] = self._part(path, piece, part, "scope")
            part = self.served[part, piece]
        return part

    def _gradients(self) -> None:
        """Gradients: with the layer of the op that they differentiate."""
        roles, view = self.roles, self.view
        index = {name: node for node, name in enumerate(view.names)}
        known: dict[str, int] = {}
        late = []
        for node in roles.order:
            if roles.role[node] != BACKWARD:
                continue
            name = view.names[node]
            scope, mark, _ = name.rpartition("_grad")
            key = scope if mark else name.rpartition("/")[0]
            if key not in known:
                known[key] = self._differentiated(name, index)
            layer = known[key]
            if layer < 0:
                layer = self._layer_near(roles.inputs[node])
            if layer < 0:
                late.append(node)
            else:
                self.part_of[node] = self._serving(layer, "backward")
        for node in reversed(late):
            layer = self._layer_near(roles.consumers[node])
            self.part_of[node] = self._serving(max(layer, ROOT), "backward")

    def _differentiated(self, name: str, index: dict[str, int]) -> int:
        """The layer that a gradient belongs to by its name, -1 if the name tells none."""
        op = forward_op(name, index)
        if op >= 0 and self.part_of[op] >= 0:
            return self._layer_of_part(self.part_of[op])
        scope = name.partition("gradient_tape/")[2].rpartition("/")[0]
        while scope:
            if (found := self.of_scope.get(self.scopes.index.get(scope, -1), -1)) >= 0:
                return found
            scope = scope.rpartition("/")[0]
        return -1

    def _layer_near(self, nodes: Iterable[int]) -> int:
        """The layer of the first node that lies in one, forward nodes first; -1 for none."""
        parts = [self.part_of[node] for node in nodes if self.scopes.is_model[node]] + [
            self.part_of[node] for node in nodes if self.roles.role[node] == BACKWARD
        ]
        return next((self._layer_of_part(part) for part in parts if part >= 0), -1)

    def _updates(self) -> None:
        """Updates: with their variable; slots with the variable that they are updated with."""
        roles, view = self.roles, self.view
        averaging = [node for node in range(len(view)) if roles.role[node] == AVERAGING]
        if averaging:
            clipping = sum(_CLIPPING.search(view.names[node]) is not None for node in averaging)
            has_towers = any(part.is_tower for part in self.parts)
            name = (
                "gradient averaging" if has_towers and 2 * clipping < len(averaging) else "gradient clipping"
            )
            part = self._serving(ROOT, name)
            for node in averaging:
                self.part_of[node] = part
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
            self.part_of[node] = self._serving(home, "update")
            for variable in variables:
                if variable not in self.home:
                    self.home[variable] = home
        for node, variable in enumerate(roles.variable_of):
            if variable in self.home and self.part_of[node] < 0 and self.shelf[node] < 0:
                self.part_of[node] = self._serving(self.home[variable], "update")
        for node in reversed(roles.order):
            if roles.role[node] != UPDATE or self.part_of[node] >= 0:
                continue
            taken = {
                part for after in roles.consumers[node] for part in layer_of.get(after, {self.part_of[after]})
            }
            layer_of[node] = taken
            if len(taken) == 1 and -1 not in taken:
                self.part_of[node] = min(taken)

    def _slot_home(self, variable: int) -> int:
        """The part of a variable that no layer reads: that of the variable that it goes with, -1 for none.

        Moments extend the name of their variable, moving averages lie beside the variables of their layer.
        """
        if self.homes_by_name is None:
            self.homes_by_name = {}
            for known, home in self.home.items():
                name = self.view.names[known]
                self.homes_by_name[name] = home
                self.homes_by_name.setdefault(name.rpartition("/")[0], home)
        scope = self.view.names[variable]
        while scope:
            if scope in self.homes_by_name:
                return self.homes_by_name[scope]
            if (found := self.of_scope.get(self.scopes.index.get(scope, -1), -1)) > 0:
                return found
            scope = scope.rpartition("/")[0]
        return -1

    def _shelves(self) -> None:
        """What is set aside, in order, each shelf with the name scopes of its nodes."""
        roles, shelf = self.roles, self.shelf
        purpose: dict[str, list[int]] = {}
        for node in range(len(self.view)):
            if shelf[node] >= 0:
                purpose.setdefault(SHELVES[shelf[node]], []).append(node)
            elif roles.role[node] == BOOKKEEPING:
                purpose.setdefault(_METRICS, []).append(node)
            elif roles.role[node] == UPDATE and self.part_of[node] < 0:
                purpose.setdefault(_OPTIMIZER, []).append(node)
        self.purpose = purpose
        for label in _ASIDE:
            self._shelve(label, purpose.get(label, ()))

    def _shelve(self, label: str, nodes: Sequence[int]) -> None:
        for node in nodes:
            part = self._shelf(label)
            scope = self.view.names[node].rpartition("/")[0]
            self.part_of[node] = self._shelved_scope(part, label, scope) if scope else part

    def _shelf(self, label: str) -> int:
        if (ROOT, f"({label})") not in self.served:
            self.served[ROOT, f"({label})"] = self._part(f"({label})", f"({label})", ROOT, "shelf")
        return self.served[ROOT, f"({label})"]

    def _shelved_scope(self, shelf: int, label: str, scope: str) -> int:
        part, path = shelf, ""
        for piece in scope.split("/"):
            path = f"{path}/{piece}".lstrip("/")
            if (part, piece) not in self.served:
                self.served[part, piece] = self._part(f"({label})/{path}", piece, part, "scope")
            part = self.served[part, piece]
        return part

    def _rest(self) -> None:
        """Constants, plumbing and unread variables: with their name scope, else with what takes or makes their data."""
        roles, view = self.roles, self.view
        left = [node for node in roles.order if self.part_of[node] < 0]
        for node in reversed(left):  # constants of one layer, wherever they are named
            if roles.is_constant[node]:
                taken = {self.part_of[after] for after in roles.consumers[node]}
                self.part_of[node] = taken.pop() if len(taken) == 1 else -1
        for node in left:
            if self.part_of[node] >= 0:
                continue
            scope = view.names[node].rpartition("/")[0]
            if roles.role[node] not in (BACKWARD, AVERAGING, UPDATE):
                while scope and self.part_of[node] < 0:
                    part = self.of_scope.get(self.scopes.index.get(scope, -1), -1)
                    self.part_of[node] = part if part > 0 else -1
                    scope = scope.rpartition("/")[0]
        every = (neighbours(view.src, view.dst, len(view)), neighbours(view.dst, view.src, len(view)))
        for others, nodes in (
            (roles.consumers, left[::-1]),
            (roles.inputs, left),
            (every[1], left),
            (every[0], left[::-1]),
        ):
            for node in nodes:
                if self.part_of[node] < 0:
                    parts = (self.part_of[other] for other in others[node])
                    self.part_of[node] = next((part for part in parts if part >= 0), -1)
        self._shelve(_UNUSED, [node for node in left if self.part_of[node] < 0])

    def _finish_parts(self) -> None:
        """Takes away the groups that hold one op and nothing that serves it, and marks parts with variables."""
        nodes = Counter(self.part_of)
        children = Counter(part.parent for part in self.parts[1:])
        is_gone = [
            part.kind == "group" and nodes[position] == 1 and not children[position]
            for position, part in enumerate(self.parts)
        ]
        at = np.cumsum(~np.array(is_gone)) - 1
        up = [
            part.parent if gone else position
            for position, (part, gone) in enumerate(zip(self.parts, is_gone, strict=True))
        ]
        self.part_of = [int(at[up[part]]) for part in self.part_of]
        self.of_scope = {scope: int(at[up[part]]) for scope, part in self.of_scope.items()}
        self.parts = [
            replace(part, parent=int(at[part.parent]))
            for part, gone in zip(self.parts, is_gone, strict=True)
            if not gone
        ]
        reading = {self.part_of[node] for node, reads in enumerate(self.reads) if reads}
        for position in range(len(self.parts) - 1, -1, -1):
            if position in reading:
                reading.add(self.parts[position].parent)
                self.parts[position] = replace(self.parts[position], has_variables=True)

    def _layers(self) -> tuple[tuple[str, ...], np.ndarray]:
        """Scopes and ops directly in the whole, or in towers: what the model consists of before it is grouped."""
        scopes = self.scopes
        top = [-1] * len(scopes)
        names: list[str] = []
        for scope in range(1, len(scopes)):
            if scopes.is_transparent[scope]:
                continue
            if scopes.parent[scope] == ROOT:
                top[scope] = len(names)
                names.append(scopes.labels[scope])
            else:
                top[scope] = top[scopes.parent[scope]]
        found = np.full(len(self.view), -1, dtype=np.int64)
        for node, scope in enumerate(scopes.scope_of):
            if scope > 0:
                found[node] = top[scope]
            elif scope == ROOT:
                found[node] = len(names)
                names.append(self.view.names[node].rpartition("/")[2])
        return tuple(names), found
