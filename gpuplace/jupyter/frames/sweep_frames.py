"""The rows of a sweep as a pandas DataFrame with typed columns.

``gpuplace.sweep``, one row per case; its index is the number of the case:

=============  ==================  =========================================================================
column         type                meaning
=============  ==================  =========================================================================
graph          category            path or name
machine        category            text or name
config         category            the ``ConfigProto`` as text, or its name; missing without one
release        category            the TensorFlow release
...                                the results, below
seconds        float64             run time of the case; missing if it killed its worker
error          category            class of the error; missing without one
message        string              message of the error
=============  ==================  =========================================================================

- ``what="place"``: ``nodes``, ``on_gpu`` (Int64), ``devices`` (dict: local device name to number of nodes),
  ``soft_placed`` (Int64: nodes whose request soft placement dropped), ``warnings`` (Int64: nodes whose request
  TensorFlow overrides with a warning, because their input has another device), ``errors`` (Int64: faults; ``nodes``
  then counts the placed nodes only).
- ``what="estimate"``: ``step_time`` (float64, seconds), ``batch`` (Int64), ``rate`` (float64, examples per second),
  ``peak`` (Int64, bytes on the GPU that uses the largest part of its memory), ``peak_memory`` (dict: device to bytes),
  ``fits`` (boolean), ``busy`` (float64, the fraction of the step in which its busiest GPU computes), ``copied``
  (float64, bytes), ``guessed`` (float64, the fraction of the time that is based on guesses).
- ``what="advise"``: ``before``, ``after``, ``bound`` (float64, seconds, or bytes for the objective ``"memory"``),
  ``moves`` (Int64, regions), ``fits`` (boolean), ``peak_memory`` (dict: device to bytes).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from gpuplace.jupyter.frames.columns import category
from gpuplace.jupyter.frames.table import Table
from gpuplace.sweeps.evaluation import CASE, COLUMNS, OUTCOME, Row

_TYPES = {int: "Int64", float: "float64", bool: "boolean", str: "string"}


def sweep_frame(rows: Sequence[Row], what: str) -> pd.DataFrame:
    """Return the table of a sweep; see the module for the columns.

    Args:
        rows: its rows, in order.
        what: the computation: ``"place"``, ``"estimate"`` or ``"advise"``.
    """
    columns: dict[str, Any] = {}
    for name in CASE:
        columns[name] = category([row[name] for row in rows])
    for name, kind in (*COLUMNS[what].items(), *OUTCOME.items()):
        values = [row[name] for row in rows]
        if name == "error":
            columns[name] = category(values)
        elif kind is dict:
            columns[name] = pd.Series(values, dtype=object).to_numpy()
        else:
            columns[name] = pd.array(values, dtype=_TYPES[kind])
    return Table(columns, index=pd.Index([row["case"] for row in rows], dtype="int64", name="case"))
