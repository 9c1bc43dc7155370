"""Time against memory: placements of a step of which none is both quicker and smaller than another.

The quickest is searched, then the smallest, and between the two the quickest for each of some limits of memory that
every device has to keep. What counts in the end is each placement's own estimate.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.judge import Case, Judged, judged
from gpuplace.advisor.steps.labels import FINAL, relabelled
from gpuplace.advisor.steps.rehearsal import Rehearsal
from gpuplace.advisor.steps.step_search import Budget, StepSearch
from gpuplace.cost.memory.step_memory import fullest
from gpuplace.cost.sentences import seconds_text, size_text
from gpuplace.display import above, notebook_view, with_safe_text
from gpuplace.errors import OpError
from gpuplace.typing import DataFrame

Ints = NDArray[np.int64]
_SAME = 1e-3
"""Parts below which two times, or two sizes, are the same."""
_JUDGED = 2
"""So many of the best choices of a search are placed and estimated."""


class TradeoffPoint(NamedTuple):
    """A placement."""

    name: str
    """What it is: the program as it is, the advice, or the memory that it was searched for."""
    step_time: float
    """Seconds of a step."""
    peak_memory: float | None
    """Bytes at the peak of the fullest device; None where that is not known."""
    fits: bool | None
    """Whether all GPUs have room for it; None where that is not known."""
    is_best: bool
    """Whether no other is both quicker and smaller."""
    advice: Any
    """It as an `Advice`, with its moves and as a program."""


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """Placements of a step, the smallest first; `Advice.tradeoff` makes it."""

    points: tuple[TradeoffPoint, ...]
    """All that was found, also what others are better than."""
    limit: float
    """Bytes that TensorFlow may take of the smallest GPU; infinite without one."""

    @property
    def best(self) -> tuple[TradeoffPoint, ...]:
        """Those of which none is both quicker and smaller than another, the smallest first."""
        return tuple(point for point in self.points if point.is_best)

    def rows(self) -> list[TradeoffPoint]:
        """The points as records."""
        return list(self.points)

    def frame(self) -> DataFrame:
        """The points as a pandas ``DataFrame``; see `gpuplace.jupyter.frames.advice_frames` for the columns."""
        tradeoff_frame = above("gpuplace.jupyter.frames.advice_frames", "tradeoff_frame")

        return tradeoff_frame(self)

    def svg(self, theme: str = "light", width: int = 720) -> str:
        """The picture: time to the right, memory upwards, a line through the `best`.

        Args:
            theme: ``"light"`` or ``"dark"``.
            width: in pixels.

        Raises:
            ValueError: an unknown theme.
        """
        tradeoff_svg = above("gpuplace.views.timelines.tradeoff_plot", "tradeoff_svg")

        return tradeoff_svg(self, theme, width)

    def explain(self) -> str:
        """The points in sentences."""
        return "\n".join([self.text, *(self._line(point) for point in self.points)])

    def _line(self, point: TradeoffPoint) -> str:
        more = "" if point.is_best else "; another is as quick and smaller, or quicker and as small"
        more += {True: "", False: "; it does not fit", None: "; it is not known whether it fits"}[point.fits]
        return f"{point.name}: {_costs(point)}{more}."

    @property
    def text(self) -> str:
        """The answer in a line."""
        best = self.best
        first, last = best[0], best[-1]
        if len(best) == 1:
            return f"One placement is the quickest and the smallest: {_costs(first)} on the fullest device."
        return f"From {_costs(last)} on the fullest device to {_costs(first)}."

    @with_safe_text
    def __repr__(self) -> str:
        return f"<Tradeoff of {len(self.points)} placements: {self.text}>"

    @with_safe_text
    def __str__(self) -> str:
        return self.explain()

    _repr_mimebundle_ = notebook_view


def _costs(point: TradeoffPoint) -> str:
    size = "memory that is not known" if point.peak_memory is None else size_text(point.peak_memory)
    return f"{seconds_text(point.step_time)} with {size}"


class Found(NamedTuple):
    """A choice with what it was searched for."""

    name: str
    judged: Judged


def found_choices(
    case: Case, known: Sequence[Found], count: int, seconds: float, seed: int, steps: int | None
) -> list[Found]:
    """Choices between the quickest and the smallest, the known ones among them.

    Args:
        case: the step.
        known: choices that are there already.
        count: how many limits of memory are searched between the two ends.
        seconds: for all searches together.
        seed: of their chances.
        steps: choices to try for each search, in place of a time.
    """
    found = list(known)
    if not case.rehearsal.units.is_free.any():
        return found

    budgets: list[Budget] = []

    def search(name: str, objective: str, room: float | None) -> None:
        if any(budget.was_stopped for budget in budgets):  # Ctrl-C ends them all
            return
        rehearsal = _limited(case.rehearsal, objective, room)
        given = [one.judged.device_of for one in found]
        budget = Budget(seconds / (count + 2), steps)
        budgets.append(budget)
        for _, device_of in StepSearch(rehearsal, budget, seed=seed, given=given).run()[:_JUDGED]:
            try:
                found.append(Found(name, judged(case, relabelled(rehearsal, device_of, FINAL, math.inf))))
            except OpError:  # a placement that lowering makes impossible
                continue

    search("the quickest", "step_time", None)
    search("the smallest", "memory", None)
    sizes = [peak_of(one.judged) for one in found]
    quickest = min(found, key=lambda one: one.judged.estimate.step_time)
    low, high = min(size for size in (*sizes, math.inf) if size is not None), peak_of(quickest.judged)
    if high is not None and high > low * (1 + _SAME):
        for room in np.linspace(high, low, count + 2)[1:-1].tolist():
            search(f"at most {size_text(room)}", "step_time", room)
    return found


def peak_of(one: Judged) -> float | None:
    """Bytes at the peak of the fullest device; None where that is not known."""
    return fullest(one.estimate.peak_memory)


def _limited(rehearsal: Rehearsal, objective: str, room: float | None) -> Rehearsal:
    """The same step, with another objective, where every device has to keep a limit."""
    made = copy.copy(rehearsal)
    made.objective, made.tried, made.room = objective, 0, dict(rehearsal.room)
    made.forget()
    if room is not None:
        for device in range(len(rehearsal.freedom.placement.device_set)):
            made.room[device] = min(room, made.room.get(device, room))
    return made


def best_of(times: Sequence[float], sizes: Sequence[float]) -> list[bool]:
    """Which of some points no other is better than, in both; of equal ones the first.

    >>> best_of([3.0, 2.0, 1.0, 2.5], [1.0, 2.0, 3.0, 2.5])
    [True, True, True, False]
    """
    found = [False] * len(times)
    least = np.inf
    for place in sorted(range(len(times)), key=lambda place: (sizes[place], times[place], place)):
        if times[place] < least * (1 - _SAME):
            found[place], least = True, times[place]
    return found
