"""How much of a device's memory is in use: what its allocator counts when the op runs.

Source: tensorflow/contrib/memory_stats/kernels/memory_stats_ops.cc, release 1.15.
"""

from __future__ import annotations

from gpuplace.graph.operation import Tensor
from gpuplace.kernels.registry import register_kernel, register_op
from gpuplace.ops.support import new

__all__ = ["BytesInUse", "BytesLimit", "MaxBytesInUse"]

register_op("BytesInUse", outputs=("out: int64",), is_stateful=True)
register_op("BytesLimit", outputs=("out: int64",), is_stateful=True)
register_op("MaxBytesInUse", outputs=("out: int64",), is_stateful=True)
register_kernel("BytesInUse", "GPU", host_memory=("out",))
register_kernel("BytesLimit", "GPU", host_memory=("out",))
register_kernel("MaxBytesInUse", "GPU", host_memory=("out",))
register_kernel("BytesLimit", "CPU")


def BytesInUse(name: str | None = None) -> Tensor:
    """How many bytes of the memory of the GPU that it is on are in use when it runs.

    Args:
        name: name of the op.

    Returns:
        An int64 scalar, in bytes.
    """
    return new("BytesInUse", name)


def MaxBytesInUse(name: str | None = None) -> Tensor:
    """The most bytes of the memory of the GPU that it is on that were in use at one time.

    Args:
        name: name of the op.

    Returns:
        An int64 scalar, in bytes.
    """
    return new("MaxBytesInUse", name)


def BytesLimit(name: str | None = None) -> Tensor:
    """How many bytes of its device's memory may be in use.

    Args:
        name: name of the op.

    Returns:
        An int64 scalar, in bytes; -1 where there is no bound, as on the CPU.
    """
    return new("BytesLimit", name)
