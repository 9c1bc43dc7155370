"""Memory of the host: what a step frees stays with the process for the next step.

A step makes and drops arrays of some megabytes all the time. As it comes, the C library gives such memory back to the
system at once and gets it again, cleared, page by page; that takes several times as long as what a kernel does with
it. Sessions therefore ask it to keep what is freed, up to ``KEPT_BYTES``, as TensorFlow's allocators do.

Only glibc is asked, and not where the user has settings of their own for it.

Source: the manual page mallopt(3).
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
from typing import Any

KEPT_BYTES = 256 << 20
"""Freed memory at the end of the heap goes back to the system where it is more than this."""

_LARGEST_BYTES = 32 << 20
"""Arrays that are larger still get memory from the system; glibc takes no larger number."""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


@functools.cache
def keep_freed_memory() -> bool:
    """Makes the setting, once in a process; returns whether it has been made."""
    own = any(name.startswith("MALLOC_") for name in os.environ) or "GLIBC_TUNABLES" in os.environ
    if own or platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return bool(mallopt(_M_MMAP_THRESHOLD, _LARGEST_BYTES)) and bool(mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES))


def address_of(array: Any) -> int:
    """Where a NumPy array lies."""
    return int(array.__array_interface__["data"][0])
