"""Interface of a device to compiled plans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from gpuplace.runtime.memory.simulated_memory import TensorMemory


class Backend(Protocol):
    """Device that runs kernels; see ``numpy_backend`` and ``cupy_backend``."""

    device: str
    """Full device name."""
    device_type: str
    """``"CPU"`` or ``"GPU"``."""
    allocator_name: str
    """Name of its allocator in statistics."""
    xp: Any
    """``numpy`` or ``cupy``."""
    memory: TensorMemory | None
    """Accounting of a simulated GPU's memory."""
    enter: Callable[[], None] | None
    """Makes the device the thread's current one; None if that is not needed."""
    owns_arrays: bool
    """Whether its array class differs from the host's."""

    def from_host(self, value: Any) -> Any:
        """Return a copy in the device's memory."""
        ...

    def to_host(self, value: Any) -> Any:
        """Return a copy in host memory."""
        ...

    def copier_from(self, sender: Any) -> Callable[[Any], Any]:
        """Return a function that copies arrays from another device of this kind."""
        ...
