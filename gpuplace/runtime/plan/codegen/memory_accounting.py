"""Generated lines that account for results in a simulated GPU's memory, or bring them to a real one's.

On a simulated GPU every result in its memory is counted by its allocator, a large one before it is computed, as
TensorFlow allocates outputs before it computes them::

    r = reserve0()                  ResourceExhaustedError here, before anything is computed
    t0 = m2(k1(c3, c4), r)
    del r

An update of a variable keeps the value in place, and a result that shares the memory of an input shares it here too,
whether or not NumPy copies::

    h0 = memory4.hold(c1)
    k5(c1, c2, t0)
    v6(c1, h0)                      a new array gets the memory of the old one
    del h0

On a real GPU kernels may return NumPy arrays, and vice versa; consumers get what the catalogue declares.

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
"""Outputs on simulated GPUs that are known to be at least this large are allocated before they are computed."""


def is_on_host(step: Step) -> bool:
    """Whether all inputs and outputs of a kernel are in host memory, as for integers on a GPU."""
    slots = (*step.inputs, *step.outputs)
    return bool(slots) and all(slot.location.on_host and not slot.is_ref for slot in slots)


def where_declared(source: Source, step: Step, slot: Slot, value: str, backend: Any) -> str:
    """Return the expression ``value``, on a real GPU, brought to the memory that the catalogue declares."""
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
    """Return the expression ``value``, counted in a simulated GPU's memory if it is there.

    Args:
        source: generated text.
        step: step of the value.
        slot: the value.
        value: expression of the value.
        memory: memory of the GPU.
        reservation: name of the reservation by ``reserve_output``.
        shared: name of the value whose memory it shares.
    """
    if slot.location.on_host or slot.is_handle:
        return value
    if shared:
        note = source.name_global("s", partial(memory.note_shared, step.name, step.device))
        return f"{note}({shared}, {value})"
    note = source.name_global("m", _noting(memory, step))
    return f"{note}({value}, {reservation})" if reservation else f"{note}({value})"


def shared_input(step: Step) -> Slot | None:
    """Return the input whose memory the step's only output shares; None if it has its own."""
    if step.op is None or len(step.outputs) != 1 or not step.inputs or not traits_of(step.op.type).shares:
        return None
    slot = step.inputs[0]
    return None if slot.location.on_host or step.reads[0] or slot.is_handle else slot


def counted_copy(source: Source, step: Step, value: str, memory: TensorMemory) -> str:
    """Return a constant's value as an array that a variable may keep, in addition to the constant itself."""
    source.namespace["copied"] = np.array
    return f"{source.name_global('a', _noting(memory, step))}(copied({value}))"


def reserve_output(source: Source, step: Step, memory: TensorMemory) -> str:
    """Write the reservation of a large output; return its name, or ""."""
    reserve = reserver(step, memory)
    if reserve is None:
        return ""
    source.emit(step, f"r = {source.name_global('reserve', reserve)}()")
    return "r"


def reserver(step: Step, memory: TensorMemory) -> Callable[[], Reservation] | None:
    """Return the function that reserves a large output; None if it is not known to be large."""
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
    """Write the lines before an update that hold the memory of variables.

    Args:
        source: generated text.
        names: names of values.
        step: step of the kernel.
        variables: its variables, from `variables_of`.
        memory: memory of the GPU.

    Returns:
        Names of the holds by variable; empty if the kernel is not an update.
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
    """Write the lines that count new values of variables.

    Args:
        source, names, step, variables, memory: as in `hold_variables`.
        held: result of `hold_variables`.
    """
    for slot in variables:
        note = source.name_global("v", partial(note_variable, memory, step.device))
        name = names.of[slot]
        source.emit(step, f"{note}({name}, {held[slot]})" if slot in held else f"{note}({name})")
    if held:
        source.emit(step, f"del {', '.join(held.values())}")


def is_update(step: Step) -> bool:
    """Whether a kernel changes the values of variables in place."""
    return step.op is not None and step.op.type.startswith(UPDATES_OF_VARIABLES)


def variables_of(step: Step) -> list[Slot]:
    """Return the distinct inputs that may be variables to which a kernel assigns."""
    handles = [slot.is_handle for slot in step.inputs]
    if True not in handles:
        return []
    variables = itertools.compress(
        step.inputs, [a and not b for a, b in zip(handles, step.reads, strict=True)]
    )
    return list(dict.fromkeys(variables))


def _noting(memory: TensorMemory, step: Step) -> Callable[..., Any]:
    """Return the function that counts a value of the step, and returns it."""
    return partial(memory.note, step.name, step.device)


def note_variable(memory: TensorMemory, device: str, reference: Any, held: Reservation | None = None) -> None:
    """Count the new value of a variable.

    Args:
        memory: memory of the GPU.
        device: full device name.
        reference: the variable, or its handle.
        held: bytes of the previous value.
    """
    variable = getattr(reference, "resource", reference)
    if getattr(variable, "is_initialized", False):
        memory.note(variable.name, device, variable.value, held)
