"""Streams for copies: what is kept for copies and for how long, memory that runs out, and peer access."""

import numpy as np
import pytest

from gpuplace.backends import copy_streams
from gpuplace.backends.copy_streams import enable_peer_access
from gpuplace.backends.cupy_backend import CupyBackend, gpu_step
from gpuplace.backends.pending_copy import ready
from gpuplace.device.device_set import DeviceAttributes
from gpuplace.device.gpu_settings import GPUSettings
from gpuplace.errors import InternalError
from tests.stand_ins.fake_cuda import CUDARuntimeError, OutOfMemoryError
from tests.stand_ins.gpu_programs import numbers

pytestmark = pytest.mark.usefixtures("copies_have_streams")
orders = pytest.mark.parametrize("fake", range(12), indirect=True)


def backend(number):
    name = f"/job:localhost/replica:0/task:0/device:GPU:{number}"
    return CupyBackend(DeviceAttributes(name, physical_id=number, visible_id=number), GPUSettings())


def copies_of(group):
    return sum(len(copies._kept) for copies in group._copies)


@orders
def test_copies_that_nobody_waits_for_harm_nobody(fake):
    gpu, other = backend(0), backend(1)
    start = other.queued.starter_from(gpu.queued)
    for step in range(8):
        value = numbers((64,), step)
        with gpu_step():
            gpu.enter()
            array = gpu.from_host(value)
            gpu.queued.start_from_host(value + 1)
            gpu.queued.start_to_host(array)
            start(array)
            later = [gpu.queued.start_from_host(value + 2 + at) for at in range(3)]
            moved = start(array)
            del array
            more = [fake.add(copy.value(), 0.0) for copy in later]
            other.enter()
            total = fake.add(moved.value(), 1.0)
        leaving = [gpu.queued.start_to_host(one) for one in more]
        np.testing.assert_array_equal(other.to_host(total), value + 1)
        for at, copy in enumerate(leaving):
            np.testing.assert_array_equal(ready(copy), value + 2 + at)
    fake.drain()
    for one in (gpu, other):
        one.queued.streams.let_go()
        assert copies_of(one.queued.streams) == 0
    fake.assert_one_arena()


def test_both_ends_are_kept_until_a_copy_is_done(fake):
    fake.eagerness = 0
    gpu = backend(0)
    array = gpu.from_host(numbers((64,)))
    copy = gpu.queued.start_to_host(array)
    group = gpu.queued.streams
    assert copies_of(group) == 1 and not copy.is_done()
    group.let_go()
    assert copies_of(group) == 1
    np.testing.assert_array_equal(copy.value(), numbers((64,)))
    group.let_go()
    assert copies_of(group) == 0 and copy.is_done()
    assert ready(copy.value()) is copy.value()
    assert not group.settle()


def test_settling_waits_and_reports(fake):
    fake.eagerness = 0
    gpu = backend(0)
    pending = gpu.queued.start_to_host(gpu.from_host(numbers((64,))))
    assert gpu.queued.streams.settle() and pending.is_done()
    fake.failing_copy = "to host"
    failing = gpu.queued.start_to_host(gpu.from_host(numbers((64,))))
    with pytest.raises(InternalError, match="GPU->CPU Memcpy from .*GPU:0 failed: cudaErrorIllegalAddress"):
        gpu.queued.streams.settle()
    assert copies_of(gpu.queued.streams) == 0
    with pytest.raises(InternalError, match="cudaErrorIllegalAddress"):  # its owner is told as well
        failing.value()


def test_memory_that_is_kept_is_waited_for_before_it_runs_out(fake):
    fake.eagerness = 0
    gpu, other = backend(0), backend(1)
    start = other.queued.starter_from(gpu.queued)
    fake.capacity[0] = 3 * 512
    with gpu_step():
        gpu.enter()
        for step in range(4):
            copy = start(gpu.from_host(numbers((128,), step)))
        made = fake.add(gpu.from_host(numbers((128,))), 1.0)
        np.testing.assert_array_equal(other.to_host(copy.value()), numbers((128,), 3))
        np.testing.assert_array_equal(gpu.to_host(made), numbers((128,)) + 1)
        with pytest.raises(OutOfMemoryError):
            fake.empty((1024,))


def test_a_process_has_one_group_for_a_gpu(fake):
    assert backend(1).queued.streams is backend(1).queued.streams
    assert backend(0).queued.streams is not backend(1).queued.streams
    assert [stream.device_id for stream in fake.streams if "default" not in stream.name] == [1] * 4 + [0] * 4


def test_peer_access_is_enabled_once_for_a_pair(fake):
    fake.peers = {(0, 1), (1, 0), (0, 2)}
    asked = []
    can_access = fake.cuda.runtime.deviceCanAccessPeer
    fake.cuda.runtime.deviceCanAccessPeer = lambda *pair: asked.append(pair) or can_access(*pair)
    for _ in range(2):
        assert enable_peer_access(fake, 0, 1) and enable_peer_access(fake, 1, 0)
        assert not enable_peer_access(fake, 0, 2)
    assert fake.enabled == [(0, 1), (1, 0), (0, 2)]
    assert asked == [(0, 1), (1, 0), (0, 2), (2, 0)]
    copy_streams._peers.clear()
    assert enable_peer_access(fake, 0, 1)  # others have done it before: that is no error


def test_a_driver_that_refuses_peer_access_is_reported(fake):
    def refused(peer):
        raise CUDARuntimeError(711, "cudaErrorTooManyPeers")

    fake.cuda.runtime.deviceEnablePeerAccess = refused
    with pytest.raises(InternalError, match="failed to enable peer access between .*: cudaErrorTooManyPeers"):
        backend(1).queued.starter_from(backend(0).queued)
