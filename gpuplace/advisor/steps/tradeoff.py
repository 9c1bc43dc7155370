"""Trade-off of time and memory: placements of a step, none of which is both faster and smaller than another.

The two ends, the fastest placement and the smallest, are searched as `gpuplace.advise` searches them. Between them, the
search looks for the fastest placement within each of several memory limits that apply to every device; it begins with
the placements so far. The final figures are those of each placement's own estimate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.choice_scores import ChoiceScorer
from gpuplace.advisor.steps.device_labels import FINAL, relabeled
from gpuplace.advisor.steps.placed_choice import Case, PlacedChoice, place_choice, rescored
from gpuplace.advisor.steps.searched_choice import JUDGED, searched_choice
from gpuplace.advisor.steps.step_search import Budget, StepSearch
from gpuplace.cost.memory.step_memory import fullest
from gpuplace.cost.sentences import seconds_text, size_text
from gpuplace.display import above, notebook_view, with_safe_text
from gpuplace.errors import OpError
from gpuplace.typing import DataFrame

Ints = NDArray[np.int64]
_SAME = 1e-3
"""Relative difference below which times or sizes count as equal."""
_JUDGED = 2
"""Number of the best choices of a search that are placed and estimated."""


class TradeoffPoint(NamedTuple):
    """A placement of a trade-off."""

    name: str
    """Description: the program as it is, the recommendation, or the memory limit of its search."""
    step_time: float
    """Seconds per step."""
    peak_memory: float | None
    """Peak bytes of the fullest device; None if unknown."""
    fits: bool | None
    """Whether the step fits on all GPUs; None if unknown."""
    is_best: bool
    """Whether no other placement is both faster and smaller."""
    advice: Any
    """The placement as an `Advice`, with its moves and as a program."""


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """Placements of a step, the smallest first, as `Advice.tradeoff` returns them."""

    points: tuple[TradeoffPoint, ...]
    """All placements, including those that are not on the trade-off curve."""
    limit: float
    """Bytes that TensorFlow may use on the smallest GPU; infinite without GPUs."""

    @property
    def best(self) -> tuple[TradeoffPoint, ...]:
        """Placements on the trade-off curve, the smallest first."""
        return tuple(point for point in self.points if point.is_best)

    def rows(self) -> list[TradeoffPoint]:
        """Return the points as records."""
        return list(self.points)

    def frame(self) -> DataFrame:
        """Return the points as a pandas ``DataFrame``; see `gpuplace.jupyter.frames.advice_frames` for the columns."""
        tradeoff_frame = above("gpuplace.jupyter.frames.advice_frames", "tradeoff_frame")

        return tradeoff_frame(self)

    def svg(self, theme: str = "light", width: int = 720) -> str:
        """Return the chart: memory over time, with a line through `best`.

        Args:
            theme: ``"light"`` or ``"dark"``.
            width: in pixels.

        Raises:
            ValueError: The theme is unknown.
        """
        tradeoff_svg = above("gpuplace.views.timelines.tradeoff_plot", "tradeoff_svg")

        return tradeoff_svg(self, theme, width)

    def explain(self) -> str:
        """Return the points as sentences."""
        return "\n".join([self.text, *(self._line(point) for point in self.points)])

    def _line(self, point: TradeoffPoint) -> str:
        more = "" if point.is_best else "; another placement is faster or smaller, and not worse otherwise"
        more += {True: "", False: "; it does not fit", None: "; it is unknown whether it fits"}[point.fits]
        return f"{point.name}: {_costs(point)}{more}."

    @property
    def text(self) -> str:
        """Summary in one line."""
        best = self.best
        first, last = best[0], best[-1]
        if len(best) == 1:
            return f"One placement is fastest and smallest: {_costs(first)} on the fullest device."
        return f"From {_costs(last)} on the fullest device to {_costs(first)}."

    @with_safe_text
    def __repr__(self) -> str:
        return f"<Tradeoff of {len(self.points)} placements: {self.text}>"

    @with_safe_text
    def __str__(self) -> str:
        return self.explain()

    _repr_mimebundle_ = notebook_view


def _costs(point: TradeoffPoint) -> str:
    size = "unknown memory" if point.peak_memory is None else size_text(point.peak_memory)
    return f"{seconds_text(point.step_time)} with {size}"


class NamedChoice(NamedTuple):
    """A placed choice with a description."""

    name: str
    placed: PlacedChoice


def tradeoff_choices(
    case: Case, known: Sequence[NamedChoice], count: int, seconds: float, seed: int, steps: int | None
) -> list[NamedChoice]:
    """Search choices between the fastest and the smallest, and return them with the known ones.

    Args:
        case: the step.
        known: existing choices.
        count: number of memory limits to search between the two ends.
        seconds: duration of all searches together.
        seed: seed of the random numbers.
        steps: number of choices to try per search, instead of a duration.
    """
    choices = list(known)
    if not case.scorer.units.is_free.any():
        return choices

    budgets: list[Budget] = []

    def next_budget() -> Budget | None:
        if any(budget.was_stopped for budget in budgets):  # Ctrl-C ends all searches
            return None
        budgets.append(Budget(seconds / (count + 2), steps))
        return budgets[-1]

    for name, objective in (("the fastest", "step_time"), ("the smallest", "memory")):
        if budget := next_budget():
            budget.leave(JUDGED * budget.seconds)
            # Without initial choices, the search is that of `advise`, and so is its result.
            end = replace(case, scorer=case.scorer.unused(objective))
            placed, _, _ = searched_choice(end, budget, seed, None)
            choices.append(NamedChoice(name, rescored(case, placed)))
    sizes = [peak_of(choice.placed) for choice in choices]
    quickest = min(choices, key=lambda choice: choice.placed.estimate.step_time)
    low, high = min(size for size in (*sizes, math.inf) if size is not None), peak_of(quickest.placed)
    if high is None or high <= low * (1 + _SAME):
        return choices
    for room in np.linspace(high, low, count + 2)[1:-1].tolist():
        if budget := next_budget():
            scorer = _limited(case.scorer, room)
            initial = [choice.placed.device_of for choice in choices]
            elite = StepSearch(scorer, budget, seed=seed, initial_choices=initial).run()
            for _, device_of in elite[:_JUDGED]:
                try:
                    placed = place_choice(case, relabeled(scorer, device_of, FINAL, math.inf))
                except OpError:  # a placement that lowering makes impossible
                    continue
                choices.append(NamedChoice(f"at most {size_text(room)}", placed))
    return choices


def peak_of(choice: PlacedChoice) -> float | None:
    """Return the peak bytes of the fullest device; None if unknown."""
    return fullest(choice.estimate.peak_memory)


def _limited(scorer: ChoiceScorer, room: float) -> ChoiceScorer:
    """Return a scorer of the step time with a memory limit for every device."""
    limited = scorer.unused("step_time")
    for device in range(len(scorer.candidates.placement.device_set)):
        limited.room[device] = min(room, limited.room.get(device, room))
    return limited


def best_of(times: Sequence[float], sizes: Sequence[float]) -> list[bool]:
    """Return which points are on the trade-off curve; of equal points only the first.

    >>> best_of([3.0, 2.0, 1.0, 2.5], [1.0, 2.0, 3.0, 2.5])
    [True, True, True, False]
    """
    is_best = [False] * len(times)
    least = np.inf
    for place in sorted(range(len(times)), key=lambda place: (sizes[place], times[place], place)):
        if times[place] < least * (1 - _SAME):
            is_best[place], least = True, times[place]
    return is_best
