"""The NVIDIA GPUs of this machine, queried through NVML.

NVML rather than CUDA: it needs no context and no memory on the GPU, and it sees the GPUs that CUDA_VISIBLE_DEVICES
hides, so that the device table can show them.

Without a driver or NVML there are no GPUs; a failing driver or GPU is an error, never a missing GPU.

Source: NVML API Reference Guide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuplace.device.gpu_models import GPU_MODELS, GPUModel
from gpuplace.device.physical_gpu import PhysicalGPU, normalize_pci_bus_id
from gpuplace.errors import InternalError

_KNOWN = {model.name: model for model in GPU_MODELS}
_CORES_PER_SM = {
    (3, 0): 192,
    (3, 5): 192,
    (3, 7): 192,
    (6, 0): 64,
    (7, 0): 64,
    (7, 2): 64,
    (7, 5): 64,
    (8, 0): 64,
}
"""CUDA cores per multiprocessor if not 128; CUDA C++ Programming Guide, arithmetic instructions."""


def local_gpus(nvml: Any = None) -> tuple[PhysicalGPU, ...]:
    """Return the GPUs in order of PCI bus id; empty without an NVIDIA driver.

    Args:
        nvml: NVML module, for tests; None: nvidia-ml-py.

    Raises:
        InternalError: the driver exists and fails.
    """
    if nvml is None:
        try:
            import pynvml
        except ImportError:
            return ()
        nvml = pynvml
    try:
        nvml.nvmlInit()
    except (nvml.NVMLError_LibraryNotFound, nvml.NVMLError_DriverNotLoaded):
        return ()
    except nvml.NVMLError as error:
        raise _failure("starting the driver's library", error) from error
    try:
        gpus = [
            _read_gpu(nvml, index) for index in range(_ask("counting GPUs", nvml, nvml.nvmlDeviceGetCount))
        ]
    finally:
        nvml.nvmlShutdown()
    gpus.sort(key=lambda gpu: gpu.pci_bus_id)
    return tuple(gpu.at(index) for index, gpu in enumerate(gpus))


def _failure(doing: str, error: Exception) -> InternalError:
    return InternalError.of(
        f"The NVIDIA driver failed while {doing}: {error}",
        hint="check the output of nvidia-smi; use_machine('cpu') works without the GPU",
    )


def _ask(doing: str, nvml: Any, function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except nvml.NVMLError as error:
        raise _failure(doing, error) from error


def _ask_optional(nvml: Any, function: str, *args: Any) -> Any:
    """Return the result, or None if the driver or GPU does not support the call; other failures are errors."""
    call = getattr(nvml, function, None)
    if call is None:
        return None
    try:
        return call(*args)
    except (nvml.NVMLError_NotSupported, nvml.NVMLError_FunctionNotFound):
        return None
    except nvml.NVMLError as error:
        raise _failure(f"calling {function}", error) from error


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _read_gpu(nvml: Any, index: int) -> PhysicalGPU:
    doing = f"reading GPU {index}"
    handle = _ask(doing, nvml, nvml.nvmlDeviceGetHandleByIndex, index)
    name = _text(_ask(doing, nvml, nvml.nvmlDeviceGetName, handle))
    capability = tuple(_ask(doing, nvml, nvml.nvmlDeviceGetCudaComputeCapability, handle))
    total, free = _memory(nvml, handle, doing)
    numa_node = _ask_optional(nvml, "nvmlDeviceGetNumaNodeId", handle)
    return PhysicalGPU(
        index=index,
        model=_KNOWN.get(name) or _unknown_model(nvml, handle, name, capability, total),
        pci_bus_id=normalize_pci_bus_id(_text(_ask(doing, nvml, nvml.nvmlDeviceGetPciInfo, handle).busId)),
        uuid=_text(_ask(doing, nvml, nvml.nvmlDeviceGetUUID, handle)),
        total_bytes=total,
        free_bytes=free,
        numa_node=numa_node or 0,
        is_simulated=False,
    )


def _memory(nvml: Any, handle: Any, doing: str) -> tuple[int, int]:
    """Return total memory without the driver's reserve (CUDA's total) and free memory, in bytes."""
    version = getattr(nvml, "nvmlMemory_v2", None)
    detailed = None if version is None else _ask_optional(nvml, "nvmlDeviceGetMemoryInfo", handle, version)
    if detailed is not None:
        return detailed.total - detailed.reserved, detailed.free
    plain = _ask(doing, nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    return plain.total, plain.free


def _unknown_model(nvml: Any, handle: Any, name: str, capability: tuple[int, ...], total: int) -> GPUModel:
    """Return the figures of a GPU outside the catalogue as the driver reports them; missing figures are 0."""
    major, minor = capability
    cores = _ask_optional(nvml, "nvmlDeviceGetNumGpuCores", handle) or 0
    clock_hz = 1e6 * (_ask_optional(nvml, "nvmlDeviceGetMaxClockInfo", handle, nvml.NVML_CLOCK_SM) or 0)
    memory_hz = 1e6 * (_ask_optional(nvml, "nvmlDeviceGetMaxClockInfo", handle, nvml.NVML_CLOCK_MEM) or 0)
    bus_bits = _ask_optional(nvml, "nvmlDeviceGetMemoryBusWidth", handle) or 0
    return GPUModel(
        name=name,
        memory_bytes=total,
        compute_capability=(major, minor),
        sm_count=cores // _CORES_PER_SM.get((major, minor), 128),
        clock_hz=clock_hz,
        memory_bandwidth=2 * memory_hz * bus_bits / 8,
        fp32_flops=2 * cores * clock_hz,
        sources={"*": "NVIDIA driver, through NVML"},
    )
