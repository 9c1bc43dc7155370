"""The scopes that a picture opens at first: as many as the canvas has room for with readable names.

Only the layout shows how many fit, so each of `Outline.steps` is accepted if the picture fits the canvas. The result is
the same for all placements of a graph, so that changing a setting folds and unfolds nothing.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from gpuplace.jupyter import render
from gpuplace.views.picture.box_facts import NodeCosts
from gpuplace.views.picture.drawing import HARD_CAP, draw
from gpuplace.views.picture.lanes import by_device, lanes_size
from gpuplace.views.picture.outline import Outline, outline
from gpuplace.views.picture.sheet import sheet_of
from gpuplace.views.tables.placement_view import PlacementView
from gpuplace.views.tables.scopes import ROOT
from gpuplace.web.rules import RULES

STILL_CANVAS = (900.0, 640.0)
"""Width and height in points of a picture outside of a widget."""
_TIME_LIMIT_S = 2.0
_FAILURES: int = RULES["folding"]["tries"]
"""Number of steps that do not fit after which the search stops."""
_FEW: int = RULES["folding"]["few"]
"""Number of boxes that counts as few."""
_CACHE: WeakKeyDictionary[Outline, dict[tuple[float, float, int, bool, bool], list[tuple[str, ...]]]] = (
    WeakKeyDictionary()
)
"""Canvas and options -> the views: without any scope open, and after each step."""


def first_view(
    view: PlacementView,
    canvas: tuple[float, float],
    most: int,
    *,
    lanes: bool = False,
    costs: NodeCosts | None = None,
    left_out: int = 0,
) -> tuple[str, ...]:
    """Return the paths of the scopes to open.

    Args:
        view: the placement.
        canvas: width and height in points.
        most: the maximum number of boxes.
        lanes: whether the picture is by device.
        costs: costs of a predicted step, which boxes display.
        left_out: number of steps to leave out at the end, for a page that needs more room than Graphviz does.
    """
    tree = outline(view)
    cache = _CACHE.setdefault(tree, {})
    key = (*canvas, most, lanes, costs is not None)
    if key not in cache:
        cache[key] = _chosen(view, tree, canvas, most, lanes, costs)
    views = cache[key]
    return views[max(0, len(views) - 1 - left_out)]


def _chosen(
    view: PlacementView,
    tree: Outline,
    canvas: tuple[float, float],
    most: int,
    lanes: bool,
    costs: NodeCosts | None,
) -> list[tuple[str, ...]]:
    shown = len(draw(view, []).boxes)

    def fits(scopes: list[int]) -> bool:
        nonlocal shown
        drawing = draw(view, [tree.paths[scope] for scope in scopes])
        room = render.room_on(canvas)
        if lanes:
            width, height = lanes_size(sheet_of(by_device(drawing), costs=costs), room)
        else:
            try:
                trial = render.sheet_layout(
                    sheet_of(drawing, costs=costs), canvas=canvas, time_limit_s=_TIME_LIMIT_S
                )
            except render.LayoutTimeout:
                return False
            width, height = trial.width, trial.height
        is_small = width <= room[0] and height <= room[1]
        shown = len(drawing.boxes) if is_small else shown
        return is_small

    opened: list[int] = []
    views: list[tuple[str, ...]] = [()]
    failures = 0
    for step in tree.steps(min(most, HARD_CAP)):
        if failures == _FAILURES:
            break
        if any(tree.parent[scope] not in (ROOT, *opened) for scope in step):
            continue
        # Towers and layers are opened together; a single one is opened only if there would be few boxes.
        for scopes in (step, step[:1]) if len(step) > 1 and shown < _FEW else (step,):
            try:
                is_small = fits([*opened, *scopes])
            except render.NoLayoutProgram:
                is_small = True  # the picture itself reports the failure; its text remains available
            if is_small:
                opened += scopes
                views.append(tuple(tree.paths[scope] for scope in opened))
                break
            failures += 1
    return views
