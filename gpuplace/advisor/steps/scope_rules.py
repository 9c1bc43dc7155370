"""Devices by name scope, in as few and short names as say it; and the Python that asks for them.

A rule names a scope or an op, and counts for all that is below it (``tower_1`` for ``tower_1/x`` and ``tower_1/x/y``);
the longest that fits an op counts, and where none does, or it says None, the op asks for what the program asks for. The
shortest list of names comes from one pass over the tree of names, from the leaves up: what must be said below a name,
for each device that may be said there::

    cost(name, said) = sum over its parts of min(cost(part, said), length of its name + cost(part, d) for each device d)

What an op asks for is not all that places it, so the rules are tried with the placer: an op that would still be
elsewhere must ask for its device, and the rules are made anew. So they are when sums of gradients get other names.

Source: tensorflow/python/framework/ops.py, release 1.15 (a function of ``tf.device`` is called for each op, after
all devices within; an op within ``colocate_with`` has the device of that one), variables.py (initial values are made
within ``tf.device(None)``, in the group of their variable).
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.freedom import own_nodes, placed_asking, short_names
from gpuplace.advisor.steps.rebuilt import Rebuilding, Rebuilt
from gpuplace.errors import OpError
from gpuplace.graph.op_sets import VARIABLE_OPS
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.why.placement import Placement

Rules = dict[str, str | None]
"""Scope (``""`` for all) or op -> device; None: what the program asks for."""
_ROUNDS, _FREE_ROUNDS = 40, 8
"""How often rules are made anew, at the most; and after how many times sums of gradients ask for their devices."""
_QUOTES = 4
"""Characters of a name in a list beside its own."""
_WIDTH = 112


def scope_rules(asked: Placement, wanted: NDArray[np.int64], kept: Mapping[int, str]) -> Rules:
    """The shortest rules found that place a program as wanted.

    Args:
        asked: the program with its own requests, placed as far as that is possible.
        wanted: [nodes] positions of devices.
        kept: node -> the device that it has to ask for.
    """
    graph = asked.graph
    names = short_names(asked.device_set)
    own = own_nodes(graph)
    rebuilding = Rebuilding(graph, own.tolist())
    gates = rebuilding.gates
    tells = own & ~_made_in_groups(asked)
    tells[list(rebuilding.sums)] = True
    tells[[*gates, *rebuilding.untold]] = False
    has_moved = asked.devices != wanted
    may: dict[int, frozenset[str | None]] = {}
    for node in np.flatnonzero(tells).tolist():
        fits: set[str | None] = {names[int(wanted[node])]}
        if node in kept and graph.requested_device(node) == kept[node]:
            fits = {None}
        elif int(asked.devices[node]) == int(wanted[node]) and not _follows(graph, node, has_moved):
            fits.add(None)
        may[node] = frozenset(fits)
    certain = {node: frozenset([names[int(wanted[node])]]) for node in may}
    told = {node: graph.names[node] for node in may if node not in rebuilding.sums}
    rules: Rules = {}
    of_sums: dict[int, str] = {}
    for number in range(_ROUNDS):
        if number == _FREE_ROUNDS:
            # What sums are called depends on what is asked for by name and what is left to the program: fixed now.
            summands = {node for _, nodes in rebuilding.sums.values() for node in nodes}
            may |= {node: certain[node] for node in summands | rebuilding.sums.keys() if node in may}
        rules = shortest_rules({name: may[node] for node, name in (told | of_sums).items()})
        made = rebuilding.by(partial(device_by, rules))
        wrong = _wrong(asked, made, wanted)
        wrong += [other for node in wrong if node in gates for other in gates[node]]
        is_fixed = made.names == of_sums and all(may[node] == certain[node] for node in wrong if node in may)
        if not wrong or is_fixed:
            break
        may |= {node: certain[node] for node in wrong if node in may}
        of_sums = made.names
    return rules


def _follows(graph: PlacementGraph, node: int, has_moved: NDArray[np.bool_]) -> bool:
    """Whether a node may be what ``tf.group`` makes, which asks for the device of what it groups, and that moves."""
    return graph.op_type(node) == "NoOp" and any(has_moved[graph.src[edge]] for edge in graph.in_edges(node))


def _made_in_groups(asked: Placement) -> NDArray[np.bool_]:
    """[nodes] bool: what is made within ``colocate_with``, where no function is asked, but for variables themselves."""
    graph = asked.graph
    is_variable = graph.of_types(VARIABLE_OPS)
    component = asked.placer.bindings.component
    keeps = np.zeros(len(graph), dtype=bool)
    keeps[component[is_variable]] = True
    found: NDArray[np.bool_] = keeps[component]
    leader = graph.group_node[graph.class_group]
    found[graph.class_node[(leader >= 0) & (leader != graph.class_node)]] = True
    return found & ~is_variable


def device_by(rules: Mapping[str, str | None], name: str) -> str | None:
    """What some rules say of an op.

    >>> rules = {"tower_1": "/gpu:1", "tower_1/x": "/cpu:0"}
    >>> device_by(rules, "tower_1/fc/w"), device_by(rules, "tower_1/x"), device_by(rules, "loss")
    ('/gpu:1', '/cpu:0', None)
    """
    while name and name not in rules:
        name = name.rpartition("/")[0]
    return rules.get(name)


def shortest_rules(may: Mapping[str, frozenset[str | None]]) -> Rules:
    """The rules of fewest and shortest names by which every op asks for something that it may.

    >>> fits = lambda *devices: frozenset(devices)
    >>> ops = {"a": fits("/gpu:1"), "a/y": fits("/gpu:1"), "a/z": fits("/gpu:1", None), "b": fits(None)}
    >>> shortest_rules(ops)
    {'a': '/gpu:1'}

    Args:
        may: op -> the devices that it may ask for; None: what the program asks for.
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
    # How long the rules below a name are when each label is said there; infinite where the op may not ask for it.
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
    said = np.zeros(len(names), dtype=np.int64)
    for level in levels:
        inherited = said[above[level]]
        is_short = cost[level, inherited] <= cost[level, best[level]] + length[level]
        said[level] = np.where(is_short, inherited, best[level])
    rules = {
        name: labels[label]
        for name, label, inherited in zip(names, said.tolist(), said[above].tolist(), strict=True)
        if label != (inherited if name else 0)
    }
    return dict(sorted(rules.items()))


def _wrong(asked: Placement, made: Rebuilt, wanted: NDArray[np.int64]) -> list[int]:
    """Nodes that would be elsewhere."""
    try:
        placed = placed_asking(asked, made.requests, graph=made.graph)
    except OpError:
        return np.flatnonzero([text != "" for text in made.requests]).tolist()
    return np.flatnonzero(placed.devices != wanted).tolist()


def device_function(rules: Rules) -> Callable[[Any], str]:
    """A function for ``tf.device``.

    Args:
        rules: what it says.
    """

    def advised_device(op: Any) -> str:
        return device_by(rules, op.name) or op.device

    return advised_device


def python_text(rules: Rules) -> str:
    """The same as Python.

    Args:
        rules: what it says.
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
