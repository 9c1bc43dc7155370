"""Estimates as pandas DataFrames with typed columns; times are in seconds, sizes in bytes.

``estimate.frame()``, one row per node that runs, by start time:

=============  ==================  =========================================================================
column         type                meaning
=============  ==================  =========================================================================
name           string              name
op             category            op type
device         category            full name
start          float64             start of the first execution, since the start of the step
time           float64             time of all executions: kernels; on a CPU including executor overhead
flops          float64             operations of all executions
bytes          float64             bytes read and written by all executions
model          category            the rule for its work: ``product``, ``convolution``, ``guess``, ...
end            float64             end of the last execution
host           float64             time that a host thread needs to launch it
runs           float64             number of executions
guessed        string              the assumptions made; missing if there are none
=============  ==================  =========================================================================

Further tables by name:

- ``"devices"``, a row per device: ``device``, ``hardware`` (category), ``nodes`` (int64), ``busy``, ``share`` (float64,
  of the step), ``copies_in``, ``copies_out`` (int64), ``bytes_in``, ``bytes_out``, ``flops`` (float64).
- ``"copies"``, a row per tensor that a step copies to another device: ``tensor`` (string), ``source``, ``target``
  (category), ``start``, ``time``, ``wait`` and ``bytes`` (float64, of all its copies), ``way`` (category), ``runs``
  (float64: copies per step), ``use`` (category: ``feed``, ``fetch``, or empty between nodes), ``removed``
  (bool: an optimizer removes it before the step runs).
- ``"memory"``, a row per device: ``device`` (category), ``limit`` (Int64, missing for host memory), ``peak``
  (Int64), ``variables`` (int64), ``at`` (string), ``fits`` (boolean), ``fragmentation`` (float64), ``constants``
  (Int64, in use at the peak); ``peak`` and the columns derived from it are missing if memory is unknown.
- ``"findings"``, a row per finding, as in ``estimate.findings.frame()``: ``kind`` (category), ``headline`` (string),
  ``gain`` (float64, seconds saved by the fix; missing if not predicted), ``share`` (float64, of the step), ``short``
  (int64, missing bytes of memory), ``nodes`` (int64), ``devices``, ``cause``, ``fix`` and ``code`` (string).
- ``"ops"``, a row per op type and device type, the longest first: ``op``, ``device_type`` (category), ``nodes``
  (int64), ``time``, ``share``, ``flops``, ``bytes`` (float64), ``model`` (string).

``estimate.compare(run_metadata).frame()``, a row per op type: ``op``, ``device_type`` (category), ``nodes`` (int64),
``predicted``, ``measured``, ``off`` (float64); ``frame("nodes")``, a row per node: ``node`` (string), ``op``,
``device`` (category), ``predicted``, ``measured`` (float64).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from gpuplace.cost.comparison import ComparedCopy, ComparedNode, ComparedOp
from gpuplace.cost.memory.step_memory import MemoryCost
from gpuplace.cost.step_tables import CopyCost, DeviceCost, NodeCost, OpCost
from gpuplace.findings.finding import FindingRow, Findings
from gpuplace.jupyter.frames.columns import category
from gpuplace.jupyter.frames.table import Table

_RECORDS: dict[str, Any] = {
    "nodes": NodeCost,
    "devices": DeviceCost,
    "copies": CopyCost,
    "memory": MemoryCost,
    "ops": OpCost,
    "findings": FindingRow,
}
_CATEGORIES = frozenset({"op", "device", "device_type", "hardware", "source", "target", "way", "use", "kind"})
_TEXTS = frozenset({"name", "node", "tensor", "guessed", "at", "headline", "devices", "cause", "fix", "code"})
_COUNTS = frozenset({"nodes", "copies_in", "copies_out", "variables", "short"})


def estimate_frame(step: Any, table: str = "nodes") -> pd.DataFrame:
    """Return a table of an estimate; see the module for the columns.

    Args:
        step: the result of `gpuplace.estimate`.
        table: ``"nodes"``, ``"devices"``, ``"copies"``, ``"memory"``, ``"ops"`` or ``"findings"``.

    Raises:
        ValueError: there is no such table.
    """
    rows = step.rows(table)  # refuses an unknown table
    return _frame(_RECORDS[table], rows, text_model=table == "ops")


def findings_frame(findings: Findings) -> pd.DataFrame:
    """Return one row per finding; see the module for the columns.

    Args:
        found: the findings of an estimate.
    """
    return _frame(FindingRow, findings.table())


def comparison_frame(comparison: Any, table: str = "ops") -> pd.DataFrame:
    """Return a table of a comparison; see the module for the columns.

    Args:
        comparison: the result of ``estimate.compare(run_metadata)``.
        table: ``"ops"``, ``"nodes"`` or ``"copies"``.

    Raises:
        ValueError: there is no such table.
    """
    if table == "ops":
        return _frame(ComparedOp, comparison.ops)
    if table == "nodes":
        return _frame(ComparedNode, comparison.nodes)
    if table == "copies":
        return _frame(ComparedCopy, comparison.copies)
    raise ValueError(f"A comparison has no table {table!r}: choose one of ops, nodes, copies")


def _frame(record: Any, rows: Sequence[Any], *, text_model: bool = False) -> pd.DataFrame:
    fields = record._fields
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(fields)
    return Table(
        {name: _column(name, values, text_model) for name, values in zip(fields, columns, strict=True)}
    )


def _column(name: str, values: Sequence[Any], text_model: bool) -> Any:
    if name in _CATEGORIES or (name == "model" and not text_model):
        return category(values)
    if name in _TEXTS or name == "model":
        return pd.array([value or None for value in values], dtype="string")
    if name in ("limit", "peak", "constants"):
        return pd.array([value or None if name == "limit" else value for value in values], dtype="Int64")
    if name == "fits":
        return pd.array(values, dtype="boolean")
    if name == "removed":
        return pd.array(values, dtype=bool)
    return pd.array(values, dtype="int64" if name in _COUNTS else "float64")
