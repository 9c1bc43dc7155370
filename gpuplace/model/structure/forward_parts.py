"""The parts formed by the forward nodes of a model: layers, groups, series and towers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from os.path import commonprefix

import numpy as np

from gpuplace.graph.op_sets import (
    ALL_SWITCHES,
    ENDS_OF_LOSS_TERMS,
    IDENTITY_OPS,
    LOOP_OPS,
    MERGES,
    SWITCHES,
    SWITCHES_OF_MANY,
)
from gpuplace.model.structure import copies
from gpuplace.model.structure.division import MOST, Item, Links, divided, grouped
from gpuplace.model.structure.part_tree import PartTree
from gpuplace.model.structure.roles import BACKWARD, FORWARD, INPUT, LOSS, Roles
from gpuplace.model.structure.scopes import ROOT, ForwardScopes, stem
from gpuplace.model.structure.visits import circles, visits

_UNNAMED = re.compile(r"(variable|kernel|weights?|bias(es)?|w|b|const)(_\d+)?", re.IGNORECASE)
"""Variable names that do not identify a layer."""
_FUNCTION = re.compile(r"(embedding_lookup(_sparse)?|xw_plus_b|Tensordot)(_\d+)?")
"""Scopes named after a TensorFlow function; the names of their variables are more informative."""
_SIGNATURE = "serving_default_"
"""Prefix of the placeholders of a SavedModel's default signature."""
_WHOLE = 0.2
"""Smallest fraction of the surrounding variables that a tower reads."""
_LOOP_PARTS = ("condition", "body", "loop variables")
_BRANCHES = ("false branch", "true branch")
"""Labels of the branches of a `Switch`, by its output."""
_BRANCH_ENDS = "switches and merges"
_CALLED_AGAIN = 1.5
"""Average number of readers of a layer's variables from which the layer is called several times."""
_FEW_INPUTS = 3
"""Number of inputs up to which they are separate boxes."""


class ForwardParts:
    """Build the parts of the forward nodes.

    Attributes:
        of_scope: scope -> the part that shows it.
        is_reading: [nodes] whether an op of the model reads a variable.
        layers: layers of the model before grouping, in graph order.
        layer_of: [nodes] layer of each node, -1 outside of layers.
    """

    def __init__(self, tree: PartTree, roles: Roles, scopes: ForwardScopes) -> None:
        self.tree, self.roles, self.scopes, self.view = tree, roles, scopes, roles.view
        self.place = [0] * len(self.view)  # in flow order
        for number, node in enumerate(roles.order):
            self.place[node] = number
        self.of_scope: dict[int, int] = {ROOT: ROOT}
        self.is_trained = bool((roles.role == BACKWARD).any())
        self._is_switch = [name in ALL_SWITCHES for name in self.view.op_types]
        self.layers, self.layer_of = self._layers()
        self.links = self._links()
        while self._adopt():
            self.links = self._links()
        self.results = self._results()
        self._measure_items()
        self._fill(ROOT, ROOT)

    def _links(self) -> dict[int, set[tuple[int, int]]]:
        """Return, for each scope, the pairs of directly contained `Item.key` between which data flows."""
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
        for scope in scopes.order()[1:]:
            depth[scope] = depth[parent[scope]] + 1
        # Both ends move up to their common scope; the edge connects the last scopes before it.
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
        links: dict[int, set[tuple[int, int]]] = {}
        for scope, source, target in rows.tolist():
            links.setdefault(scope, set()).add((source, target))
        return links

    def _adopt(self) -> bool:
        """Move what the flow passes on its way through a layer into the layer's scope; return whether that changed any.

        Frameworks name the functions that a layer calls beside the layer: ``block/dense ─> gelu ─> block/dense_1``.
        """
        scopes, roles = self.scopes, self.roles
        readers: Counter[int] | None = None
        has_changed = False
        for scope, links in self.links.items():
            if scope in scopes.loops or scope in scopes.conditionals:
                continue
            keys = sorted({key for pair in links for key in pair})
            at = {key: position for position, key in enumerate(keys)}
            for circle in circles(len(keys), {(at[source], at[target]) for source, target in links}):
                members = [keys[position] for position in circle]
                homes = [key for key in members if key > 0 and scopes.variables[key]]
                if len(homes) != 1 or not scopes.children[homes[0]]:
                    continue
                if readers is None:
                    readers = Counter(
                        roles.variable_of[before]
                        for node, inner in enumerate(scopes.scope_of)
                        if inner >= 0
                        for before in roles.inputs[node]
                    )
                variables = scopes.variables[homes[0]]
                if sum(readers[variable] for variable in variables) >= _CALLED_AGAIN * len(variables):
                    continue  # each call is a part of its own
                has_changed = True
                for key in members:
                    if key != homes[0]:
                        scopes.move(key, homes[0])
        return has_changed

    def _results(self) -> dict[int, dict[int, str]]:
        """Return, for each scope, the names that identities give to results: `Item.key` -> name."""
        roles, scopes, view = self.roles, self.scopes, self.view
        is_identity = [name in IDENTITY_OPS for name in view.op_types]
        results: dict[int, dict[int, str]] = {}
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
                results.setdefault(around, {})[key] = name
        return results

    def _measure_items(self) -> None:
        """Compute each scope's first node position, a signature of its ops, and its direct nodes."""
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
        has_loss = [False] * len(scopes)
        for scope in reversed(scopes.order()):
            own = sorted(self.op_type[node] for node in self.direct[scope])
            inner = sorted(self.signature[child] for child in scopes.children[scope])
            self.signature[scope] = hash((tuple(own), tuple(inner)))
            self.has_loss_alone[scope] = all(
                roles.role[node] == LOSS or not roles.consumers[node] for node in self.direct[scope]
            ) and all(self.has_loss_alone[child] for child in scopes.children[scope])
            has_loss[scope] = any(roles.role[node] == LOSS for node in self.direct[scope]) or any(
                has_loss[child] for child in scopes.children[scope]
            )
            for child in scopes.children[scope]:
                self.first[scope] = min(self.first[scope], self.first[child])
        self.has_loss_alone = [
            alone and some for alone, some in zip(self.has_loss_alone, has_loss, strict=True)
        ]
        self.is_reading = [
            any(roles.variable_of[before] >= 0 for before in roles.inputs[node])
            if scopes.scope_of[node] >= 0
            else False
            for node in range(len(self.view))
        ]

    def _fill(self, scope: int, part: int) -> None:
        """Divide the direct contents of a scope into parts."""
        scopes = self.scopes
        named = self._names_of_functions(scope)
        items = [
            Item(
                named.get(child, scopes.labels[child]),
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
            (at[source], at[target])
            for source, target in self.links.get(scope, ())
            if source in at and target in at
        }
        items, links = self._passed_once(scope, items, links)
        inputs = [item for item in items if item.key < 0 and self.roles.role[-1 - item.key] == INPUT]
        losses = [item for item in items if self._is_loss(item)]
        if not towers:
            items, links = self._terms(items, losses, links)
            losses = [item for item in items if self._is_loss(item)]
        chosen = {id(item) for item in (*inputs, *(losses if len(losses) < len(items) else ()))}
        if len(losses) > MOST and chosen:
            losses = self._divided_loss(items, losses, links)
        rest = [position for position, item in enumerate(items) if id(item) not in chosen]
        links = _links_among(rest, links)
        chosen_items = [items[position] for position in rest]
        if not towers:
            chosen_items, links = self._towers_without_scope(chosen_items, links)
        entries = (
            self._loop_parts(scope, chosen_items, links)
            or self._branch_parts(scope, chosen_items, links)
            or divided(chosen_items, links)
        )
        for label, group, few in (("inputs", inputs, _FEW_INPUTS), ("loss", losses, 1)):
            if group and (label == "inputs" or len(chosen) > len(inputs)):
                is_unnamed = label == "loss" and group[0].is_plain
                together = len(group) > few or is_unnamed
                entries += [Item(label, 0, group[0].first, 0, False, group)] if together else group
        self._add(sorted(entries, key=lambda item: item.first), part, towers)

    def _terms(self, items: list[Item], losses: list[Item], links: Links) -> tuple[list[Item], Links]:
        """Group the ops of a loss by term: each scope or reduction with the ops that lead only to it."""
        view = self.view
        is_loss = {id(item) for item in losses}
        afters: dict[int, set[int]] = {}
        for source, target in links:
            afters.setdefault(source, set()).add(target)
        term_of = list(range(len(items)))
        for position in reversed(range(len(items))):
            item = items[position]
            ends_here = item.key >= 0 or view.op_types[self.op_type[-1 - item.key]] in ENDS_OF_LOSS_TERMS
            terms = {term_of[after] for after in afters.get(position, ())}
            if id(item) in is_loss and not ends_here and len(terms) == 1:
                term = terms.pop()
                term_of[position] = term if id(items[term]) in is_loss else position
        kept = [position for position, term in enumerate(term_of) if position == term]
        if sum(id(items[position]) in is_loss for position in kept) < 2:
            return items, links
        for position, term in enumerate(term_of):
            if term != position:
                items[term].guests.append(items[position])
        at = {position: number for number, position in enumerate(kept)}
        ends = ((at[term_of[source]], at[term_of[target]]) for source, target in links)
        return [items[position] for position in kept], {
            (source, target) for source, target in ends if source != target
        }

    def _divided_loss(self, items: list[Item], losses: list[Item], links: Links) -> list[Item]:
        """Return the items of a loss, divided like a layer."""
        is_loss = {id(item) for item in losses}
        positions = [position for position, item in enumerate(items) if id(item) in is_loss]
        return divided(losses, _links_among(positions, links))

    def _names_of_functions(self, scope: int) -> dict[int, str]:
        """Return names for scopes named after functions: the common prefix of their own variables."""
        scopes, names = self.scopes, self.view.names
        name_of: dict[int, str] = {}
        children = scopes.children[scope]
        for child in children:
            reads = scopes.variables[child]
            if not reads or not _FUNCTION.fullmatch(scopes.labels[child]):
                continue
            if any(other != child and reads & scopes.variables[other] for other in children):
                continue
            shared = commonprefix([names[variable] for variable in reads]).rstrip("/_")
            name = shared.rpartition("/")[2]
            if name and not _UNNAMED.fullmatch(name) and shared != scopes.paths[scope]:
                name_of[child] = name
        taken = Counter(name_of.values())
        return {child: name for child, name in name_of.items() if taken[name] == 1}

    def _towers_without_scope(self, items: list[Item], links: Links) -> tuple[list[Item], Links]:
        """Replace layers with the towers that they form."""
        roles, scopes = self.roles, self.scopes
        read = [
            frozenset(
                scopes.variables[item.key]
                if item.key > 0
                else {roles.variable_of[before] for before in roles.inputs[-1 - item.key]} - {-1}
                if item.key < 0
                else ()
            )
            for item in items
        ]
        is_shared = sum(map(len, read)) > len(frozenset().union(*read))
        towers = copies.towers(read, [item.size for item in items], links) if is_shared else []
        place = list(range(len(items)))
        grouped_towers: list[tuple[int, Item]] = []
        for number, members in enumerate(towers):
            for position in members:
                place[position] = members[0]
            inside = grouped([items[position] for position in members], members, links, f"tower_{number}")
            inside.is_alone = inside.is_tower = True
            grouped_towers.append((members[0], inside))
        if not grouped_towers:
            return items, links
        kept = dict(grouped_towers)
        order = [position for position in range(len(items)) if place[position] == position]
        at = {position: number for number, position in enumerate(order)}
        ends = ((at[place[source]], at[place[target]]) for source, target in links)
        return [kept.get(position, items[position]) for position in order], {
            (source, target) for source, target in ends if source != target
        }

    def _loop_parts(self, scope: int, items: list[Item], links: Links) -> list[Item]:
        """Return condition, body and loop variables of a loop; empty for other scopes."""
        types = self.view.op_types
        kinds = [types[self.op_type[-1 - item.key]] if item.key < 0 else "" for item in items]
        if scope not in self.scopes.loops or "LoopCond" not in kinds:
            return []
        befores: dict[int, list[int]] = {}
        for source, target in links:
            befores.setdefault(target, []).append(source)
        is_passed = [kind in LOOP_OPS or kind in MERGES or kind in SWITCHES for kind in kinds]
        condition: set[int] = set()
        waiting = [position for position, kind in enumerate(kinds) if kind == "LoopCond"]
        while waiting:
            for before in befores.get(waiting.pop(), ()):
                if before not in condition and not is_passed[before]:
                    condition.add(before)
                    waiting.append(before)
        passed = [position for position, is_one in enumerate(is_passed) if is_one]
        body = [position for position in range(len(items)) if position not in {*condition, *passed}]
        return [
            grouped([items[position] for position in members], members, links, label)
            for label, members in zip(_LOOP_PARTS, (sorted(condition), body, passed), strict=True)
            if members
        ]

    def _branch_parts(self, scope: int, items: list[Item], links: Links) -> list[Item]:
        """Return the branches of a conditional, and its switches and merges; empty for other scopes."""
        if scope not in self.scopes.conditionals:
            return []
        inside = sorted(self._nodes_in(scope), key=self.place.__getitem__)
        switches = [node for node in inside if self._is_switch[self.op_type[node]]]
        # the first predicate with different branches: other switches belong to outer or inner conditionals
        for predicate in dict.fromkeys(map(self._predicate, switches)):
            branches = self._branches(predicate)
            groups: dict[str, list[int]] = {}
            for position, item in enumerate(items):
                groups.setdefault(self._branch_label(item, branches), []).append(position)
            if len(groups.keys() - {_BRANCH_ENDS}) > 1:
                return [
                    grouped([items[position] for position in members], members, links, label)
                    for label, members in groups.items()
                ]
        return []

    def _branches(self, predicate: int) -> dict[int, set[str]]:
        """Return the labels of the branches that need each node after the switches of a predicate."""
        view = self.view
        own = {node for node in self._switches if self._predicate(node) == predicate}
        branches: dict[int, set[str]] = {}
        waiting: list[tuple[int, str]] = []
        for edge in np.flatnonzero(np.isin(view.src, list(own)) & (view.src_output >= 0)).tolist():
            port, switch = int(view.src_output[edge]), int(view.src[edge])
            is_many = view.op_types[self.op_type[switch]] in SWITCHES_OF_MANY
            label = f"branch {port}" if is_many else _BRANCHES[port]
            waiting.append((int(view.dst[edge]), label))
            branches.setdefault(switch, set()).add(label)
        for switch in (
            own
        ):  # a switch for a single branch belongs to it; one for several branches leads into all of them
            if len(branches.get(switch, ())) > 1:
                del branches[switch]
        while waiting:
            node, label = waiting.pop()
            if label in branches.setdefault(node, set()):
                continue
            branches[node].add(label)
            waiting += [(after, label) for after in self.roles.consumers[node] if after not in own]
            waiting += [(after, label) for after in self._awaiting.get(node, ())]
        return branches

    def _branch_label(self, item: Item, branches: dict[int, set[str]]) -> str:
        """Return the branch of an item; `_BRANCH_ENDS` for an item outside of branches or after several branches."""
        nodes = [-1 - item.key] if item.key < 0 else self._nodes_in(item.key) if item.key else []
        for member in item.members:
            nodes += [-1 - member.key] if member.key < 0 else self._nodes_in(member.key)
        labels = set().union(*(branches.get(node, set()) for node in nodes))
        return labels.pop() if len(labels) == 1 else _BRANCH_ENDS

    def _nodes_in(self, scope: int) -> list[int]:
        """Return the model's nodes in a scope, at any depth."""
        nodes = list(self.direct[scope])
        for child in self.scopes.children[scope]:
            nodes += self._nodes_in(child)
        return nodes

    def _predicate(self, switch: int) -> int:
        """Return the node that decides which output of a switch is live."""
        node = self.roles.inputs[switch][-1]
        while self.roles.is_passing[node] and self.roles.inputs[node]:
            node = self.roles.inputs[node][0]
        return node

    @cached_property
    def _switches(self) -> list[int]:
        """Return the switches with a predicate, of conditionals and loops."""
        return [
            node
            for node, kind in enumerate(self.op_type)
            if self._is_switch[kind] and len(self.roles.inputs[node]) > 1
        ]

    @cached_property
    def _awaiting(self) -> dict[int, list[int]]:
        """Passing node -> the nodes that wait for it by a control edge."""
        view = self.view
        awaiting: dict[int, list[int]] = {}
        for edge in np.flatnonzero(view.src_output < 0).tolist():
            if self.roles.is_passing[int(view.src[edge])]:
                awaiting.setdefault(int(view.src[edge]), []).append(int(view.dst[edge]))
        return awaiting

    def _op_item(self, node: int) -> Item:
        label, is_heavy = self._op_label(node), self.is_reading[node]
        item = Item(label, -1 - node, self.place[node], self.op_type[node], is_heavy)
        item.is_plain = not is_heavy and self._is_plain(node, label)
        return item

    def _passed_once(self, scope: int, items: list[Item], links: Links) -> tuple[list[Item], Links]:
        """Replace scopes that the flow enters repeatedly with parts that it passes once."""
        groups = circles(len(items), links) if any(source > target for source, target in links) else []
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
        parts = sorted({id(item): item for item in item_of.values()}.values(), key=lambda item: item.first)
        place = {id(item): position for position, item in enumerate(parts)}
        ends = (
            (place[id(item_of[source])], place[id(item_of[target])])
            for source, target in self.pairs
            if source in item_of and target in item_of
        )
        return parts, {(source, target) for source, target in ends if source != target}

    def _visit(self, label: str, nodes: list[int], edges: Sequence[tuple[int, int]]) -> Item:
        """Return an item for the ops of one visit of a scope."""
        ops = [self._op_item(node) for node in nodes]
        if len(ops) == 1:
            return ops[0]
        at = {node: position for position, node in enumerate(nodes)}
        links = {(at[source], at[target]) for source, target in edges if source in at and target in at}
        signature = hash(tuple(sorted(op.signature for op in ops)))
        heavy = any(op.is_heavy for op in ops)
        return Item(label, 0, ops[0].first, signature, heavy, divided(ops, links))

    def _op_label(self, node: int) -> str:
        """Return the name of an op, or of its variable if the op's name only repeats its type."""
        view, roles = self.view, self.roles
        label = view.names[node].rpartition("/")[2]
        is_function = _FUNCTION.fullmatch(label) is not None
        if not self.is_reading[node] or not (is_function or self._is_plain(node, label)):
            return label
        variable = next(v for v in (roles.variable_of[before] for before in roles.inputs[node]) if v >= 0)
        *around, name = view.names[variable].split("/")
        if _UNNAMED.fullmatch(name) and around:
            name = around[-1]
        return label if _UNNAMED.fullmatch(name) else name

    def _prepared_input(self, item: Item) -> str:
        """Return a name for ops without variables that only prepare one input, such as a mask; ``""`` for others."""
        roles, names = self.roles, self.view.names
        if not item.is_plain:
            return ""
        prepared: set[int] = set()
        seen = {-1 - item.key}
        waiting = [-1 - item.key]
        while waiting:
            node = waiting.pop()
            if self.is_reading[node]:
                return ""
            if roles.role[node] == INPUT:
                prepared.add(node)
                continue
            before = {other for other in roles.inputs[node] if not roles.is_size[other]} - seen
            seen |= before
            waiting += before
        name = names[min(prepared)].rpartition("/")[2].removeprefix(_SIGNATURE) if len(prepared) == 1 else ""
        return f"{name} → {item.label}" if name and not self._is_plain(min(prepared), name) else ""

    def _is_plain(self, node: int, label: str) -> bool:
        """Return whether the name of an op only repeats its type."""
        return stem(label).lower() in self.view.op_types[self.op_type[node]].lower()

    def _is_loss(self, item: Item) -> bool:
        """Return whether an item contains only the loss."""
        if item.key < 0:
            return bool(self.roles.role[-1 - item.key] == LOSS)
        return self.has_loss_alone[item.key]

    def _add(
        self, items: Sequence[Item], part: int, towers: frozenset[int], *, has_layers: bool = False
    ) -> None:
        """Add parts for items.

        Args:
            items: items in the order of the flow.
            part: part that contains them.
            towers: scopes that are towers.
            has_layers: whether the part contains other layers, so that an op is a part with the nodes that serve it.
        """
        scopes = self.scopes
        has_layers |= any(item.key >= 0 or item.guests for item in items)
        has_layers |= part == ROOT and self.is_trained
        for item in items:
            if item.members:
                kind = "series" if item.times > 1 else "group"
                path = self.tree.path(part, item.label)
                inner = self.tree.part(path, item.label, part, kind, item.times, item.is_tower)
                self._add(item.members, inner, towers)
            elif item.key < 0:
                inner = part
                if has_layers and self.roles.role[-1 - item.key] != INPUT:
                    label = self._prepared_input(item) or item.label
                    inner = self.tree.part(self.tree.path(part, item.label), label, part, "group")
                self.tree.part_of[-1 - item.key] = inner
                self._add(item.guests, inner, towers)
            else:
                path = scopes.paths[item.key]
                loop = any(inside in self._within(item.key) for inside in scopes.loops)
                branches = not loop and item.key in scopes.conditionals
                is_tower = item.key in towers
                inner = self.tree.part(path, item.label, part, "scope", 1, is_tower, loop, branches)
                self.of_scope[item.key] = inner
                self._add(item.guests, inner, towers, has_layers=bool(scopes.children[item.key]))
                self._fill(item.key, inner)

    def _within(self, scope: int) -> set[int]:
        return {scope, *self.scopes.children[scope]}

    def _towers(self, scope: int) -> frozenset[int]:
        """Return the scopes that are copies of the model: with similar names and the same variables."""
        scopes = self.scopes
        alike: dict[str, list[int]] = {}
        for child in scopes.children[scope]:
            if scopes.variables[child] and child not in scopes.conditionals:
                alike.setdefault(stem(scopes.labels[child]), []).append(child)
        towers: set[int] = set()
        for members in alike.values():
            first = scopes.variables[members[0]]
            if len(first) < _WHOLE * len(scopes.variables[scope]):
                continue  # a layer that is used again
            if len(members) > 1 and all(
                2 * len(scopes.variables[member] & first) > len(first) for member in members[1:]
            ):
                if not self._leads_on(scope, members):
                    towers.update(members)
        return frozenset(towers)

    def _leads_on(self, scope: int, members: Sequence[int]) -> bool:
        """Return whether data flows between some scopes, as between the steps of an unrolled loop."""
        afters: dict[int, list[int]] = {}
        for source, target in self.links.get(scope, ()):
            afters.setdefault(source, []).append(target)
        reached: set[int] = set()
        waiting = list(members)
        while waiting:
            for after in afters.get(waiting.pop(), ()):
                if after not in reached:
                    reached.add(after)
                    waiting.append(after)
        return not reached.isdisjoint(members)

    def _layers(self) -> tuple[tuple[str, ...], np.ndarray]:
        """Return the layers of the model before grouping, and [nodes] the layer of each node."""
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
        layer_of = np.full(len(self.view), -1, dtype=np.int64)
        for node, scope in enumerate(scopes.scope_of):
            if scope > 0:
                layer_of[node] = top[scope]
            elif scope == ROOT:
                layer_of[node] = len(names)
                names.append(self.view.names[node].rpartition("/")[2])
        return tuple(names), layer_of


def _links_among(positions: Sequence[int], links: Links) -> Links:
    """Return the links between some positions, renumbered by their order."""
    place = {position: number for number, position in enumerate(positions)}
    return {(place[source], place[target]) for source, target in links if source in place and target in place}
