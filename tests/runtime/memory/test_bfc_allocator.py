"""The allocator: TensorFlow's own test cases with their numbers, every rule, every text."""

import json
import logging
import random
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuplace import dtypes
from gpuplace.process import PROCESS
from gpuplace.runtime.memory.allocator_text import (
    OOM_HINT,
    AllocatorStats,
    bin_number,
    oom_message,
    readable_bytes,
)
from gpuplace.runtime.memory.bfc_allocator import BFCAllocator, floor_log2, reset_warning_counts
from gpuplace.runtime.memory.device_memory import DeviceMemory

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
DEVICE = "/job:localhost/replica:0/task:0/device:GPU:0"


def make(limit=GIB, *, capacity=None, environ=None, retry_wait_ms=0, **kwargs):
    memory = DeviceMemory(limit if capacity is None else capacity)
    return BFCAllocator(memory, limit, environ=environ or {}, retry_wait_ms=retry_wait_ms, **kwargs)


def counters(allocator):
    stats = allocator.stats()
    return stats.num_allocs, stats.bytes_in_use, stats.peak_bytes_in_use, stats.largest_alloc_size


# Known numbers


def test_fresh_allocator():
    allocator = make()
    assert counters(allocator) == (0, 0, 0, 0)
    assert allocator.regions() == () and allocator.chunks() == ()


def test_1023_sizes_kept_then_freed():
    allocator = make()
    addresses = [allocator.allocate(size) for size in range(1, 1024)]
    assert counters(allocator) == (1023, 654336, 654336, 1024)
    spans = sorted((address, address + allocator.requested_size(address)) for address in addresses)
    assert all(end <= start for (_, end), (start, _) in zip(spans, spans[1:], strict=False))
    for address in addresses:
        allocator.deallocate(address)
    assert counters(allocator) == (1023, 0, 654336, 1024)
    assert len(allocator.chunks()) == 1


def test_repeated_rounds_end_where_they_began():
    allocator = make()
    first = allocator.allocate(4096)
    allocator.deallocate(first)
    sizes = (4096, 8 * MIB, 16 * KIB, 40 * MIB)
    for _ in range(1024):
        for address in [allocator.allocate(size) for size in sizes]:
            allocator.deallocate(address)
    assert counters(allocator) == (4097, 0, sum(sizes), 41943040)
    assert allocator.allocate(4096) == first


def test_zero_bytes():
    allocator = make()
    assert allocator.allocate(0) is None
    assert counters(allocator) == (0, 0, 0, 0)
    allocator.deallocate(None)


def test_requested_and_allocated_size():
    allocator = make()
    address = allocator.allocate(4)
    assert (allocator.requested_size(address), allocator.allocated_size(address)) == (4, 256)
    assert allocator.allocation_id(address) == 1
    assert allocator.allocation_id(allocator.allocate(1)) == 2


def test_more_than_the_limit():
    allocator = make(MIB)
    small = allocator.allocate(256)
    assert small is not None
    assert allocator.allocate(4 * MIB) is None
    assert allocator.allocated_size(small) == 256
    assert allocator.allocate(512) is not None


def test_a_failure_after_many_frees_leaves_the_allocator_usable():
    allocator, rng = make(), random.Random(0)
    for _ in range(3):
        addresses = [allocator.allocate(rng.randrange(1, 64 * KIB)) for _ in range(500)]
        rng.shuffle(addresses)
        for address in addresses:
            allocator.deallocate(address)
        assert allocator.allocate(GIB + 1) is None
    address = allocator.allocate(GIB)
    assert address is not None
    allocator.deallocate(address)


def test_bins():
    allocator = make()
    for size in (256 << exponent for exponent in range(5)):
        allocator.allocate(size)
        allocator.allocate(size)
    bins = allocator.bins()
    assert [(row.total_chunks, row.chunks_in_use) for row in bins[:5]] == [(2, 2)] * 5
    assert [row.total_chunks for row in bins[5:20]] == [0] * 15
    assert (bins[20].total_chunks, bins[20].chunks_in_use, bins[20].bin_size) == (1, 0, 256 * MIB)


@pytest.mark.parametrize(
    ("number", "log"), [(0, -1), (1, 0), (2, 1), (3, 1), (1023, 9), (1024, 10), (1025, 10)]
)
def test_floor_log2(number, log):
    assert floor_log2(number) == log


@pytest.mark.parametrize(
    ("size", "number"),
    [(0, 0), (255, 0), (256, 0), (511, 0), (512, 1), (1023, 1), (256 * MIB - 1, 19), (1 << 40, 20)],
)
def test_bin_of_a_size(size, number):
    assert bin_number(size) == number


def test_growth_and_return_of_idle_regions():
    allocator = make(2 * GIB, allow_growth=True)
    addresses = [allocator.allocate(4 * MIB) for _ in range(128)]
    for address in addresses[:-1]:
        allocator.deallocate(address)
    assert len(allocator.regions()) > 1
    assert allocator.allocate(2 * GIB - 600 * MIB) is not None
    in_use = [chunk for chunk in allocator.chunks() if chunk.in_use]
    assert len(in_use) == 2
    for chunk in in_use[:1]:
        assert chunk.size == 4 * MIB


# Taking a chunk


def test_best_fit_with_the_lowest_address_on_a_tie():
    allocator = make()
    holes = [allocator.allocate(size) for size in (4096, 256, 2048, 256, 2048, 256)]
    for hole in holes[::2]:
        allocator.deallocate(hole)
    assert allocator.allocate(2048) == holes[2]
    assert allocator.allocate(1100) == holes[4]
    assert allocator.allocate(3000) == holes[0]


def test_split_when_twice_as_large():
    allocator = make()
    hole, _ = allocator.allocate(2048), allocator.allocate(256)
    allocator.deallocate(hole)
    whole = allocator.allocate(1100)
    assert (whole, allocator.allocated_size(whole)) == (hole, 2048)
    allocator.deallocate(whole)
    part = allocator.allocate(1024)
    assert (part, allocator.allocated_size(part)) == (hole, 1024)


def test_split_when_128_mib_would_be_lost():
    for spare, size in ((128 * MIB, 300 * MIB), (128 * MIB - 256, 428 * MIB - 256)):
        allocator = make(2 * GIB)
        hole, _ = allocator.allocate(300 * MIB + spare), allocator.allocate(256)
        allocator.deallocate(hole)
        assert allocator.allocated_size(allocator.allocate(300 * MIB)) == size


def test_addresses_are_multiples_of_256():
    allocator = make()
    assert all(allocator.allocate(size) % 256 == 0 for size in (1, 255, 257, 1000))


# Freeing


def test_a_freed_chunk_merges_with_both_neighbours():
    allocator = make()
    one, two, three, _ = (allocator.allocate(1024) for _ in range(4))
    allocator.deallocate(one)
    allocator.deallocate(three)
    assert [chunk.in_use for chunk in allocator.chunks()] == [False, True, False, True, False]
    allocator.deallocate(two)
    chunks = allocator.chunks()
    assert [(chunk.in_use, chunk.size) for chunk in chunks[:2]] == [(False, 3072), (True, 1024)]
    assert allocator.allocate(3072) == one


def test_regions_are_not_joined():
    allocator = make(16 * MIB, allow_growth=True, garbage_collection=False)
    one, two = allocator.allocate(MIB), allocator.allocate(2 * MIB)
    assert [region.size for region in allocator.regions()] == [MIB, 2 * MIB]
    assert two == one + 2 * MIB  # device memory is 2 MiB aligned
    allocator.deallocate(one)
    allocator.deallocate(two)
    assert [chunk.size for chunk in allocator.chunks()] == [MIB, 2 * MIB]


@pytest.mark.parametrize("address", [1, 0x7F00_0000_0100])
def test_freeing_what_is_not_in_use(address):
    allocator = make()
    allocator.allocate(256)
    with pytest.raises(ValueError, match="GPU_0_bfc: 0x[0-9a-f]+ is not the address of memory in use"):
        allocator.deallocate(address)


def test_freeing_twice():
    allocator = make()
    address = allocator.allocate(256)
    allocator.deallocate(address)
    with pytest.raises(ValueError):
        allocator.deallocate(address)
    assert allocator.stats().bytes_in_use == 0


# Regions and growth


def test_without_growth_the_first_allocation_takes_everything():
    allocator = make(GIB - 100)
    assert allocator.regions() == ()
    allocator.allocate(1)
    assert [region.size for region in allocator.regions()] == [GIB - 256]


def regions_after(*requests, limit=GIB, **kwargs):
    allocator = make(limit, allow_growth=True, **kwargs)
    for request in requests:
        assert allocator.allocate(request) is not None
    return [region.size // MIB for region in allocator.regions()], allocator.next_region_size // MIB


def test_growth_doubles():
    assert regions_after(KIB, MIB) == ([1, 2], 4)
    assert regions_after(5 * MIB) == ([8], 8)
    assert regions_after(5 * MIB, 5 * MIB) == ([8, 8], 16)
    assert regions_after(KIB, limit=512 * KIB) == ([0], 1)


def test_growth_of_2_21_begins_with_2_mib():
    assert regions_after(KIB, release="2.21") == ([2], 4)


def test_the_last_region_is_what_the_limit_leaves():
    allocator = make(4 * MIB - 100, allow_growth=True)
    for _ in range(2):
        assert allocator.allocate(MIB) is not None
    allocator.allocate(MIB + 1 - 256)
    assert sum(region.size for region in allocator.regions()) <= 4 * MIB - 100
    assert allocator.allocate(2 * MIB) is None


def test_backpedalling_once():
    allocator = make(GIB, capacity=800 * MIB)
    assert allocator.allocate(KIB) is not None
    (region,) = allocator.regions()
    sizes = [GIB]
    while sizes[-1] > 800 * MIB:
        sizes.append(-(-int(sizes[-1] * 0.9) // 256) * 256)
    assert region.size == pytest.approx(sizes[-1], abs=256)
    assert allocator.allocate(400 * MIB) is not None


def test_backpedalling_stops_below_the_request():
    allocator = make(GIB, capacity=100 * MIB)
    assert allocator.allocate(500 * MIB) is None
    assert allocator.regions() == ()
    assert allocator.allocate(KIB) is None  # the one time is over


def test_garbage_collection_gives_idle_regions_back(caplog):
    memory = DeviceMemory(64 * MIB)
    allocator = BFCAllocator(memory, 64 * MIB, allow_growth=True, environ={}, retry_wait_ms=0)
    addresses = [allocator.allocate(4 * MIB) for _ in range(12)]
    for address in addresses:
        allocator.deallocate(address)
    with caplog.at_level(logging.WARNING):
        assert allocator.allocate(60 * MIB) is not None
    assert len(allocator.regions()) == 1 and memory.bytes_in_use == 64 * MIB
    assert caplog.messages[0].startswith(
        "Garbage collection: deallocate free memory regions (i.e., allocations) so that"
    )
    assert caplog.messages[0].endswith(
        "Set TF_ENABLE_GPU_GARBAGE_COLLECTION=false if you'd like to disable this feature."
    )


@pytest.mark.parametrize(
    "how", [{"garbage_collection": False}, {"environ": {"TF_ENABLE_GPU_GARBAGE_COLLECTION": "false"}}]
)
def test_garbage_collection_can_be_switched_off(how):
    allocator = make(64 * MIB, allow_growth=True, **how)
    for address in [allocator.allocate(4 * MIB) for _ in range(12)]:
        allocator.deallocate(address)
    assert allocator.allocate(60 * MIB) is None


def test_garbage_collection_does_nothing_where_it_cannot_help():
    allocator = make(64 * MIB, allow_growth=True)
    kept, idle = allocator.allocate(40 * MIB), allocator.allocate(KIB)
    regions = allocator.regions()
    allocator.deallocate(idle)
    assert allocator.allocate(50 * MIB) is None
    assert allocator.regions() == regions and allocator.allocated_size(kept)


def test_all_can_be_given_back():
    memory = DeviceMemory(GIB)
    allocator = BFCAllocator(memory, GIB, environ={})
    allocator.allocate(KIB)
    allocator.release_all()
    assert memory.bytes_in_use == 0 and allocator.chunks() == ()


# Environment


@pytest.mark.parametrize(
    ("growth", "value", "next_region", "message"),
    [
        (
            False,
            "true",
            MIB,
            "Overriding allow_growth setting because the TF_FORCE_GPU_ALLOW_GROWTH environment variable is set. "
            "Original config value was 0.",
        ),
        (
            True,
            "false",
            2 * GIB,
            "Overriding allow_growth setting because the TF_FORCE_GPU_ALLOW_GROWTH environment variable is set. "
            "Original config value was 1.",
        ),
        (True, "true", MIB, None),
        (
            False,
            "yes",
            2 * GIB,
            'The TF_FORCE_GPU_ALLOW_GROWTH environment variable is set but could not be parsed: "yes". Valid values '
            'are "true" or "false". Using original config value of 0.',
        ),
    ],
)
def test_forced_growth(caplog, growth, value, next_region, message):
    allocator = make(2 * GIB, allow_growth=growth, environ={"TF_FORCE_GPU_ALLOW_GROWTH": value})
    assert allocator.next_region_size == next_region
    assert caplog.messages == ([] if message is None else [message])


def test_unreadable_garbage_collection_option(caplog):
    assert make(environ={"TF_ENABLE_GPU_GARBAGE_COLLECTION": "no"}).garbage_collection
    assert (
        'TF_ENABLE_GPU_GARBAGE_COLLECTION environment variable is set but could not be parsed: "no"'
        in caplog.text
    )


# Waiting for memory


class Clock:
    """Seconds that pass only while somebody waits."""

    def __init__(self):
        self.now = 0.0
        self.waits = []

    def __call__(self):
        return self.now


class Condition:
    """Instead of waiting, moves the clock and runs what another thread would have done meanwhile."""

    def __init__(self, clock, meanwhile=()):
        self.clock, self.meanwhile = clock, list(meanwhile)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def wait(self, timeout):
        self.clock.waits.append(timeout)
        if self.meanwhile:
            self.clock.now += 1
            self.meanwhile.pop(0)()
        else:
            self.clock.now += timeout

    def notify_all(self):
        pass


def test_a_request_waits_ten_seconds_in_all():
    clock = Clock()
    allocator = make(MIB, clock=clock, condition=Condition(clock), retry_wait_ms=10_000)
    allocator.allocate(MIB)
    assert allocator.allocate(256) is None
    assert clock.waits == [10.0] and clock.now == 10.0


def test_a_waiter_takes_what_becomes_free():
    clock = Clock()
    condition = Condition(clock)
    allocator = make(MIB, clock=clock, condition=condition, retry_wait_ms=10_000)
    small, large, _ = (allocator.allocate(size) for size in (256, 256 * KIB, 768 * KIB - 256))
    condition.meanwhile = [lambda: allocator.deallocate(small), lambda: allocator.deallocate(large)]
    assert allocator.allocate(256 * KIB) == small  # both merged
    assert clock.now == 2.0 and clock.waits == [10.0, 9.0]


def test_default_wait_is_tensorflows():
    assert BFCAllocator(DeviceMemory(MIB), MIB, environ={}).retry_wait_ms == 10_000


def test_a_free_from_another_thread_satisfies_a_waiter():
    allocator = make(MIB, retry_wait_ms=20_000)
    address = allocator.allocate(MIB)
    got = []
    waiter = threading.Thread(target=lambda: got.append(allocator.allocate(MIB)))
    waiter.start()
    while not allocator._waiting:  # until it has failed once
        pass
    allocator.deallocate(address)
    waiter.join(10)
    assert got == [address]


def test_many_threads_leave_nothing_behind():
    allocator = make(64 * MIB, allow_growth=True, retry_wait_ms=20_000)
    failures = []

    def work(seed):
        rng = random.Random(seed)
        for _ in range(300):
            address = allocator.allocate(rng.randrange(1, 8 * MIB))
            if address is None:
                failures.append(seed)
            allocator.deallocate(address)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert allocator.stats().bytes_in_use == 0 and allocator.stats().num_allocs == 1800
    check_chunks(allocator)


# Texts


def test_optional_memory_fails_at_once_with_at_most_ten_warnings(caplog):
    reset_warning_counts()
    clock = Clock()
    allocator = make(MIB, clock=clock, condition=Condition(clock), retry_wait_ms=10_000)
    for _ in range(12):
        assert allocator.allocate(4 * MIB, no_retry_on_failure=True, freed_by_count=3) is None
    assert clock.now == 0.0
    warning = (
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 4.00MiB with freed_by_count=3. The caller "
        "indicates that this is not a failure, but may mean that there could be performance gains if more memory were "
        "available."
    )
    assert caplog.messages == [warning] * 10
    reset_warning_counts()


def test_optional_memory_in_1_4(caplog):
    reset_warning_counts()
    make(MIB, release="1.4").allocate(4 * MIB, no_retry_on_failure=True)
    assert caplog.messages == [
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 4.00MiB. The caller indicates that this is "
        "not a failure, but may mean that there could be performance gains if more memory is available."
    ]
    assert PROCESS.optional_memory_warnings == 1
    reset_warning_counts()


def test_memory_log():
    allocator = make(MIB)
    addresses = [allocator.allocate(size) for size in (4, 1000, 256, 300)]
    allocator.deallocate(addresses[1])
    base = addresses[0]
    free = MIB - 256 - 1024 - 256 - 512
    lines = allocator.memory_log(MIB).splitlines()
    assert lines[0] == (
        "Bin (256): \tTotal Chunks: 2, Chunks in use: 2. 512B allocated for chunks. 512B in use in bin. "
        "260B client-requested in use in bin."
    )
    assert lines[1] == (
        "Bin (512): \tTotal Chunks: 1, Chunks in use: 1. 512B allocated for chunks. 512B in use in bin. "
        "300B client-requested in use in bin."
    )
    assert lines[2] == (
        "Bin (1024): \tTotal Chunks: 1, Chunks in use: 0. 1.0KiB allocated for chunks. 0B in use in bin. "
        "0B client-requested in use in bin."
    )
    assert lines[20].startswith("Bin (268435456): \tTotal Chunks: 0")
    assert lines[21:] == [
        "Bin for 1.00MiB was 1.00MiB, Chunk State: ",
        "Next region of size 1048576",
        f"InUse at {base:#x} next 1 of size 256",
        f"Free  at {base + 256:#x} next 2 of size 1024",
        f"InUse at {base + 1280:#x} next 3 of size 256",
        f"InUse at {base + 1536:#x} next 4 of size 512",
        f"Free  at {base + 2048:#x} next 18446744073709551615 of size {free}",
        "     Summary of in-use Chunks by size: ",
        "2 Chunks of size 256 totalling 512B",
        "1 Chunks of size 512 totalling 512B",
        "Sum Total of in-use chunks: 1.0KiB",
        "total_region_allocated_bytes_: 1048576 memory_limit_: 1048576 available bytes: 0 "
        "curr_region_allocation_bytes_: 2097152",
        "Stats: ",
        "Limit:                     1048576",
        "InUse:                        1024",
        "MaxInUse:                     2048",
        "NumAllocs:                       4",
        "MaxAllocSize:                 1024",
        "",
        "*" + "_" * 99,
    ]


def test_memory_log_describes_the_free_chunks_of_the_wanted_bin():
    allocator = make(MIB)
    one, two, _ = (allocator.allocate(1000) for _ in range(3))
    allocator.deallocate(two)
    assert (
        "  Size: 1.0KiB | Requested Size: 1000B | in_use: 0 | bin_num: 2, prev:   Size: 1.0KiB | Requested Size: "
        "1000B | in_use: 1 | bin_num: -1, next:   Size: 1.0KiB | Requested Size: 1000B | in_use: 1 | bin_num: -1"
    ) in allocator.memory_log(1024).splitlines()
    assert one


def test_running_out_is_logged(caplog):
    allocator = make(MIB, name="GPU_3_bfc")
    allocator.allocate(MIB)
    with caplog.at_level(logging.INFO):
        assert allocator.allocate(5 * MIB + 1) is None
    assert caplog.messages[0] == (
        "Allocator (GPU_3_bfc) ran out of memory trying to allocate 5.00MiB (rounded to 5243136).  Current allocation "
        "summary follows."
    )
    assert caplog.records[0].levelname == caplog.records[-1].levelname == "WARNING"
    assert caplog.messages[-1] == "*" * 100
    assert allocator.last_memory_log.startswith(caplog.messages[0])


def test_running_out_in_1_4(caplog):
    allocator = make(MIB, release="1.4")
    assert allocator.allocate(4 * GIB) is None
    assert caplog.messages[0] == (
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 4.00GiB.  Current allocation summary follows."
    )
    assert caplog.messages[-1] == "<allocator contains no memory>"


def test_picture_of_the_memory():
    allocator = make(100 * 256)
    addresses = [allocator.allocate(size) for size in (256, 2560, 100, 1000)]
    allocator.deallocate(addresses[1])
    picture = allocator.render_occupancy()
    assert len(picture) == 100
    assert picture == "*" + "_" * 10 + "*" + "****" + "_" * 84
    allocator.allocate(1300)
    assert allocator.render_occupancy()[1:7] == "******"


def test_the_picture_shows_rounding_waste():
    allocator = make(10 * 256)
    allocator.allocate(100)
    assert allocator.render_occupancy() == "****" + "x" * 6 + "_" * 90


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0B"),
        (123, "123B"),
        (1023, "1023B"),
        (1024, "1.0KiB"),
        (1536, "1.5KiB"),
        (MIB - 1, "1024.0KiB"),
        (MIB, "1.00MiB"),
        (4 * MIB, "4.00MiB"),
        (5 * GIB // 4, "1.25GiB"),
        (MIB + MIB // 2 + 1023, "1.50MiB"),
        (1 << 50, "1.00PiB"),
        (-1536, "-1.5KiB"),
    ],
)
def test_readable_sizes(nbytes, text):
    assert readable_bytes(nbytes) == text


def test_stats_as_text():
    stats = AllocatorStats(num_allocs=2, bytes_in_use=5, peak_bytes_in_use=6, largest_alloc_size=4)
    assert str(stats) == (
        "Limit:                           0\nInUse:                           5\nMaxInUse:                        6\n"
        "NumAllocs:                       2\nMaxAllocSize:                    4\n"
    )


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (dtypes.float32, "float"),
        (dtypes.float64, "double"),
        (dtypes.float16, "half"),
        ("float", "float"),
        ("int32", "int32"),
    ],
)
def test_error_of_an_op(dtype, name):
    text = oom_message((2, 3), dtype, DEVICE, "GPU_0_bfc", release="1.15")
    assert (
        text
        == f"OOM when allocating tensor with shape[2,3] and type {name} on {DEVICE} by allocator GPU_0_bfc"
    )


def test_error_of_an_op_in_other_words():
    assert (
        oom_message([], "float", DEVICE, "GPU_0_bfc", release="1.4")
        == "OOM when allocating tensor with shape[]"
    )
    assert oom_message([7], "float", DEVICE, "GPU_0_bfc", temporary=True).startswith(
        "OOM when allocating temporary tensor with shape[7] and type float on"
    )
    assert "report_tensor_allocations_upon_oom" in OOM_HINT


# Questions


def test_clear_stats():
    allocator = make()
    one, two = allocator.allocate(1024), allocator.allocate(4096)
    allocator.deallocate(two)
    allocator.clear_stats()
    assert counters(allocator) == (0, 1024, 1024, 0)
    assert allocator.stats().bytes_limit == GIB
    assert allocator.allocated_size(one) == 1024


def test_chunk_records():
    allocator = make()
    address = allocator.allocate(1000, label="MatMul")
    first, rest = allocator.chunks()
    assert (first.address, first.size, first.requested_size, first.label) == (address, 1024, 1000, "MatMul")
    assert (first.allocation_id, first.bin_num, first.region, first.in_use) == (1, -1, 0, True)
    assert (rest.allocation_id, rest.bin_num, rest.in_use) == (-1, 20, False)
    assert first.next_handle == rest.handle and rest.next_handle == -1


def test_fragmentation():
    allocator = make(MIB)
    assert allocator.fragmentation() == 0.0 and allocator.largest_free_chunk() == 0
    addresses = [allocator.allocate(MIB // 4) for _ in range(4)]
    assert allocator.fragmentation() == 0.0
    allocator.deallocate(addresses[0])
    allocator.deallocate(addresses[2])
    assert allocator.fragmentation() == 0.5 and allocator.largest_free_chunk() == MIB // 4


def check_chunks(allocator):
    """Chunks tile their regions, free ones never touch, and stats agree with them."""
    chunks, regions = allocator.chunks(), allocator.regions()
    for index, region in enumerate(regions):
        here = [chunk for chunk in chunks if chunk.region == index]
        assert here[0].address == region.address
        assert sum(chunk.size for chunk in here) == region.size
        for one, two in zip(here, here[1:], strict=False):
            assert one.address + one.size == two.address
            assert one.in_use or two.in_use
            assert one.next_handle == two.handle
    assert len({chunk.handle for chunk in chunks}) == len(chunks)
    assert all(chunk.size % 256 == 0 and chunk.size >= 256 for chunk in chunks)
    assert allocator.stats().bytes_in_use == sum(chunk.size for chunk in chunks if chunk.in_use)
    free = [chunk.size for chunk in chunks if not chunk.in_use]
    assert allocator.largest_free_chunk() == max(free, default=0)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3 * MIB), st.integers(0, 1 << 30)), max_size=60),
    st.booleans(),
    st.booleans(),
)
def test_whatever_happens_the_chunks_tile_the_regions(steps, allow_growth, garbage_collection):
    allocator = make(8 * MIB, allow_growth=allow_growth, garbage_collection=garbage_collection)
    live = []
    for size, choice in steps:
        if choice % 3 and live:
            allocator.deallocate(live.pop(choice % len(live)))
        else:
            address = allocator.allocate(size)
            if address is not None:
                assert address % 256 == 0
                live.append(address)
        check_chunks(allocator)
    for address in live:
        allocator.deallocate(address)
    assert all(not chunk.in_use for chunk in allocator.chunks())


def best_fit(chunks, size):
    """The smallest free chunk that fits, the lowest address on a tie: the rule in one line."""
    return min(((c.size, c.address) for c in chunks if not c.in_use and c.size >= size), default=None)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 300_000), st.integers(0, 1 << 30)), max_size=80))
def test_every_choice_is_the_best_fit(steps):
    allocator = make(4 * MIB)
    allocator.deallocate(allocator.allocate(1))
    live = []
    for size, choice in steps:
        if choice % 2 and live:
            allocator.deallocate(live.pop(choice % len(live)))
            continue
        rounded = -(-size // 256) * 256
        best = best_fit(allocator.chunks(), rounded)
        address = allocator.allocate(size)
        assert address == (best and best[1])
        if address is not None:
            live.append(address)
            expected = rounded if best[0] >= 2 * rounded else best[0]
            assert allocator.allocated_size(address) == expected


def test_speed_of_a_pair(benchmark):
    allocator = make()
    keep = [allocator.allocate(size) for size in range(256, 40_000, 256)]
    for address in keep[::2]:
        allocator.deallocate(address)

    def pair():
        allocator.deallocate(allocator.allocate(4096))

    benchmark(pair)


DATA = Path(__file__).parents[2] / "data"
TRACES = {
    "2.21": json.loads((DATA / "bfc_traces.json").read_text()),
    "1.15": json.loads((DATA / "bfc_traces_1_15.json").read_text()),
}


class NeverRefusesLittle(DeviceMemory):
    """The device memory that the traces were recorded with."""

    def allocate(self, nbytes, owner=None):
        if nbytes <= 4096:
            self.capacity = max(self.capacity, self.bytes_in_use + nbytes)
        return super().allocate(nbytes, owner)


def replay(trace, release):
    """The allocator after the steps of a trace, each with the address that TensorFlow gave."""
    capacity, limit, allow_growth, garbage_collection = trace["options"]
    allocator = BFCAllocator(
        NeverRefusesLittle(capacity),
        limit,
        allow_growth=allow_growth,
        garbage_collection=garbage_collection,
        release=release,
        environ={},
    )
    for kind, *rest in trace["steps"]:
        if kind == "clear":
            allocator.clear_stats()
        elif kind == "free":
            allocator.deallocate(rest[0])
        else:
            nbytes, address = rest
            assert allocator.allocate(nbytes, no_retry_on_failure=True) == address
    assert list(counters(allocator)) == trace["counters"]
    check_chunks(allocator)
    return allocator


@pytest.mark.parametrize("number", range(len(TRACES["2.21"])))
def test_traces_recorded_from_tensorflow_2_21(number):
    """Every address, the counters and every chunk are those of TensorFlow's own allocator."""
    trace = TRACES["2.21"][number]
    chunks = [
        [chunk.address, chunk.size, chunk.requested_size if chunk.in_use else -1, chunk.bin_num]
        for chunk in replay(trace, "2.21").chunks()
    ]
    assert sorted(chunks) == trace["chunks"]


@pytest.mark.parametrize("number", range(len(TRACES["1.15"])))
def test_traces_recorded_from_tensorflow_1_15(number):
    """Every address, the counters, the whole memory log and the picture are those of TensorFlow's own allocator."""
    trace = TRACES["1.15"][number]
    allocator = replay(trace, "1.15")
    assert allocator.next_region_size == trace["next_region_size"]
    log, _, picture = allocator.memory_log(trace["wanted"]).rpartition("\n")
    assert picture == trace["picture"]
    assert log.rstrip("\n").splitlines() == trace["log"].splitlines()


def test_backpedalling_ends():
    assert make(MIB, capacity=1000).allocate(1) is None
    assert make(MIB, capacity=1000, release="2.21").allocate(1) is None


def test_2_21_backpedals_each_time():
    allocator = make(GIB, capacity=100 * MIB, release="2.21")
    assert allocator.allocate(500 * MIB) is None
    assert allocator.allocate(KIB) is not None


# What the driver says


@pytest.mark.parametrize(
    ("release", "level", "sizes"),
    [
        ("1.0", "ERROR", ["10.00M (10485760 bytes)", "9.00M (9437184 bytes)"]),
        ("1.4", "ERROR", ["10.00M (10485760 bytes)", "9.00M (9437184 bytes)"]),
        ("1.15", "ERROR", ["10.00M (10485760 bytes)", "9.00M (9437184 bytes)"]),
        ("2.21", "INFO", ["10.00MiB (10485760 bytes)", "9.00MiB (9437184 bytes)"]),
    ],
)
def test_what_a_full_gpu_says(caplog, release, level, sizes):
    """A line for each attempt, 0.9 times the one before; the last of them is met."""
    allocator = make(10 * MIB, capacity=9 * MIB - KIB, release=release)
    with caplog.at_level(logging.INFO):
        assert allocator.allocate(4 * MIB) is not None
    told = "" if release in ("1.0", "1.4") else ": out of memory"
    assert caplog.messages == [
        f"failed to allocate {size} from device: CUDA_ERROR_OUT_OF_MEMORY{told}" for size in sizes
    ]
    assert {record.levelname for record in caplog.records} == {level}


def test_a_gpu_with_enough_memory_says_nothing(caplog):
    with caplog.at_level(logging.INFO):
        make(10 * MIB).allocate(4 * MIB)
        make(10 * MIB, allow_growth=True).allocate(4 * MIB)
    assert caplog.messages == []
