"""What ``Session.list_devices`` lists.

Source: tensorflow/python/client/session.py, release 1.15.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, repr=False)
class SessionDevice:
    """A device as a session sees it.

    >>> SessionDevice("/job:localhost/replica:0/task:0/device:CPU:0", "CPU", 268435456, 7)
    _DeviceAttributes(/job:localhost/replica:0/task:0/device:CPU:0, CPU, 268435456, 7)
    """

    name: str
    """Full name."""
    device_type: str
    """``CPU``, ``GPU``, ..."""
    memory_limit_bytes: int
    """Bytes its allocator may hand out."""
    incarnation: int
    """Number that tells it from an earlier device of that name."""

    def __repr__(self) -> str:
        return f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, {self.incarnation})"
