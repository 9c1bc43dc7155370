"""``tf.config.threading``: threads of sessions without a config.

Source: tensorflow/python/framework/config.py, release 1.15.
"""

from __future__ import annotations

from gpuplace.runtime.memory.process_state import process_state

__all__ = [
    "get_inter_op_parallelism_threads",
    "get_intra_op_parallelism_threads",
    "set_inter_op_parallelism_threads",
    "set_intra_op_parallelism_threads",
]


def get_inter_op_parallelism_threads() -> int:
    """Return the maximum number of devices that run at the same time in a step; 0: all."""
    return int(process_state.defaults.scalars.get("inter_op_parallelism_threads", 0))


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Set the maximum number of devices that run at the same time in a step.

    Args:
        num_threads: the number; 0: all devices.
    """
    process_state.defaults.scalars["inter_op_parallelism_threads"] = num_threads


def get_intra_op_parallelism_threads() -> int:
    """Return the maximum number of threads for a kernel; 0: chosen by the runtime."""
    return int(process_state.defaults.scalars.get("intra_op_parallelism_threads", 0))


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Set the maximum number of threads for a kernel.

    Args:
        num_threads: the number; 0: chosen by the runtime.
    """
    process_state.defaults.scalars["intra_op_parallelism_threads"] = num_threads
