"""Interpret a schedule step by step: for steps that run once and are not worth compiling.

The allocators receive the same requests in the same order as from the compiled plan (``plan.codegen``): constants exist
before the step, a large result is allocated before it is computed, and a value is freed after its last consumer.
Schedules with loops or conditionals cannot be interpreted; they are compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from gpuplace.callers import raise_of_signal_handler
from gpuplace.cost.memory.unfilled import unfilled_like
from gpuplace.errors import OpError
from gpuplace.graph.op_sets import ASSIGNMENTS, VARIABLE_OPS
from gpuplace.graph.operation import Operation
from gpuplace.kernels.compute import traits_of
from gpuplace.runtime.memory.simulated_memory import TensorMemory
from gpuplace.runtime.plan.codegen.kernel_calls import WITHOUT_EFFECT, Environment, copier_between, kernel_of
from gpuplace.runtime.plan.codegen.memory_accounting import (
    is_update,
    note_variable,
    reserver,
    shared_input,
    variables_of,
)
from gpuplace.runtime.plan.schedule.liveness import is_host_copy
from gpuplace.runtime.plan.schedule.partition import Schedule, Slot, Step, retval_name
from gpuplace.runtime.plan.step_errors import failed_step_error

Values = Mapping[Slot, Any]


def _first(value: object, *others: Any) -> Any:
    """Replace a kernel that passes its input through."""
    return value


class _Call:
    """A step on a device without memory accounting.

    Args:
        step: the step.
        function: its kernel, or a copy function.
        used: values that have consumers.
    """

    __slots__ = ("step", "_function", "_is_single", "_is_list", "_outputs")

    def __init__(self, step: Step, function: Callable[..., Any], used: Collection[Slot]) -> None:
        self.step = step
        self._function = function
        outputs = step.outputs
        self._is_single = len(outputs) == 1
        op_def = None if step.op is None else step.op.op_def
        self._is_list = self._is_single and op_def is not None and op_def.outputs[0].is_list
        self._outputs: Sequence[Slot | None] = [slot if slot in used else None for slot in outputs]

    def run(self, values: dict[Slot, Any]) -> None:
        """Call the function, and add its used results to the values, which then hold the only reference.

        Args:
            values: values computed so far.
        """
        self._keep(self._listed(self._function(*self._inputs(values))), values)

    def _inputs(self, values: Values) -> list[Any]:
        step = self.step
        inputs = [values[slot] for slot in step.inputs]
        if True not in step.reads:
            return inputs
        return [value.value if reads else value for value, reads in zip(inputs, step.reads, strict=True)]

    def _keep(self, results: Sequence[Any], values: dict[Slot, Any]) -> None:
        if self._is_single:
            slot = self._outputs[0]
            if slot is not None:
                values[slot] = results[0]
            return
        for slot, value in zip(self._outputs, results, strict=False):
            if slot is not None:
                values[slot] = value

    def _listed(self, results: Any) -> Sequence[Any]:
        """Return the results as a sequence, one per output."""
        if self._is_single and not self._is_list:
            return (results,)
        return results if isinstance(results, list | tuple) else (results,)


class _CountedCopy(_Call):
    """A copy to a memory with accounting."""

    __slots__ = ("_memory",)

    def __init__(
        self, step: Step, function: Callable[..., Any], used: Collection[Slot], memory: TensorMemory
    ) -> None:
        super().__init__(step, function, used)
        self._memory = memory

    def run(self, values: dict[Slot, Any]) -> None:
        """Call the function; see `_Call.run`."""
        step = self.step
        copied = self._function(*self._inputs(values))
        values[step.outputs[0]] = self._memory.note(step.name, step.device, copied)


class _CountedKernel(_Call):
    """A kernel on a device with memory accounting.

    Args:
        step: the step.
        function: its kernel.
        used: values that have consumers.
        memory: memory of the device.
        constants: values that are constants.
    """

    __slots__ = ("_memory", "_reserve", "_variables", "_is_update", "_shared", "_copies", "_counted")

    def __init__(
        self,
        step: Step,
        function: Callable[..., Any],
        used: Collection[Slot],
        memory: TensorMemory,
        constants: Collection[Slot],
    ) -> None:
        super().__init__(step, function, used)
        assert step.op is not None
        self._memory = memory
        self._reserve = reserver(step, memory)
        self._variables = variables_of(step)
        self._is_update = bool(self._variables) and is_update(step)
        self._shared = shared_input(step)
        self._copies = step.op.type in ASSIGNMENTS and step.inputs[1] in constants
        self._counted = [
            (self._is_single or slot in used) and not (slot.location.on_host or slot.is_handle)
            for slot in step.outputs
        ]

    def run(self, values: dict[Slot, Any]) -> None:
        """Call the function; see `_Call.run`. Results without consumers are not accounted for."""
        memory, variables, step = self._memory, self._variables, self.step
        name, device = step.op.name, step.device  # type: ignore[union-attr]
        reservation = None if self._reserve is None else self._reserve()
        held = {slot: memory.hold(values[slot]) for slot in variables} if self._is_update else {}
        inputs = self._inputs(values)
        if self._copies:  # the constant stays in memory in addition to the variable
            inputs[1] = memory.note(name, device, unfilled_like(inputs[1]))
        results = self._listed(self._function(*inputs))
        if not self._is_single:
            results = [
                memory.note(name, device, result) if is_counted else result
                for result, is_counted in zip(results, self._counted, strict=False)
            ]
        elif self._shared is not None and self._counted[0]:
            results = (memory.note_shared(name, device, values[self._shared], results[0]),)
        elif self._counted[0]:
            results = (memory.note(name, device, results[0], reservation),)
        self._keep(results, values)
        # Drop these references first: an array is accounted to a variable only if nobody else holds it.
        del results, reservation
        for slot in variables:
            note_variable(memory, device, values[slot], held.get(slot))


class Walk:
    """Interpreter of a schedule, in place of a compiled function; kernels and constants are bound on construction.

    Args:
        schedule: a straight line.
        environment: environment that the kernels are bound to.
        release: release whose error texts are used.

    Raises:
        UnimplementedError: A node has no kernel.
    """

    def __init__(self, schedule: Schedule, environment: Environment, release: str) -> None:
        self._schedule, self._environment, self._release = schedule, environment, release
        self._before: dict[Slot, Any] = {}
        """Values that exist before the step."""
        self._constants: set[Slot] = set()
        self._used = {slot for step in schedule.steps for slot in step.inputs}.union(schedule.fetches)
        self._calls: list[_Call] = []
        self._last: dict[Slot, int] = {}
        """Value to the number of its last consuming call; -1 for fetches, which are never freed."""
        for step in schedule.steps:
            call = self._call_of(step)
            if call is not None:
                for slot in step.inputs:
                    self._last[slot] = len(self._calls)
                self._calls.append(call)
        self._last.update(dict.fromkeys(schedule.fetches, -1))

    def _call_of(self, step: Step) -> _Call | None:
        """Return the call of a step; None if its values exist before the step."""
        environment, op = self._environment, step.op
        if op is None:
            return self._copy_of(step)
        backend = environment.backends[step.device]
        memory = backend.memory
        if step.op_type == "Const":
            for slot in step.outputs:
                if slot in self._used:
                    self._constants.add(slot)
                    value, on_host = step.constant_value, slot.location.on_host
                    self._before[slot] = environment.constants(slot.tensor, value, backend, on_host)
            return None
        if op.type in VARIABLE_OPS:
            self._before[step.outputs[0]] = kernel_of(environment, step, op)()
            return None
        if memory is not None:
            kernel = kernel_of(environment, step, op)
            return _CountedKernel(step, kernel, self._used, memory, self._constants)
        if op.type in WITHOUT_EFFECT:
            return None
        function = _first if traits_of(op.type).forwards else kernel_of(environment, step, op)
        return _Call(step, function, self._used)

    def _copy_of(self, step: Step) -> _Call:
        source, target = step.inputs[0], step.outputs[0]
        if is_host_copy(step):
            return _Call(step, _first, self._used)
        backends = self._environment.backends
        sender, receiver = backends[source.location.device], backends[target.location.device]
        copy, backend = copier_between(sender, receiver, source, target)
        if target.location.on_host or backend.memory is None:
            return _Call(step, copy, self._used)
        return _CountedCopy(step, copy, self._used, backend.memory)

    def __call__(self, *feeds: Any) -> list[Any]:
        """Run the schedule.

        Returns:
            The fetched values.

        Raises:
            OpError: A kernel failed.
        """
        schedule, last = self._schedule, self._last
        values = {**self._before, **dict(zip(schedule.feeds, feeds, strict=True))}
        for number, call in enumerate(self._calls):
            step = call.step
            try:
                call.run(values)
            except Exception as error:
                raise_of_signal_handler(error)
                inputs = [values.get(slot) for slot in step.inputs]
                op = step.op or step.inputs[0].tensor.op
                raise self._failure(error, op, step.device, inputs, self._blamed(step)) from error
            for slot in step.inputs:
                if last[slot] == number:
                    values.pop(slot, None)
        return [self._fetched(slot, position, values[slot]) for position, slot in enumerate(schedule.fetches)]

    def _blamed(self, step: Step) -> str | None:
        """Return the name for errors if it is not the step's node: the fetch, if a copy reads a variable for it."""
        fetches, target = self._schedule.fetches, step.outputs[0] if step.outputs else None
        if step.op is not None or not step.reads[0] or target not in fetches:
            return None
        return retval_name(target.tensor, fetches.index(target))

    def _fetched(self, slot: Slot, position: int, value: Any) -> Any:
        """Return a fetched value; for variables, the final one."""
        if not slot.is_ref:
            return value
        try:
            return value.value
        except Exception as error:
            raise_of_signal_handler(error)
            blamed = retval_name(slot.tensor, position)
            raise self._failure(error, slot.tensor.op, slot.location.device, (), blamed) from error

    def _failure(
        self, error: Exception, op: Operation, device: str, inputs: Sequence[Any], blamed: str | None = None
    ) -> OpError:
        feeds = [slot.tensor.name for slot in self._schedule.feeds]
        return failed_step_error(error, op, device, inputs, self._release, blamed, feeds)
