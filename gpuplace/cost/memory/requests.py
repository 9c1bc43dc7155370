"""Memory requests of a step in order, and the answers of allocators of any size.

Which tensors need memory, and when they free it, does not depend on how much there is. A step is therefore run once,
and its requests are replayed on the allocators of one machine after another.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gpuplace.device.device_set import DeviceSet
from gpuplace.errors import ResourceExhaustedError
from gpuplace.runtime.memory.bfc_allocator import BFCAllocator
from gpuplace.runtime.memory.device_memory import DeviceMemory
from gpuplace.runtime.memory.simulated_memory import Owner, TensorMemory
from gpuplace.typing import DTypeLike

UNBOUNDED = 1 << 62
"""Bytes of a memory in which everything fits."""
_GIVEN_BACK = -1


Request = tuple[str, str, int, int]
"""Full name of the GPU; node that allocates, or "" to free; bytes, negative to free; unique number of the chunk."""


@dataclass(slots=True, eq=False)
class MemoryRequests:
    """Allocations and deallocations on all GPUs, in order."""

    rows: list[Request] = field(default_factory=list)
    begin: int = 0
    """Position where the step begins, after the variables."""

    def __len__(self) -> int:
        return len(self.rows)


MOST_WORK = 500_000
"""Budget of allocations, nodes in loop iterations and elements of tensor arrays, in addition to `_OF_NODE`."""
_OF_NODE = 4
"""Additional budget per node of the graph."""


class Work:
    """Budget of a dry run: allocations, nodes in loop iterations, elements of tensor arrays.

    Args:
        nodes: number of nodes in the graph.
    """

    def __init__(self, nodes: int) -> None:
        self._most = self._left = MOST_WORK + _OF_NODE * nodes

    def spend(self, count: int) -> None:
        """Spend some of the budget.

        Args:
            count: amount to spend.

        Raises:
            ResourceExhaustedError: The budget is exhausted.
        """
        self._left -= count
        if self._left < 0:
            raise ResourceExhaustedError.of(
                f"the step has more than {self._most:,} allocations and node executions in loops",
                hint="set smaller trip_counts, or a smaller batch if a loop runs over the batch",
            )


class RecordingMemory(TensorMemory):
    """Tensors of a GPU without an allocator: requests are recorded.

    Args:
        device: full name of the GPU.
        requests: record of the requests.
        numbers: source of unique numbers.
        memories: memories of all GPUs, by name.
        work: budget of the allocations.
    """

    def __init__(
        self,
        device: str,
        requests: MemoryRequests,
        numbers: itertools.count[int],
        memories: Mapping[str, RecordingMemory],
        work: Work,
    ) -> None:
        super().__init__(device)
        self._memories = memories
        self._work = work
        self.requests = requests
        self._numbers = numbers

    def _allocate(
        self, entry: Owner, nbytes: int, label: str, shape: tuple[int, ...], dtype: DTypeLike, device: str
    ) -> None:
        for memory in self._memories.values():
            memory.collect()
        if nbytes > 0:
            self._work.spend(1)
            entry.chunk = next(self._numbers)
            self.requests.rows.append((self.name, label, nbytes, entry.chunk))

    def _give_back(self, entry: Owner) -> None:
        if entry.chunk is not None:
            self.requests.rows.append((self.name, "", _GIVEN_BACK, entry.chunk))
            entry.chunk = None

    def collect(self) -> None:
        """Record the memory of dropped tensors as free."""
        if self._dropped:
            self._release_dropped()


class Failure(NamedTuple):
    """A request that does not fit."""

    device: str
    """Full name of the GPU."""
    label: str
    """Node that requests the bytes."""
    nbytes: int
    """Requested bytes."""


@dataclass(slots=True, eq=False)
class MemoryRecord:
    """Allocations and deallocations in the memory of one GPU, in order, as columns."""

    allocator: BFCAllocator
    """The allocator, in its final state."""
    labels: list[str] = field(default_factory=list)
    """Node that allocates; "" for a deallocation."""
    addresses: list[int] = field(default_factory=list)
    in_use: list[int] = field(default_factory=list)
    """Bytes in use afterwards."""
    begin: int = 0
    """Position where the step begins."""
    variables: int = 0
    """Bytes in use when the step begins."""
    peak_before: int = 0
    """Peak bytes in use before the step."""

    def __len__(self) -> int:
        return len(self.labels)

    def begin_step(self) -> None:
        """Mark the start of the step."""
        stats = self.allocator.stats()
        self.begin, self.variables, self.peak_before = len(self), stats.bytes_in_use, stats.peak_bytes_in_use
        self.allocator.clear_stats()


class _QuietAllocator(BFCAllocator):
    """Allocator that logs nothing when it runs out of memory; the estimate reports it."""

    def _log_failure(self, nbytes: int) -> None:
        pass


def replay(
    requests: MemoryRequests,
    devices: DeviceSet,
    limits: Mapping[str, tuple[int, int]],
    growth: bool,
    release: str,
) -> tuple[dict[str, MemoryRecord], Failure | None]:
    """Replay requests on allocators, up to the end or the first request that does not fit; return a record for each
    GPU.

    Args:
        requests: the requests.
        devices: the devices.
        limits: full name of each GPU to the bytes of its memory, and the bytes that its allocator may use.
        growth: whether allocators reserve memory as needed (``allow_growth``).
        release: release of the allocators.
    """
    physical: dict[int, DeviceMemory] = {}
    records: dict[str, MemoryRecord] = {}
    for device in devices:
        if device.name in limits:
            capacity, limit = limits[device.name]
            key = -1 - device.id if device.physical_id is None else device.physical_id
            allocator_of_gpu = _QuietAllocator(
                physical.setdefault(key, DeviceMemory(capacity)),
                limit,
                allow_growth=growth,
                name=f"GPU_{device.id}_bfc",
                retry_wait_ms=0,
                release=release,
            )
            records[device.name] = MemoryRecord(allocator_of_gpu)
    addresses: dict[int, int] = {}
    for position, (name, label, nbytes, number) in enumerate(requests.rows):
        if position == requests.begin:
            for record in records.values():
                record.begin_step()
        record = records[name]
        allocator = record.allocator
        if nbytes < 0:
            address = addresses.pop(number)
            allocator.deallocate(address)
        else:
            allocated = allocator.allocate(nbytes, label=label)
            if allocated is None:
                return records, Failure(name, label, nbytes)
            address = addresses[number] = allocated
        record.labels.append(label)
        record.addresses.append(address)
        record.in_use.append(allocator.bytes_in_use)
    if requests.begin >= len(requests):
        for record in records.values():
            record.begin_step()
    return records, None
