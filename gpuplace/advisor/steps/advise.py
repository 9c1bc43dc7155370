"""`gpuplace.advise`: where should the nodes of a step run? Seconds of search, under TensorFlow's own rules.

What is proposed are requests; the answer's placement is what TensorFlow's placer makes of them, and its estimate is
that placement's. The program as it is competes to the end, so that an advice is never worse than it.

>>> from gpuplace.graph.graph import Graph
>>> from gpuplace.graph.apply_op import apply_op
>>> from gpuplace.ops.array.constant import placeholder
>>> with Graph().as_default() as graph:
...     rows = placeholder("float32", [8192, 8192], name="rows")
...     for name in ("left", "right"):
...         _ = apply_op("MatMul", name, a=rows, b=rows, transpose_b=True)
>>> found = advise(graph, ["left", "right"], machine="2x V100", steps=40)
>>> sorted({found.placement[name][-5:] for name in ("left", "right")}), found.value < found.before
(['GPU:0', 'GPU:1'], True)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.searcher import check_numbers
from gpuplace.advisor.steps.advice import SAME, Advice
from gpuplace.advisor.steps.freedom import freedom_of, kept_requests, unmet_wishes
from gpuplace.advisor.steps.judge import Case, Judged, is_predicted, judged
from gpuplace.advisor.steps.labels import FINAL, LOSSLESS, relabelled
from gpuplace.advisor.steps.moves import GIVEN_UP, simplified
from gpuplace.advisor.steps.rehearsal import OBJECTIVES, Rehearsal
from gpuplace.advisor.steps.step_problem import step_bound
from gpuplace.advisor.steps.step_search import Budget, SearchProgress, StepSearch
from gpuplace.advisor.steps.units import units_of
from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.estimate import estimate, estimate_placed
from gpuplace.cost.memory.step_memory import memory_limits
from gpuplace.errors import InvalidArgumentError, OpError
from gpuplace.runtime.session.place import place
from gpuplace.typing import ConfigLike, GraphLike, MachineLike
from gpuplace.why.placement import Placement

Ints = NDArray[np.int64]
_JUDGED = 0.08
"""The least part of the time that is left for the last judgement."""
_SEARCHED = 0.87
"""The part of the other time that is searched; then plainer choices are looked for."""
_FIRST = 0.5
"""The part of the remaining time for plainer choices after which identical devices are exchanged."""
_AFTER_STOP = 0.5
"""Seconds for plainer choices after Ctrl-C."""
_NO_TIME = "There was no time to try another placement: with more seconds a better one may be found."
_ASSUMED = 3
"""So many sentences say what was assumed of sizes and loops."""
_SIMPLIFIED = 60
"""So many moves are looked at, whether they could be left out."""


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
        graph, fetches, feeds, machine, config, release, trip_counts, batch: as of `gpuplace.estimate`.
        tags, signature, function, whole_graph: as of `gpuplace.estimate`.
        cost_model: likewise; `CostModel.fit(metadata, graph)` makes one from measured steps.
        objective: ``"step_time"``: of one step; ``"throughput"``: what the busiest device or link works in a step,
            which steps in a pipeline can follow each other by; ``"memory"``: that all GPUs have room, then the fewest
            bytes at the peak of the fullest device.
        seconds: how long it may take, from the estimate to the last judgement; Ctrl-C gives the best so far. The first
            search on a machine takes some seconds more, in which its loops are compiled.
        seed: of the search's chances, from 0 on.
        keep: nodes that stay as they are: a pattern of their names (``"save/*"``), a scope, a function of the name,
            several of them, or a mapping from such to a device; True: whatever the program asks for.
        steps: how many choices to try, in place of a time; the same number and seed give the same advice.
        progress: called with a `SearchProgress` whenever there is something better, and several times a second;
            KeyboardInterrupt raised by it ends the search, as Ctrl-C does.

    Returns:
        An `Advice`.

    Raises:
        InvalidArgumentError: the graph cannot be placed even without its requests, what `keep` asks for cannot be met,
            nothing is to be run, or a number or the objective is wrong.
        OpError, TypeError: as of `gpuplace.estimate`.
    """
    check_question(objective, seconds, steps, seed)
    if progress is not None and not callable(progress):
        raise TypeError(f"progress is a function of a SearchProgress; got {progress!r}")
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
    case, bound, said = _case(graph, machine, objective, keep, config, release, part, options, cost_model)
    rehearsal = case.rehearsal
    # to place and to estimate takes as long at the end as at the beginning
    budget.leave(max(_JUDGED * seconds, time.perf_counter() - budget.begin))
    is_running = bool((rehearsal.step.node_runs > 0).any())
    if rehearsal.units.is_free.any() and is_running:
        best, reached, tried = _searched(case, budget, seed, progress)
        bound = max(bound, reached)
        if tried < 2 and budget.steps is None and not budget.was_stopped:
            said.append(_NO_TIME)
    else:
        best = _as_asked(case)
        said.append(
            _nothing_to_choose(case)
            if not rehearsal.units.is_free.any()
            else "No node of this step runs: none can be better elsewhere."
        )
    if not best.score.missing and best.score.value == 0:
        said.append("Nothing in this step takes any time: every placement is as good.")
    if objective == "memory" and not is_predicted(rehearsal, best.estimate):
        said += ["Memory is counted roughly.", *best.estimate.memory.sentences()]
    said += [f"Assumed: {sentence}." for sentence in best.estimate.shapes.assumed[:_ASSUMED]]
    said += unmet_wishes(case.asked.graph, case.kept, best.placement)
    return Advice(case, best, objective, bound, budget.was_stopped, said)


def check_question(objective: str, seconds: float, steps: int | None, seed: int) -> None:
    """Raises InvalidArgumentError for an unknown objective, or a number out of its range.

    Args:
        objective, seconds, steps, seed: as of `advise`.
    """
    if objective not in OBJECTIVES:
        raise InvalidArgumentError.of(
            f"There is no objective {objective!r}", hint=", ".join(map(repr, OBJECTIVES))
        )
    check_numbers(seconds, steps, seed)


def _case(
    graph: Any,
    machine: Any,
    objective: str,
    keep: Any,
    config: Any,
    release: str | None,
    part: Mapping[str, Any],
    options: Mapping[str, Any],
    cost_model: CostModel | None,
) -> tuple[Case, float, list[str]]:
    """The step with what may be chosen, what no placement is below, and what there is to say."""
    soft = None
    if isinstance(graph, Placement):
        machine = graph.device_set if machine is None else machine
        release = release or graph.release
        soft = graph.soft or None
    asked = place(graph, machine, config, release, on_error="keep", soft_placement=soft, **part)
    said: list[str] = []
    baseline = None

    def estimated(placement: Placement) -> Any:
        return estimate(placement, config=config, release=placement.release, cost_model=cost_model, **options)

    if asked.errors:
        said.append(f"As the program has it, it cannot be placed: {asked.errors[0].message.splitlines()[0]}")
        if keep is None:
            said.append("Its requests are left out of account.")
    else:
        baseline = estimated(asked)
        asked = baseline.placement
    kept = kept_requests(asked.graph, keep, asked)
    freedom = freedom_of(asked, kept)
    step = estimated(freedom.placement) if baseline is None else estimate_placed(baseline, freedom.placement)
    stay = freedom.default if baseline is None else _as_it_is(freedom, asked)
    units = units_of(freedom, step)
    limits = {
        freedom.placement.device_set.names.index(name): limit
        for name, (_, limit) in memory_limits(freedom.placement).items()
    }
    rehearsal = Rehearsal(step, freedom, units, objective, limits, stay, kept)
    case = Case(asked, baseline, rehearsal, kept)
    if objective == "memory":
        rehearsal.measure_memory()
    return case, step_bound(rehearsal), said


def _as_it_is(freedom: Any, asked: Placement) -> Ints:
    """[groups] devices of a placed program, where they are allowed."""
    now = freedom.default.copy()
    now[freedom.group] = asked.devices
    is_allowed = freedom.allowed[np.arange(len(now)), now]
    return np.where(is_allowed, now, freedom.default)


def _as_asked(case: Case) -> Judged:
    """The program as it is."""
    return judged(case, np.full(len(case.rehearsal.units.names), -1, dtype=np.int64))


def _searched(
    case: Case,
    budget: Budget,
    seed: int,
    progress: Callable[[SearchProgress], None] | None,
) -> tuple[Judged, float, int]:
    """The best choice, as the last judgement finds it, what no choice is below by the search, and what it tried.

    It is the program as it is where nothing is better.
    """
    search = StepSearch(case.rehearsal, budget, _SEARCHED, seed, progress)
    elite = search.run()
    until = budget.end
    if budget.was_stopped:
        until = min(until, time.perf_counter() + _AFTER_STOP)
    best = stays = _as_asked(case)
    for number, (_, device_of) in enumerate(elite):
        try:
            if number == 0:
                found = _with_fewer_moves(case, device_of, until)
            else:
                found = judged(case, relabelled(case.rehearsal, device_of, FINAL, until))
        except OpError:  # a placement that lowering makes impossible; there are others
            continue
        if _is_better(found, best):
            best = found
        if best is not stays and not best.score.missing or time.perf_counter() > until:
            break
    return _best_of(case, best, search.of_literature, until), search.bound, case.rehearsal.tried


def _with_fewer_moves(case: Case, device_of: Ints, until: float) -> Judged:
    """Judge the same choice without the moves that save next to nothing, by other labels of identical devices."""
    now = time.perf_counter()
    halfway = until if math.isinf(until) else now + _FIRST * (until - now)
    enough = case.rehearsal.score(device_of).value * (1 + GIVEN_UP)
    fewer = simplified(case.rehearsal, device_of, enough, _SIMPLIFIED, halfway)
    return with_other_labels(case, fewer, enough, until)


def with_other_labels(case: Case, device_of: Ints, enough: float, until: float) -> Judged:
    """Judge a choice by the labels of identical devices that move the fewest nodes.

    Args:
        case: what is judged.
        device_of: [units] positions of devices; -1 for units that are left alone.
        enough: the objective that is good enough, by its own labels, to do without moves.
        until: when to stop, by ``time.perf_counter``.
    """
    rehearsal = case.rehearsal
    by_labels = relabelled(rehearsal, device_of, FINAL, until)
    enough += rehearsal.score(by_labels).value - rehearsal.score(device_of).value
    fewer = simplified(rehearsal, by_labels, enough, _SIMPLIFIED, until)
    return judged(case, relabelled(rehearsal, fewer, LOSSLESS, until))


def _best_of(case: Case, best: Judged, choices: list[Ints], until: float) -> Judged:
    """The best choice, or one that others would have made if that is any better: an advice is above none of them."""
    rehearsal = case.rehearsal
    for device_of in sorted(choices, key=lambda choice: rehearsal.score(choice).value):
        if rehearsal.score(device_of).value >= best.score.value and not best.score.missing:
            break
        try:
            found = judged(case, relabelled(rehearsal, device_of, LOSSLESS, until))
        except OpError:
            continue
        if (found.score.missing, found.score.value) < (best.score.missing, best.score.value):
            best = found
    return best


def _is_better(new: Judged, old: Judged) -> bool:
    if new.score.missing != old.score.missing:
        return new.score.missing < old.score.missing
    return new.score.value < old.score.value * (1 - SAME)


def _nothing_to_choose(case: Case) -> str:
    devices = case.rehearsal.freedom.placement.device_labels
    if len(devices) == 1:
        return f"There is only one device, {devices[0]}: nothing can be elsewhere."
    return "No node of this step may run on another device than it does: there is nothing to choose."
