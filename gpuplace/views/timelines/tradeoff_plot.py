"""Plots of the advisor's comparisons as SVG: time against memory, and speedup by the number of towers."""

from __future__ import annotations

import math
from typing import Any

from gpuplace.cost.sentences import seconds_text, size_text
from gpuplace.views.tables.palette import GPU_FILLS
from gpuplace.views.timelines.plots import Axis, Line, plot_svg

_MAX_NAMED = 4
_HEIGHT = 320
_WIDE = 8
"""Ratio of the longest to the shortest time above which the axis is logarithmic."""


def tradeoff_svg(tradeoff: Any, theme: str = "light", width: int = 720) -> str:
    """Plot the best placements as a line and all others as points.

    Args:
        tradeoff: compared placements.
        theme: as for `gpuplace.views.timelines.plots.plot_svg`.
        width: width in pixels.

    Raises:
        ValueError: the theme is unknown.
    """
    level = tradeoff.limit if math.isfinite(tradeoff.limit) else None
    # A label is at the end of its line: at the slowest placement, which needs the least memory.
    points = [point for point in tradeoff.points if point.peak_memory is not None]
    best = sorted((point.step_time, point.peak_memory) for point in points if point.is_best)
    lines = [Line("the best", GPU_FILLS[0], best, level)]
    others = [point for point in points if not point.is_best]
    for number, point in enumerate(others[:_MAX_NAMED]):
        fill = GPU_FILLS[(number + 1) % len(GPU_FILLS)]
        lines.append(Line(point.name, fill, [(point.step_time, point.peak_memory)]))
    times = [point.step_time for point in tradeoff.points if point.step_time > 0]
    is_wide = len(times) > 1 and max(times) > _WIDE * min(times)
    return plot_svg(
        lines,
        Axis("step time", seconds_text, is_log=is_wide),
        Axis("peak memory of the fullest device", size_text, base=2),
        theme=theme,
        width=width,
        height=_HEIGHT,
        title=tradeoff.text,
    )


def tower_svg(choices: Any, theme: str = "light", width: int = 720) -> str:
    """Plot the speedup over one tower, with a line per placement of the variables.

    Args:
        choices: a `gpuplace.advisor.towers.TowerChoices`.
        theme: as for `gpuplace.views.timelines.plots.plot_svg`.
        width: width in pixels.

    Raises:
        ValueError: the theme is unknown.
    """
    lines = []
    for number, place in enumerate(dict.fromkeys(row.variables for row in choices.rows)):
        points = [(float(row.towers), row.speedup) for row in choices.rows if row.variables == place]
        lines.append(Line(place, GPU_FILLS[number % len(GPU_FILLS)], points))
    return plot_svg(
        lines,
        Axis("towers", lambda value: f"{value:g}", is_log=True),
        Axis("speedup over one tower", lambda value: f"{value:g}"),
        theme=theme,
        width=width,
        height=_HEIGHT,
        title=choices.text,
    )
