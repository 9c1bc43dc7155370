"""What a plan needs of a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from gpuplace.runtime.memory.simulated_memory import TensorMemory


class Backend(Protocol):
    """A device that computes; see ``numpy_backend`` and ``cupy_backend``."""

    device: str
    """Its full name."""
    device_type: str
    """``"CPU"`` or ``"GPU"``."""
    allocator_name: str
    """What its memory is called in statistics."""
    xp: Any
    """``numpy`` or ``cupy``."""
    memory: TensorMemory | None
    """Accounting of a simulated GPU's memory."""
    enter: Callable[[], None] | None
    """Makes the device the thread's current one; None if there is no such thing."""
    owns_arrays: bool
    """Whether its arrays are of another class than the host's."""

    def from_host(self, value: Any) -> Any:
        """A copy in the device's memory."""
        ...

    def to_host(self, value: Any) -> Any:
        """A copy in host memory."""
        ...

    def copier_from(self, sender: Any) -> Callable[[Any], Any]:
        """Makes copies of arrays of another device of this kind."""
        ...
