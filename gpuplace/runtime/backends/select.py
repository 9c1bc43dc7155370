"""Selection of the backend of a device: NumPy for CPUs and simulated GPUs, CuPy for real GPUs.

A real GPU that does not work is an error; there is no fallback.
"""

from __future__ import annotations

from typing import Any

from gpuplace.runtime.backends.cupy_backend import CupyBackend
from gpuplace.runtime.backends.numpy_backend import NumpyBackend
from gpuplace.runtime.memory.process_state import SessionDevices
from gpuplace.runtime.memory.simulated_memory import memory_of


def make_backend(devices: SessionDevices, name: str) -> Any:
    """Create the backend of one of a session's devices.

    Raises:
        UnimplementedError: CuPy, which a real GPU needs, is not installed.
        InternalError: the GPU or its driver fails.
    """
    device = devices.by_name[name]
    allocator = devices.allocators.get(name)
    if allocator is not None:
        return NumpyBackend(name, device.device_type, memory_of(allocator))
    if device.device_type == "GPU" and device.physical_id is not None:
        return CupyBackend(device, devices.memory_settings[name])
    return NumpyBackend(name, device.device_type)
