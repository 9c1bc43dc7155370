"""A compact form of the explanations of all nodes: shared parts are stored once.

In a training graph, most nodes have a twin in another layer or tower, whose explanation differs only in names
(`gpuplace.views.page.twins`). Only one of the twins is explained. In its texts, one mark replaces the node's own name
and another the path of its scope, so that twins share most texts:

>>> template("a/b/c follows a/b/d", "a/b/c") == "\\x02 follows \\x01d"
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gpuplace.progress import track
from gpuplace.views.page.twins import Text, Twins
from gpuplace.views.tables.interner import Interner

SCOPE = "\x01"
"""Stands for the path of the node's scope, slash included."""
NODE = "\x02"
"""Stands for the node's name."""


def template(text: str, name: str) -> str:
    """Return a text with marks instead of the node's name and its scope's path.

    Args:
        text: a text about the node.
        name: the node's name.
    """
    scope = name.rpartition("/")[0]
    text = text.replace(name, NODE)
    return text.replace(f"{scope}/", SCOPE) if scope else text


Piece = int | tuple[str | int, ...]
"""A text as its index in `Reasons.strings`, or the pieces of a text with names; see `gpuplace.views.page.twins`."""


class Outline(NamedTuple):
    """The texts of an explanation, for its node and for its twins."""

    steps: tuple[int | tuple[Piece, Piece, tuple[Piece, ...]], ...]
    """Each step as its index in `Reasons.steps`; or rule, note and remaining devices."""
    remedies: tuple[tuple[Piece, Piece], ...]
    """Device type and text."""
    ties: tuple[Piece, ...]
    because: Piece
    held_by: Piece
    refused: Piece


class Reasons:
    """Explanations as numbers into tables of strings, steps and records."""

    def __init__(self) -> None:
        self.strings = Interner()
        self.steps = Interner()
        self.records = Interner()
        self.of_node: list[int] = []

    def outline(self, explanation: Any, divide: Callable[[str], Text]) -> Outline:
        """Return the texts of an explanation.

        Args:
            explanation: an `Explanation`.
            divide: splits a text with names into pieces; other texts are unchanged.
        """

        def read(text: str) -> Piece:
            pieces = divide(text)
            return self.strings(pieces) if isinstance(pieces, str) else pieces

        steps: list[int | tuple[Piece, Piece, tuple[Piece, ...]]] = []
        for step in explanation.steps:
            rule, note, after = read(step.rule.value), read(step.note), tuple(map(read, step.after))
            is_fixed = all(isinstance(piece, int) for piece in (rule, note, *after))
            steps.append(self.steps((rule, note, after)) if is_fixed else (rule, note, after))
        return Outline(
            tuple(steps),
            tuple((read(kind), read(text)) for kind, text in explanation.remedy),
            tuple(map(read, explanation.ties)),
            read(explanation.because),
            read(explanation.held_by),
            read(explanation.refused or ""),
        )

    def add(self, outline: Outline, name: str, names: Sequence[str], origin: str) -> None:
        """Add the explanation of the next node.

        Args:
            outline: texts of the explanation.
            name: name of the node.
            names: names that the pieces of texts refer to.
            origin: location of the statement that created the node; ``""`` if unknown.
        """

        def text(value: Piece) -> int:
            if isinstance(value, int):
                return value
            whole = "".join([piece if isinstance(piece, str) else names[piece] for piece in value])
            return self.strings(template(whole, name))

        steps = tuple(
            [
                step
                if isinstance(step, int)
                else self.steps((text(step[0]), text(step[1]), tuple(map(text, step[2]))))
                for step in outline.steps
            ]
        )
        remedies = tuple([(text(kind), text(remedy)) for kind, remedy in outline.remedies])
        ties = tuple(map(text, outline.ties))
        more = (text(outline.because), text(outline.held_by), text(outline.refused), text((origin,)))
        self.of_node.append(self.records((steps, remedies, ties, *more)))

    def as_json(self) -> dict[str, Any]:
        """Return the tables as plain lists for the page."""
        return {
            "strings": self.strings.values,
            "steps": self.steps.values,
            "records": self.records.values,
            "of": self.of_node,
        }


def reasons_of(placement: Any) -> Reasons | None:
    """Return the explanations of all nodes; None if the object has none.

    Args:
        placement: a `Placement`, or an object without ``explain``.
    """
    if not hasattr(placement, "explain") or not hasattr(placement, "facts"):
        return None
    reasons, twins = Reasons(), Twins(placement)
    node_names, origin = placement.graph.names, placement.graph.origin
    outlines: dict[tuple[int, int], Outline | None] = {}
    for node in track(range(len(node_names)), len(node_names), "explaining"):
        name = node_names[node]
        twin_class = twins.class_of(node)
        names: list[str] = []
        outline = None
        if twin_class is not None:
            names = twins.names(node)
            if twin_class not in outlines:
                outlines[twin_class] = _outline_for_twins(reasons, placement.explain(name), twins, names)
            outline = outlines[twin_class]
        if outline is None:
            outline = reasons.outline(placement.explain(name), lambda text: (text,))
        reasons.add(outline, name, names, (origin(node) or "") if origin is not None else "")
    return reasons


def _outline_for_twins(
    reasons: Reasons, explanation: Any, twins: Twins, names: Sequence[str]
) -> Outline | None:
    """Return the texts of an explanation with positions instead of names; None if that is impossible."""
    places = {name: place for place, name in enumerate(names)}
    is_divided = True

    def divide(text: str) -> Text:
        nonlocal is_divided
        pieces = twins.pieces(text, places)
        is_divided &= pieces is not None
        return pieces or ""

    outline = reasons.outline(explanation, divide)
    return outline if is_divided else None
