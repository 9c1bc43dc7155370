"""Place labels beside their lines, where they cover the least.

Labels are not part of the layout, so a line can get or lose a label without moving boxes. Each label is placed
beside its line where it covers the least of the boxes, lines and earlier labels.

>>> line = sampled([(0, 0), (0, 10), (0, 20), (0, 30)])
>>> place_labels([0], [(20.0, 10.0)], [line], [], (100.0, 30.0))
[(4.0, 10.0, 24.0, 20.0)]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Rectangle = tuple[float, float, float, float]
"""Left, top, right, bottom."""

_ALONG = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8)
"""Positions along a line, best first."""
_ASIDE = 4.0
_FARTHEST = 24.0
"""Maximum additional distance from a slanting line, in points."""
_STEPS = 16
"""Samples of a cubic curve."""


def sampled(points: Sequence[tuple[float, float]]) -> np.ndarray:
    """Return [samples, 2] points along a chain of cubic curves, given by a start and three points for each curve."""
    control = np.array(points, dtype=float)
    t = np.linspace(0, 1, _STEPS + 1)[:, None]
    parts = [control[:1]]
    for first in range(0, len(control) - 3, 3):
        a, b, c, d = control[first : first + 4]
        curve = (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d
        parts.append(curve[1:])
    return np.concatenate(parts)


def place_labels(
    lines: Sequence[int],
    sizes: Sequence[tuple[float, float]],
    curves: Sequence[np.ndarray],
    boxes: Sequence[Rectangle],
    room: tuple[float, float],
) -> list[Rectangle]:
    """Return a rectangle for each label.

    Args:
        lines: position in `curves` of each label's line.
        sizes: width and height of each label.
        curves: all lines, sampled.
        boxes: rectangles that must not be covered.
        room: width and height of the picture; a wider label starts at its left edge.
    """
    taken = np.array(boxes, dtype=float).reshape(-1, 4)
    everything = np.concatenate(curves)
    owner = np.repeat(np.arange(len(curves)), [len(curve) for curve in curves])
    places: list[Rectangle] = []
    for line, (width, height) in zip(lines, sizes, strict=True):
        candidates = _candidates(curves[line], width, height, room)
        covered = _overlap(candidates, taken).sum(axis=1) * 1.0
        others = everything[owner != line]
        covered += 12.0 * _inside(candidates, others)
        covered += 12.0 * _inside(candidates, curves[line])
        covered += 0.01 * np.arange(len(candidates))
        best = candidates[int(np.argmin(covered))]
        taken = np.vstack((taken, best))
        left, top, right, bottom = (round(value, 2) for value in best.tolist())
        places.append((left, top, right, bottom))
    return places


def _candidates(curve: np.ndarray, width: float, height: float, room: tuple[float, float]) -> np.ndarray:
    """Return [places, 4] rectangles along a line: right, left, above and below."""
    apart = np.hypot(*np.diff(curve, axis=0).T)
    distance = np.concatenate(([0.0], np.cumsum(apart)))
    at = np.array(_ALONG) * distance[-1]
    x, y = np.interp(at, distance, curve[:, 0]), np.interp(at, distance, curve[:, 1])
    # A slanting line needs more distance, so that it stays clear of the label's corners.
    near = np.clip(at[:, None] + np.array([-6.0, 6.0]), 0, distance[-1])
    run = np.abs(np.diff(np.interp(near, distance, curve[:, 0]), axis=1))[:, 0]
    fall = np.abs(np.diff(np.interp(near, distance, curve[:, 1]), axis=1))[:, 0]
    aside = _ASIDE + np.minimum(run / np.maximum(fall, 0.1) * height / 2, _FARTHEST)
    above = _ASIDE + np.minimum(fall / np.maximum(run, 0.1) * width / 2, _FARTHEST)
    sides = (
        (x + aside, y - height / 2),
        (x - aside - width, y - height / 2),
        (x - width / 2, y - above - height),
        (x - width / 2, y + above),
    )
    corner = np.stack([np.stack(side, axis=1) for side in sides], axis=1).reshape(-1, 2)
    corner[:, 0] = np.clip(corner[:, 0], 0, max(0.0, room[0] - width))
    corner[:, 1] = np.clip(corner[:, 1], 0, max(0.0, room[1] - height))
    return np.concatenate((corner, corner + (width, height)), axis=1)


def _overlap(candidates: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """Return [candidates, taken] areas of overlap."""
    low = np.maximum(candidates[:, None, :2], taken[None, :, :2])
    high = np.minimum(candidates[:, None, 2:], taken[None, :, 2:])
    return np.prod(np.clip(high - low, 0, None), axis=2)


def _inside(candidates: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return [candidates] numbers of points inside."""
    x, y = points[:, 0], points[:, 1]
    return (
        (candidates[:, :1] < x)
        & (x < candidates[:, 2:3])
        & (candidates[:, 1:2] < y)
        & (y < candidates[:, 3:])
    ).sum(axis=1)
