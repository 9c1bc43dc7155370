"""Data of the timeline script in notebooks and report pages: columns as bytes, everything else as lists.

The columns of all events follow each other (``timeline_view.js`` reads them in this order)::

    begin, end, bytes    float64
    name, op, lane       uint32, numbers into the lists of `Page.step`
    last, copy           int32: the last event that it waited for, and the copy in between; -1: none
    fill, per colouring  uint16, indices of looks
    flags                uint8: 1 on the critical path, 2 sends or receives
"""

from __future__ import annotations

import base64
from typing import Any, NamedTuple

import numpy as np

from gpuplace.views.tables import html
from gpuplace.views.tables.palette import (
    INK,
    Look,
    category_look,
    chip_look,
    device_label,
    device_style,
    scale_look,
)
from gpuplace.views.tables.scale import time_scale
from gpuplace.views.tables.text import counted, printable, shortened
from gpuplace.views.timelines.lane_rows import nearly_empty
from gpuplace.views.timelines.step_timeline import MOVING_OPS, StepTimeline
from gpuplace.views.timelines.text import (
    COPY_COLUMNS,
    USE_COLUMNS,
    copy_rows,
    gap_text,
    share_text,
    timeline_text,
    use_rows,
)

COLOURS = ("device", "op type", "time")
"""Available colourings of the boxes."""
_MAX_TYPES = 14
_MAX_NOTES = 6
_MAX_COPIES = 200
_ON_PATH, _TRANSFER = 1, 2


class Page(NamedTuple):
    """Data for the page's script."""

    columns: bytes
    """Columns of the events; see the module."""
    step: dict[str, Any]
    """Names, lanes, copies, path, colourings and texts; JSON-serializable."""

    def as_json(self) -> dict[str, Any]:
        """Return both fields in the form used in a page file."""
        return {"step": self.step, "columns": base64.b64encode(self.columns).decode()}


def lane_order(timeline: StepTimeline) -> list[int]:
    """Return the lanes from top to bottom; in each task, GPUs come before CPUs.

    Args:
        timeline: measured step.
    """
    tasks = list(dict.fromkeys(lane.task for lane in timeline.lanes))

    def key(number: int) -> tuple[int, bool, int]:
        lane = timeline.lanes[number]
        return tasks.index(lane.task), "/device:GPU:" not in lane.device, number

    return sorted(range(len(timeline.lanes)), key=key)


def thin_lanes(timeline: StepTimeline) -> np.ndarray:
    """Return which lanes are drawn thin: lanes of copies and additional CPU lanes that are nearly empty.

    Args:
        timeline: measured step.
    """
    lanes = timeline.lanes
    if not lanes:
        return np.zeros(0, dtype=bool)
    empty = nearly_empty(timeline)
    firsts = {lane.device: number for number, lane in reversed(list(enumerate(lanes)))}
    return np.array(
        [
            lane.kind == "copies"
            or bool(empty[number])
            and "/device:GPU:" not in lane.device
            and firsts[lane.device] != number
            for number, lane in enumerate(lanes)
        ]
    )


def timeline_page(timeline: StepTimeline | None) -> Page:
    """Return the data of a step, or an empty page with a message for None."""
    if timeline is None:
        nothing = (
            "No step has been measured: run a step with trace_level FULL_TRACE and set explorer.run_metadata"
        )
        empty = {"count": 0, "total": 0, "text": nothing, "path_text": ""}
        return Page(
            b"",
            empty
            | {name: [] for name in ("names", "ops", "lanes", "copies", "path", "hints", "gaps", "colours")},
        )
    order = lane_order(timeline)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    names, name = _numbered(timeline.names)
    ops, op = _numbered(timeline.ops)
    colours = [_coloured(timeline, colour, ops, op) for colour in COLOURS]
    flags = np.where(timeline.is_on_path, _ON_PATH, 0) | np.where(timeline.is_transfer, _TRANSFER, 0)
    columns = [
        *(column.astype("<f8") for column in (timeline.start_us, timeline.end_us, timeline.nbytes)),
        *(
            column.astype("<u4")
            for column in (name, op, place[timeline.lane] if len(timeline) else timeline.lane)
        ),
        *(column.astype("<i4") for column in (timeline.last_input, timeline.last_copy)),
        *(fill.astype("<u2") for fill, _, _ in colours),
        flags.astype("u1"),
    ]
    thin = thin_lanes(timeline)
    shares = {use.device: use.share for use in timeline.uses}
    return Page(
        b"".join(column.tobytes() for column in columns),
        {
            "count": len(timeline),
            "total": timeline.total_us,
            "text": timeline.text,
            "path_text": timeline.path_text,
            "names": list(map(printable, names)),
            "ops": list(map(printable, ops)),
            "lanes": [
                chip_look(
                    lane.device,
                    label=printable(lane.label),
                    owner=printable(device_label(lane.device)),
                    task=printable(lane.task),
                    share=f"{share_text(shares[lane.device])} busy",
                    thin=bool(thin[number]),
                )
                for number, lane in ((number, timeline.lanes[number]) for number in order)
            ],
            "copies": [
                [
                    copy.sent,
                    copy.received,
                    copy.start_us,
                    copy.end_us,
                    -1 if copy.nbytes is None else copy.nbytes,
                    printable(copy.tensor),
                    printable(device_label(copy.source)),
                ]
                for copy in timeline.copies
            ],
            "path": list(timeline.path),
            "hints": [[printable(hint.node), printable(hint.text)] for hint in timeline.hints],
            "gaps": [[printable(gap.node), printable(gap_text(gap))] for gap in timeline.gaps[:_MAX_NOTES]],
            "colours": [
                {"name": name, "fills": [[look.fill, look.ink] for look in looks], "legend": legend}
                for name, (_, looks, legend) in zip(COLOURS, colours, strict=True)
            ],
        },
    )


def timeline_tables(timeline: StepTimeline) -> str:
    """Return device use and copies as HTML and, without scripts, everything else as text."""
    parts = [html.table(USE_COLUMNS, use_rows(timeline))]
    if timeline.copies:
        title = html.escape(f"{counted(len(timeline.copies), 'copy', 'copies')}, longest first")
        copies = html.table(COPY_COLUMNS, copy_rows(timeline), limit=_MAX_COPIES)
        parts.append(f"<details><summary>{title}</summary>{copies}</details>")
    lines = html.escape_lines(timeline_text(timeline))
    return f"{''.join(parts)}<noscript><pre>{lines}</pre></noscript>"


def _numbered(values: Any) -> tuple[list[str], np.ndarray]:
    """Return the distinct texts and the index of each event's text, [events]."""
    place = {text: number for number, text in enumerate(dict.fromkeys(values))}
    return list(place), np.array([place[text] for text in values], dtype=np.int64)


def _coloured(
    timeline: StepTimeline, colour: str, ops: list[str], op: np.ndarray
) -> tuple[np.ndarray, list[Look], list[dict[str, Any]]]:
    """Return the look index of each event, [events], the looks, and legend chips."""
    if colour == "device":
        devices = list(timeline.devices)
        place = np.array([devices.index(lane.device) for lane in timeline.lanes], dtype=np.int64)
        styles = [device_style(device) for device in devices]
        looks = [Look(style.fill, style.corners, style.outlines, "", INK) for style in styles]
        legend = [chip_look(device, text=printable(device_label(device))) for device in devices]
        return place[timeline.lane], looks, legend
    if colour == "op type":
        counts = np.bincount(op, minlength=len(ops))
        shown = [number for number, name in enumerate(ops) if name not in MOVING_OPS]  # those are hatched
        order = sorted(shown, key=lambda number: (-counts[number], ops[number]))
        kept = min(len(order), _MAX_TYPES)
        place = np.full(len(ops), kept, dtype=np.int64)
        place[order[:kept]] = np.arange(kept)
        looks = [category_look(number) for number in (*range(kept), 99)]
        labels = [printable(shortened(ops[number], 24)) for number in order[:kept]]
        labels += [f"other ({len(order) - kept} types)"] if len(order) > kept else []
        return place[op], looks, [look.chip(text=label) for look, label in zip(looks, labels, strict=False)]
    lasted = timeline.end_us - timeline.start_us
    scale = time_scale(lasted)
    steps = max(len(scale.bounds) - 1, 1)
    number = np.clip(np.searchsorted(scale.bounds, lasted, side="right") - 1, 0, steps - 1)
    looks = [scale_look(round(step * 5 / max(1, steps - 1)) if steps > 1 else 2) for step in range(steps)]
    labels = [scale.step_text(step) for step in range(len(scale.bounds) - 1)]
    return number, looks, [look.chip(text=label) for look, label in zip(looks, labels, strict=False)]
