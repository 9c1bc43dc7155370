"""``tf.config.threading``: threads of sessions that are given no config.

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
    """How many devices of a step may work at a time; 0: as many as there are."""
    return int(process_state.defaults.scalars.get("inter_op_parallelism_threads", 0))


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Chooses how many devices of a step may work at a time.

    Args:
        num_threads: the number; 0: as many as there are.
    """
    process_state.defaults.scalars["inter_op_parallelism_threads"] = num_threads


def get_intra_op_parallelism_threads() -> int:
    """How many threads a kernel may have; 0: the runtime decides."""
    return int(process_state.defaults.scalars.get("intra_op_parallelism_threads", 0))


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Chooses how many threads a kernel may have.

    Args:
        num_threads: the number; 0: the runtime decides.
    """
    process_state.defaults.scalars["intra_op_parallelism_threads"] = num_threads
