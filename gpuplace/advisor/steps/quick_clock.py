"""A choice's time by the clock of the step in numbers: as the executor's, some tenths of a millisecond each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.chains import Chain, Ground
from gpuplace.advisor.steps.rehearsal import Rehearsal
from gpuplace.advisor.steps.starts import units_at
from gpuplace.advisor.steps.step_problem import StepProblem

Ints = NDArray[np.int64]


class QuickClock:
    """The clock.

    Args:
        rehearsal: of the step.
        made: the step in numbers.
        is_compiled: whether its loops are compiled, where numba is there.
    """

    def __init__(self, rehearsal: Rehearsal, made: StepProblem, is_compiled: bool) -> None:
        problem = made.problem
        self._chain = Chain(Ground(problem, "step_time", is_compiled), [1, 1])
        count = problem.group_count
        first = np.zeros(count, dtype=np.int64)
        first[problem.groups[::-1]] = np.arange(problem.node_count)[::-1]
        group = rehearsal.freedom.group[rehearsal.step.part.nodes[made.nodes[first]]]
        devices = np.array(made.devices, dtype=np.int64)
        self._number = np.full(len(rehearsal.freedom.placement.device_set), -1, dtype=np.int64)
        self._number[devices] = np.arange(len(devices))
        self._unit = made.unit[first]
        self._allowed = rehearsal.freedom.allowed[group][:, devices]
        self._default = self._number[rehearsal.stay[group]]
        self._units_now = units_at(rehearsal, rehearsal.stay)
        self._sizes = np.bincount(problem.groups, problem.sizes, count)
        self._rooms = np.array([device.memory for device in problem.devices])
        self._groups = np.arange(count)

    def score(self, device_of: Ints) -> tuple[float, float]:
        """Memory that is missing, and seconds of the step.

        Args:
            device_of: [units] devices; -1 for what is left alone.
        """
        wanted = self._number[np.where(device_of < 0, self._units_now, device_of)[self._unit]]
        is_possible = (wanted >= 0) & self._allowed[self._groups, np.maximum(wanted, 0)]
        device = np.where(is_possible, wanted, self._default)
        used = np.bincount(device, self._sizes, len(self._rooms))
        missing = float(np.maximum(used - self._rooms, 0.0).sum())
        return missing, self._chain.value(device)
