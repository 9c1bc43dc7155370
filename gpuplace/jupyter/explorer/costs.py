"""The predicted cost of a step under the explorer's settings: computed on demand, and cached while nothing changes.

If only the machine, its options or soft placement changed, shapes and work of the last estimate are reused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpuplace.cost.batches import batch_of
from gpuplace.cost.estimate import estimate, estimate_placed
from gpuplace.cost.grid import GridRow, cost_grid, fed_shapes
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.device.network import Network
from gpuplace.errors import InvalidArgumentError
from gpuplace.jupyter.explorer.settings import Settings
from gpuplace.jupyter.explorer.what_if import WhatIf

_COUNTS = (1, 2, 4, 8)
_NETWORKS = ("1GbE", "10GbE", "25GbE", "100GbE")


class Costs:
    """Estimates of the shown placement.

    Args:
        what_if: the source of placements.

    Attributes:
        machines: the machines to compare, as typed, separated by ``;`` (clusters by ``|``); ``""`` for those of
            `suggested`.
        batches: the batch sizes to compare, as typed.
        grid: the result of the comparison; None before, and after the graph or the step changed.
        is_due: whether the comparison runs again when it is shown.
    """

    def __init__(self, what_if: WhatIf) -> None:
        self.what_if = what_if
        self.machines = self.batches = ""
        self.grid: list[GridRow] | None = None
        self.is_due = False
        self._step: StepEstimate | None = None
        self._settings: Settings | None = None
        self._before: float | None = None

    def estimate(self) -> StepEstimate:
        """The predicted step under the current settings.

        Raises:
            OpError: the graph cannot be placed, or it does not contain a fetch or feed.
        """
        state = self.what_if
        if state.error is not None:
            raise state.error
        settings = state.settings
        if self._step is not None and self._settings == settings:
            return self._step
        old, previous = self._step, self._settings
        is_same_step = (
            old is not None
            and previous is not None
            and (previous.part, previous.release, previous.call, previous.fetches, previous.feeds)
            == (settings.part, settings.release, settings.call, settings.fetches, settings.feeds)
        )
        if (
            is_same_step
            and old is not None
            and previous is not None
            and replace(previous, requests=settings.requests) == settings
            and old.placement.graph.names == state.placement.graph.names
        ):
            step = estimate_placed(old, state.placement)
        elif (
            is_same_step
            and old is not None
            and previous is not None
            and previous.requests == settings.requests
            and not settings.call
        ):
            step = old.what_if(
                machine=state.placement.device_set,
                config=settings.config,
                soft_placement=settings.soft_placement,
            )
        else:
            self.grid = None
            step = estimate(
                state.placement,
                list(settings.fetches) or None,
                fed_shapes(settings.feeds),
                state.placement.device_set,
                settings.config,
                settings.release,
            )
        self._before = old.step_time if is_same_step and old is not None else None
        self._step, self._settings = step, settings
        return step

    @property
    def known(self) -> StepEstimate | None:
        """The predicted step of the current settings if it is already computed, otherwise None."""
        state = self.what_if
        return self._step if state.error is None and self._settings == state.settings else None

    @property
    def before(self) -> float | None:
        """The step time in seconds before the last change of settings; None if there was none."""
        return self._before

    def suggested(self) -> tuple[str, str]:
        """Suggested machines and batch sizes to compare; for a cluster, networks."""
        settings = self.what_if.settings
        models = {gpu.name for gpu in settings.machine.gpus}
        machines = [f"{count}x {next(iter(models))}" for count in _COUNTS] if len(models) == 1 else []
        if str(settings.machine) not in machines:
            machines.insert(0, str(settings.machine))
        batch = batch_of(fed_shapes(settings.feeds))
        sizes = (
            [size for size in (batch // 4, batch // 2, batch, 2 * batch, 4 * batch) if size] if batch else []
        )
        batches = ", ".join(map(str, dict.fromkeys(sizes)))
        if settings.machine.tasks:
            networks = dict.fromkeys([settings.machine.network, *map(Network.parse, _NETWORKS)])
            return " | ".join(
                str(replace(settings.machine, network=network)) for network in networks
            ), batches
        return "; ".join(machines), batches

    def compare(self) -> None:
        """Predict the step on all machines with all batch sizes.

        Raises:
            OpError: there is no estimate, or no batch dimension.
        """
        self.is_due = False
        machines, batches = self.suggested()
        text = self.machines or machines
        between = "|" if "|" in text or self.what_if.settings.machine.tasks else ";"
        texts = [part.strip() for part in text.split(between) if part.strip()]
        self.grid = cost_grid(self.estimate(), texts, _numbers(self.batches or batches))


def _numbers(text: str) -> Sequence[int]:
    """Parse batch sizes.

    >>> _numbers("16, 32")
    [16, 32]
    """
    parts = [part for part in text.replace(",", " ").split() if part]
    if any(not part.isdecimal() or int(part) < 1 for part in parts):
        raise InvalidArgumentError.of(
            f"Batch sizes must be positive integers; got {text!r}", hint="for example: 16, 32, 64"
        )
    return [int(part) for part in parts]
