"""Lines that say where a kernel's results lie: counted on a simulated GPU, brought to a real one.

On a simulated GPU every result that lies in its memory is counted by its allocator, a large one before it is computed,
as TensorFlow allocates outputs before it computes them::

    r = reserve0()                  ResourceExhaustedError here, before anything is computed
    t0 = m2(k1(c3, c4), r)
    del r

An update of a variable leaves the value where it was, and a result that shares the memory of an input shares it here
too, whether or not NumPy copies::

    h0 = memory4.hold(c1)
    k5(c1, c2, t0)
    v6(c1, h0)                      a new array gets what the old one had
    del h0

On a real GPU kernels may return NumPy arrays, and the other way round; what the catalogue says is what consumers get.

Source: tensorflow/core/framework/op_kernel.cc, release 1.15.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpuplace.graph.op_sets import UPDATES_OF_VARIABLES
from gpuplace.kernels.compute import traits_of
from gpuplace.runtime.memory.simulated_memory import Reservation, TensorMemory
from gpuplace.runtime.plan.codegen.value_names import Source, ValueNames
from gpuplace.runtime.plan.schedule.partition import Slot, Step

RESERVE_BYTES = 16 << 20
"""Outputs on simulated GPUs that are known to be at least as large get their memory before they are computed."""


def is_on_host(step: Step) -> bool:
    """Whether all that the kernel takes and makes lies in host memory, as for integers on a GPU."""
    slots = (*step.inputs, *step.outputs)
    return bool(slots) and all(slot.location.on_host and not slot.is_ref for slot in slots)


def where_declared(source: Source, step: Step, slot: Slot, value: str, backend: Any) -> str:
    """The expression ``value``, on a real GPU, brought to the memory where the catalogue says that it is."""
    if slot.is_handle:
        return value
    if slot.location.on_host:
        return value if is_on_host(step) else f"{source.name_global('h', backend.on_host)}({value})"
    return f"{source.name_global('h', backend.on_device)}({value})"


def counted(
    source: Source,
    step: Step,
    slot: Slot,
    value: str,
    memory: TensorMemory,
    reservation: str = "",
    shared: str = "",
) -> str:
    """The expression ``value``, counted in a simulated GPU's memory if it lies there.

    Args:
        source: what is written to.
        step: whose value it is.
        slot: the value.
        value: what makes it.
        memory: the GPU's.
        reservation: name of what ``reserve_output`` took for it.
        shared: name of the value whose memory it has.
    """
    if slot.location.on_host or slot.is_handle:
        return value
    if shared:
        note = source.name_global("s", partial(memory.note_shared, step.name, step.device))
        return f"{note}({shared}, {value})"
    note = source.name_global("m", _noting(memory, step))
    return f"{note}({value}, {reservation})" if reservation else f"{note}({value})"


def shared_input(step: Step) -> Slot | None:
    """The input whose memory the step's only output has; None where it has its own."""
    if step.op is None or len(step.outputs) != 1 or not step.inputs or not traits_of(step.op.type).shares:
        return None
    slot = step.inputs[0]
    return None if slot.location.on_host or step.reads[0] or slot.is_handle else slot


def counted_copy(source: Source, step: Step, value: str, memory: TensorMemory) -> str:
    """A constant's value as an array that a variable may keep: the constant stays in memory beside it."""
    source.namespace["copied"] = np.array
    return f"{source.name_global('a', _noting(memory, step))}(copied({value}))"


def reserve_output(source: Source, step: Step, memory: TensorMemory) -> str:
    """Takes the memory of a large output before it is computed; returns the name of the reservation, or ""."""
    reserve = reserver(step, memory)
    if reserve is None:
        return ""
    source.emit(step, f"r = {source.name_global('reserve', reserve)}()")
    return "r"


def reserver(step: Step, memory: TensorMemory) -> Callable[[], Reservation] | None:
    """What takes the memory of a large output; None where it is not known to be large."""
    if len(step.outputs) != 1 or step.op is None:
        return None
    slot = step.outputs[0]
    tensor = slot.tensor
    elements = tensor.shape.num_elements()
    if elements is None:
        return None
    nbytes = elements * tensor.dtype.size
    if nbytes < RESERVE_BYTES or slot.location.on_host or slot.is_handle or traits_of(step.op.type).shares:
        return None
    shape, dtype = tensor.shape.known_sizes, tensor.dtype.base_dtype
    return partial(memory.reserve, nbytes, step.name, shape, dtype, step.device)


def hold_variables(
    source: Source, names: ValueNames, step: Step, variables: Sequence[Slot], memory: TensorMemory
) -> dict[Slot, str]:
    """Adds the lines before an update that hold the memory of variables.

    Args:
        source: what is written to.
        names: the names of values.
        step: the kernel's.
        variables: its variables, as `variables_of` has them.
        memory: the GPU's.

    Returns:
        The names of what holds it; none where the kernel is no update.
    """
    if not is_update(step):
        return {}
    held = {slot: f"h{number}" for number, slot in enumerate(variables)}
    for slot, name in held.items():
        holder = source.name_global("memory", memory)
        source.emit(step, f"{name} = {holder}.hold({names.of[slot]})")
    return held


def count_variables(
    source: Source,
    names: ValueNames,
    step: Step,
    variables: Sequence[Slot],
    memory: TensorMemory,
    held: Mapping[Slot, str],
) -> None:
    """Adds the lines that count what a kernel has made the value of a variable.

    Args:
        source, names, step, variables, memory: as of `hold_variables`.
        held: what `hold_variables` gave.
    """
    for slot in variables:
        note = source.name_global("v", partial(note_variable, memory, step.device))
        name = names.of[slot]
        source.emit(step, f"{note}({name}, {held[slot]})" if slot in held else f"{note}({name})")
    if held:
        source.emit(step, f"del {', '.join(held.values())}")


def is_update(step: Step) -> bool:
    """Whether a kernel changes the values of variables where they lie."""
    return step.op is not None and step.op.type.startswith(UPDATES_OF_VARIABLES)


def variables_of(step: Step) -> list[Slot]:
    """What a step takes that may be a variable to which its kernel gives a value, each once."""
    handles = [slot.is_handle for slot in step.inputs]
    if True not in handles:
        return []
    found = itertools.compress(step.inputs, [a and not b for a, b in zip(handles, step.reads, strict=True)])
    return list(dict.fromkeys(found))


def _noting(memory: TensorMemory, step: Step) -> Callable[..., Any]:
    """What counts a value of the step, and returns it."""
    return partial(memory.note, step.name, step.device)


def note_variable(memory: TensorMemory, device: str, reference: Any, held: Reservation | None = None) -> None:
    """Counts what a kernel has made the value of a variable.

    Args:
        memory: the GPU's.
        device: its full name.
        reference: the variable, or a handle of one.
        held: the bytes that the value had before.
    """
    variable = getattr(reference, "resource", reference)
    if getattr(variable, "is_initialized", False):
        memory.note(variable.name, device, variable.value, held)
