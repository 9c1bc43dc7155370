"""Estimates as pandas DataFrames with typed columns; times are seconds, sizes bytes.

``estimate.frame()``, one row a node that runs, in the order of their begin:

=============  ==================  =========================================================================
column         type                meaning
=============  ==================  =========================================================================
name           string              name
op             category            op type
device         category            full name
start          float64             when it began first, since the step's begin
time           float64             what all its executions took: kernels; on a CPU with the executor's part
flops          float64             operations of all executions
bytes          float64             bytes read and written by all executions
model          category            the rule that found its work: ``product``, ``convolution``, ``guess``, ...
end            float64             when it was over last
host           float64             what a thread of the host took to start it
runs           float64             how often it ran
guessed        string              what had to be assumed; missing where nothing was
=============  ==================  =========================================================================

Further tables by name:

- ``"devices"``, a row a device: ``device``, ``hardware`` (category), ``nodes`` (int64), ``busy``, ``share`` (float64,
  of the step), ``copies_in``, ``copies_out`` (int64), ``bytes_in``, ``bytes_out``, ``flops`` (float64).
- ``"copies"``, a row for each tensor that a step copies to another device: ``tensor`` (string), ``source``, ``target``
  (category), ``start``, ``time``, ``wait`` and ``bytes`` (float64, of all its copies), ``way`` (category), ``runs``
  (float64: how often a step copies it), ``use`` (category: ``feed``, ``fetch``, or empty between nodes), ``removed``
  (bool: an optimizer removes it before the step runs).
- ``"memory"``, a row a device: ``device`` (category), ``limit`` (Int64, missing for host memory), ``peak``
  (Int64), ``variables`` (int64), ``at`` (string), ``fits`` (boolean), ``fragmentation`` (float64), ``constants``
  (Int64, in use at the peak); ``peak`` and what follows from it are missing where memory is not known.
- ``"findings"``, a row a finding, as of ``estimate.findings.frame()``: ``kind`` (category), ``headline`` (string),
  ``gain`` (float64, seconds that the fix saves; missing where that is not predicted), ``share`` (float64, of the step),
  ``short`` (int64, bytes of memory that are missing), ``nodes`` (int64), ``devices``, ``cause``, ``fix`` and ``code``
  (string).
- ``"ops"``, a row an op type and kind of device, the longest first: ``op``, ``device_type`` (category), ``nodes``
  (int64), ``time``, ``share``, ``flops``, ``bytes`` (float64), ``model`` (string).

``estimate.compare(run_metadata).frame()``, a row an op type: ``op``, ``device_type`` (category), ``nodes`` (int64),
``predicted``, ``measured``, ``off`` (float64); ``frame("nodes")``, a row a node: ``node`` (string), ``op``, ``device``
(category), ``predicted``, ``measured`` (float64).
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
    """A table of an estimate; see the module for the columns.

    Args:
        step: what `gpuplace.estimate` gave.
        table: ``"nodes"``, ``"devices"``, ``"copies"``, ``"memory"``, ``"ops"`` or ``"findings"``.

    Raises:
        ValueError: there is no such table.
    """
    rows = step.rows(table)
    return _frame(_RECORDS[table], rows, text_model=table == "ops")


def findings_frame(found: Findings) -> pd.DataFrame:
    """Findings, a row each; see the module for the columns.

    Args:
        found: of an estimate.
    """
    return _frame(FindingRow, found.table())


def comparison_frame(comparison: Any, table: str = "ops") -> pd.DataFrame:
    """A table of a comparison; see the module for the columns.

    Args:
        comparison: what ``estimate.compare(run_metadata)`` gave.
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
    raise ValueError(f"No table {table!r} of a comparison: choose one of ops, nodes, copies")


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
