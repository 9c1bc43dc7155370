"""The text of a plan in the making; names of its values, and how long each name is taken.

Every value that a step makes has a local name, ``t0``, ``t1``, ..., which is taken over by another value as soon as
the last line that needs it is written; values that are there before the step are globals, ``c0``, and feeds are
parameters, ``f0``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gpuplace.runtime.plan.schedule.liveness import Liveness
from gpuplace.runtime.plan.schedule.partition import Slot, Step


@dataclass(slots=True, eq=False)
class Source:
    """What has been written, function by function."""

    lines: list[str] = field(default_factory=list)
    """Lines of the function that is being written, indented."""
    owners: list[Step | None] = field(default_factory=lambda: [None])
    """Line number, from 1, to the step it belongs to; no two functions share a number."""
    arguments: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Line number to the names of the values that the kernel on this line takes."""
    blamed: dict[int, str] = field(default_factory=dict)
    """Line number to the node that errors name, where it is not the step's."""
    namespace: dict[str, Any] = field(default_factory=dict)
    """Globals of the function."""
    indent: str = " "
    """What the next line begins with."""
    current: Step | None = None
    """The step that lines belong to which compute guards."""
    _global_names: dict[int, str] = field(default_factory=dict)

    def begin_function(self) -> None:
        """Begins a function, whose head is the next line."""
        self.lines, self.namespace, self._global_names = [], {}, {}
        self.owners.append(None)

    def emit(self, step: Step | None, line: str, arguments: tuple[str, ...] = ()) -> None:
        """Adds a line that belongs to ``step``."""
        self.lines.append(self.indent + line)
        if arguments:
            self.arguments[len(self.owners)] = arguments
        self.owners.append(step)

    def emit_guard(self, line: str) -> None:
        """Adds a line that computes a guard."""
        self.emit(self.current, line)

    def take_back(self) -> None:
        """Drops the last line, which has no arguments."""
        self.lines.pop()
        self.owners.pop()

    def name_global(self, prefix: str, value: Any) -> str:
        """Makes ``value`` a global of the function and returns its name, the same one for the same object."""
        name = self._global_names.get(id(value))
        if name is None:
            name = self._global_names[id(value)] = f"{prefix}{len(self._global_names)}"
            self.namespace[name] = value
        return name


class ValueNames:
    """The names of one plan.

    Args:
        source: what is written to.
        liveness: how long values are needed.
        of: value to its name; the caller may add to it.
    """

    def __init__(self, source: Source, liveness: Liveness, of: dict[Slot, str]) -> None:
        self.of = of
        self.reserved: dict[Slot, str] = {}
        """Names that values have before they are made: those that outlive an iteration of a loop."""
        self.globals: dict[Slot, Any] = {}
        """Values that are there before the step."""
        self.dead: list[str] = []
        """Local names whose values nothing needs any more."""
        self._free: list[str] = []
        self._count = 0
        self._source = source
        self._last_use = liveness.last_use
        self._roots = liveness.roots

    def begin_function(self) -> None:
        """Begins a function: no local name is taken."""
        self.dead, self._free, self._count = [], [], 0

    def new_local(self) -> str:
        """A local name that nothing has had before."""
        name = f"t{self._count}"
        self._count += 1
        return name

    def take(self, slot: Slot) -> str:
        """Gives a new value its name."""
        name = self.reserved.get(slot) if self.reserved else None
        if name is None:
            name = self.dead.pop() if self.dead else self._free.pop() if self._free else self.new_local()
        self.of[slot] = name
        return name

    def name_global(self, slot: Slot, value: Any) -> None:
        """Gives a value that is there before the step its name."""
        self.globals[slot] = value
        self.of[slot] = self._source.name_global("c", value)

    def expressions(self, step: Step) -> list[str]:
        """What a kernel is called with.""" ""
        names = [self.of[slot] for slot in step.inputs]
        if True not in step.reads:
            return names
        return [f"{name}.value" if reads else name for name, reads in zip(names, step.reads, strict=True)]

    def arguments(self, step: Step) -> tuple[str, ...]:
        """Names of a step's inputs, for errors."""
        return tuple([self.of[slot] for slot in step.inputs])

    def is_local(self, slot: Slot) -> bool:
        """Whether a value has a name that is given up with it."""
        return self.of.get(slot, "")[:1] == "t"

    def is_used(self, slot: Slot) -> bool:
        """Whether anything takes the value."""
        return slot in self._last_use

    def assign(
        self, step: Step, expression: str, outputs: tuple[Slot, ...], arguments: tuple[str, ...] = ()
    ) -> None:
        """Adds the line that makes values; those that nobody takes are dropped at once."""
        last_use = self._last_use
        if len(outputs) == 1 and outputs[0] in last_use:
            self._source.emit(step, f"{self.take(outputs[0])} = {expression}", arguments)
            return
        if not any(slot in last_use for slot in outputs):
            self._source.emit(step, expression, arguments)
            return
        targets = [self.take(slot) for slot in outputs]
        self._source.emit(step, f"{', '.join(targets)} = {expression}", arguments)
        unused = [target for target, slot in zip(targets, outputs, strict=True) if slot not in last_use]
        self.dead.extend(unused)

    # Giving names up

    def retire_inputs(self, number: int, step: Step) -> None:
        """Gives up the names of values that this step is the last to use; other values may take them over."""
        roots, dead, last_use = self._roots, self.dead, self._last_use
        for slot in step.inputs:
            root = roots.get(slot, slot) if roots else slot
            if last_use[root] == number:
                name = self.of[root]
                if name[0] == "t" and name not in dead:
                    dead.append(name)

    def retire(self, slots: Iterable[Slot]) -> None:
        """Gives up the names of some values."""
        names = [self.of[slot] for slot in slots if self.is_local(slot)]
        self.dead[:] = dict.fromkeys([*self.dead, *names])

    def delete_dead(self, step: Step | None) -> None:
        """Adds the line that deletes the values that nothing needs any more, and whose names were not taken over."""
        if self.dead:
            self._source.emit(step, f"del {', '.join(self.dead)}")
            self._free.extend(self.dead)
            self.dead.clear()

    def delete(self, slot: Slot) -> None:
        """Adds the line that deletes a value, if it is local."""
        if self.is_local(slot):
            self._source.emit(None, f"del {self.of[slot]}")
            self._free.append(self.of[slot])

    def taken_by(self, slots: Iterable[Slot]) -> list[str]:
        """Local names that some values have and that have not been given up, sorted."""
        return sorted({self.of[slot] for slot in slots if self.is_local(slot)}.difference(self._free))
