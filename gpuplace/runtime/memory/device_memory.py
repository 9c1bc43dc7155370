"""Memory of a simulated GPU as its driver allocates it: whole regions at virtual addresses.

It takes the place of ``cuMemAlloc`` below the allocator. No data is stored in it.

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
    """Virtual address space of one GPU, shared by all devices on it.

    Args:
        capacity: maximum number of allocated bytes.
        first_address: start of the address space.
    """

    def __init__(self, capacity: int, first_address: int = _FIRST_ADDRESS) -> None:
        self.capacity = capacity
        self._first = first_address
        self._regions: tuple[_Region, ...] = ()
        """Sorted. Each change replaces the tuple, so an exception of a signal handler at any instruction leaves the old
        or the new one."""
        self._lock = threading.Lock()

    @property
    def bytes_in_use(self) -> int:
        """Number of allocated bytes."""
        return sum(region.end - region.address for region in self._regions)

    @property
    def bytes_free(self) -> int:
        """Number of bytes that can still be allocated."""
        return self.capacity - self.bytes_in_use

    def allocate(self, nbytes: int, owner: object = None) -> int | None:
        """Return the address of a new region, at the lowest address where it fits (2 MiB aligned); None if memory is
        used up.

        Args:
            nbytes: size in bytes.
            owner: key of the region for ``regions_of``, or None.
        """
        with self._lock:
            if nbytes <= 0 or nbytes > self.bytes_free:
                return None
            address = self._first
            for region in self._regions:
                if address + nbytes <= region.address:
                    break
                address = -(-region.end // _ALIGNMENT) * _ALIGNMENT
            region_to_add = _Region(address, address + nbytes, owner)
            self._regions = tuple(sorted((*self._regions, region_to_add), key=operator.attrgetter("address")))
            return address

    def regions_of(self, owner: object) -> list[tuple[int, int]]:
        """Return the addresses and sizes in bytes of an owner's regions, in address order."""
        return [
            (region.address, region.end - region.address) for region in self._regions if region.owner is owner
        ]

    def free(self, address: int, nbytes: int) -> None:
        """Free a region.

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


class _Region(NamedTuple):
    """Allocated region."""

    address: int
    end: int
    owner: object
