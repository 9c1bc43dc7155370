"""The stream of a GPU, and copies on it that the host waits for."""

import numpy as np
import pytest

from gpuplace.device.device_set import DeviceAttributes
from gpuplace.device.gpu_settings import GPUSettings
from gpuplace.errors import InternalError, ResourceExhaustedError
from gpuplace.runtime.backends.cupy_backend import CupyBackend
from gpuplace.runtime.backends.gpu_streams import compute_stream
from tests.stand_ins.gpu_programs import numbers


def backend(number):
    name = f"/job:localhost/replica:0/task:0/device:GPU:{number}"
    return CupyBackend(DeviceAttributes(name, physical_id=number, visible_id=number), GPUSettings())


def test_a_process_has_one_stream_for_a_gpu(fake):
    assert compute_stream(fake, 1) is backend(1).compute
    assert compute_stream(fake, 0) is not compute_stream(fake, 1)
    assert [stream.device_id for stream in fake.streams if "default" not in stream.name] == [1, 0]


def test_memory_that_runs_out_is_an_error(fake):
    gpu = backend(0)
    fake.capacity[0] = 512
    with pytest.raises(ResourceExhaustedError, match="OOM on CUDA's GPU 0: Out of memory"):
        gpu.from_host(numbers((1024,)))


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("from host", "CPU->GPU Memcpy to .*GPU:0"),
        ("to host", "GPU->CPU Memcpy from .*GPU:1"),
        ("peer", "GPU->GPU Memcpy from .*GPU:0"),
    ],
)
def test_a_copy_that_fails_says_which_it_was(fake, kind, what):
    gpu, other = backend(0), backend(1)
    fake.failing_copy = kind
    with pytest.raises(InternalError, match=f"{what} failed: cudaErrorIllegalAddress"):
        other.to_host(other.copier_from(gpu)(gpu.from_host(numbers((64,)))))
    assert (fake.current, fake.stream) == (0, "default")


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (5, 7)])
def test_any_shape_crosses(fake, shape):
    gpu, other = backend(0), backend(1)
    for value in (numbers(shape), np.asarray(numbers(shape) > 3), numbers(shape).astype(np.int64).T):
        copy = other.copier_from(gpu)(gpu.from_host(value))
        found = other.to_host(copy)
        np.testing.assert_array_equal(found, value)
        assert found.dtype == value.dtype and found.flags.c_contiguous
