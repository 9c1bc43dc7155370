"""Host memory that GPUs can copy to and from while the host does something else: page-locked, and therefore scarce.

Blocks are kept for later copies, by size rounded up to a power of two, and go back when the last array over them is
gone, also where a caller has got it by a fetch. At most ``MAX_BYTES`` are locked at a time. Beyond, or where the system
locks no more, arrays are ordinary ones: copies are right with them too, and the host waits for them where they begin.

Source: tensorflow/core/common_runtime/gpu/gpu_process_state.cc, release 1.15 (GetGpuHostAllocator: a pool with a
limit).
"""

from __future__ import annotations

import contextlib
import functools
import math
import threading
from typing import Any

import numpy as np

MAX_BYTES = 1 << 30
"""The most memory that is page-locked."""
SMALLEST = 512
"""Bytes of the smallest blocks."""

MEMORY_ALLOCATION = 2
"""``cudaErrorMemoryAllocation``."""


class _Lease:
    """A block that is in use; the arrays over it keep this object alive.

    Args:
        block: what CuPy gave.
        shape: of the array over it.
        typestr: the array's type, as NumPy writes it.
        free: where it goes back to.
    """

    __slots__ = ("__array_interface__", "_block", "_free")

    def __init__(self, block: Any, shape: tuple[int, ...], typestr: str, free: list[Any]) -> None:
        self._block = block
        self._free = free
        self.__array_interface__ = {
            "data": (block.ptr, False),
            "shape": shape,
            "typestr": typestr,
            "version": 3,
        }

    def __del__(self) -> None:
        self._free.append(self._block)


class PinnedPool:
    """The page-locked memory of a process.

    Args:
        xp: the ``cupy`` module.
        limit: the most bytes.
    """

    def __init__(self, xp: Any, limit: int = MAX_BYTES) -> None:
        self._xp = xp
        self._limit = limit
        self._free: dict[int, list[Any]] = {}
        self._locked = 0
        self._lock = threading.Lock()

    @property
    def locked_bytes(self) -> int:
        """How much is locked, in use or not."""
        return self._locked

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """A new array in C order, page-locked if possible."""
        nbytes = math.prod(shape) * dtype.itemsize
        if not nbytes:
            return np.empty(shape, dtype)
        size = max(SMALLEST, 1 << (nbytes - 1).bit_length())
        free = self._free.get(size)
        if free is None:
            free = self._free.setdefault(size, [])
        try:
            block = free.pop()
        except IndexError:
            block = self._new_block(size)
        if block is None:
            return np.empty(shape, dtype)
        array = np.asarray(_Lease(block, shape, dtype.str, free))
        return array if array.dtype is dtype else array.view(dtype)  # types beyond NumPy's have no name there

    def _new_block(self, size: int) -> Any:
        """A block from the driver, or None."""
        with self._lock:
            if self._locked + size > self._limit:
                self._give_back()
            if self._locked + size > self._limit:
                return None
            try:
                block = self._xp.cuda.alloc_pinned_memory(size)
            except self._xp.cuda.runtime.CUDARuntimeError as error:
                if error.status != MEMORY_ALLOCATION:
                    raise
                return None
            self._locked += size
            return block

    def _give_back(self) -> None:
        """Unlocks the blocks that nobody uses."""
        for size, free in list(self._free.items()):
            with contextlib.suppress(IndexError):  # none is left; other threads may take the last one
                while True:
                    free.pop()
                    self._locked -= size
        self._xp.get_default_pinned_memory_pool().free_all_blocks()


@functools.cache
def pinned_pool(xp: Any) -> PinnedPool:
    """The pool of the process."""
    return PinnedPool(xp)
