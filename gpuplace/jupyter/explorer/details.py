"""The card about an op or name scope: its type, its device and the reason, and its neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.views.picture.drawing import Box, Drawing
from gpuplace.views.picture.outline import outline
from gpuplace.views.tables.attr_text import attr_rows
from gpuplace.views.tables.calls import calls_of
from gpuplace.views.tables.palette import chip_look
from gpuplace.views.tables.placement_view import PlacementView, view_of
from gpuplace.views.tables.text import counted
from gpuplace.web.rules import RULES, words
from gpuplace.why.terms import TERMS

_NEIGHBORS: int = RULES["folding"]["neighbors"]


def box_of_name(drawing: Drawing, view: PlacementView, name: str) -> Box | None:
    """Return the box that shows an op or a scope; None for an unknown name, or an open scope."""
    node = view.index.get(name)
    if node is not None:
        return drawing.boxes[int(drawing.box_of[node])]
    return next((box for box in drawing.boxes if box.name == name and box.kind != "op"), None)


def detail_of(placement: Any, drawing: Drawing, name: str) -> dict[str, Any]:
    """Return the card for an op, a scope or a bundle; empty for no name.

    The key ``reason`` holds the explanation as text.
    """
    view = view_of(placement)
    node = view.index.get(name)
    if node is not None:
        return _op_detail(placement, view, node)
    box = box_of_name(drawing, view, name)
    if box is not None:
        return _box_detail(box)
    return {}


def _op_detail(placement: Any, view: PlacementView, node: int) -> dict[str, Any]:
    inputs = _unique(view, view.src[np.flatnonzero(view.dst == node)])
    outputs = _unique(view, view.dst[np.flatnonzero(view.src == node)])
    request = view.request_of(node)
    scope = int(outline(view).scope_of[node])
    path = outline(view).paths[scope]
    device = view.device_of(node)
    card = {
        "name": view.names[node],
        "kind": view.op_type_of(node),
        "devices": [chip_look(device, text=chip_look(device)["label"])],
        "requested": request,
        "met": None if not request else bool(device) and not bool(view.is_unmet[node]),
        "source": view.source_line(node) or "",
        "attrs": [list(row) for row in attr_rows(placement, node)],
        "calls": [list(call) for call in calls_of(placement, node)],
        "reason": words("card_logged"),
        "steps": [],
        "remedies": [],
        "group": [],
        "rule": "",
        "decided_by": "",
        "inputs": inputs[:_NEIGHBORS],
        "more_inputs": max(0, len(inputs) - _NEIGHBORS),
        "outputs": outputs[:_NEIGHBORS],
        "more_outputs": max(0, len(outputs) - _NEIGHBORS),
        "toggle": f"c{scope}" if path else "",
        "toggle_text": words("fold", scope=path) if path else "",
    }
    explain = getattr(placement, "explain", None)
    return card if explain is None else card | _explained(explain(view.names[node]))


def _explained(explanation: Any) -> dict[str, Any]:
    """Return the part of the card that explains the device."""
    return {
        "reason": str(explanation),
        "steps": [
            {
                "rule": step.rule.value,
                "note": step.note,
                "after": [_look(label) for label in step.after[:_NEIGHBORS]],
            }
            for step in explanation.steps
        ],
        "remedies": [list(remedy) for remedy in explanation.remedy],
        "group": [member for member in explanation.group if member != explanation.node][:_NEIGHBORS],
        "rule": explanation.rule.value if explanation.rule else "",
        "decided_by": explanation.decided_by,
        "because": explanation.because,
        "terms": TERMS,
        "held_by": explanation.held_by,
    }


def _look(label: str) -> dict[str, Any]:
    """Return the look of a device by its label in an explanation."""
    return chip_look(label if "/" in label else f"/device:{label}")


def _unique(view: PlacementView, nodes: np.ndarray) -> list[str]:
    return [view.names[node] for node in dict.fromkeys(nodes.tolist())]


def _box_detail(box: Box) -> dict[str, Any]:
    kinds = {
        "scope": words("card_scope"),
        "bundle": words("card_scopes", number=box.copies) if box.copies > 1 else words("card_ops"),
    }
    requests = ", ".join(box.requests)
    requests_text = words("card_asked", requests=requests) if requests else words("card_nothing_asked")
    unmet = f"; {words('card_unmet', requests=counted(box.unmet, 'request'))}" if box.unmet else ""
    return {
        "name": box.label if box.kind == "bundle" else box.name,
        "kind": f"{kinds[box.kind]}, {counted(box.nodes, 'node')}",
        "devices": [
            chip_look(device, text=f"{chip_look(device)['label']}: {count:,}") for device, count in box.shares
        ],
        "requested": "",
        "met": None,
        "source": "",
        "attrs": [],
        "reason": requests_text + unmet,
        "steps": [],
        "remedies": [],
        "group": [],
        "rule": "",
        "decided_by": "",
        "inputs": [],
        "more_inputs": 0,
        "outputs": [],
        "more_outputs": 0,
        "toggle": box.id,
        "toggle_text": words("unfold"),
    }
