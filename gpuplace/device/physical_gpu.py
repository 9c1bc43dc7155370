"""One CUDA device of a machine: a real GPU found by the driver, or one of the catalogue.

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
    """``0000:05:00.0`` from any spelling the driver or a person uses (``05:00.0``, ``00000000:05:00.0``).

    Raises:
        InvalidArgumentError: not a PCI bus id.
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
    """Position in the machine, in order of PCI bus id."""
    model: GPUModel
    """Figures of the hardware; for a real GPU outside the catalogue, what the driver reports."""
    pci_bus_id: str
    """``domain:bus:device.function`` in lower-case hexadecimal, four digits of domain."""
    uuid: str
    """``GPU-`` and a UUID; for a simulated GPU made from model and slot, so always the same."""
    total_bytes: int
    """Memory that the driver reports."""
    free_bytes: int
    """Memory free when the process starts."""
    numa_node: int = 0
    """Socket the slot belongs to."""
    is_simulated: bool = True
    """False for hardware that is really there."""

    def __repr__(self) -> str:
        kind = "simulated" if self.is_simulated else "real"
        return f"<PhysicalGPU {self.index}: {self.model.name} at {self.pci_bus_id}, {kind}>"

    @classmethod
    def simulated(cls, model: GPUModel, index: int, pci_bus_id: str) -> PhysicalGPU:
        """A GPU of the catalogue in a slot; buses from 80 upward belong to the second socket.

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
        """The same GPU at another position of the machine's list."""
        return replace(self, index=index)

    @property
    def name(self) -> str:
        """Name as the driver reports it."""
        return self.model.name

    def describe(self, visible_id: int) -> str:
        """TensorFlow's description of the GPU; ``visible_id`` is its number after CUDA_VISIBLE_DEVICES."""
        major, minor = self.model.compute_capability
        return (
            f"device: {visible_id}, name: {self.name}, pci bus id: {self.pci_bus_id}, "
            f"compute capability: {major}.{minor}"
        )
