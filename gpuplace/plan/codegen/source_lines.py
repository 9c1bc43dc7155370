"""Lines of a plan: what they belong to, the names of their values, and how long a value lives.

Every value that a step makes has a local name, ``t0``, ``t1``, ..., which is taken over by another value as soon as
the last line that needs it is written; values that are there before the step are globals, and feeds are parameters.
A copy from host memory to host memory is not a line at all: both ends are one value, its root.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from gpuplace.dtypes import resource
from gpuplace.kernels.compute import traits_of
from gpuplace.memory.simulated_memory import SimulatedMemory
from gpuplace.plan.schedule.partition import Schedule, Slot, Step

__all__ = ["Backend", "Constants", "PlanLines"]


class Backend(Protocol):
    """What a plan needs of a device; see ``numpy_backend`` and ``cupy_backend``."""

    device: str
    device_type: str
    xp: Any
    memory: SimulatedMemory | None
    enter: Callable[[], None] | None
    owns_arrays: bool

    def from_host(self, value: Any) -> Any:
        """A copy in the device's memory."""
        ...

    def to_host(self, value: Any) -> Any:
        """A copy in host memory."""
        ...

    def copier_from(self, sender: Any) -> Callable[[Any], Any]:
        """Makes copies of arrays of another GPU."""
        ...


class Constants(Protocol):
    """Where the values of ``Const`` and folded nodes are kept for the life of a session."""

    def __call__(self, tensor: Any, value: Any, backend: Backend, on_host: bool) -> Any:
        """The value in the memory of the node's device."""
        ...


@dataclass
class PlanLines:
    """The lines of a plan in the making; ``plan.PlanBuilder`` makes a function of them.

    Args:
        schedule: what to do.
        backends: full device name to the device.
        session: the session's resources, for kernels.
        constants: gives the values of constants.
        is_timed: whether the function takes, first, what is called before every step.
    """

    schedule: Schedule
    backends: Mapping[str, Any]
    session: Any
    constants: Constants
    is_timed: bool = False
    lines: list[str] = field(default_factory=list)
    owners: list[Step | None] = field(default_factory=lambda: [None])
    arguments: dict[int, tuple[str, ...]] = field(default_factory=dict)
    blamed: dict[int, str] = field(default_factory=dict)
    names: dict[Slot, str] = field(default_factory=dict)
    namespace: dict[str, Any] = field(default_factory=dict)
    _free: list[str] = field(default_factory=list)
    _dead: list[str] = field(default_factory=list)
    _last: dict[Slot, int] = field(default_factory=dict)
    _readers: dict[Slot, list[Step]] = field(default_factory=dict)
    _producers: dict[Slot, Step] = field(default_factory=dict)
    _roots: dict[Slot, Slot] = field(default_factory=dict)
    _bound: dict[int, str] = field(default_factory=dict)
    _locals: int = 0
    _globals: dict[Slot, Any] = field(default_factory=dict)
    _indent: str = " "

    parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters of the function before the feeds."""
    retires_early: ClassVar[bool] = True
    """Whether inputs that die in a step leave their names to its outputs; never so where memory is accounted."""

    # Lines and names

    def _begin(self) -> None:
        """Begins a function, whose head is the next line."""
        self.lines, self.namespace, self._bound = [], {}, {}
        self._free, self._dead, self._locals = [], [], 0
        self.owners.append(None)

    def emit(self, step: Step | None, line: str, arguments: tuple[str, ...] = ()) -> None:
        """Adds a line that belongs to ``step``."""
        self.lines.append(self._indent + line)
        if arguments:
            self.arguments[len(self.owners)] = arguments
        self.owners.append(step)

    def bound(self, prefix: str, value: Any) -> str:
        """Makes ``value`` a global of the function and returns its name, the same one for the same object."""
        name = self._bound.get(id(value))
        if name is None:
            name = self._bound[id(value)] = f"{prefix}{len(self._bound)}"
            self.namespace[name] = value
        return name

    def take(self, slot: Slot) -> str:
        """A local name for a new value."""
        if self._dead:
            name = self._dead.pop()
        elif self._free:
            name = self._free.pop()
        else:
            name = f"t{self._locals}"
            self._locals += 1
        self.names[slot] = name
        return name

    def call(
        self, number: int, step: Step, call: str, outputs: tuple[Slot, ...], arguments: tuple[str, ...]
    ) -> None:
        """Adds the line that calls a kernel; outputs that nobody takes are dropped at once."""
        if len(outputs) == 1 and outputs[0] in self._last:
            self.emit(step, f"{self.take(outputs[0])} = {call}", arguments)
            return
        if not any(self.is_used(slot) for slot in outputs):
            self.emit(step, call, arguments)
            return
        targets = [self.take(slot) for slot in outputs]
        self.emit(step, f"{', '.join(targets)} = {call}", arguments)
        self._dead.extend(
            target for target, slot in zip(targets, outputs, strict=True) if not self.is_used(slot)
        )

    # Lifetimes

    def _find_uses(self) -> None:
        """Notes who makes and takes every value, and up to which step it is needed."""
        schedule = self.schedule
        for number, step in enumerate(schedule.steps):
            for slot in step.outputs:
                self._producers[slot] = step
            if self.is_alias(step):
                source = step.inputs[0]
                self._roots[step.outputs[0]] = self._roots.get(source, source)
            for slot in step.inputs:
                root = self._roots.get(slot, slot)
                self._last[slot] = self._last[root] = number
                self._readers.setdefault(slot, []).append(step)
        for slot in schedule.fetches:
            self._last[slot] = self._last[self._roots.get(slot, slot)] = len(schedule.steps)

    def is_used(self, slot: Slot) -> bool:
        """Whether anything takes the value."""
        return slot in self._last

    def is_alias(self, step: Step) -> bool:
        """Whether the step's output is its input under another name: a copy from host memory to host memory."""
        return (
            step.op is None and not step.reads[0] and self.copier(step.inputs[0], step.outputs[0])[0] is None
        )

    def copier(self, source: Slot, target: Slot) -> tuple[Callable[[Any], Any] | None, Any]:
        """The function that copies from one location to another, None if both are host memory, and its device."""
        sender, receiver = self.backends[source.location.device], self.backends[target.location.device]
        if source.location.on_host:
            return (None, receiver) if target.location.on_host else (receiver.from_host, receiver)
        if target.location.on_host:
            return sender.to_host, sender
        return receiver.copier_from(sender), receiver

    def _makes_new(self, step: Step) -> bool:
        """Whether the step's results share no memory with its inputs, nor keep them."""
        if step.op is not None:
            return traits_of(step.op_type).fresh
        return self.copier(step.inputs[0], step.outputs[0])[0] is not None

    def _may_be_kept(self, slot: Slot) -> bool:
        """Whether the value, or something that shares its memory, may be in use after the step."""
        seen, todo = {slot}, [slot]
        while todo:
            for step in self._readers.get(todo.pop(), ()):
                if self._makes_new(step):
                    continue
                if _keeps_inputs(step):
                    return True
                todo += [output for output in step.outputs if output not in seen]
                seen.update(step.outputs)
        return False

    def _retire(self, number: int, step: Step) -> None:
        """Gives up the names of values that this step is the last to use; its outputs may take them over."""
        roots, dead = self._roots, self._dead
        for slot in step.inputs:
            root = roots.get(slot, slot) if roots else slot
            if self._last[root] == number:
                name = self.names[root]
                if name[0] == "t" and name not in dead:
                    dead.append(name)

    def _drop_dead(self, step: Step) -> None:
        """Adds the line that deletes the values that nothing needs any more, and whose names were not taken over."""
        self.emit(step, f"del {', '.join(self._dead)}")
        self._free.extend(self._dead)
        self._dead.clear()


def _keeps_inputs(step: Step) -> bool:
    """Whether a kernel may keep what it takes when the step is over: a stateless one cannot."""
    op = step.op
    if op is None:
        return False
    if op.op_def is None or op.op_def.is_stateful:
        return True
    return any(slot.is_ref or slot.tensor.dtype.base_dtype is resource for slot in step.inputs)
