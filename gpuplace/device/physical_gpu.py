"""A CUDA device of a machine: a real GPU reported by the driver, or a simulated one from the catalogue.

>>> from gpuplace.device.gpu_models import find_model
>>> PhysicalGPU.simulated(find_model("Tesla K40c"), index=0, pci_bus_id="0000:05:00.0").describe(0)
'device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0, compute capability: 3.5'
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, replace

from gpuplace.device.gpu_models import GPUModel
from gpuplace.errors import InvalidArgumentError

_PCI_BUS_ID = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])", re.IGNORECASE)
_SECOND_SOCKET_BUS = 0x80
_UUID_NAMESPACE = uuid.UUID("6f1a7d0e-3c55-5d0b-9b1c-0f8f4a7e2b10")


def normalize_pci_bus_id(text: str) -> str:
    """Return ``0000:05:00.0`` for any spelling (``05:00.0``, ``00000000:05:00.0``).

    Raises:
        InvalidArgumentError: the text is not a PCI bus id.
    """
    match = _PCI_BUS_ID.fullmatch(text.strip())
    if match is None:
        raise InvalidArgumentError.of(
            f"'{text}' is not a PCI bus id.",
            hint="write domain:bus:device.function in hexadecimal, for example 0000:05:00.0",
        )
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):04x}:{bus}:{device}.{function}".lower()


@dataclass(frozen=True, slots=True)
class PhysicalGPU:
    """A GPU in its slot."""

    index: int
    """Index in the machine, in order of PCI bus id."""
    model: GPUModel
    """Specification of the hardware; for real GPUs outside the catalogue, as the driver reports it."""
    pci_bus_id: str
    """``domain:bus:device.function`` in lower-case hexadecimal, four digits of domain."""
    uuid: str
    """``GPU-`` and a UUID; for a simulated GPU derived from model and slot, and thus always the same."""
    total_bytes: int
    """Total memory that the driver reports, in bytes."""
    free_bytes: int
    """Free memory at process start, in bytes."""
    numa_node: int = 0
    """Socket of the slot."""
    is_simulated: bool = True
    """False for real hardware."""

    def __repr__(self) -> str:
        kind = "simulated" if self.is_simulated else "real"
        return f"<PhysicalGPU {self.index}: {self.model.name} at {self.pci_bus_id}, {kind}>"

    @classmethod
    def simulated(cls, model: GPUModel, index: int, pci_bus_id: str) -> PhysicalGPU:
        """Return a simulated GPU in a slot; buses from 80 upward belong to the second socket.

        Raises:
            InvalidArgumentError: not a PCI bus id.
        """
        bus = normalize_pci_bus_id(pci_bus_id)
        return cls(
            index=index,
            model=model,
            pci_bus_id=bus,
            uuid=f"GPU-{uuid.uuid5(_UUID_NAMESPACE, f'{model.name} at {bus}')}",
            total_bytes=model.memory_bytes,
            free_bytes=model.free_bytes,
            numa_node=int(int(bus.split(":")[1], 16) >= _SECOND_SOCKET_BUS),
        )

    def at(self, index: int) -> PhysicalGPU:
        """Return the same GPU with another index in the machine."""
        return replace(self, index=index)

    @property
    def name(self) -> str:
        """Name that the driver reports."""
        return self.model.name

    def describe(self, visible_id: int) -> str:
        """Return TensorFlow's description of the GPU; ``visible_id`` is its index under CUDA_VISIBLE_DEVICES."""
        major, minor = self.model.compute_capability
        return (
            f"device: {visible_id}, name: {self.name}, pci bus id: {self.pci_bus_id}, "
            f"compute capability: {major}.{minor}"
        )
