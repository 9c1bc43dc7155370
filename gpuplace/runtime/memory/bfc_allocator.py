"""Best-fit-with-coalescing allocator over virtual addresses: TensorFlow's GPU allocator without the GPU.

Memory is allocated from the device in *regions*; a region is a chain of *chunks*, used or free. A free chunk is in the
*bin* of its size class (256 bytes << bin), ordered by size, then address, so the first chunk that is large enough is
the best fit:

```
 region   | 1 used | 2 free    | 3 used | 4 free                              |
                       |                    |
 bins     ... bin 0    +-> bin 1 ...        +-> bin 3 (2048 bytes and more) ...
```

A chunk that is at least twice as large as needed (or with 128 MiB to spare) is split, and the rest returns to a bin. A
freed chunk is merged immediately with free neighbors of its region. When no chunk fits, a region is added; when that
fails, completely free regions are returned to the device to make room for a larger one; when that is not enough, the
request waits for other threads to free memory, and then fails.

An exception of a signal handler can occur at any instruction. The authoritative state is in two places, each changed by
a single instruction: the regions that the device has allocated for the allocator, and the chunks in use, by address.
All else is derived from them, and rebuilt if an exception left it unfinished.

>>> allocator = BFCAllocator(DeviceMemory(1 << 30), memory_limit=1 << 30)
>>> first = allocator.allocate(4)
>>> allocator.requested_size(first), allocator.allocated_size(first)
(4, 256)
>>> allocator.deallocate(first)
>>> allocator.stats().peak_bytes_in_use
256

Source: tensorflow/core/common_runtime/bfc_allocator.cc, allocator_retry.cc and gpu/gpu_bfc_allocator.cc, release 1.15.
"""

from __future__ import annotations

import contextlib
import logging
import operator
import os
import threading
import time
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from gpuplace import release as releases
from gpuplace.display import notebook_view
from gpuplace.process import PROCESS
from gpuplace.runtime.memory.allocator_text import (
    NUM_BINS,
    AllocatorStats,
    BinRecord,
    ChunkRecord,
    RegionRecord,
    bin_number,
    bin_records,
    device_refusal,
    memory_summary,
    readable_bytes,
    render_occupancy,
)
from gpuplace.runtime.memory.device_memory import DeviceMemory
from gpuplace.runtime.memory.gpu_options import allow_growth_value, garbage_collection_value

MAX_INTERNAL_FRAGMENTATION = 128 << 20
"""Maximum number of unused bytes of an allocated chunk."""
DEFAULT_RETRY_WAIT_MS = 10_000
"""Time in milliseconds that a request waits for other threads to free memory."""

_POLL_S = 0.001

_logger = logging.getLogger(__name__)
_MAX_OPTIONAL_WARNINGS = 10


def floor_log2(number: int) -> int:
    """Return the position of the highest set bit; -1 for 0."""
    return number.bit_length() - 1


def _rounded(nbytes: int) -> int:
    return (nbytes + 255) & ~255


class _Chunk:
    __slots__ = (
        "address",
        "allocation_id",
        "entry",
        "handle",
        "label",
        "next",
        "prev",
        "region",
        "requested_size",
        "size",
    )

    def __init__(self, address: int, size: int, handle: int, region: _Region) -> None:
        self.address = address
        self.size = size
        self.handle = handle
        self.region = region
        self.requested_size = 0
        self.allocation_id = -1
        self.entry: Any = None
        self.label = ""
        self.prev: _Chunk | None = None
        self.next: _Chunk | None = None


def _linked(before: _Chunk | None, chunk: _Chunk, region: _Region) -> _Chunk:
    """Insert a chunk after another chunk, or first in its region, and return it."""
    chunk.prev = before
    if before is None:
        region.first = chunk
    else:
        before.next = chunk
    chunk.next = None
    return chunk


class _Region:
    __slots__ = ("address", "first", "size")

    def __init__(self, address: int, size: int) -> None:
        self.address = address
        self.size = size
        self.first: _Chunk


class _Poll:
    """Condition variable that polls, so that exceptions of signal handlers cannot leave it inconsistent."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass

    def wait(self, timeout: float) -> None:
        time.sleep(min(timeout, _POLL_S))

    def notify_all(self) -> None:
        pass


class BFCAllocator:
    """Allocator of one device; thread-safe.

    Args:
        memory: memory from which regions are allocated.
        memory_limit: maximum total size of all regions in bytes.
        allow_growth: whether to allocate small regions on demand; otherwise one region of ``memory_limit`` is allocated
            at the first allocation.
        name: name in logs and errors, ``GPU_0_bfc``.
        garbage_collection: whether to return completely free regions when that helps; None: as
            TF_ENABLE_GPU_GARBAGE_COLLECTION says.
        retry_wait_ms: time in milliseconds that a request waits for other threads to free memory.
        release: release whose texts and first region size are used; None: the process's.
        environ: environment with TF_FORCE_GPU_ALLOW_GROWTH and TF_ENABLE_GPU_GARBAGE_COLLECTION; None: os.environ.
        clock: returns seconds, for the wait.
        condition: condition on which requests wait and that each free notifies, like ``threading.Condition``; for
            tests.
    """

    def __init__(
        self,
        memory: DeviceMemory,
        memory_limit: int,
        *,
        allow_growth: bool = False,
        name: str = "GPU_0_bfc",
        garbage_collection: bool | None = None,
        retry_wait_ms: float = DEFAULT_RETRY_WAIT_MS,
        release: str | None = None,
        environ: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        condition: Any = None,
    ) -> None:
        environ = os.environ if environ is None else environ
        self.name = name
        self.memory_limit = memory_limit
        self.retry_wait_ms = retry_wait_ms
        self.release = releases.resolve(release)
        self.allow_growth = allow_growth_value(allow_growth, environ)
        self.garbage_collection = (
            garbage_collection_value(environ) if garbage_collection is None else garbage_collection
        )
        self.last_memory_log = ""
        smallest = 2 << 20 if self.release == "2.21" else 1 << 20
        self._next_region_size = _rounded(min(memory_limit, smallest) if self.allow_growth else memory_limit)
        self._memory = memory
        self._clock = clock
        self._freed = condition or _Poll()
        self._waiting = 0
        self._lock = threading.Lock()
        self._owner = object()
        self.memory: Any = None
        """Accounting of tensors, which frees the memory of deleted tensors before each operation, or None."""
        self._used: dict[int, _Chunk] = {}
        self._is_settled = True
        """Whether the derived state agrees with the regions of the device and the chunks in use."""
        self._regions: list[_Region] = []
        self._region_bytes = 0
        self._has_backpedalled = False
        self._chunks: dict[int, _Chunk] = {}
        self._bins: list[list[tuple[int, int]]] = [[] for _ in range(NUM_BINS)]  # (size, address), sorted
        self._nonempty = 0  # bit b is set if bin b is not empty
        self._unused: list[_Chunk] = []
        self._num_handles = 0
        self._next_allocation_id = 1
        self._num_allocs = 0
        self._bytes_in_use = 0
        self._peak_bytes_in_use = 0
        self._largest_alloc_size = 0

    # Allocation

    def allocate(
        self,
        nbytes: int,
        *,
        label: str = "",
        no_retry_on_failure: bool = False,
        freed_by_count: int = 0,
        entry: Any = None,
    ) -> int | None:
        """Return the address of at least ``nbytes`` bytes; None for 0 bytes or when memory ran out.

        Args:
            nbytes: requested size in bytes.
            label: the requester, for memory pictures and tables.
            no_retry_on_failure: True for optional scratch space: no waiting, and another warning.
            freed_by_count: number in that warning.
            entry: key for ``give_back``, valid even if an exception occurs before the address is returned; its
                attribute ``chunk`` is set.
        """
        address = self._try(nbytes, label, entry)
        if address is not None or nbytes == 0:
            return address
        if no_retry_on_failure:
            self._warn_optional(nbytes, freed_by_count)
            return None
        return self._wait_and_retry(nbytes, label, entry)

    def deallocate(self, address: int | None) -> None:
        """Free memory returned by ``allocate``; None does nothing.

        Raises:
            ValueError: ``address`` is not in use.
        """
        if address is None:
            return
        with self._lock:
            self._settle()
            self._free(self._chunk_in_use(address))
        if self._waiting:
            with self._freed:
                self._freed.notify_all()

    def give_back(self, entry: Any) -> None:
        """Free the memory of an entry unless it is free already; only for ``memory``, within ``release_dropped``."""
        chunk: _Chunk | None = entry.chunk
        if chunk is not None and chunk.entry is entry and self._used.get(chunk.address) is chunk:
            self._free(chunk)

    def _free(self, chunk: _Chunk) -> None:
        self._is_settled = False
        del self._used[chunk.address]
        chunk.allocation_id = -1
        chunk.entry = None
        self._bytes_in_use -= chunk.size
        self._put_in_bin(self._coalesce(chunk))
        self._is_settled = True

    def _try(self, nbytes: int, label: str, entry: Any) -> int | None:
        if nbytes <= 0:
            return None
        rounded = (nbytes + 255) & ~255
        with self._lock:
            self._settle()
            self._is_settled = False
            address = self._take(rounded, nbytes, label, entry)
            if address is None and (
                self._extend(rounded) or (self._give_back_free_regions(rounded) and self._extend(rounded))
            ):
                address = self._take(rounded, nbytes, label, entry)
            self._is_settled = True
            return address

    def _wait_and_retry(self, nbytes: int, label: str, entry: Any) -> int | None:
        """Try again at each free until the wait is over; then a last time, and log the state of the memory."""
        deadline = self._clock() + self.retry_wait_ms / 1000
        self._waiting += 1
        try:
            while (remaining := deadline - self._clock()) > 0:
                with self._freed:
                    address = self._try(nbytes, label, entry)
                    if address is not None:
                        return address
                    self._freed.wait(remaining)
        finally:
            self._waiting -= 1
        address = self._try(nbytes, label, entry)
        if address is None:
            self._log_failure(nbytes)
        return address

    def _take(self, rounded: int, nbytes: int, label: str, entry: Any) -> int | None:
        """Allocate the best fit among the free chunks, split if it is too large."""
        number = bin_number(rounded)
        entries = self._bins[number]
        at = bisect_left(entries, (rounded, 0)) if entries else 0
        if at == len(entries):
            larger = self._nonempty >> (number + 1)
            if not larger:
                return None
            number += (larger & -larger).bit_length()
            entries = self._bins[number]
            at = 0
        size, address = entries.pop(at)
        if not entries:
            self._nonempty &= ~(1 << number)
        chunk = self._chunks[address]
        if size >= 2 * rounded or size - rounded >= MAX_INTERNAL_FRAGMENTATION:
            self._split(chunk, rounded)
            size = rounded
        chunk.requested_size = nbytes
        chunk.allocation_id = self._next_allocation_id
        chunk.label = label
        chunk.entry = entry
        if entry is not None:
            entry.chunk = chunk
        self._used[address] = chunk
        self._next_allocation_id += 1
        self._num_allocs += 1
        self._bytes_in_use += size
        if self._bytes_in_use > self._peak_bytes_in_use:
            self._peak_bytes_in_use = self._bytes_in_use
        if size > self._largest_alloc_size:
            self._largest_alloc_size = size
        return address

    # Chunks and bins

    def _settle(self) -> None:
        """Rebuild the derived state if a change was interrupted, and free the memory of deleted tensors."""
        if not self._is_settled:
            self._rebuild()
        if self.memory is not None:
            self.memory.release_dropped()

    def _rebuild(self) -> None:
        """Rebuild the derived state from the regions and the chunks in use."""
        regions = {(region.address, region.size): region for region in self._regions}
        region_sizes = self._memory.regions_of(self._owner)
        self._regions = [regions.get(place) or _Region(*place) for place in region_sizes]
        self._region_bytes = sum(size for _, size in region_sizes)
        self._bins = [[] for _ in range(NUM_BINS)]
        self._nonempty = 0
        self._unused = []
        self._chunks = {}
        used = sorted(self._used.values(), key=operator.attrgetter("address"))
        self._bytes_in_use = sum(chunk.size for chunk in used)
        for region in self._regions:
            previous: _Chunk | None = None
            at, end = region.address, region.address + region.size
            within = [chunk for chunk in used if at <= chunk.address < end]
            for chunk in [*within, None]:
                start = end if chunk is None else chunk.address
                if at < start:
                    gap = self._new_chunk(at, start - at, region)
                    self._put_in_bin(gap)
                    previous = _linked(previous, gap, region)
                if chunk is not None:
                    self._chunks[chunk.address] = chunk
                    chunk.region = region
                    previous = _linked(previous, chunk, region)
                    at = chunk.address + chunk.size
            if previous is not None:
                previous.next = None
        self._is_settled = True

    def _new_chunk(self, address: int, size: int, region: _Region) -> _Chunk:
        if self._unused:
            chunk = self._unused.pop()  # with its old requested_size, as in TensorFlow's memory log
            chunk.address = address
            chunk.size = size
            chunk.region = region
            chunk.label = ""
            chunk.prev = chunk.next = None
        else:
            chunk = _Chunk(address, size, self._num_handles, region)
            self._num_handles += 1
        self._chunks[address] = chunk
        return chunk

    def _delete_chunk(self, chunk: _Chunk) -> None:
        del self._chunks[chunk.address]
        self._unused.append(chunk)

    def _split(self, chunk: _Chunk, rounded: int) -> None:
        rest = self._new_chunk(chunk.address + rounded, chunk.size - rounded, chunk.region)
        chunk.size = rounded
        rest.prev = chunk
        rest.next = chunk.next
        if rest.next is not None:
            rest.next.prev = rest
        chunk.next = rest
        self._put_in_bin(rest)

    def _coalesce(self, chunk: _Chunk) -> _Chunk:
        """Merge ``chunk``, which is in no bin, with free neighbors; returns the resulting chunk."""
        after = chunk.next
        if after is not None and after.allocation_id == -1:
            self._take_from_bin(after)
            self._merge(chunk, after)
        before = chunk.prev
        if before is not None and before.allocation_id == -1:
            self._take_from_bin(before)
            self._merge(before, chunk)
            return before
        return chunk

    def _merge(self, chunk: _Chunk, after: _Chunk) -> None:
        chunk.size += after.size
        chunk.next = after.next
        if after.next is not None:
            after.next.prev = chunk
        self._delete_chunk(after)

    def _put_in_bin(self, chunk: _Chunk) -> None:
        number = bin_number(chunk.size)
        insort(self._bins[number], (chunk.size, chunk.address))
        self._nonempty |= 1 << number

    def _take_from_bin(self, chunk: _Chunk) -> None:
        number = bin_number(chunk.size)
        entries = self._bins[number]
        del entries[bisect_left(entries, (chunk.size, chunk.address))]
        if not entries:
            self._nonempty &= ~(1 << number)

    def _chunk_in_use(self, address: int) -> _Chunk:
        chunk = self._used.get(address)
        if chunk is None:
            raise ValueError(f"{self.name}: {address:#x} is not the address of memory in use")
        return chunk

    # Regions

    def _extend(self, rounded: int) -> bool:
        """Allocate one more region with room for ``rounded`` bytes; False if limit or device forbid it."""
        available = (self.memory_limit - self._region_bytes) & ~255
        if rounded > available:
            return False
        has_doubled = False
        while rounded > self._next_region_size:
            self._next_region_size *= 2
            has_doubled = True
        size = min(self._next_region_size, available)
        address = self._from_device(size)
        if address is None and (not self._has_backpedalled or self.release == "2.21"):
            self._has_backpedalled = True
            address, size = self._backpedal(size, rounded)
        if address is None:
            return False
        if not has_doubled:
            self._next_region_size *= 2
        self._region_bytes += size
        region = _Region(address, size)
        insort(self._regions, region, key=lambda region: region.address + region.size)
        region.first = self._new_chunk(address, size, region)
        self._put_in_bin(region.first)
        return True

    def _from_device(self, size: int) -> int | None:
        """Return the address of a region from the device; None if it has too little memory, which the driver logs."""
        address = self._memory.allocate(size, self._owner)
        if address is None:
            level = logging.INFO if self.release == "2.21" else logging.ERROR
            _logger.log(level, "%s", device_refusal(size, self.release))
        return address

    def _backpedal(self, refused: int, rounded: int) -> tuple[int | None, int]:
        """Return address and size of the largest region that the device allocates, 0.9 times smaller each time.

        The address is None below ``rounded``. Below 2,560 bytes rounding up cancels the factor of 0.9; TensorFlow loops
        forever there, and this method gives up.
        """
        while True:
            size = _rounded(int(np.float32(refused) * np.float32(0.9)))
            if size < rounded or size == refused:
                return None, size
            address = self._from_device(size)
            if address is not None:
                return address, size
            refused = size

    def _give_back_free_regions(self, rounded: int) -> bool:
        """Return completely free regions to the device if ``rounded`` bytes can then be allocated."""
        if not self.garbage_collection:
            return False
        free = [region for region in self._regions if self._is_free(region)]
        free_bytes = sum(region.size for region in free)
        if not free_bytes or rounded > self.memory_limit - self._region_bytes + free_bytes:
            return False
        _logger.warning(
            "Garbage collection: deallocate free memory regions (i.e., allocations) so that we can re-allocate a "
            "larger region to avoid OOM due to memory fragmentation. If you see this message frequently, you are "
            "running near the threshold of the available device memory and re-allocation may incur great performance "
            "overhead. You may try smaller batch sizes to observe the performance impact. Set "
            "TF_ENABLE_GPU_GARBAGE_COLLECTION=false if you'd like to disable this feature."
        )
        for region in free:
            chunk: _Chunk | None = region.first
            while chunk is not None:
                self._take_from_bin(chunk)
                self._delete_chunk(chunk)
                chunk = chunk.next
            self._memory.free(region.address, region.size)
            self._region_bytes -= region.size
            self._regions.remove(region)
        return True

    @staticmethod
    def _is_free(region: _Region) -> bool:
        chunk: _Chunk | None = region.first
        while chunk is not None:
            if chunk.allocation_id != -1:
                return False
            chunk = chunk.next
        return True

    def release_all(self) -> None:
        """Return all regions to the device, used or not, at the end of the allocator's life."""
        with self._lock:
            self._is_settled = False
            self._used = {}
            for place in self._memory.regions_of(self._owner):
                self._memory.free(*place)
            self._settle()

    # Queries

    @contextlib.contextmanager
    def _settled_state(self) -> Iterator[None]:
        """Settle the state, and hold the lock within a ``with`` block."""
        with self._lock:
            self._settle()
            yield

    @property
    def bytes_in_use(self) -> int:
        """Total size of the chunks in use in bytes."""
        if self.memory is None and self._is_settled:
            return self._bytes_in_use
        with self._settled_state():
            return self._bytes_in_use

    @property
    def next_region_size(self) -> int:
        """Size of the next region in bytes if the limit allows and the request is not larger."""
        return self._next_region_size

    def requested_size(self, address: int) -> int:
        """Return the requested size at ``address`` in bytes; raises ValueError if nothing is in use there."""
        with self._settled_state():
            return self._chunk_in_use(address).requested_size

    def allocated_size(self, address: int) -> int:
        """Return the allocated size at ``address`` in bytes; raises ValueError if nothing is in use there."""
        with self._settled_state():
            return self._chunk_in_use(address).size

    def allocation_id(self, address: int) -> int:
        """Return the number of the allocation at ``address``; raises ValueError if nothing is in use there."""
        with self._settled_state():
            return self._chunk_in_use(address).allocation_id

    def next_allocation_id(self) -> int:
        """Return the number of the next allocation."""
        with self._settled_state():
            return self._next_allocation_id

    def stats(self) -> AllocatorStats:
        """Return the current counters."""
        with self._settled_state():
            return self._stats()

    def clear_stats(self) -> None:
        """Reset the number of allocations, the largest allocation and the peak."""
        with self._settled_state():
            self._num_allocs = 0
            self._largest_alloc_size = 0
            self._peak_bytes_in_use = self._bytes_in_use

    def regions(self) -> tuple[RegionRecord, ...]:
        """Return the regions in order of their end address."""
        with self._settled_state():
            return self._region_records()

    def chunks(self) -> tuple[ChunkRecord, ...]:
        """Return all chunks, used and free, by region in address order."""
        with self._settled_state():
            return self._chunk_records()

    def bins(self) -> tuple[BinRecord, ...]:
        """Return the totals of all size classes, over used and free chunks."""
        return bin_records(self.chunks())

    def largest_free_chunk(self) -> int:
        """Return the size of the largest free chunk in bytes; 0 if there is none."""
        with self._settled_state():
            return self._bins[floor_log2(self._nonempty)][-1][0] if self._nonempty else 0

    def fragmentation(self) -> float:
        """Return the share of the free bytes in regions that is not in the largest free chunk; 0 if none are free."""
        with self._settled_state():
            free = self._region_bytes - self._bytes_in_use
        return (free - self.largest_free_chunk()) / free if free else 0.0

    def render_occupancy(self) -> str:
        """Return 100 characters that show the memory: ``_`` free, ``*`` in use, ``x`` lost to rounding."""
        with self._settled_state():
            return render_occupancy(self._region_records(), self._chunk_records())

    def memory_log(self, nbytes: int) -> str:
        """Return the summary that TensorFlow logs when ``nbytes`` cannot be allocated."""
        rounded = _rounded(nbytes)
        with self._settled_state():
            chunks, regions, stats = self._chunk_records(), self._region_records(), self._stats()
            lines = memory_summary(rounded, regions, chunks, stats, self._next_region_size)
        return "\n".join([*lines, render_occupancy(regions, chunks)])

    def _stats(self) -> AllocatorStats:
        return AllocatorStats(
            self._num_allocs,
            self._bytes_in_use,
            self._peak_bytes_in_use,
            self._largest_alloc_size,
            self.memory_limit,
        )

    def _region_records(self) -> tuple[RegionRecord, ...]:
        return tuple(RegionRecord(region.address, region.size) for region in self._regions)

    def _chunk_records(self) -> tuple[ChunkRecord, ...]:
        records = []
        for index, region in enumerate(self._regions):
            chunk: _Chunk | None = region.first
            while chunk is not None:
                records.append(
                    ChunkRecord(
                        address=chunk.address,
                        size=chunk.size,
                        requested_size=chunk.requested_size,
                        allocation_id=chunk.allocation_id,
                        label=chunk.label,
                        bin_num=bin_number(chunk.size) if chunk.allocation_id == -1 else -1,
                        region=index,
                        handle=chunk.handle,
                        next_handle=-1 if chunk.next is None else chunk.next.handle,
                    )
                )
                chunk = chunk.next
        return tuple(records)

    # Log messages

    def _log_failure(self, nbytes: int) -> None:
        rounded = "" if self.release in ("1.0", "1.4") else f" (rounded to {_rounded(nbytes)})"
        headline = (
            f"Allocator ({self.name}) ran out of memory trying to allocate {readable_bytes(nbytes)}{rounded}.  "
            "Current allocation summary follows."
        )
        log = self.memory_log(nbytes)
        self.last_memory_log = f"{headline}\n{log}"
        _logger.warning("%s", headline)
        for line in log.splitlines()[:-1]:
            _logger.info("%s", line)
        _logger.warning("%s", log.splitlines()[-1])

    def _warn_optional(self, nbytes: int, freed_by_count: int) -> None:
        if PROCESS.optional_memory_warnings >= _MAX_OPTIONAL_WARNINGS:
            return
        PROCESS.optional_memory_warnings += 1
        is_old = self.release in ("1.0", "1.4")
        _logger.warning(
            "Allocator (%s) ran out of memory trying to allocate %s%s. The caller indicates that this is not a "
            "failure, but may mean that there could be performance gains if more memory %s available.",
            self.name,
            readable_bytes(nbytes),
            "" if is_old else f" with freed_by_count={freed_by_count}",
            "is" if is_old else "were",
        )

    _repr_mimebundle_ = notebook_view


def reset_warning_counts() -> None:
    """Reset the number of warnings about optional memory, as in a new process."""
    PROCESS.optional_memory_warnings = 0
