"""Similarity of GPUs: generations of chips, and of the libraries that run on them.

Kernels of cuBLAS and cuDNN are written for a generation of chips, and improve with every release. Chips and releases
are each positioned on a line here: the nearer a measured GPU is on both lines, the more its table counts. The positions
are assumptions; only their order and rough distances matter.

>>> from gpuplace.device.gpu_models import find_model
>>> similarity(find_model("TITAN Xp"), find_model("1080 Ti")) > similarity(find_model("TITAN Xp"), find_model("M40"))
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpuplace.device.gpu_models import GPUModel
from gpuplace.errors import InvalidArgumentError

_CHIPS = {
    (3, 0): 0.0, (3, 5): 0.0, (3, 7): 0.1, (5, 0): 1.0, (5, 2): 1.0, (6, 0): 2.3, (6, 1): 2.0, (7, 0): 3.0,
    (7, 5): 3.5, (8, 0): 4.0, (8, 6): 4.2, (8, 9): 4.6, (9, 0): 5.0, (10, 0): 6.0,
}  # fmt: skip
"""Compute capability to position of the chip; GP100 (6.0) is halfway to Volta, as its multiprocessors are."""

LIBRARIES = {
    "7.5": 0.0, "8.0": 1.0, "8.0.61": 1.3, "8.0.88": 1.6, "9.0": 2.2, "10.0": 3.0, "10.1": 3.1, "11.0": 4.0,
    "12.0": 4.8,
}  # fmt: skip
"""CUDA release, with the cuDNN of its time, to position. CUDA 8 came with cuDNN 5, then 5.1, then 6."""

_MEASURED_WITH = {
    "Tesla M40": "7.5",
    "GeForce GTX TITAN X": "7.5",
    "TITAN X (Pascal)": "8.0",
    "GeForce GTX 1080 Ti": "8.0.88",
    "TITAN Xp": "8.0.88",
    "Tesla V100-SXM2-16GB": "10.1",
    "Tesla T4": "10.1",
}
"""CUDA releases of the measured tables. Source: the headers of DeepBench's tables."""

_CHIP_SCALE, _LIBRARY_SCALE = 0.5, 0.5
_OWN = 50.0
_COMPUTED = 0.2
"""Weight of the modeled time for mature libraries: that of a GPU almost one generation away."""
_MATURE = "10.0"
"""Release from which the libraries have good kernels for nearly every shape, as the modeled time assumes."""

_MEMORY_SHARE = {3: 0.66, 5: 0.78, 6: 0.77, 7: 0.87, 8: 0.88, 9: 0.9, 10: 0.9}
_MEMORY_SHARE_OF = {(6, 0): 0.75, (7, 5): 0.75}


def library_of(gpu: GPUModel) -> str:
    """Return the assumed CUDA release: that of the GPU's measured table, otherwise of the GPU's era.

    Kernels for Kepler stayed the same while those for later chips improved: square products of cuBLAS 7.5 on a K40
    (clBLAS, doc/performance/cuBLAS_7.5/Tesla_K40) are predicted within a tenth as 7.5, and a quarter too fast as 8.0.
    Pascal's release is the last of CUDA 8, whose patch of June 2017 brought faster products.
    """
    if gpu.name in _MEASURED_WITH:
        return _MEASURED_WITH[gpu.name]
    major, minor = gpu.compute_capability
    if major < 7:
        return "7.5" if major < 5 else "8.0.88"
    if major == 7:
        return "9.0" if minor == 0 else "10.1"
    return "11.0" if (major, minor) < (8, 9) else "12.0"


def check_library(library: str | None) -> None:
    """Raise InvalidArgumentError for an unknown CUDA release; None is allowed."""
    if library is not None and library not in LIBRARIES:
        raise InvalidArgumentError.of(
            f"Unknown CUDA release {library!r}.",
            facts={"known releases": ", ".join(LIBRARIES)},
        )


def similarity(gpu: GPUModel, measured: GPUModel, library: str | None = None) -> float:
    """Return the weight of a measured table for a GPU, at least 0.

    Args:
        gpu: the GPU whose times are predicted.
        measured: the GPU of the table.
        library: CUDA release on ``gpu``; None: see ``library_of``.
    """
    libraries = LIBRARIES[library or library_of(gpu)] - LIBRARIES[library_of(measured)]
    weight = math.exp(-abs(_chip(gpu) - _chip(measured)) / _CHIP_SCALE - abs(libraries) / _LIBRARY_SCALE)
    return _OWN * weight if gpu.name == measured.name else weight


def computed_weight(gpu: GPUModel, library: str | None = None) -> float:
    """Return the weight of the modeled time relative to the measured tables, at least 0.

    Args:
        gpu: the GPU whose times are predicted.
        library: CUDA release on ``gpu``; None: see ``library_of``.
    """
    missing = LIBRARIES[_MATURE] - LIBRARIES[library or library_of(gpu)]
    return _COMPUTED * math.exp(-max(0.0, missing) / _LIBRARY_SCALE)


def _chip(gpu: GPUModel) -> float:
    major, minor = gpu.compute_capability
    return _CHIPS.get((major, minor), float(major))


def memory_share(gpu: GPUModel) -> float:
    """Return the fraction of the data sheet's bandwidth that a long copy reaches.

    Source: GPU-STREAM / BabelStream (Deakin, McIntosh-Smith), published figures of each generation, rounded; Kepler
    with error correction switched on, which takes a seventh (a K40 then copies 185 to 190 GB/s of its 288).
    """
    return _MEMORY_SHARE_OF.get(gpu.compute_capability, _MEMORY_SHARE.get(gpu.compute_capability[0], 0.8))


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
"""Fraction of their rate that products in tensor cores reach, relative to other products; assumed."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates of one GPU for one type."""

    sm_count: int
    """Streaming multiprocessors."""
    flops: float
    """Operations per second of all multiprocessors, in a product, at the clock of long work."""
    bandwidth: float
    """Bytes per second between the GPU and its memory, in a long copy."""
    item_bytes: int
    """Bytes of a number."""
    in_tensor_cores: bool = False
    """Whether ``flops`` is the rate of the tensor cores."""
    boost: float = 1.0
    """Highest clock over the clock of long work; only the latter is limited by the board's power."""


def rates_of(gpu: GPUModel, dtype: str, library: str | None = None) -> Rates:
    """Return the rates for matrix products and convolutions.

    Tensor cores compute float16 products from CUDA 9 on, and float32 products as TF32 from CUDA 11 on. Without them,
    float16 is computed as float32, as TensorFlow requests.

    Args:
        gpu: the GPU.
        dtype: TensorFlow's name of the type.
        library: CUDA release; None: see ``library_of``.
    """
    position = LIBRARIES[library or library_of(gpu)]
    flops = gpu.fp32_flops
    if dtype in ("float64", "complex128"):
        flops = gpu.fp64_flops
    elif dtype in ("float16", "bfloat16"):
        has_type = dtype == "float16" or gpu.tf32_flops
        if gpu.tensor_flops and has_type and position >= LIBRARIES["9.0"]:
            flops = _TENSOR_SHARE * gpu.tensor_flops
    elif dtype == "float32" and gpu.tf32_flops and position >= LIBRARIES["11.0"]:
        flops = max(flops, _TENSOR_SHARE * gpu.tf32_flops)
    item_bytes = _BYTES.get(dtype, 2 if dtype.endswith("16") else 1 if dtype.endswith("8") else 4)
    bandwidth = gpu.memory_bandwidth * memory_share(gpu)
    boost = max(1.0, gpu.clock_hz / gpu.sustained_clock_hz)
    return Rates(gpu.sm_count, flops * gpu.sustained, bandwidth, item_bytes, flops > gpu.fp32_flops, boost)
