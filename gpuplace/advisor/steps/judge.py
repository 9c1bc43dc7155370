"""The last judgement of a choice: the graph placed with its requests, and that placement's own estimate.

The rough count of memory is enough where GPUs are far from full; else the allocator of each simulated GPU is driven,
as `StepEstimate.memory` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.freedom import own_nodes, placed_asking, requests_of
from gpuplace.advisor.steps.rebuilt import with_the_untold
from gpuplace.advisor.steps.rehearsal import Rehearsal, Score, largest_load
from gpuplace.advisor.steps.rest_of_graph import with_the_rest
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
"""Parts of a GPU's memory up to which the rough count is believed."""


@dataclass(frozen=True, eq=False)
class Case:
    """What is judged: a step with what may be chosen."""

    asked: Placement
    """The program with its own requests, placed as far as that is possible."""
    baseline: StepEstimate | None
    """Its estimate; None where it cannot be placed."""
    rehearsal: Rehearsal
    kept: Mapping[int, str]
    """Node -> the device that it has to ask for."""

    @property
    def in_step(self) -> NDArray[np.bool_]:
        """[groups] what the step runs."""
        return self.rehearsal.units.of_group >= 0


@dataclass(frozen=True, eq=False)
class Judged:
    """A choice with what TensorFlow makes of it."""

    device_of: Ints
    """[units] devices; -1 for what is left alone."""
    requests: tuple[str, ...]
    """[nodes] what each asks for."""
    placement: Placement
    estimate: StepEstimate
    score: Score


def judged(case: Case, device_of: Ints) -> Judged:
    """A choice, placed and estimated.

    Args:
        case: what is judged.
        device_of: [units] devices; -1 for what is left alone.

    Raises:
        InvalidArgumentError: it cannot be placed.
    """
    rehearsal = case.rehearsal
    graph = case.asked.graph
    if case.baseline is not None and (device_of < 0).all():
        requests = [graph.requested_device(node) for node in range(len(graph))]
        placement, step = case.asked, case.baseline
    else:
        free = rehearsal.freedom
        homes = rehearsal.homes(device_of)
        devices = with_the_rest(free, homes, rehearsal.stay, case.in_step)
        is_kept = np.zeros(len(graph), dtype=bool)
        is_kept[list(case.kept)] = True
        devices = with_the_untold(free, devices, is_kept)
        requests = requests_of(free.placement, devices, case.kept)
        placement = placed_with(free.placement, requests)
        step = estimate_placed(rehearsal.step, placement)
    return Judged(device_of, tuple(requests), placement, step, _score(rehearsal, step))


def is_predicted(rehearsal: Rehearsal, step: StepEstimate) -> bool:
    """Whether the allocators' peaks are known; they are not where a variable has no initial value, and counted roughly.

    Args:
        rehearsal: of the step.
        step: the estimate of a placement.
    """
    return not step.memory.unknown or not rehearsal.limits


def _score(rehearsal: Rehearsal, step: StepEstimate) -> Score:
    total = step.step_time
    peaks = rehearsal.peaks(step.part.device, step.flow)
    is_full = any(peaks[device] > _FAR * limit for device, limit in rehearsal.limits.items())
    missing, most = 0.0, 0.0
    if is_full or rehearsal.objective == "memory":
        if is_predicted(rehearsal, step):
            missing = float(sum(use.short for use in step.memory.devices))
            most = fullest(step.peak_memory) or 0.0
        else:
            missing = sum(max(0.0, peaks[device] - limit) for device, limit in rehearsal.limits.items())
            most = max(peaks.tolist(), default=0.0)
    if rehearsal.objective == "throughput":
        value = largest_load(step.flow, step_threads(step))
    elif rehearsal.objective == "memory":
        value = most
    else:
        value = total
    return Score(missing, value, total)


def graph_def_asking(placement: Placement, requests: Mapping[str, str]) -> Any:
    """The graph that was placed, as the program has it, with other requests.

    Args:
        placement: of the graph.
        requests: node -> what it asks for; nodes that are not named ask for what they did.

    Returns:
        A ``GraphDef``.

    Raises:
        InvalidArgumentError: the placement keeps no graph.
    """
    source = placement.graph.source
    made = GraphDef()
    if isinstance(source, Graph):
        made.CopyFrom(source.as_graph_def())
    elif isinstance(source, PlacedPart):
        made.CopyFrom(source.model.graph_def(source.part, placement.placer.catalogue))
    else:
        raise InvalidArgumentError.of(
            "The placement keeps no graph that could be written", hint="a Graph, a GraphDef or a file"
        )
    for node in made.node:
        asked = requests.get(node.name)
        if asked is not None:
            node.device = asked
    return made


def placed_with(placement: Placement, requests: Sequence[str], on_error: str = "raise") -> Placement:
    """A program placed on the same machine with other requests.

    A graph of the program's own nodes is placed as it is; a lowered one is lowered again, as devices count there.

    Args:
        placement: of the program.
        requests: [nodes] what each asks for; ``""`` for nothing.
        on_error: as of `gpuplace.place`.

    Raises:
        InvalidArgumentError: it cannot be placed.
    """
    own = own_nodes(placement.graph)
    if own.all():
        return placed_asking(placement, requests, on_error)
    asking = {
        name: text
        for name, text, is_own in zip(placement.graph.names, requests, own.tolist(), strict=True)
        if is_own
    }
    found = place(
        graph_def_asking(placement, asking),
        placement.device_set,
        release=placement.release,
        on_error=on_error,
        catalogue=placement.placer.catalogue,
        soft_placement=placement.soft,
    )
    has_same_nodes = found.graph.names == placement.graph.names
    return found if has_same_nodes else placed_asking(placement, requests, on_error)
