"""Trials: a change of the program, placed by TensorFlow's rules, and its predicted step time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpuplace.advisor.steps.candidates import placed_with_requests, short_names
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
"""The memory use is checked if the variables that move to a GPU take more than this share of its memory."""
MOST = 8
"""Maximum number of changes of a step that are tried."""


@dataclass(frozen=True, eq=False)
class Trial:
    """Result of a change."""

    step: StepEstimate
    """Step after the change."""
    gain: float
    """Time saved in seconds; negative if the change costs time."""
    moved: tuple[tuple[str, str], ...]
    """Nodes of the step that change their device, with the short name of the new one."""


class Trials:
    """Evaluator of changes to one step; it evaluates at most `MOST`.

    Args:
        facts: the step.
    """

    def __init__(self, facts: StepFacts) -> None:
        self.facts, self.step = facts, facts.step
        self.names = short_names(facts.placement.device_set)
        self.tried = 0

    def with_requests(self, homes: Mapping[int, int]) -> Trial | None:
        """Place the program with other requests and predict the step.

        All nodes that share a device with a moved node request its new device, so none of their old requests
        contradicts it. TensorFlow's rules place the nodes without requests again.

        Args:
            homes: requested device of nodes of the step, both as positions.

        Returns:
            The trial; None if the program cannot be placed, does not fit, or too many changes were tried.
        """
        if not self._may_try():
            return None
        placement, nodes = self.facts.placement, self.step.part.nodes
        graph = placement.graph
        requests = [graph.requested_device(node) for node in range(len(graph))]
        kinds = [device.device_type for device in placement.device_set]
        device_of_root: dict[int, int] = {}

        def can_be(node: int, device: int) -> bool:
            return kinds[device] in dict(placement.group_supported(int(nodes[node])))

        possible = {node: device for node, device in homes.items() if can_be(node, device)}
        if not possible:
            return None
        for node, device in self.facts.with_company(possible).items():
            root = int(self.facts.root[node])
            if root in device_of_root or not can_be(node, device):
                continue
            device_of_root[root] = device
            for member in placement.group_of(int(nodes[node])):
                requests[member] = self.names[device]
        try:
            trial = self._compared(estimate_placed(self.step, placed_with_requests(placement, requests)))
        except OpError:  # these requests contradict each other: the change is not possible
            return None
        return trial if self._fits(trial.step) else None

    def fed(self, feeds: Mapping[Any, Any]) -> StepEstimate | None:
        """Predict the step with additional tensors fed.

        Args:
            feeds: shapes of these tensors, by name.
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
        """Predict the step with another batch size; None if the program fixes the batch size.

        Args:
            batch: batch size.
        """
        return self._estimate(lambda: estimate_batch(self.step, batch))

    def in_gpu_memory(self, homes: Mapping[int, int]) -> float | None:
        """Predict the step time in seconds if some kernels worked in GPU memory.

        Args:
            homes: GPU of each of these nodes, both as positions.
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
        produced_in_host = graph.is_made_in_host.copy()
        for node in homes:
            produced_in_host[graph.first_tensor[node] + 1 : graph.first_tensor[node + 1]] = 0
        reads = np.where(chosen[graph.node[graph.after]], 0, graph.reads_in_host)
        changes_memory = ((reads != produced_in_host[graph.tensor]) & is_data).astype(np.int64)
        changed = graph._replace(
            is_in_host=np.where(chosen, 0, graph.is_in_host),
            is_made_in_host=produced_in_host,
            reads_in_host=reads,
            changes_memory=changes_memory,
        )
        clock = StepClock(replace(step, graph=changed), self.step.cost_model, step_threads(self.step), device)
        return clock.seconds(device)

    def without_launches(self) -> float:
        """Predict the step time in seconds if kernel launches took no time."""
        return estimate_with(self.step, self.step.cost_model.without_host_times()).step_time

    def _fits(self, after: StepEstimate) -> bool:
        """Return whether GPUs have room for the variables that a change puts there; checked only if these are large."""
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
        except OpError:  # the graph does not allow this change
            return None

    def _compared(self, after: StepEstimate) -> Trial:
        """Return the trial; its gain is at most the current time of the moved nodes and of the copies for them.

        Another placement also changes the order in which the executor's threads process nodes, and so the step time.
        That is chance, not a gain.
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
