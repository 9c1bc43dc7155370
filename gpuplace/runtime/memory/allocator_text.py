"""Texts of TensorFlow's allocators: sizes, statistics, the out-of-memory summary and error message.

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

from gpuplace import release as releases
from gpuplace.dtypes import as_dtype
from gpuplace.typing import DTypeLike

OOM_HINT = (
    "\nHint: If you want to see a list of allocated tensors when OOM happens, add report_tensor_allocations_upon_oom "
    "to RunOptions for current allocation info.\n"
)
"""Hint that a session adds to an out-of-memory error for each fetched node."""

NUM_BINS = 21
"""Number of size classes."""
MIN_ALLOCATION = 256
"""Granularity of all sizes in bytes."""

_PICTURE_WIDTH = 100
_NO_HANDLE = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class AllocatorStats:
    """Counters of one allocator, in bytes unless stated otherwise."""

    num_allocs: int = 0
    """Number of allocations so far."""
    bytes_in_use: int = 0
    """Sum of the sizes of chunks in use, which may be larger than the requested sizes."""
    peak_bytes_in_use: int = 0
    """Maximum ``bytes_in_use`` since the start or the last reset."""
    largest_alloc_size: int = 0
    """Size of the largest allocated chunk."""
    bytes_limit: int | None = None
    """Maximum total size; None if there is no limit."""
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
    """Piece of a region, in use or free."""

    address: int
    """Start address."""
    size: int
    """Size in bytes, a multiple of 256."""
    requested_size: int
    """Requested size in bytes; for a free chunk, that of its last allocation."""
    allocation_id: int
    """Number of the allocation, starting with 1; -1 for a free chunk."""
    label: str
    """Origin of the request, for example the name of an op; ``""`` if unknown."""
    bin_num: int
    """Bin of a free chunk; -1 for a chunk in use."""
    region: int
    """Position of its region in address order."""
    handle: int
    """Number of the chunk's record, which is reused after the chunk is deleted."""
    next_handle: int
    """Handle of the next chunk of the region; -1 for the last."""

    @property
    def in_use(self) -> bool:
        """Whether the chunk is allocated."""
        return self.allocation_id != -1


@dataclass(frozen=True, slots=True)
class RegionRecord:
    """Memory allocated from the device in one piece."""

    address: int
    """Start address."""
    size: int
    """Size in bytes."""


@dataclass(frozen=True, slots=True)
class BinRecord:
    """Totals of the chunks of one size class, used and free."""

    bin_size: int
    """Minimum chunk size of the class in bytes."""
    total_chunks: int
    """Number of chunks."""
    chunks_in_use: int
    """Number of chunks in use."""
    total_bytes: int
    """Total size in bytes."""
    bytes_in_use: int
    """Total size of the chunks in use in bytes."""
    requested_bytes_in_use: int
    """Total requested size of the chunks in use in bytes."""


def bin_number(size: int) -> int:
    """Return the size class of a chunk: 0 for 256 to 511 bytes, 1 for 512 to 1023, ..., 20 for 256 MiB and more."""
    number = (size >> 8).bit_length() - 1
    return 0 if number < 0 else 20 if number > 20 else number


def bin_records(chunks: Iterable[ChunkRecord]) -> tuple[BinRecord, ...]:
    """Return the totals of all size classes, over used and free chunks."""
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
    """Return a size in TensorFlow's format, which rounds down all but the last division by 1024."""
    sign, nbytes = ("-", -nbytes) if nbytes < 0 else ("", nbytes)
    if nbytes < 1024:
        return f"{sign}{nbytes}B"
    unit = 0
    while nbytes >= 1 << 20:
        nbytes >>= 10
        unit += 1
    return f"{sign}{nbytes / 1024:.{2 if unit else 1}f}{'KMGTPE'[unit]}iB"


def device_refusal(nbytes: int, release: str) -> str:
    """Return the driver's log line for a failed allocation of a region.

    >>> device_refusal(5 << 28, "1.4")
    'failed to allocate 1.25G (1342177280 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY'

    Args:
        nbytes: size of the region in bytes.
        release: release whose text is used.

    Source: stream_executor/cuda/cuda_driver.cc, releases 1.0, 1.4, 1.15 and 2.21.
    """
    size = readable_bytes(nbytes)
    if release != "2.21":
        size = size.removesuffix("iB")
    known = "" if release in ("1.0", "1.4") else ": out of memory"
    return f"failed to allocate {size} ({nbytes} bytes) from device: CUDA_ERROR_OUT_OF_MEMORY{known}"


def oom_message(
    shape: Iterable[int],
    dtype: DTypeLike,
    device: str,
    allocator: str,
    *,
    temporary: bool = False,
    release: str | None = None,
) -> str:
    """Return TensorFlow's error message for a tensor that could not be allocated.

    Args:
        shape: sizes of the tensor.
        dtype: an argument of ``as_dtype``.
        device: full device name.
        allocator: name of the allocator.
        temporary: whether it is a scratch tensor of a kernel's construction.
        release: release whose text is used; None: the process's.
    """
    sizes = ",".join(str(int(size)) for size in shape)
    what = "temporary tensor" if temporary else "tensor"
    sentence = f"OOM when allocating {what} with shape[{sizes}]"
    if releases.resolve(release) in ("1.0", "1.4"):
        return sentence
    return f"{sentence} and type {as_dtype(dtype).short_name} on {device} by allocator {allocator}"


def render_occupancy(regions: Sequence[RegionRecord], chunks: Iterable[ChunkRecord]) -> str:
    """Return 100 characters that show the allocated memory: ``_`` free, ``*`` in use, ``x`` lost to rounding."""
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
    """Return the lines that TensorFlow logs after an allocation of ``nbytes`` (rounded) failed."""
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
