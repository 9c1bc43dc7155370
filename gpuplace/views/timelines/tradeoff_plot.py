"""Pictures of what the advisor compares: time against memory, and towers by their number, as SVG."""

from __future__ import annotations

import math
from typing import Any

from gpuplace.cost.sentences import seconds_text, size_text
from gpuplace.views.tables.palette import GPU_FILLS
from gpuplace.views.timelines.plots import Axis, Line, plot_svg

_MOST_NAMED = 4
_HEIGHT = 320
_WIDE = 8
"""Where the slowest takes so many times as long as the quickest, equal steps of the axis are equal ratios."""


def tradeoff_svg(tradeoff: Any, theme: str = "light", width: int = 720) -> str:
    """A line through the best placements, and a point for each other one.

    Args:
        tradeoff: the placements.
        theme: as of `gpuplace.views.timelines.plots.plot_svg`.
        width: in pixels.

    Raises:
        ValueError: an unknown theme.
    """
    level = tradeoff.limit if math.isfinite(tradeoff.limit) else None
    # The name stands at a line's end: by time, that is the slowest, whose memory is the least.
    known = [point for point in tradeoff.points if point.peak_memory is not None]
    best = sorted((point.step_time, point.peak_memory) for point in known if point.is_best)
    lines = [Line("the best", GPU_FILLS[0], best, level)]
    others = [point for point in known if not point.is_best]
    for number, point in enumerate(others[:_MOST_NAMED]):
        fill = GPU_FILLS[(number + 1) % len(GPU_FILLS)]
        lines.append(Line(point.name, fill, [(point.step_time, point.peak_memory)]))
    times = [point.step_time for point in tradeoff.points if point.step_time > 0]
    is_wide = len(times) > 1 and max(times) > _WIDE * min(times)
    return plot_svg(
        lines,
        Axis("time of a step", seconds_text, is_log=is_wide),
        Axis("memory of the fullest device", size_text, base=2),
        theme=theme,
        width=width,
        height=_HEIGHT,
        title=tradeoff.text,
    )


def tower_svg(choices: Any, theme: str = "light", width: int = 720) -> str:
    """How many times as fast as one tower: a line for each place of the variables.

    Args:
        choices: a `gpuplace.advisor.towers.TowerChoices`.
        theme: as of `gpuplace.views.timelines.plots.plot_svg`.
        width: in pixels.

    Raises:
        ValueError: an unknown theme.
    """
    lines = []
    for number, place in enumerate(dict.fromkeys(row.variables for row in choices.rows)):
        points = [(float(row.towers), row.speedup) for row in choices.rows if row.variables == place]
        lines.append(Line(place, GPU_FILLS[number % len(GPU_FILLS)], points))
    return plot_svg(
        lines,
        Axis("towers", lambda value: f"{value:g}", is_log=True),
        Axis("times as fast as one", lambda value: f"{value:g}"),
        theme=theme,
        width=width,
        height=_HEIGHT,
        title=choices.text,
    )
