"""The inventory through NVML, on a stand-in for the driver's library; and on a real GPU where there is one."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from gpuplace.device.local import local_gpus
from gpuplace.device.machine import Machine
from gpuplace.errors import InternalError


class NVMLError(Exception):
    pass


class NVMLErrorLibraryNotFound(NVMLError):
    pass


class NVMLErrorDriverNotLoaded(NVMLError):
    pass


class NVMLErrorNotSupported(NVMLError):
    pass


class NVMLErrorFunctionNotFound(NVMLError):
    pass


class FakeNVML:
    """Answers like nvidia-ml-py about a list of GPUs; a value that is an exception is raised."""

    NVMLError = NVMLError
    NVMLError_LibraryNotFound = NVMLErrorLibraryNotFound
    NVMLError_DriverNotLoaded = NVMLErrorDriverNotLoaded
    NVMLError_NotSupported = NVMLErrorNotSupported
    NVMLError_FunctionNotFound = NVMLErrorFunctionNotFound
    NVML_CLOCK_SM, NVML_CLOCK_MEM = 1, 2
    nvmlMemory_v2 = 2

    def __init__(self, gpus, init=None):
        self.gpus, self.init, self.is_open = gpus, init, False

    def nvmlInit(self):
        if self.init is not None:
            raise self.init
        self.is_open = True

    def nvmlShutdown(self):
        self.is_open = False

    def nvmlDeviceGetCount(self):
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index):
        if isinstance(self.gpus[index], Exception):
            raise self.gpus[index]
        return self.gpus[index]

    def nvmlDeviceGetMemoryInfo(self, gpu, version=1):
        if version == 2:
            return SimpleNamespace(total=gpu["total"], reserved=100, free=gpu["free"])
        return SimpleNamespace(total=gpu["total"], free=gpu["free"])

    def nvmlDeviceGetPciInfo(self, gpu):
        return SimpleNamespace(busId=gpu["bus"])

    def nvmlDeviceGetMaxClockInfo(self, gpu, kind):
        return {1: 1000, 2: 2000}[kind]

    def __getattr__(self, name):
        key = {
            "nvmlDeviceGetName": "name",
            "nvmlDeviceGetUUID": "uuid",
            "nvmlDeviceGetCudaComputeCapability": "capability",
            "nvmlDeviceGetNumaNodeId": "numa",
            "nvmlDeviceGetNumGpuCores": "cores",
            "nvmlDeviceGetMemoryBusWidth": "bits",
        }.get(name)
        if key is None:
            raise AttributeError(name)

        def ask(gpu):
            if isinstance(gpu[key], Exception):
                raise gpu[key]
            return gpu[key]

        return ask


def gpu(name="NVIDIA H200", bus="00000000:1A:00.0", **more):
    figures = {"capability": (9, 0), "total": 5000, "free": 4000, "numa": 1, "cores": 16896, "bits": 5120}
    return figures | {"name": name, "bus": bus, "uuid": "GPU-1"} | more


def test_known_gpus_in_order_of_the_bus():
    nvml = FakeNVML([gpu(bus="00000000:81:00.0"), gpu(name=b"NVIDIA L4", bus=b"00000000:02:00.0")])
    found = local_gpus(nvml)
    assert [(each.index, each.name, each.pci_bus_id) for each in found] == [
        (0, "NVIDIA L4", "0000:02:00.0"),
        (1, "NVIDIA H200", "0000:81:00.0"),
    ]
    assert (found[1].total_bytes, found[1].free_bytes, found[1].numa_node) == (4900, 4000, 1)
    assert found[1].model.memory_bandwidth == 4800e9
    assert not found[0].is_simulated
    assert not nvml.is_open


def test_a_gpu_outside_the_catalogue_is_described_by_the_driver():
    (found,) = local_gpus(FakeNVML([gpu(name="NVIDIA X1", numa=NVMLErrorNotSupported())]))
    model = found.model
    assert (model.name, model.compute_capability, model.sm_count) == ("NVIDIA X1", (9, 0), 132)
    assert model.fp32_flops == 2 * 16896 * 1e9
    assert model.memory_bandwidth == 2 * 2e9 * 5120 / 8
    assert found.numa_node == 0
    assert (
        found.describe(0) == "device: 0, name: NVIDIA X1, pci bus id: 0000:1a:00.0, compute capability: 9.0"
    )


@pytest.mark.parametrize("absent", [NVMLErrorLibraryNotFound(), NVMLErrorDriverNotLoaded()])
def test_no_driver_is_no_gpu(absent):
    assert local_gpus(FakeNVML([], init=absent)) == ()


def test_a_driver_that_fails_is_an_error():
    with pytest.raises(InternalError) as caught:
        local_gpus(FakeNVML([], init=NVMLError("Driver/library version mismatch")))
    assert (
        caught.value.message
        == "The NVIDIA driver failed while starting the driver's library: Driver/library version mismatch"
    )
    assert "nvidia-smi" in caught.value.hint


def test_a_gpu_that_fails_is_an_error_and_the_library_is_closed():
    nvml = FakeNVML([gpu(), NVMLError("GPU is lost")])
    with pytest.raises(InternalError, match="failed while reading GPU 1: GPU is lost"):
        local_gpus(nvml)
    assert not nvml.is_open
    with pytest.raises(InternalError, match="failed while calling nvmlDeviceGetNumaNodeId: bad"):
        local_gpus(FakeNVML([gpu(numa=NVMLError("bad"))]))


def test_nvml_is_not_imported_with_the_package():
    code = "import sys, gpuplace.device.machine; print('pynvml' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
    )


@pytest.mark.gpu
def test_the_real_gpus_agree_with_cuda(monkeypatch):
    import cupy

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    machine = Machine.local()
    assert len(machine.gpus) == cupy.cuda.runtime.getDeviceCount()
    for visible_id, found in enumerate(machine.visibility({}).visible):
        properties = cupy.cuda.runtime.getDeviceProperties(visible_id)
        assert found.name == properties["name"].decode()
        assert found.model.compute_capability == (properties["major"], properties["minor"])
        assert found.model.sm_count == properties["multiProcessorCount"]
        assert found.total_bytes == pytest.approx(properties["totalGlobalMem"], rel=0.01)
        assert found.uuid == f"GPU-{cupy_uuid(properties['uuid'])}"


def cupy_uuid(raw):
    import uuid

    return uuid.UUID(bytes=bytes(raw))
