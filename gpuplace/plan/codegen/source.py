"""The text of a plan in the making: lines, the steps they belong to, and the objects that they name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpuplace.plan.schedule.partition import Step


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
