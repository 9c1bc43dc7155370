"""Explanations, differences and causes as pandas DataFrames.

`explanation_frame`, one row per rule that acted, in order:

=============  ==================  =========================================================================
column         type                meaning
=============  ==================  =========================================================================
rule           category            the rule
before         string              short names of the devices left before it, separated by spaces
after          string              short names of the devices left after it
cause          string              the other node that made the rule apply, if there is one
note           string              what happened, in words
=============  ==================  =========================================================================

`diff_frame`, one row per node that moves, indexed by its name: ``before`` and ``after`` (category, full device names,
missing without a device), ``cause`` and ``decided_by`` (category, string: the verdict after the move),
``cause_before`` and ``decided_by_before`` (the verdict before it), ``note`` (string, both in words).

`blame_frame`, one row per cause that keeps nodes off a device type: ``rule`` (category), ``cause`` (string), counts and
bytes (int64), ``op_types``, ``dtypes``, ``decided_by``, ``example``, ``remedy``, ``devices`` and ``harmless`` (string;
``harmless`` is missing unless the nodes can never run on the device type).
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from gpuplace.jupyter.frames.columns import category
from gpuplace.jupyter.frames.table import Table


def blame_frame(blame: Any) -> pd.DataFrame:
    """Return one row per cause that keeps nodes off a device type, the cause of most nodes first.

    Args:
        blame: the result of ``placement.blame()``.
    """
    rows = tuple(blame)
    numbers = ("nodes", "itself", "bound", "followers", "nbytes", "unsized")
    return Table(
        {
            "rule": category(row.rule.value for row in rows),
            "cause": pd.array([row.cause for row in rows], dtype="string"),
            **{name: pd.array([getattr(row, name) for row in rows], dtype="int64") for name in numbers},
            "op_types": pd.array([", ".join(row.op_types) for row in rows], dtype="string"),
            "dtypes": pd.array([", ".join(row.dtypes) for row in rows], dtype="string"),
            "decided_by": pd.array([row.decided_by for row in rows], dtype="string"),
            "example": pd.array([row.example for row in rows], dtype="string"),
            "remedy": pd.array([row.remedy for row in rows], dtype="string"),
            "devices": pd.array([", ".join(row.devices) for row in rows], dtype="string"),
            "harmless": pd.array([row.harmless or None for row in rows], dtype="string"),
        }
    )


def explanation_frame(explanation: Any) -> pd.DataFrame:
    """Return one row per rule that acted on a node, in order; see the module for the columns.

    Args:
        explanation: the result of ``placement.explain(node)``.
    """
    steps = explanation.steps
    return Table(
        {
            "rule": category(step.rule.value for step in steps),
            "before": pd.array([" ".join(step.before) for step in steps], dtype="string"),
            "after": pd.array([" ".join(step.after) for step in steps], dtype="string"),
            "cause": pd.array([step.cause for step in steps], dtype="string"),
            "note": pd.array([step.note for step in steps], dtype="string"),
        }
    )


def diff_frame(diff: Any) -> pd.DataFrame:
    """Return one row per node whose device differs in the other placement; see the module for the columns.

    Args:
        diff: the result of ``placement.diff(other)``.
    """
    moves = tuple(diff)
    return Table(
        {
            "before": category(move.before for move in moves),
            "after": category(move.after for move in moves),
            "cause": category(move.cause.value for move in moves),
            "decided_by": pd.array([move.decided_by for move in moves], dtype="string"),
            "cause_before": category(move.cause_before.value for move in moves),
            "decided_by_before": pd.array([move.decided_by_before for move in moves], dtype="string"),
            "note": pd.array([move.note or None for move in moves], dtype="string"),
        },
        index=pd.Index([move.node for move in moves], name="node", dtype="str"),
    )
