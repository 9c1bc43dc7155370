"""Generated text of a plan, names of its values, and the lifetime of each name.

Every value that a step computes has a local name, ``t0``, ``t1``, ..., which another value reuses as soon as the last
line that needs it has been written. Values that exist before the step are globals, ``c0``, and feeds are parameters,
``f0``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gpuplace.runtime.plan.schedule.liveness import Liveness
from gpuplace.runtime.plan.schedule.partition import Slot, Step


@dataclass(slots=True, eq=False)
class Source:
    """The generated text, function by function."""

    lines: list[str] = field(default_factory=list)
    """Indented lines of the current function."""
    owners: list[Step | None] = field(default_factory=lambda: [None])
    """Step of each line number, from 1; line numbers are unique across functions."""
    arguments: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Line number to the names of the kernel's arguments."""
    blamed: dict[int, str] = field(default_factory=dict)
    """Line number to the node that errors name, if it is not the step's."""
    namespace: dict[str, Any] = field(default_factory=dict)
    """Globals of the current function."""
    indent: str = " "
    """Indentation of the next line."""
    current: Step | None = None
    """Step that owns lines that compute guards."""
    _global_names: dict[int, str] = field(default_factory=dict)

    def begin_function(self) -> None:
        """Begin a function, whose header is the next line."""
        self.lines, self.namespace, self._global_names = [], {}, {}
        self.owners.append(None)

    def emit(self, step: Step | None, line: str, arguments: tuple[str, ...] = ()) -> None:
        """Append a line that belongs to ``step``."""
        self.lines.append(self.indent + line)
        if arguments:
            self.arguments[len(self.owners)] = arguments
        self.owners.append(step)

    def emit_guard(self, line: str) -> None:
        """Append a line that computes a guard."""
        self.emit(self.current, line)

    def take_back(self) -> None:
        """Remove the last line, which has no arguments."""
        self.lines.pop()
        self.owners.pop()

    def name_global(self, prefix: str, value: Any) -> str:
        """Make ``value`` a global of the function and return its name, which is the same each time."""
        name = self._global_names.get(id(value))
        if name is None:
            name = self._global_names[id(value)] = f"{prefix}{len(self._global_names)}"
            self.namespace[name] = value
        return name


class ValueNames:
    """Names of the values of one plan.

    Args:
        source: generated text.
        liveness: uses of values.
        of: value to its name; the caller may add entries.
    """

    def __init__(self, source: Source, liveness: Liveness, of: dict[Slot, str]) -> None:
        self.of = of
        self.reserved: dict[Slot, str] = {}
        """Names reserved for values that outlive an iteration of a loop."""
        self.globals: dict[Slot, Any] = {}
        """Values that exist before the step."""
        self.dead: list[str] = []
        """Local names of dead values."""
        self._free: list[str] = []
        self._count = 0
        self._source = source
        self._last_use = liveness.last_use
        self._roots = liveness.roots

    def begin_function(self) -> None:
        """Begin a function without local names."""
        self.dead, self._free, self._count = [], [], 0

    def new_local(self) -> str:
        """Return a new local name."""
        name = f"t{self._count}"
        self._count += 1
        return name

    def take(self, slot: Slot) -> str:
        """Assign a name to a new value."""
        name = self.reserved.get(slot) if self.reserved else None
        if name is None:
            name = self.dead.pop() if self.dead else self._free.pop() if self._free else self.new_local()
        self.of[slot] = name
        return name

    def name_global(self, slot: Slot, value: object) -> None:
        """Assign a global name to a value that exists before the step."""
        self.globals[slot] = value
        self.of[slot] = self._source.name_global("c", value)

    def expressions(self, step: Step) -> list[str]:
        """Return the argument expressions of a kernel."""
        names = [self.of[slot] for slot in step.inputs]
        if True not in step.reads:
            return names
        return [f"{name}.value" if reads else name for name, reads in zip(names, step.reads, strict=True)]

    def arguments(self, step: Step) -> tuple[str, ...]:
        """Return the names of a step's inputs, for errors."""
        return tuple([self.of[slot] for slot in step.inputs])

    def is_local(self, slot: Slot) -> bool:
        """Whether a value has a local name, which is deleted with it."""
        return self.of.get(slot, "")[:1] == "t"

    def is_used(self, slot: Slot) -> bool:
        """Whether a value has consumers."""
        return slot in self._last_use

    def assign(
        self, step: Step, expression: str, outputs: tuple[Slot, ...], arguments: tuple[str, ...] = ()
    ) -> None:
        """Write the assignment of values; values without consumers are deleted at once."""
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

    # Deleting names

    def retire_inputs(self, number: int, step: Step) -> None:
        """Mark names that this step is the last to use as dead; other values may reuse them."""
        roots, dead, last_use = self._roots, self.dead, self._last_use
        for slot in step.inputs:
            root = roots.get(slot, slot) if roots else slot
            if last_use[root] == number:
                name = self.of[root]
                if name[0] == "t" and name not in dead:
                    dead.append(name)

    def retire(self, slots: Iterable[Slot]) -> None:
        """Mark the names of some values as dead."""
        names = [self.of[slot] for slot in slots if self.is_local(slot)]
        self.dead[:] = dict.fromkeys([*self.dead, *names])

    def delete_dead(self, step: Step | None) -> None:
        """Write the line that deletes dead values whose names were not reused."""
        if self.dead:
            self._source.emit(step, f"del {', '.join(self.dead)}")
            self._free.extend(self.dead)
            self.dead.clear()

    def delete(self, slot: Slot) -> None:
        """Write the line that deletes a value, if it is local."""
        if self.is_local(slot):
            self._source.emit(None, f"del {self.of[slot]}")
            self._free.append(self.of[slot])

    def taken_by(self, slots: Iterable[Slot]) -> list[str]:
        """Return the sorted local names that some values use."""
        return sorted({self.of[slot] for slot in slots if self.is_local(slot)}.difference(self._free))
