"""Timelines as pandas DataFrames with typed columns; times are in microseconds since the start of the step.

``timeline.frame()``, one row per event, by start time:

=============  ==================  =========================================================================
column         type                meaning
=============  ==================  =========================================================================
node           string              name; for a copy, that of its ``_Send`` or ``_Recv``
op             category            op type
device         category            full name
lane           category, ordered   ``GPU:0``, ``GPU:0 stream 13``, ``CPU:0 (2)``, as in the picture
thread         Int64               the thread that ran it; missing if unknown
start, end     float64             start and end
duration       float64             end - start
bytes          Int64               size of the outputs; missing if unknown
transfer       bool                whether it sends, receives or copies
critical       bool                whether it is on the critical path
=============  ==================  =========================================================================

Further tables by name:

- ``"copies"``, a row per copy between devices: ``tensor`` (string), ``source``, ``target`` (category, full
  names), ``start``, ``end``, ``duration`` (float64), ``bytes`` (Int64).
- ``"devices"``, indexed by full name: ``nodes`` (int64), ``busy``, ``share`` (float64, 0 to 1), ``copies_in``,
  ``bytes_in`` (int64), ``longest_gap`` (float64).
- ``"gaps"``, the longest idle times of devices: ``device`` (category), ``start``, ``end``, ``duration`` (float64),
  ``node`` (string, the next node), ``waits_for`` (string, its last input).
- ``"path"``, the critical path in order: the columns of the events, and ``weight`` (float64, the time that each adds).
- ``"hints"``, a row per change that was tried: ``node`` (string), ``op`` (category), ``before``, ``after`` (category,
  full names), ``waits`` (string), ``wait`` (float64), ``tensor`` (string), ``bytes`` (Int64), ``copies_before``,
  ``copies_after``, ``bytes_before``, ``bytes_after`` (int64), ``text`` (string).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from gpuplace.jupyter.frames.columns import category
from gpuplace.jupyter.frames.table import Table
from gpuplace.views.timelines.step_timeline import StepTimeline


def _text(values: Iterable[str | None]) -> pd.api.extensions.ExtensionArray:
    return pd.array([value or None for value in values], dtype="string")


def _numbers(values: Iterable[int | None]) -> pd.api.extensions.ExtensionArray:
    return pd.array(list(values), dtype="Int64")


def _events(timeline: StepTimeline) -> pd.DataFrame:
    devices = [lane.device for lane in timeline.lanes]
    of_device = category(devices)
    labels = {
        label: number for number, label in enumerate(dict.fromkeys(lane.label for lane in timeline.lanes))
    }
    label_of = np.array([labels[lane.label] for lane in timeline.lanes], dtype=np.int64)
    thread, nbytes = timeline.thread, timeline.nbytes
    return Table(
        {
            "node": pd.array(list(timeline.names), dtype="string"),
            "op": category(timeline.ops),
            "device": pd.Categorical.from_codes(
                np.asarray(of_device.codes)[timeline.lane], categories=of_device.categories
            ),
            "lane": pd.Categorical.from_codes(
                label_of[timeline.lane],
                categories=pd.Index(list(labels), dtype="str"),
                ordered=True,
            ),
            "thread": pd.arrays.IntegerArray(thread.copy(), thread == 0),
            "start": timeline.start_us,
            "end": timeline.end_us,
            "duration": timeline.end_us - timeline.start_us,
            "bytes": pd.arrays.IntegerArray(nbytes.copy(), nbytes < 0),
            "transfer": timeline.is_transfer,
            "critical": timeline.is_on_path,
        }
    )


def _copies(timeline: StepTimeline) -> pd.DataFrame:
    rows = timeline.copies
    start, end = (
        np.array([getattr(row, name) for row in rows], dtype=float) for name in ("start_us", "end_us")
    )
    return Table(
        {
            "tensor": _text(row.tensor for row in rows),
            "source": category(row.source for row in rows),
            "target": category(row.target for row in rows),
            "start": start,
            "end": end,
            "duration": end - start,
            "bytes": _numbers(row.nbytes for row in rows),
        }
    )


def _devices(timeline: StepTimeline) -> pd.DataFrame:
    rows = timeline.uses
    return Table(
        {
            "nodes": pd.array([row.nodes for row in rows], dtype="int64"),
            "busy": np.array([row.busy_us for row in rows], dtype=float),
            "share": np.array([row.share for row in rows], dtype=float),
            "copies_in": pd.array([row.copies_in for row in rows], dtype="int64"),
            "bytes_in": pd.array([row.bytes_in for row in rows], dtype="int64"),
            "longest_gap": np.array([row.longest_gap_us for row in rows], dtype=float),
        },
        index=pd.Index([row.device for row in rows], name="device", dtype="str"),
    )


def _gaps(timeline: StepTimeline) -> pd.DataFrame:
    rows = timeline.gaps
    start, end = (
        np.array([getattr(row, name) for row in rows], dtype=float) for name in ("start_us", "end_us")
    )
    return Table(
        {
            "device": category(row.device for row in rows),
            "start": start,
            "end": end,
            "duration": end - start,
            "node": _text(row.node for row in rows),
            "waits_for": _text(row.waits_for for row in rows),
        }
    )


def _path(timeline: StepTimeline) -> pd.DataFrame:
    chosen = list(timeline.path)
    weight = timeline.path_weights[chosen]
    return _events(timeline).iloc[chosen].assign(weight=weight).reset_index(drop=True)


def _hints(timeline: StepTimeline) -> pd.DataFrame:
    rows = timeline.hints
    counts = {
        "copies_before": [row.was.copies for row in rows],
        "copies_after": [row.now.copies for row in rows],
        "bytes_before": [row.was.nbytes for row in rows],
        "bytes_after": [row.now.nbytes for row in rows],
    }
    return Table(
        {
            "node": _text(row.node for row in rows),
            "op": category(row.op for row in rows),
            "before": category(row.before for row in rows),
            "after": category(row.after for row in rows),
            "waits": _text(row.waits for row in rows),
            "wait": np.array([row.wait_us for row in rows], dtype=float),
            "tensor": _text(row.copy.tensor for row in rows),
            "bytes": _numbers(row.copy.nbytes for row in rows),
            **{name: pd.array(values, dtype="int64") for name, values in counts.items()},
            "text": _text(row.text for row in rows),
        }
    )


TABLES: dict[str, Callable[[StepTimeline], pd.DataFrame]] = {
    "events": _events,
    "copies": _copies,
    "devices": _devices,
    "gaps": _gaps,
    "path": _path,
    "hints": _hints,
}
"""Table name -> function."""


def timeline_frame(timeline: StepTimeline, table: str = "events") -> pd.DataFrame:
    """Return a table of a timeline by its name; see the module for names and columns.

    Raises:
        ValueError: there is no such table.
    """
    if table not in TABLES:
        raise ValueError(f"A timeline has no table {table!r}: choose one of {', '.join(TABLES)}")
    return TABLES[table](timeline)
