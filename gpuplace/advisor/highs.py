"""HiGHS (https://highs.dev), which solves linear programs and comes with the extra ``gpuplace[advise]``."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np


def has_solver() -> bool:
    """Whether it is installed."""
    return importlib.util.find_spec("highspy") is not None


def quiet_solver() -> Any:
    """A solver on one thread that prints nothing, not even its name, as it does when it is made."""
    import highspy

    plain: Any = highspy.Highs

    class Quiet(plain):  # type: ignore[misc]
        def enableCallbacks(self) -> None:  # noqa: N802
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    solver = Quiet()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    return solver


class Rows:
    """The rows of a linear program, as they are made."""

    def __init__(self) -> None:
        self._columns: list[Any] = [np.zeros(0, dtype=np.int64)]
        self._weights: list[Any] = [np.zeros(0)]
        self._lower: list[float] = []
        self._upper: list[float] = []

    def add(self, columns: Any, weights: Any, lower: float, upper: float) -> None:
        """Adds a row: what some columns, weighted, add up to lies between two limits."""
        self._columns.append(np.asarray(columns))
        self._weights.append(np.asarray(weights))
        self._lower.append(lower)
        self._upper.append(upper)

    def program(self, cost: int, lower: Any, upper: Any) -> Any:
        """The program, for a solver.

        Args:
            cost: the column that is to be as small as possible.
            lower: ``[columns]``: what each is at least.
            upper: ``[columns]``: what each is at most.
        """
        import highspy

        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = len(lower), len(self._lower)
        program.col_cost_ = np.eye(1, len(lower), cost)[0]
        program.col_lower_, program.col_upper_ = lower, upper
        program.row_lower_, program.row_upper_ = np.array(self._lower), np.array(self._upper)
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_ = np.cumsum(list(map(len, self._columns)))
        program.a_matrix_.index_ = np.concatenate(self._columns)
        program.a_matrix_.value_ = np.concatenate(self._weights)
        return program
