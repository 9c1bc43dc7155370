"""The largest load as a mixed-integer linear program, whose solver raises the bound, or proves a split optimal.

A group g is on device d (x[g, d]); a tensor t enters d (i[t, d]) if a consumer is there and the producer is not, and
leaves d (o[t, d]) if the producer is there and a consumer is not. The load of every device is at most z, which is
minimized.

Source: "Efficient Algorithms for Device Placement of DNN Graph Operators" (NeurIPS 2020), section 5.1 (a like program);
HiGHS (https://highs.dev), the solver, installed with the extra ``gpuplace[advise]``.
"""

from __future__ import annotations

import importlib.util
import math
from typing import Any

import numpy as np

from gpuplace.advisor.problem import Ints
from gpuplace.advisor.records import Network


def has_solver() -> bool:
    """Whether the solver is installed."""
    return importlib.util.find_spec("highspy") is not None


def quiet_solver() -> Any:
    """Return a solver on one thread that prints nothing, not even its banner on construction."""
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
    """Rows of a linear program under construction."""

    def __init__(self) -> None:
        self._columns: list[Any] = [np.zeros(0, dtype=np.int64)]
        self._weights: list[Any] = [np.zeros(0)]
        self._lower: list[float] = []
        self._upper: list[float] = []

    def add(self, columns: Any, weights: Any, lower: float, upper: float) -> None:
        """Add a row: lower and upper bounds of a weighted sum of columns."""
        self._columns.append(np.asarray(columns))
        self._weights.append(np.asarray(weights))
        self._lower.append(lower)
        self._upper.append(upper)

    def program(self, cost: int, lower: Any, upper: Any) -> Any:
        """Return the program for a solver.

        Args:
            cost: column to minimize.
            lower: ``[columns]`` lower bounds.
            upper: ``[columns]`` upper bounds.
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


_MOST = 60_000
"""Maximum number of rows; larger programs make no progress within seconds."""
_EXACT = 1e-7
"""Relative difference by which a split must be better to count as better."""


def can_prove(net: Network) -> bool:
    """Whether the solver is installed and the program is small enough.

    Args:
        net: network of the problem.
    """
    rows = 2 * len(net.readers) * int((net.links > 0).sum()) + len(net.sizes)
    return rows <= _MOST and has_solver()


class Proof:
    """A run of the solver: is there a split better than the best so far?

    Args:
        net: network of the problem.
        value: objective of the best split so far.
        bound: known lower bound.
    """

    def __init__(self, net: Network, value: float, bound: float) -> None:
        import highspy

        self.net, self.value, self.bound = net, value, bound
        self.device: Ints | None = None
        """``[groups]``: a better split that the solver found, or None."""
        self._statuses = highspy.HighsModelStatus
        self._solver = quiet_solver()
        self._solver.setOptionValue("mip_rel_gap", _EXACT)
        self._solver.HandleUserInterrupt = True
        self._solver.passModel(self._program(highspy))

    def run(self, seconds: float) -> None:
        """Run the solver for a limited time; then ``bound`` and ``device`` contain the result."""
        self._solver.setOptionValue("time_limit", max(0.01, seconds))
        self._solver.run()
        status, info = self._solver.getModelStatus(), self._solver.getInfo()
        if status == self._statuses.kInfeasible:
            self.bound = self.value  # no split is better by more than _EXACT
            return
        if math.isfinite(info.mip_dual_bound):
            self.bound = max(self.bound, min(self.value, info.mip_dual_bound * (1 - _EXACT)))
        values = np.array(self._solver.getSolution().col_value)
        if info.primal_solution_status == 2 and len(values):
            groups, devices = len(self.net.sizes), self.net.device_count
            self.device = values[1 : 1 + groups * devices].reshape(groups, devices).argmax(axis=1)
        if status == self._statuses.kOptimal and self.device is not None:
            self.bound = max(self.bound, info.objective_function_value * (1 - 2 * _EXACT))

    def cancel(self) -> None:
        """Interrupt a run on another thread."""
        self._solver.cancelSolve()

    def _program(self, highspy: Any) -> Any:
        net = self.net
        groups, devices, tensors = len(net.sizes), net.device_count, len(net.cost)
        paying = np.flatnonzero(net.links > 0)
        runs = net.seconds.reshape(groups, devices)
        of = 1 + np.arange(groups * devices).reshape(groups, devices)  # columns: z, all x, all i, all o
        enters = 1 + groups * devices + np.arange(tensors * len(paying)).reshape(tensors, len(paying))
        leaves = enters + tensors * len(paying)
        columns = 1 + groups * devices + 2 * tensors * len(paying)

        rows = Rows()
        for group in range(groups):
            rows.add(of[group], np.ones(devices), 1.0, 1.0)
        for device in range(devices):
            possible = np.isfinite(runs[:, device])
            parts = [np.array([0]), of[possible, device]]
            weights = [np.array([-1.0]), runs[possible, device]]
            for at in np.flatnonzero(paying == device).tolist():
                parts += [enters[:, at], leaves[:, at]]
                weights += [net.cost * net.links[device]] * 2
            rows.add(np.concatenate(parts), np.concatenate(weights), -math.inf, 0.0)
            if math.isfinite(net.rooms[device]):
                rows.add(of[:, device], net.sizes, -math.inf, float(net.rooms[device]))
        signs = np.array([1.0, -1.0, 1.0])
        for tensor, source in enumerate(net.source.tolist()):
            for reader in net.readers[net.reader_start[tensor] : net.reader_start[tensor + 1]].tolist():
                for at, device in enumerate(paying.tolist()):
                    here, there = of[reader, device], of[source, device]
                    rows.add(np.array([enters[tensor, at], here, there]), signs, 0.0, math.inf)
                    rows.add(np.array([leaves[tensor, at], there, here]), signs, 0.0, math.inf)

        upper = np.ones(columns)
        upper[0] = max(self.bound, self.value * (1 - _EXACT))
        upper[of[np.isinf(runs)]] = 0.0
        program = rows.program(0, np.concatenate([[self.bound], np.zeros(columns - 1)]), upper)
        kinds = highspy.HighsVarType
        program.integrality_ = [
            kinds.kInteger if 0 < at <= groups * devices else kinds.kContinuous for at in range(columns)
        ]
        return program
