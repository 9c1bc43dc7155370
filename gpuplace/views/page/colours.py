"""Colourings and highlights of a report page: columns of categories and numbers, and the critical paths.

>>> from gpuplace.views.tables.placement_view import PlacementView
>>> view = PlacementView.of_columns([("a", "Const", "", "/device:CPU:0"), ("n", "Neg", "", "/device:CPU:0")])
>>> [column["name"] for column in colour_columns(view)], [path["what"] for path in path_columns(view)]
(['requested', 'type', 'memory'], ['path by ops', 'path by bytes'])
"""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from gpuplace.typing import RunMetadata
from gpuplace.views.picture.colouring import COLOURINGS, Colouring, colouring
from gpuplace.views.picture.lighting import lights_for
from gpuplace.views.picture.marks import critical_path
from gpuplace.views.tables.placement_view import PlacementView
from gpuplace.web.rules import RULES

_LETTERS = string.ascii_letters + string.digits
"""A character for each category: a column of 100,000 nodes takes 100,000 characters."""


def colour_columns(view: PlacementView, run_metadata: RunMetadata | None = None) -> list[dict[str, Any]]:
    """Return the available colourings, except by assigned device, which the node columns contain.

    Raises:
        ValueError: the step contains none of the graph's nodes.
    """
    columns = []
    for name in COLOURINGS:
        if name == "assigned" or (name == "time" and run_metadata is None):
            continue
        if (name == "group" and view.groups is None) or (name == "cause" and view.verdicts is None):
            continue
        colours = colouring(view, name, run_metadata=run_metadata)
        if name != "memory" or (colours.values is not None and not np.isnan(colours.values).all()):
            columns.append(_column(colours, run_metadata is not None))
    return columns


def _column(colours: Colouring, is_measured: bool) -> dict[str, Any]:
    column: dict[str, Any] = {
        "name": colours.name,
        "title": colours.title,
        "categories": [category.chip for category in colours.categories],
        "of": "".join(_LETTERS[category] for category in colours.category.tolist()),
    }
    if colours.values is not None and colours.scale is not None:
        column["measured"] = is_measured
        column["unit"] = colours.scale.unit
        column["values"] = [None if value != value else round(value, 3) for value in colours.values.tolist()]
    return column


def path_columns(view: PlacementView, run_metadata: RunMetadata | None = None) -> list[dict[str, Any]]:
    """Return the critical paths that can be computed: the nodes in order, and a description of the length."""
    columns = []
    for what in lights_for(view, run_metadata):
        if what.startswith("path by "):
            path = critical_path(view, what.removeprefix("path by "), run_metadata)
            columns.append(
                {
                    "what": what,
                    "text": RULES["lights"]["told"]["path"].format(path=path.text),
                    "nodes": list(path.nodes),
                }
            )
    return columns
