"""Arrange what Graphviz does not lay out: the order of strips, the lines between them, and the shelves below.

A line to another strip leaves its box downwards, runs between two ranks to the gap beside the strip, along the gap, and
between two ranks again to the top of its target box. A line to a more distant strip crosses above the strips between.
None of these places contains boxes::

    a        c ┐
    │    ┌─> │ │
    b ───┘   d │
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpuplace.views.picture.layout import Frame, Layout, Route
from gpuplace.views.picture.sheet import Sheet
from gpuplace.views.picture.strips import Strips

_GAP = 20.0
"""Width of an empty gap between strips, in points."""
_LANE = 5.0
"""Distance between lines in a gap, in points."""
_MOST_LANES = 10
_CLEAR = 9.0
"""Distance of lines from boxes, in points."""
_ARROW = 6.0
_BEND = 7.0
"""Radius of a line's corners."""
_SHELF_GAP = 16.0

Point = tuple[float, float]


def arranged(layout: Layout, sheet: Sheet, wrapped: Strips) -> Layout:
    """Return the layout of the whole picture.

    Args:
        layout: positions of the boxes in each strip.
        sheet: sheet to draw.
        wrapped: strips of `layout`.
    """
    if wrapped.count > 1:
        layout = _Wrapped(layout, sheet, wrapped).layout()
    return _with_shelves(layout, sheet) if sheet.drawing.shelved else layout


class _Wrapped:
    """Strips from left to right, with the lines between them."""

    def __init__(self, layout: Layout, sheet: Sheet, wrapped: Strips) -> None:
        self.unwrapped, self.sheet = layout, sheet
        self.strip_of = wrapped.strip_of
        self.sizes = {face.box.id: (face.width, face.height) for face in sheet.faces}
        self.crossing = [
            (link.src, link.dst)
            for link in sheet.drawing.links
            if self.strip_of[link.src] != self.strip_of[link.dst]
        ]
        self.count = wrapped.count

    def layout(self) -> Layout:
        """Return the strips side by side, with their lines and the lines between strips."""
        layout = self.unwrapped
        gaps = self._gaps()
        over = 2 * _CLEAR if any(abs(self._apart(*pair)) > 1 for pair in self.crossing) else 0.0
        moves, left, self.lefts = [], 0.0, []
        for strip, (low, high) in enumerate(self._extents()):
            left += gaps[strip]
            self.lefts.append(left)
            moves.append((left - low, over))
            left += high - low
        self.lefts.append(left + gaps[-1])
        self.gaps = gaps
        boxes = {box: _moved(place, moves[self.strip_of[box]]) for box, place in layout.boxes.items()}
        clusters: dict[int, dict[int, Frame]] = {}
        for scope, frames in layout.clusters.items():
            clusters[scope] = {
                strip: (*_moved(frame[:2], moves[strip]), *_moved(frame[2:], moves[strip]))
                for strip, frame in frames.items()
            }
        routes = {}
        for (src, dst), route in layout.routes.items():
            move = moves[self.strip_of[src]]
            routes[src, dst] = Route(
                tuple(_moved(point, move) for point in route.points), _moved(route.tip, move)
            )
        self.rectangles: list[list[Frame]] = [[] for _ in range(self.count)]
        for box, (x, y) in boxes.items():
            width, height = self.sizes[box]
            self.rectangles[self.strip_of[box]].append(
                (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
            )
        used = [0] * (self.count + 1)
        for src, dst in self.crossing:
            routes[src, dst] = self._route(boxes[src], boxes[dst], src, dst, used)
        return Layout(self.lefts[-1], layout.height + over, boxes, clusters, routes)

    def _apart(self, src: str, dst: str) -> int:
        return self.strip_of[dst] - self.strip_of[src]

    def _extents(self) -> list[tuple[float, float]]:
        """Return left and right edges of each strip, including frames and lines."""
        layout, ends = self.unwrapped, [(float("inf"), float("-inf"))] * self.count

        def holds(strip: int, places: Iterable[float]) -> None:
            ends[strip] = (min(ends[strip][0], *places), max(ends[strip][1], *places))

        for box, (x, _) in layout.boxes.items():
            half = self.sizes[box][0] / 2
            holds(self.strip_of[box], (x - half, x + half))
        for frames in layout.clusters.values():
            for strip, (left, _, right, _) in frames.items():
                holds(strip, (left, right))
        for (src, _), route in layout.routes.items():
            holds(self.strip_of[src], [x for x, _ in route.points])
        return ends

    def _gaps(self) -> list[float]:
        """Return the gap widths: before the first strip, between strips, after the last."""
        lines = [0] * (self.count + 1)
        for src, dst in self.crossing:
            for gap in set(self._ways(src, dst)):
                lines[gap] += 1
        self.lines = lines
        return [
            (_GAP if 0 < gap < self.count else _CLEAR) + _LANE * min(number, _MOST_LANES)
            for gap, number in enumerate(lines)
        ]

    def _ways(self, src: str, dst: str) -> tuple[int, int]:
        """Return the gaps where a line leaves its strip and enters the other; gap i is before strip i."""
        source, target = self.strip_of[src], self.strip_of[dst]
        return (source + 1, target) if source < target else (source, target + 1)

    def _route(self, start: Point, end: Point, src: str, dst: str, used: list[int]) -> Route:
        out, into = self._ways(src, dst)
        lanes = []
        for gap in (out, into):
            number = min(self.lines[gap], _MOST_LANES)
            lanes.append(
                self.lefts[gap] - self.gaps[gap] / 2 + _LANE * (used[gap] % number - (number - 1) / 2)
            )
        for gap in {out, into}:
            used[gap] += 1
        tip = (end[0], end[1] - self.sizes[dst][1] / 2)
        foot = (start[0], start[1] + self.sizes[src][1] / 2)
        below = self._free(self.strip_of[src], foot, lanes[0], foot[1] + _CLEAR, down=True)
        above = self._free(self.strip_of[dst], tip, lanes[1], tip[1] - _ARROW - _CLEAR, down=False)
        corners = [foot, (foot[0], below), (lanes[0], below)]
        if out != into:
            over = _CLEAR * (0.5 + used[out] % 3 * 0.5)
            corners += [(lanes[0], over), (lanes[1], over)]
        corners += [(lanes[1], above), (tip[0], above), (tip[0], tip[1] - _ARROW)]
        return Route(_rounded(corners), tip)

    def _free(self, strip: int, place: Point, lane: float, y: float, *, down: bool) -> float:
        """Return a height at which a line from a box to a gap crosses no other box."""
        left, right = sorted((place[0], lane))
        for _ in range(len(self.rectangles[strip])):
            hit = next(
                (
                    box
                    for box in self.rectangles[strip]
                    if box[0] < right and left < box[2] and box[1] - 3 < y < box[3] + 3
                ),
                None,
            )
            if hit is None:
                break
            y = hit[3] + _CLEAR if down else hit[1] - _CLEAR
        return y


def _moved(place: tuple[float, ...], move: Point) -> Point:
    return place[0] + move[0], place[1] + move[1]


def _rounded(corners: list[Point]) -> tuple[Point, ...]:
    """Convert a line with corners to cubic curves with round corners."""
    corners = [point for i, point in enumerate(corners) if not i or point != corners[i - 1]]
    points = [corners[0]]

    def straight(to: Point) -> None:
        at = points[-1]
        points.extend(
            [
                (at[0] + (to[0] - at[0]) / 3, at[1] + (to[1] - at[1]) / 3),
                (at[0] + 2 * (to[0] - at[0]) / 3, at[1] + 2 * (to[1] - at[1]) / 3),
                to,
            ]
        )

    for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
        straight(_towards(corner, before))
        end = _towards(corner, after)
        points.extend([corner, corner, end])
    straight(corners[-1])
    return tuple(points)


def _towards(corner: Point, other: Point) -> Point:
    """Return the point where the rounding of a corner ends."""
    dx, dy = other[0] - corner[0], other[1] - corner[1]
    length = max(abs(dx), abs(dy)) or 1.0
    share = min(_BEND, length / 2) / length
    return corner[0] + dx * share, corner[1] + dy * share


def _with_shelves(layout: Layout, sheet: Sheet) -> Layout:
    """Add the shelves in rows below the layout."""
    faces = [face for face in sheet.faces if face.box.id in sheet.drawing.shelved]
    most = max(layout.width, sum(face.width + _SHELF_GAP for face in faces[:3]))
    boxes = dict(layout.boxes)
    x, y, height, width = 0.0, layout.height + _SHELF_GAP, 0.0, layout.width
    for face in faces:
        if x and x + face.width > most:
            x, y, height = 0.0, y + height + _SHELF_GAP, 0.0
        boxes[face.box.id] = (x + face.width / 2, y + face.height / 2)
        x += face.width + _SHELF_GAP
        height = max(height, face.height)
        width = max(width, x - _SHELF_GAP)
    return replace(layout, width=width, height=y + height, boxes=boxes)
