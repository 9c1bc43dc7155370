"""Kernels of the ops in ``tf.contrib.memory_stats``.

Source: tensorflow/contrib/memory_stats/kernels/memory_stats_ops.cc, release 1.15.
"""

from __future__ import annotations

import numpy as np

from gpuplace.errors import UnimplementedError
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.support import scalar_shape
from gpuplace.typing import Array, ArrayModule

__all__: list[str] = []

_NO_LIMIT = -1
"""Result of an allocator without a limit."""

shape_function("BytesInUse", "BytesLimit", "MaxBytesInUse")(scalar_shape)
not_differentiable("BytesInUse", "BytesLimit", "MaxBytesInUse")


@compute("BytesInUse")
def _bytes_in_use(xp: ArrayModule, *, ctx: KernelContext) -> Array:
    counted = ctx.session.allocators.get(ctx.device)
    if counted is None:
        return np.array(xp.get_default_memory_pool().used_bytes(), np.int64)
    return np.array(counted.stats().bytes_in_use, np.int64)


@compute("MaxBytesInUse")
def _max_bytes_in_use(xp: ArrayModule, *, ctx: KernelContext) -> Array:
    counted = ctx.session.allocators.get(ctx.device)
    if counted is None:
        raise UnimplementedError.of(
            f"The peak memory use of {ctx.device}, a real GPU, is not recorded",
            hint="use BytesInUse where memory use is highest, or run the program on a simulated GPU",
        )
    return np.array(counted.stats().peak_bytes_in_use, np.int64)


@compute("BytesLimit")
def _bytes_limit(xp: ArrayModule, *, ctx: KernelContext) -> Array:
    if ctx.device_type == "CPU":
        return np.array(_NO_LIMIT, np.int64)
    counted = ctx.session.allocators.get(ctx.device)
    limit = xp.get_default_memory_pool().get_limit() if counted is None else counted.stats().bytes_limit
    return np.array(limit or _NO_LIMIT, np.int64)
