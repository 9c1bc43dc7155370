"""Plans with real GPUs: copies are queued where their values are there, and waited for where these are needed.

::

    def step(f0):
     enter1()
     t0 = k1(f0)             a copy to the GPU is queued
     t1 = k2(c0, c0)         beside it a product
     t0 = ready(t0)          from here on the GPU's kernels wait for the copy
     t1 = k4(t0, t1)
     t1 = k5(t1)             a copy to the host is queued
     t1 = ready(t1)          the host waits
     return [t1]

A line that waits belongs to the step that copies, so that errors name the node whose value was copied. In a branch of a
conditional every use waits for itself, as another branch may not have run.

When a step fails, the copies that it queued are waited for before the error goes to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuplace.backends.cupy_backend import CupyBackend, gpu_step
from gpuplace.backends.pending_copy import ready
from gpuplace.errors import InternalError
from gpuplace.plan.codegen.functions import PlanBuilder
from gpuplace.plan.executor import Plan
from gpuplace.plan.schedule.partition import Slot, Step

__all__ = ["PlanOnGPU", "StreamPlanBuilder"]


@dataclass
class StreamPlanBuilder(PlanBuilder):
    """Makes the code of a schedule whose copies from and to GPUs run beside its kernels."""

    _copies: dict[Slot, Step] = field(default_factory=dict)
    """Values that are copied, and the steps that copy them."""
    _waited: set[Slot] = field(default_factory=set)
    """Those that the function has waited for in every case; each function of a long plan waits for itself."""

    def _begin(self) -> None:
        super()._begin()
        self._waited.clear()

    def copier(self, source: Slot, target: Slot) -> tuple[Callable[[Any], Any] | None, Any]:
        """The function that queues a copy from one location to another, None if both are host memory."""
        sender, receiver = self.backends[source.location.device], self.backends[target.location.device]
        if source.location.on_host:
            return (None, receiver) if target.location.on_host else (receiver.start_from_host, receiver)
        if target.location.on_host:
            return sender.start_to_host, sender
        return receiver.starter_from(sender), receiver

    def add(self, number: int, step: Step) -> None:
        """Adds the lines of a step."""
        super().add(number, step)
        if step.is_copy and not self.is_alias(step):
            self._copies[step.outputs[0]] = step

    def _add_steps(self, start: int, end: int) -> None:
        """Adds the lines of steps; a copy to a GPU is waited for once, so before its value goes to another function."""
        super()._add_steps(start, end)
        for step in self.schedule.steps[start:end]:
            if step.is_copy and not (slot := step.outputs[0]).location.on_host and self._last[slot] >= end:
                self._wait_for(slot)

    def expressions(self, step: Step) -> list[str]:
        """What the kernel is called with; before it, the lines that wait for it."""
        for slot in step.inputs:
            self._wait_for(slot)
        return super().expressions(step)

    def _fetched(self, slot: Slot, position: int) -> str:
        self._wait_for(slot)
        return super()._fetched(slot, position)

    def _wait_for(self, slot: Slot) -> None:
        name, root = self.names[slot], self._roots.get(slot, slot)
        copy = self._copies.get(root)
        if copy is None or root in self._waited:
            return
        self.namespace["ready"] = ready
        self.emit(copy, f"{name} = ready({name})")
        if not self._indent:
            self._waited.add(root)


class PlanOnGPU(Plan):
    """A plan that changes the thread's current device and queues work on GPUs.

    Args:
        gpus: the real ones among its devices.
    """

    def __init__(self, *arguments: Any, gpus: Sequence[CupyBackend], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._gpus = tuple(gpus)

    def run(self, feeds: Sequence[Any]) -> list[Any]:
        """As ``Plan.run``."""
        with gpu_step():
            try:
                return self.run_entered(feeds)
            except BaseException as error:
                self.settle(error)
                raise
            finally:
                for gpu in self._gpus:
                    gpu.streams.let_go()

    def run_entered(self, feeds: Sequence[Any]) -> list[Any]:
        """Does the work of ``run``, which cleans up behind it."""
        return super().run(feeds)

    def settle(self, error: BaseException) -> None:
        """Waits for the copies of a step that failed with ``error``."""
        for gpu in self._gpus:
            try:
                gpu.streams.settle()
            except InternalError as late:  # one error for the caller, with both texts
                error.add_note(f"A copy that was under way: {late.message}")
