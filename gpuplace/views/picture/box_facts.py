"""Facts about folded boxes besides names and devices: copies in and out, and the share of a predicted step.

>>> from gpuplace.views.picture.drawing import draw
>>> from gpuplace.views.tables.placement_view import PlacementView, TensorFact
>>> rows = [("a/x", "Const", "", "/device:CPU:0"), ("b/y", "Neg", "", "/device:GPU:0")]
>>> fact = {("a/x", 0): TensorFact("float32", (2, 2), 16)}
>>> view = PlacementView.of_columns(rows, [("a/x", 0, "b/y", 0)], fact)
>>> [fact.copies_texts() for fact in box_facts(draw(view, []), None)]
[('1 out, 16 B',), ('1 in, 16 B',)]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpuplace.views.picture.drawing import Drawing
from gpuplace.views.tables.memory import variable_bytes
from gpuplace.views.tables.placement_view import view_of
from gpuplace.views.tables.size_text import bytes_text
from gpuplace.views.tables.text import OF_UNKNOWN_SIZE, sizes_text
from gpuplace.web.rules import words

if TYPE_CHECKING:  # estimates load all ops, which most pictures do not need
    from gpuplace.cost.step_estimate import StepEstimate


@dataclass(frozen=True, eq=False)
class NodeCosts:
    """The cost of a predicted step by node."""

    seconds: np.ndarray
    """[nodes] seconds of all executions; 0 for nodes that do not run."""
    variables: np.ndarray
    """[nodes] bytes of variables; 0 for other nodes."""


def node_costs(placement: Any, estimate: StepEstimate) -> NodeCosts:
    """Return the cost of a predicted step by node of a placement.

    Args:
        placement: a `Placement` or a `PlacementView`.
        estimate: estimate of a step of this graph.

    Raises:
        ValueError: the estimate belongs to another graph.
    """
    view = view_of(placement)
    seconds = np.zeros(len(view))
    positions = [view.index.get(name, -1) for name in estimate.part.graph.names]
    at = np.array(positions, dtype=np.int64)
    if not (at >= 0).any():
        raise ValueError(
            "The estimate is for another graph: it contains none of these nodes. Pass an estimate of this graph."
        )
    seconds[at[at >= 0]] = estimate.node_seconds[at >= 0]
    return NodeCosts(seconds, variable_bytes(placement))


class BoxFacts(NamedTuple):
    """Facts of one box."""

    received: tuple[int, str]
    """Copies from other boxes in a step, and their size as text."""
    sent: tuple[int, str]
    """Copies to other boxes in a step, and their size as text."""
    share: float | None
    """Share of the seconds of all nodes, 0 to 1; None without a prediction."""
    seconds: float
    """Predicted seconds of its nodes."""
    variables: int
    """Bytes of its variables."""

    def copies_texts(self, has_room: bool = True) -> tuple[str, ...]:
        """Return texts about copies in and copies out, if any; only sizes if space is short."""
        texts = []
        for (number, size), is_in in ((self.received, True), (self.sent, False)):
            if not number:
                continue
            count = f"{number:,}"
            text = words("copies_in", number=count) if is_in else words("copies_out", number=count)
            if size != OF_UNKNOWN_SIZE:
                first, more, _ = size.partition(" and ")  # a box is narrow
                size = f"{first}{' …' if more else ''}"
                short = words("bytes_in", size=size) if is_in else words("bytes_out", size=size)
                text = f"{text}, {size}" if has_room else short
            texts.append(text)
        return tuple(texts)

    @property
    def cost_text(self) -> str:
        """Return the share of the step and the bytes of variables as text; ``""`` without a prediction or a cost."""
        if self.share is None:
            return ""
        share = words("step_share", share=percent_text(self.share)) if self.share else ""
        variables = words("variable_bytes", size=bytes_text(self.variables)) if self.variables else ""
        return " · ".join(filter(None, (share, variables)))


def percent_text(share: float) -> str:
    """Return a fraction in percent.

    >>> percent_text(0.4242), percent_text(0.0123), percent_text(0.0001)
    ('42%', '1.2%', '<0.1%')
    """
    if share < 0.001:
        return "<0.1%"
    return f"{share:.0%}" if share >= 0.0995 else f"{share:.1%}"


def box_facts(drawing: Drawing, costs: NodeCosts | None) -> list[BoxFacts]:
    """Return the facts of each box.

    Args:
        drawing: the boxes.
        costs: cost of a predicted step; None without a prediction.
    """
    count = len(drawing.boxes)
    received, sent = _copies(drawing)
    seconds, variables = [0.0] * count, [0.0] * count
    total = 0.0
    if costs is not None:
        seconds = np.bincount(drawing.box_of, costs.seconds, minlength=count).tolist()
        variables = np.bincount(drawing.box_of, costs.variables, minlength=count).tolist()
        total = float(costs.seconds.sum())
    return [
        BoxFacts(
            received[box],
            sent[box],
            None if costs is None else seconds[box] / total if total else 0.0,
            seconds[box],
            int(variables[box]),
        )
        for box in range(count)
    ]


def _copies(drawing: Drawing) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Return [boxes] number and size of the copies from other boxes, and of the copies to other boxes."""
    view, count = drawing.view, len(drawing.boxes)
    facts_of: tuple[list[tuple[int, str]], ...] = ([(0, "")] * count, [(0, "")] * count)
    edges = np.flatnonzero(view.is_copy)
    src, dst = drawing.box_of[view.src[edges]], drawing.box_of[view.dst[edges]]
    edges, src, dst = (column[src != dst] for column in (edges, src, dst))
    for fact_of, ends in zip(facts_of, (dst, src), strict=True):
        order = np.argsort(ends, kind="stable")
        starts = np.searchsorted(ends[order], np.arange(count + 1)).tolist()
        for box in np.unique(ends).tolist():
            copies = view.copies_along(edges[order[starts[box] : starts[box + 1]]])
            fact_of[box] = (sum(copy.runs for copy in copies), sizes_text(view, copies))
    return facts_of[0], facts_of[1]
