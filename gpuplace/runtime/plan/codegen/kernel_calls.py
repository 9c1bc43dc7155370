"""Generated lines that call kernels, provide constants, and copy between devices.

A kernel is bound to its node beforehand, so its line is a call of one object with the node's inputs. Variables exist
before the step, like constants. On a CPU without measuring or memory accounting, ops without effect have no line, a
large result overwrites an input that dies, and convolutions are computed together with the ops that follow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from gpuplace.graph.op_sets import ASSIGNMENTS, PLACEHOLDERS, VARIABLE_OPS
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.kernels.compute import bind, find_compute, traits_of
from gpuplace.ops.nn.fused_conv import FOLLOWERS, chain_function, part_of
from gpuplace.ops.nn.windows import is_only_spatial
from gpuplace.runtime.backends.backend import Backend
from gpuplace.runtime.plan.codegen.memory_accounting import (
    count_variables,
    counted,
    counted_copy,
    hold_variables,
    is_on_host,
    reserve_output,
    shared_input,
    variables_of,
    where_declared,
)
from gpuplace.runtime.plan.codegen.value_names import Source, ValueNames
from gpuplace.runtime.plan.schedule.liveness import (
    Liveness,
    has_room_for_result,
    is_host_copy,
    is_known_small,
    makes_new_memory,
)
from gpuplace.runtime.plan.schedule.partition import Schedule, Slot, Step, retval_name
from gpuplace.runtime.plan.step_errors import missing_feed_error

WITHOUT_EFFECT = frozenset({"NoOp"})
"""Ops that exist only for their edges."""


class Constants(Protocol):
    """Cache of the values of ``Const`` and folded nodes for the lifetime of a session."""

    def __call__(self, tensor: Tensor, value: Any, backend: Backend, on_host: bool) -> Any:
        """Return the value in the memory of the node's device."""
        ...


def copier_between(
    sender: Any, receiver: Any, source: Slot, target: Slot
) -> tuple[Callable[[Any], Any], Any]:
    """Return a synchronous copy function, and the backend that runs it."""
    if source.location.on_host:
        return receiver.from_host, receiver
    if target.location.on_host:
        return sender.to_host, sender
    return receiver.copier_from(sender), receiver


@dataclass(frozen=True, slots=True)
class Environment:
    """Environment that the code of a plan is bound to."""

    backends: Mapping[str, Any]
    """Full device name to backend."""
    resources: Any
    """The session's resources for kernels."""
    constants: Constants
    """Cache of constants."""
    shows_every_op: bool = False
    """Whether every op has its own line, as in traces."""
    bind: Callable[..., Callable[..., Any]] = bind
    """Function that returns a node's kernel: ``kernels.compute.bind``, or a replacement in a dry run."""
    binds_conditions: bool = False
    """Whether a loop's condition has a kernel too; otherwise it passes its input through."""
    combining: frozenset[str] = field(init=False)
    """Devices on which steps may be computed other than op by op: CPUs without measuring."""
    retires_early: frozenset[str] = field(init=False)
    """Devices on which a result may reuse the name of an input: those without memory accounting."""

    def __post_init__(self) -> None:
        unaccounted = [name for name, backend in self.backends.items() if backend.memory is None]
        early = [] if self.shows_every_op else unaccounted
        object.__setattr__(self, "retires_early", frozenset(early))
        combining = [name for name in early if self.backends[name].xp is np]
        object.__setattr__(self, "combining", frozenset(combining))

    def may_be_alias(self, step: Step) -> bool:
        """Whether the step's output may be its input under another name, because the two are the same array."""
        op = step.op
        if op is None:
            return bool(step.inputs and step.outputs) and not step.reads[0] and is_host_copy(step)
        return (
            step.device in self.combining
            and traits_of(op.type).forwards
            and step.folded is None
            and not step.reads[0]
            and step.inputs[0].location == step.outputs[0].location
        )


def kernel_of(environment: Environment, step: Step, op: Operation) -> Callable[..., Any]:
    """Return the bound kernel of a node.

    Args:
        environment: environment that it is bound to.
        step: step of the node.
        op: the node.

    Raises:
        UnimplementedError: There is no kernel.
    """
    backend = environment.backends[step.device]
    if op.type in PLACEHOLDERS:
        error = missing_feed_error(op)

        def fail() -> Any:
            raise error

        return fail
    xp = backend.xp
    if xp is not np and is_on_host(step):
        xp = np
    return environment.bind(op.type, backend.device_type, xp, op, environment.resources, step.device)


class CurrentDevice:
    """The thread's current device, as far as it is known where a line is written.

    Args:
        source: generated text.
        backends: full device name to backend.
        is_fixed: whether the caller makes the device current.
    """

    def __init__(self, source: Source, backends: Mapping[str, Any], is_fixed: bool = False) -> None:
        self.name: str | None = None
        self._source = source
        self._entering = {} if is_fixed else {name: (at, backends[name]) for at, name in enumerate(backends)}

    def enter(self, step: Step, device: str) -> None:
        """Write the line that makes a device current, if devices have to be switched."""
        if device == self.name or device not in self._entering:
            return
        position, backend = self._entering[device]
        if backend.enter is not None:
            self.name = device
            self._source.namespace[f"enter{position}"] = backend.enter
            self._source.emit(step, f"enter{position}()")

    def forget(self) -> None:
        """Mark the current device as unknown from here on."""
        self.name = None


@dataclass(eq=False, repr=False)
class KernelCalls:
    """Writer of the lines of a step.

    Args:
        environment: environment that the code is bound to.
        schedule: schedule of the plan.
        source: generated text.
        names: names of values.
        device: the current device.
        liveness: uses of the schedule's values.
        whole: uses in the whole plan, of which the schedule may be one lane.
    """

    _environment: Environment
    _schedule: Schedule
    _source: Source
    _names: ValueNames
    _device: CurrentDevice
    _liveness: Liveness
    _whole: Liveness

    def __post_init__(self) -> None:
        self._ends_chain: dict[int, bool] = {}
        """Id of each step in a convolution chain to whether it is the last one."""
        last_use, count = self._liveness.last_use, self._liveness.end
        combining = self._environment.combining
        for chain in convolution_chains(
            self._schedule,
            self._liveness.readers,
            lambda slot: last_use[slot] < count,
            lambda step: step.device in combining,
        ):
            self._ends_chain.update((id(step), step is chain[-1]) for step in chain)

    def add(self, number: int, step: Step) -> None:
        """Write the lines of a step, given its position in the schedule."""
        op, names = step.op, self._names
        if op is None:
            self._add_copy(step)
        elif op.type == "Const" or step.folded is not None:
            for slot in step.outputs:
                if names.is_used(slot):
                    self._add_constant(step, slot)
        elif op.type in VARIABLE_OPS:
            names.name_global(step.outputs[0], kernel_of(self._environment, step, op)())
        elif self.is_silent(step):
            if step.outputs:
                names.of[step.outputs[0]] = names.of[step.inputs[0]]
        elif step.device in self._environment.combining and traits_of(op.type).forwards:
            names.assign(step, names.expressions(step)[0], step.outputs, names.arguments(step))
        else:
            self._add_kernel(number, step, op)

    def is_silent(self, step: Step) -> bool:
        """Whether a kernel has no line."""
        op = step.op
        if op is None:
            return False
        return self._liveness.is_alias(step) or (
            op.type in WITHOUT_EFFECT and step.device in self._environment.combining
        )

    def _add_constant(self, step: Step, slot: Slot) -> None:
        environment = self._environment
        backend, on_host = environment.backends[step.device], slot.location.on_host
        value = environment.constants(slot.tensor, step.constant_value, backend, on_host)
        self._names.name_global(slot, value)

    def _add_copy(self, step: Step) -> None:
        source, target = step.inputs[0], step.outputs[0]
        names, fetches = self._names, self._schedule.fetches
        (value,) = names.expressions(step)
        if self._liveness.is_alias(step):
            names.of[target] = names.of[source]
            return
        if not is_host_copy(step):
            backends = self._environment.backends
            sender, receiver = backends[source.location.device], backends[target.location.device]
            copier, backend = copier_between(sender, receiver, source, target)
            self._device.enter(step, backend.device)
            value = f"{self._source.name_global('k', copier)}({value})"
            if not target.location.on_host and backend.memory is not None:
                value = counted(self._source, step, target, value, backend.memory)
        names.assign(step, value, (target,), names.arguments(step))
        if step.reads[0] and target in fetches:
            fetch = retval_name(target.tensor, fetches.index(target))
            self._source.blamed[len(self._source.owners) - 1] = fetch

    # Kernels

    def call(self, step: Step, argument: str = "") -> str:
        """Return the call of a kernel without consumers, or with another argument."""
        assert step.op is not None
        return f"{self._source.name_global('k', kernel_of(self._environment, step, step.op))}({argument})"

    def _add_kernel(self, number: int, step: Step, op: Operation) -> None:
        source, names = self._source, self._names
        arguments, values = names.arguments(step), names.expressions(step)
        backend = self._environment.backends[step.device]
        memory = backend.memory
        if memory is not None and op.type in ASSIGNMENTS:
            producer = self._whole.producers.get(step.inputs[1])
            if producer is not None and producer.op_type == "Const":
                values[1] = counted_copy(source, step, values[1], memory)
        function = kernel_of(self._environment, step, op)
        if id(step) in self._ends_chain:
            function = chain_function(op, self._ends_chain[id(step)], function)
        elif (reused := self._reused(number, step, op, function)) is not None:
            values.append(f"out={names.of[reused]}")
        call = f"{source.name_global('k', function)}({', '.join(values)})"
        self._device.enter(step, step.device)
        if memory is None:
            self._add_call(step, op, call, arguments, backend)
            return
        reservation = reserve_output(source, step, memory)
        variables = variables_of(step)
        held = hold_variables(source, names, step, variables, memory) if variables else {}
        self._add_call(step, op, call, arguments, backend, reservation)
        if reservation:
            source.emit(step, f"del {reservation}")
        if variables:
            count_variables(source, names, step, variables, memory, held)

    def _add_call(
        self,
        step: Step,
        op: Operation,
        call: str,
        arguments: tuple[str, ...],
        backend: Any,
        reservation: str = "",
    ) -> None:
        """Write the lines that call a kernel and bring its results to their memory."""
        source, names = self._source, self._names
        is_single = len(step.outputs) == 1
        if is_single:
            if op.op_def is not None and op.op_def.outputs[0].is_list:
                source.namespace["only"] = _only
                call = f"only({call})"
            call = self._in_its_memory(step, step.outputs[0], call, backend, reservation)
        names.assign(step, call, step.outputs, arguments)
        if not is_single:
            for slot in step.outputs:
                if names.is_used(slot):
                    name = names.of[slot]
                    in_memory = self._in_its_memory(step, slot, name, backend)
                    if in_memory != name:
                        source.emit(step, f"{name} = {in_memory}")

    def _in_its_memory(self, step: Step, slot: Slot, value: str, backend: Any, reservation: str = "") -> str:
        """Return the expression ``value``, brought to the memory of a result."""
        if backend.owns_arrays:
            return where_declared(self._source, step, slot, value, backend)
        if backend.memory is None:
            return value
        shares = shared_input(step)
        shared = "" if shares is None else self._names.of[shares]
        return counted(self._source, step, slot, value, backend.memory, reservation, shared)

    def _reused(self, number: int, step: Step, op: Operation, function: Any) -> Slot | None:
        """Return the input to overwrite with the result.

        It is a large array that this step created and that only this operation reads.
        """
        if step.device not in self._environment.combining or len(step.outputs) != 1:
            return None
        result = step.outputs[0].tensor
        if is_known_small(result):
            return None
        if not isinstance(function, np.ufunc):
            entry = find_compute(op.type, self._environment.backends[step.device].device_type)
            if entry is None or not entry.takes_out:
                return None
        liveness, whole = self._liveness, self._whole
        for slot, reads in zip(step.inputs, step.reads, strict=True):
            producer = whole.producers.get(slot)
            if (
                not reads
                and not slot.is_ref
                and self._names.is_local(slot)
                and slot not in liveness.roots
                and liveness.last_use[slot] == number
                and whole.is_for_one(slot, step)
                and producer is not None
                and producer.op is not None
                and makes_new_memory(producer)
                and has_room_for_result(slot.tensor, [other.tensor for other in step.inputs], result)
            ):
                return slot
        return None


def _only(values: Any) -> Any:
    """Return the only tensor of a list output of length one."""
    return values[0] if isinstance(values, tuple | list) else values


def convolution_chains(
    schedule: Schedule,
    readers: Mapping[Slot, Sequence[Step]],
    is_open: Callable[[Slot], bool],
    is_combined: Callable[[Step], bool],
) -> list[list[Step]]:
    """Return sequences of steps to compute together, the convolution first.

    Args:
        schedule: schedule of a plan.
        readers: consumers of each slot.
        is_open: whether only the consumers of a slot need its value, and not the caller.
        is_combined: whether a step is on a device where chains are computed together.
    """
    chains: list[list[Step]] = []
    seen: set[int] = set()
    for step in schedule.steps:
        if step.op_type != "Conv2D" or id(step) in seen or not is_combined(step) or not _is_plain(step.op):
            continue
        chain = [step]
        allowed = list(FOLLOWERS)
        while True:
            slot = chain[-1].outputs[0]
            following = readers.get(slot, ())
            if len(following) != 1 or not is_open(slot):
                break
            (reader,) = following
            op_type = reader.op_type if reader.op is None else part_of(reader.op)
            if (
                (op_type not in allowed and op_type != "Conv2D")
                or reader.device != step.device
                or reader.inputs[0] is not slot
                or reader.inputs.count(slot) > 1
                or not _is_plain(reader.op)
            ):
                break
            allowed = list(FOLLOWERS[FOLLOWERS.index(op_type) + 1 if op_type in FOLLOWERS else 0 :])
            chain.append(reader)
        if len(chain) > 1:
            chains.append(chain)
            seen.update(map(id, chain))
    return chains


def _is_plain(op: Operation | None) -> bool:
    """Whether an op has single or double precision and channels last; a pooling op must pool over pixels only."""
    return (
        op is not None
        and (op.type != "MaxPool" or is_only_spatial(op.attrs))
        and op.outputs[0].dtype.base_dtype.name in ("float32", "float64")
        and op.attrs.get("data_format", b"NHWC") == b"NHWC"
    )
