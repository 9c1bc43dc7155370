"""Lines that wait for copies which are queued beside the kernels of a real GPU.

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
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gpuplace.backends.pending_copy import ready
from gpuplace.plan.codegen.source import Source
from gpuplace.plan.schedule.liveness import Liveness
from gpuplace.plan.schedule.partition import Slot, Step


def queueing_copier(
    sender: Any, receiver: Any, source: Slot, target: Slot
) -> tuple[Callable[[Any], Any], Any]:
    """Copies that are queued when they return; see ``kernel_calls.Copier``."""
    if source.location.on_host:
        return receiver.queued.start_from_host, receiver
    if target.location.on_host:
        return sender.queued.start_to_host, sender
    return receiver.queued.starter_from(sender.queued), receiver


class Waits:
    """Which copies a plan has queued and not waited for.

    Args:
        source: what is written to.
        names: value to its name.
        liveness: the uses of values.
    """

    def __init__(self, source: Source, names: Mapping[Slot, str], liveness: Liveness) -> None:
        self._source = source
        self._names = names
        self._liveness = liveness
        self._copies: dict[Slot, Step] = {}
        """Values that are copied, and the steps that copy them."""
        self._waited: set[Slot] = set()
        """Those that the function has waited for in every case; each function of a long plan waits for itself."""

    def begin_function(self) -> None:
        """Begins a function."""
        self._waited.clear()

    def note_copy(self, step: Step) -> None:
        """Notes that a step queues a copy, if it does."""
        if step.is_copy and not self._liveness.is_alias(step):
            self._copies[step.outputs[0]] = step

    def wait_for(self, slot: Slot) -> None:
        """Adds the line that waits for a value, if it may be on its way."""
        name, root = self._names[slot], self._liveness.roots.get(slot, slot)
        copy = self._copies.get(root)
        if copy is None or root in self._waited:
            return
        self._source.namespace["ready"] = ready
        self._source.emit(copy, f"{name} = ready({name})")
        if self._source.indent == " ":
            self._waited.add(root)

    def wait_before_leaving(self, steps: Iterable[Step], end: int) -> None:
        """Adds the lines that wait for copies to GPUs whose values go to the functions of later steps.

        A GPU waits for a copy once, so before its value goes to another function.
        """
        for step in steps:
            if step.is_copy and not (slot := step.outputs[0]).location.on_host:
                if self._liveness.last_use.get(slot, -1) >= end:
                    self.wait_for(slot)
