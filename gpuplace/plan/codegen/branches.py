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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.op_sets import MERGES, SWITCHES
from gpuplace.graph.operation import Operation
from gpuplace.plan.codegen.kernel_calls import KernelLines
from gpuplace.plan.schedule.guards import Guards
from gpuplace.plan.schedule.partition import Slot, Step

__all__ = ["BranchLines"]


@dataclass
class BranchLines(KernelLines):
    """The part of a ``PlanBuilder`` that puts steps below the guards of their branch."""

    _current: Step | None = None
    _guards: Guards = field(init=False)
    _guard_of: dict[Slot | Operation, str] = field(default_factory=dict)

    def _begin_guards(self, form: str) -> None:
        """Says what guards are called: names of their own, or items of a list where functions share them."""
        self._guards = Guards(lambda line: self.emit(self._current, line), form)

    def _end_guards(self) -> None:
        """Forgets what calls back: a cycle that would keep the session."""
        del self._guards

    def add(self, number: int, step: Step) -> None:
        """Adds the lines of a step."""
        kind = "" if step.op is None or step.folded is not None else step.op.type
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
        guard = guard_of_step(step, self._guards, self._guard_of, self._roots, self._predicate_of)
        if guard is None or self.is_silent(step):
            self.add(number, step)
            return
        self.emit(step, f"if {guard}:")
        start, outer, entered = len(self.lines), self._indent, self._entered
        self._indent = outer + " "
        self.add(number, step)
        self._indent = outer
        if len(self.lines) == start:
            self.lines.pop()
            self.owners.pop()
            return
        if self._entered != entered:
            self._entered = None  # nobody knows which device is the current one
        if absent := self._absent(step):
            self.emit(step, f"else: {absent}")

    def _predicate_of(self, step: Step) -> str:
        """What a switch asks."""
        return self.expressions(step)[1]

    def _absent(self, step: Step) -> str:
        """What is done in place of a step in a branch that was not taken."""
        made = [self.names[slot] for slot in step.outputs if self.names.get(slot, "")[:1] == "t"]
        return f"{' = '.join(made)} = None" if made else ""

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
            index = self.bound("i", np.asarray(position, np.int32))
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
                fail = self.bound("d", _failing_fetch(slot, position))
                self.emit(None, f"if not {guard}: {fail}()")


def guard_of_step(
    step: Step,
    guards: Guards,
    guard_of: dict[Slot | Operation, str],
    roots: Mapping[Slot, Slot],
    predicate_of: Callable[[Step], str],
) -> str | None:
    """Works out the guard of a step, and notes those of its outputs.

    Args:
        step: the step.
        guards: the plan's guards.
        guard_of: guards of values and operations, as far as they have one.
        roots: values that are others under another name.
        predicate_of: gives the expression for what a switch asks.
    """
    op = step.op
    found = [guard_of.get(slot) for slot in step.inputs]
    controls = [guard_of.get(control) for control in step.control_inputs]
    if op is not None and op.type in MERGES:
        guard = guards.all_of([guards.any_of(found), *controls])
    elif op is not None and op.type == "ControlTrigger":  # runs also if what it waits for does not
        guard = None
    else:
        guard = guards.all_of([*found, *controls])
    if guard is not None:
        guard_of.update(dict.fromkeys([*step.outputs, *([] if op is None else [op])], guard))
    if op is not None and op.type in SWITCHES:
        root = roots.get(step.inputs[1], step.inputs[1])
        guard_of.update(zip(step.outputs, guards.branches(root, predicate_of(step), guard), strict=True))
    return guard


def _failing_fetch(slot: Slot, position: int) -> Callable[[], None]:
    def fail() -> None:
        raise InvalidArgumentError(
            None,
            None,
            f"Retval[{position}] does not have value",
            facts={"fetch": slot.tensor.name},
            hint="it is in the branch of a conditional that was not taken: fetch what the conditional returns",
        )

    return fail
