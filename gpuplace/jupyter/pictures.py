"""A placement as a picture that stays readable in a saved notebook.

`placement_picture` gives a `Picture`: the last expression of a cell shows it, ``.save("towers.svg")`` writes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from gpuplace.jupyter import render
from gpuplace.report import html
from gpuplace.report.dot import dot_text
from gpuplace.report.drawing import AUTO_CAP, Drawing, draw
from gpuplace.report.palette import theme_named
from gpuplace.report.text import placement_text, summary_text

__all__ = ["Picture", "placement_picture"]

_ROWS = 12


class Picture:
    """A drawn placement.

    Attributes:
        drawing: what is shown, as records.
        dot: the same in Graphviz's language.
    """

    def __init__(
        self, placement: Any, drawing: Drawing, dot: str, *, table: bool, time_limit_s: float
    ) -> None:
        self._placement = placement
        self._table = table
        self._time_limit_s = time_limit_s
        self.drawing = drawing
        self.dot = dot

    @cached_property
    def svg(self) -> str:
        """The picture as one ``<svg>`` element.

        Raises:
            LayoutTimeout: it took too long to lay out.
        """
        return render.render_svg(self.dot, self._time_limit_s)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes a file in the format of its ending (.svg, .png, .pdf, .dot) and returns its path.

        Raises:
            ValueError: no ending.
        """
        return render.save(self.dot, path, time_limit_s=self._time_limit_s)

    def __repr__(self) -> str:
        return f"<Picture: {summary_text(self._placement)}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """An ``<img>`` with the picture inside and a table, and the same as text: both survive saving."""
        description = f"Placement graph. {summary_text(self._placement)}"
        try:
            shown = html.image(self.svg, description)
        except render.LayoutTimeout as error:
            shown = f"<p>{html.escape(error)}</p>"
        if self._table:
            nodes = html.node_table(self._placement, limit=_ROWS)
            shown += (
                f"<details><summary>{html.escape(summary_text(self._placement))}</summary>{nodes}</details>"
            )
        return {"text/html": shown, "text/plain": placement_text(self._placement)}


def placement_picture(
    placement: Any,
    *,
    open: Iterable[str] | None = None,
    theme: str = "light",
    direction: str = "TB",
    legend: bool = True,
    cap: int = AUTO_CAP,
    table: bool = True,
    time_limit_s: float = render.TIME_LIMIT_S,
) -> Picture:
    """Draws a placement: boxes in the colour of the assigned device, copies dashed, control edges dotted.

    Args:
        placement: a `Placement`.
        open: name scopes to unfold, ``["tower_0", "tower_0/conv"]``; by default as many as ``cap`` boxes allow.
        theme: ``"light"`` or ``"dark"``.
        direction: ``"TB"`` (downwards) or ``"LR"`` (to the right).
        legend: whether to draw the legend.
        cap: boxes to show where ``open`` is not given; never more than a few hundred are drawn.
        table: whether the notebook also shows the first rows as a table, folded.
        time_limit_s: seconds that the layout may take.

    Raises:
        ValueError: an unknown theme, direction or scope.
    """
    from gpuplace.report.drawing import scope_tree
    from gpuplace.report.placement_view import view_of

    if open is not None:
        open = [open] if isinstance(open, str) else list(open)
        known = scope_tree(view_of(placement)).index
        for path in open:
            if path not in known and "*" not in path and "/:" not in path:
                raise ValueError(f"There is no name scope {path!r}")
    drawing = draw(placement, open, cap=cap)
    dot = dot_text(drawing, theme=theme_named(theme), direction=direction, legend=legend)
    return Picture(placement, drawing, dot, table=table, time_limit_s=time_limit_s)
