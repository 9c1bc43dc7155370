"""Devices by name scope, in the shortest text; and the Python that asks for them.

A rule names a scope or an op, and counts for all that is below it (``tower_1`` for ``tower_1/x`` and ``tower_1/x/y``);
the longest that fits an op counts, and where none does, or it says None, the op asks for what the program asks for. The
shortest text comes from one pass over the tree of names, from the leaves up: what must be said below a name, for each
device that may be said there::

    cost(name, said) = sum over its parts of min(cost(part, said), length of a rule + cost(part, d), for each device d)

What an op asks for is not all that places it, so the rules are tried with the placer: an op that would still be
elsewhere must ask for its device, and the rules are made anew. So they are when sums of gradients get other names.

Source: tensorflow/python/framework/ops.py, release 1.15 (a function of ``tf.device`` is called for each op, after
all devices within; an op within ``colocate_with`` has the device of that one), variables.py (initial values are made
within ``tf.device(None)``, in the group of their variable).
"""

from __future__ import annotations

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
_LINE = "    {scope!r}: {device!r},"
_ROUNDS = 40


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
    told = {node: graph.names[node] for node in may if node not in rebuilding.sums}
    rules: Rules = {}
    of_sums: dict[int, str] = {}
    for _ in range(_ROUNDS):
        rules = shortest_rules({name: may[node] for node, name in (told | of_sums).items()})
        made = rebuilding.by(partial(device_by, rules))
        wrong = _wrong(asked, made, wanted)
        wrong += [other for node in wrong if node in gates for other in gates[node]]
        certain = {node: frozenset([names[int(wanted[node])]]) for node in wrong if node in may}
        if made.names == of_sums and all(may[node] == fits for node, fits in certain.items()):
            break
        may |= certain
        of_sums = made.names
    return rules


def _follows(graph: PlacementGraph, node: int, has_moved: NDArray[np.bool_]) -> bool:
    """Whether a node may be what ``tf.group`` makes, which asks for the device of what it groups, and that moves."""
    return graph.op_type(node) == "NoOp" and any(has_moved[graph.src[edge]] for edge in graph.in_edges(node))


def _made_in_groups(asked: Placement) -> NDArray[np.bool_]:
    """[nodes] bool: what is made within ``colocate_with``, where no function is asked, but for variables themselves."""
    graph = asked.graph
    makes_state = np.array([signature.op_type in VARIABLE_OPS for signature in graph.signatures] or [False])
    is_variable = makes_state[graph.signature]
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
    """The rules of the shortest text by which every op asks for something that it may.

    >>> fits = lambda *devices: frozenset(devices)
    >>> ops = {"a": fits("/gpu:1"), "a/y": fits("/gpu:1"), "a/z": fits("/gpu:1", None), "b": fits(None)}
    >>> shortest_rules(ops)
    {'a': '/gpu:1'}

    Args:
        may: op -> the devices that it may ask for; None: what the program asks for.
    """
    labels: list[str | None] = [None]
    labels += sorted({device for fits in may.values() for device in fits if device is not None})
    number = {label: place for place, label in enumerate(labels)}
    length = np.array([len(_LINE.format(scope="", device=label)) for label in labels])
    tree = _Scope("", len(labels))
    for name, fits in may.items():
        scope = tree
        for word in name.split("/"):
            if word not in scope.parts:
                scope.parts[word] = _Scope(f"{scope.name}/{word}" if scope.name else word, len(labels))
            scope = scope.parts[word]
        scope.cost[:] = np.inf
        scope.cost[[number[device] for device in fits]] = 0
    order = [tree]
    for scope in order:  # grows while it is walked
        order += scope.parts.values()
    for scope in reversed(order):
        for part in scope.parts.values():
            scope.cost += np.minimum(part.cost, (part.cost + length).min() + len(part.name))
    rules: Rules = {}
    waiting = [(tree, 0)]
    while waiting:
        scope, above = waiting.pop()
        chosen = int((scope.cost + length).argmin())
        if scope.cost[above] <= scope.cost[chosen] + length[chosen] + len(scope.name):
            chosen = above
        else:
            rules[scope.name] = labels[chosen]
        waiting += [(part, chosen) for part in scope.parts.values()]
    return dict(sorted(rules.items()))


class _Scope:
    """A scope or an op, with what is below it."""

    def __init__(self, name: str, labels: int) -> None:
        self.name = name
        self.parts: dict[str, _Scope] = {}
        self.cost = np.zeros(labels)
        """[labels] how long the rules below are when each is said here; infinite where the op may not ask for it."""


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
    lines = ["import tensorflow as tf", ""]
    if rules:
        lines += [
            "DEVICES = {  # of an op and all below it, or of a scope; the longest name that fits counts",
            *[_LINE.format(scope=scope, device=device) for scope, device in rules.items()],
            "}",
        ]
    else:
        lines.append("DEVICES = {}  # nothing has to be asked for")
    lines += ["", "", *_FUNCTION.splitlines(), "", "", "with tf.device(advised_device):"]
    lines.append("    ...  # the lines that build the graph")
    return "\n".join(lines) + "\n"


_FUNCTION = """\
def advised_device(op):
    scope = op.name
    while scope and scope not in DEVICES:
        scope = scope.rpartition("/")[0]
    return DEVICES.get(scope) or op.device
"""
