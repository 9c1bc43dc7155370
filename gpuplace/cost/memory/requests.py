"""What a step asks of the memories of GPUs, in its order, and what allocators of any size answer.

Which tensors want memory, and when they give it back, does not hang on how much there is: so a step is gone through
once, and its requests are put to the allocators of one machine after the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpuplace.device.device_set import DeviceSet
from gpuplace.errors import ResourceExhaustedError
from gpuplace.runtime.memory.bfc_allocator import BFCAllocator
from gpuplace.runtime.memory.device_memory import DeviceMemory
from gpuplace.runtime.memory.simulated_memory import Owner, TensorMemory

UNBOUNDED = 1 << 62
"""Bytes of a memory that everything fits into."""
_GIVEN_BACK = -1


Request = tuple[str, str, int, int]
"""Full name of the GPU; node that bytes are taken for, "" where they go back; how many bytes, negative where they go
back; and a number that tells those bytes from all others."""


@dataclass(slots=True, eq=False)
class MemoryRequests:
    """What came and went on all GPUs."""

    rows: list[Request] = field(default_factory=list)
    begin: int = 0
    """Where the step begins; before are its variables."""

    def __len__(self) -> int:
        return len(self.rows)


MOST_WORK = 500_000
"""Allocations, nodes in trips of loops and elements of arrays of tensors that are gone through, besides `_OF_NODE`."""
_OF_NODE = 4
"""The same for each node of the graph."""


class Work:
    """How much of a step may still be gone through: allocations, nodes of loops, elements of arrays of tensors.

    Args:
        nodes: nodes of the graph.
    """

    def __init__(self, nodes: int) -> None:
        self._most = self._left = MOST_WORK + _OF_NODE * nodes

    def spend(self, count: int) -> None:
        """Say what is about to be gone through.

        Args:
            count: how much.

        Raises:
            ResourceExhaustedError: it is too much.
        """
        self._left -= count
        if self._left < 0:
            raise ResourceExhaustedError.of(
                f"the step has more than {self._most:,} allocations and nodes in trips of loops",
                hint="fewer trips (trip_counts), or a smaller batch where a loop goes over it",
            )


class AskingMemory(TensorMemory):
    """The tensors of a GPU where nobody hands out bytes: what they ask for is noted.

    Args:
        device: full name of the GPU.
        requests: where.
        numbers: gives a new number each time.
        memories: of all GPUs, by their names.
        work: what allocations are counted by.
    """

    def __init__(
        self,
        device: str,
        requests: MemoryRequests,
        numbers: itertools.count[int],
        memories: Mapping[str, AskingMemory],
        work: Work,
    ) -> None:
        super().__init__(device)
        self._memories = memories
        self._work = work
        self.requests = requests
        self._numbers = numbers

    def _allocate(
        self, entry: Owner, nbytes: int, label: str, shape: tuple[int, ...], dtype: Any, device: str
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
        """Notes what was dropped."""
        if self._dropped:
            self._release_dropped()


class Failure(NamedTuple):
    """What does not fit."""

    device: str
    """Full name of the GPU."""
    label: str
    """Node that wants the bytes."""
    nbytes: int
    """How many."""


@dataclass(slots=True, eq=False)
class MemoryRecord:
    """What came into the memory of one GPU and went, in its order, as columns."""

    allocator: BFCAllocator
    """Who answered, as it is at the end."""
    labels: list[str] = field(default_factory=list)
    """Node that bytes were taken for; "" for bytes that went back."""
    addresses: list[int] = field(default_factory=list)
    in_use: list[int] = field(default_factory=list)
    """Bytes in use from then on."""
    begin: int = 0
    """Where the step begins."""
    variables: int = 0
    """Bytes in use there."""
    peak_before: int = 0
    """Most bytes in use up to there."""

    def __len__(self) -> int:
        return len(self.labels)

    def begin_step(self) -> None:
        """Says that the step begins."""
        stats = self.allocator.stats()
        self.begin, self.variables, self.peak_before = len(self), stats.bytes_in_use, stats.peak_bytes_in_use
        self.allocator.clear_stats()


class _QuietAllocator(BFCAllocator):
    """An allocator that logs nothing when it runs out of memory: the estimate says so."""

    def _log_failure(self, nbytes: int) -> None:
        pass


def answered(
    requests: MemoryRequests,
    devices: DeviceSet,
    limits: Mapping[str, tuple[int, int]],
    growth: bool,
    release: str,
) -> tuple[dict[str, MemoryRecord], Failure | None]:
    """What allocators make of requests, up to the end or to what does not fit: a record for each GPU.

    Args:
        requests: what is asked for.
        devices: the devices.
        limits: full name of each GPU -> bytes of its memory, and that its allocator may hand out.
        growth: whether allocators take memory as it is needed.
        release: whose allocators.
    """
    physical: dict[int, DeviceMemory] = {}
    records: dict[str, MemoryRecord] = {}
    for device in devices:
        if device.name in limits:
            capacity, limit = limits[device.name]
            key = -1 - device.id if device.physical_id is None else device.physical_id
            made = _QuietAllocator(
                physical.setdefault(key, DeviceMemory(capacity)),
                limit,
                allow_growth=growth,
                name=f"GPU_{device.id}_bfc",
                retry_wait_ms=0,
                release=release,
            )
            records[device.name] = MemoryRecord(made)
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
            taken = allocator.allocate(nbytes, label=label)
            if taken is None:
                return records, Failure(name, label, nbytes)
            address = addresses[number] = taken
        record.labels.append(label)
        record.addresses.append(address)
        record.in_use.append(allocator.bytes_in_use)
    if requests.begin >= len(requests):
        for record in records.values():
            record.begin_step()
    return records, None
