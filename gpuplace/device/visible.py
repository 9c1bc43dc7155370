"""Visibility of a machine's GPUs under ``CUDA_VISIBLE_DEVICES`` and ``CUDA_DEVICE_ORDER``.

The CUDA driver reads both when a process first uses it. The rules for ``CUDA_VISIBLE_DEVICES``:

- Unset: all GPUs; empty: none.
- A comma-separated list of ids, or of UUIDs (``GPU-...``, any unambiguous prefix); never both.
- The order of the list is the order in which the process sees the GPUs.
- The first invalid entry ends the list: ``0,7,1`` on four GPUs is ``0``, ``-1,0`` is empty.
- A duplicate GPU hides all GPUs.
- Text after an id is ignored (``1gpu`` is 1), as are spaces around it and quotes around the value.

Ids follow CUDA's order: fastest GPU first, unless ``CUDA_DEVICE_ORDER=PCI_BUS_ID``.

>>> from gpuplace.device.machine import Machine
>>> machine = Machine.parse("4x Tesla K20m")
>>> [gpu.pci_bus_id for gpu in visible_gpus(machine.gpus, {"CUDA_VISIBLE_DEVICES": "2,0,9,1"}).visible]
['0000:83:00.0', '0000:02:00.0']

Source: CUDA C++ Programming Guide, section "CUDA Environment Variables".
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpuplace.device.limits import number_of
from gpuplace.device.physical_gpu import PhysicalGPU
from gpuplace.errors import InvalidArgumentError

VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"
DEVICE_ORDER = "CUDA_DEVICE_ORDER"

_LEADING_ID = re.compile(r"[+-]?([0-9]+)")


@dataclass(frozen=True, slots=True)
class Visibility:
    """The GPUs that a process sees, and why it does not see the others."""

    visible: tuple[PhysicalGPU, ...]
    """Visible GPUs in the process's CUDA order."""
    hidden: Mapping[int, str]
    """Index of each hidden GPU in the machine -> reason."""
    setting: str | None
    """Value of CUDA_VISIBLE_DEVICES; None if unset."""
    order: str = "FASTEST_FIRST"
    """``"FASTEST_FIRST"`` or ``"PCI_BUS_ID"``."""

    def __repr__(self) -> str:
        setting = "not set" if self.setting is None else repr(self.setting)
        seen = [gpu.index for gpu in self.visible]
        return f"<Visibility: {VISIBLE_DEVICES} {setting}, GPUs {seen} visible, {sorted(self.hidden)} hidden>"

    def visible_id(self, gpu: PhysicalGPU) -> int | None:
        """Return the index of ``gpu`` for the process, or None if it is hidden."""
        return next((number for number, seen in enumerate(self.visible) if seen.index == gpu.index), None)


def cuda_order(gpus: Sequence[PhysicalGPU], order: str = "FASTEST_FIRST") -> tuple[PhysicalGPU, ...]:
    """Return GPUs in CUDA's order: fastest first (ties by PCI bus id), or by PCI bus id."""
    by_bus = sorted(gpus, key=lambda gpu: gpu.pci_bus_id)
    if order == "PCI_BUS_ID":
        return tuple(by_bus)
    return tuple(sorted(by_bus, key=lambda gpu: -gpu.model.fp32_flops))


def visible_gpus(gpus: Sequence[PhysicalGPU], environ: Mapping[str, str]) -> Visibility:
    """Apply CUDA_DEVICE_ORDER and CUDA_VISIBLE_DEVICES from ``environ``.

    Raises:
        InvalidArgumentError: the value names a MIG instance, which is not modeled.
    """
    order = "PCI_BUS_ID" if environ.get(DEVICE_ORDER, "").strip() == "PCI_BUS_ID" else "FASTEST_FIRST"
    ordered = cuda_order(gpus, order)
    setting = environ.get(VISIBLE_DEVICES)
    if setting is None:
        return Visibility(ordered, {}, None, order)
    chosen, end = _choose(_unquote(setting), ordered)
    shown = f"{VISIBLE_DEVICES}={setting!r}"
    reason = f"{shown} {end}" if end else f"not in {shown}"
    hidden = {gpu.index: reason for gpu in ordered if gpu not in chosen}
    return Visibility(tuple(chosen), hidden, setting, order)


def visible_devices_text(
    wanted: str | Iterable[int], gpus: Sequence[PhysicalGPU], order: str = "FASTEST_FIRST"
) -> str:
    """Return the value of CUDA_VISIBLE_DEVICES for an argument ``visible_devices=``.

    >>> from gpuplace.device.machine import Machine
    >>> visible_devices_text([2, 0], Machine.parse("4x Tesla K20m").gpus)
    '2,0'

    Args:
        wanted: GPU indices of the machine, in the order in which the process sees them, or the value itself.
        gpus: GPUs of the machine.
        order: CUDA's device order, as for ``cuda_order``.

    Raises:
        TypeError: the argument is neither a string nor a list of integers.
        ValueError: a GPU does not exist or is listed twice.
    """
    if isinstance(wanted, str):
        return wanted
    message = (
        "visible_devices must be a list of GPU numbers of the machine, such as [0, 2], or the value of "
        f"{VISIBLE_DEVICES}, such as '0,2'; got {wanted!r}"
    )
    try:
        listed = list(wanted)
        numbers = [operator.index(number) for number in listed]
    except TypeError:
        raise TypeError(message) from None
    if any(isinstance(number, bool) for number in listed):
        raise TypeError(message)
    if any(not 0 <= number < len(gpus) for number in numbers):
        counts = ", numbered from 0" if gpus else ""
        raise ValueError(f"The machine has {_count(len(gpus))}{counts}; got visible_devices={listed}")
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"visible_devices lists a GPU twice: {listed}")
    ordered = [gpu.index for gpu in cuda_order(gpus, order)]
    return ",".join(str(ordered.index(number)) for number in numbers)


def _unquote(setting: str) -> str:
    """Return ``setting`` without surrounding spaces and one pair of quotation marks."""
    text = setting.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1].strip()
    return text


def _choose(text: str, ordered: Sequence[PhysicalGPU]) -> tuple[list[PhysicalGPU], str]:
    """Return the GPUs listed in ``text``, and what ended the list early or ``""``."""
    if not text:
        return [], "is empty, so no GPU is visible"
    if text.startswith("MIG-"):
        raise InvalidArgumentError.of(
            f"{VISIBLE_DEVICES}='{text}' names a MIG instance; MIG instances are not supported.",
            hint="list whole GPUs by id or UUID (GPU-...)",
        )
    by_uuid = text.startswith("GPU-")
    chosen: list[PhysicalGPU] = []
    for entry in text.split(","):
        gpu, fault = _by_uuid(entry.strip(), ordered) if by_uuid else _by_id(entry.strip(), ordered)
        if gpu is None:
            return chosen, f"ends at '{entry.strip()}': {fault}"
        if gpu in chosen:
            return [], f"contains a GPU twice ('{entry.strip()}'), so no GPU is visible"
        chosen.append(gpu)
    return chosen, ""


def _by_id(entry: str, ordered: Sequence[PhysicalGPU]) -> tuple[PhysicalGPU | None, str]:
    number = _LEADING_ID.match(entry)
    if number is None:
        return None, "not an id"
    size = number_of(number[1])
    index = -size if number[0].startswith("-") else size
    if not 0 <= index < len(ordered):
        shown = index if size < 1 << 64 else "with that number"
        return None, f"there is no GPU {shown}; the machine has {_count(len(ordered))}"
    return ordered[index], ""


def _by_uuid(entry: str, ordered: Sequence[PhysicalGPU]) -> tuple[PhysicalGPU | None, str]:
    if not entry.startswith("GPU-"):
        return None, "not a UUID like the first entry"
    matches = [gpu for gpu in ordered if gpu.uuid.startswith(entry)]
    if len(matches) == 1:
        return matches[0], ""
    return (
        None,
        f"{_count(len(matches))} have a UUID with this prefix"
        if matches
        else "no GPU has a UUID with this prefix",
    )


def _count(number: int) -> str:
    return f"{number} GPU{'' if number == 1 else 's'}"
