"""Lines of a plan for conditionals: a branch's steps stand below an ``if``.

::

    g0 = bool(f0)
    g1 = not g0
    if g1:
     t0 = k3(f1)
    else: t0 = None
    t0, t1 = (t0, i4) if g1 else (f1, i5)        the Merge

Which guards a step has is worked out in ``guards``.

Source: tensorflow/core/common_runtime/executor.cc, release 1.15 (dead tensors; fetching one).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.operation import Operation
from gpuplace.runtime.guards import Guards
from gpuplace.runtime.kernel_lines import KernelLines
from gpuplace.runtime.partition import MERGES, SWITCHES, Slot, Step

__all__ = ["BranchLines"]


@dataclass
class BranchLines(KernelLines):
    """The part of a ``PlanBuilder`` that puts steps below the guards of their branch."""

    _current: Step | None = None
    _guards: Guards = field(init=False)
    _guard_of: dict[Slot | Operation, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._guards = Guards(lambda line: self.emit(self._current, line))

    def _forget_guards(self) -> None:
        """Ends the cycle in which they call back: it would keep the session."""
        del self._guards

    def add(self, number: int, step: Step) -> None:
        """Adds the lines of a step."""
        kind = step.op_type
        if kind in SWITCHES:
            self._add_switch(number, step)
        elif kind in MERGES:
            self._add_merge(number, step)
        else:
            super().add(number, step)

    def _add_guarded(self, number: int, step: Step) -> None:
        """Adds the lines of a step, in a branch of a conditional below an ``if``."""
        op = step.op
        if self.is_timed:
            self.add_check(number)
        if not self._guard_of and (op is None or op.type not in SWITCHES):
            self.add(number, step)
            return
        self._current = step
        found = [self._guard_of.get(slot) for slot in step.inputs]
        controls = [self._guard_of.get(control) for control in step.control_inputs]
        if op is not None and op.type in MERGES:
            guard = self._guards.all_of([self._guards.any_of(found), *controls])
        else:
            guard = self._guards.all_of([*found, *controls])
        if guard is not None:
            self._guard_of.update(dict.fromkeys([*step.outputs, *([] if op is None else [op])], guard))
        if op is not None and op.type in SWITCHES:
            predicate = self.expressions(step)[1]
            root = self._roots.get(step.inputs[1], step.inputs[1])
            branches = self._guards.branches(root, predicate, guard)
            self._guard_of.update(zip(step.outputs, branches, strict=True))
        if guard is None:
            self.add(number, step)
            return
        self.emit(step, f"if {guard}:")
        start, self._indent, entered = len(self.lines), " ", self._entered
        self.add(number, step)
        if len(self.lines) == start:
            self.emit(step, "pass")
        self._indent = ""
        if self._entered != entered:
            self._entered = None  # nobody knows which device is the current one
        if made := [self.names[slot] for slot in step.outputs if self.names.get(slot, "")[:1] == "t"]:
            self.emit(step, f"else: {' = '.join(made)} = None")

    def add_check(self, number: int) -> None:
        """Adds the question whether there is time for a step."""
        self.emit(None, f"check({number})")

    def _add_switch(self, number: int, step: Step) -> None:
        """Both outputs are the input; which of them is there, their guards say."""
        value = self.expressions(step)[0]
        self.call(number, step, f"{value}, {value}", step.outputs, (self.names[step.inputs[0]],))

    def _add_merge(self, number: int, step: Step) -> None:
        """The first value that is there, and its position."""
        values = self.expressions(step)
        chosen = ""
        for position, (slot, value) in enumerate(zip(step.inputs, values, strict=True)):
            index = self.bound("i", number * 1000 + position, np.asarray(position, np.int32))
            guard = self._guard_of.get(slot)
            chosen += f"({value}, {index})"
            if guard is None or position == len(values) - 1:
                break
            chosen += f" if {guard} else "
        self.call(number, step, chosen, step.outputs, tuple(self.names[slot] for slot in step.inputs))

    def _check_fetches(self) -> None:
        """Adds the lines that fail where a fetched value is in the branch that was not taken."""
        for position, slot in enumerate(self.schedule.fetches):
            if (guard := self._guard_of.get(slot)) is not None:
                fail = self.bound("d", position, _failing_fetch(slot, position))
                self.emit(None, f"if not {guard}: {fail}()")


def _failing_fetch(slot: Slot, position: int) -> Callable[[], None]:
    def fail() -> None:
        raise InvalidArgumentError(
            None,
            None,
            f"Retval[{position}] does not have value",
            facts={"fetch": slot.tensor.name},
            hint="it is in the branch of a conditional that was not taken: fetch what the conditional gives",
        )

    return fail
