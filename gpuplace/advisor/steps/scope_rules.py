"""Devices by name scope, in the fewest and shortest names, and Python code that requests them.

A rule names a scope or an op and applies to everything below it (``tower_1`` for ``tower_1/x`` and ``tower_1/x/y``).
The longest matching rule applies to an op; without one, or if it is None, the op keeps the program's request. The
shortest list of names is computed in one pass over the tree of names, from the leaves up: the cost of the rules below a
name, for each device that may be inherited there::

    cost(name, inherited) = sum over its parts of
        min(cost(part, inherited), length of its name + cost(part, d) for each device d)

Requests alone do not determine devices, so the rules are tested with the placer: an op that would still be elsewhere
must request its device, and the rules are computed again. The same happens when sums of gradients get other names.

Source: tensorflow/python/framework/ops.py, release 1.15 (a function of ``tf.device`` is called for each op, after
all devices within; an op within ``colocate_with`` has the other op's device), variables.py (initial values are made
within ``tf.device(None)``, in the group of their variable).
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.candidates import own_nodes, placed_with_requests, short_names
from gpuplace.advisor.steps.rebuilt_gradients import Rebuilding, Rebuilt
from gpuplace.errors import OpError
from gpuplace.graph.op_sets import VARIABLE_OPS
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.why.placement import Placement

Rules = dict[str, str | None]
"""Scope (``""`` for all) or op to device; None keeps the program's request."""
_ROUNDS, _FREE_ROUNDS = 40, 8
"""Maximum number of rounds, and the round from which sums of gradients must request their devices."""
_QUOTES = 4
"""Characters of a name in a list in addition to its own."""
_WIDTH = 112


def scope_rules(original: Placement, required: NDArray[np.int64], kept: Mapping[int, str]) -> Rules:
    """Return the shortest rules found that place a program as required.

    Args:
        original: the program with its own requests, placed as far as possible.
        required: [nodes] required device positions.
        kept: node to the device that it must request.
    """
    graph = original.graph
    names = short_names(original.device_set)
    own = own_nodes(graph)
    rebuilding = Rebuilding(graph, own.tolist())
    barriers = rebuilding.barriers
    tells = own & ~_colocated(original)
    tells[list(rebuilding.sums)] = True
    tells[[*barriers, *rebuilding.uncontrolled]] = False
    has_moved = original.devices != required
    may: dict[int, frozenset[str | None]] = {}
    for node in np.flatnonzero(tells).tolist():
        fits: set[str | None] = {names[int(required[node])]}
        if node in kept and graph.requested_device(node) == kept[node]:
            fits = {None}
        elif int(original.devices[node]) == int(required[node]) and not _follows(graph, node, has_moved):
            fits.add(None)
        may[node] = frozenset(fits)
    certain = {node: frozenset([names[int(required[node])]]) for node in may}
    name_of = {node: graph.names[node] for node in may if node not in rebuilding.sums}
    rules: Rules = {}
    of_sums: dict[int, str] = {}
    for number in range(_ROUNDS):
        if number == _FREE_ROUNDS:
            # The names of sums depend on which nodes have a rule; fix that now, so that the rounds converge.
            summands = {node for _, nodes in rebuilding.sums.values() for node in nodes}
            may |= {node: certain[node] for node in summands | rebuilding.sums.keys() if node in may}
        rules = shortest_rules({name: may[node] for node, name in (name_of | of_sums).items()})
        rebuilt = rebuilding.by(partial(device_by, rules))
        wrong = _wrong(original, rebuilt, required)
        wrong += [other for node in wrong if node in barriers for other in barriers[node]]
        is_fixed = rebuilt.names == of_sums and all(
            may[node] == certain[node] for node in wrong if node in may
        )
        if not wrong or is_fixed:
            break
        may |= {node: certain[node] for node in wrong if node in may}
        of_sums = rebuilt.names
    return rules


def _follows(graph: PlacementGraph, node: int, has_moved: NDArray[np.bool_]) -> bool:
    """Whether ``tf.group`` may have created a node, which then requests the device of its inputs, and these move."""
    return graph.op_type(node) == "NoOp" and any(has_moved[graph.src[edge]] for edge in graph.in_edges(node))


def _colocated(original: Placement) -> NDArray[np.bool_]:
    """Return [nodes] bool: nodes within ``colocate_with``, where no function is called; variables are not included."""
    graph = original.graph
    is_variable = graph.of_types(VARIABLE_OPS)
    component = original.placer.bindings.component
    keeps = np.zeros(len(graph), dtype=bool)
    keeps[component[is_variable]] = True
    is_colocated: NDArray[np.bool_] = keeps[component]
    leader = graph.group_node[graph.class_group]
    is_colocated[graph.class_node[(leader >= 0) & (leader != graph.class_node)]] = True
    return is_colocated & ~is_variable


def device_by(rules: Mapping[str, str | None], name: str) -> str | None:
    """Return the device that rules assign to an op.

    >>> rules = {"tower_1": "/gpu:1", "tower_1/x": "/cpu:0"}
    >>> device_by(rules, "tower_1/fc/w"), device_by(rules, "tower_1/x"), device_by(rules, "loss")
    ('/gpu:1', '/cpu:0', None)
    """
    while name and name not in rules:
        name = name.rpartition("/")[0]
    return rules.get(name)


def shortest_rules(may: Mapping[str, frozenset[str | None]]) -> Rules:
    """Return the rules with the fewest and shortest names by which every op requests one of its possible devices.

    >>> fits = lambda *devices: frozenset(devices)
    >>> ops = {"a": fits("/gpu:1"), "a/y": fits("/gpu:1"), "a/z": fits("/gpu:1", None), "b": fits(None)}
    >>> shortest_rules(ops)
    {'a': '/gpu:1'}

    Args:
        may: op to its possible devices; None for the program's request.
    """
    labels: list[str | None] = [None]
    labels += sorted({device for fits in may.values() for device in fits if device is not None})
    depth_of = {"": 0}
    for name in may:
        while name not in depth_of:
            depth_of[name] = name.count("/") + 1
            name = name.rpartition("/")[0]
    names = sorted(depth_of, key=lambda name: (depth_of[name], name))
    depths = np.array([depth_of[name] for name in names])
    levels = [np.flatnonzero(depths == depth) for depth in range(int(depths[-1]) + 1)]
    number = {name: place for place, name in enumerate(names)}
    above = np.array([number[name.rpartition("/")[0]] for name in names])
    length = np.array([len(name) + _QUOTES for name in names])
    # Length of the rules below a name if it inherits each label; infinite if the op cannot request that label.
    cost = np.zeros((len(names), len(labels)))
    is_refused = {fits: [label not in fits for label in labels] for fits in set(may.values())}
    if may:
        cost[[number[name] for name in may]] = np.where(
            [is_refused[fits] for fits in may.values()], np.inf, 0
        )
    for level in levels[:0:-1]:
        changed = cost[level].min(axis=1) + length[level]
        np.add.at(cost, above[level], np.minimum(cost[level], changed[:, None]))
    best = cost.argmin(axis=1)
    chosen_label = np.zeros(len(names), dtype=np.int64)
    for level in levels:
        inherited = chosen_label[above[level]]
        is_short = cost[level, inherited] <= cost[level, best[level]] + length[level]
        chosen_label[level] = np.where(is_short, inherited, best[level])
    rules = {
        name: labels[label]
        for name, label, inherited in zip(
            names, chosen_label.tolist(), chosen_label[above].tolist(), strict=True
        )
        if label != (inherited if name else 0)
    }
    return dict(sorted(rules.items()))


def _wrong(original: Placement, rebuilt: Rebuilt, required: NDArray[np.int64]) -> list[int]:
    """Return nodes that would be on another device."""
    try:
        placed = placed_with_requests(original, rebuilt.requests, graph=rebuilt.graph)
    except OpError:
        return np.flatnonzero([text != "" for text in rebuilt.requests]).tolist()
    return np.flatnonzero(placed.devices != required).tolist()


def device_function(rules: Rules) -> Callable[[Any], str]:
    """Return a function for ``tf.device``.

    Args:
        rules: scope or op to device.
    """

    def advised_device(op: Any) -> str:
        return device_by(rules, op.name) or op.device

    return advised_device


def python_text(rules: Rules) -> str:
    """Return the device function as Python code.

    Args:
        rules: scope or op to device.
    """
    scopes: dict[str | None, list[str]] = {}
    for scope, device in sorted(rules.items(), key=lambda rule: (str(rule[1]), rule[0])):
        scopes.setdefault(device, []).append(repr(scope))
    lines = ["import tensorflow as tf", "", "SCOPES = {"]
    wrapper = textwrap.TextWrapper(
        _WIDTH,
        initial_indent=" " * 8,
        subsequent_indent=" " * 8,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for device, names in scopes.items():
        wrapped = wrapper.wrap(", ".join(names))
        if len(wrapped) == 1:
            lines.append(f"    {device!r}: [{wrapped[0].strip()}],")
        else:
            lines += [f"    {device!r}: [", *wrapped[:-1], f"{wrapped[-1]},", "    ],"]
    lines += ["}", *_FUNCTION.splitlines(), "", "", "with tf.device(advised_device):"]
    lines.append("    ...  # the lines that build the graph")
    return "\n".join(lines) + "\n"


_FUNCTION = """\
DEVICES = {scope: device for device, scopes in SCOPES.items() for scope in scopes}


def advised_device(op):  # the longest name of SCOPES that the op has, or is in, counts
    scope = op.name
    while scope and scope not in DEVICES:
        scope = scope.rpartition("/")[0]
    return DEVICES.get(scope) or op.device
"""
