"""The name scopes of a model's forward nodes, without those that frameworks add.

``StatefulPartitionedCall/resnet50_1/conv1_bn_1/add`` belongs to the layer ``conv1_bn``: calls and the model's own name
do not identify a layer, and ``_1`` marks the second call. A scope is *transparent* if its contents are drawn in its
place, such as the contents of an only child.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from gpuplace.graph.op_sets import ENTERS, MERGES, NEXT_ITERATIONS
from gpuplace.model.structure.roles import FORWARD, INPUT, LOSS, Roles

ROOT = 0
"""Position of the outermost scope."""
_CALL = re.compile(r"(Stateful)?PartitionedCall(_\d+)?")
_LOOP_PART = re.compile(r"enter|merge")
"""Scopes of inlined loops for the ops of a loop's frame."""
_SUFFIX = re.compile(r"_\d+$")
_NUMBERS = re.compile(r"_?\d+")
_MOSTLY = 0.6
"""Smallest fraction of the surrounding scope in the scope of a model."""
_ASIDE = 0.1
"""Smallest fraction of the surrounding scope in a second model."""
_LEAST_LAYERS = 3
"""Smallest number of layers of a model."""


@lru_cache(maxsize=50_000)
def stem(name: str) -> str:
    """Return a name without its numbers, equal for copies.

    >>> stem("layer_11"), stem("block2_conv1")
    ('layer', 'block_conv')
    """
    return _NUMBERS.sub("", name)


class ForwardScopes:
    """Name scopes of the model's nodes; parents come before their children.

    Attributes:
        paths: full path of each scope, ``""`` for the outermost.
        parent: parent of each scope, skipping transparent ones.
        is_transparent: whether a scope is drawn as its contents.
        children: direct child scopes, in graph order.
        labels: names without the parts that frameworks add.
        weight: number of model nodes in each scope, at any depth.
        variables: variables that nodes in each scope read, at any depth.
        loops: scopes that contain a loop.
        conditionals: scopes that contain the branches of a conditional.
        index: path to position.
        is_model: [nodes] whether a node belongs to the model and is not a constant, size or plumbing.
        scope_of: [nodes] innermost scope that is not transparent, -1 for other nodes.
        around: scope that shows the contents of each: itself, or the parent of a transparent scope.
    """

    def __init__(self, roles: Roles) -> None:
        self.roles = roles
        names = roles.view.names
        kinds = np.isin(roles.role, (INPUT, FORWARD, LOSS)).tolist()
        self.is_model = [
            kind and not passing and not constant and not size
            for kind, passing, constant, size in zip(
                kinds, roles.is_passing, roles.is_constant, roles.is_size, strict=True
            )
        ]
        self.index: dict[str, int] = {"": ROOT}
        self.parent = [ROOT]
        nodes = [node for node, is_model in enumerate(self.is_model) if is_model]
        self.scope_of = [-1] * len(names)
        for node in nodes:
            self.scope_of[node] = self._scope(names[node].rpartition("/")[0])
        for node in nodes:  # an op is inside a sibling scope with its name
            self.scope_of[node] = self.index.get(names[node], self.scope_of[node])
        self.paths = list(self.index)
        self._measure(nodes)
        self.is_transparent = [False] * len(self.paths)
        self._dissolve()
        self.labels = [path.rpartition("/")[2] for path in self.paths]
        self._shorten_labels()

    def __len__(self) -> int:
        return len(self.paths)

    def order(self) -> list[int]:
        """Return the scopes, parents before their children."""
        order = [ROOT]
        for scope in order:
            order += self.children[scope]
        return order

    def move(self, key: int, home: int) -> None:
        """Move contents of a scope into a scope beside them.

        Args:
            key: a scope without variables, or -1 less a node.
            home: the scope that receives them.
        """
        if key < 0:
            self.scope_of[-1 - key] = home
            self.weight[home] += 1
            return
        self.children[self.parent[key]].remove(key)
        self.children[home].append(key)
        self.parent[key] = home
        self.weight[home] += self.weight[key]

    def _scope(self, path: str) -> int:
        waiting = []
        while path not in self.index:
            waiting.append(path)
            path = path.rpartition("/")[0]
        scope = self.index[path]
        for path in reversed(waiting):
            self.parent.append(scope)
            scope = self.index[path] = len(self.index)
        return scope

    def _measure(self, nodes: Sequence[int]) -> None:
        roles = self.roles
        is_loop = [name in NEXT_ITERATIONS or name == "LoopCond" for name in roles.view.op_types]
        is_enter = [name in ENTERS for name in roles.view.op_types]
        is_merge = [name in MERGES for name in roles.view.op_types]
        op_type = roles.view.op_type.tolist()
        self.weight = [0] * len(self.paths)
        self.variables: list[set[int]] = [set() for _ in self.paths]
        self.loops: set[int] = set()
        self.conditionals: set[int] = set()
        for node in nodes:
            scope = self.scope_of[node]
            self.weight[scope] += 1
            kind = op_type[node]
            if is_loop[kind]:
                self.loops.add(scope)
            elif (is_merge[kind] or is_enter[kind]) and _LOOP_PART.fullmatch(
                self.paths[scope].rpartition("/")[2]
            ):
                self.loops.add(self.parent[scope])
            elif is_merge[kind]:
                self.conditionals.add(scope)
            for before in roles.inputs[node]:
                if roles.variable_of[before] >= 0:
                    self.variables[scope].add(roles.variable_of[before])
        self.conditionals -= self.loops
        for scope in range(len(self.paths) - 1, 0, -1):
            above = self.parent[scope]
            self.weight[above] += self.weight[scope]
            self.variables[above] |= self.variables[scope]

    def _dissolve(self) -> None:
        """Find transparent scopes, and move their contents to the surrounding scopes."""
        children: list[list[int]] = [[] for _ in self.paths]
        for scope in range(1, len(self.paths)):
            children[self.parent[scope]].append(scope)
        around = list(range(len(self.paths)))  # the scope that shows each scope's contents
        for scope in range(1, len(self.paths)):
            above = around[self.parent[scope]]
            self.parent[scope] = above
            is_call = above == ROOT and _CALL.fullmatch(self.paths[scope].rpartition("/")[2]) is not None
            is_alone = (
                above != ROOT
                and self.weight[scope] == self.weight[above]
                and scope not in self.loops
                and scope not in self.conditionals
            )
            if is_call or is_alone or self._is_container(scope, above, children):
                self.is_transparent[scope] = True
                around[scope] = above
        self.children: list[list[int]] = [[] for _ in self.paths]
        for scope in range(1, len(self.paths)):
            if not self.is_transparent[scope]:
                self.children[self.parent[scope]].append(scope)
        self.scope_of = [around[scope] if scope >= 0 else -1 for scope in self.scope_of]
        self.around = around

    def _is_container(self, scope: int, above: int, children_of: Sequence[Sequence[int]]) -> bool:
        """Return whether a scope is a whole model, or the stack of its layers, rather than one of several layers."""
        inner = scope
        while len(children_of[inner]) == 1 and self.weight[children_of[inner][0]] == self.weight[inner]:
            inner = children_of[inner][0]
        children = children_of[inner]
        if (
            self.weight[scope] <= _MOSTLY * self.weight[above]
            or scope in self.loops
            or scope in self.conditionals
        ):
            return False
        if len(children) > 1 and self.variables[above] and self.variables[above] == self.variables[scope]:
            return True
        if self._layers_in(children) < _LEAST_LAYERS:
            return False
        # An encoder and a decoder are both parts of a model, however large either is.
        beside = children_of[self.index[self.paths[scope].rpartition("/")[0]]]
        return not any(
            self.weight[other] > _ASIDE * self.weight[above]
            and self._layers_in(children_of[other]) >= _LEAST_LAYERS
            for other in beside
            if other != scope
        )

    def _layers_in(self, children: Sequence[int]) -> int:
        """Count the scopes whose variables no earlier scope has."""
        layers = 0
        seen: set[int] = set()
        for child in children:
            layers += bool(self.variables[child]) and not self.variables[child] & seen
            seen |= self.variables[child]
        return layers

    def _shorten_labels(self) -> None:
        """Restore layer names that a second call has numbered, by the names of their variables."""
        names = self.roles.view.names
        for children in self.children:
            if len(children) < 2:
                continue
            with_variables = [child for child in children if self.variables[child]]
            shorter: dict[int, str] = {}
            for child in with_variables:
                short = _SUFFIX.sub("", self.labels[child])
                if short != self.labels[child] and all(
                    short in names[variable].split("/") for variable in self.variables[child]
                ):
                    shorter[child] = short
            if len(shorter) < max(1, _MOSTLY * len(with_variables)):
                continue
            for child in children:
                if child not in shorter and not self.variables[child]:
                    shorter[child] = _SUFFIX.sub("", self.labels[child])
            taken = {self.labels[child] for child in children if child not in shorter}
            for child, short in shorter.items():
                if short not in taken:
                    self.labels[child] = short
                    taken.add(short)
