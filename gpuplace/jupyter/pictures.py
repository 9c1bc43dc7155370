"""A placement as a picture that stays readable in a saved notebook.

`placement_picture` returns a `Picture`: as the last expression of a cell it is displayed, and ``.save("towers.svg")``
writes it to a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuplace.jupyter import render
from gpuplace.jupyter.first_view import STILL_CANVAS, first_view
from gpuplace.typing import PlacementLike, RunMetadata
from gpuplace.views.picture.box_facts import node_costs
from gpuplace.views.picture.colouring import Colouring, colouring, moved_colouring
from gpuplace.views.picture.dot import checked_direction, dot_text
from gpuplace.views.picture.drawing import AUTO_CAP, HARD_CAP, Drawing, draw
from gpuplace.views.picture.lanes import by_device
from gpuplace.views.picture.marks import Marks, compare, critical_path, find
from gpuplace.views.picture.outline import outline
from gpuplace.views.picture.sheet import Sheet, legend_text, sheet_of
from gpuplace.views.tables import html
from gpuplace.views.tables.dependency_trace import TRACES, trace_of
from gpuplace.views.tables.palette import DARK, Theme, theme_named
from gpuplace.views.tables.placement_view import PlacementView, view_of
from gpuplace.views.tables.text import placement_text, summary_text
from gpuplace.writing import write_file

if TYPE_CHECKING:
    from gpuplace.cost.step_estimate import StepEstimate

_ROWS = 12


class Picture:
    """A drawn placement.

    Attributes:
        sheet: the content, as records.
        theme: the colours around the boxes.
        follows: whether a notebook shows the picture in its own theme.
        direction: ``"TB"``, ``"LR"``, ``"BT"`` or ``"RL"``.
        legend: whether there is a legend.
        patterns: whether fills are hatched.
    """

    def __init__(
        self,
        placement: Any,
        sheet: Sheet,
        *,
        theme: Theme,
        follows: bool,
        direction: str,
        legend: bool,
        patterns: bool,
        table: bool,
        time_limit_s: float,
    ) -> None:
        self._placement = placement
        self._table = table
        self._time_limit_s = time_limit_s
        self.sheet = sheet
        self.theme = theme
        self.follows = follows
        self.direction = checked_direction(direction)
        self.legend = legend
        self.patterns = patterns

    @property
    def drawing(self) -> Drawing:
        """The boxes and links."""
        return self.sheet.drawing

    @property
    def colouring(self) -> Colouring:
        """The colouring; ``colouring.categories`` is the legend."""
        return self.sheet.colouring

    @property
    def text(self) -> str:
        """The legend and the marks as lines of text."""
        return legend_text(self.sheet)

    @cached_property
    def dot(self) -> str:
        """The picture in Graphviz's DOT language."""
        return dot_text(
            self.sheet,
            theme=self.theme,
            direction=self.direction,
            legend=self.legend,
            patterns=self.patterns,
        )

    @cached_property
    def svg(self) -> str:
        """The picture as one ``<svg>`` element.

        Raises:
            LayoutTimeout: the layout took too long.
            NoLayoutProgram: neither ``dot`` nor ``graphviz-pure`` is installed.
        """
        return self._svg(self.theme)

    def _svg(self, theme: Theme) -> str:
        return render.sheet_svg(
            self.sheet,
            theme=theme,
            direction=self.direction,
            legend=self.legend,
            patterns=self.patterns,
            canvas=STILL_CANVAS,
            time_limit_s=self._time_limit_s,
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a file in the format of its extension (.svg, .png, .pdf, .dot, .gv) and return its path.

        Raises:
            ValueError: the path has no extension.
            OSError: the file cannot be written; an existing file is left unchanged.
            LayoutTimeout: the layout took too long.
            NoLayoutProgram: neither ``dot`` nor ``graphviz-pure`` is installed.
        """
        target = Path(path)
        form = target.suffix.lower().removeprefix(".")
        if form in ("dot", "gv"):
            write_file(target, self.dot)
        elif form == "svg":
            write_file(target, f"{self.svg}\n")
        elif form:
            write_file(target, render.render(self.dot, form, time_limit_s=self._time_limit_s))
        else:
            raise ValueError(f"{target} has no extension; use .svg, .png, .pdf or .dot")
        return target

    def __repr__(self) -> str:
        return f"<Picture: {summary_text(self._placement)}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return an ``<img>`` with the embedded picture and a table, and the same as text."""
        description = f"Placement graph. {summary_text(self._placement)}"
        try:
            shown = html.image(self.svg, description, self._svg(DARK) if self.follows else "")
        except (render.LayoutTimeout, render.NoLayoutProgram) as error:
            shown = f"<p>{html.escape(error)}</p>"
        if self._table:
            nodes = html.node_table(self._placement, limit=_ROWS)
            shown += (
                f"<details><summary>{html.escape(summary_text(self._placement))}</summary>{nodes}</details>"
            )
        text = placement_text(self._placement)
        if self.colouring.name != "assigned" or self.sheet.marks:  # otherwise the first line is enough
            text += f"\n{self.text}"
        return {"text/html": shown, "text/plain": text}


def placement_picture(
    placement: PlacementLike,
    *,
    open: Iterable[str] | None = None,
    colour: str | None = None,
    color: str | None = None,
    run_metadata: RunMetadata | None = None,
    estimate: StepEstimate | None = None,
    against: Any = None,
    critical_path: bool | str = False,
    find: str | None = None,
    trace: str | None = None,
    of: Any = None,
    backward: bool = False,
    patterns: bool = False,
    theme: str = "auto",
    direction: str = "TB",
    legend: bool = True,
    cap: int = AUTO_CAP,
    table: bool = True,
    time_limit_s: float = render.TIME_LIMIT_S,
) -> Picture:
    """Draw a placement: coloured boxes, dashed copies between devices, dotted control edges.

    Args:
        placement: a `Placement`.
        open: name scopes to unfold, ``["tower_0", "tower_0/conv"]``; by default as many as ``cap`` boxes allow.
        colour: the colouring: ``"assigned"`` (each op's device), ``"requested"``, ``"type"``, ``"group"`` (colocation),
            ``"memory"``, ``"time"`` (needs ``run_metadata``) or ``"cause"`` (the rule that determined the device). By
            default the device, or the moves with ``against``.
        color: the same as ``colour``.
        run_metadata: the ``RunMetadata`` of a step run with ``FULL_TRACE``.
        estimate: a predicted step (`gpuplace.estimate`): folded boxes show their share of its kernel time, and the
            bytes of their variables.
        against: an earlier placement; nodes whose device differs are marked with both devices.
        critical_path: True to mark the longest chain, by measured time with ``run_metadata``, otherwise by number of
            ops; or ``"time"``, ``"bytes"`` (copied between devices) or ``"ops"``.
        trace: ``"inputs"`` highlights everything that an op depends on, ``"consumers"`` everything that depends on it,
            ``"both"`` both; boxes show how many of their nodes are highlighted, and the rest is dimmed.
        of: the op of the trace, or a name scope.
        backward: whether to draw lines of gradients and updates between the layers of a model; copies between devices
            are always drawn.
        find: a regular expression; ops whose name matches are marked, and the scopes around them opened.
        patterns: whether to hatch the fills, for print without colour.
        theme: ``"light"``, ``"dark"``, or ``"auto"``: light, and in a notebook the notebook's theme.
        direction: ``"TB"`` (downwards) or ``"LR"`` (to the right).
        legend: whether to draw the legend.
        cap: the maximum number of boxes without ``open``; never more than a few hundred are drawn.
        table: whether the notebook also shows the first rows as a folded table.
        time_limit_s: time limit of the layout in seconds.

    Raises:
        ValueError: an unknown theme, direction, colouring, trace or scope; time without ``run_metadata``; or an
            estimate of another graph.
        KeyError: there is no op of the trace's name.
    """
    look = theme_named("light" if theme == "auto" else theme)
    if open is not None:
        open = _checked_scopes(view_of(placement), [open] if isinstance(open, str) else open)
    sheet = picture_sheet(
        placement,
        open,
        colour=colour if color is None else color,
        run_metadata=run_metadata,
        estimate=estimate,
        against=against,
        path=critical_path,
        pattern=find,
        trace=trace,
        of=of,
        cap=cap,
        backward=backward,
    )
    return Picture(
        placement,
        sheet,
        theme=look,
        follows=theme == "auto",
        direction=direction,
        legend=legend,
        patterns=patterns,
        table=table,
        time_limit_s=time_limit_s,
    )


def picture_sheet(
    placement: Any,
    opened: Iterable[str] | None = None,
    *,
    colour: str | None = None,
    run_metadata: RunMetadata | None = None,
    estimate: StepEstimate | None = None,
    against: Any = None,
    path: bool | str = False,
    pattern: str | None = None,
    trace: str | None = None,
    of: Any = None,
    cap: int = AUTO_CAP,
    canvas: tuple[float, float] = STILL_CANVAS,
    lanes: bool = False,
    backward: bool = False,
    left_out: int = 0,
) -> Sheet:
    """Return the content of a picture; see `placement_picture`. With ``lanes``, its boxes are shares of devices.

    Without ``opened``, as many scopes are open as fit a canvas, given as width and height in points; ``left_out`` is as
    for `first_view`.

    Raises:
        ValueError: an unknown colouring or trace; or time without ``run_metadata``.
        KeyError: there is no op of the trace's name.
    """
    view = view_of(placement)
    if (trace is None) != (of is None):
        raise ValueError(
            f"A trace needs a direction and an op: trace=({', '.join(map(repr, TRACES))}), of='name'"
        )
    costs = None if estimate is None else node_costs(placement, estimate)
    matches = find(view, pattern) if pattern else None
    if matches is not None and matches.any():
        tree = outline(view)
        around = {tree.paths[scope] for scope in tree.open_around(matches, min(cap, HARD_CAP))} - {""}
        opened = sorted(around | set(opened or ()))
    elif opened is None:
        opened = first_view(view, canvas, cap, lanes=lanes, costs=costs, left_out=left_out)
    moves = None if against is None else compare(placement, against)
    weight = path if isinstance(path, str) else None
    marks = Marks(
        found=matches,
        pattern=pattern or "",
        path=critical_path(view, weight, run_metadata) if path else None,
        moves=moves,
        trace=None if trace is None else trace_of(view, of, trace),
    )
    if moves is not None and colour in (None, "moved"):
        colours = moved_colouring(view, moves)
    else:
        colours = colouring(view, colour or "assigned", run_metadata=run_metadata)
    drawing = draw(view, opened, cap=cap, backward=backward)
    return sheet_of(by_device(drawing) if lanes else drawing, colours, marks, costs)


def legend_chips(sheet: Sheet) -> list[dict[str, Any]]:
    """Return the legend as values for a page's chips: ``label``, ``count``, ``note`` and the look."""
    return [category.chip for category in sheet.legend]


def _checked_scopes(view: PlacementView, opened: Iterable[str]) -> list[str]:
    paths = list(opened)
    tree = outline(view)
    for path in paths:
        if tree.position(path) is None and "*" not in path and "/:" not in path:
            raise ValueError(f"There is no name scope {path!r}")
    return paths
