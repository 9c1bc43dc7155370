"""Times of kernels other than library calls: bytes over bandwidth, with a floor for the launch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuplace.cost.kernel_times.generations import memory_share
from gpuplace.device.gpu_models import GPUModel
from gpuplace.kernels.work.record import Work
from gpuplace.typing import Array

_LAUNCH_SECONDS = {3: 4.5e-6, 5: 3.5e-6, 6: 2.8e-6, 7: 2.4e-6}
"""Major compute capability to the time of the shortest kernel; 2 microseconds for later GPUs.

Source: null-kernel times that CUDA's profilers report on these generations, rounded; estimates.
"""
_KERNEL_SHARE = 0.9
"""Fraction of the bandwidth of a plain copy that TensorFlow's kernels reach; assumed."""
_FLOPS_SHARE = 0.3
"""Fraction of the arithmetic rate that such kernels reach; the rate counts a multiply-add as two operations."""
_MODEL_SHARE = {
    "reduction": 0.8, "pooling": 0.6, "transpose": 0.7, "resize": 0.5, "gather": 0.5,
    "random": 0.5, "scatter": 0.3, "sort": 0.1,
}  # fmt: skip
"""Rule of the work to the bandwidth of its kernels relative to elementwise ones; assumed."""
_NORMALIZATION_SHARE = {3: 0.44}
_LATER_NORMALIZATION_SHARE = 0.61
"""Bandwidth of batch normalization relative to an elementwise op, on Kepler and later: 0.4 and 0.55 of a plain copy.

Source: forward and backward passes over ResNet's tensors on a GTX TITAN Black and a GTX TITAN X, the better of two
libraries, in github.com/soumith/cudnn.torch, issue 100 (medians; eight passes over the tensor).
"""


def memory_bound_seconds(works: Sequence[Work], gpu: GPUModel) -> Array:
    """Return the seconds of works as if none were a library call, ``[work]``.

    Args:
        works: work of the kernels.
        gpu: the GPU.
    """
    floor, bandwidth = _floor_and_bandwidth(gpu)
    shares = _MODEL_SHARE | {
        "normalization": _NORMALIZATION_SHARE.get(gpu.compute_capability[0], _LATER_NORMALIZATION_SHARE)
    }
    figures = [
        (
            work.launches,
            work.bytes_read + work.bytes_written,
            work.flops,
            shares.get(work.model, 1.0),
            1.0 if work.dtype not in ("float64", "complex128") else gpu.fp32_flops / gpu.fp64_flops,
        )
        for work in works
    ]
    launches, nbytes, flops, share, flop_factor = np.array(figures, float).reshape(-1, 5).T
    moving = nbytes / (bandwidth * share)
    computing = flops * flop_factor / (gpu.fp32_flops * gpu.sustained * _FLOPS_SHARE)
    return np.where(launches > 0, launches * floor + np.maximum(moving, computing), 0.0)


def rearranging_seconds(works: Sequence[Work], gpu: GPUModel) -> Array:
    """Return the additional seconds to convert images to the library's layout and back, ``[work]``.

    Args:
        works: work of the kernels.
        gpu: the GPU.
    """
    floor, bandwidth = _floor_and_bandwidth(gpu)
    figures = np.array([(work.gpu_launches, work.gpu_bytes) for work in works], float).reshape(-1, 2)
    return figures[:, 0] * floor + figures[:, 1] / (bandwidth * _MODEL_SHARE["transpose"])


def _floor_and_bandwidth(gpu: GPUModel) -> tuple[float, float]:
    """Return the seconds of the shortest kernel, and the bytes per second of a long elementwise one."""
    floor = _LAUNCH_SECONDS.get(gpu.compute_capability[0], 2e-6)
    return floor, gpu.memory_bandwidth * memory_share(gpu) * _KERNEL_SHARE
