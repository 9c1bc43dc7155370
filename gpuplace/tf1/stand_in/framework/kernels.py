"""``tensorflow.python.framework.kernels``: the registered kernels, as messages.

Source: tensorflow/python/framework/kernels.py, release 1.15 (names).
"""

from __future__ import annotations

from typing import Any

from gpuplace.graphdef.kernel_messages import kernel_list
from gpuplace.kernels.registry import default_catalogue


def get_all_registered_kernels() -> Any:
    """Return the kernels of all ops, a ``KernelList``."""
    kernels = default_catalogue().kernels
    return kernel_list(row for op in kernels.op_names() for row in kernels.rows(op))


def get_registered_kernels_for_op(name: str) -> Any:
    """Return the kernels of an op, a ``KernelList``; the list is empty for an unknown op.

    Args:
        name: the op type.
    """
    return kernel_list(default_catalogue().kernels.rows(name))
