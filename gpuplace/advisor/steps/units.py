"""Units of a step, whose nodes move together, and the regions into which name scopes group them.

A unit is an op of the program with everything that TensorFlow binds to it and the constants that only it reads, or a
kernel of the op's gradient. Units are in the tree of name scopes, gradients with their ops; a region is everything
below one scope, or an op with its gradients::

    tower_0/                        a region of four units
      fc/MatMul                     a region of three: the product, and the two of gradients/tower_0/fc/MatMul_grad
      fc/w                          a unit: the variable, its assignment, its read, its update and its slots
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.candidates import Candidates
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.graph.op_sets import VARIABLE_OPS
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph

Ints = NDArray[np.int64]
_GRADIENTS = re.compile(r"gradients(_\d+)?")
_GRADIENT = "_grad"
_FINER = 1.25
"""Minimum ratio of the number of groups of a level to that of the previous level."""


@dataclass(frozen=True)
class Region:
    """The units below a scope."""

    scope: str
    """The scope, without a trailing slash; the name of an op for a single unit; ``""`` for all."""
    units: tuple[int, ...]
    """Their numbers."""


@dataclass(frozen=True, eq=False)
class Units:
    """The units of a step."""

    names: tuple[str, ...]
    """[units] name of the op, or of the gradient kernel."""
    ops: tuple[str, ...]
    """[units] name of the op, or of the op whose gradient it computes."""
    of_group: Ints
    """[groups] unit; -1 if the step does not run the group."""
    is_free: NDArray[np.bool_]
    """[units] whether any of its groups can move."""
    has_variable: NDArray[np.bool_]
    """[units] whether it contains a variable."""
    regions: tuple[Region, ...]
    """Regions with movable units, single units included, the largest first; no two have the same units."""

    def levels(self) -> list[Ints]:
        """Return [units] group numbers from coarse to fine: by scope, by deeper scopes, by op, by unit.

        >>> ops = ("a/b/x", "a/b/y", "a/b/y", "a/z")
        >>> units = Units(("a/b/x", "a/b/y", "g/a/b/y_grad/m", "a/z"), ops, *[np.ones(4, dtype=bool)] * 3, ())
        >>> [level.tolist() for level in units.levels()]
        [[0, 0, 0, 1], [0, 1, 1, 2], [0, 1, 2, 3]]
        """
        paths = [op.split("/") for op in self.ops]
        levels: list[Ints] = []
        depth, most = 1, max(map(len, paths), default=0)
        while depth <= most + 1:
            keys = ["/".join(path[:depth]) for path in paths] if depth <= most else list(self.names)
            number = {key: place for place, key in enumerate(dict.fromkeys(keys))}
            if len(number) > 1 and (not levels or len(number) > _FINER * (levels[-1].max() + 1)):
                levels.append(np.array([number[key] for key in keys], dtype=np.int64))
            elif levels and depth == most + 1:
                levels[-1] = np.array([number[key] for key in keys], dtype=np.int64)
            depth += 1
        return levels or [np.zeros(len(paths), dtype=np.int64)]


def forward_name(name: str) -> str:
    """Return the op of the program that a node belongs to; ``""`` if it only belongs to the gradients.

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


def units_of(candidates: Candidates, step: StepEstimate) -> Units:
    """Return the units of a step.

    Args:
        candidates: candidate devices of the graph.
        step: an estimate of the step.
    """
    part = step.part
    group = candidates.group[part.nodes]
    count = len(candidates.default)
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
    _join_neighbors(key, group, part.graph, keeps)
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
    is_free[of_group[runs & candidates.is_free]] = True
    has_variable[of_group[runs & np.array(keeps, dtype=bool)]] = True
    of = tuple(ops.values())
    return Units(tuple(names), of, of_group, is_free, has_variable, _regions(tuple(names), of, is_free))


def _join_neighbors(key: list[str | None], group: Ints, graph: PlacementGraph, keeps: list[bool]) -> None:
    """Merge groups into the unit of their only consumer: constants, gradient sums for a variable's update, ..."""
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
    scope_of_units: dict[tuple[int, ...], str] = {}
    for scope, units in sorted(below.items()):
        scope_of_units.setdefault(tuple(units), scope)
    for unit in np.flatnonzero(is_free).tolist():
        scope_of_units.setdefault((unit,), names[unit])
    regions = [Region(scope, units) for units, scope in scope_of_units.items()]
    regions.sort(key=lambda region: (-len(region.units), region.scope))
    return tuple(regions)


def gradient_scope(name: str) -> str:
    """Return the scope that `gradients` created for an op; ``""`` if the node is in no such scope.

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
    """Return the kernel of each group in a gradient scope, by name; the other groups belong to their op.

    A kernel whose only input from its scope comes from one other kernel, such as a sum after a product, joins that
    kernel.

    Args:
        graph: nodes of the step.
        group: [nodes] group.
        seconds: [nodes] seconds.
        keeps: [groups] whether it contains a variable.
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
        source_group, target_group = of[source], of[reader]
        if (
            source_group != target_group
            and scope.get(source_group)
            and scope.get(source_group) == scope.get(target_group)
        ):
            if is_data:
                takes.setdefault(target_group, set()).add(source_group)
            gives.setdefault(source_group, []).append(target_group)
    kernel_of: dict[int, str] = {}
    order = list(dict.fromkeys(of[node] for node in graph.order.tolist()))
    for own in order:
        if not scope.get(own):
            continue
        before = {kernel_of[target_group] for target_group in takes.get(own, ()) if target_group in kernel_of}
        if len(before) == 1:
            kernel_of[own] = before.pop()
        elif seconds[heaviest[own]] > 0:
            kernel_of[own] = graph.names[heaviest[own]]
    for own in reversed(order):
        after = [kernel_of[target_group] for target_group in gives.get(own, ()) if target_group in kernel_of]
        if scope.get(own) and own not in kernel_of and after:
            kernel_of[own] = after[0]
    return kernel_of
