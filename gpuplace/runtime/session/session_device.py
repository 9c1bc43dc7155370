"""Entries of ``Session.list_devices``.

Source: tensorflow/python/client/session.py, release 1.15.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, repr=False)
class SessionDevice:
    """Device of a session.

    >>> SessionDevice("/job:localhost/replica:0/task:0/device:CPU:0", "CPU", 268435456, 7)
    _DeviceAttributes(/job:localhost/replica:0/task:0/device:CPU:0, CPU, 268435456, 7)
    """

    name: str
    """Full name."""
    device_type: str
    """``CPU``, ``GPU``, ..."""
    memory_limit_bytes: int
    """Memory limit of its allocator."""
    incarnation: int
    """Number that distinguishes this device from earlier devices of the same name."""

    def __repr__(self) -> str:
        return f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, {self.incarnation})"
