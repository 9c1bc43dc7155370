"""The rates of a GPU by type, from its data sheet: what kernel times are computed from."""

from __future__ import annotations

from dataclasses import dataclass

from gpuplace.cost.kernel_times.generations import LIBRARIES, library_of, memory_share
from gpuplace.device.gpu_models import GPUModel

__all__ = ["Rates", "rates_of"]

_BYTES = {
    "float64": 8,
    "int64": 8,
    "uint64": 8,
    "complex64": 8,
    "complex128": 16,
    "float32": 4,
    "int32": 4,
    "uint32": 4,
}
_TENSOR_SHARE = 0.65
"""Share of their rate that products in tensor cores reach, relative to the share that other products reach; assumed."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates of one GPU for one type."""

    sm_count: int
    """Streaming multiprocessors."""
    flops: float
    """Operations a second of all multiprocessors, in a product, at the clock of long work."""
    bandwidth: float
    """Bytes a second between the GPU and its memory, in a long copy."""
    item_bytes: int
    """Bytes of a number."""
    in_tensor_cores: bool = False
    """Whether that rate is the tensor cores'."""
    boost: float = 1.0
    """Highest clock over the clock of long work: the board's power limits the second, not the first."""


def rates_of(gpu: GPUModel, dtype: str, library: str | None = None) -> Rates:
    """Return the rates of matrix products and convolutions.

    Tensor cores compute float16 products from CUDA 9 on, and float32 ones as TF32 from CUDA 11 on. Without them,
    float16 is computed as float32, as TensorFlow requests.

    Args:
        gpu: the GPU.
        dtype: TensorFlow's name of the type.
        library: release of CUDA; None: see ``library_of``.
    """
    place = LIBRARIES[library or library_of(gpu)]
    flops = gpu.fp32_flops
    if dtype in ("float64", "complex128"):
        flops = gpu.fp64_flops
    elif dtype in ("float16", "bfloat16"):
        has_type = dtype == "float16" or gpu.tf32_flops
        if gpu.tensor_flops and has_type and place >= LIBRARIES["9.0"]:
            flops = _TENSOR_SHARE * gpu.tensor_flops
    elif dtype == "float32" and gpu.tf32_flops and place >= LIBRARIES["11.0"]:
        flops = max(flops, _TENSOR_SHARE * gpu.tf32_flops)
    item_bytes = _BYTES.get(dtype, 2 if dtype.endswith("16") else 1 if dtype.endswith("8") else 4)
    bandwidth = gpu.memory_bandwidth * memory_share(gpu)
    boost = max(1.0, gpu.clock_hz / gpu.sustained_clock_hz)
    return Rates(gpu.sm_count, flops * gpu.sustained, bandwidth, item_bytes, flops > gpu.fp32_flops, boost)
