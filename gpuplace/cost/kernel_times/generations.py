"""How alike two GPUs are: generations of chips, and of the libraries that run on them.

What a library makes of a GPU depends on both: kernels of cuBLAS and cuDNN are written for a generation of chips, and
better ones come with every release. Both are put on a line here; a table measured on a GPU nearby on both lines says
more of another than one far off. The places are assumptions; only their order and rough distances matter.

>>> from gpuplace.device.gpu_models import find_model
>>> similarity(find_model("TITAN Xp"), find_model("1080 Ti")) > similarity(find_model("TITAN Xp"), find_model("M40"))
True
"""

from __future__ import annotations

import math

from gpuplace.device.gpu_models import GPUModel
from gpuplace.errors import InvalidArgumentError

__all__ = ["LIBRARIES", "check_library", "library_of", "memory_share", "similarity"]

_CHIPS = {
    (3, 0): 0.0, (3, 5): 0.0, (3, 7): 0.1, (5, 0): 1.0, (5, 2): 1.0, (6, 0): 2.3, (6, 1): 2.0, (7, 0): 3.0,
    (7, 5): 3.5, (8, 0): 4.0, (8, 6): 4.2, (8, 9): 4.6, (9, 0): 5.0, (10, 0): 6.0,
}  # fmt: skip
"""Compute capability -> place of the chip; GP100 (6.0) is halfway to Volta, as its multiprocessors are."""

LIBRARIES = {
    "7.5": 0.0, "8.0": 1.0, "8.0.61": 1.3, "8.0.88": 1.6, "9.0": 2.2, "10.0": 3.0, "10.1": 3.1, "11.0": 4.0,
    "12.0": 4.8,
}  # fmt: skip
"""Release of CUDA, with the cuDNN of its time -> place. CUDA 8 came with cuDNN 5, then 5.1, then 6."""

_MEASURED_WITH = {
    "Tesla M40": "7.5",
    "GeForce GTX TITAN X": "7.5",
    "TITAN X (Pascal)": "8.0",
    "GeForce GTX 1080 Ti": "8.0.88",
    "TITAN Xp": "8.0.88",
    "Tesla T4": "10.1",
}
"""Libraries of the measured tables. Source: the heads of DeepBench's tables."""

_CHIP_SCALE, _LIBRARY_SCALE = 1.0, 0.5
_OWN = 50.0

_MEMORY_SHARE = {3: 0.66, 5: 0.78, 6: 0.77, 7: 0.87, 8: 0.88, 9: 0.9, 10: 0.9}
_MEMORY_SHARE_OF = {(6, 0): 0.75, (7, 5): 0.75}


def library_of(gpu: GPUModel) -> str:
    """The release of CUDA that is assumed: that of the GPU's measured table, else that of the GPU's time.

    Kernels for Kepler stayed what they were when those for later chips became better: cuBLAS 7.5 on a K40 is foretold
    within a tenth with it (square products, clBLAS, doc/performance/cuBLAS_7.5/Tesla_K40), a quarter too fast with 8.
    """
    if gpu.name in _MEASURED_WITH:
        return _MEASURED_WITH[gpu.name]
    major, minor = gpu.compute_capability
    if major < 7:
        return "7.5" if major < 5 else "8.0.61"
    if major == 7:
        return "9.0" if minor == 0 else "10.1"
    return "11.0" if (major, minor) < (8, 9) else "12.0"


def check_library(library: str | None) -> None:
    """Raises InvalidArgumentError for a release of CUDA that is not known; None is fine."""
    if library is not None and library not in LIBRARIES:
        raise InvalidArgumentError.of(
            f"Unknown release of CUDA {library!r}.",
            facts={"known releases": ", ".join(LIBRARIES)},
        )


def similarity(gpu: GPUModel, measured: GPUModel, library: str | None = None) -> float:
    """Returns the weight of a measured table for a GPU, from 0 on.

    Args:
        gpu: the GPU whose times are asked for.
        measured: the GPU of the table.
        library: release of CUDA on ``gpu``; None: see ``library_of``.
    """
    libraries = LIBRARIES[library or library_of(gpu)] - LIBRARIES[library_of(measured)]
    weight = math.exp(-abs(_chip(gpu) - _chip(measured)) / _CHIP_SCALE - abs(libraries) / _LIBRARY_SCALE)
    return _OWN * weight if gpu.name == measured.name else weight


def _chip(gpu: GPUModel) -> float:
    major, minor = gpu.compute_capability
    return _CHIPS.get((major, minor), float(major))


def memory_share(gpu: GPUModel) -> float:
    """The share of the data sheet's bandwidth that a long copy reaches.

    Source: GPU-STREAM / BabelStream (Deakin, McIntosh-Smith), published figures of each generation, rounded; Kepler
    with error correction switched on, which takes a seventh (a K40 then copies 185 to 190 GB/s of its 288).
    """
    return _MEMORY_SHARE_OF.get(gpu.compute_capability, _MEMORY_SHARE.get(gpu.compute_capability[0], 0.8))
