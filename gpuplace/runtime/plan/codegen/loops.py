"""Generated lines of loops: a frame is a ``while``, and a value for the next iteration has its own name.

::

    n0 = f0                       Enter
    while True:
     if session.is_closed: stop()
     t1, n0 = n0, None            Merge
     t2 = k1(t1, c0)              condition
     g0 = bool(t2)
     if not g0:
      t0 = t1                     Exit
      break
     n0 = k2(t1, c1)              body, NextIteration

That is the form of a plain loop (``loop_facts``). Other loops, which TensorFlow executes too, have a guard (the flag)
for every carried or returned value, and end when no value is carried any more::

    n0, g1 = None, False
    t0, g2 = None, False
    g0 = True                     the first iteration
    while True:
     ...
     if g3: n0 = t4; g1 = True
     else: n0, g1 = None, False
     g0 = False
     if not (g1): break

A value inside a loop that the caller fetches is captured when it is computed; computing it twice is an error.

Source: tensorflow/core/common_runtime/executor.cc and direct_session.cc (a fetch in a loop), release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from gpuplace.errors import CancelledError, InternalError
from gpuplace.graph.op_sets import ALL_SWITCHES, EXITS
from gpuplace.runtime.plan.codegen.branches import Branches
from gpuplace.runtime.plan.codegen.kernel_calls import CurrentDevice
from gpuplace.runtime.plan.codegen.value_names import Source, ValueNames
from gpuplace.runtime.plan.schedule.guards import Block
from gpuplace.runtime.plan.schedule.liveness import Liveness
from gpuplace.runtime.plan.schedule.loop_facts import LoopFacts
from gpuplace.runtime.plan.schedule.loop_frames import DECIDING, GOING_ON, LEAVING
from gpuplace.runtime.plan.schedule.partition import Loop, Schedule, Slot, Step, retval_name

_POSITIONS = tuple(np.asarray(position, np.int32) for position in range(2))
"""Input positions that a merge returns."""


@dataclass(slots=True, eq=False)
class _OpenLoop:
    """A loop whose lines are being written."""

    loop: Loop
    is_plain: bool
    guard: str | None
    """Guard of the whole loop."""
    indent: str
    """Indentation of the lines around it."""
    guards_around: Block
    first: str = ""
    """Guard that is true in the first iteration, if it is not plain."""
    part: int = DECIDING
    """Part of the loop that is being written."""
    indices: list[str] = field(default_factory=list)
    """Lines that set the input positions of merges for the next iteration."""
    before_leaving: tuple[Block, str | None] | None = None
    """Guards and current device before the block that ends a plain loop."""
    taken: str = ""
    """Guard of another iteration of a plain loop."""

    @property
    def next_event(self) -> int:
        """Position where the next part begins, or the loop ends."""
        return (self.loop.leaving, self.loop.going_on, self.loop.end)[self.part]


@dataclass(frozen=True, slots=True)
class _Captured:
    """A fetched value inside a loop."""

    name: str
    """Local name that keeps it."""
    flag: str
    """Guard that states whether it is present."""
    fail: str
    """Function to call if it is computed again."""


@dataclass(eq=False, repr=False)
class Loops:
    """Writer of the loops of a schedule.

    Args:
        schedule: schedule of the plan.
        session: object whose ``is_closed`` ends loops.
        source: generated text.
        names: names of values.
        device: the current device.
        branches: guards of steps.
        liveness: uses of values; values from outside of a loop are extended to its end.
    """

    _schedule: Schedule
    _session: Any
    _source: Source
    _names: ValueNames
    _device: CurrentDevice
    _branches: Branches
    _liveness: Liveness

    def __post_init__(self) -> None:
        self._open: list[_OpenLoop] = []
        self._starting: dict[int, list[Loop]] = {}
        for loop in self._schedule.loops:
            self._starting.setdefault(loop.start, []).append(loop)
        self._facts = facts = LoopFacts(self._schedule, self._liveness.roots)
        self._flags: dict[Slot, str] = {}
        """Guards of values that outlive an iteration, in loops that are not plain."""
        self._captured: dict[Slot, _Captured] = {}
        self._names.reserved.update((slot, f"n{number}") for number, slot in enumerate(facts.carried))
        self._names.of.update(self._names.reserved)
        self._kept_to_end = self._keep_to_end()
        """Values that live until the end of a loop."""

    def _keep_to_end(self) -> dict[Loop, dict[Slot, None]]:
        facts, roots, last_use = self._facts, self._liveness.roots, self._liveness.last_use
        kept: dict[Loop, dict[Slot, None]] = {}
        for step, loops in zip(self._schedule.steps, facts.around, strict=True):
            for slot in step.inputs if loops else ():
                root = roots.get(slot, slot)
                outside = next((loop for loop in loops if facts.comes_from_outside(root, loop)), None)
                if outside is not None:
                    kept.setdefault(outside, {})[root] = None
        for loop, values in kept.items():
            for root in [root for root in values if not loop.start <= last_use[root] < loop.end]:
                del values[root]
            last_use.update(dict.fromkeys(values, -1))
        return kept

    # Where loops begin and end

    def write_between(self, number: int) -> None:
        """Write the beginnings and ends of loops before the step at a position."""
        if not number:
            self._prepare_captures()
        while True:
            if self._open and self._open[-1].next_event == number:
                self._next_part(self._open[-1])
            elif self._starting.get(number):
                self._begin_loop(self._starting[number].pop(0))
            else:
                return

    def _begin_loop(self, loop: Loop) -> None:
        facts, source, branches = self._facts, self._source, self._branches
        guards, guard_of = branches.guards, branches.guard_of
        source.current = None
        around = facts.guards_around(loop, guards, guard_of)
        is_plain = (len(around) <= 1 or facts.is_whole(loop)) and facts.is_plain(loop)
        guard = next(iter(around), None) if is_plain else None
        opened = _OpenLoop(loop, is_plain, guard, source.indent, guards.begin_block(guard))
        for same in around if is_plain else ():
            guards.assume(same)
        self._open.append(opened)
        if guard is not None:
            source.emit(None, f"if {guard}:")
            source.indent += " "
        if is_plain:
            self._carry_entries(opened)
        else:
            self._clear_flags(opened)
        source.emit(None, "while True:")
        source.indent += " "
        source.namespace["session"], source.namespace["stop"] = self._session, stop
        source.emit(None, "if session.is_closed: stop()")
        self._device.forget()
        if not is_plain:
            for step in facts.steps(loop):
                for slot in step.inputs:
                    if facts.comes_from_outside(slot, loop) and not facts.is_invariant(slot):
                        guard_of_entry = guards.all_of([guard_of.get(slot), opened.first])
                        if guard_of_entry is not None:
                            guard_of[slot] = guard_of_entry

    def _next_part(self, opened: _OpenLoop) -> None:
        loop, guards, source = opened.loop, self._branches.guards, self._source
        opened.part += 1
        source.current = None
        if opened.part > GOING_ON:
            self._end_loop(opened)
        elif not opened.is_plain:
            pass
        elif opened.part == LEAVING:
            predicate = self._facts.predicate(loop)
            other, opened.taken = guards.branches(predicate, self._names.of.get(predicate, ""), None)
            source.emit(None, f"if {other}:")
            source.indent += " "
            opened.before_leaving = guards.begin_block(other), self._device.name
        else:
            self._forget_iteration(loop)
            source.emit(None, "break")
            source.indent = source.indent[:-1]
            assert opened.before_leaving is not None
            block, self._device.name = opened.before_leaving
            guards.end_block(block)
            guards.assume(opened.taken)

    def _forget_iteration(self, loop: Loop) -> None:
        """Write the line that drops values that only another iteration would need."""
        facts, names, roots = self._facts, self._names, self._liveness.roots
        left = names.taken_by(
            slot
            for step in facts.steps(loop)[: loop.going_on - loop.start]
            for slot in step.outputs
            if slot not in names.reserved and not facts.comes_from_outside(roots.get(slot, slot), loop)
        )
        if left:
            self._source.emit(None, f"{' = '.join(left)} = None")

    def _end_loop(self, opened: _OpenLoop) -> None:
        loop, source, names = opened.loop, self._source, self._names
        self._open.pop()
        for line in opened.indices:
            source.emit(None, line)
        if not opened.is_plain:
            carried = [slot for slot, of in self._facts.carried.items() if of is loop]
            flags = [self._flags[slot] for slot in carried if slot in self._flags]
            source.emit(None, f"{opened.first} = False")
            source.emit(None, f"if not ({' or '.join(flags)}): break" if flags else "break")
        source.indent = opened.indent
        self._branches.guards.end_block(opened.guards_around)
        self._device.forget()
        self._set_guards_of_exits(opened)
        names.retire(self._kept_to_end.get(loop, ()))
        names.delete_dead(None)

    def _set_guards_of_exits(self, opened: _OpenLoop) -> None:
        """Set the guards of the values that a loop returns."""
        names, guard_of = self._names, self._branches.guard_of
        exits = [(step.op, slot) for step in self._exits(opened.loop) for slot in step.outputs]
        if opened.is_plain and opened.guard is not None:
            used = [names.reserved[slot] for _, slot in exits if names.is_used(slot)]
            if used:
                self._source.emit(None, f"else: {' = '.join(used)} = None")
        for op, slot in exits:
            guard = opened.guard if opened.is_plain else self._flags[slot]
            if guard is not None:
                guard_of[slot] = guard
                if op is not None:
                    guard_of[op] = guard

    def _exits(self, loop: Loop) -> list[Step]:
        facts = self._facts
        return [
            step
            for number, step in enumerate(facts.steps(loop), loop.start)
            if step.op_type in EXITS and facts.around[number][-1] is loop
        ]

    # Values that outlive an iteration

    def _carry_entries(self, opened: _OpenLoop) -> None:
        """Assign the first values of carried names, and reserve names of returned values."""
        facts, source, names, loop = self._facts, self._source, self._names, opened.loop
        handled: dict[Slot, None] = {}
        for step in facts.steps(loop):
            carried = next((slot for slot in step.inputs if facts.carried.get(slot) is loop), None)
            if carried is None:
                continue
            entry = facts.entry(step, loop)
            assert entry is not None
            name = names.reserved[carried]
            if carried not in handled:
                source.emit(None, f"{name} = {names.of[entry]}")
            handled[carried] = handled[entry] = None
            if names.is_used(step.outputs[1]):
                first, later = (
                    source.name_global("j", _POSITIONS[at])
                    for at in (step.inputs.index(entry), step.inputs.index(carried))
                )
                source.emit(None, f"{name}i = {first}")
                opened.indices.append(f"{name}i = {later}")
        self._reserve_exits(loop)
        ending, readers = self._kept_to_end.get(loop, {}), self._liveness.readers
        for slot in handled:
            if slot in ending and all(map(facts.is_header, readers.get(slot, ()))):
                del ending[slot]
                names.delete(slot)

    def _reserve_exits(self, loop: Loop) -> list[Slot]:
        """Reserve lasting names for the values that leave a loop."""
        slots = [slot for step in self._exits(loop) for slot in step.outputs]
        for slot in slots:
            self._names.reserved[slot] = self._names.new_local()
        return slots

    def _clear_flags(self, opened: _OpenLoop) -> None:
        """Write that no value is carried or returned yet."""
        loop, names, guards = opened.loop, self._names, self._branches.guards
        carried = [slot for slot, of in self._facts.carried.items() if of is loop]
        for slot in [*carried, *self._reserve_exits(loop)]:
            names.of[slot] = names.reserved[slot]
            self._source.emit(None, f"{names.of[slot]} = None")
            self._branches.guard_of[slot] = self._flags[slot] = guards.fresh("False")
        opened.first = guards.fresh("True")

    # Steps

    def is_header(self, step: Step) -> bool:
        """Whether a step of a plain loop consumes a value of the previous iteration."""
        return bool(self._open) and self._open[-1].is_plain and self._facts.is_header(step)

    def add_header(self, step: Step) -> None:
        """Write a merge of a carried value, and clear its name."""
        names = self._names
        carried = next(slot for slot in step.inputs if slot in self._facts.carried)
        name = names.reserved[carried]
        value, index = step.outputs
        names.assign(step, name, (value,), (name,))
        if len(self._liveness.readers[carried]) == 1:
            self._source.emit(step, f"{name} = None")
        if names.is_used(index):
            names.assign(step, f"{name}i", (index,))

    def add_loop_op(self, step: Step) -> None:
        """Write a step that only passes its input through: into a frame, out of it, or to the next iteration."""
        (value,) = self._names.expressions(step)
        self._names.assign(step, value, step.outputs, self._names.arguments(step))

    def note_outputs(self, step: Step) -> None:
        """Write the flags of values that outlive an iteration."""
        source = self._source
        for slot in step.outputs:
            if slot in self._flags:
                flag = self._flags[slot]
                if step.op_type in EXITS:
                    again = source.name_global("x", _failing_again(f"exit of {step.name}", step.name))
                    source.emit(step, f"if {flag}: {again}()")
                source.emit(step, f"{flag} = True")
            if slot in self._captured:
                self._capture(step, slot, self._captured[slot])

    def _capture(self, step: Step, slot: Slot, caught: _Captured) -> None:
        """Write the capture of a fetched value; for a switch output, if it is alive."""
        name, flag, branches = caught.name, caught.flag, self._branches
        guard = branches.guards.known(branches.guard_of.get(slot)) if step.op_type in ALL_SWITCHES else None
        only_if = "" if guard is None else f"if {guard}: "
        self._source.emit(step, f"if {f'{guard} and ' if guard else ''}{flag}: {caught.fail}()")
        self._source.emit(step, f"{only_if}{name}, {flag} = {self._names.of[slot]}, True")

    def set_flag_guards(self, step: Step) -> None:
        """Set the guards of a step's outputs to their flags."""
        for slot in step.outputs:
            if slot in self._flags:
                self._branches.guard_of[slot] = self._flags[slot]

    def absent(self, step: Step) -> str:
        """Return the statement for a step in a branch that was not taken."""
        flagged = [slot for slot in step.outputs if slot in self._flags]
        if not flagged:
            return self._branches.absent(step)
        if step.op_type in EXITS:
            return ""
        reserved = self._names.reserved
        return "; ".join(f"{reserved[slot]}, {self._flags[slot]} = None, False" for slot in flagged)

    # Fetches inside loops

    def _prepare_captures(self) -> None:
        facts, source = self._facts, self._source
        for position, slot in enumerate(self._schedule.fetches):
            number = facts.made_at.get(slot, -1)
            if number < 0 or slot in self._captured:
                continue
            if len(facts.around[number]) > (self._schedule.steps[number].op_type in EXITS):
                node = retval_name(slot.tensor, position)
                again = source.name_global("z", _failing_again(f"Retval[{position}]", node))
                name, flag = f"y{position}", self._branches.guards.fresh("False")
                source.emit(None, f"{name} = None")
                self._captured[slot] = _Captured(name, flag, again)

    def release_captured(self) -> None:
        """Map fetched values to their captures."""
        for slot, caught in self._captured.items():
            self._names.of[slot], self._branches.guard_of[slot] = caught.name, caught.flag


def stop(*arguments: Any, **options: Any) -> NoReturn:
    """Raise CancelledError: replacement of kernels, and end of loops, when the session has been closed.

    Args:
        arguments: arguments of a kernel.

    Raises:
        CancelledError: Always.
    """
    raise CancelledError.of("Run call was cancelled")


def _failing_again(what: str, node: str) -> Callable[[], None]:
    def fail() -> None:
        raise InternalError.of(
            f"{what} has already been set.\n\t [[{{{{node {node}}}}}]]",
            facts={"node": node},
            hint="it is inside a loop and computed in every iteration: fetch the result of the loop",
        )

    return fail
