"""Plain-text rendering of a timeline, for terminals and saved notebooks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuplace.display import safe_text
from gpuplace.views.tables.palette import device_label
from gpuplace.views.tables.scale import time_text
from gpuplace.views.tables.size_text import bytes_text
from gpuplace.views.tables.text import shortened, table_text
from gpuplace.views.timelines.lane_rows import rows_of
from gpuplace.views.timelines.step_timeline import Gap, StepTimeline

_CELLS = 60
_MAX_ROWS_OF_LANES = 24
_MAX_ROWS = 8
_MAX_GAPS = 3
USE_COLUMNS = ("device", "ops", "busy", "share of step", "copies in", "bytes in", "longest gap")
COPY_COLUMNS = ("tensor", "from", "to", "bytes", "start", "duration")


def timeline_text(timeline: StepTimeline) -> str:
    """Render a timeline: summary, bars of lanes, device use, copies, critical path, longest gaps and hints.

    A cell of a bar is ``#`` for an op on the critical path, ``=`` for another op, ``>`` for a copy, and ``.`` if the
    lane is idle. Nearly empty lanes of a device share a bar.
    """
    parts = [timeline.text]
    rows, _ = rows_of(timeline)
    shown = rows[:_MAX_ROWS_OF_LANES]
    width = max((len(row.label) for row in shown), default=0)
    parts += [f"{row.label:<{width}}  {_bar(timeline, row.lanes)}" for row in shown]
    if len(rows) > len(shown):
        parts.append(f"and {sum(len(row.lanes) for row in rows[len(shown) :]):,} more lanes")
    parts.append(table_text(USE_COLUMNS, use_rows(timeline)))
    if timeline.copies:
        parts.append(table_text(COPY_COLUMNS, copy_rows(timeline), limit=_MAX_ROWS))
    names = [timeline.names[event] for event in timeline.path if not timeline.is_transfer[event]]
    parts.append(f"{timeline.path_text}: {shortened(' > '.join(names), 160)}")
    parts += [
        f"gap: {f'{gap.node}: ' if gap.node else ''}{gap_text(gap)}" for gap in timeline.gaps[:_MAX_GAPS]
    ]
    parts += [f"hint: {hint.text}" for hint in timeline.hints]
    return safe_text("\n".join(parts))


def gap_text(gap: Gap) -> str:
    """Describe a gap; the name of the node that ended it comes before this text.

    >>> gap_text(Gap("/device:GPU:0", 0.0, 250.0, "b", "a on CPU:0"))
    'GPU:0 was idle for 250 µs before it; last input: a on CPU:0'
    """
    text = f"{device_label(gap.device)} was idle for {time_text(gap.end_us - gap.start_us)}"
    if not gap.node:
        return f"{text} until the end"
    return f"{text} before it" + (f"; last input: {gap.waits_for}" if gap.waits_for else "")


def use_rows(timeline: StepTimeline) -> list[tuple[str, ...]]:
    """Return one row per device with the columns `USE_COLUMNS`."""
    return [
        (
            device_label(use.device),
            f"{use.nodes:,}",
            time_text(use.busy_us),
            f"{use.share:.1%}",
            f"{use.copies_in:,}",
            bytes_text(use.bytes_in),
            time_text(use.longest_gap_us),
        )
        for use in timeline.uses
    ]


def copy_rows(timeline: StepTimeline) -> list[tuple[str, ...]]:
    """Return one row per copy with the columns `COPY_COLUMNS`, the longest first."""
    return [
        (
            copy.tensor,
            device_label(copy.source),
            device_label(copy.target),
            bytes_text(copy.nbytes),
            time_text(copy.start_us),
            time_text(copy.end_us - copy.start_us),
        )
        for copy in sorted(timeline.copies, key=lambda copy: copy.start_us - copy.end_us)
    ]


def _bar(timeline: StepTimeline, lanes: Sequence[int]) -> str:
    chosen = np.flatnonzero(np.isin(timeline.lane, lanes))
    cells = np.zeros(_CELLS, dtype=np.int64)
    rank = np.where(timeline.is_on_path & ~timeline.is_transfer, 3, np.where(timeline.is_transfer, 1, 2))
    total = timeline.total_us or 1.0
    for event in chosen.tolist():
        first = min(_CELLS - 1, int(timeline.start_us[event] / total * _CELLS))
        last = min(_CELLS - 1, int(timeline.end_us[event] / total * _CELLS))
        cells[first : last + 1] = np.maximum(cells[first : last + 1], rank[event])
    return "".join(".>=#"[cell] for cell in cells.tolist())


def share_text(share: float) -> str:
    """Format a share of a step in whole percent.

    >>> share_text(0.002), share_text(0.5), share_text(0.0)
    ('<1%', '50%', '0%')
    """
    return "<1%" if 0 < share < 0.01 else f"{share:.0%}"
