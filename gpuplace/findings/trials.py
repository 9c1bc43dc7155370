"""Changes of a step, tried: the program placed with other requests by TensorFlow's rules, and its clock run again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpuplace.advisor.steps.freedom import placed_asking, short_names
from gpuplace.cost.estimate import (
    estimate_batch,
    estimate_placed,
    estimate_request,
    estimate_with,
    step_threads,
)
from gpuplace.cost.memory.step_memory import memory_limits
from gpuplace.cost.memory.variables import variable_bytes
from gpuplace.cost.step_clock import StepClock
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.errors import OpError
from gpuplace.findings.facts import Bools, StepFacts

_LARGE = 0.2
"""The part of a GPU's memory above which variables that move there are looked at."""
MOST = 8
"""Changes of one step that are tried."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A change that was tried."""

    step: StepEstimate
    """The step after the change."""
    gain: float
    """Seconds that it saves; below 0 where it costs time."""
    moved: tuple[tuple[str, str], ...]
    """Nodes of the step that are on another device, with that device's short name."""


class Trials:
    """Tries changes of one step, at most `MOST`.

    Args:
        facts: the step.
    """

    def __init__(self, facts: StepFacts) -> None:
        self.facts, self.step = facts, facts.step
        self.names = short_names(facts.placement.device_set)
        self.tried = 0

    def with_requests(self, homes: Mapping[int, int]) -> Trial | None:
        """Place the program with other requests and predict the step; None where that cannot be placed.

        All nodes that share a device with one that is to move ask for its new device, so that no old request of theirs
        contradicts. Whatever asks for nothing is placed again by TensorFlow's rules.

        Args:
            homes: node of the step to the device that it is to ask for, by their positions.
        """
        if not self._may_try():
            return None
        placement, nodes = self.facts.placement, self.step.part.nodes
        graph = placement.graph
        requests = [graph.requested_device(node) for node in range(len(graph))]
        kinds = [device.device_type for device in placement.device_set]
        done: dict[int, int] = {}

        def can_be(node: int, device: int) -> bool:
            return kinds[device] in dict(placement.group_supported(int(nodes[node])))

        possible = {node: device for node, device in homes.items() if can_be(node, device)}
        if not possible:
            return None
        for node, device in self.facts.with_company(possible).items():
            root = int(self.facts.root[node])
            if root in done or not can_be(node, device):
                continue
            done[root] = device
            for member in placement.group_of(int(nodes[node])):
                requests[member] = self.names[device]
        try:
            trial = self._compared(estimate_placed(self.step, placed_asking(placement, requests)))
        except OpError:  # these requests contradict each other: the change is not possible
            return None
        return trial if self._fits(trial.step) else None

    def fed(self, feeds: Mapping[Any, Any]) -> StepEstimate | None:
        """Predict the step with some tensors made before it, and fed.

        Args:
            feeds: name of a tensor to its shape.
        """
        request = self.step.request
        return self._estimate(
            lambda: estimate_request(
                self.step.placement,
                replace(request, feeds={**request.feeds, **feeds}),
                self.step.cost_model,
            )
        )

    def with_batch(self, batch: int) -> StepEstimate | None:
        """Predict the step with another batch size; None where the program fixes the batch.

        Args:
            batch: examples in a step.
        """
        return self._estimate(lambda: estimate_batch(self.step, batch))

    def in_gpu_memory(self, homes: Mapping[int, int]) -> float | None:
        """Predict the seconds of the step if some kernels worked in the memory of GPUs.

        Args:
            homes: node of the step to the GPU that it is to be on.
        """
        if not self._may_try():
            return None
        step = self.step.flow.step
        graph = step.graph
        chosen = np.zeros(len(graph.row), dtype=bool)
        chosen[list(homes)] = True
        device = self.step.part.device.copy()
        device[list(homes)] = list(homes.values())
        is_data = graph.tensor != graph.first_tensor[graph.node[step.edge_sources]]
        made = graph.is_made_in_host.copy()
        for node in homes:
            made[graph.first_tensor[node] + 1 : graph.first_tensor[node + 1]] = 0
        reads = np.where(chosen[graph.node[graph.after]], 0, graph.reads_in_host)
        turned = ((reads != made[graph.tensor]) & is_data).astype(np.int64)
        changed = graph._replace(
            is_in_host=np.where(chosen, 0, graph.is_in_host),
            is_made_in_host=made,
            reads_in_host=reads,
            is_turned=turned,
        )
        clock = StepClock(replace(step, graph=changed), self.step.cost_model, step_threads(self.step), device)
        return clock.seconds(device)

    def without_launches(self) -> float:
        """Predict the seconds of the step if the host started kernels in no time."""
        return estimate_with(self.step, self.step.cost_model.without_host_times()).step_time

    def _fits(self, after: StepEstimate) -> bool:
        """Whether GPUs have room for the variables that a change puts there, where these are at all large."""
        before = variable_bytes(self.step.placement)
        limits = memory_limits(after.placement)
        grown = {
            name: nbytes
            for name, nbytes in variable_bytes(after.placement).items()
            if name in limits and nbytes > before.get(name, 0)
        }
        is_large = any(nbytes > _LARGE * limits[name][1] for name, nbytes in grown.items())
        return not is_large or after.memory.fits is True

    def _may_try(self) -> bool:
        self.tried += 1
        return self.tried <= MOST

    def _estimate(self, predict: Callable[[], StepEstimate]) -> StepEstimate | None:
        if not self._may_try():
            return None
        try:
            return predict()
        except OpError:  # the graph fixes what was to be changed
            return None

    def _compared(self, after: StepEstimate) -> Trial:
        """A trial, with what it saves at most: what the moved nodes, and the copies for them, take now.

        Another placement also changes the order in which the executor's threads come to nodes, and with it the length
        of the step; that is chance, and no gain.
        """
        before, facts = self.step, self.facts
        differs: Bools = (after.part.device != before.part.device) & facts.runs
        moved = tuple(
            (facts.names[node], facts.labels[int(after.part.device[node])])
            for node in np.flatnonzero(differs).tolist()
        )
        most = (
            float(facts.seconds[differs].sum())
            + facts.copied(differs).seconds
            + facts.copied(None, differs).seconds
        )
        return Trial(after, min(before.step_time - after.step_time, most), moved)
