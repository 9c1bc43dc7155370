"""The NVIDIA GPUs that are really there, asked of the driver through NVML.

NVML is asked rather than CUDA because it needs no context on the GPU, takes no memory there, and sees the GPUs that
CUDA_VISIBLE_DEVICES hides, so the table of devices can show them.

No driver or no NVML means no GPUs; a driver or a GPU that fails is an error, never a missing GPU.

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
"""CUDA cores of a multiprocessor where it is not 128; CUDA C++ Programming Guide, arithmetic instructions."""


def local_gpus(nvml: Any = None) -> tuple[PhysicalGPU, ...]:
    """GPUs in order of PCI bus id; empty without an NVIDIA driver.

    Args:
        nvml: The module to ask, for tests; None for nvidia-ml-py.

    Raises:
        InternalError: the driver is there and fails.
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
        hint="see what nvidia-smi says; use_machine('cpu') works without the GPU",
    )


def _ask(doing: str, nvml: Any, function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except nvml.NVMLError as error:
        raise _failure(doing, error) from error


def _ask_optional(nvml: Any, function: str, *args: Any) -> Any:
    """The answer, or None if this driver or GPU does not offer it; other failures are errors."""
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
    """Total without what the driver keeps for itself (what CUDA calls total), and free, in bytes."""
    version = getattr(nvml, "nvmlMemory_v2", None)
    detailed = None if version is None else _ask_optional(nvml, "nvmlDeviceGetMemoryInfo", handle, version)
    if detailed is not None:
        return detailed.total - detailed.reserved, detailed.free
    plain = _ask(doing, nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    return plain.total, plain.free


def _unknown_model(nvml: Any, handle: Any, name: str, capability: tuple[int, ...], total: int) -> GPUModel:
    """Figures of a GPU that is not in the catalogue, from the driver; what it does not report is 0."""
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
