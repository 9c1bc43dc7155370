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

import operator
import threading
from typing import NamedTuple

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
        self._first = first_address
        self._regions: tuple[_Handed, ...] = ()
        """Sorted. Each change puts another tuple in its place, so that an exception at any instruction, of a signal
        handler, leaves the old one or the new one."""
        self._lock = threading.Lock()

    @property
    def bytes_in_use(self) -> int:
        """Bytes that are handed out."""
        return sum(region.end - region.address for region in self._regions)

    @property
    def bytes_free(self) -> int:
        """Bytes that may still be handed out."""
        return self.capacity - self.bytes_in_use

    def allocate(self, nbytes: int, owner: object = None) -> int | None:
        """Address of a new region at the lowest place that fits (2 MiB aligned), or None when memory is used up.

        Args:
            nbytes: Bytes wanted.
            owner: What ``regions_of`` finds the region by; None for nothing.
        """
        with self._lock:
            if nbytes <= 0 or nbytes > self.bytes_free:
                return None
            address = self._first
            for region in self._regions:
                if address + nbytes <= region.address:
                    break
                address = -(-region.end // _ALIGNMENT) * _ALIGNMENT
            handed = _Handed(address, address + nbytes, owner)
            self._regions = tuple(sorted((*self._regions, handed), key=operator.attrgetter("address")))
            return address

    def regions_of(self, owner: object) -> list[tuple[int, int]]:
        """Addresses and sizes in bytes of the regions that an owner has, by address."""
        return [
            (region.address, region.end - region.address) for region in self._regions if region.owner is owner
        ]

    def free(self, address: int, nbytes: int) -> None:
        """Give a region back.

        Raises:
            ValueError: there is no such region.
        """
        with self._lock:
            kept = tuple(
                region
                for region in self._regions
                if (region.address, region.end) != (address, address + nbytes)
            )
            if len(kept) == len(self._regions):
                raise ValueError(f"no region of {nbytes} bytes at {address:#x}")
            self._regions = kept


class _Handed(NamedTuple):
    """A region that was handed out."""

    address: int
    end: int
    owner: object
