"""Lines of a plan that call kernels, give out constants, and copy between devices.

A kernel is bound to its node beforehand, so that its line is a call of one object with the node's inputs. Variables
are there before the step, like constants. On a CPU where nothing is measured or accounted for, ops that do nothing
have no line, a large result is written over an input that dies, and convolutions are computed together with what
follows them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuplace.graph.op_sets import ASSIGNMENTS, PLACEHOLDERS, VARIABLE_OPS
from gpuplace.graph.operation import Operation
from gpuplace.kernels.compute import bind, find_compute, traits_of
from gpuplace.ops.nn.fused_conv import chain_function
from gpuplace.plan.codegen.memory_accounting import MemoryLines
from gpuplace.plan.fused_elementwise import fused_function
from gpuplace.plan.schedule.chains import convolution_chains
from gpuplace.plan.schedule.elementwise_groups import FusedStep
from gpuplace.plan.schedule.partition import Slot, Step, retval_name
from gpuplace.plan.schedule.reused_memory import has_room_for_result, is_known_small
from gpuplace.plan.step_errors import missing_feed_error

__all__ = ["KernelLines"]

_WITHOUT_EFFECT = frozenset({"NoOp"})
"""Ops that are there for the edges."""


@dataclass
class KernelLines(MemoryLines):
    """The part of a ``PlanBuilder`` that adds the lines of one step."""

    _chained: dict[int, bool] = field(default_factory=dict)
    _free_devices: dict[str, bool] = field(default_factory=dict)
    _entered: str | None = None

    def add(self, number: int, step: Step) -> None:
        """Adds the lines of a step."""
        op = step.op
        if op is None:
            self._add_copy(number, step)
        elif op.type == "Const" or step.folded is not None:
            for slot in step.outputs:
                if self.is_used(slot):
                    self._add_constant(step, slot)
        elif op.type in VARIABLE_OPS:
            self._name_global(step.outputs[0], self.kernel(step, op)())
        elif self.is_silent(step):
            if step.outputs:
                self.names[step.outputs[0]] = self.names[step.inputs[0]]
        elif traits_of(op.type).forwards and self._is_free(step):
            self.call(number, step, self.expressions(step)[0], step.outputs, (self.names[step.inputs[0]],))
        else:
            self._add_kernel(number, step, op)

    def is_alias(self, step: Step) -> bool:
        """Whether the step's output is its input under another name."""
        if step.op is None:
            return super().is_alias(step)
        return (
            traits_of(step.op.type).forwards
            and step.folded is None
            and not step.reads[0]
            and step.inputs[0].location == step.outputs[0].location
            and self._is_free(step)
        )

    def is_silent(self, step: Step) -> bool:
        """Whether the step has no line."""
        op = step.op
        if op is None:
            return False
        return self.is_alias(step) or (op.type in _WITHOUT_EFFECT and self._is_free(step))

    def _find_uses(self) -> None:
        """As for any lines; and which steps are computed together."""
        super()._find_uses()
        count = len(self.schedule.steps)

        def is_open(slot: Slot) -> bool:
            return self._last[slot] < count

        for chain in convolution_chains(self.schedule, self._readers, is_open, self._is_free):
            self._chained.update((id(step), step is chain[-1]) for step in chain)

    def expressions(self, step: Step) -> list[str]:
        """What the kernel is called with."""
        return [
            f"{self.names[slot]}.value" if reads else self.names[slot]
            for slot, reads in zip(step.inputs, step.reads, strict=True)
        ]

    def enter(self, step: Step, backend: Any) -> None:
        """Makes the step's device the current one, where devices have to be switched."""
        if backend.enter is not None and self._entered != backend.device:
            self._entered = backend.device
            name = f"enter{list(self.backends).index(backend.device)}"
            self.namespace[name] = backend.enter
            self.emit(step, f"{name}()")

    # Constants and copies

    def _add_constant(self, step: Step, slot: Slot) -> None:
        backend, on_host = self.backends[step.device], slot.location.on_host
        value = self.constants(slot.tensor, step.constant_value, backend, on_host)
        self._name_global(slot, value)

    def _name_global(self, slot: Slot, value: Any) -> None:
        """Makes what is there before the step a global."""
        self._globals[slot] = value
        self.names[slot] = self.bound("c", value)

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
            call = f"{self.bound('k', copier)}({value})"
            if not target.location.on_host and backend.memory is not None:
                call = self.account(target, call, backend.memory, step, "")
        self.call(number, step, call, (target,), (self.names[source],))
        if step.reads[0] and target in self.schedule.fetches:
            fetch = retval_name(target.tensor, self.schedule.fetches.index(target))
            self.blamed[len(self.owners) - 1] = fetch

    # Kernels

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
        xp = backend.xp
        if xp is not np and self._is_on_host(step):
            xp = np
        return bind(op.type, backend.device_type, xp, op, self.session, step.device)

    def _add_kernel(self, number: int, step: Step, op: Operation) -> None:
        names = tuple(self.names[slot] for slot in step.inputs)
        backend = self.backends[step.device]
        memory = backend.memory
        values = self.expressions(step)
        if memory is not None and op.type in ASSIGNMENTS:
            values[1] = self._own_value(step, values[1], memory)
        function = self._in_chain(step, op) if id(step) in self._chained else self.kernel(step, op)
        if (reused := self._reused(number, step, op, function)) is not None:
            values.append(f"out={self.names[reused]}")
        call = f"{self.bound('k', function)}({', '.join(values)})"
        self.enter(step, backend)
        is_counted = memory is not None or backend.owns_arrays
        reservation = self._reserve(step, memory) if is_counted else ""
        if len(step.outputs) == 1:
            slot = step.outputs[0]
            if op.op_def is not None and op.op_def.outputs[0].is_list:
                self.namespace["only"] = _only
                call = f"only({call})"
            if is_counted:
                call = self.account(slot, call, memory, step, reservation)
            self.call(number, step, call, step.outputs, names)
        else:
            self.call(number, step, call, step.outputs, names)
            for slot in step.outputs if is_counted else ():
                if self.is_used(slot):
                    name = self.names[slot]
                    noted = self.account(slot, name, memory, step, "")
                    if noted != name:
                        self.emit(step, f"{name} = {noted}")
        if reservation:
            self.emit(step, f"del {reservation}")
        if memory is not None:
            self._account_for_variables(step, memory)

    def _is_free(self, step: Step) -> bool:
        """Whether a step on the CPU may be computed otherwise than op by op: nothing is measured or accounted for."""
        found = self._free_devices.get(step.device)
        if found is None:
            backend = self.backends[step.device]
            found = self.retires_early and backend.memory is None and backend.xp is np
            self._free_devices[step.device] = found
        return found

    def _in_chain(self, step: Step, op: Operation) -> Callable[..., Any]:
        """The function of a step that is computed together with others."""
        return chain_function(op, self._chained[id(step)], self.kernel(step, op))

    def _reused(self, number: int, step: Step, op: Operation, function: Any) -> Slot | None:
        """The input whose array the result is written to: one that is large, made in this step and read by it alone."""
        if not self._is_free(step) or len(step.outputs) != 1 or id(step) in self._chained:
            return None
        result = step.outputs[0].tensor
        if is_known_small(result):
            return None
        if not isinstance(function, np.ufunc):
            entry = find_compute(op.type, self.backends[step.device].device_type)
            if entry is None or not entry.takes_out:
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
                and has_room_for_result(slot.tensor, [other.tensor for other in step.inputs], result)
            ):
                return slot
        return None


def _only(values: Any) -> Any:
    """The one tensor of a list output of length one."""
    return values[0] if isinstance(values, tuple | list) else values
