"""What the step costs under the explorer's settings: predicted when it is asked for, and kept while nothing changes.

Shapes and work are those of the last estimate where only the machine, its options or soft placement changed.
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
    """Estimates of the placement that is shown.

    Args:
        what_if: where placements come from.

    Attributes:
        machines: what to compare, as it was typed, with ``;`` between machines and ``|`` between clusters; ``""`` for
            what `suggested` says.
        batches: batch sizes to compare, as they were typed.
        grid: what came of comparing; None before, and after the graph or the step changed.
        is_due: whether they are to be compared anew when they are shown.
    """

    def __init__(self, what_if: WhatIf) -> None:
        self.what_if = what_if
        self.machines = self.batches = ""
        self.grid: list[GridRow] | None = None
        self.is_due = False
        self._step: StepEstimate | None = None
        self._asked: Settings | None = None
        self._before: float | None = None

    def estimate(self) -> StepEstimate:
        """The step of the current settings.

        Raises:
            OpError: the graph cannot be placed, or a fetch or feed is not one of it.
        """
        state = self.what_if
        if state.error is not None:
            raise state.error
        settings = state.settings
        if self._step is not None and self._asked == settings:
            return self._step
        old, asked = self._step, self._asked
        is_same_step = (
            old is not None
            and asked is not None
            and (asked.part, asked.release, asked.call, asked.fetches, asked.feeds)
            == (settings.part, settings.release, settings.call, settings.fetches, settings.feeds)
        )
        if (
            is_same_step
            and old is not None
            and asked is not None
            and replace(asked, requests=settings.requests) == settings
            and old.placement.graph.names == state.placement.graph.names
        ):
            found = estimate_placed(old, state.placement)
        elif (
            is_same_step
            and old is not None
            and asked is not None
            and asked.requests == settings.requests
            and not settings.call
        ):
            found = old.what_if(
                machine=state.placement.device_set,
                config=settings.config,
                soft_placement=settings.soft_placement,
            )
        else:
            self.grid = None
            found = estimate(
                state.placement,
                list(settings.fetches) or None,
                fed_shapes(settings.feeds),
                state.placement.device_set,
                settings.config,
                settings.release,
            )
        self._before = old.step_time if is_same_step and old is not None else None
        self._step, self._asked = found, settings
        return found

    @property
    def known(self) -> StepEstimate | None:
        """The step of the current settings where it was predicted already; None otherwise."""
        state = self.what_if
        return self._step if state.error is None and self._asked == state.settings else None

    @property
    def before(self) -> float | None:
        """Seconds of the same step before the last change; None where there was none."""
        return self._before

    def suggested(self) -> tuple[str, str]:
        """Machines and batch sizes that may be worth a comparison; of a cluster, networks."""
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
            return " | ".join(str(replace(settings.machine, network=one)) for one in networks), batches
        return "; ".join(machines), batches

    def compare(self) -> None:
        """Predicts the step on all machines with all batch sizes.

        Raises:
            OpError: there is no estimate, or no batch.
        """
        self.is_due = False
        machines, batches = self.suggested()
        text = self.machines or machines
        between = "|" if "|" in text or self.what_if.settings.machine.tasks else ";"
        texts = [part.strip() for part in text.split(between) if part.strip()]
        self.grid = cost_grid(self.estimate(), texts, _numbers(self.batches or batches))


def _numbers(text: str) -> Sequence[int]:
    """Batch sizes of a text.

    >>> _numbers("16, 32")
    [16, 32]
    """
    parts = [part for part in text.replace(",", " ").split() if part]
    if any(not part.isdecimal() or int(part) < 1 for part in parts):
        raise InvalidArgumentError.of(
            f"Batch sizes are whole numbers from 1 on; got {text!r}", hint="16, 32, 64"
        )
    return [int(part) for part in parts]
