"""Search of one objective: the best choice by its final estimate, with few moves and the program's labels.

`gpuplace.advise` and the two ends of a trade-off are the results of this search.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.device_labels import FINAL, LOSSLESS, relabeled
from gpuplace.advisor.steps.moves import GIVEN_UP, simplified
from gpuplace.advisor.steps.placed_choice import Case, PlacedChoice, place_choice
from gpuplace.advisor.steps.step_search import Budget, SearchProgress, StepSearch
from gpuplace.errors import OpError

Ints = NDArray[np.int64]
SAME = 1e-3
"""Relative difference below which objectives count as equal."""
JUDGED = 0.08
"""Minimum fraction of the time that is left for the final estimates."""
_SEARCHED = 0.87
"""Fraction of the remaining time for the search; the rest is for choices with fewer moves."""
_FIRST = 0.5
"""Fraction of the time for fewer moves after which identical devices are exchanged."""
_AFTER_STOP = 0.5
"""Seconds for choices with fewer moves after Ctrl-C."""
_SIMPLIFIED = 60
"""Number of moves tested for whether they can be left out."""


def program_choice(case: Case) -> PlacedChoice:
    """Return the choice that leaves the program unchanged."""
    return place_choice(case, np.full(len(case.scorer.units.names), -1, dtype=np.int64))


def searched_choice(
    case: Case,
    budget: Budget,
    seed: int,
    progress: Callable[[SearchProgress], None] | None,
) -> tuple[PlacedChoice, float, int]:
    """Search, and return the best choice by its final estimate, the lower bound of the search, and the choices tried.

    The choice is the unchanged program if nothing is better.
    """
    search = StepSearch(case.scorer, budget, _SEARCHED, seed, progress)
    elite = search.run()
    until = budget.end
    if budget.was_stopped:
        until = min(until, time.perf_counter() + _AFTER_STOP)
    best = unchanged = program_choice(case)
    for number, (_, device_of) in enumerate(elite):
        try:
            if number == 0:
                placed = _with_fewer_moves(case, device_of, until)
            else:
                placed = place_choice(case, relabeled(case.scorer, device_of, FINAL, until))
        except OpError:  # lowering makes this placement impossible; try the next choice
            continue
        if _is_better(placed, best):
            best = placed
        if best is not unchanged and not best.score.missing or time.perf_counter() > until:
            break
    return _best_of(case, best, search.published_choices, until), search.bound, case.scorer.tried


def _with_fewer_moves(case: Case, device_of: Ints, until: float) -> PlacedChoice:
    """Estimate a choice without moves that save next to nothing, and with other labels of identical devices."""
    now = time.perf_counter()
    halfway = until if math.isinf(until) else now + _FIRST * (until - now)
    enough = case.scorer.score(device_of).value * (1 + GIVEN_UP)
    fewer = simplified(case.scorer, device_of, enough, _SIMPLIFIED, halfway)
    return with_other_labels(case, fewer, enough, until)


def with_other_labels(case: Case, device_of: Ints, enough: float, until: float) -> PlacedChoice:
    """Estimate a choice with the labels of identical devices that move the fewest nodes.

    Args:
        case: the step.
        device_of: [units] device positions; -1 for units that stay.
        enough: objective, by the choice's own labels, that is good enough to leave out moves.
        until: time limit, by ``time.perf_counter``.
    """
    scorer = case.scorer
    by_labels = relabeled(scorer, device_of, FINAL, until)
    enough += scorer.score(by_labels).value - scorer.score(device_of).value
    fewer = simplified(scorer, by_labels, enough, _SIMPLIFIED, until)
    return place_choice(case, relabeled(scorer, fewer, LOSSLESS, until))


def _best_of(case: Case, best: PlacedChoice, choices: list[Ints], until: float) -> PlacedChoice:
    """Return the better of a choice and a published placer's."""
    scorer = case.scorer
    for device_of in sorted(choices, key=lambda choice: scorer.score(choice).value):
        if scorer.score(device_of).value >= best.score.value and not best.score.missing:
            break
        try:
            placed = place_choice(case, relabeled(scorer, device_of, LOSSLESS, until))
        except OpError:
            continue
        if (placed.score.missing, placed.score.value) < (best.score.missing, best.score.value):
            best = placed
    return best


def _is_better(new: PlacedChoice, old: PlacedChoice) -> bool:
    if new.score.missing != old.score.missing:
        return new.score.missing < old.score.missing
    return new.score.value < old.score.value * (1 - SAME)
