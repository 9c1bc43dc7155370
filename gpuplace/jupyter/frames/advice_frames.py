"""Recommendations as pandas DataFrames with typed columns; times are in seconds.

``advice.frame()``, one row per node of the graph:

=============  ==================  =========================================================================
column         type                meaning
=============  ==================  =========================================================================
node           string              name
op             category            op type
before         category            full name of the current device; missing if it cannot be placed
after          category            full name of the recommended device
moves          bool                whether the two differ
seconds        float64             kernel time in the recommended step; 0 for a node that does not run
=============  ==================  =========================================================================

Further tables by name:

- ``"moves"``, a row per region (or group of regions) that moves, the largest saving first: ``scope``
  (string), ``source``, ``target`` (category), ``nodes`` (int64), ``saves`` (float64, seconds, or bytes for the
  objective ``"memory"``), ``why`` (string).
- ``"devices"``, a row per device: ``device`` (category), ``nodes_before``, ``nodes_after`` (int64), ``busy_before``,
  ``busy_after`` (float64, seconds), ``peak_before``, ``peak_after`` (float64, bytes), ``limit`` (int64, bytes; 0 for
  host memory).

``advice.tradeoff().frame()``, a row per placement: ``name`` (string), ``step_time`` (float64, seconds), ``peak_memory``
(float64, bytes on the fullest device; missing if unknown), ``fits`` (boolean, missing if unknown), ``is_best`` (bool).

``tower_choices(...).frame()``, a row per number of towers and device of their variables: ``towers`` (int64),
``variables`` (category), ``step_time`` (float64, seconds), ``speedup`` (float64), ``rate`` (float64, examples per
second), ``peak_memory`` (float64, bytes on the fullest device; missing if unknown), ``fits`` (boolean, missing if
unknown).
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from gpuplace.advisor.steps.advice import AdvisedDevice, AdvisedNode
from gpuplace.advisor.towers import TowerRow
from gpuplace.jupyter.frames.columns import category, record_columns
from gpuplace.jupyter.frames.table import Table


def advice_frame(advice: Any, table: str = "nodes") -> pd.DataFrame:
    """Return a table of a recommendation; see the module for the columns.

    Args:
        advice: the result of `gpuplace.advise`.
        table: ``"nodes"``, ``"moves"`` or ``"devices"``.

    Raises:
        ValueError: there is no such table.
    """
    rows = advice.rows(table)
    if table == "moves":
        return Table(
            {
                "scope": pd.array([row.scope for row in rows], dtype="string"),
                "source": category([row.source for row in rows]),
                "target": category([row.target for row in rows]),
                "nodes": pd.array([len(row.nodes) for row in rows], dtype="int64"),
                "saves": pd.array([row.saves for row in rows], dtype="float64"),
                "why": pd.array([row.why for row in rows], dtype="string"),
            }
        )
    if table == "devices":
        return Table(record_columns(AdvisedDevice, rows))
    return Table(record_columns(AdvisedNode, rows, texts=("node",)))


def tradeoff_frame(tradeoff: Any) -> pd.DataFrame:
    """Return the placements of a `Tradeoff`; see the module for the columns.

    Args:
        tradeoff: the result of `Advice.tradeoff`.
    """
    points = tradeoff.points
    return Table(
        {
            "name": pd.array([point.name for point in points], dtype="string"),
            "step_time": pd.array([point.step_time for point in points], dtype="float64"),
            "peak_memory": pd.array([point.peak_memory for point in points], dtype="float64"),
            "fits": pd.array([point.fits for point in points], dtype="boolean"),
            "is_best": pd.array([point.is_best for point in points], dtype=bool),
        }
    )


def tower_frame(choices: Any) -> pd.DataFrame:
    """Return the rows of a `TowerChoices`; see the module for the columns.

    Args:
        choices: the result of `gpuplace.tower_choices`.
    """
    return Table(record_columns(TowerRow, choices.rows))
