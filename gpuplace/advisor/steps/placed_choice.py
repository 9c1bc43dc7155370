"""Final evaluation of a choice: the graph placed with its requests, and the estimate of that placement.

The rough memory estimate suffices if GPUs are far from full; otherwise each simulated GPU's allocator runs, as in
`StepEstimate.memory`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.candidates import own_nodes, placed_with_requests, requests_for
from gpuplace.advisor.steps.choice_scores import ChoiceScorer, Score, largest_load
from gpuplace.advisor.steps.rebuilt_gradients import with_uncontrolled_nodes
from gpuplace.advisor.steps.rest_of_graph import with_rest_of_graph
from gpuplace.cost.estimate import estimate_placed, step_threads
from gpuplace.cost.memory.step_memory import fullest
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.graph import Graph
from gpuplace.graphdef.messages import GraphDef
from gpuplace.graphdef.model import PlacedPart
from gpuplace.runtime.session.place import place
from gpuplace.why.placement import Placement

Ints = NDArray[np.int64]
_FAR = 0.6
"""Fraction of a GPU's memory up to which the rough estimate is trusted."""


@dataclass(frozen=True, eq=False)
class Case:
    """A step with its candidate devices."""

    original: Placement
    """The program with its own requests, placed as far as possible."""
    baseline: StepEstimate | None
    """Estimate of the program; None if it cannot be placed."""
    scorer: ChoiceScorer
    kept: Mapping[int, str]
    """Node to the device that it must request."""

    @property
    def in_step(self) -> NDArray[np.bool_]:
        """[groups] whether the step runs the group."""
        return self.scorer.units.of_group >= 0


@dataclass(frozen=True, eq=False)
class PlacedChoice:
    """A choice, placed by TensorFlow's rules and estimated."""

    device_of: Ints
    """[units] devices; -1 for units that stay."""
    requests: tuple[str, ...]
    """[nodes] requested devices."""
    placement: Placement
    estimate: StepEstimate
    score: Score


def place_choice(case: Case, device_of: Ints) -> PlacedChoice:
    """Place and estimate a choice.

    Args:
        case: the step.
        device_of: [units] devices; -1 for units that stay.

    Raises:
        InvalidArgumentError: The choice cannot be placed.
    """
    scorer = case.scorer
    graph = case.original.graph
    if case.baseline is not None and (device_of < 0).all():
        requests = [graph.requested_device(node) for node in range(len(graph))]
        placement, step = case.original, case.baseline
    else:
        free = scorer.candidates
        homes = scorer.homes(device_of)
        devices = with_rest_of_graph(free, homes, scorer.stay, case.in_step)
        is_kept = np.zeros(len(graph), dtype=bool)
        is_kept[list(case.kept)] = True
        devices = with_uncontrolled_nodes(free, devices, is_kept)
        requests = requests_for(free.placement, devices, case.kept)
        placement = placed_with(free.placement, requests)
        step = estimate_placed(scorer.step, placement)
    return PlacedChoice(device_of, tuple(requests), placement, step, _score(scorer, step))


def rescored(case: Case, placed: PlacedChoice) -> PlacedChoice:
    """Return a placed choice with the score of the case's own objective.

    Args:
        case: the step.
        placed: choice of the same step, scored by any objective.
    """
    return replace(placed, score=_score(case.scorer, placed.estimate))


def is_predicted(scorer: ChoiceScorer, step: StepEstimate) -> bool:
    """Whether the allocators' peaks are known; they are unknown if a variable has no initial value.

    Args:
        scorer: step to evaluate.
        step: the estimate of a placement.
    """
    return not step.memory.unknown or not scorer.limits


def _score(scorer: ChoiceScorer, step: StepEstimate) -> Score:
    total = step.step_time
    peaks = scorer.peaks(step.part.device, step.flow)
    is_full = any(peaks[device] > _FAR * limit for device, limit in scorer.limits.items())
    missing, most = 0.0, 0.0
    if is_full or scorer.objective == "memory":
        if is_predicted(scorer, step):
            missing = float(sum(use.short for use in step.memory.devices))
            most = fullest(step.peak_memory) or 0.0
        else:
            missing = sum(max(0.0, peaks[device] - limit) for device, limit in scorer.limits.items())
            most = max(peaks.tolist(), default=0.0)
    if scorer.objective == "throughput":
        value = largest_load(step.flow, step_threads(step))
    elif scorer.objective == "memory":
        value = most
    else:
        value = total
    return Score(missing, value, total)


def graph_def_with_requests(placement: Placement, requests: Mapping[str, str]) -> Any:
    """Return the placed graph, in the form of the program, with other requests.

    Args:
        placement: placement of the graph.
        requests: node to requested device; other nodes keep their requests.

    Returns:
        A ``GraphDef``.

    Raises:
        InvalidArgumentError: The placement contains no graph.
    """
    source = placement.graph.source
    graph_def = GraphDef()
    if isinstance(source, Graph):
        graph_def.CopyFrom(source.as_graph_def())
    elif isinstance(source, PlacedPart):
        graph_def.CopyFrom(source.model.graph_def(source.part, placement.placer.catalogue))
    else:
        raise InvalidArgumentError.of(
            "The placement was not made from a graph that can be exported",
            hint="place a Graph, a GraphDef or a file",
        )
    for node in graph_def.node:
        requested = requests.get(node.name)
        if requested is not None:
            node.device = requested
    return graph_def


def placed_with(placement: Placement, requests: Sequence[str], on_error: str = "raise") -> Placement:
    """Place a program on the same machine with other requests.

    A graph that contains only the program's own nodes is placed as it is; a lowered graph is lowered again, because
    lowering depends on devices.

    Args:
        placement: placement of the program.
        requests: [nodes] requested devices; ``""`` for none.
        on_error: as for `gpuplace.place`.

    Raises:
        InvalidArgumentError: The program cannot be placed.
    """
    own = own_nodes(placement.graph)
    if own.all():
        return placed_with_requests(placement, requests, on_error)
    requested = {
        name: text
        for name, text, is_own in zip(placement.graph.names, requests, own.tolist(), strict=True)
        if is_own
    }
    placed = place(
        graph_def_with_requests(placement, requested),
        placement.device_set,
        release=placement.release,
        on_error=on_error,
        catalogue=placement.placer.catalogue,
        soft_placement=placement.soft,
    )
    has_same_nodes = placed.graph.names == placement.graph.names
    return placed if has_same_nodes else placed_with_requests(placement, requests, on_error)
