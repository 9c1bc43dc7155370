"""What ``CUDA_VISIBLE_DEVICES`` and ``CUDA_DEVICE_ORDER`` leave of a machine's GPUs.

The CUDA driver reads both when a process first uses it. The rules, for ``CUDA_VISIBLE_DEVICES``:

- not set: all GPUs; set to nothing: none.
- A comma-separated list of ids, or of UUIDs (``GPU-...``, any unambiguous beginning will do); never both kinds.
- The order of the list is the order in which the process sees the GPUs.
- The first entry that names no GPU ends the list: ``0,7,1`` on four GPUs is ``0``, ``-1,0`` is nothing.
- The same GPU twice leaves none at all.
- An id may be followed by text (``1gpu`` is 1), spaces around it, and the whole value may be quoted.

Ids count in CUDA's order: fastest GPU first, unless ``CUDA_DEVICE_ORDER=PCI_BUS_ID``.

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
    """The GPUs a process sees, and why it does not see the others."""

    visible: tuple[PhysicalGPU, ...]
    """GPUs in the order in which CUDA numbers them for the process."""
    hidden: Mapping[int, str]
    """Index of each hidden GPU in the machine to the reason."""
    setting: str | None
    """Value of CUDA_VISIBLE_DEVICES, None if it is not set."""
    order: str = "FASTEST_FIRST"
    """``"FASTEST_FIRST"`` or ``"PCI_BUS_ID"``."""

    def __repr__(self) -> str:
        setting = "not set" if self.setting is None else repr(self.setting)
        seen = [gpu.index for gpu in self.visible]
        return f"<Visibility: {VISIBLE_DEVICES} {setting}, GPUs {seen} visible, {sorted(self.hidden)} hidden>"

    def visible_id(self, gpu: PhysicalGPU) -> int | None:
        """The process's number for ``gpu``, or None if it is hidden."""
        return next((number for number, seen in enumerate(self.visible) if seen.index == gpu.index), None)


def cuda_order(gpus: Sequence[PhysicalGPU], order: str = "FASTEST_FIRST") -> tuple[PhysicalGPU, ...]:
    """GPUs as CUDA numbers them: fastest first (equals by PCI bus id), or by PCI bus id."""
    by_bus = sorted(gpus, key=lambda gpu: gpu.pci_bus_id)
    if order == "PCI_BUS_ID":
        return tuple(by_bus)
    return tuple(sorted(by_bus, key=lambda gpu: -gpu.model.fp32_flops))


def visible_gpus(gpus: Sequence[PhysicalGPU], environ: Mapping[str, str]) -> Visibility:
    """Apply CUDA_DEVICE_ORDER and CUDA_VISIBLE_DEVICES from ``environ``.

    Raises:
        InvalidArgumentError: the value names a MIG instance, which is not modelled.
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
    """The value of CUDA_VISIBLE_DEVICES for what is given as ``visible_devices=``.

    >>> from gpuplace.device.machine import Machine
    >>> visible_devices_text([2, 0], Machine.parse("4x Tesla K20m").gpus)
    '2,0'

    Args:
        wanted: numbers of GPUs of the machine, in the order in which the process is to see them, or the value itself.
        gpus: those of the machine.
        order: in which CUDA counts, as of ``cuda_order``.

    Raises:
        TypeError: neither text nor whole numbers.
        ValueError: a GPU that the machine does not have, or one twice.
    """
    if isinstance(wanted, str):
        return wanted
    complaint = (
        "visible_devices is a list of numbers of the machine's GPUs, such as [0, 2], or the value of "
        f"{VISIBLE_DEVICES}, such as '0,2'; got {wanted!r}"
    )
    try:
        listed = list(wanted)
        numbers = [operator.index(number) for number in listed]
    except TypeError:
        raise TypeError(complaint) from None
    if any(isinstance(number, bool) for number in listed):
        raise TypeError(complaint)
    if any(not 0 <= number < len(gpus) for number in numbers):
        counts = ", counted from 0" if gpus else ""
        raise ValueError(f"The machine has {_count(len(gpus))}{counts}; got visible_devices={listed}")
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"visible_devices names a GPU twice: {listed}")
    ordered = [gpu.index for gpu in cuda_order(gpus, order)]
    return ",".join(str(ordered.index(number)) for number in numbers)


def _unquote(setting: str) -> str:
    """``setting`` without spaces around it and without one pair of quotation marks."""
    text = setting.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1].strip()
    return text


def _choose(text: str, ordered: Sequence[PhysicalGPU]) -> tuple[list[PhysicalGPU], str]:
    """The GPUs that ``text`` names, and what ended the list early (``""`` if nothing did)."""
    if not text:
        return [], "is empty, so no GPU is visible"
    if text.startswith("MIG-"):
        raise InvalidArgumentError.of(
            f"{VISIBLE_DEVICES}='{text}' names a MIG instance, and GPUs divided by MIG are not modelled.",
            hint="name whole GPUs, by id or by UUID (GPU-...)",
        )
    by_uuid = text.startswith("GPU-")
    chosen: list[PhysicalGPU] = []
    for entry in text.split(","):
        gpu, fault = _by_uuid(entry.strip(), ordered) if by_uuid else _by_id(entry.strip(), ordered)
        if gpu is None:
            return chosen, f"ends at '{entry.strip()}': {fault}"
        if gpu in chosen:
            return [], f"names a GPU twice ('{entry.strip()}'), so no GPU is visible"
        chosen.append(gpu)
    return chosen, ""


def _by_id(entry: str, ordered: Sequence[PhysicalGPU]) -> tuple[PhysicalGPU | None, str]:
    number = _LEADING_ID.match(entry)
    if number is None:
        return None, "not an id"
    size = number_of(number[1])
    index = -size if number[0].startswith("-") else size
    if not 0 <= index < len(ordered):
        shown = index if size < 1 << 64 else "of that number"
        return None, f"there is no GPU {shown}, {_count(len(ordered))} in the machine"
    return ordered[index], ""


def _by_uuid(entry: str, ordered: Sequence[PhysicalGPU]) -> tuple[PhysicalGPU | None, str]:
    if not entry.startswith("GPU-"):
        return None, "not a UUID like the first entry"
    found = [gpu for gpu in ordered if gpu.uuid.startswith(entry)]
    if len(found) == 1:
        return found[0], ""
    return (
        None,
        "no GPU has a UUID that begins so" if not found else f"{len(found)} GPUs have a UUID that begins so",
    )


def _count(number: int) -> str:
    return f"{number} GPU{'' if number == 1 else 's'}"
