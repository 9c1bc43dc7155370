"""Logs as DataFrames.

`logged_frame(log, "nodes")`, indexed by node name, one row per line about a node; its two copies count once:

=============  ==================  =========================================================================
column         type                meaning
=============  ==================  =========================================================================
type           category            op type; missing if the release does not print it
assigned       category            full name of the device, as printed
device         category, ordered   short name, ``GPU:2``
scope          category            name scope
session        int64               number of the session, from 0
line           int64               line of the log, from 1
=============  ==================  =========================================================================

- ``"devices"``, one row per row of the device mapping, indexed by device: ``description`` (string), ``gpu`` (Int64, the
  GPU's number), ``name`` (category), ``pci_bus_id``, ``compute_capability`` (string), ``session``, ``line``, ``nodes``
  (int64, number of nodes placed on it in the session).
- ``"gpus"``, one row per line about a GPU: ``told`` (category: found, created, ignored), ``device``, ``gpu``, ``name``,
  ``pci_bus_id``, ``compute_capability``, ``memory_mb`` (Int64, MiB), ``detail`` (string), ``line``.
- ``"events"``, one row per op that ran eagerly, in order: ``op``, ``assigned``, ``device`` (category),
  ``session``, ``line``.
- ``"ops"``, one row per device and op type, or function that ran eagerly: ``op``, ``assigned``, ``device``
  (category), ``nodes``, ``eager`` (int64), ``reason`` (category, whether it has GPU kernels).
- ``"sessions"``, one row per session: ``nodes``, ``events``, ``first_line`` (int64), and the number of nodes in a
  column per device.
- ``"overridden"``, one row per request that TensorFlow reports as overridden, indexed by node: ``requested``,
  ``assigned`` (category, as printed), ``reason`` (category: reference, colocation), ``nodes`` (int64, number of
  affected nodes), ``line``.
- ``"unparsed"``, one row per piece of text that was not understood: ``line``, ``column`` (int64), ``text`` (string).
- ``"notes"``, one row per note of the parser: ``line`` (int64), ``kind`` (category: undone, cut, ambiguous,
  overridden, colocation, ignored), ``text`` (string).

``frame.attrs["notes"]`` holds the notes as sentences, for every table.

`log_diff_frame`, one row per node that differs, indexed by its name: ``type``, ``logged``, ``other``, ``rule``
(category).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pandas as pd

from gpuplace.jupyter.frames.columns import category, device_category, record_columns, scope_category
from gpuplace.jupyter.frames.table import Table
from gpuplace.views.logs.log_diff import LogDiff, LogMove
from gpuplace.views.logs.logged_placement import LoggedPlacement, Unparsed
from gpuplace.views.logs.op_rows import op_rows
from gpuplace.views.logs.run_comparison import RunComparison, RunDifference
from gpuplace.views.logs.statements import LogNote
from gpuplace.views.tables.palette import device_label


def logged_frame(log: LoggedPlacement, table: str = "nodes") -> pd.DataFrame:
    """Return a table of a log; see the module for the columns.

    Args:
        log: the result of `gpuplace.parse_log`.
        table: ``"nodes"``, ``"devices"``, ``"gpus"``, ``"events"``, ``"ops"``, ``"sessions"``, ``"overridden"``,
            ``"unparsed"`` or ``"notes"``.

    Raises:
        ValueError: there is no such table.
    """
    if table not in _TABLES:
        raise ValueError(f"A log has no table {table!r}: choose one of {', '.join(_TABLES)}")
    frame = _TABLES[table](log)
    frame.attrs["notes"] = [f"line {note.line}, {note.kind}: {note.text}" for note in log.notes]
    return frame


def _nodes(log: LoggedPlacement) -> pd.DataFrame:
    names, types, devices, sessions, lines = _columns(log.rows, 5)
    # A later session may have moved all nodes of a device.
    all_devices = dict.fromkeys([*log.placement_view.devices, *devices])
    return Table(
        {
            "type": category(types),
            "assigned": category(devices),
            "device": device_category(devices, list(all_devices)),
            "scope": scope_category(names),
            "session": pd.array(sessions, dtype="int64"),
            "line": pd.array(lines, dtype="int64"),
        },
        index=pd.Index(names, name="node", dtype="str"),
    )


def _devices(log: LoggedPlacement) -> pd.DataFrame:
    counts = Counter((row.session, row.device) for row in log.rows)
    device, description, gpu, name, bus, capability, session, line = _columns(log.devices, 8)
    return Table(
        {
            "description": pd.array(description, dtype="string"),
            "gpu": pd.array(gpu, dtype="Int64"),
            "name": category(name),
            "pci_bus_id": _text(bus),
            "compute_capability": _text(capability),
            "session": pd.array(session, dtype="int64"),
            "line": pd.array(line, dtype="int64"),
            "nodes": pd.array([counts[row.session, row.device] for row in log.devices], dtype="int64"),
        },
        index=pd.Index(device, name="device", dtype="str"),
    )


def _gpus(log: LoggedPlacement) -> pd.DataFrame:
    statement, device, gpu, name, bus, capability, memory, detail, line = _columns(log.gpus, 9)
    return Table(
        {
            "told": category(statement),
            "device": category(device),
            "gpu": pd.array(gpu, dtype="Int64"),
            "name": category(name),
            "pci_bus_id": _text(bus),
            "compute_capability": _text(capability),
            "memory_mb": pd.array(memory, dtype="Int64"),
            "detail": _text(detail),
            "line": pd.array(line, dtype="int64"),
        }
    )


def _events(log: LoggedPlacement) -> pd.DataFrame:
    op, device, session, line = _columns(log.events, 4)
    return Table(
        {
            "op": category(op),
            "assigned": category(device),
            "device": device_category(device, sorted(set(device))),
            "session": pd.array(session, dtype="int64"),
            "line": pd.array(line, dtype="int64"),
        }
    )


def _ops(log: LoggedPlacement) -> pd.DataFrame:
    device, op, nodes, eager, reason = _columns(op_rows(log), 5)
    return Table(
        {
            "op": category(op),
            "assigned": category(device),
            "device": device_category(device, list(dict.fromkeys(device))),
            "nodes": pd.array(nodes, dtype="int64"),
            "eager": pd.array(eager, dtype="int64"),
            "reason": category(reason),
        }
    )


def _sessions(log: LoggedPlacement) -> pd.DataFrame:
    parts = log.sessions
    labels = list(dict.fromkeys(map(device_label, log.placement_view.devices)))
    counts = [part.counts() for part in parts]
    lines: list[list[Any]] = [
        [record[-1] for record in (*part.devices, *part.rows, *part.events)] for part in parts
    ]
    first = [min(numbers, default=0) for numbers in lines]
    columns = {
        "nodes": [len(part) for part in parts],
        "events": [len(part.events) for part in parts],
        "first_line": first,
        **{label: [count.get(label, 0) for count in counts] for label in labels},
    }
    return Table(columns, index=pd.Index(log.numbers, name="session"), dtype="int64")


def _unparsed(log: LoggedPlacement) -> pd.DataFrame:
    return Table(record_columns(Unparsed, log.unparsed, texts=("text",)))


def _overridden(log: LoggedPlacement) -> pd.DataFrame:
    nodes, requested, devices, reasons, counts, lines = _columns(log.overridden, 6)
    return Table(
        {
            "requested": category(requested),
            "assigned": category(devices),
            "reason": category(reasons),
            "nodes": pd.array(counts, dtype="int64"),
            "line": pd.array(lines, dtype="int64"),
        },
        index=pd.Index(nodes, name="node", dtype="str"),
    )


def _notes(log: LoggedPlacement) -> pd.DataFrame:
    return Table(record_columns(LogNote, log.notes, texts=("text",)))


_TABLES: dict[str, Callable[[LoggedPlacement], pd.DataFrame]] = {
    "nodes": _nodes,
    "devices": _devices,
    "gpus": _gpus,
    "events": _events,
    "ops": _ops,
    "sessions": _sessions,
    "unparsed": _unparsed,
    "overridden": _overridden,
    "notes": _notes,
}


def log_diff_frame(diff: LogDiff) -> pd.DataFrame:
    """Return one row per node whose device differs from the log; see the module for the columns.

    Args:
        diff: the result of ``log.diff(other)`` or ``log.compare(graph)``.
    """
    return _by_node(LogMove, diff.moves)


def run_comparison_frame(comparison: RunComparison) -> pd.DataFrame:
    """Return one row per node that ran on another device: ``type``, ``predicted``, ``ran``, ``reason`` (category).

    Args:
        comparison: the result of `gpuplace.compare`.
    """
    return _by_node(RunDifference, comparison.differences)


def _by_node(record: Any, rows: Sequence[Any]) -> pd.DataFrame:
    """Return records of nodes, indexed by the node's name."""
    columns = record_columns(record, rows)
    del columns["node"]
    return Table(columns, index=pd.Index([row.node for row in rows], name="node", dtype="str"))


def _columns(records: Sequence[Iterable[Any]], width: int) -> tuple[tuple[Any, ...], ...]:
    return tuple(zip(*records, strict=True)) if records else ((),) * width


def _text(values: Iterable[str]) -> Any:
    return pd.array([value or None for value in values], dtype="string")
