"""What moves together: units of a step, and the regions that name scopes make of them.

A unit is an op of the program with what TensorFlow binds to it and the constants that only it reads, or a kernel of
what `gradients` made for an op. Units lie in the tree of name scopes, gradients with their ops; a region is all that is
below one scope, or an op with its gradients::

    tower_0/                        a region of four units
      fc/MatMul                     a region of three: the product, and the two of gradients/tower_0/fc/MatMul_grad
      fc/w                          a unit: the variable, its assignment, its reader, its update and its slots
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.freedom import Freedom
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.graph.op_sets import VARIABLE_OPS
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph

Ints = NDArray[np.int64]
_GRADIENTS = re.compile(r"gradients(_\d+)?")
_GRADIENT = "_grad"
_FINER = 1.25
"""By how many times more regions a level has at least than the one before."""


@dataclass(frozen=True)
class Region:
    """The units below a scope."""

    scope: str
    """The scope, without a slash at its end; the name of an op where it is one unit; ``""`` for all."""
    units: tuple[int, ...]
    """Their numbers."""


@dataclass(frozen=True, eq=False)
class Units:
    """The units of a step."""

    names: tuple[str, ...]
    """[units] name of the op, or of the kernel of a gradient, that each is of."""
    ops: tuple[str, ...]
    """[units] name of the op that each is of, its own or that of which it computes a gradient."""
    of_group: Ints
    """[groups] number of the unit; -1 for what does not run in the step."""
    is_free: NDArray[np.bool_]
    """[units] whether any of its groups may be elsewhere."""
    has_variable: NDArray[np.bool_]
    """[units] whether it keeps a variable."""
    regions: tuple[Region, ...]
    """The regions with free units, single units included, the largest first; no two are of the same units."""

    def levels(self) -> list[Ints]:
        """[units] numbers of what moves together, in coarser and finer ways: by scope, by deeper scopes, by op, alone.

        >>> ops = ("a/b/x", "a/b/y", "a/b/y", "a/z")
        >>> units = Units(("a/b/x", "a/b/y", "g/a/b/y_grad/m", "a/z"), ops, *[np.ones(4, dtype=bool)] * 3, ())
        >>> [level.tolist() for level in units.levels()]
        [[0, 0, 0, 1], [0, 1, 1, 2], [0, 1, 2, 3]]
        """
        paths = [op.split("/") for op in self.ops]
        found: list[Ints] = []
        depth, most = 1, max(map(len, paths), default=0)
        while depth <= most + 1:
            keys = ["/".join(path[:depth]) for path in paths] if depth <= most else list(self.names)
            number = {key: place for place, key in enumerate(dict.fromkeys(keys))}
            if len(number) > 1 and (not found or len(number) > _FINER * (found[-1].max() + 1)):
                found.append(np.array([number[key] for key in keys], dtype=np.int64))
            elif found and depth == most + 1:
                found[-1] = np.array([number[key] for key in keys], dtype=np.int64)
            depth += 1
        return found or [np.zeros(len(paths), dtype=np.int64)]


def forward_name(name: str) -> str:
    """The op of the program that a node belongs to; ``""`` for what is only of the gradients.

    >>> forward_name("tower_1/gradients/tower_1/fc/MatMul_grad/tuple/group_deps")
    'tower_1/fc/MatMul'
    >>> forward_name("gradients/AddN_3"), forward_name("fc/MatMul")
    ('', 'fc/MatMul')
    """
    parts = name.split("/")
    for at, part in enumerate(parts):
        if _GRADIENTS.fullmatch(part):
            for last, other in enumerate(parts[at + 1 :], at + 1):
                if other.endswith(_GRADIENT):
                    return "/".join([*parts[at + 1 : last], other.removesuffix(_GRADIENT)])
            return ""
    return name


def units_of(freedom: Freedom, step: StepEstimate) -> Units:
    """The units of a step.

    Args:
        freedom: what may be chosen.
        step: an estimate of it.
    """
    part = step.part
    group = freedom.group[part.nodes]
    count = len(freedom.default)
    op_types, signature = part.graph.op_types, part.graph.signature.tolist()
    weights = step.node_seconds.tolist()
    key: list[str | None] = [None] * count
    heaviest = [-1.0] * count
    keeps = [False] * count
    for node, (name, own) in enumerate(zip(part.graph.names, group.tolist(), strict=True)):
        is_variable = op_types[signature[node]] in VARIABLE_OPS
        if keeps[own] and not is_variable:
            continue
        weight = weights[node]
        if weight > heaviest[own] or (is_variable and not keeps[own]):
            heaviest[own] = weight
            key[own] = forward_name(name)
        keeps[own] |= is_variable
    _join_neighbours(key, group, part.graph, keeps)
    kernels = gradient_units(part.graph, group, weights, keeps)
    names: dict[str, int] = {}
    ops: dict[str, str] = {}
    of_group = np.full(count, -1, dtype=np.int64)
    for own, shared in enumerate(key):
        if shared is not None:
            name = kernels.get(own, shared)
            ops.setdefault(name, shared)
            of_group[own] = names.setdefault(name, len(names))
    runs = of_group >= 0
    is_free = np.zeros(len(names), dtype=bool)
    has_variable = np.zeros(len(names), dtype=bool)
    is_free[of_group[runs & freedom.is_free]] = True
    has_variable[of_group[runs & np.array(keeps, dtype=bool)]] = True
    of = tuple(ops.values())
    return Units(tuple(names), of, of_group, is_free, has_variable, _regions(tuple(names), of, is_free))


def _join_neighbours(key: list[str | None], group: Ints, graph: PlacementGraph, keeps: list[bool]) -> None:
    """What only one unit takes joins it: constants, sums of gradients for the variable's update, and the like."""
    src, dst = graph.src.tolist(), graph.dst.tolist()
    is_data = (graph.src_output != CONTROL).tolist()
    of = group.tolist()
    takes: list[set[int]] = [set() for _ in key]
    gives: list[Counter[int]] = [Counter() for _ in key]
    for source, reader, carries in zip(src, dst, is_data, strict=True):
        mine, other = of[source], of[reader]
        if carries and mine != other:
            takes[mine].add(other)
            gives[other][mine] += 1
    order = graph.order.tolist()
    for node in reversed(order):
        own = of[node]
        name = key[own]
        if name is None or keeps[own]:
            continue
        readers = {key[other] for other in takes[own]}
        is_alone = len(readers) == 1 and None not in readers and "" not in readers
        to_variable = is_alone and all(keeps[other] for other in takes[own])
        if is_alone and (not gives[own] or name == "" or (to_variable and "/" not in name)):
            key[own] = readers.pop()
    for node in order:
        own = of[node]
        if key[own] == "":
            named = [(often, other) for other, often in gives[own].items() if key[other]]
            named = named or [(1, other) for other in takes[own] if key[other]]
            key[own] = key[max(named)[1]] if named else graph.names[node]


def _regions(names: tuple[str, ...], ops: tuple[str, ...], is_free: NDArray[np.bool_]) -> tuple[Region, ...]:
    below: dict[str, list[int]] = {}
    for unit, op in enumerate(ops):
        if not is_free[unit]:
            continue
        parts = op.split("/")
        for depth in range(len(parts) + 1):
            below.setdefault("/".join(parts[:depth]), []).append(unit)
    found: dict[tuple[int, ...], str] = {}
    for scope, units in sorted(below.items()):
        found.setdefault(tuple(units), scope)
    for unit in np.flatnonzero(is_free).tolist():
        found.setdefault((unit,), names[unit])
    regions = [Region(scope, units) for units, scope in found.items()]
    regions.sort(key=lambda region: (-len(region.units), region.scope))
    return tuple(regions)


def gradient_scope(name: str) -> str:
    """The scope that `gradients` made for an op; ``""`` for nodes of no such scope.

    >>> gradient_scope("gradients/fc/MatMul_grad/tuple/group_deps"), gradient_scope("gradients/AddN_3")
    ('gradients/fc/MatMul_grad', '')
    """
    parts = name.split("/")
    for at, part in enumerate(parts[:-1]):
        if part.endswith(_GRADIENT):
            return "/".join(parts[: at + 1])
    return ""


def gradient_units(
    graph: PlacementGraph, group: Ints, seconds: Sequence[float], keeps: list[bool]
) -> dict[int, str]:
    """Group -> the kernel that it is of, by name, for groups of gradients' scopes; the rest is of its op.

    A kernel that takes what only one other of its scope makes, as the sum after a product, goes with that.

    Args:
        graph: the nodes of the step.
        group: [nodes].
        seconds: [nodes].
        keeps: [groups] whether a variable is in it.
    """
    of = group.tolist()
    scope: dict[int, str] = {}
    heaviest: dict[int, int] = {}
    for node, own in enumerate(of):
        here = "" if keeps[own] else gradient_scope(graph.names[node])
        if scope.setdefault(own, here) != here:
            scope[own] = ""
        if seconds[node] > seconds[heaviest.setdefault(own, node)]:
            heaviest[own] = node
    takes: dict[int, set[int]] = {}
    gives: dict[int, list[int]] = {}
    carries = (graph.src_output != CONTROL).tolist()
    for source, reader, is_data in zip(graph.src.tolist(), graph.dst.tolist(), carries, strict=True):
        one, other = of[source], of[reader]
        if one != other and scope.get(one) and scope.get(one) == scope.get(other):
            if is_data:
                takes.setdefault(other, set()).add(one)
            gives.setdefault(one, []).append(other)
    found: dict[int, str] = {}
    order = list(dict.fromkeys(of[node] for node in graph.order.tolist()))
    for own in order:
        if not scope.get(own):
            continue
        before = {found[other] for other in takes.get(own, ()) if other in found}
        if len(before) == 1:
            found[own] = before.pop()
        elif seconds[heaviest[own]] > 0:
            found[own] = graph.names[heaviest[own]]
    for own in reversed(order):
        after = [found[other] for other in gives.get(own, ()) if other in found]
        if scope.get(own) and own not in found and after:
            found[own] = after[0]
    return found
