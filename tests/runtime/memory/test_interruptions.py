"""Exceptions of signal handlers at any instruction of an allocator's work: the books are in order, nothing is lost."""

import signal
import sys

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.runtime.memory import bfc_allocator
from gpuplace.runtime.memory.bfc_allocator import BFCAllocator
from gpuplace.runtime.memory.device_memory import DeviceMemory
from gpuplace.runtime.memory.simulated_memory import SimulatedMemory
from tests.support.interruptions import interrupted_at

DEVICE = "/job:localhost/replica:0/task:0/device:GPU:0"
MIB = 1 << 20


@pytest.fixture
def default_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("where", ["insort", "bin_number", "bisect_left"])
def test_ctrl_c_within_the_allocator(default_handler, monkeypatch, where):
    tf.use_machine("1x Tesla K20m")
    x = tf.placeholder(tf.float32, [16])
    with tf.device("/gpu:0"):
        y = x
        for _ in range(20):
            y = tf.tanh(y) * 2.0
    plain = getattr(bfc_allocator, where)
    calls = 0

    def interrupted(*arguments, **options):
        nonlocal calls
        calls += 1
        if calls == 5:
            signal.raise_signal(signal.SIGINT)
        return plain(*arguments, **options)

    with tf.Session() as session:
        feeds = {x: np.ones(16, np.float32)}
        session.run(y, feeds)
        (allocator,) = session.allocators.values()
        in_use = allocator.stats().bytes_in_use
        monkeypatch.setattr(bfc_allocator, where, interrupted)
        with pytest.raises(KeyboardInterrupt):
            session.run(y, feeds)
        assert calls == 5
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        session.run(y, feeds)
        assert allocator.stats().bytes_in_use == in_use


def test_a_handler_of_the_programs_own_stays(default_handler):
    tf.use_machine("1x Tesla K20m")
    heard = []

    def handler(number, frame):
        heard.append(number)

    signal.signal(signal.SIGINT, handler)
    with tf.device("/cpu:0"):
        asked = tf.py_func(lambda: signal.raise_signal(signal.SIGINT) or np.float32(1), [], tf.float32)
    with tf.device("/gpu:0"):
        result = asked + 1.0
    with tf.Session() as session:
        assert session.run(result) == 2
    assert heard == [signal.SIGINT] and signal.getsignal(signal.SIGINT) is handler


def a_memory():
    """Accounted memory whose regions grow, with several arrays in it, and holes between them."""
    device = DeviceMemory(64 * MIB)
    allocator = BFCAllocator(device, 64 * MIB, allow_growth=True, retry_wait_ms=0, garbage_collection=True)
    memory = SimulatedMemory(allocator)
    arrays = [memory.note("a", DEVICE, np.zeros(size, np.uint8)) for size in (300, 5000, 256, 70_000, 900)]
    del arrays[3], arrays[1]
    return memory, arrays


def note_new(memory, arrays):
    arrays.append(memory.note("b", DEVICE, np.zeros(2000, np.uint8)))


def note_a_region(memory, arrays):
    arrays.append(memory.note("b", DEVICE, np.zeros(5 * MIB, np.uint8)))


def note_reserved(memory, arrays):
    reservation = memory.reserve(4096, "b", (4096,), np.uint8, DEVICE)
    arrays.append(memory.note("b", DEVICE, np.zeros(4096, np.uint8), reservation))


def note_shared(memory, arrays):
    arrays.append(memory.note_shared("b", DEVICE, arrays[0], arrays[0].copy()))
    del arrays[0]


def drop_and_note(memory, arrays):
    del arrays[1]
    arrays.append(memory.note("b", DEVICE, np.zeros(100, np.uint8)))
    arrays.clear()
    memory.allocator.stats()


def regions_go_back(memory, arrays):
    arrays.clear()
    arrays.append(memory.note("b", DEVICE, np.zeros(60 * MIB, np.uint8)))


OWN = {sys.modules[one.__module__].__file__ for one in (BFCAllocator, DeviceMemory, SimulatedMemory)}
"""The files in which an exception is raised."""


def check(memory, arrays):
    """Every chunk in use is an array's, chunks fill the regions without gaps, and no neighbours are both free."""
    allocator = memory.allocator
    chunks = allocator.chunks()
    wanted = sorted((array.nbytes + 255) // 256 * 256 for array in {id(one): one for one in arrays}.values())
    used = [chunk for chunk in chunks if chunk.in_use]
    assert sum(chunk.size for chunk in used) == allocator.bytes_in_use == allocator.stats().bytes_in_use
    assert len(used) == len(wanted)
    assert all(size >= least for size, least in zip(sorted(one.size for one in used), wanted, strict=True))
    regions = allocator.regions()
    assert sum(chunk.size for chunk in chunks) == sum(region.size for region in regions)
    for number, region in enumerate(regions):
        at, was_free = region.address, False
        for chunk in (one for one in chunks if one.region == number):
            assert chunk.address == at and not (was_free and not chunk.in_use)
            at, was_free = at + chunk.size, not chunk.in_use
        assert at == region.address + region.size
    assert sum(region.size for region in regions) == allocator._memory.bytes_in_use
    assert len(memory._live) == len(arrays)
    free = sorted(chunk.size for chunk in chunks if not chunk.in_use)
    assert sorted(size for entries in allocator._bins for size, _ in entries) == free


@pytest.mark.parametrize(
    "function", [note_new, note_a_region, note_reserved, note_shared, drop_and_note, regions_go_back]
)
def test_an_exception_at_any_instruction(function):
    instruction, is_interrupted = 0, True
    while is_interrupted:
        instruction += 1
        memory, arrays = a_memory()
        is_interrupted = interrupted_at(instruction, OWN, function, memory, arrays)
        check(memory, arrays)
        again = memory.note("c", DEVICE, np.zeros(3000, np.uint8))
        check(memory, [*arrays, again])
        arrays.clear()
        del again
        check(memory, [])
        memory.note("c", DEVICE, np.zeros(50 * MIB, np.uint8))
    assert instruction > 10
