"""Devices by name scope, as few rules as say it; and the Python that asks for them.

A rule names a scope (``tower_1/``) or an op (``tower_1/x``); the longest that fits an op counts, and where none does,
or it says None, the op asks for what the program asks for. The fewest rules come from one pass over the tree of
scopes, from the leaves up: what must be said below a scope, for each thing that may be said above it::

    cost(scope, above) = min(cost of all parts under what is said above,
                             1 + cost of all parts under d, for each device d)

What an op asks for is not all that places it, so the rules are tried with the placer: an op that would still be
elsewhere gets a rule of its own.

Source: tensorflow/python/framework/ops.py, release 1.15 (a function of ``tf.device`` is called for each op, after
all devices within; an op within ``colocate_with`` has the device of that one), variables.py (initial values are made
within ``tf.device(None)``, in the group of their variable).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
"""Scope with a slash at its end (``""`` for all), or op -> device; None: what the program asks for."""
_ROUNDS = 40


def scope_rules(asked: Placement, wanted: NDArray[np.int64], kept: Mapping[int, str]) -> Rules:
    """The fewest rules found that place a program as wanted.

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
    tells[[*rebuilding.sums, *gates, *rebuilding.untold]] = False
    has_moved = asked.devices != wanted
    may: list[tuple[str, frozenset[str | None]]] = []
    for node in np.flatnonzero(tells).tolist():
        fits: set[str | None] = {names[int(wanted[node])]}
        if node in kept and graph.requested_device(node) == kept[node]:
            fits = {None}
        elif int(asked.devices[node]) == int(wanted[node]) and not _follows(graph, node, has_moved):
            fits.add(None)
        may.append((graph.names[node], frozenset(fits)))
    rules = fewest_rules(may)
    of_sums: Rules = {}
    for _ in range(_ROUNDS):
        made = rebuilding.by(partial(device_by, rules | of_sums))
        wrong = _wrong(asked, made, wanted)
        wrong += [other for node in wrong if node in gates for other in gates[node]]
        added = {graph.names[node]: names[int(wanted[node])] for node in wrong if tells[node]}
        added = {name: device for name, device in added.items() if rules.get(name) != device}
        rules |= added
        before = of_sums
        of_sums = {
            name: device
            for node, name in made.names.items()
            if device_by(rules, name) != (device := names[int(wanted[node])])
        }
        if not added and of_sums == before:
            break
    return rules | of_sums


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

    >>> rules = {"tower_1/": "/gpu:1", "tower_1/x": "/cpu:0"}
    >>> device_by(rules, "tower_1/fc/w"), device_by(rules, "tower_1/x"), device_by(rules, "loss")
    ('/gpu:1', '/cpu:0', None)
    """
    if name in rules:
        return rules[name]
    scope = name
    while scope:
        scope = scope.rpartition("/")[0]
        key = f"{scope}/" if scope else ""
        if key in rules:
            return rules[key]
    return None


def fewest_rules(may: Sequence[tuple[str, frozenset[str | None]]]) -> Rules:
    """The fewest rules by which every op asks for something that it may.

    >>> fits = lambda *devices: frozenset(devices)
    >>> ops = [("a/x", fits("/gpu:1")), ("a/y", fits("/gpu:1")), ("a/z", fits("/gpu:1", None)), ("b", fits(None))]
    >>> fewest_rules(ops)
    {'a/': '/gpu:1'}

    Args:
        may: name of each op, and the devices that it may ask for; None: what the program asks for.
    """
    labels: list[str | None] = [None]
    for _, fits in may:
        labels += sorted(device for device in fits if device is not None and device not in labels)
    number = {label: place for place, label in enumerate(labels)}
    tree = _Scope()
    for name, fits in may:
        scope = tree
        for part in name.split("/")[:-1]:
            scope = scope.scopes.setdefault(part, _Scope())
        cost = np.ones(len(labels))
        cost[[number[device] for device in fits]] = 0
        scope.ops[name.rpartition("/")[2]] = cost, min(number[device] for device in fits)
    below = tree.under(len(labels))
    first = int(np.argmin(below + (np.arange(len(labels)) != 0)))
    rules: Rules = {}
    waiting: list[tuple[str, _Scope, int, int]] = [("", tree, 0, first)]
    while waiting:
        prefix, scope, above, chosen = waiting.pop()
        if chosen != above:
            rules[prefix] = labels[chosen]
        for op_name, (cost, own) in scope.ops.items():
            if cost[chosen]:
                rules[prefix + op_name] = labels[own]
        for inner, deeper in scope.scopes.items():
            waiting.append((f"{prefix}{inner}/", deeper, chosen, deeper.choice(chosen)))
    return dict(sorted(rules.items()))


class _Scope:
    """A scope with what must be said below it."""

    def __init__(self) -> None:
        self.scopes: dict[str, _Scope] = {}
        self.ops: dict[str, tuple[NDArray[np.float64], int]] = {}
        self.cost = np.zeros(0)

    def under(self, labels: int) -> NDArray[np.float64]:
        """[labels] how many rules are needed below when each is said here."""
        order = [self]
        for scope in order:  # grows while it is walked
            order += scope.scopes.values()
        for scope in reversed(order):
            scope.cost = np.zeros(labels)
            for cost, _ in scope.ops.values():
                scope.cost += cost
            for part in scope.scopes.values():
                scope.cost += np.minimum(part.cost, part.cost.min() + 1)
        return self.cost

    def choice(self, above: int) -> int:
        """What is best said here when something is said above."""
        if self.cost[above] <= self.cost.min() + 1:
            return above
        return int(self.cost.argmin())


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
            "DEVICES = {  # by scope, or by op; the longest that fits an op counts",
            *[f"    {scope!r}: {device!r}," for scope, device in rules.items()],
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
        scope = scope.rstrip("/").rpartition("/")[0]
        scope += "/" if scope else ""
    return DEVICES.get(scope) or op.device
"""
