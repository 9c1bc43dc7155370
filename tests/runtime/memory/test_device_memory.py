"""Virtual address space of a simulated GPU."""

import pytest

from gpuplace.runtime.memory.device_memory import DeviceMemory

MIB = 1 << 20


def test_regions_lie_at_the_lowest_aligned_place_that_fits():
    memory = DeviceMemory(64 * MIB, first_address=0)
    one, two, three = memory.allocate(MIB), memory.allocate(4 * MIB), memory.allocate(MIB)
    assert (one, two, three) == (0, 2 * MIB, 6 * MIB)
    memory.free(two, 4 * MIB)
    assert memory.allocate(5 * MIB) == 8 * MIB
    assert memory.allocate(3 * MIB) == 2 * MIB
    assert memory.bytes_in_use == 10 * MIB


def test_no_more_than_the_capacity():
    memory = DeviceMemory(2 * MIB)
    assert memory.allocate(3 * MIB) is None
    address = memory.allocate(2 * MIB)
    assert memory.allocate(1) is None and memory.bytes_free == 0
    memory.free(address, 2 * MIB)
    assert memory.allocate(2 * MIB) == address
    assert memory.allocate(0) is None


def test_only_regions_can_be_freed():
    memory = DeviceMemory(2 * MIB)
    memory.allocate(MIB)
    with pytest.raises(ValueError):
        memory.free(1, MIB)
