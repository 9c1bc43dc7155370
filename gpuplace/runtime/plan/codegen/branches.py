"""Generated lines of conditionals: the steps of a branch are below an ``if``.

::

    g0 = bool(f0)
    g1 = not g0
    if g1:
     t0 = k3(f1)
    else: t0 = None
    t0, t1 = (t0, i4) if g1 else (f1, i5)        the Merge

``guards`` computes the guards of the steps.

Source: tensorflow/core/common_runtime/executor.cc, release 1.15 (dead tensors; fetching one).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.op_sets import ALL_SWITCHES
from gpuplace.graph.operation import Operation
from gpuplace.runtime.plan.codegen.kernel_calls import CurrentDevice
from gpuplace.runtime.plan.codegen.value_names import Source, ValueNames
from gpuplace.runtime.plan.schedule.guards import GuardOf, Guards, guard_of_step
from gpuplace.runtime.plan.schedule.partition import Slot, Step


@dataclass(eq=False, repr=False)
class Branches:
    """Writes switches and merges, and puts steps below the guards of their branch.

    Args:
        source: generated text.
        names: names of values.
        device: the current device.
        roots: aliases to their values.
        guard_form: format of guard names: local names, or list items if functions share them.
    """

    _source: Source
    _names: ValueNames
    _device: CurrentDevice
    _roots: Mapping[Slot, Slot]
    guard_form: InitVar[str]

    def __post_init__(self, guard_form: str) -> None:
        self.guards = Guards(self._source.emit_guard, guard_form)
        self.guard_of: GuardOf = {}
        self._expected: dict[Operation | None, str] = {}
        """Receiving operation below a guard to the guard that states whether its value is present."""

    def guard(self, step: Step) -> str | None:
        """Return the guard of a step, if it has one, and write the lines that compute it."""
        if not self.guard_of and step.op_type not in ALL_SWITCHES:
            return None
        self._source.current = step
        return guard_of_step(step, self.guards, self.guard_of, self._roots, self._predicate_of)

    def _predicate_of(self, switch: Step) -> str:
        return self._names.expressions(switch)[1]

    def write_below(
        self,
        guard: str,
        step: Step,
        write: Callable[[], None],
        absent: Callable[[Step], str],
        only_if: str | None = None,
    ) -> None:
        """Write the lines of a step below an ``if``, in a branch of a conditional.

        Args:
            guard: guard of the step.
            step: the step.
            write: function that writes its lines.
            absent: function that returns the statement for a branch that was not taken.
            only_if: guard of that statement; None if it is unconditional.
        """
        source = self._source
        source.emit(step, f"if {guard}:")
        start, outer, entered = len(source.lines), source.indent, self._device.name
        source.indent = outer + " "
        write()
        source.indent = outer
        if len(source.lines) == start:
            source.take_back()
            return
        if self._device.name != entered:
            self._device.forget()
        if alternative := absent(step):
            source.emit(step, f"{'else' if only_if is None else f'elif {only_if}'}: {alternative}")

    def absent(self, step: Step) -> str:
        """Return the statement for a step in a branch that was not taken: its outputs are None."""
        outputs = [self._names.of[slot] for slot in step.outputs if self._names.is_local(slot)]
        return f"{' = '.join(outputs)} = None" if outputs else ""

    def add_switch(self, step: Step) -> None:
        """Write a switch: all outputs are the input, and guards state which is alive."""
        value = self._names.expressions(step)[0]
        arguments = self._names.arguments(step)[:1]
        self._names.assign(step, ", ".join([value] * len(step.outputs)), step.outputs, arguments)

    def add_merge(self, step: Step) -> None:
        """Write a merge: the first live value, and its position."""
        values = self._names.expressions(step)
        chosen = ""
        for position, (slot, value) in enumerate(zip(step.inputs, values, strict=True)):
            index = self._source.name_global("i", np.asarray(position, np.int32))
            guard = self.guard_of.get(slot)
            chosen += f"({value}, {index})"
            if guard is None or position == len(values) - 1:
                break
            chosen += f" if {guard} else "
        self._names.assign(step, chosen, step.outputs, self._names.arguments(step))

    def expect(self, step: Step) -> None:
        """Write the guard of a value to be received below a guard: it is absent."""
        self._source.current = step
        self._expected[step.op] = self.guards.fresh("False")

    def note_received(self, step: Step, value: str) -> None:
        """Write the guard of a received value, which is None in a branch that was not taken."""
        self._source.current = step
        assert step.op is not None
        guard = self._expected.pop(step.op, None)
        if guard is None:
            guard = self.guards.fresh(f"{value} is not None")
        else:
            self._source.emit(step, f"{guard} = {value} is not None")
        self.guard_of.update(dict.fromkeys([*step.outputs, step.op], guard))

    def check_fetches(self, fetches: Sequence[Slot]) -> None:
        """Write the lines that fail if a fetched value is in a branch that was not taken."""
        for position, slot in enumerate(fetches):
            if (guard := self.guard_of.get(slot)) is not None:
                fail = self._source.name_global("d", _failing_fetch(slot, position))
                self._source.emit(None, f"if not {guard}: {fail}()")


def _failing_fetch(slot: Slot, position: int) -> Callable[[], None]:
    def fail() -> None:
        raise InvalidArgumentError.of(
            f"Retval[{position}] does not have value",
            facts={"fetch": slot.tensor.name},
            hint="it is in the branch of a conditional that was not taken: fetch the result of the conditional",
        )

    return fail
