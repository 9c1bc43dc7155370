"""Lines of a plan for loops: a frame is a ``while``, and what goes into the next iteration has a name of its own.

::

    n0 = f0                       Enter
    while True:
     if session.is_closed: stop()
     t1, n0 = n0, None            Merge
     t2 = k1(t1, c0)              what decides
     g0 = bool(t2)
     if not g0:
      t0 = t1                     Exit
      break
     n0 = k2(t1, c1)              the body, NextIteration

That is the form of a plain loop (``loop_facts``). Others, which TensorFlow executes too, have a guard for every value
that is carried on or given, and end when nothing is carried on any more::

    n0, g1 = None, False
    t0, g2 = None, False
    g0 = True                     the first iteration
    while True:
     ...
     if g3: n0 = t4; g1 = True
     else: n0, g1 = None, False
     g0 = False
     if not (g1): break

A value inside a loop that the caller fetches is caught when it is made, and an error if it is made twice.

Source: tensorflow/core/common_runtime/executor.cc and direct_session.cc (a fetch in a loop), release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuplace.errors import CancelledError, InternalError
from gpuplace.graph.op_sets import EXITS, LOOP_OPS, SWITCHES
from gpuplace.plan.codegen.branches import BranchLines
from gpuplace.plan.schedule.loop_facts import LoopFacts
from gpuplace.plan.schedule.loop_frames import DECIDING, GOING_ON, LEAVING
from gpuplace.plan.schedule.partition import Loop, Slot, Step, retval_name

__all__ = ["LoopLines"]

_POSITIONS = tuple(np.asarray(position, np.int32) for position in range(2))
"""What a merge says about its input."""


@dataclass(slots=True, eq=False)
class _Open:
    """A loop whose lines are being written."""

    loop: Loop
    is_plain: bool
    guard: str | None
    """The guard of the whole loop."""
    indent: str
    """That of the lines around it."""
    around: Any
    """The guards around it."""
    first: str = ""
    """The guard that is true in the first iteration, where it is not plain."""
    part: int = DECIDING
    """Which part of it is being written."""
    indices: list[str] = field(default_factory=list)
    """Lines that say, for the next iteration, which of its inputs a merge takes."""
    block: Any = None
    """The guards before the block that ends a plain loop."""
    taken: str = ""
    """The guard of another iteration of a plain loop."""

    @property
    def next_event(self) -> int:
        """Where the next part begins, or the loop ends."""
        return (self.loop.leaving, self.loop.going_on, self.loop.end)[self.part]


@dataclass
class LoopLines(BranchLines):
    """The part of a ``PlanBuilder`` that writes loops."""

    _open: list[_Open] = field(default_factory=list)
    _starting: dict[int, list[Loop]] = field(default_factory=dict)
    _loops: LoopFacts | None = None
    _given_up: dict[Loop, dict[Slot, None]] = field(default_factory=dict)
    """Values that are needed up to the end of a loop."""
    _own_names: dict[Slot, str] = field(default_factory=dict)
    """Names of values that outlive an iteration."""
    _flags: dict[Slot, str] = field(default_factory=dict)
    """Guards that say whether a value is there that outlives an iteration, in loops that are not plain."""
    _caught: dict[Slot, tuple[str, str, str]] = field(default_factory=dict)
    """Values inside loops that the caller gets: name, guard, and what fails the second time."""

    # What is known beforehand

    def _find_uses(self) -> None:
        """As for any lines; what comes from outside of a loop is needed up to its end."""
        if not self.schedule.loops:
            super()._find_uses()
            return
        facts = self._loops = LoopFacts(self.schedule, self._roots)
        self._own_names.update((slot, f"n{number}") for number, slot in enumerate(facts.carried))
        self.names.update(self._own_names)
        for loop in self.schedule.loops:
            self._starting.setdefault(loop.start, []).append(loop)
        super()._find_uses()
        for step, loops in zip(self.schedule.steps, facts.around, strict=True):
            for slot in step.inputs if loops else ():
                root = self._roots.get(slot, slot)
                outside = next((one for one in loops if facts.comes_from_outside(root, one)), None)
                if outside is not None:
                    self._given_up.setdefault(outside, {})[root] = None
        for loop, roots in self._given_up.items():
            for root in [root for root in roots if not loop.start <= self._last[root] < loop.end]:
                del roots[root]
            self._last.update(dict.fromkeys(roots, -1))

    def is_alias(self, step: Step) -> bool:
        """Whether the step's output is its input under another name."""
        return not any(slot in self._own_names for slot in step.outputs) and super().is_alias(step)

    def take(self, slot: Slot) -> str:
        """A local name for a new value."""
        name = self._own_names.get(slot)
        if name is None:
            return super().take(slot)
        self.names[slot] = name
        return name

    # Where loops begin and end

    def _at(self, number: int) -> None:
        """Adds what stands between two steps."""
        if not self._starting:
            return
        if not number:
            self._prepare_catching()
        while True:
            if self._open and self._open[-1].next_event == number:
                self._next_part(self._open[-1])
            elif self._starting.get(number):
                self._begin_loop(self._starting[number].pop(0))
            else:
                return

    def _facts(self) -> LoopFacts:
        assert self._loops is not None
        return self._loops

    def _begin_loop(self, loop: Loop) -> None:
        facts, guards = self._facts(), self._guards
        self._current = None
        around = facts.guards_around(loop, guards, self._guard_of)
        is_plain = len(around) <= 1 and facts.is_plain(loop)
        guard = next(iter(around), None) if is_plain else None
        opened = _Open(loop, is_plain, guard, self._indent, guards.begin_block(guard))
        self._open.append(opened)
        if guard is not None:
            self.emit(None, f"if {guard}:")
            self._indent += " "
        if is_plain:
            self._carry_entries(opened)
        else:
            self._raise_flags(opened)
        self.emit(None, "while True:")
        self._indent += " "
        self.namespace["session"], self.namespace["stop"] = self.session, _stop
        self.emit(None, "if session.is_closed: stop()")
        self._entered = None
        if not is_plain:
            for step in facts.steps(loop):
                for slot in step.inputs:
                    if facts.comes_from_outside(slot, loop) and not facts.is_invariant(slot):
                        found = guards.all_of([self._guard_of.get(slot), opened.first])
                        if found is not None:
                            self._guard_of[slot] = found

    def _next_part(self, opened: _Open) -> None:
        loop, guards = opened.loop, self._guards
        opened.part += 1
        self._current = None
        if opened.part > GOING_ON:
            self._end_loop(opened)
        elif not opened.is_plain:
            pass
        elif opened.part == LEAVING:
            predicate = self._facts().predicate(loop)
            other, opened.taken = guards.branches(predicate, self.names.get(predicate, ""), None)
            self.emit(None, f"if {other}:")
            self._indent += " "
            opened.block = guards.begin_block(other), self._entered
        else:
            self._forget_iteration(loop)
            self.emit(None, "break")
            self._indent = self._indent[:-1]
            block, self._entered = opened.block
            guards.end_block(block)
            guards.assume(opened.taken)

    def _forget_iteration(self, loop: Loop) -> None:
        """Adds the line that drops what the iteration that was not done would have needed."""
        facts = self._facts()
        made = [slot for step in facts.steps(loop)[: loop.going_on - loop.start] for slot in step.outputs]
        left = {
            self.names[slot]
            for slot in made
            if slot not in self._own_names
            and self.names.get(slot, "")[:1] == "t"
            and not facts.comes_from_outside(self._roots.get(slot, slot), loop)
        }
        if left := left - set(self._free):
            self.emit(None, f"{' = '.join(sorted(left))} = None")

    def _end_loop(self, opened: _Open) -> None:
        loop = opened.loop
        self._open.pop()
        flags = [
            self._flags[slot]
            for slot, of in self._facts().carried.items()
            if of is loop and slot in self._flags
        ]
        for line in opened.indices:
            self.emit(None, line)
        if not opened.is_plain:
            self.emit(None, f"{opened.first} = False")
            self.emit(None, f"if not ({' or '.join(flags)}): break" if flags else "break")
        self._indent = opened.indent
        self._guards.end_block(opened.around)
        self._entered = None
        self._set_guards_behind(opened)
        self._dead.extend(
            self.names[root] for root in self._given_up.get(loop, ()) if self.names.get(root, "")[:1] == "t"
        )
        if self._dead:
            self._dead[:] = dict.fromkeys(self._dead)
            self.emit(None, f"del {', '.join(self._dead)}")
            self._free.extend(self._dead)
            self._dead.clear()

    def _set_guards_behind(self, opened: _Open) -> None:
        """Says when there is what the loop gives."""
        exits = [(step.op, slot) for step in self._exits(opened.loop) for slot in step.outputs]
        if opened.is_plain:
            if opened.guard is not None:
                names = [self._own_names[slot] for _, slot in exits if self.is_used(slot)]
                if names:
                    self.emit(None, f"else: {' = '.join(names)} = None")
                for op, slot in exits:
                    self._guard_of[slot] = self._guard_of[op] = opened.guard
            return
        for op, slot in exits:
            self._guard_of[slot] = self._guard_of[op] = self._flags[slot]

    def _exits(self, loop: Loop) -> list[Any]:
        facts = self._facts()
        return [
            step
            for number, step in enumerate(facts.steps(loop), loop.start)
            if step.op_type in EXITS and facts.around[number][-1] is loop
        ]

    # What outlives an iteration

    def _carry_entries(self, opened: _Open) -> None:
        """Gives what is carried on its first value, and what leaves its name."""
        facts, loop = self._facts(), opened.loop
        done: dict[Slot, None] = {}
        for step in facts.steps(loop):
            carried = next((slot for slot in step.inputs if facts.carried.get(slot) is loop), None)
            if carried is None:
                continue
            entry = facts.entry(step, loop)
            assert entry is not None
            name = self._own_names[carried]
            if carried not in done:
                self.emit(None, f"{name} = {self.names[entry]}")
            done[carried] = done[entry] = None
            if self.is_used(step.outputs[1]):
                first, later = (
                    self.bound("j", _POSITIONS[at])
                    for at in (step.inputs.index(entry), step.inputs.index(carried))
                )
                self.emit(None, f"{name}i = {first}")
                opened.indices.append(f"{name}i = {later}")
        self._name_exits(loop)
        ending = self._given_up.get(loop, {})
        readers = {slot: [r for r in self._readers.get(slot, ()) if not facts.is_header(r)] for slot in done}
        for slot in [slot for slot in done if slot in ending and not readers[slot]]:
            del ending[slot]
            if self.names[slot][:1] == "t":
                self.emit(None, f"del {self.names[slot]}")
                self._free.append(self.names[slot])

    def _name_exits(self, loop: Loop) -> list[Slot]:
        slots = [slot for step in self._exits(loop) for slot in step.outputs]
        for slot in slots:
            self._own_names[slot] = f"t{self._locals}"
            self._locals += 1
        return slots

    def _raise_flags(self, opened: _Open) -> None:
        """Says that nothing is carried on or given yet."""
        facts, loop = self._facts(), opened.loop
        carried = [slot for slot, of in facts.carried.items() if of is loop]
        for slot in [*carried, *self._name_exits(loop)]:
            self.emit(None, f"{self._own_names[slot]} = None")
            self.names[slot] = self._own_names[slot]
            self._guard_of[slot] = self._flags[slot] = self._guards.fresh("False")
        opened.first = self._guards.fresh("True")

    # Steps

    def add(self, number: int, step: Step) -> None:
        """Adds the lines of a step."""
        if self._loops is None:
            super().add(number, step)
            return
        loop = self._loops.around[number][-1] if self._loops.around[number] else None
        if loop is not None and self._open[-1].is_plain and self._loops.is_header(step):
            self._add_header(number, step)
        elif step.op_type in LOOP_OPS:
            (value,) = self.expressions(step)
            self.call(number, step, value, step.outputs, (self.names[step.inputs[0]],))
        else:
            super().add(number, step)
        for slot in step.outputs:
            if slot in self._flags:
                flag = self._flags[slot]
                if step.op_type in EXITS:
                    again = self.bound("x", _failing_again(f"exit of {step.name}", step.name))
                    self.emit(step, f"if {flag}: {again}()")
                self.emit(step, f"{flag} = True")
            if slot in self._caught:
                self._catch(step, slot)

    def _catch(self, step: Step, slot: Slot) -> None:
        """Keeps a value for the caller; a switch's, if it is there."""
        name, flag, again = self._caught[slot]
        guard = self._guards.known(self._guard_of.get(slot)) if step.op_type in SWITCHES else None
        if guard is not None:
            self.emit(step, f"if {guard} and {flag}: {again}()")
            self.emit(step, f"if {guard}: {name}, {flag} = {self.names[slot]}, True")
        else:
            self.emit(step, f"if {flag}: {again}()")
            self.emit(step, f"{name}, {flag} = {self.names[slot]}, True")

    def _add_header(self, number: int, step: Step) -> None:
        """Takes what was carried on, and lets go of it."""
        facts = self._facts()
        carried = next(slot for slot in step.inputs if slot in facts.carried)
        name = self._own_names[carried]
        value, index = step.outputs
        self.call(number, step, name, (value,), (name,))
        if len(self._readers[carried]) == 1:
            self.emit(step, f"{name} = None")
        if self.is_used(index):
            self.call(number, step, f"{name}i", (index,), ())

    def _add_guarded(self, number: int, step: Step) -> None:
        """Adds the lines of a step, below the guards of its branch."""
        if self._loops is None:
            super()._add_guarded(number, step)
            return
        is_header = bool(self._open) and self._open[-1].is_plain and self._loops.is_header(step)
        if is_header:
            if self.is_timed:
                self.add_check(number)
            self.add(number, step)
            return
        super()._add_guarded(number, step)
        for slot in step.outputs:
            if slot in self._flags:
                self._guard_of[slot] = self._flags[slot]

    def _absent(self, step: Step) -> str:
        """What is done in place of a step in a branch that was not taken."""
        if step.op_type in EXITS and step.outputs[0] in self._flags:
            return ""
        carried = [slot for slot in step.outputs if slot in self._flags]
        if carried:
            return "; ".join(
                f"{self._own_names[slot]}, {self._flags[slot]} = None, False" for slot in carried
            )
        return super()._absent(step)

    # Fetches inside loops

    def _prepare_catching(self) -> None:
        facts = self._facts()
        for position, slot in enumerate(self.schedule.fetches):
            number = facts.made_at.get(slot, -1)
            if number < 0 or slot in self._caught:
                continue
            if len(facts.around[number]) > (self.schedule.steps[number].op_type in EXITS):
                node = retval_name(slot.tensor, position)
                again = self.bound("z", _failing_again(f"Retval[{position}]", node))
                name, flag = f"y{position}", self._guards.fresh("False")
                self.emit(None, f"{name} = None")
                self._caught[slot] = name, flag, again

    def _check_fetches(self) -> None:
        """Adds the lines that fail where a fetched value was not made."""
        for slot, (name, flag, _) in self._caught.items():
            self.names[slot], self._guard_of[slot] = name, flag
        super()._check_fetches()


def _stop() -> None:
    raise CancelledError(None, None, "Run call was cancelled")


def _failing_again(what: str, node: str) -> Callable[[], None]:
    def fail() -> None:
        raise InternalError(
            None,
            None,
            f"{what} has already been set.\n\t [[{{{{node {node}}}}}]]",
            facts={"node": node},
            hint="it is inside a loop and computed in every iteration: fetch what the loop returns",
        )

    return fail
