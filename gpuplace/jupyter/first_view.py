"""What a picture shows first: as many scopes open as its canvas has room for, with names that can be read.

How much that is, only the layout tells: of `Outline.steps` each is taken with which the picture is no larger than the
canvas. The answer is the same for all placements of a graph, so that a switch folds and unfolds nothing.
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
"""Width and height in points of a picture that is no widget's."""
_TIME_LIMIT_S = 2.0
_FAILURES: int = RULES["folding"]["tries"]
"""Steps that do not fit after which no more are tried."""
_FEW: int = RULES["folding"]["few"]
"""Boxes that are little to see."""
_KNOWN: WeakKeyDictionary[Outline, dict[tuple[float, float, int, bool, bool], tuple[str, ...]]] = (
    WeakKeyDictionary()
)


def first_view(
    view: PlacementView,
    canvas: tuple[float, float],
    most: int,
    *,
    lanes: bool = False,
    costs: NodeCosts | None = None,
) -> tuple[str, ...]:
    """Paths of the scopes that are open.

    Args:
        view: what is drawn.
        canvas: width and height in points.
        most: boxes at the most.
        lanes: whether the picture is by device.
        costs: of a predicted step, which boxes show.
    """
    tree = outline(view)
    known = _KNOWN.setdefault(tree, {})
    key = (*canvas, most, lanes, costs is not None)
    if key not in known:
        known[key] = _chosen(view, tree, canvas, most, lanes, costs)
    return known[key]


def _chosen(
    view: PlacementView,
    tree: Outline,
    canvas: tuple[float, float],
    most: int,
    lanes: bool,
    costs: NodeCosts | None,
) -> tuple[str, ...]:
    shown = len(draw(view, []).boxes)

    def fits(scopes: list[int]) -> bool:
        nonlocal shown
        drawing = draw(view, [tree.paths[scope] for scope in scopes])
        room = render.room_on(canvas)
        if lanes:
            width, height = lanes_size(sheet_of(by_device(drawing), costs=costs), room)
        else:
            try:
                found = render.sheet_layout(
                    sheet_of(drawing, costs=costs), canvas=canvas, time_limit_s=_TIME_LIMIT_S
                )
            except render.LayoutTimeout:
                return False
            width, height = found.width, found.height
        is_small = width <= room[0] and height <= room[1]
        shown = len(drawing.boxes) if is_small else shown
        return is_small

    opened: list[int] = []
    failures = 0
    for step in tree.steps(min(most, HARD_CAP)):
        if failures == _FAILURES:
            break
        if any(tree.parent[scope] not in (ROOT, *opened) for scope in step):
            continue
        # Towers and layers are opened together; one of them alone where there is little to see otherwise.
        for scopes in (step, step[:1]) if len(step) > 1 and shown < _FEW else (step,):
            try:
                is_small = fits([*opened, *scopes])
            except render.NoLayoutProgram:
                is_small = True  # pictures say so themselves; their text is still there
            if is_small:
                opened += scopes
                break
            failures += 1
    return tuple(tree.paths[scope] for scope in opened)
