"""Backend of the CPU and simulated GPUs, with NumPy arrays as tensors.

A simulated GPU computes with NumPy. A program cannot tell that its memory is the host's: a copy to it is a new array,
which its allocator accounts for, and so is a copy from it.

>>> cpu = NumpyBackend("/job:localhost/replica:0/task:0/device:CPU:0", "CPU")
>>> cpu.xp.__name__, cpu.memory is None, cpu.enter is None
('numpy', True, True)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.runtime.memory.simulated_memory import TensorMemory


class NumpyBackend:
    """Backend of one device.

    Args:
        device: full device name.
        device_type: ``"CPU"`` or ``"GPU"``.
        memory: accounting of its memory; None for the CPU.
    """

    xp: Any = np
    enter: Callable[[], None] | None = None
    """Makes the device the thread's current one; None if that is not needed."""
    owns_arrays = False
    """Whether its array class differs from the host's."""

    def __init__(self, device: str, device_type: str, memory: TensorMemory | None = None) -> None:
        self.device = device
        self.device_type = device_type
        self.memory = memory
        self.allocator_name = "cpu" if memory is None else memory.name

    def from_host(self, value: Any) -> Any:
        """Return a copy in the device's memory."""
        return value if self.memory is None else np.array(value)

    def to_host(self, value: Any) -> Any:
        """Return a copy in host memory."""
        return value if self.memory is None else np.array(value)

    def copier_from(self, sender: Any) -> Callable[[Any], Any]:
        """Return a function that copies arrays from another device of this kind."""
        return np.array

    def __repr__(self) -> str:
        return f"<NumpyBackend {self.device}{' simulated' if self.memory else ''}>"
