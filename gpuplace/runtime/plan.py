"""A schedule as one Python function.

Every kernel is bound to its node beforehand; what remains is a straight line of calls, in which a name is given up or
taken over as soon as its value is dead::

    c = tf.matmul(x, w) + b        def step(f0):
                                       t0 = k2(f0, c1)
                                       t0 = k4(t0, c3)
                                       return [t0]

Constants are globals of the function, named after their slot. A line belongs to one step, so that an error is traced
back to its node without any work while all goes well. Plans that measure or that account for memory come from the same
builder with other lines; nothing is asked while a plan runs.

The builder is made of the kinds of lines it writes, each on top of the one before: ``plan_lines`` (names and
lifetimes), ``memory_lines`` (where results lie), ``kernel_lines`` (kernels, constants and copies), ``branch_lines``
(conditionals) and, here, the feeds at the beginning and the fetches at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np

from gpuplace.dtypes import resource
from gpuplace.runtime.branch_lines import BranchLines
from gpuplace.runtime.partition import Slot, Step, retval_name

__all__ = ["PlanBuilder", "PlanCode"]


@dataclass(slots=True, eq=False)
class PlanCode:
    """A compiled plan."""

    function: Callable[..., list[Any]]
    """Takes the feeds in order, gives the fetches in order."""
    code: CodeType
    """Its code, by which tracebacks are recognised."""
    owners: list[Step | None]
    """Line number, from 1, to the step it belongs to, at that index."""
    arguments: dict[int, tuple[str, ...]]
    """Line number to the names of the values that the kernel on this line takes."""
    blamed: dict[int, str]
    """Line number to the node that errors name, where it is not the step's."""
    source: str
    """The text."""


@dataclass
class PlanBuilder(BranchLines):
    """Makes the code of a schedule."""

    def build(self) -> PlanCode:
        """Compiles the schedule.

        Raises:
            UnimplementedError: a node has no function that computes it.
            ResourceExhaustedError: a constant does not fit on its simulated GPU.
        """
        schedule = self.schedule
        self._find_uses()
        for slot in schedule.feeds:
            self._add_feed(slot)
        own = [*(["check"] if self.is_timed else []), *self.parameters]
        parameters = ", ".join([*own, *(self.names[slot] for slot in schedule.feeds)])
        for number, step in enumerate(schedule.steps):
            is_early = self.retires_early and self.backends[step.device].memory is None
            if is_early:
                self._retire(number, step)
            self._add_guarded(number, step)
            if not is_early:
                self._retire(number, step)
            self._drop_dead(step)
        self._check_fetches()
        fetched = ", ".join([self._fetched(slot, position) for position, slot in enumerate(schedule.fetches)])
        self.emit(None, f"return [{fetched}]")
        source = f"def step({parameters}):\n" + "\n".join(f" {line}" for line in self.lines) + "\n"
        namespace, self.namespace = self.namespace, {}
        self._forget_guards()
        exec(compile(source, "<plan>", "exec"), namespace)
        function = namespace.pop(
            "step"
        )  # in no cycle, so that constants are given back when the session closes
        return PlanCode(function, function.__code__, self.owners, self.arguments, self.blamed, source)

    def uses(self) -> tuple[dict[Slot, Step], dict[Slot, list[Step]]]:
        """Who makes and who takes every value."""
        self._find_uses()
        self._forget_guards()
        return self._producers, self._readers

    def _add_feed(self, slot: Slot) -> None:
        """Names a fed value; it is copied where a kernel may keep it."""
        name = self.names[slot] = f"f{slot.index}"
        if self._may_be_kept(slot):
            self.namespace["copied"] = np.array
            self.emit(None, f"{name} = copied({name})")

    def _fetched(self, slot: Slot, position: int) -> str:
        """The expression that gives a caller a value of its own: an array, or a scalar for rank 0."""
        name = self.names[slot]
        tensor = slot.tensor
        if tensor.dtype.base_dtype is resource:
            return name
        self.namespace["copied"], self.namespace["fetched"] = np.array, _fetched_value
        producer = self._producers.get(slot)
        if producer is None:  # fed
            return f"copied({name})"
        rank = tensor.shape.ndims
        if slot.is_ref:
            value = f"x{position}"
            self.blamed[len(self.owners)] = retval_name(tensor, position)
            self.emit(producer, f"{value} = copied({name}.value)")
        elif self._makes_new(producer) and not self._may_be_kept(slot):
            value = name
        elif rank == 0:
            return f"{name}[()]"
        else:
            value = f"copied({name})"
        if rank is None:
            return f"fetched({value})"
        return value if rank else f"{value}[()]"


def _fetched_value(value: Any) -> Any:
    return value if value.ndim else value[()]
