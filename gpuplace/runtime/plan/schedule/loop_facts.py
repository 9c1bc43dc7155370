"""Facts about the loops of a schedule, before their lines are written.

A loop is plain if one predicate, its ``LoopCond``, determines everything: each carried value is alive in every
iteration, the loop's results are alive exactly in the last one, and either all of its inputs are alive, or none.
``while_loop`` creates only plain loops. To check this, the guards of the loop's steps are computed once without writing
lines.

Source: tensorflow/core/common_runtime/executor.cc, release 1.15 (dead tensors, iterations).
"""

from __future__ import annotations

from collections.abc import Mapping

from gpuplace.graph.op_sets import DECIDES_WHOLE_LOOP, ENTERS, EXITS, MERGES
from gpuplace.graph.operation import Operation
from gpuplace.runtime.plan.schedule.guards import GuardOf, Guards, guard_of_step
from gpuplace.runtime.plan.schedule.loop_frames import DECIDING, GOING_ON, LEAVING
from gpuplace.runtime.plan.schedule.partition import Loop, Schedule, Slot, Step


class LoopFacts:
    """Facts about the loops of one schedule.

    Attributes:
        around: the loops around each step, the outermost first.
        made_at: position of the step that computes a value.
        carried: values that steps consume in the next iteration, and their loop.
        roots: aliases to their values.
    """

    def __init__(self, schedule: Schedule, roots: Mapping[Slot, Slot]) -> None:
        self.roots = roots
        self.around: list[tuple[Loop, ...]] = []
        self.made_at: dict[Slot, int] = {}
        self.carried: dict[Slot, Loop] = {}
        self._steps = schedule.steps
        self._producers: dict[Slot, Step] = {}
        self._plain: dict[Loop, bool] = {}
        open_loops: list[Loop] = []
        starting: dict[int, list[Loop]] = {}
        for loop in schedule.loops:
            starting.setdefault(loop.start, []).append(loop)
        for number, step in enumerate(schedule.steps):
            open_loops = [loop for loop in open_loops if number < loop.end] + starting.get(number, [])
            self.around.append(tuple(open_loops))
            for slot in step.outputs:
                self.made_at[slot] = number
                self._producers[slot] = step
        for number, step in enumerate(schedule.steps):
            for slot in step.inputs:
                if self.made_at.get(slot, -1) >= number:
                    self.carried.setdefault(slot, self.around[number][-1])

    def steps(self, loop: Loop) -> tuple[Step, ...]:
        """Return the steps of a loop."""
        return self._steps[loop.start : loop.end]

    def comes_from_outside(self, slot: Slot, loop: Loop) -> bool:
        """Whether a value is computed before a loop begins."""
        return self.made_at.get(slot, -1) < loop.start

    def is_invariant(self, slot: Slot) -> bool:
        """Whether a value from outside of a loop is alive in every iteration, not only in the first one."""
        enter = self._entering(slot)
        return enter is None or bool(enter.attrs["is_constant"])

    def _entering(self, slot: Slot) -> Operation | None:
        """Return the ``Enter`` that produces a value."""
        step = self._producers.get(slot)
        while step is not None and step.op is None:
            step = self._producers.get(step.inputs[0])
        return None if step is None or step.op is None or step.op.type not in ENTERS else step.op

    def guards_around(self, loop: Loop, guards: Guards, guard_of: GuardOf) -> dict[str | None, None]:
        """Return the guards of all inputs of a loop.

        The first is the guard of the input that decides whether all inputs are alive.
        """
        steps = self.steps(loop)
        operations = {step.op for step in steps}
        decides_whole: dict[str | None, bool] = {}
        for step in steps:
            for slot in step.inputs:
                if self.comes_from_outside(slot, loop):
                    guard = guards.known(guard_of.get(slot))
                    decides_whole[guard] = decides_whole.get(guard, False) or (
                        guard is not None and self._decides_whole(slot)
                    )
            for control in step.control_inputs:
                if control not in operations and control in guard_of:
                    decides_whole.setdefault(guards.known(guard_of[control]), False)
        return dict.fromkeys(sorted(decides_whole, key=lambda guard: not decides_whole[guard]))

    def is_whole(self, loop: Loop) -> bool:
        """Whether the inputs of a loop are known to be all alive or all dead."""
        return any(
            map(
                self._decides_whole,
                (
                    slot
                    for step in self.steps(loop)
                    for slot in step.inputs
                    if self.comes_from_outside(slot, loop)
                ),
            )
        )

    def _decides_whole(self, slot: Slot) -> bool:
        enter = self._entering(slot)
        return enter is not None and bool(enter.attrs.get(DECIDES_WHOLE_LOOP))

    def is_header(self, step: Step) -> bool:
        """Whether a step consumes a value of the previous iteration."""
        return any(slot in self.carried for slot in step.inputs)

    def entry(self, step: Step, loop: Loop) -> Slot | None:
        """Return a merge's input in the first iteration, if its other input is a carried value."""
        if step.op_type not in MERGES or len(step.inputs) != 2:
            return None
        first = [slot for slot in step.inputs if slot not in self.carried]
        if len(first) != 1 or not self.comes_from_outside(first[0], loop) or self.is_invariant(first[0]):
            return None
        return first[0]

    def predicate(self, loop: Loop) -> Slot:
        """Return the value that decides whether there is another iteration."""
        condition = next(step for step in self.steps(loop) if step.op is loop.predicate)
        return self.roots.get(condition.outputs[0], condition.outputs[0])

    def is_plain(self, loop: Loop) -> bool:
        """Whether one predicate determines everything."""
        if loop not in self._plain:
            self._plain[loop] = loop.predicate is not None and self._would_be_plain(loop)
        return self._plain[loop]

    def _would_be_plain(self, loop: Loop) -> bool:
        guards, guard_of = Guards(lambda line: None), GuardOf()
        block, taken = guards.begin_block(), ""
        ends = (loop.leaving, loop.going_on, loop.end)
        number = loop.start
        for part, end in zip((DECIDING, LEAVING, GOING_ON), ends, strict=True):
            if part == LEAVING:
                if not guards.has_branches(self.predicate(loop)):
                    return False
                other, taken = guards.branches(self.predicate(loop), "", None)
                block = guards.begin_block(other)
            elif part == GOING_ON:
                guards.end_block(block)
                guards.assume(taken)
            while number < end:
                depth = self.around[number].index(loop)
                if depth + 1 == len(self.around[number]):
                    if not self._fits(self._steps[number], loop, part, guards, guard_of):
                        return False
                    number += 1
                else:
                    inner = self.around[number][depth + 1]
                    if not self._loop_fits(inner, guards, guard_of):
                        return False
                    number = inner.end
        return bool(self.carried)

    def _loop_fits(self, inner: Loop, guards: Guards, guard_of: GuardOf) -> bool:
        around = self.guards_around(inner, guards, guard_of)
        if (len(around) > 1 and not self.is_whole(inner)) or not self.is_plain(inner):
            return False
        for guard in [*around][:1]:
            for step in self.steps(inner):
                if step.op is not None and step.op.type in EXITS and guard is not None:
                    guard_of.update(dict.fromkeys([*step.outputs, step.op], guard))
        return True

    def _fits(self, step: Step, loop: Loop, part: int, guards: Guards, guard_of: GuardOf) -> bool:
        """Whether a step may be in a plain loop; computes its guard."""
        if self.is_header(step):
            return self.entry(step, loop) is not None and step.op is not None and not step.op.controls
        if any(self.comes_from_outside(slot, loop) and not self.is_invariant(slot) for slot in step.inputs):
            return False
        guard = guard_of_step(step, guards, guard_of, self.roots, lambda step: "")
        if step.op is not None and step.op.type in EXITS:
            return guard is None and part == LEAVING
        return guard is None or not any(slot in self.carried for slot in step.outputs)
