"""What placers of the literature make of a step in numbers: choices to begin with, and to end with if none is better.

Each places a step twice, with what was made for an op's gradient beside the op, and kernel by kernel; the quickest of
them first, as long as there is time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.favourites import favourite_children
from gpuplace.advisor.highs import has_solver
from gpuplace.advisor.placers import Costs, earliest_first, heft, in_stretches
from gpuplace.advisor.problem import Problem

Ints = NDArray[np.int64]
_SCHEDULED = 40_000
"""Nodes times devices that may be placed where no time is given."""
_CHOICE_SECONDS = 1e-5
"""What a placer takes for one node and device, about, before any has been seen."""


def literature(problems: Sequence[Problem], seconds: float | None) -> Iterator[Ints]:
    """[nodes] devices, by one placer after the other.

    Args:
        problems: the step in numbers, with more and with less held together.
        seconds: how long all may take; None: as long as it takes, where the step is small.
    """
    begin = time.perf_counter()
    size = problems[0].node_count * len(problems[0].devices)
    if size > _SCHEDULED if seconds is None else size * _CHOICE_SECONDS > seconds:
        return
    costs = [Costs(problem) for problem in problems]
    placers: list[Callable[[Costs], list[int]]] = [in_stretches, heft, earliest_first]
    if seconds is not None and has_solver():
        placers.append(partial(_with_favourites, seconds / 2))
    slowest = 0.0
    for placer in placers:
        for cost in costs:
            now = time.perf_counter()
            if seconds is not None and now - begin + slowest > seconds:
                return
            yield np.array(placer(cost), dtype=np.int64)
            slowest = max(slowest, time.perf_counter() - now)


def _with_favourites(seconds: float, costs: Costs) -> list[int]:
    """m-SCT, whose linear program has so many seconds."""
    return earliest_first(costs, favourite_children(costs, seconds))
