"""Host memory settings: memory freed by a step stays in the process for the next step.

A step creates and deletes arrays of some megabytes all the time. By default, the C library returns such memory to the
system immediately and gets it again, cleared, page by page, which takes several times as long as a typical kernel.
Sessions therefore configure it to keep freed memory, up to ``KEPT_BYTES``, as TensorFlow's allocators do.

Only glibc is configured, unless the user has configured it.

Source: the manual page mallopt(3).
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
from typing import Any

KEPT_BYTES = 256 << 20
"""Maximum size in bytes of freed memory at the end of the heap that is kept."""

_LARGEST_BYTES = 32 << 20
"""Size in bytes above which arrays still get memory from the system; glibc's maximum."""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


@functools.cache
def keep_freed_memory() -> bool:
    """Configure the C library, once per process; returns whether it was done."""
    own = any(name.startswith("MALLOC_") for name in os.environ) or "GLIBC_TUNABLES" in os.environ
    if own or platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return bool(mallopt(_M_MMAP_THRESHOLD, _LARGEST_BYTES)) and bool(mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES))


def address_of(array: Any) -> int:
    """Return the address of a NumPy array's data."""
    return int(array.__array_interface__["data"][0])
