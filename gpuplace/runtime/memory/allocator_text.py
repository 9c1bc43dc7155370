"""What TensorFlow's allocators write: sizes, statistics, the summary after running out of memory, the error of an op.

>>> readable_bytes(1536), readable_bytes(4 << 20), readable_bytes(5 << 28)
('1.5KiB', '4.00MiB', '1.25GiB')
>>> oom_message((2, 3), "float", "/job:localhost/replica:0/task:0/device:GPU:0", "GPU_0_bfc")
'OOM when allocating tensor with shape[2,3] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by \
allocator GPU_0_bfc'

Source: tensorflow/core/lib/strings/numbers.cc, core/framework/allocator.cc and op_kernel.cc,
core/common_runtime/bfc_allocator.cc, releases 1.4 and 1.15.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gpuplace import release as releases
from gpuplace.dtypes import as_dtype

OOM_HINT = (
    "\nHint: If you want to see a list of allocated tensors when OOM happens, add report_tensor_allocations_upon_oom "
    "to RunOptions for current allocation info.\n"
)
"""What a session adds to an out-of-memory error for each fetched node."""

NUM_BINS = 21
"""Number of size classes."""
MIN_ALLOCATION = 256
"""Every size is a multiple of this, in bytes."""

_PICTURE_WIDTH = 100
_NO_HANDLE = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class AllocatorStats:
    """Counters of one allocator, in bytes unless said otherwise."""

    num_allocs: int = 0
    """Number of allocations so far."""
    bytes_in_use: int = 0
    """Sum of the chunks in use (not of what was asked for)."""
    peak_bytes_in_use: int = 0
    """Highest ``bytes_in_use`` since the start or the last clearing."""
    largest_alloc_size: int = 0
    """Largest chunk handed out."""
    bytes_limit: int | None = None
    """Most the allocator may take; None if there is no bound."""
    bytes_reserved: int = 0
    """Not used by this kind of allocator."""
    peak_bytes_reserved: int = 0
    """Not used by this kind of allocator."""
    bytes_reservable_limit: int | None = None
    """Not used by this kind of allocator."""

    def __str__(self) -> str:
        rows = (
            ("Limit:", self.bytes_limit or 0),
            ("InUse:", self.bytes_in_use),
            ("MaxInUse:", self.peak_bytes_in_use),
            ("NumAllocs:", self.num_allocs),
            ("MaxAllocSize:", self.largest_alloc_size),
        )
        return "".join(f"{label:<14}{value:>20}\n" for label, value in rows)


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A piece of a region, in use or free."""

    address: int
    """Where it begins."""
    size: int
    """Bytes, a multiple of 256."""
    requested_size: int
    """Bytes asked for; of a free chunk, by its last user."""
    allocation_id: int
    """Number of the allocation, from 1; -1 for a free chunk."""
    label: str
    """Who asked, for example the name of an op; ``""`` where nobody said."""
    bin_num: int
    """Bin a free chunk is in; -1 for one in use."""
    region: int
    """Position of its region in address order."""
    handle: int
    """Number of the chunk's record; used again after the chunk is gone."""
    next_handle: int
    """Handle of the chunk after it in the region; -1 for the last."""

    @property
    def in_use(self) -> bool:
        """True while somebody holds it."""
        return self.allocation_id != -1


@dataclass(frozen=True, slots=True)
class RegionRecord:
    """Memory taken from the device in one piece."""

    address: int
    """Where it begins."""
    size: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class BinRecord:
    """All chunks of one size class, used and free."""

    bin_size: int
    """Smallest size of the class."""
    total_chunks: int
    """Chunks of that class."""
    chunks_in_use: int
    """Of these, in use."""
    total_bytes: int
    """Bytes of all."""
    bytes_in_use: int
    """Bytes of those in use."""
    requested_bytes_in_use: int
    """Bytes that the users asked for."""


def bin_number(size: int) -> int:
    """Size class of a chunk of ``size`` bytes: 0 for 256 to 511, 1 for 512 to 1023, ..., 20 for 256 MiB and more."""
    number = (size >> 8).bit_length() - 1
    return 0 if number < 0 else 20 if number > 20 else number


def bin_records(chunks: Iterable[ChunkRecord]) -> tuple[BinRecord, ...]:
    """The size classes with all chunks, used and free, that belong to them."""
    totals = [[MIN_ALLOCATION << number, 0, 0, 0, 0, 0] for number in range(NUM_BINS)]
    for chunk in chunks:
        row = totals[bin_number(chunk.size)]
        row[1] += 1
        row[3] += chunk.size
        if chunk.in_use:
            row[2] += 1
            row[4] += chunk.size
            row[5] += chunk.requested_size
    return tuple(BinRecord(*row) for row in totals)


def readable_bytes(nbytes: int) -> str:
    """A size as TensorFlow writes it; it cuts off below the last unit but one."""
    sign, nbytes = ("-", -nbytes) if nbytes < 0 else ("", nbytes)
    if nbytes < 1024:
        return f"{sign}{nbytes}B"
    unit = 0
    while nbytes >= 1 << 20:
        nbytes >>= 10
        unit += 1
    return f"{sign}{nbytes / 1024:.{2 if unit else 1}f}{'KMGTPE'[unit]}iB"


def device_refusal(nbytes: int, release: str) -> str:
    """The driver's line when a GPU does not have that many bytes left.

    >>> device_refusal(5 << 28, "1.4")
    'failed to allocate 1.25G (1342177280 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY'

    Args:
        nbytes: bytes of the region.
        release: whose words.

    Source: stream_executor/cuda/cuda_driver.cc, releases 1.0, 1.4, 1.15 and 2.21.
    """
    size = readable_bytes(nbytes)
    if release != "2.21":
        size = size.removesuffix("iB")
    known = "" if release in ("1.0", "1.4") else ": out of memory"
    return f"failed to allocate {size} ({nbytes} bytes) from device: CUDA_ERROR_OUT_OF_MEMORY{known}"


def oom_message(
    shape: Iterable[int],
    dtype: Any,
    device: str,
    allocator: str,
    *,
    temporary: bool = False,
    release: str | None = None,
) -> str:
    """TensorFlow's sentence for a tensor that found no memory.

    Args:
        shape: Sizes of the tensor.
        dtype: Anything ``as_dtype`` takes.
        device: Full name of the device.
        allocator: Name of its allocator.
        temporary: True for a scratch tensor made while a kernel is built.
        release: Release to speak as; None for the process's.
    """
    sizes = ",".join(str(int(size)) for size in shape)
    what = "temporary tensor" if temporary else "tensor"
    sentence = f"OOM when allocating {what} with shape[{sizes}]"
    if releases.resolve(release) in ("1.0", "1.4"):
        return sentence
    return f"{sentence} and type {as_dtype(dtype).short_name} on {device} by allocator {allocator}"


def render_occupancy(regions: Sequence[RegionRecord], chunks: Iterable[ChunkRecord]) -> str:
    """100 characters for the memory taken: ``_`` free, ``*`` in use, ``x`` lost to rounding."""
    total = sum(region.size for region in regions)
    if not total:
        return "<allocator contains no memory>"
    starts, offset = [], 0
    for region in regions:
        starts.append(offset - region.address)
        offset += region.size
    picture = ["_"] * _PICTURE_WIDTH

    def paint(start: int, size: int, mark: str) -> None:
        first, last = start * _PICTURE_WIDTH // total, (start + size - 1) * _PICTURE_WIDTH // total
        picture[first : last + 1] = mark * (last + 1 - first)

    for chunk in chunks:
        if chunk.in_use:
            start = chunk.address + starts[chunk.region]
            waste = chunk.size - chunk.requested_size
            if waste:
                paint(start + chunk.requested_size, waste, "x")
            paint(start, chunk.requested_size, "*")
    return "".join(picture)


def memory_summary(
    nbytes: int,
    regions: Sequence[RegionRecord],
    chunks: Sequence[ChunkRecord],
    stats: AllocatorStats,
    next_region_size: int,
) -> list[str]:
    """The lines TensorFlow logs after an allocation of ``nbytes`` (rounded) failed."""
    bins, wanted_bin = bin_records(chunks), bin_number(nbytes)
    lines = [
        f"Bin ({row.bin_size}): \tTotal Chunks: {row.total_chunks}, Chunks in use: {row.chunks_in_use}. "
        f"{readable_bytes(row.total_bytes)} allocated for chunks. {readable_bytes(row.bytes_in_use)} in use in bin. "
        f"{readable_bytes(row.requested_bytes_in_use)} client-requested in use in bin."
        for row in bins
    ]
    lines.append(
        f"Bin for {readable_bytes(nbytes)} was {readable_bytes(bins[wanted_bin].bin_size)}, Chunk State: "
    )
    by_handle = {chunk.handle: chunk for chunk in chunks}
    before = {chunk.next_handle: chunk for chunk in chunks}
    in_bin = (chunk for chunk in chunks if chunk.bin_num == wanted_bin)
    for chunk in sorted(in_bin, key=lambda chunk: (chunk.size, chunk.address)):
        line = _describe_free(chunk)
        if chunk.handle in before:
            line += f", prev: {_describe_free(before[chunk.handle])}"
        if chunk.next_handle in by_handle:
            line += f", next: {_describe_free(by_handle[chunk.next_handle])}"
        lines.append(line)
    for index, region in enumerate(regions):
        lines.append(f"Next region of size {region.size}")
        for chunk in chunks:
            if chunk.region == index:
                state = "InUse" if chunk.in_use else "Free "
                follower = chunk.next_handle if chunk.next_handle >= 0 else _NO_HANDLE
                lines.append(f"{state} at {chunk.address:#x} next {follower} of size {chunk.size}")
    lines.append("     Summary of in-use Chunks by size: ")
    sizes = Counter(chunk.size for chunk in chunks if chunk.in_use)
    for size, count in sorted(sizes.items()):
        lines.append(f"{count} Chunks of size {size} totalling {readable_bytes(size * count)}")
    in_use = sum(size * count for size, count in sizes.items())
    lines.append(f"Sum Total of in-use chunks: {readable_bytes(in_use)}")
    taken, limit = sum(region.size for region in regions), stats.bytes_limit or 0
    lines.append(
        f"total_region_allocated_bytes_: {taken} memory_limit_: {limit} available bytes: {limit - taken} "
        f"curr_region_allocation_bytes_: {next_region_size}"
    )
    lines.append(f"Stats: \n{stats}")
    return lines


def _describe_free(chunk: ChunkRecord) -> str:
    return (
        f"  Size: {readable_bytes(chunk.size)} | Requested Size: {readable_bytes(chunk.requested_size)} | "
        f"in_use: {int(chunk.in_use)} | bin_num: {chunk.bin_num}"
    )
