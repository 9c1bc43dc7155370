"""Lines of a plan that say where a kernel's results lie: counted on a simulated GPU, brought to a real one.

On a simulated GPU every result that lies in its memory is counted by its allocator, a large one before it is computed,
as TensorFlow allocates outputs before it computes them::

    r = reserve0()                  ResourceExhaustedError here, before anything is computed
    t0 = m2(k1(c3, c4), r)
    del r

On a real GPU kernels may return NumPy arrays, and the other way round; what the catalogue says is what consumers get.

Source: tensorflow/core/framework/op_kernel.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuplace.dtypes import resource
from gpuplace.kernels.compute import traits_of
from gpuplace.memory.simulated_memory import Reservation, SimulatedMemory
from gpuplace.plan.codegen.source_lines import PlanLines
from gpuplace.plan.schedule.partition import Slot, Step

__all__ = ["RESERVE_BYTES", "MemoryLines"]

RESERVE_BYTES = 16 << 20
"""Outputs on simulated GPUs that are known to be at least as large get their memory before they are computed."""


@dataclass
class MemoryLines(PlanLines):
    """The part of a ``PlanBuilder`` that adds these lines."""

    def _is_on_host(self, step: Step) -> bool:
        """Whether all that the kernel takes and makes lies in host memory, as for integers on a GPU."""
        slots = (*step.inputs, *step.outputs)
        return bool(slots) and all(slot.location.on_host and not slot.is_ref for slot in slots)

    def account(
        self, slot: Slot, value: str, memory: SimulatedMemory | None, step: Step, reservation: str
    ) -> str:
        """The expression ``value``, counted in the device's memory if it lies there.

        On a real GPU it is brought to the memory that the catalogue says, where the kernel returned the other one.
        """
        backend = self.backends[step.device]
        if backend.owns_arrays and not slot.is_ref and slot.tensor.dtype.base_dtype is not resource:
            if slot.location.on_host:
                return value if self._is_on_host(step) else f"{self.bound('h', backend.on_host)}({value})"
            return f"{self.bound('h', backend.on_device)}({value})"
        if memory is None or slot.location.on_host or slot.is_ref or slot.tensor.dtype.base_dtype is resource:
            return value
        note = self.bound("m", _noting(memory, step.name, step.device))
        return f"{note}({value}, {reservation})" if reservation else f"{note}({value})"

    def _own_value(self, step: Step, value: str, memory: SimulatedMemory) -> str:
        """A constant's value as an array that a variable may keep: the constant stays in memory beside it."""
        producer = self._producers.get(step.inputs[1])
        if producer is None or producer.op_type != "Const":
            return value
        self.namespace["copied"] = np.array
        return f"{self.bound('a', _noting(memory, step.name, step.device))}(copied({value}))"

    def _reserve(self, step: Step, memory: SimulatedMemory | None) -> str:
        """Takes the memory of a large output before it is computed; returns the name of the reservation, or ""."""
        if memory is None or len(step.outputs) != 1 or step.op is None or traits_of(step.op.type).shares:
            return ""
        slot = step.outputs[0]
        tensor = slot.tensor
        elements = tensor.shape.num_elements()
        if elements is None or slot.is_ref or slot.location.on_host or tensor.dtype.base_dtype is resource:
            return ""
        nbytes = elements * tensor.dtype.size
        if nbytes < RESERVE_BYTES:
            return ""
        reserve = _reserving(
            memory, nbytes, step.name, tensor.shape.known_sizes, tensor.dtype.base_dtype, step.device
        )
        self.emit(step, f"r = {self.bound('reserve', reserve)}()")
        return "r"

    def _account_for_variables(self, step: Step, memory: SimulatedMemory) -> None:
        """Counts what the kernel has made the value of a variable."""
        variables = [
            self.names[slot]
            for slot, reads in zip(step.inputs, step.reads, strict=True)
            if not reads and (slot.is_ref or slot.tensor.dtype.base_dtype is resource)
        ]
        for name in variables:
            note = self.bound("v", _noting_variable(memory, step.device))
            self.emit(step, f"{note}({name})")


def _noting(memory: SimulatedMemory, label: str, device: str) -> Callable[..., Any]:
    note = memory.note

    def noted(value: Any, reservation: Reservation | None = None) -> Any:
        return note(value, label, device, reservation)

    return noted


def _noting_variable(memory: SimulatedMemory, device: str) -> Callable[[Any], None]:
    def noted(reference: Any) -> None:
        variable = getattr(reference, "resource", reference)
        if getattr(variable, "is_initialized", False):
            memory.note(variable.value, variable.name, device)

    return noted


def _reserving(
    memory: SimulatedMemory, nbytes: int, label: str, shape: tuple[int, ...], dtype: Any, device: str
) -> Callable[[], Reservation]:
    return lambda: memory.reserve(nbytes, label, shape, dtype, device)
