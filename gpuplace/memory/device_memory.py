"""Memory of a simulated GPU as the driver hands it out: whole regions at virtual addresses.

This is what stands below the allocator where TensorFlow has ``cuMemAlloc``. Nothing is stored in it.

>>> memory = DeviceMemory(capacity=4 << 20)
>>> hex(memory.allocate(3 << 20)), memory.allocate(2 << 20)
('0x7f0000000000', None)
>>> memory.free(0x7F0000000000, 3 << 20)
>>> memory.bytes_free >> 20
4
"""

from __future__ import annotations

import bisect
import threading

_ALIGNMENT = 2 << 20
_FIRST_ADDRESS = 0x7F00_0000_0000


class DeviceMemory:
    """Virtual address space of one GPU, shared by all devices made on it.

    Args:
        capacity: Bytes that may be handed out at one time.
        first_address: Where the address space begins.
    """

    def __init__(self, capacity: int, first_address: int = _FIRST_ADDRESS) -> None:
        self.capacity = capacity
        self.bytes_in_use = 0
        self._first = first_address
        self._regions: list[tuple[int, int]] = []  # (address, end), sorted
        self._lock = threading.Lock()

    @property
    def bytes_free(self) -> int:
        """Bytes that may still be handed out."""
        return self.capacity - self.bytes_in_use

    def allocate(self, nbytes: int) -> int | None:
        """Address of a new region at the lowest place that fits (2 MiB aligned), or None when memory is used up."""
        with self._lock:
            if nbytes <= 0 or nbytes > self.bytes_free:
                return None
            address = self._first
            for start, end in self._regions:
                if address + nbytes <= start:
                    break
                address = -(-end // _ALIGNMENT) * _ALIGNMENT
            bisect.insort(self._regions, (address, address + nbytes))
            self.bytes_in_use += nbytes
            return address

    def free(self, address: int, nbytes: int) -> None:
        """Give a region back.

        Raises:
            ValueError: there is no such region.
        """
        with self._lock:
            self._regions.remove((address, address + nbytes))
            self.bytes_in_use -= nbytes
