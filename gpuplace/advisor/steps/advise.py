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

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.split_search import check_numbers
from gpuplace.advisor.steps.advice import Advice
from gpuplace.advisor.steps.candidates import candidates_of, kept_requests, unmet_keeps
from gpuplace.advisor.steps.choice_scores import OBJECTIVES, ChoiceScorer
from gpuplace.advisor.steps.placed_choice import Case, is_predicted
from gpuplace.advisor.steps.searched_choice import JUDGED, program_choice, searched_choice
from gpuplace.advisor.steps.step_problem import step_bound
from gpuplace.advisor.steps.step_search import Budget, SearchProgress
from gpuplace.advisor.steps.units import units_of
from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.estimate import estimate, estimate_placed
from gpuplace.cost.memory.step_memory import memory_limits
from gpuplace.errors import InvalidArgumentError
from gpuplace.runtime.session.place import place
from gpuplace.typing import ConfigLike, ConfigProto, GraphLike, MachineLike
from gpuplace.why.placement import Placement

Ints = NDArray[np.int64]
_NO_TIME = "There was no time to try another placement. More seconds may find a better one."
_ASSUMED = 3
"""Number of assumptions about sizes and loops that are listed."""


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
    budget.leave(max(JUDGED * seconds, time.perf_counter() - budget.begin))
    is_running = bool((scorer.step.node_runs > 0).any())
    if scorer.units.is_free.any() and is_running:
        best, search_bound, tried = searched_choice(case, budget, seed, progress)
        bound = max(bound, search_bound)
        if tried < 2 and budget.steps is None and not budget.was_stopped:
            notes.append(_NO_TIME)
    else:
        best = program_choice(case)
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
    return Case(original, baseline, scorer, kept), step_bound(scorer), notes


def _current_devices(candidates: Any, original: Placement) -> Ints:
    """Return [groups] devices of the placed program, where these are candidates."""
    current = candidates.default.copy()
    current[candidates.group] = original.devices
    is_allowed = candidates.allowed[np.arange(len(current)), current]
    return np.where(is_allowed, current, candidates.default)


def _nothing_to_choose(case: Case) -> str:
    devices = case.scorer.candidates.placement.device_labels
    if len(devices) == 1:
        return f"There is only one device, {devices[0]}, so there is nothing to choose."
    return "No node of this step can run on another device, so there is nothing to choose."
