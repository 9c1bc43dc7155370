"""A placement as a picture that stays readable in a saved notebook.

`placement_picture` gives a `Picture`: the last expression of a cell shows it, ``.save("towers.svg")`` writes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuplace.jupyter import render
from gpuplace.jupyter.first_view import STILL_CANVAS, first_view
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
        sheet: what is shown, as records.
        theme: colours around the boxes.
        follows: whether a notebook shows the picture in its own theme.
        direction: ``"TB"``, ``"LR"``, ``"BT"`` or ``"RL"``.
        legend: whether there is one.
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
        """Boxes and links."""
        return self.sheet.drawing

    @property
    def colouring(self) -> Colouring:
        """What the colours mean: ``colouring.categories`` is the legend."""
        return self.sheet.colouring

    @property
    def text(self) -> str:
        """The legend and what is marked, as lines."""
        return legend_text(self.sheet)

    @cached_property
    def dot(self) -> str:
        """The picture in Graphviz's language."""
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
            LayoutTimeout: it took too long to lay out.
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
        """Writes a file in the format of its ending (.svg, .png, .pdf, .dot, .gv) and returns its path.

        Raises:
            ValueError: no ending.
            OSError: the file cannot be written; one that is there already stays as it is.
            LayoutTimeout: it took too long to lay out.
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
            raise ValueError(f"{target}: the ending says the format: .svg, .png, .pdf or .dot")
        return target

    def __repr__(self) -> str:
        return f"<Picture: {summary_text(self._placement)}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """An ``<img>`` with the picture inside and a table, and the same as text: both survive saving."""
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
        if self.colouring.name != "assigned" or self.sheet.marks:  # else the first line says it all
            text += f"\n{self.text}"
        return {"text/html": shown, "text/plain": text}


def placement_picture(
    placement: Any,
    *,
    open: Iterable[str] | None = None,
    colour: str | None = None,
    color: str | None = None,
    run_metadata: Any = None,
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
    """Draws a placement: coloured boxes, copies between devices dashed, control edges dotted.

    Args:
        placement: a `Placement`.
        open: name scopes to unfold, ``["tower_0", "tower_0/conv"]``; by default as many as ``cap`` boxes allow.
        colour: what colours mean: ``"assigned"`` (the device each op got), ``"requested"``, ``"type"``, ``"group"``
            (colocation), ``"memory"``, ``"time"`` (needs ``run_metadata``) or ``"cause"`` (the rule that settled it).
            By default the device, or what moved where ``against`` is given.
        color: the same as ``colour``.
        run_metadata: ``RunMetadata`` of a step run with ``FULL_TRACE``.
        estimate: a prediction of a step (`gpuplace.estimate`): folded boxes show their part of its kernel time, and the
            bytes of their variables.
        against: an earlier placement: what has another device there is marked with both.
        critical_path: True marks the longest chain: by measured time where ``run_metadata`` is given, else by number of
            ops; ``"time"``, ``"bytes"`` (copied between devices) or ``"ops"`` says by what.
        trace: ``"inputs"`` lights all that an op depends on, ``"consumers"`` all that depends on it, ``"both"`` either;
            boxes say how many of their nodes that are, and the rest is dimmed.
        of: the op of the trace, or a name scope.
        backward: whether lines of gradients and updates are drawn between the layers of a model, too; copies between
            devices always are.
        find: regular expression; ops whose name has a match are marked, and scopes opened around them.
        patterns: hatches, so that print without colour tells categories apart.
        theme: ``"light"``, ``"dark"``, or ``"auto"``: light, and in a notebook as the notebook is.
        direction: ``"TB"`` (downwards) or ``"LR"`` (to the right).
        legend: whether to draw the legend.
        cap: boxes to show where ``open`` is not given; never more than a few hundred are drawn.
        table: whether the notebook also shows the first rows as a table, folded.
        time_limit_s: seconds that the layout may take.

    Raises:
        ValueError: an unknown theme, direction, colouring, trace or scope; time is asked for without
            ``run_metadata``; or the estimate is of another graph.
        KeyError: the trace is of an op that does not exist.
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
    run_metadata: Any = None,
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
) -> Sheet:
    """Everything that a picture says; see `placement_picture`. With ``lanes``, its boxes are shares of devices.

    Where nothing is said of what is open, it is as much as a canvas of some width and height in points has room for.

    Raises:
        ValueError: an unknown colouring or trace; or time is asked for without ``run_metadata``.
        KeyError: the trace is of an op that does not exist.
    """
    view = view_of(placement)
    if (trace is None) != (of is None):
        raise ValueError(
            f"A trace needs a direction and an op: trace=({', '.join(map(repr, TRACES))}), of='name'"
        )
    costs = None if estimate is None else node_costs(placement, estimate)
    found = find(view, pattern) if pattern else None
    if found is not None and found.any():
        tree = outline(view)
        around = {tree.paths[scope] for scope in tree.open_around(found, min(cap, HARD_CAP))} - {""}
        opened = sorted(around | set(opened or ()))
    elif opened is None:
        opened = first_view(view, canvas, cap, lanes=lanes, costs=costs)
    moves = None if against is None else compare(placement, against)
    weight = path if isinstance(path, str) else None
    marks = Marks(
        found=found,
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
    """The legend as values for a page's chips: ``label``, ``count``, ``note`` and the look."""
    return [category.chip for category in sheet.legend]


def _checked_scopes(view: PlacementView, opened: Iterable[str]) -> list[str]:
    paths = list(opened)
    tree = outline(view)
    for path in paths:
        if tree.position(path) is None and "*" not in path and "/:" not in path:
            raise ValueError(f"There is no name scope {path!r}")
    return paths
