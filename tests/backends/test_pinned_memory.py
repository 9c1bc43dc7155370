"""Page-locked memory: blocks go round, there is an end to them, and ordinary memory takes their place."""

import gc

import numpy as np
import pytest

from gpuplace.backends.pinned_memory import SMALLEST, PinnedPool
from tests.stand_ins.fake_cuda import CUDARuntimeError
from tests.stand_ins.fake_cupy import FakeCupy


def is_pinned(fake, array):
    return fake._is_pinned(array.__array_interface__["data"][0])


def test_arrays_are_pinned_and_as_asked_for():
    fake = FakeCupy()
    pool = PinnedPool(fake)
    for shape, dtype in (((), "f4"), ((3, 5), "i8"), ((1000,), "c16"), ((7,), "?"), ((2, 2), "f2")):
        array = pool.empty(shape, np.dtype(dtype))
        assert (array.shape, array.dtype) == (shape, np.dtype(dtype)) and is_pinned(fake, array)
        assert array.flags.c_contiguous and array.flags.writeable
    assert pool.empty((0, 3), np.dtype("f4")).shape == (0, 3)


def test_a_block_is_used_again_when_the_last_array_over_it_is_gone():
    fake = FakeCupy()
    pool = PinnedPool(fake)
    array = pool.empty((100,), np.dtype("f4"))
    address = array.__array_interface__["data"][0]
    part = array.reshape(10, 10)[2:5].T
    del array
    gc.collect()
    other = pool.empty((128,), np.dtype("f4"))
    assert other.__array_interface__["data"][0] != address
    del part
    gc.collect()
    assert pool.empty((65,), np.dtype("f8")).__array_interface__["data"][0] != address  # larger
    assert pool.empty((128,), np.dtype("f4")).__array_interface__["data"][0] == address
    assert pool.locked_bytes == 2 * 512 + 1024


def test_there_is_a_limit_and_idle_blocks_make_room():
    fake = FakeCupy()
    pool = PinnedPool(fake, limit=4096)
    kept = [pool.empty((1024,), np.dtype("u1")) for _ in range(4)]
    assert all(is_pinned(fake, array) for array in kept)
    assert not is_pinned(fake, pool.empty((1,), np.dtype("u1")))
    del kept[1:]
    gc.collect()
    assert is_pinned(fake, pool.empty((2000,), np.dtype("u1")))
    assert pool.locked_bytes == 1024 + 2048 == sum(fake._pinned.values())
    assert not is_pinned(fake, pool.empty((5000,), np.dtype("u1")))


def test_where_the_system_locks_no_more_arrays_are_ordinary():
    fake = FakeCupy()
    fake.pinned_capacity = SMALLEST
    pool = PinnedPool(fake)
    first, second = (pool.empty((4,), np.dtype("f4")) for _ in range(2))
    assert is_pinned(fake, first) and not is_pinned(fake, second)
    assert pool.locked_bytes == SMALLEST


def test_other_errors_of_the_driver_are_errors():
    fake = FakeCupy()

    def broken(size):
        raise CUDARuntimeError(35, "cudaErrorInsufficientDriver")

    fake.cuda.alloc_pinned_memory = broken
    with pytest.raises(CUDARuntimeError, match="InsufficientDriver"):
        PinnedPool(fake).empty((4,), np.dtype("f4"))
