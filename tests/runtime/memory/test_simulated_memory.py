"""Accounting of arrays by the life of their owners."""

import gc
import threading

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.errors import ResourceExhaustedError
from gpuplace.kernels.resources import VariableStorage
from gpuplace.runtime.memory.bfc_allocator import BFCAllocator
from gpuplace.runtime.memory.device_memory import DeviceMemory
from gpuplace.runtime.memory.simulated_memory import SimulatedMemory, memory_of

DEVICE = "/job:localhost/replica:0/task:0/device:GPU:0"


@pytest.fixture
def memory():
    return SimulatedMemory(BFCAllocator(DeviceMemory(1 << 20), 1 << 20, name="GPU_0_bfc", retry_wait_ms=0))


def in_use(memory):
    return memory.allocator.stats().bytes_in_use


def test_an_array_counts_while_it_lives(memory):
    value = memory.note("a", DEVICE, np.zeros(64, np.float32))
    assert in_use(memory) == 256
    view = memory.note("b", DEVICE, value[::2].reshape(4, 8))
    assert in_use(memory) == 256
    del value
    assert in_use(memory) == 256
    del view
    assert in_use(memory) == 0


def test_scalars_become_arrays(memory):
    value = memory.note("a", DEVICE, np.float32(3))
    assert isinstance(value, np.ndarray) and value == 3
    assert in_use(memory) == 256


def test_a_repeated_array_is_written_out(memory):
    value = memory.note("a", DEVICE, np.broadcast_to(np.float32(1), [1024]))
    assert value.flags.writeable and in_use(memory) == 4096


def test_arrays_without_elements_take_no_memory(memory):
    value = memory.note("a", DEVICE, np.zeros([0, 3]))
    assert value.shape == (0, 3) and in_use(memory) == 0


def test_too_large(memory):
    with pytest.raises(ResourceExhaustedError) as caught:
        memory.note("a", DEVICE, np.zeros([3, 1 << 20], np.int8))
    assert caught.value.message == (
        f"OOM when allocating tensor with shape[3,1048576] and type int8 on {DEVICE} by allocator GPU_0_bfc"
    )
    assert caught.value.facts == {"wanted": "3145728 bytes", "in use": "0 of 1048576 bytes"}


def test_a_reservation_is_used_or_given_back(memory):
    reserved = memory.reserve(4096, "a", (1024,), np.float32, DEVICE)
    value = memory.note("a", DEVICE, np.zeros(1024, np.float32), reserved)
    assert in_use(memory) == 4096 and memory.allocator.stats().num_allocs == 1
    del reserved
    assert in_use(memory) == 4096
    del value
    assert in_use(memory) == 0
    reserved = memory.reserve(4096, "a", (1024,), np.float32, DEVICE)
    other = memory.note("a", DEVICE, np.zeros(10), reserved)
    del reserved
    assert in_use(memory) == 256
    del other


def test_an_updated_variable_stays_where_it_was(memory):
    variable = VariableStorage("v", tf.float32, tf.TensorShape([1024]))
    variable.assign(memory.note("v", DEVICE, np.zeros(1024, np.float32)))
    address = memory.allocator.chunks()[0].address
    read = variable.value  # TensorFlow writes over what was read
    held = memory.hold(variable)
    variable.assign(np.ones(1024, np.float32))
    memory.note("v", DEVICE, variable.value, held)
    del held
    assert in_use(memory) == 4096 and memory.allocator.stats().num_allocs == 1
    del read
    assert [chunk.address for chunk in memory.allocator.chunks() if chunk.in_use] == [address]
    variable.reset()
    assert in_use(memory) == 0


def test_an_updated_resource_variable_stays_where_it_was_unless_somebody_has_read_it(memory):
    variable = VariableStorage("v", tf.float32, tf.TensorShape([1024]), is_resource=True)
    variable.assign(memory.note("v", DEVICE, np.zeros(1024, np.float32)))

    def update():
        held = memory.hold(variable.handle)
        variable.assign(np.ones(1024, np.float32))
        memory.note("v", DEVICE, variable.value, held)

    update()
    assert in_use(memory) == 4096 and memory.allocator.stats().num_allocs == 1
    read = variable.value
    update()
    assert in_use(memory) == 8192 and memory.allocator.stats().num_allocs == 2
    del read
    assert in_use(memory) == 4096


def test_an_update_that_fails_leaves_the_variable_its_memory(memory):
    variable = VariableStorage("v", tf.float32, tf.TensorShape([1024]))
    assert memory.hold(variable) is None  # nothing was assigned
    variable.assign(memory.note("v", DEVICE, np.zeros(1024, np.float32)))
    held = memory.hold(variable)
    del held
    assert in_use(memory) == 4096
    variable.reset()
    assert in_use(memory) == 0


def test_what_numpy_copies_shares_the_memory_of_its_input(memory):
    across = memory.note("a", DEVICE, np.zeros([32, 32], np.float32).T)
    flat = memory.note_shared("b", DEVICE, across, across.reshape(-1))
    assert not np.shares_memory(across, flat)
    assert in_use(memory) == 4096 and memory.allocator.stats().num_allocs == 1
    again = memory.note_shared("c", DEVICE, flat, flat.copy())
    del across, flat
    assert in_use(memory) == 4096
    del again
    assert in_use(memory) == 0
    small = memory.note("a", DEVICE, np.zeros(4, np.float32))
    large = memory.note_shared("b", DEVICE, small, np.zeros(1024, np.float32))  # no view of it
    assert in_use(memory) == 4096 + 256
    del small, large


def test_an_owner_that_dies_inside_the_allocator_is_freed_before_anybody_looks(memory):
    value = memory.note("a", DEVICE, np.zeros(64, np.float32))
    with memory.allocator._lock:
        del value
    assert in_use(memory) == 0
    assert not memory._live


def test_one_accounting_per_allocator(memory):
    allocator = memory.allocator
    assert memory_of(allocator) is memory_of(allocator)
    assert memory_of(BFCAllocator(DeviceMemory(1 << 20), 1 << 20)) is not memory_of(allocator)


def test_threads(memory):
    errors = []

    def work():
        try:
            for size in range(1, 400):
                value = memory.note("a", DEVICE, np.zeros(size % 97 + 1))
                cycle = [value]
                cycle.append(cycle)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert not errors and in_use(memory) == 0


def test_updates_on_several_gpus_allocate_no_variables():
    tf.use_machine("2x Tesla K80")

    with tf.Graph().as_default():
        updates = []
        for number in range(2):
            with tf.device(f"/gpu:{number}"):
                variable = tf.get_variable(f"variable_{number}", [8, 8])
                other = tf.get_variable(f"other_{number}", [8, 16], use_resource=True)
                updates.append(tf.assign_sub(variable, tf.random_normal([8, 8])).op)
                updates.append(other.assign_add(tf.random_normal([8, 16])).op)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(updates)
            before = [allocator.stats().num_allocs for allocator in session.allocators.values()]
            session.run(updates)
            after = [allocator.stats().num_allocs for allocator in session.allocators.values()]
    made = 2 * ["random_normal/RandomStandardNormal", "random_normal/mul", "random_normal"]
    assert [more - less for more, less in zip(after, before, strict=True)] == [len(made)] * 2
