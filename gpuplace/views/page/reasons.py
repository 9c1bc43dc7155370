"""Reasons of all nodes in little space: what many explanations share is kept once.

In a training graph most nodes have a twin in another layer or tower, with the same explanation but for names. So a text
is kept with a mark where the node's own name stands and another where its scope's does; then twins share one record:

>>> template("a/b/c follows a/b/d", "a/b/c") == "\\x02 follows \\x01d"
True

Up to `EXACT_NODES` nodes every node is explained. Above, nodes with the same signature, request, device, group
constraints and way of being decided share the explanation of the first of them, which the record names.
"""

from __future__ import annotations

from typing import Any

from gpuplace.progress import track
from gpuplace.views.tables.interner import Interner

EXACT_NODES = 12_000
"""Nodes up to which each is explained for itself; about a millisecond each."""
SCOPE = "\x01"
"""Stands for the path of the node's scope and a slash."""
NODE = "\x02"
"""Stands for the node's name."""


def template(text: str, name: str) -> str:
    """The text with marks in the place of the node's name and of its scope's path."""
    scope = name.rpartition("/")[0]
    text = text.replace(name, NODE)
    return text.replace(f"{scope}/", SCOPE) if scope else text


class Reasons:
    """Explanations as numbers into tables of strings, steps and records."""

    def __init__(self) -> None:
        self.strings = Interner()
        self.steps = Interner()
        self.records = Interner()
        self.of_node: list[int] = []
        self.exact = True

    def add(self, explanation: Any, like: int = -1) -> int:
        """The number of an explanation's record; ``like`` is the node that it is of, where others share it."""
        name = explanation.node

        def text(value: str | None) -> int:
            return self.strings(template(value or "", name))

        steps = tuple(
            self.steps((text(step.rule.value), text(step.note), tuple(map(text, step.after))))
            for step in explanation.steps
        )
        remedies = tuple((text(kind), text(told)) for kind, told in explanation.remedy)
        ties = tuple(map(text, explanation.ties))
        return self.records(
            (
                steps,
                remedies,
                ties,
                text(explanation.because),
                text(explanation.held_by),
                text(explanation.refused),
                text(explanation.made_from),
                like,
            )
        )

    def as_json(self) -> dict[str, Any]:
        """Plain lists for the page."""
        return {
            "strings": self.strings.values,
            "steps": self.steps.values,
            "records": self.records.values,
            "of": self.of_node,
            "exact": self.exact,
        }


def reasons_of(placement: Any, *, exact_nodes: int = EXACT_NODES) -> Reasons | None:
    """The reasons of all nodes; None if what is shown cannot be explained.

    Args:
        placement: a `Placement`, or something without ``explain``.
        exact_nodes: see `EXACT_NODES`.
    """
    if not hasattr(placement, "explain") or not hasattr(placement, "facts"):
        return None
    found = Reasons()
    names = placement.graph.names
    nodes = track(range(len(names)), len(names), "explaining")
    if len(names) <= exact_nodes:
        found.of_node = [found.add(placement.explain(names[node])) for node in nodes]
        return found
    found.exact = False
    graph, partition, decisions = placement.graph, placement.partition, placement.decisions
    known: dict[tuple[Any, ...], int] = {}
    devices = placement.devices.tolist()
    signatures, requests = graph.signature.tolist(), graph.device.tolist()
    for node in nodes:
        key: tuple[Any, ...] = (signatures[node], requests[node], devices[node])
        if partition is not None and decisions is not None:
            root = int(partition.root[node])
            decides = int(decisions.decider[root]) == node
            key += (int(decisions.how[node]), decides, int(partition.kind[node]))
        if key not in known:
            known[key] = found.add(placement.explain(names[node]), node)
        found.of_node.append(known[key])
    return found
