"""Memory use of a device, as its allocator reports it when the op runs.

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
    """Return the number of bytes in use on the op's GPU when it runs.

    Args:
        name: name of the op.

    Returns:
        An int64 scalar, in bytes.
    """
    return new("BytesInUse", name)


def MaxBytesInUse(name: str | None = None) -> Tensor:
    """Return the peak number of bytes in use on the op's GPU.

    Args:
        name: name of the op.

    Returns:
        An int64 scalar, in bytes.
    """
    return new("MaxBytesInUse", name)


def BytesLimit(name: str | None = None) -> Tensor:
    """Return the memory limit of the op's device.

    Args:
        name: name of the op.

    Returns:
        An int64 scalar, in bytes; -1 if there is no limit, as on the CPU.
    """
    return new("BytesLimit", name)
