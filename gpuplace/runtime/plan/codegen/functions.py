"""A schedule as a Python function, and a long one as several.

Every kernel is bound to its node beforehand. The result is a straight line of calls, in which a name is deleted or
reused as soon as its value is dead::

    c = tf.matmul(x, w) + b        def step(f0):
                                       t0 = k1(f0, c0)
                                       t0 = k3(t0, c2)
                                       return [t0]

Constants and kernels are globals of the function. Each line belongs to one step, so an error can be traced to its node
without any work in the normal case. Plans that measure, or account for memory, get other lines, so nothing is tested
while a plan runs.

Each part of the writer has its own module: ``value_names`` (names and lifetimes), ``kernel_calls`` (kernels, constants
and copies, with ``memory_accounting``), ``branches`` (conditionals), ``loops`` and ``pieces`` (long plans).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any

import numpy as np

from gpuplace.dtypes import resource
from gpuplace.graph.op_sets import ALL_SWITCHES, CONDITIONAL_OPS, LOOP_OPS, MERGES, SENDS
from gpuplace.runtime.plan.codegen.branches import Branches
from gpuplace.runtime.plan.codegen.kernel_calls import CurrentDevice, Environment, KernelCalls
from gpuplace.runtime.plan.codegen.loops import Loops, stop
from gpuplace.runtime.plan.codegen.pieces import Compiler, Crossings, piece_starts
from gpuplace.runtime.plan.codegen.value_names import Source, ValueNames
from gpuplace.runtime.plan.schedule.lanes import Handoff
from gpuplace.runtime.plan.schedule.liveness import Liveness, find_liveness, makes_new_memory
from gpuplace.runtime.plan.schedule.partition import Schedule, Slot, Step, retval_name


@dataclass(slots=True, eq=False, weakref_slot=True)
class PlanCode:
    """A compiled plan."""

    function: Callable[..., list[Any]]
    """Function of ``PlanForm.parameters`` and the feeds, in order; returns the fetches."""
    codes: Sequence[CodeType]
    """Its code and that of the functions it calls, to recognize them in tracebacks."""
    owners: list[Step | None]
    """Step of each line, indexed by line number from 1; numbers are unique across functions."""
    arguments: dict[int, tuple[str, ...]]
    """Line number to the names of the kernel's arguments."""
    blamed: dict[int, str]
    """Line number to the node that errors name, if it is not the step's."""
    texts: Sequence[str]
    """Text of each function."""
    namespaces: Sequence[dict[str, Any]]
    """Globals of each function."""

    @property
    def source(self) -> str:
        """The whole text."""
        return "".join(self.texts)

    def cancel(self) -> None:
        """Make the next kernel of every running call, and of all later calls, raise CancelledError.

        The kernels are replaced in the functions' globals, so nothing has to be tested between kernels.
        """
        for namespace in self.namespaces:
            for name in list(namespace):
                if name[0] == "k":
                    namespace[name] = stop


@dataclass(frozen=True, slots=True)
class LanePart:
    """Facts about the whole plan, for a schedule that is one of its lanes."""

    positions: Sequence[int]
    """Positions of its steps in the whole schedule; -1 for handoffs and for constants of another lane."""
    whole: Liveness
    """Uses of values in the whole schedule."""


@dataclass(frozen=True, slots=True)
class PlanForm:
    """Options of a plan's function: what it does besides computing, such as tracing."""

    is_timed: bool = False
    """Whether it calls ``check`` before every step, with the step's position."""
    is_traced: bool = False
    """Whether it calls ``record`` after every step, with position, start in nanoseconds, and outputs."""
    lane: LanePart | None = None
    """Facts about a plan of several lanes: the function calls ``give`` and ``take`` with the number of a handoff, and
    ``take`` before every step if ``stopped`` is not empty.
    """
    stays_on_device: bool = False
    """Whether feeds and fetches stay in the kernels' memory, and the caller makes the device current."""

    @property
    def parameters(self) -> list[str]:
        """Parameters of the function before the feeds."""
        return [
            *(["check"] if self.is_timed else []),
            *(["record"] if self.is_traced else []),
            *(["give", "take", "stopped"] if self.lane is not None else []),
        ]


def plan_code(schedule: Schedule, environment: Environment, form: PlanForm | None = None) -> PlanCode:
    """Compile a schedule to a function.

    Args:
        schedule: the schedule.
        environment: environment that the code is bound to.
        form: options of the function; None: it only computes.

    Raises:
        UnimplementedError: A node has no kernel.
        ResourceExhaustedError: A constant does not fit on its simulated GPU.
    """
    form = form or PlanForm()
    if form.is_traced:
        environment = replace(environment, shows_every_op=True)
    return _Writer(schedule, environment, form).plan_code()


class _Writer:
    """Writer of a plan's functions, which calls the writers of the parts in order.

    Args:
        schedule: the schedule.
        environment: environment that the code is bound to.
        form: options of the function.
    """

    def __init__(self, schedule: Schedule, environment: Environment, form: PlanForm) -> None:
        self._schedule = schedule
        self._form = form
        self._retires_early = environment.retires_early
        self._binds_conditions = environment.binds_conditions
        self._starts = [0] if schedule.loops else piece_starts(schedule.steps)
        self._compiler = Compiler()
        self._places: dict[Slot, str] = {}
        self._source = source = Source()
        self._liveness = liveness = find_liveness(schedule, environment.may_be_alias)
        self._whole = liveness if form.lane is None else form.lane.whole
        names = {slot: f"f{slot.index}" for slot in schedule.feeds}
        self._names = ValueNames(source, liveness, names)
        device = CurrentDevice(source, environment.backends, form.stays_on_device)
        self._kernels = KernelCalls(environment, schedule, source, self._names, device, liveness, self._whole)
        guard_form = "g{}" if len(self._starts) == 1 else "g[{}]"
        self._branches = Branches(source, self._names, device, liveness.roots, guard_form)
        self._is_straight = schedule.is_straight and not form.parameters
        """Whether there are only kernels, one after another."""
        self._loops: Loops | None = None
        if schedule.loops:
            self._loops = Loops(
                schedule, environment.resources, source, self._names, device, self._branches, liveness
            )

    def plan_code(self) -> PlanCode:
        """Write and compile the functions."""
        schedule, source, count = self._schedule, self._source, len(self._schedule.steps)
        parameters = self._form.parameters
        if len(self._starts) == 1:
            self._begin_function()
            self._copy_feeds()
            self._add_steps(0, count)
            if self._loops is not None:
                self._loops.write_between(count)
                self._loops.release_captured()
        else:
            self._add_pieces(Crossings(schedule, self._starts, self._liveness.roots), parameters)
        self._branches.check_fetches(schedule.fetches)
        fetched = [self._fetched(slot, position) for position, slot in enumerate(schedule.fetches)]
        source.emit(None, f"return [{', '.join(fetched)}]")
        function = self._function([*parameters, *(self._names.of[slot] for slot in schedule.feeds)])
        compiler = self._compiler
        return PlanCode(
            function,
            compiler.codes,
            source.owners,
            source.arguments,
            source.blamed,
            compiler.texts,
            compiler.namespaces,
        )

    def _begin_function(self) -> None:
        self._source.begin_function()
        self._names.begin_function()

    def _function(self, parameters: Sequence[str]) -> Any:
        """Compile the lines of the current function.

        The function does not refer to itself, so its constants are freed with the session.
        """
        namespace, self._source.namespace = self._source.namespace, {}
        return self._compiler.function(parameters, self._source.lines, namespace)

    # Steps

    def _add_steps(self, start: int, end: int) -> None:
        steps, names, loops = self._schedule.steps, self._names, self._loops
        add = self._kernels.add if self._is_straight else self._add_guarded
        for number in range(start, end):
            step = steps[number]
            if loops is not None:
                loops.write_between(number)
            is_early = step.device in self._retires_early
            if is_early:
                names.retire_inputs(number, step)
            add(number, step)
            if not is_early:
                names.retire_inputs(number, step)
            if names.dead:
                names.delete_dead(step)

    def _add_guarded(self, number: int, step: Step) -> None:
        """Write the lines of a step, below an ``if`` if it is in a branch of a conditional."""
        branches, loops, form = self._branches, self._loops, self._form
        if form.lane is not None and self._position(number) >= 0 and not self._kernels.is_silent(step):
            self._source.emit(None, "if stopped: take(-1)")
        if form.is_timed and (position := self._position(number)) >= 0:
            self._source.emit(None, f"check({position})")
        if loops is not None and loops.is_header(step):
            self._add(number, step)
            return
        guard = branches.guard(step)
        if guard is None or self._kernels.is_silent(step):
            self._add(number, step)
        else:
            absent, only_if = branches.absent if loops is None else loops.absent, None
            if step.may_come_dead:
                branches.expect(step)
            # Send None from a dead branch, so that the receiver does not wait forever.
            if step.op_type in SENDS:
                only_if = branches.guards.all_of(map(branches.guard_of.get, step.control_inputs))
                sends_none = only_if != guard

                def absent(step: Step) -> str:
                    return self._kernels.call(step, "None") if sends_none else ""

            branches.write_below(guard, step, lambda: self._add(number, step), absent, only_if)
        if loops is not None:
            loops.set_flag_guards(step)

    def _position(self, number: int) -> int:
        """Return the position of a step in the whole schedule; negative for a step that a lane adds."""
        return number if self._form.lane is None else self._form.lane.positions[number]

    def _add(self, number: int, step: Step) -> None:
        """Write the lines of a step, between two clock readings if it is traced."""
        if not self._form.is_traced or (position := self._position(number)) < 0:
            self._add_untraced(number, step)
            return
        names, source = self._names.of, self._source
        source.namespace["clock"] = time.perf_counter_ns
        source.emit(step, "s = clock()")
        self._add_untraced(number, step)
        outputs = "".join([f"{names.get(slot, 'None')}, " for slot in step.outputs])
        source.emit(step, f"record({position}, s, ({outputs}))")

    def _add_untraced(self, number: int, step: Step) -> None:
        loops, op_type = self._loops, step.op_type
        is_called = op_type not in LOOP_OPS or (op_type == "LoopCond" and self._binds_conditions)
        if loops is None and op_type and op_type not in CONDITIONAL_OPS:
            self._kernels.add(number, step)
        elif isinstance(step, Handoff):
            self._add_handoff(step)
        elif loops is not None and loops.is_header(step):
            loops.add_header(step)
        elif loops is not None and not is_called:
            loops.add_loop_op(step)
        elif op_type in ALL_SWITCHES:
            self._branches.add_switch(step)
        elif op_type in MERGES:
            self._branches.add_merge(step)
        elif step.may_come_dead:
            self._add_receive(number, step)
        else:
            self._kernels.add(number, step)
        if loops is not None:
            loops.note_outputs(step)

    def _add_receive(self, number: int, step: Step) -> None:
        """Write the lines that receive a tensor of another task, or None if its branch was not taken there."""
        received = step.outputs[0]
        if self._names.is_used(received):
            self._kernels.add(number, step)
            self._branches.note_received(step, self._names.of[received])
        else:
            self._branches.note_received(step, self._kernels.call(step))

    def _add_handoff(self, step: Handoff) -> None:
        if step.is_give:
            names = [self._names.of[slot] for slot in step.inputs]
            self._source.emit(None, f"give({', '.join([str(step.number), *names])})")
        else:
            self._names.assign(step, f"take({step.number})", step.outputs)

    # Pieces

    def _add_pieces(self, crossings: Crossings, parameters: Sequence[str]) -> None:
        """Write the functions of the pieces, and the lines of the function that calls them."""
        source, names = self._source, self._names
        functions, calls = {}, []
        for piece in range(len(crossings.starts)):
            self._begin_function()
            functions[f"p{piece}"], call = self._add_piece(piece, crossings, parameters)
            calls.append(call)
        self._begin_function()
        source.namespace.update(functions)
        self._copy_feeds()
        if self._places:
            source.emit(None, "v = {}")
        if guards := len(self._branches.guards):
            source.emit(None, f"g = [None] * {guards}")
        for call in calls:
            source.emit(None, call)
        for slot in crossings.arriving[-1]:
            root = self._liveness.roots.get(slot, slot)
            if root in names.globals:
                names.of[slot] = source.name_global("c", names.globals[root])
            else:
                names.of[slot] = self._places.get(root) or names.of[root]

    def _add_piece(self, piece: int, crossings: Crossings, own: Sequence[str]) -> tuple[Any, str]:
        """Return the function of a piece, and the line that calls it."""
        names, source = self._names, self._source
        bounds = [*crossings.starts, len(self._schedule.steps)]
        parameters, values = list(own), list(own)
        local_names: list[str] = []
        places: list[str] = []
        named: set[Slot] = set()
        for slot in crossings.arriving[piece]:
            root = self._liveness.roots.get(slot, slot)
            if root in names.globals:
                names.of[root] = source.name_global("c", names.globals[root])
            elif root not in named:
                named.add(root)
                place = self._places.get(root)
                if place is None:  # fed
                    values.append(names.of[root])
                    parameters.append(names.of[root])
                else:
                    is_last = crossings.last[root] == piece
                    places.append(f"v.pop({place[2:-1]})" if is_last else place)
                    names.of[root] = names.new_local()
                    local_names.append(names.of[root])
            names.of[slot] = names.of[root]
        if local_names:
            parameters.append("a")
            values.append(f"[{', '.join(places)}]")
            source.emit(None, f"[{', '.join(local_names)}] = a")
            source.emit(None, "del a")
        self._add_steps(bounds[piece], bounds[piece + 1])
        if self._branches.guards:
            parameters.append("g")
            values.append("g")
        leaving = [root for root in crossings.leaving[piece] if root not in names.globals]
        if leaving or not source.lines:
            source.emit(None, f"return {', '.join([names.of[root] for root in leaving])}")
        fetched = len(crossings.starts)
        for root in leaving:
            number = len(self._places)
            self._places[root] = f"a{number}" if crossings.last[root] == fetched else f"v[{number}]"
        targets = ", ".join([self._places[root] for root in leaving])
        call = f"p{piece}({', '.join(values)})"
        return self._function(parameters), f"{targets} = {call}" if targets else call

    # Feeds and fetches

    def _copy_feeds(self) -> None:
        """Write the lines that copy fed values that a kernel may keep."""
        for slot in () if self._form.stays_on_device else self._schedule.feeds:
            if self._whole.may_be_kept(slot):
                name = self._names.of[slot]
                self._source.namespace["copied"] = np.array
                self._source.emit(None, f"{name} = copied({name})")

    def _fetched(self, slot: Slot, position: int) -> str:
        """Return the expression for a value that the caller owns: an array, or a scalar for rank 0."""
        source, tensor = self._source, slot.tensor
        name = self._names.of[slot]
        if tensor.dtype.base_dtype is resource or self._form.stays_on_device:
            return name
        source.namespace["copied"], source.namespace["fetched"] = np.array, _fetched_value
        producer = self._whole.producers.get(slot)
        if producer is None:  # fed
            return f"copied({name})"
        rank = tensor.shape.ndims
        if slot.is_ref:
            value = f"x{position}"
            source.blamed[len(source.owners)] = retval_name(tensor, position)
            source.emit(producer, f"{value} = copied({name}.value)")
        elif makes_new_memory(producer) and not self._whole.may_be_kept(slot):
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
