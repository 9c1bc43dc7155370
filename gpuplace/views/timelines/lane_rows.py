"""Rows of a timeline's text and still picture: one for each lane, and one for the nearly empty lanes of a device.

A step that starts many small ops at once fills many lanes for a moment. Such lanes share a row::

    GPU:0             ==###==>>===
    GPU:0 (2)         =...==......
    GPU:0 (3 more)    =...........     the lanes GPU:0 (3), GPU:0 (4) and GPU:0 (5)
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import NamedTuple

import numpy as np

from gpuplace.views.timelines.step_timeline import StepTimeline

_NUMBER = re.compile(r" \(\d+\)$")
"""The number at the end of a lane's label."""
_NEARLY_EMPTY = 0.02
"""Busy share of a lane below which it is nearly empty."""


class Row(NamedTuple):
    """A row of a drawn timeline."""

    device: str
    """Full device name."""
    label: str
    """``GPU:0 (2)``, or ``GPU:0 (3 more)`` for several lanes."""
    task: str
    """Task of the device."""
    lanes: tuple[int, ...]
    """The lanes that it shows."""


def nearly_empty(timeline: StepTimeline) -> np.ndarray:
    """Return [lanes] bool: whether almost nothing runs in a lane."""
    length = timeline.end_us - timeline.start_us
    busy = np.bincount(timeline.lane, length, len(timeline.lanes))
    return busy < _NEARLY_EMPTY * max(timeline.total_us, 1e-9)


def rows_of(timeline: StepTimeline) -> tuple[tuple[Row, ...], np.ndarray]:
    """Return the rows, and [lanes] the row of each lane.

    If a device has several nearly empty lanes besides its first lane, they share a row below its other lanes.
    """
    is_empty = nearly_empty(timeline).tolist()
    rows: list[Row] = []
    row_of = np.zeros(len(timeline.lanes), dtype=np.int64)
    for _, group in groupby(
        enumerate(timeline.lanes), lambda numbered: (numbered[1].device, _NUMBER.sub("", numbered[1].label))
    ):
        (first, lane), *others = group
        shared = [number for number, _ in others if is_empty[number]]
        if len(shared) < 2:
            shared = []
        alone = [first, *(number for number, _ in others if number not in shared)]
        for lanes in [[number] for number in alone] + [shared] * bool(shared):
            row_of[lanes] = len(rows)
            label = timeline.lanes[lanes[0]].label if len(lanes) == 1 else f"{lane.label} ({len(lanes)} more)"
            rows.append(Row(lane.device, label, lane.task, tuple(lanes)))
    return tuple(rows), row_of
