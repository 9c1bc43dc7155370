"""A schedule as one Python function.

Every kernel is bound to its node beforehand; what remains is a straight line of calls, in which a name is given up or
taken over as soon as its value is dead::

    c = tf.matmul(x, w) + b        def step(f0):
                                       t0 = k2(f0, c1)
                                       t0 = k4(t0, c3)
                                       return [t0]

Constants are globals of the function, named after their slot. A line belongs to one step, so that an error is traced
back to its node without any work while all goes well. Plans that measure or that account for memory come from the same
builder with other lines; nothing is asked while a plan runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, ClassVar, Protocol

import numpy as np

from gpuplace.dtypes import resource
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.kernels.compute import bind, find_compute, no_compute_error
from gpuplace.ops.fused_conv import chain_function
from gpuplace.runtime.chains import convolution_chains
from gpuplace.runtime.elementwise_groups import FusedStep
from gpuplace.runtime.fresh_ops import FRESH_OPS, has_room_for_result
from gpuplace.runtime.fused_elementwise import fused_function
from gpuplace.runtime.guards import Guards
from gpuplace.runtime.memory_lines import MemoryLines
from gpuplace.runtime.partition import MERGES, PLACEHOLDERS, SWITCHES, Schedule, Slot, Step, retval_name
from gpuplace.runtime.session_errors import missing_feed_error
from gpuplace.runtime.simulated_memory import SimulatedMemory

__all__ = ["Backend", "PlanBuilder", "PlanCode"]

_ASSIGNMENTS = frozenset({"Assign", "AssignVariableOp"})


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


@dataclass(slots=True, eq=False)
class PlanCode:
    """A compiled plan."""

    function: Callable[..., list[Any]]
    """Takes the feeds in order, gives the fetches in order."""
    code: CodeType
    """Its code, by which tracebacks are recognised."""
    owners: list[Step | None]
    """Line number, from 1, to the step it belongs to, at that index."""
    arguments: dict[int, tuple[str, ...]]
    """Line number to the names of the values that the kernel on this line takes."""
    blamed: dict[int, str]
    """Line number to the node that errors name, where it is not the step's."""
    source: str
    """The text."""


class Constants(Protocol):
    """Where the values of ``Const`` and folded nodes are kept for the life of a session."""

    def __call__(self, tensor: Tensor, value: Any, backend: Backend, on_host: bool) -> Any:
        """The value in the memory of the node's device."""
        ...


@dataclass
class PlanBuilder(MemoryLines):
    """Makes the code of a schedule.

    Args:
        schedule: what to do.
        backends: full device name to the device.
        session: the session's resources, for kernels.
        constants: gives the values of constants.
        is_timed: whether its function takes, first, what is called before every step.
    """

    schedule: Schedule
    backends: Mapping[str, Any]
    session: Any
    constants: Constants
    is_timed: bool = False
    lines: list[str] = field(default_factory=list)
    owners: list[Step | None] = field(default_factory=lambda: [None, None])
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
    _chained: dict[int, bool] = field(default_factory=dict)
    _locals: int = 0
    _entered: str | None = None
    _indent: str = ""
    _current: Step | None = None
    _guards: Guards = field(init=False)
    _guard_of: dict[Slot | Operation, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._guards = Guards(lambda line: self.emit(self._current, line))

    def build(self) -> PlanCode:
        """Compiles the schedule.

        Raises:
            UnimplementedError: a node has no function that computes it.
            ResourceExhaustedError: a constant does not fit on its simulated GPU.
        """
        schedule = self.schedule
        self._find_uses()
        for slot in schedule.feeds:
            self.names[slot] = f"f{slot.index}"
            if any(not self._makes_new(step) for step in self._readers.get(slot, ())):
                self.namespace["copied"] = np.array
                self.emit(None, f"{self.names[slot]} = copied({self.names[slot]})")
        own = [*(["check"] if self.is_timed else []), *self.parameters]
        parameters = ", ".join([*own, *(self.names[slot] for slot in schedule.feeds)])
        for number, step in enumerate(schedule.steps):
            is_early = self.retires_early and self.backends[step.device].memory is None
            if is_early:
                self._retire(number, step)
            self._add_guarded(number, step)
            if not is_early:
                self._retire(number, step)
            if self._dead:
                self.emit(step, f"del {', '.join(self._dead)}")
                self._free.extend(self._dead)
                self._dead.clear()
        self._check_fetches()
        fetched = ", ".join([self._fetched(slot, position) for position, slot in enumerate(schedule.fetches)])
        self.emit(None, f"return [{fetched}]")
        source = f"def step({parameters}):\n" + "\n".join(f" {line}" for line in self.lines) + "\n"
        namespace, self.namespace = self.namespace, {}
        del self._guards  # they call back: a cycle that would keep the session
        exec(compile(source, "<plan>", "exec"), namespace)
        function = namespace.pop(
            "step"
        )  # in no cycle, so that constants are given back when the session closes
        return PlanCode(function, function.__code__, self.owners, self.arguments, self.blamed, source)

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

        def is_open(slot: Slot) -> bool:
            return self._last[slot] < len(schedule.steps)

        for chain in convolution_chains(schedule, self._readers, is_open, self._is_free):
            self._chained.update((id(step), step is chain[-1]) for step in chain)

    def uses(self) -> tuple[dict[Slot, Step], dict[Slot, list[Step]]]:
        """Who makes and who takes every value."""
        self._find_uses()
        del self._guards  # a cycle, as in ``build``
        return self._producers, self._readers

    def is_alias(self, step: Step) -> bool:
        """Whether the step's output is its input under another name: a copy from host memory to host memory."""
        return (
            step.op is None and not step.reads[0] and self.copier(step.inputs[0], step.outputs[0])[0] is None
        )

    # Lines and names

    parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters of the function before the feeds."""
    retires_early: ClassVar[bool] = True
    """Whether inputs that die in a step leave their names to its outputs; never so where memory is accounted."""

    def emit(self, step: Step | None, line: str, arguments: tuple[str, ...] = ()) -> None:
        """Adds a line that belongs to ``step``."""
        self.lines.append(self._indent + line)
        if arguments:
            self.arguments[len(self.owners)] = arguments
        self.owners.append(step)

    def bound(self, prefix: str, number: int, value: Any) -> str:
        """Makes ``value`` a global of the function and returns its name, the same one for the same object."""
        name = self._bound.get(id(value))
        if name is None:
            name = self._bound[id(value)] = f"{prefix}{number}"
            self.namespace[name] = value
        return name

    def _retire(self, number: int, step: Step) -> None:
        """Gives up the names of values that this step is the last to use; its outputs may take them over."""
        for slot in dict.fromkeys([self._roots.get(slot, slot) for slot in step.inputs]):
            name = self.names[slot]
            if self._last[slot] == number and name[0] == "t":
                self._dead.append(name)

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

    def is_used(self, slot: Slot) -> bool:
        """Whether anything takes the value."""
        return slot in self._last

    # Conditionals

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
        for position, slot in enumerate(self.schedule.fetches):
            if (guard := self._guard_of.get(slot)) is not None:
                fail = self.bound("d", position, _failing_fetch(slot, position))
                self.emit(None, f"if not {guard}: {fail}()")

    # Steps

    def add(self, number: int, step: Step) -> None:
        """Adds the lines of a step."""
        op = step.op
        if op is None:
            self._add_copy(number, step)
        elif op.type == "Const" or step.folded is not None:
            for slot in step.outputs:
                if self.is_used(slot):
                    self._add_constant(step, slot)
        elif op.type in SWITCHES:
            self._add_switch(number, step)
        elif op.type in MERGES:
            self._add_merge(number, step)
        else:
            self._add_kernel(number, step, op)

    def _add_constant(self, step: Step, slot: Slot) -> None:
        backend, on_host = self.backends[step.device], slot.location.on_host
        value = self.constants(slot.tensor, step.constant_value, backend, on_host)
        self.names[slot] = self.bound("c", slot.index, value)

    def expressions(self, step: Step) -> list[str]:
        """What the kernel is called with."""
        return [
            f"{self.names[slot]}.value" if reads else self.names[slot]
            for slot, reads in zip(step.inputs, step.reads, strict=True)
        ]

    def kernel(self, step: Step, op: Operation) -> Callable[..., Any]:
        """The bound function of a node."""
        backend = self.backends[step.device]
        if isinstance(step, FusedStep):
            functions = [self.kernel(member, member.op) for member in step.members if member.op is not None]
            return fused_function(step, backend.xp, functions)
        if op.type in PLACEHOLDERS:
            error = missing_feed_error(op)

            def fail() -> Any:
                raise error

            return fail
        if find_compute(op.type, backend.device_type) is None:
            raise no_compute_error(op.type, backend.device_type, op)
        xp = np if self._is_on_host(step) else backend.xp
        return bind(op.type, backend.device_type, xp, op, self.session, step.device)

    def _add_kernel(self, number: int, step: Step, op: Operation) -> None:
        names = tuple(self.names[slot] for slot in step.inputs)
        backend = self.backends[step.device]
        memory = backend.memory
        values = self.expressions(step)
        if memory is not None and op.type in _ASSIGNMENTS:
            values[1] = self._own_value(number, step, values[1], memory)
        function = self._in_chain(step, op) or self.kernel(step, op)
        if (reused := self._reused(number, step, op, function)) is not None:
            values.append(f"out={self.names[reused]}")
        call = f"{self.bound('k', number, function)}({', '.join(values)})"
        self.enter(step, backend)
        reservation = self._reserve(number, step, memory)
        if len(step.outputs) == 1:
            slot = step.outputs[0]
            if op.op_def is not None and op.op_def.outputs[0].is_list:
                self.namespace["only"] = _only
                call = f"only({call})"
            call = self.account(number, slot, call, memory, step, reservation)
            self.call(number, step, call, (slot,), names)
        else:
            self.call(number, step, call, step.outputs, names)
            for position, slot in enumerate(step.outputs):
                if self.is_used(slot):
                    name = self.names[slot]
                    noted = self.account(number * 1000 + position, slot, name, memory, step, "")
                    if noted != name:
                        self.emit(step, f"{name} = {noted}")
        if reservation:
            self.emit(step, f"del {reservation}")
        if memory is not None:
            self._account_for_variables(number, step, memory)

    def _is_free(self, step: Step) -> bool:
        """Whether a step on the CPU may be computed otherwise than op by op: nothing is measured or accounted for."""
        backend = self.backends[step.device]
        return self.retires_early and backend.memory is None and backend.xp is np

    def _in_chain(self, step: Step, op: Operation) -> Callable[..., Any] | None:
        """The function of a step that is computed together with others."""
        is_last = self._chained.get(id(step))
        return None if is_last is None else chain_function(op, is_last, self.kernel(step, op))

    def _reused(self, number: int, step: Step, op: Operation, function: Any) -> Slot | None:
        """The input whose array the result is written to: one that is large, made in this step and read by it alone."""
        backend = self.backends[step.device]
        if not self._is_free(step) or len(step.outputs) != 1 or id(step) in self._chained:
            return None
        entry = find_compute(op.type, backend.device_type)
        if not isinstance(function, np.ufunc) and not (entry is not None and entry.takes_out):
            return None
        for slot, reads in zip(step.inputs, step.reads, strict=True):
            producer = self._producers.get(slot)
            if (
                not reads
                and not slot.is_ref
                and self.names[slot][0] == "t"
                and slot not in self._roots
                and self._last[slot] == number
                and set(map(id, self._readers[slot])) == {id(step)}
                and producer is not None
                and producer.op is not None
                and self._makes_new(producer)
                and has_room_for_result(
                    slot.tensor, [other.tensor for other in step.inputs], step.outputs[0].tensor
                )
            ):
                return slot
        return None

    def call(
        self, number: int, step: Step, call: str, outputs: tuple[Slot, ...], arguments: tuple[str, ...]
    ) -> None:
        """Adds the line that calls a kernel; outputs that nobody takes are dropped at once."""
        if not any(self.is_used(slot) for slot in outputs):
            self.emit(step, call, arguments)
            return
        targets = [self.take(slot) for slot in outputs]
        self.emit(step, f"{', '.join(targets)} = {call}", arguments)
        self._dead.extend(
            target for target, slot in zip(targets, outputs, strict=True) if not self.is_used(slot)
        )

    def enter(self, step: Step, backend: Any) -> None:
        """Makes the step's device the current one, where devices have to be switched."""
        if backend.enter is not None and self._entered != backend.device:
            self._entered = backend.device
            name = f"enter{list(self.backends).index(backend.device)}"
            self.namespace[name] = backend.enter
            self.emit(step, f"{name}()")

    def _add_copy(self, number: int, step: Step) -> None:
        source, target = step.inputs[0], step.outputs[0]
        (value,) = self.expressions(step)
        copier, backend = self.copier(source, target)
        if copier is None and not step.reads[0]:
            self.names[target] = self.names[source]
            return
        call = value
        if copier is not None:
            self.enter(step, backend)
            call = f"{self.bound('k', number, copier)}({value})"
            if not target.location.on_host and backend.memory is not None:
                call = self.account(number, target, call, backend.memory, step, "")
        self.call(number, step, call, (target,), (self.names[source],))
        if step.reads[0] and target in self.schedule.fetches:
            fetch = retval_name(target.tensor, self.schedule.fetches.index(target))
            self.blamed[len(self.owners) - 1] = fetch

    def copier(self, source: Slot, target: Slot) -> tuple[Callable[[Any], Any] | None, Any]:
        """The function that copies from one location to another, None where both are host memory, and its device."""
        sender, receiver = self.backends[source.location.device], self.backends[target.location.device]
        if source.location.on_host:
            return (None, receiver) if target.location.on_host else (receiver.from_host, receiver)
        if target.location.on_host:
            return sender.to_host, sender
        return receiver.copier_from(sender), receiver

    # Fetches

    def _makes_new(self, step: Step) -> bool:
        """Whether the step's results share no memory with its inputs, nor keep them."""
        if step.op is not None:
            return step.op_type in FRESH_OPS
        return self.copier(step.inputs[0], step.outputs[0])[0] is not None

    def _fetched(self, slot: Slot, position: int) -> str:
        """The expression that gives a caller a value of its own: an array, or a scalar for rank 0."""
        name = self.names[slot]
        tensor = slot.tensor
        if tensor.dtype.base_dtype is resource:
            return name
        self.namespace["copied"], self.namespace["fetched"] = np.array, _fetched_value
        producer = self._producers.get(slot)
        if producer is None:  # fed
            return f"copied({name})"
        rank = tensor.shape.ndims
        if slot.is_ref:
            value = f"x{position}"
            self.blamed[len(self.owners)] = retval_name(tensor, position)
            self.emit(producer, f"{value} = copied({name}.value)")
        elif self._makes_new(producer) and all(
            self._makes_new(reader) for reader in self._readers.get(slot, ())
        ):
            value = name
        elif rank == 0:
            return f"{name}[()]"
        else:
            value = f"copied({name})"
        if rank is None:
            return f"fetched({value})"
        return value if rank else f"{value}[()]"


def _fetched_value(value: Any) -> Any:
    return value if value.ndim else value[()]


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


def _only(values: Any) -> Any:
    """The one tensor of a list output of length one."""
    return values[0] if isinstance(values, tuple | list) else values
