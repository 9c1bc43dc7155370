"""`gpuplace.advise`: search for a better placement of a step for a few seconds, under TensorFlow's own rules.

The search proposes device requests. The result is the placement that TensorFlow's placer derives from them, with an
estimate. The unchanged program is a candidate too, so the recommendation is never worse.

>>> from gpuplace.graph.graph import Graph
>>> from gpuplace.graph.apply_op import apply_op
>>> from gpuplace.ops.array.constant import placeholder
>>> with Graph().as_default() as graph:
...     rows = placeholder("float32", [8192, 8192], name="rows")
...     for name in ("left", "right"):
...         _ = apply_op("MatMul", name, a=rows, b=rows, transpose_b=True)
>>> advice = advise(graph, ["left", "right"], machine="2x V100", steps=40)
>>> sorted({advice.placement[name][-5:] for name in ("left", "right")}), advice.value < advice.before
(['GPU:0', 'GPU:1'], True)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.split_search import check_numbers
from gpuplace.advisor.steps.advice import SAME, Advice
from gpuplace.advisor.steps.candidates import candidates_of, kept_requests, unmet_keeps
from gpuplace.advisor.steps.choice_scores import OBJECTIVES, ChoiceScorer
from gpuplace.advisor.steps.device_labels import FINAL, LOSSLESS, relabeled
from gpuplace.advisor.steps.moves import GIVEN_UP, simplified
from gpuplace.advisor.steps.placed_choice import Case, PlacedChoice, is_predicted, place_choice
from gpuplace.advisor.steps.step_problem import step_bound
from gpuplace.advisor.steps.step_search import Budget, SearchProgress, StepSearch
from gpuplace.advisor.steps.units import units_of
from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.estimate import estimate, estimate_placed
from gpuplace.cost.memory.step_memory import memory_limits
from gpuplace.errors import InvalidArgumentError, OpError
from gpuplace.runtime.session.place import place
from gpuplace.typing import ConfigLike, ConfigProto, GraphLike, MachineLike
from gpuplace.why.placement import Placement

Ints = NDArray[np.int64]
_JUDGED = 0.08
"""Minimum fraction of the time that is left for the final estimates."""
_SEARCHED = 0.87
"""Fraction of the remaining time for the search; the rest is for choices with fewer moves."""
_FIRST = 0.5
"""Fraction of the time for fewer moves after which identical devices are exchanged."""
_AFTER_STOP = 0.5
"""Seconds for choices with fewer moves after Ctrl-C."""
_NO_TIME = "There was no time to try another placement. More seconds may find a better one."
_ASSUMED = 3
"""Number of assumptions about sizes and loops that are listed."""
_SIMPLIFIED = 60
"""Number of moves tested for whether they can be left out."""


def advise(
    graph: GraphLike,
    fetches: Any = None,
    feeds: Mapping[Any, Any] | None = None,
    machine: MachineLike | None = None,
    objective: str = "step_time",
    seconds: float = 10,
    seed: int = 0,
    keep: Any = None,
    config: ConfigLike | None = None,
    release: str | None = None,
    *,
    steps: int | None = None,
    cost_model: CostModel | None = None,
    trip_counts: Mapping[str, float] | None = None,
    progress: Callable[[SearchProgress], None] | None = None,
    batch: int | None = None,
    tags: str | Iterable[str] | None = None,
    signature: str | None = None,
    function: str | None = None,
    whole_graph: bool = False,
) -> Advice:
    """Search for a better placement of a step.

    Args:
        graph, fetches, feeds, machine, config, release, trip_counts, batch: as for `gpuplace.estimate`.
        tags, signature, function, whole_graph: as for `gpuplace.estimate`.
        cost_model: as for `gpuplace.estimate`; `CostModel.fit(metadata, graph)` fits one to measured steps.
        objective: ``"step_time"``: time of one step; ``"throughput"``: time per step of the busiest device or link,
            which is the interval between steps in a pipeline; ``"memory"``: the smallest peak of the fullest device, if
            the step fits on all GPUs.
        seconds: total duration; Ctrl-C returns the best result so far. The first search on a machine takes several
            seconds more, to compile the search.
        seed: seed of the random numbers, at least 0.
        keep: nodes that stay where they are: a pattern of names (``"save/*"``), a scope, a function of the name,
            several of them, or a mapping from these to devices; True: all nodes with a device request.
        steps: number of choices to try, instead of a duration; equal numbers and seeds give the same recommendation.
        progress: callback with a `SearchProgress` for every improvement, and several times per second; a
            KeyboardInterrupt that it raises ends the search, as Ctrl-C does.

    Returns:
        An `Advice`.

    Raises:
        InvalidArgumentError: The graph cannot be placed even without its requests, `keep` cannot be satisfied, nothing
            runs, or a number or the objective is invalid.
        OpError, TypeError: As for `gpuplace.estimate`.
    """
    check_request(objective, seconds, steps, seed)
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be a function of a SearchProgress; got {progress!r}")
    steps, seed = None if steps is None else int(steps), int(seed)
    budget = Budget(seconds, steps)
    part = {"tags": tags, "signature": signature, "function": function, "whole_graph": whole_graph}
    options = {
        "fetches": fetches,
        "feeds": feeds,
        "trip_counts": trip_counts,
        "batch": batch,
        "whole_graph": whole_graph,
    }
    case, bound, notes = _case(graph, machine, objective, keep, config, release, part, options, cost_model)
    scorer = case.scorer
    # The final placement and estimate take as long as the first ones did.
    budget.leave(max(_JUDGED * seconds, time.perf_counter() - budget.begin))
    is_running = bool((scorer.step.node_runs > 0).any())
    if scorer.units.is_free.any() and is_running:
        best, search_bound, tried = _searched(case, budget, seed, progress)
        bound = max(bound, search_bound)
        if tried < 2 and budget.steps is None and not budget.was_stopped:
            notes.append(_NO_TIME)
    else:
        best = _program_choice(case)
        notes.append(
            _nothing_to_choose(case)
            if not scorer.units.is_free.any()
            else "No node of this step runs, so no placement is better."
        )
    if not best.score.missing and best.score.value == 0:
        notes.append("Nothing in this step takes any time, so all placements are equal.")
    if objective == "memory" and not is_predicted(scorer, best.estimate):
        notes += ["The memory is a rough estimate.", *best.estimate.memory.sentences()]
    notes += [f"Assumed: {sentence}." for sentence in best.estimate.shapes.assumed[:_ASSUMED]]
    notes += unmet_keeps(case.original.graph, case.kept, best.placement)
    return Advice(case, best, objective, bound, budget.was_stopped, notes)


def check_request(objective: str, seconds: float, steps: int | None, seed: int) -> None:
    """Raise InvalidArgumentError for an unknown objective or a number out of range.

    Args:
        objective, seconds, steps, seed: as for `advise`.
    """
    if objective not in OBJECTIVES:
        raise InvalidArgumentError.of(
            f"Unknown objective {objective!r}", hint="choose one of " + ", ".join(map(repr, OBJECTIVES))
        )
    check_numbers(seconds, steps, seed)


def _case(
    graph: Any,
    machine: Any,
    objective: str,
    keep: Any,
    config: ConfigProto,
    release: str | None,
    part: Mapping[str, Any],
    options: Mapping[str, Any],
    cost_model: CostModel | None,
) -> tuple[Case, float, list[str]]:
    """Return the step with its possible devices, a lower bound of the objective, and notes."""
    soft = None
    if isinstance(graph, Placement):
        machine = graph.device_set if machine is None else machine
        release = release or graph.release
        soft = graph.soft or None
    original = place(graph, machine, config, release, on_error="keep", soft_placement=soft, **part)
    notes: list[str] = []
    baseline = None

    def estimated(placement: Placement) -> Any:
        return estimate(placement, config=config, release=placement.release, cost_model=cost_model, **options)

    if original.errors:
        notes.append(f"The program cannot be placed as it is: {original.errors[0].message.splitlines()[0]}")
        if keep is None:
            notes.append("Its device requests are ignored.")
    else:
        baseline = estimated(original)
        original = baseline.placement
    kept = kept_requests(original.graph, keep, original)
    candidates = candidates_of(original, kept)
    step = (
        estimated(candidates.placement)
        if baseline is None
        else estimate_placed(baseline, candidates.placement)
    )
    stay = candidates.default if baseline is None else _current_devices(candidates, original)
    units = units_of(candidates, step)
    limits = {
        candidates.placement.device_set.names.index(name): limit
        for name, (_, limit) in memory_limits(candidates.placement).items()
    }
    scorer = ChoiceScorer(step, candidates, units, objective, limits, stay, kept)
    case = Case(original, baseline, scorer, kept)
    if objective == "memory":
        scorer.measure_memory()
    return case, step_bound(scorer), notes


def _current_devices(candidates: Any, original: Placement) -> Ints:
    """Return [groups] devices of the placed program, where these are candidates."""
    current = candidates.default.copy()
    current[candidates.group] = original.devices
    is_allowed = candidates.allowed[np.arange(len(current)), current]
    return np.where(is_allowed, current, candidates.default)


def _program_choice(case: Case) -> PlacedChoice:
    """Return the choice that leaves the program unchanged."""
    return place_choice(case, np.full(len(case.scorer.units.names), -1, dtype=np.int64))


def _searched(
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
    best = unchanged = _program_choice(case)
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


def _nothing_to_choose(case: Case) -> str:
    devices = case.scorer.candidates.placement.device_labels
    if len(devices) == 1:
        return f"There is only one device, {devices[0]}, so there is nothing to choose."
    return "No node of this step can run on another device, so there is nothing to choose."
